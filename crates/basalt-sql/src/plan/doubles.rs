// SPDX-License-Identifier: Apache-2.0
//! Queries in FROM whose select list has a name twice: whoever names it means one of them, and nobody knows which. (`SELECT *` gives both.)

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};

use super::labels::label;
use crate::dialect::TokenMap;
use crate::error::{SqlError, code};

/// An error if the query names a column that a query in its FROM has twice.
pub(super) fn check(query: &mut Query, tokens: &TokenMap) -> Result<(), SqlError> {
    match query.visit(&mut Doubles { tokens, named: HashMap::new() }) {
        ControlFlow::Break(refusal) => Err(refusal),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Doubles<'a> {
    tokens: &'a TokenMap,
    /// Queries of WITH, and what they have twice.
    named: HashMap<String, HashSet<String>>,
}

impl VisitorMut for Doubles<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        for with in query.with.iter().flat_map(|with| &with.cte_tables) {
            let twice = if with.alias.columns.is_empty() { twice(&with.query.body) } else { HashSet::new() };
            self.named.insert(with.alias.name.value.clone(), twice);
        }
        let SetExpr::Select(select) = query.body.as_mut() else { return ControlFlow::Continue(()) };
        let sources = self.sources(select);
        if sources.is_empty() {
            return ControlFlow::Continue(());
        }
        let mut mentions = Mentions { sources: &sources, depth: 0 };
        let own_parts = visit_own(select, &mut mentions);
        let found = match (own_parts, query.order_by.as_mut()) {
            (ControlFlow::Continue(()), Some(order_by)) => order_by.visit(&mut mentions),
            (found, _) => found,
        };
        match found {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(name) => ControlFlow::Break(self.refusal(&name)),
        }
    }
}

impl Doubles<'_> {
    /// The queries in FROM that have names twice, by what they are called.
    fn sources(&self, select: &Select) -> Vec<(Option<String>, HashSet<String>)> {
        let factors = select.from.iter().flat_map(|TableWithJoins { relation, joins }| {
            [relation].into_iter().chain(joins.iter().map(|join| &join.relation))
        });
        let renames =
            |alias: &Option<TableAlias>| alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
        let called = |alias: &Option<TableAlias>| alias.as_ref().map(|alias| alias.name.value.clone());
        let source = |factor: &TableFactor| match factor {
            TableFactor::Derived { subquery, alias, .. } if !renames(alias) => {
                Some((called(alias), twice(&subquery.body)))
            }
            TableFactor::Table { name, alias, args: None, .. } if !renames(alias) => {
                let [only] = name.0.as_slice() else { return None };
                let name = &only.as_ident()?.value;
                Some((Some(called(alias).unwrap_or_else(|| name.clone())), self.named.get(name)?.clone()))
            }
            _ => None,
        };
        factors.filter_map(source).filter(|(_, twice)| !twice.is_empty()).collect()
    }

    fn refusal(&self, name: &str) -> SqlError {
        let message = format!("a query in FROM has two columns {name}; give one of them another alias there");
        SqlError::coded(code::AMBIGUOUS_COLUMN, message).at(self.tokens.find_column(None, name))
    }
}

/// The names that a select list has twice, for different values.
fn twice(body: &SetExpr) -> HashSet<String> {
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::Query(query) => return twice(&query.body),
        SetExpr::SetOperation { left, .. } => return twice(left),
        _ => return HashSet::new(),
    };
    let mut seen: HashMap<String, &Expr> = HashMap::new();
    let named = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) => Some((label(expr), expr)),
        SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr)),
        _ => None,
    });
    named
        .filter(|(name, expr)| *seen.entry(name.clone()).or_insert(expr) != *expr)
        .map(|(name, _)| name)
        .collect()
}

/// Shows the parts of a SELECT that name columns of its FROM.
fn visit_own(select: &mut Select, mentions: &mut Mentions<'_>) -> ControlFlow<String> {
    select.projection.visit(mentions)?;
    select.selection.visit(mentions)?;
    select.group_by.visit(mentions)?;
    select.having.visit(mentions)?;
    select.qualify.visit(mentions)?;
    for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
        join.join_operator.visit(mentions)?;
    }
    ControlFlow::Continue(())
}

/// Finds the first mention of what a source has twice. Queries within have a FROM of their own.
struct Mentions<'a> {
    sources: &'a [(Option<String>, HashSet<String>)],
    depth: usize,
}

impl VisitorMut for Mentions<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let (table, name) = match expr {
            Expr::Identifier(name) => (None, &name.value),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] => (Some(&table.value), &name.value),
                _ => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        let is_meant = |(called, twice): &(Option<String>, HashSet<String>)| {
            twice.contains(name) && table.is_none_or(|table| called.as_ref() == Some(table))
        };
        match self.depth == 0 && self.sources.iter().any(is_meant) {
            true => ControlFlow::Break(name.clone()),
            false => ControlFlow::Continue(()),
        }
    }
}
