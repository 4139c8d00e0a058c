// SPDX-License-Identifier: Apache-2.0
//! `OFFSET (k1, k2) = (v1, v2)`: the rows behind a key, in the order of the key, which is how a program turns pages. It becomes a
//! condition, of which the scan makes a range of keys, and an ORDER BY, which sorts nothing:
//!
//! ```text
//! key (A, B DESC): OFFSET (a, b) = (1, 2)  ->  WHERE A > 1 OR (A = 1 AND B < 2) ORDER BY A, B DESC
//! ```

use std::ops::ControlFlow;

use basalt_model::{KeyColumn, SortOrder};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, LimitClause, OrderByExpr,
    OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, Value, VisitMut, VisitorMut,
};

use super::Planning;
use super::row_facts::relation_of;
use crate::dialect::{self, AFTER_KEY, quoted};
use crate::error::SqlError;

/// Rewrites the offsets of a query and of those within it.
pub(super) fn rewrite(query: &mut Query, planning: &Planning) -> Result<(), SqlError> {
    match query.visit(&mut Offsets { planning }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Offsets<'a> {
    planning: &'a Planning,
}

impl VisitorMut for Offsets<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        let Some(arguments) = taken(query) else { return ControlFlow::Continue(()) };
        match behind_key(query, &arguments, self.planning) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// The columns of such an offset, and behind them as many values; the query has no offset any more.
fn taken(query: &mut Query) -> Option<Vec<Expr>> {
    let Some(LimitClause::LimitOffset { offset, .. }) = &mut query.limit_clause else { return None };
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = &offset.as_ref()?.value
    else {
        return None;
    };
    if !matches!(name.0.as_slice(), [name] if name.as_ident().is_some_and(|name| name.value == AFTER_KEY)) {
        return None;
    }
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    let arguments = list.args.iter().map(argument).collect();
    *offset = None;
    arguments
}

fn behind_key(query: &mut Query, arguments: &[Expr], planning: &Planning) -> Result<(), SqlError> {
    let wrong = |what: &str| SqlError::statement(format!("OFFSET by a key {what}"));
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(wrong("is for a SELECT of one table, not for a UNION"));
    };
    let plain = select.distinct.is_none()
        && select.having.is_none()
        && matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty());
    let relation = relation_of(select, planning).filter(|_| plain);
    let Some(schema) = relation.as_ref().and_then(|relation| relation.descriptor.schema.as_ref()) else {
        return Err(wrong("is for a SELECT of one table, without DISTINCT and GROUP BY"));
    };
    let (columns, values) = arguments.split_at(arguments.len() / 2);
    let names: Vec<_> = schema.key.iter().map(|key| quoted(&key.name)).collect();
    let is_key = columns.len() == names.len()
        && columns.iter().zip(&schema.key).all(|(column, key)| names_column(column, key));
    if !is_key {
        return Err(wrong(&format!("names all columns of it, in their order: ({})", names.join(", "))));
    }
    let given = query.order_by.as_ref().map(|order_by| &order_by.kind);
    let in_order = match given {
        None => true,
        Some(OrderByKind::Expressions(by)) => {
            by.len() <= schema.key.len()
                && by.iter().zip(&schema.key).all(|(by, key)| follows(by, key, &select.projection))
        }
        Some(OrderByKind::All(_)) => false,
    };
    if !in_order {
        return Err(wrong("goes with the order of the key, and with no other ORDER BY"));
    }
    restrict(select, &schema.key, values)?;
    // With the table: the select list may give the name of a column to something else.
    let table = table_of(select).map_or_else(String::new, |table| format!("{}.", quoted(&table)));
    let by = schema.key.iter().zip(&names).map(|(key, name)| format!("{table}{name}{}", direction(key)));
    let ordered = dialect::parse(&format!("SELECT 1 FROM T ORDER BY {}", by.collect::<Vec<_>>().join(", ")))?;
    if let dialect::Statement::Query(ordered) = ordered.statement {
        query.order_by = ordered.order_by;
    }
    Ok(())
}

fn direction(key: &KeyColumn) -> &'static str {
    if key.order == SortOrder::Desc { " DESC" } else { "" }
}

fn names_column(expr: &Expr, key: &KeyColumn) -> bool {
    match expr {
        Expr::Identifier(name) => name.value == key.name,
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|name| name.value == key.name),
        _ => false,
    }
}

/// How columns name the only table of a SELECT.
fn table_of(select: &Select) -> Option<String> {
    match &select.from.first()?.relation {
        TableFactor::Table { alias: Some(alias), .. } => Some(alias.name.value.clone()),
        TableFactor::Table { name, .. } => Some(name.0.last()?.as_ident()?.value.clone()),
        _ => None,
    }
}

fn follows(by: &OrderByExpr, key: &KeyColumn, listed: &[SelectItem]) -> bool {
    let descending = by.options.asc == Some(false);
    let is_other = listed.iter().any(|item| {
        matches!(item, SelectItem::ExprWithAlias { expr, alias } if alias.value == key.name && !names_column(expr, key))
    });
    names_column(&by.expr, key)
        && !(is_other && matches!(by.expr, Expr::Identifier(_)))
        && descending == (key.order == SortOrder::Desc)
        && by.options.nulls_first != Some(false)
        && by.with_fill.is_none()
}

fn is_null(value: &Expr) -> bool {
    matches!(value, Expr::Value(value) if matches!(&value.value, Value::Null)
        || matches!(&value.value, Value::SingleQuotedString(text) if text.is_empty()))
}

/// Only rows behind the key. NULLs come first in either order, so that none is behind a value.
fn restrict(select: &mut Select, key: &[KeyColumn], values: &[Expr]) -> Result<(), SqlError> {
    let nulls: Vec<_> = values.iter().map(is_null).collect();
    let values: Vec<_> = values.iter().map(|value| dialect::printable(value).to_string()).collect();
    let names: Vec<_> = key.iter().map(|key| quoted(&key.name)).collect();
    let same = |at: usize| match nulls[at] {
        true => format!("{} IS NULL", names[at]),
        false => format!("{} = ({})", names[at], values[at]),
    };
    let behind = |at: usize| match (nulls[at], key[at].order) {
        (true, _) => format!("{} IS NOT NULL", names[at]),
        (false, SortOrder::Desc) => format!("{} < ({})", names[at], values[at]),
        (false, SortOrder::Asc) => format!("{} > ({})", names[at], values[at]),
    };
    let branch = |at: usize| {
        let parts: Vec<_> = (0..at).map(same).chain([behind(at)]).collect();
        format!("({})", parts.join(" AND "))
    };
    let behind = (0..key.len()).map(branch).collect::<Vec<_>>().join(" OR ");
    let behind = dialect::parse_condition(&behind)?;
    select.selection = Some(crate::catalog::view::and(select.selection.take(), behind));
    Ok(())
}
