// SPDX-License-Identifier: Apache-2.0
//! Queries of one row by its whole primary key, `SELECT A, B FROM T WHERE K1 = 1 AND K2 = 'x'`, answered without a plan:
//! planning takes about a hundred times as long as reading the row.
//!
//! The rule that this module protects: **it answers as a plan would, or not at all**. A statement that has anything else in it,
//! that names what there is not, or whose literals a plan would have to convert, is left to the planner.

use basalt_hfile::typed::RowDecoder;
use basalt_model::schema::ColumnRef;
use basalt_model::table::DEFAULT_NAMESPACE;
use basalt_model::{SqlType, TableName, TableSchema};
use basalt_store::Database;
use bytes::Bytes;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::Expr as Condition;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr,
    TableAlias, TableFactor, TableWithJoins, UnaryOperator, Value, WildcardAdditionalOptions,
};

use crate::catalog::{self, Relation};
use crate::error::SqlError;
use crate::keys::{self, Access};
use crate::outcome::RowStream;
use crate::plan::Titles;
use crate::progress::Progress;

/// The answer, if the query is one of a row by its key; `schema` is that of names without one.
pub(crate) fn answer(
    database: &Database,
    query: &Query,
    schema: Option<&str>,
    progress: &Progress,
) -> Result<Option<RowStream>, SqlError> {
    let Some(wish) = Wish::read(query, schema) else { return Ok(None) };
    // The planner says what is wrong with the name.
    let Ok(Relation { id, descriptor, view: None }) = catalog::find(database, &wish.table) else {
        return Ok(None);
    };
    let Some(schema) = &descriptor.schema else { return Ok(None) };
    let Some((columns, key)) = wish.resolve(schema) else { return Ok(None) };
    let mut decoder = RowDecoder::of_columns(schema, &columns);
    for run in database.snapshot().get_row(id, &key)? {
        decoder.push(&run)?;
    }
    decoder.end()?;
    let row = decoder.finish_batch()?;
    progress.add_read(row.num_rows() as u64, 0);
    RowStream::titled(row, &Titles::of(query)).map(Some)
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

    /// The wanted columns and the encoded key.
    fn resolve(&self, schema: &TableSchema) -> Option<(Vec<ColumnRef>, Bytes)> {
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
        let mut fixed = vec![false; schema.key.len()];
        let mut filters = Vec::with_capacity(self.conditions.len());
        for (left, right) in &self.conditions {
            let (column, literal) = match self.column(left, schema) {
                Some(column) => (column, right),
                None => (self.column(right, schema)?, left),
            };
            let ColumnRef::Key(index) = column else { return None };
            if std::mem::replace(&mut fixed[index], true) {
                return None;
            }
            let value = scalar(literal, schema.sql_type(column))?;
            let name = Column::new_unqualified(schema.name(column));
            filters.push(Condition::Column(name).eq(Condition::Literal(value, None)));
        }
        if fixed.contains(&false) {
            return None;
        }
        match keys::access(schema, &filters).access {
            Access::Points(mut keys) if keys.len() == 1 => Some((columns, keys.pop()?)),
            _ => None,
        }
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
