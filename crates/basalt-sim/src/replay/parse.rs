// SPDX-License-Identifier: Apache-2.0
//! Recorded operations as values of `basalt-model`.

use anyhow::{Context, Result, bail};
use basalt_model::filter::{
    ColumnOffset, Comparator, CompareOp, Filter, FuzzyKey, RowRange, SingleColumnValue,
};
use basalt_model::operation::{DeletePart, NewCell, ReadOptions, TimeRange};
use basalt_model::{Append, CheckAndMutate, Condition, Delete, Get, Increment, Mutation, Put, Scan};
use bytes::Bytes;
use serde_json::Value;

pub(super) fn hex(value: &Value) -> Result<Bytes> {
    let text = value.as_str().with_context(|| format!("not hexadecimal text: {value}"))?;
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16);
    let bytes: Result<Vec<u8>, _> = (0..text.len()).step_by(2).map(byte).collect();
    Ok(bytes.with_context(|| format!("not hexadecimal: {text}"))?.into())
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().with_context(|| format!("not a text: {value}"))?.to_owned())
}

fn long(value: &Value) -> Result<i64> {
    value.as_i64().with_context(|| format!("not a number: {value}"))
}

fn count(value: &Value) -> Result<u32> {
    u32::try_from(long(value)?).with_context(|| format!("not a count: {value}"))
}

fn flag(value: &Value) -> bool {
    value.as_bool().unwrap_or(false)
}

fn list(value: &Value) -> Result<&[Value]> {
    Ok(value.as_array().with_context(|| format!("not a list: {value}"))?)
}

/// The value under a key, unless it is missing or null.
fn given<'a>(of: &'a Value, key: &str) -> Option<&'a Value> {
    of.get(key).filter(|value| !value.is_null())
}

pub(super) fn mutation(of: &Value) -> Result<Mutation> {
    Ok(match text(&of["op"])?.as_str() {
        "put" => put(of)?.into(),
        "delete" => delete(of)?.into(),
        "increment" => increment(of)?.into(),
        "append" => append(of)?.into(),
        other => bail!("not a mutation: {other}"),
    })
}

pub(super) fn mutations(of: &Value) -> Result<Vec<Mutation>> {
    list(&of["mutations"])?.iter().map(mutation).collect()
}

fn put(of: &Value) -> Result<Put> {
    let mut put = Put::new(hex(&of["row"])?);
    for cell in list(&of["cells"])? {
        put.cells.push(NewCell {
            family: text(&cell[0])?.into(),
            qualifier: hex(&cell[1])?,
            timestamp: cell[2].as_i64(),
            value: hex(&cell[3])?,
        });
    }
    put.ttl_ms = of["ttl_ms"].as_u64();
    Ok(put)
}

fn delete(of: &Value) -> Result<Delete> {
    let mut delete = Delete::new(hex(&of["row"])?);
    delete.timestamp = of["ts"].as_i64();
    for part in list(&of["parts"])? {
        let family: Bytes = text(&part["family"])?.into();
        let timestamp = part["ts"].as_i64();
        delete = delete.part(match text(&part["kind"])?.as_str() {
            "column" => DeletePart::Version { family, qualifier: hex(&part["qualifier"])?, timestamp },
            "columns" => DeletePart::Column { family, qualifier: hex(&part["qualifier"])?, timestamp },
            "family" => DeletePart::Family { family, timestamp },
            "family_version" => DeletePart::FamilyVersion { family, timestamp: long(&part["ts"])? },
            other => bail!("not a kind of delete: {other}"),
        });
    }
    Ok(delete)
}

fn increment(of: &Value) -> Result<Increment> {
    let mut increment = Increment::new(hex(&of["row"])?);
    increment.timestamp = of["ts"].as_i64();
    increment.ttl_ms = of["ttl_ms"].as_u64();
    for cell in list(&of["cells"])? {
        increment = increment.add(text(&cell[0])?, hex(&cell[1])?, long(&cell[2])?);
    }
    Ok(increment)
}

fn append(of: &Value) -> Result<Append> {
    let mut append = Append::new(hex(&of["row"])?);
    append.timestamp = of["ts"].as_i64();
    append.ttl_ms = of["ttl_ms"].as_u64();
    for cell in list(&of["cells"])? {
        append = append.add(text(&cell[0])?, hex(&cell[1])?, hex(&cell[2])?);
    }
    Ok(append)
}

pub(super) fn check_and_mutate(of: &Value) -> Result<CheckAndMutate> {
    let condition = &of["condition"];
    let column = || -> Result<(Bytes, Bytes)> {
        Ok((text(&condition["family"])?.into(), hex(&condition["qualifier"])?))
    };
    let value = |op: CompareOp, value: Bytes| -> Result<Condition> {
        let (family, qualifier) = column()?;
        Ok(Condition::Value { family, qualifier, op, value })
    };
    let parsed = match text(&condition["kind"])?.as_str() {
        "not_exists" => value(CompareOp::Equal, Bytes::new())?,
        "equals" => value(CompareOp::Equal, hex(&condition["value"])?)?,
        "matches" => value(operator(&condition["cmp"])?, hex(&condition["value"])?)?,
        "filter" => Condition::Filter(filter(&condition["filter"])?),
        other => bail!("not a condition: {other}"),
    };
    let mut check = CheckAndMutate::new(hex(&of["row"])?, parsed);
    if let Some(range) = given(condition, "time_range") {
        check = check.time_range(time_range(range)?);
    }
    let change = &of["mutation"];
    check.mutations =
        if change["op"] == "row_mutations" { mutations(change)? } else { vec![mutation(change)?] };
    Ok(check)
}

pub(super) fn get(of: &Value) -> Result<Get> {
    let mut get = Get::new(hex(&of["row"])?);
    read_options(of, &mut get.options)?;
    Ok(get)
}

pub(super) fn scan(of: &Value) -> Result<Scan> {
    let mut scan = Scan::new();
    if let Some(start) = given(of, "start") {
        (scan.start, scan.start_inclusive) = (hex(&start[0])?, flag(&start[1]));
    }
    if let Some(stop) = given(of, "stop") {
        (scan.stop, scan.stop_inclusive) = (hex(&stop[0])?, flag(&stop[1]));
    }
    scan.reversed = flag(&of["reversed"]);
    scan.raw = flag(&of["raw"]);
    scan.limit = of["limit"].as_u64();
    scan.batch = given(of, "batch").map(count).transpose()?;
    read_options(of, &mut scan.options)?;
    Ok(scan)
}

fn read_options(of: &Value, options: &mut ReadOptions) -> Result<()> {
    if let Some(versions) = given(of, "versions") {
        options.versions = count(versions)?;
    }
    if let Some(range) = given(of, "time_range") {
        options.time_range = time_range(range)?;
    }
    if let Some(range) = given(of, "family_time_range") {
        options.family_time_ranges.insert(text(&range[0])?.into(), time_range(&range[1])?);
    }
    for column in given(of, "columns").map(list).transpose()?.unwrap_or_default() {
        if column[1].is_null() {
            options.columns.add_family(text(&column[0])?);
        } else {
            options.columns.add_column(text(&column[0])?, hex(&column[1])?);
        }
    }
    options.family_limit = given(of, "max_results_per_family").map(count).transpose()?;
    options.family_offset = given(of, "row_offset_per_family").map(count).transpose()?.unwrap_or(0);
    options.filter = given(of, "filter").map(filter).transpose()?;
    if let Some(on_demand) = of["load_families_on_demand"].as_bool() {
        options.families_on_demand = on_demand;
    }
    Ok(())
}

fn time_range(of: &Value) -> Result<TimeRange> {
    Ok(TimeRange::new(long(&of[0])?, long(&of[1])?))
}

fn operator(of: &Value) -> Result<CompareOp> {
    Ok(match text(of)?.as_str() {
        "LESS" => CompareOp::Less,
        "LESS_OR_EQUAL" => CompareOp::LessOrEqual,
        "EQUAL" => CompareOp::Equal,
        "NOT_EQUAL" => CompareOp::NotEqual,
        "GREATER_OR_EQUAL" => CompareOp::GreaterOrEqual,
        "GREATER" => CompareOp::Greater,
        other => bail!("not an operator: {other}"),
    })
}

fn comparator(of: &Value) -> Result<Comparator> {
    Ok(match text(&of["kind"])?.as_str() {
        "binary" => Comparator::Binary(hex(&of["value"])?),
        "binary_prefix" => Comparator::BinaryPrefix(hex(&of["value"])?),
        "substring" => Comparator::Substring(text(&of["text"])?),
        "regex" => Comparator::Regex(text(&of["text"])?),
        "long" => Comparator::Long(long(&of["number"])?),
        "null" => Comparator::Null,
        other => bail!("not a comparator: {other}"),
    })
}

fn filters(of: &Value) -> Result<Vec<Filter>> {
    list(of)?.iter().map(filter).collect()
}

fn filter(of: &Value) -> Result<Filter> {
    Ok(match text(&of["type"])?.as_str() {
        "FilterList" if of["operator"] == "MUST_PASS_ALL" => Filter::All(filters(&of["filters"])?),
        "FilterList" => Filter::Any(filters(&of["filters"])?),
        "Skip" => Filter::Skip(Box::new(filter(&of["filter"])?)),
        "WhileMatch" => Filter::WhileMatch(Box::new(filter(&of["filter"])?)),
        "Row" => Filter::Row { op: operator(&of["cmp"])?, comparator: comparator(&of["comparator"])? },
        "Family" => Filter::Family { op: operator(&of["cmp"])?, comparator: comparator(&of["comparator"])? },
        "Qualifier" => {
            Filter::Qualifier { op: operator(&of["cmp"])?, comparator: comparator(&of["comparator"])? }
        }
        "Value" => Filter::Value { op: operator(&of["cmp"])?, comparator: comparator(&of["comparator"])? },
        "SingleColumnValue" | "SingleColumnValueExclude" | "ColumnValue" | "DependentColumn" => {
            column_test(of)?
        }
        "Prefix" => Filter::Prefix { prefix: hex(&of["prefix"])? },
        "Page" => Filter::Page { rows: long(&of["size"])?.unsigned_abs() },
        "FirstKeyOnly" => Filter::FirstKeyOnly,
        "KeyOnly" => Filter::KeyOnly { length_as_value: flag(&of["len_as_value"]) },
        "InclusiveStop" => Filter::InclusiveStop { row: hex(&of["row"])? },
        "Timestamps" => Filter::Timestamps {
            timestamps: list(&of["timestamps"])?.iter().map(long).collect::<Result<_>>()?,
            can_hint: false,
        },
        "MultiRowRange" => Filter::MultiRowRange {
            ranges: list(&of["ranges"])?.iter().map(row_range).collect::<Result<_>>()?,
        },
        "FuzzyRow" => {
            Filter::FuzzyRow { keys: list(&of["keys"])?.iter().map(fuzzy_key).collect::<Result<_>>()? }
        }
        _ => column_filter(of)?,
    })
}

fn column_filter(of: &Value) -> Result<Filter> {
    Ok(match text(&of["type"])?.as_str() {
        "ColumnPrefix" => Filter::ColumnPrefix { prefix: hex(&of["prefix"])? },
        "MultipleColumnPrefix" => Filter::MultipleColumnPrefix {
            prefixes: list(&of["prefixes"])?.iter().map(hex).collect::<Result<_>>()?,
        },
        "ColumnRange" => Filter::ColumnRange {
            min: given(of, "min").map(hex).transpose()?,
            min_inclusive: flag(&of["min_inclusive"]),
            max: given(of, "max").map(hex).transpose()?,
            max_inclusive: flag(&of["max_inclusive"]),
        },
        "ColumnPagination" => Filter::ColumnPagination {
            limit: count(&of["limit"])?,
            offset: ColumnOffset::Count(count(&of["offset"])?),
        },
        "ColumnCountGet" => Filter::ColumnCountGet { limit: count(&of["limit"])? },
        other => bail!("not a filter: {other}"),
    })
}

fn column_test(of: &Value) -> Result<Filter> {
    let (family, qualifier) = (Bytes::from(text(&of["family"])?), hex(&of["qualifier"])?);
    let kind = text(&of["type"])?;
    if kind == "DependentColumn" {
        return Ok(Filter::DependentColumn { family, qualifier, drop: flag(&of["drop"]), test: None });
    }
    let (op, comparator) = (operator(&of["cmp"])?, comparator(&of["comparator"])?);
    if kind == "ColumnValue" {
        return Ok(Filter::ColumnValue { family, qualifier, op, comparator });
    }
    Ok(Filter::SingleColumnValue(SingleColumnValue {
        family,
        qualifier,
        op,
        comparator,
        filter_if_missing: flag(&of["filter_if_missing"]),
        latest_version_only: flag(&of["latest_version_only"]),
        exclude: kind == "SingleColumnValueExclude",
    }))
}

fn row_range(of: &Value) -> Result<RowRange> {
    let (start, stop) = (hex(&of[0])?, hex(&of[2])?);
    Ok(RowRange { start, start_inclusive: flag(&of[1]), stop, stop_inclusive: flag(&of[3]) })
}

fn fuzzy_key(of: &Value) -> Result<FuzzyKey> {
    let any = hex(&of[1])?.iter().map(|&byte| byte == 1).collect();
    Ok(FuzzyKey { key: hex(&of[0])?, any })
}
