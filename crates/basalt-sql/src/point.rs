// SPDX-License-Identifier: Apache-2.0
//! Queries of one row by its whole primary key, `SELECT A, B FROM T WHERE K1 = 1 AND K2 = 'x'`, and of a few rows by values that
//! an index has ([`few`]), answered without a plan: planning takes about a hundred times as long as reading the row.
//!
//! The rule that this module protects: **it answers as a plan would, or not at all**. A statement that has anything else in it,
//! that names what there is not, or whose literals a plan would have to convert, is left to the planner.

mod few;

use std::sync::Arc;

use basalt_hfile::typed::RowDecoder;
use basalt_model::schema::ColumnRef;
use basalt_model::table::DEFAULT_NAMESPACE;
use basalt_model::{SqlType, TableName, TableSchema};
use basalt_store::read::CellColumns;
use basalt_store::{Database, Snapshot};
use bytes::Bytes;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::Expr as Condition;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr,
    TableAlias, TableFactor, TableWithJoins, UnaryOperator, Value, WildcardAdditionalOptions,
};

use crate::catalog::{self, Relation};
use crate::error::SqlError;
use crate::hints::IndexHints;
use crate::keys::{self, Access};
use crate::outcome::RowStream;
use crate::plan::Titles;
use crate::progress::Progress;

/// The answer, if the query is one of these; `schema` is that of names without one.
pub(crate) fn answer(
    database: &Database,
    query: &Query,
    schema: Option<&str>,
    hints: &IndexHints,
    progress: &Progress,
) -> Result<Option<RowStream>, SqlError> {
    let Some(wish) = Wish::read(query, schema) else { return Ok(None) };
    // The planner says what is wrong with the name.
    let Ok(relation @ Relation { view: None, .. }) = catalog::find(database, &wish.table) else {
        return Ok(None);
    };
    let Some(schema) = &relation.descriptor.schema else { return Ok(None) };
    let Some(equalities) = wish.equalities(schema) else { return Ok(None) };
    let snapshot = database.snapshot();
    let rows = match (wish.columns(schema), whole_key(schema, &equalities)) {
        (Some(columns), Some(key)) => Some(by_key(&snapshot, &relation, schema, &columns, &[key])?),
        (columns, None) if hints.are_none() => {
            few::answer(&snapshot, &relation, &equalities, wish.is_count(), columns.as_deref())?
        }
        _ => None,
    };
    let Some(rows) = rows else { return Ok(None) };
    progress.add_read(rows.num_rows() as u64, 0);
    RowStream::titled(rows, &Titles::of(query)).map(Some)
}

/// The rows of these keys that are there; the keys ascend.
fn by_key(
    snapshot: &Snapshot,
    relation: &Relation,
    schema: &TableSchema,
    columns: &[ColumnRef],
    keys: &[Bytes],
) -> Result<RecordBatch, SqlError> {
    let mut decoder = RowDecoder::of_columns(schema, columns);
    let columns = CellColumns::new(schema, columns.iter().copied());
    match keys {
        [key] => snapshot
            .get_row_of(relation.id, key, &columns, &Arc::default())?
            .iter()
            .try_for_each(|run| decoder.push(run))?,
        keys => {
            let rows = snapshot.get_rows_of(relation.id, keys, &columns, &Arc::default())?;
            rows.iter().flatten().try_for_each(|run| decoder.push(run))?;
        }
    }
    decoder.end()?;
    Ok(decoder.finish_batch()?)
}

/// The encoded key, if its columns, all of them and no others, are fixed.
fn whole_key(schema: &TableSchema, equalities: &[(ColumnRef, ScalarValue)]) -> Option<Bytes> {
    let of_key = equalities.iter().all(|(column, _)| matches!(column, ColumnRef::Key(_)));
    if !of_key || equalities.len() != schema.key.len() {
        return None;
    }
    let filters: Vec<_> =
        equalities.iter().map(|(column, value)| is_equal(schema.name(*column), value)).collect();
    match keys::access(schema, &filters).access {
        Access::Points(mut keys) if keys.len() == 1 => keys.pop(),
        _ => None,
    }
}

fn is_equal(column: &str, value: &ScalarValue) -> Condition {
    Condition::Column(Column::new_unqualified(column)).eq(Condition::Literal(value.clone(), None))
}

/// What a query of this form asks for, by the names that it uses.
struct Wish<'a> {
    table: TableName,
    /// What may stand before the names of columns.
    qualifier: &'a Ident,
    select: &'a [SelectItem],
    conditions: Vec<(&'a Expr, &'a Expr)>,
}

impl<'a> Wish<'a> {
    /// `None` if the query has another form. Names all parts of a query, so that a part that is new to the parser is noticed here.
    fn read(query: &'a Query, schema: Option<&str>) -> Option<Self> {
        let Query {
            with: None,
            body,
            order_by: None,
            limit_clause: None,
            fetch: None,
            locks,
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators,
        } = query
        else {
            return None;
        };
        let SetExpr::Select(select) = body.as_ref() else { return None };
        let Select {
            select_token: _,
            optimizer_hints: _,
            distinct: None,
            select_modifiers: None,
            top: None,
            top_before_distinct: _,
            projection,
            exclude: None,
            into: None,
            from,
            lateral_views,
            prewhere: None,
            selection: Some(selection),
            connect_by,
            group_by: GroupByExpr::Expressions(groups, modifiers),
            cluster_by,
            distribute_by,
            sort_by,
            having: None,
            named_window,
            qualify: None,
            window_before_qualify: _,
            value_table_mode: None,
            flavor: _,
        } = select.as_ref()
        else {
            return None;
        };
        let plain = locks.is_empty()
            && pipe_operators.is_empty()
            && lateral_views.is_empty()
            && connect_by.is_empty()
            && (groups.is_empty() && modifiers.is_empty())
            && (cluster_by.is_empty() && distribute_by.is_empty() && sort_by.is_empty())
            && named_window.is_empty();
        let [from] = from.as_slice() else { return None };
        let (table, qualifier) = table_of(from, schema).filter(|_| plain)?;
        // Listings, which are made by the planner, may have the names of tables.
        if ["SYSTEM", "INFORMATION_SCHEMA"].contains(&table.namespace.as_str()) {
            return None;
        }
        let mut conditions = Vec::new();
        equalities(selection, &mut conditions)?;
        Some(Self { table, qualifier, select: projection, conditions })
    }

    /// The wanted columns.
    fn columns(&self, schema: &TableSchema) -> Option<Vec<ColumnRef>> {
        let mut columns = Vec::new();
        for item in self.select {
            match item {
                SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
                    columns.extend_from_slice(schema.declared_order());
                }
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    columns.push(self.column(expr, schema)?);
                }
                _ => return None,
            }
        }
        Some(columns)
    }

    /// True if the number of rows is wanted, and nothing else.
    fn is_count(&self) -> bool {
        let [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] = self.select else {
            return false;
        };
        let Expr::Function(function) = expr else { return false };
        let text = function.to_string();
        ["COUNT(*)", "COUNT(1)"].iter().any(|count| text.eq_ignore_ascii_case(count))
    }

    /// Columns and the values that they are to have; each column once.
    fn equalities(&self, schema: &TableSchema) -> Option<Vec<(ColumnRef, ScalarValue)>> {
        let mut found: Vec<(ColumnRef, ScalarValue)> = Vec::with_capacity(self.conditions.len());
        for (left, right) in &self.conditions {
            let (column, literal) = match self.column(left, schema) {
                Some(column) => (column, right),
                None => (self.column(right, schema)?, left),
            };
            if found.iter().any(|(known, _)| *known == column) {
                return None;
            }
            found.push((column, scalar(literal, schema.sql_type(column))?));
        }
        Some(found)
    }

    /// The one column that an expression names.
    fn column(&self, expr: &Expr, schema: &TableSchema) -> Option<ColumnRef> {
        let name = match expr {
            Expr::Identifier(name) => name,
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                // A family may have the name of the table.
                [before, name]
                    if before.value == self.qualifier.value && !has_family(schema, &before.value) =>
                {
                    name
                }
                _ => return None,
            },
            _ => return None,
        };
        let mut named =
            schema.declared_order().iter().filter(|column| schema.name(**column) == name.value).copied();
        named.next().filter(|_| named.next().is_none())
    }
}

fn has_family(schema: &TableSchema, name: &str) -> bool {
    schema.columns.iter().any(|column| column.family == name)
}

/// The table, and what its columns can be qualified with.
fn table_of<'a>(from: &'a TableWithJoins, schema: Option<&str>) -> Option<(TableName, &'a Ident)> {
    let TableWithJoins { relation, joins } = from;
    let TableFactor::Table {
        name: ObjectName(parts),
        alias,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = relation
    else {
        return None;
    };
    let (schema, name) = match parts.as_slice() {
        // A file.
        [ObjectNamePart::Identifier(name)] if name.quote_style == Some('\'') => return None,
        [ObjectNamePart::Identifier(name)] => (schema.unwrap_or(DEFAULT_NAMESPACE), name),
        [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(name)] => {
            (schema.value.as_str(), name)
        }
        _ => return None,
    };
    let qualifier = match alias {
        None => name,
        Some(TableAlias { explicit: _, name, columns, at: None }) if columns.is_empty() => name,
        Some(_) => return None,
    };
    let plain = joins.is_empty() && with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty();
    plain.then(|| (TableName::new(schema, name.value.clone()), qualifier))
}

/// The two sides of each equation of a conjunction of nothing else.
fn equalities<'a>(expr: &'a Expr, found: &mut Vec<(&'a Expr, &'a Expr)>) -> Option<()> {
    match expr {
        Expr::Nested(inner) => equalities(inner, found),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            equalities(left, found)?;
            equalities(right, found)
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            found.push((left, right));
            Some(())
        }
        _ => None,
    }
}

/// The literal as a value of the type, if it is one as it stands.
fn scalar(literal: &Expr, sql_type: SqlType) -> Option<ScalarValue> {
    use SqlType::*;
    let (literal, negative) = match literal {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (expr.as_ref(), true),
        other => (other, false),
    };
    let Expr::Value(value) = literal else { return None };
    match &value.value {
        Value::Number(digits, false) if matches!(sql_type, Decimal(_)) => decimal(digits, negative),
        Value::Number(digits, false) => {
            let number: i64 = digits.parse().ok()?;
            let number = if negative { -number } else { number };
            Some(match sql_type {
                TinyInt | UnsignedTinyInt => ScalarValue::Int8(Some(number.try_into().ok()?)),
                SmallInt | UnsignedSmallInt => ScalarValue::Int16(Some(number.try_into().ok()?)),
                Integer | UnsignedInt => ScalarValue::Int32(Some(number.try_into().ok()?)),
                BigInt | UnsignedLong => ScalarValue::Int64(Some(number)),
                _ => return None,
            })
        }
        Value::SingleQuotedString(text) if !negative && !text.is_empty() => match sql_type {
            Varchar(_) => Some(ScalarValue::Utf8View(Some(text.clone()))),
            // Shorter ones are compared with their blanks.
            Char(len) if text.len() == len as usize && text.is_ascii() && !text.ends_with(' ') => {
                Some(ScalarValue::Utf8View(Some(text.clone())))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The number as it is written, of any scale: values are compared as numbers.
fn decimal(digits: &str, negative: bool) -> Option<ScalarValue> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (scale, unscaled) = (i8::try_from(fraction.len()).ok()?, format!("{whole}{fraction}"));
    if unscaled.len() > DECIMAL_DIGITS_MAX || !unscaled.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number: i128 = unscaled.parse().ok()?;
    Some(ScalarValue::Decimal128(
        Some(if negative { -number } else { number }),
        DECIMAL_DIGITS_MAX as u8,
        scale,
    ))
}

/// Digits of a DECIMAL.
const DECIMAL_DIGITS_MAX: usize = 38;
