// SPDX-License-Identifier: Apache-2.0
//! Filters from their messages: a Java class by name, and a payload of that class. One that is not known is refused
//! by its name.

use basalt_model::filter::{ColumnOffset, CompareOp, Filter, FuzzyKey, RowRange, SingleColumnValue};
use bytes::Bytes;

use crate::comparator::{comparator, compare_op, payload, simple_name};
use crate::exception::Exception;
use crate::pb;

/// Filters in filters, at most.
const DEPTH_MAX: usize = 64;

/// The filter of a message.
pub fn decode(message: pb::Filter) -> Result<Filter, Exception> {
    nested(message, 1)
}

fn nested(message: pb::Filter, depth: usize) -> Result<Filter, Exception> {
    if depth > DEPTH_MAX {
        return Err(Exception::refused(format!("filters are nested more than {DEPTH_MAX} deep")));
    }
    let class = message.name;
    let bytes = message.serialized_filter;
    Ok(match simple_name(&class) {
        "FilterList" => list(payload(&class, bytes)?, depth)?,
        "SkipFilter" => {
            Filter::Skip(Box::new(nested(payload::<pb::SkipFilter>(&class, bytes)?.filter, depth + 1)?))
        }
        "WhileMatchFilter" => Filter::WhileMatch(Box::new(nested(
            payload::<pb::WhileMatchFilter>(&class, bytes)?.filter,
            depth + 1,
        )?)),
        "RowFilter" => {
            let (op, comparator) =
                comparison(payload::<pb::RowFilter>(&class, bytes)?.compare_filter, &class)?;
            Filter::Row { op, comparator }
        }
        "FamilyFilter" => {
            let (op, comparator) =
                comparison(payload::<pb::FamilyFilter>(&class, bytes)?.compare_filter, &class)?;
            Filter::Family { op, comparator }
        }
        "QualifierFilter" => {
            let message: pb::QualifierFilter = payload(&class, bytes)?;
            let (op, comparator) = comparison(message.compare_filter, &class)?;
            Filter::Qualifier { op, comparator }
        }
        "ValueFilter" => {
            let (op, comparator) =
                comparison(payload::<pb::ValueFilter>(&class, bytes)?.compare_filter, &class)?;
            Filter::Value { op, comparator }
        }
        "SingleColumnValueFilter" => single_column(payload(&class, bytes)?, false)?,
        "SingleColumnValueExcludeFilter" => {
            let message: pb::SingleColumnValueExcludeFilter = payload(&class, bytes)?;
            single_column(message.single_column_value_filter, true)?
        }
        "ColumnValueFilter" => column_value(payload(&class, bytes)?)?,
        "DependentColumnFilter" => dependent(payload(&class, bytes)?)?,
        name => plain(name, &class, bytes)?,
    })
}

/// The filters that hold neither filters nor comparators.
fn plain(name: &str, class: &str, bytes: Option<Bytes>) -> Result<Filter, Exception> {
    Ok(match name {
        "PrefixFilter" => {
            Filter::Prefix { prefix: payload::<pb::PrefixFilter>(class, bytes)?.prefix.unwrap_or_default() }
        }
        "ColumnPrefixFilter" => {
            Filter::ColumnPrefix { prefix: payload::<pb::ColumnPrefixFilter>(class, bytes)?.prefix }
        }
        "MultipleColumnPrefixFilter" => Filter::MultipleColumnPrefix {
            prefixes: payload::<pb::MultipleColumnPrefixFilter>(class, bytes)?.sorted_prefixes,
        },
        "ColumnRangeFilter" => column_range(payload(class, bytes)?),
        "ColumnPaginationFilter" => column_pagination(payload(class, bytes)?)?,
        "ColumnCountGetFilter" => {
            let message: pb::ColumnCountGetFilter = payload(class, bytes)?;
            Filter::ColumnCountGet { limit: count(message.limit, class)? }
        }
        "PageFilter" => {
            let rows = payload::<pb::PageFilter>(class, bytes)?.page_size;
            Filter::Page { rows: u64::try_from(rows).map_err(|_| negative(class, rows))? }
        }
        "FirstKeyOnlyFilter" => Filter::FirstKeyOnly,
        "FirstKeyValueMatchingQualifiersFilter" => {
            let message: pb::FirstKeyValueMatchingQualifiersFilter = payload(class, bytes)?;
            Filter::UpToQualifier { qualifiers: message.qualifiers }
        }
        "KeyOnlyFilter" => {
            Filter::KeyOnly { length_as_value: payload::<pb::KeyOnlyFilter>(class, bytes)?.len_as_val }
        }
        "InclusiveStopFilter" => {
            let message: pb::InclusiveStopFilter = payload(class, bytes)?;
            Filter::InclusiveStop { row: message.stop_row_key.unwrap_or_default() }
        }
        "TimestampsFilter" => {
            let message: pb::TimestampsFilter = payload(class, bytes)?;
            Filter::Timestamps { can_hint: message.can_hint(), timestamps: message.timestamps }
        }
        "RandomRowFilter" => {
            Filter::RandomRow { chance: payload::<pb::RandomRowFilter>(class, bytes)?.chance }
        }
        // Of HBase's tests, and of its PerformanceEvaluation: no row passes.
        "FilterAllFilter" => Filter::RandomRow { chance: -1.0 },
        "MultiRowRangeFilter" => ranges(payload(class, bytes)?),
        "FuzzyRowFilter" => fuzzy(payload(class, bytes)?),
        _ => return Err(Exception::refused(format!("filter {class} is not known to this server"))),
    })
}

fn negative(class: &str, found: impl std::fmt::Display) -> Exception {
    Exception::refused(format!("a number of {class} is {found}; expected 0 or more"))
}

fn count(number: i32, class: &str) -> Result<u32, Exception> {
    u32::try_from(number).map_err(|_| negative(class, number))
}

fn list(message: pb::FilterList, depth: usize) -> Result<Filter, Exception> {
    let operator = message.operator();
    let filters: Result<Vec<Filter>, Exception> =
        message.filters.into_iter().map(|filter| nested(filter, depth + 1)).collect();
    Ok(match operator {
        pb::filter_list::Operator::MustPassAll => Filter::All(filters?),
        pb::filter_list::Operator::MustPassOne => Filter::Any(filters?),
    })
}

fn comparison(
    message: pb::CompareFilter,
    class: &str,
) -> Result<(CompareOp, basalt_model::Comparator), Exception> {
    let op = compare_op(message.compare_op)?;
    let given = message.comparator.ok_or_else(|| Exception::refused(format!("{class} has no comparator")))?;
    Ok((op, comparator(given)?))
}

fn single_column(message: pb::SingleColumnValueFilter, exclude: bool) -> Result<Filter, Exception> {
    let (filter_if_missing, latest_version_only) =
        (message.filter_if_missing(), message.latest_version_only.unwrap_or(true));
    Ok(Filter::SingleColumnValue(SingleColumnValue {
        op: compare_op(message.compare_op)?,
        comparator: comparator(message.comparator)?,
        family: message.column_family.unwrap_or_default(),
        qualifier: message.column_qualifier.unwrap_or_default(),
        filter_if_missing,
        latest_version_only,
        exclude,
    }))
}

fn column_value(message: pb::ColumnValueFilter) -> Result<Filter, Exception> {
    Ok(Filter::ColumnValue {
        op: compare_op(message.compare_op)?,
        comparator: comparator(message.comparator)?,
        family: message.family,
        qualifier: message.qualifier,
    })
}

fn dependent(message: pb::DependentColumnFilter) -> Result<Filter, Exception> {
    let drop = message.drop_dependent_column();
    let test = match message.compare_filter.comparator {
        Some(given) => Some((compare_op(message.compare_filter.compare_op)?, comparator(given)?)),
        None => None,
    };
    Ok(Filter::DependentColumn {
        family: message.column_family.unwrap_or_default(),
        qualifier: message.column_qualifier.unwrap_or_default(),
        drop,
        test,
    })
}

fn column_range(message: pb::ColumnRangeFilter) -> Filter {
    let (min_inclusive, max_inclusive) = (message.min_column_inclusive(), message.max_column_inclusive());
    Filter::ColumnRange { min: message.min_column, min_inclusive, max: message.max_column, max_inclusive }
}

fn column_pagination(message: pb::ColumnPaginationFilter) -> Result<Filter, Exception> {
    let class = "ColumnPaginationFilter";
    let offset = match message.column_offset {
        Some(qualifier) => ColumnOffset::Qualifier(qualifier),
        None => ColumnOffset::Count(count(message.offset.unwrap_or_default(), class)?),
    };
    Ok(Filter::ColumnPagination { limit: count(message.limit, class)?, offset })
}

fn ranges(message: pb::MultiRowRangeFilter) -> Filter {
    let range = |range: pb::RowRange| RowRange {
        start_inclusive: range.start_row_inclusive(),
        stop_inclusive: range.stop_row_inclusive(),
        start: range.start_row.unwrap_or_default(),
        stop: range.stop_row.unwrap_or_default(),
    };
    Filter::MultiRowRange { ranges: message.row_range_list.into_iter().map(range).collect() }
}

/// Clients send masks made ready for comparing: `ff` where the byte counts, 0 or 2 where it does not.
fn fuzzy(message: pb::FuzzyRowFilter) -> Filter {
    let key = |pair: pb::BytesBytesPair| FuzzyKey {
        any: pair.second.iter().map(|&mask| mask != 0xff).collect(),
        key: pair.first,
    };
    Filter::FuzzyRow { keys: message.fuzzy_keys_data.into_iter().map(key).collect() }
}

#[cfg(test)]
mod tests;
