// SPDX-License-Identifier: Apache-2.0
//! Columns in HAVING that are not grouped. The planner says of all of them the same; Phoenix has a number of its own if HAVING has
//! no aggregate function at all, and another for a name that is an alias of the select list, too.

use std::ops::ControlFlow;

use datafusion::logical_expr::planner::ContextProvider;
use datafusion::sql::sqlparser::ast::{Expr, Query, Select, SelectItem, Visit, Visitor, visit_expressions};

use super::Planning;
use crate::error::{SqlError, code};

/// What the HAVINGs of a query, and of those within it, are made of.
#[derive(Debug, Default)]
pub(super) struct Having {
    /// Aliases of select lists with a HAVING.
    aliases: Vec<String>,
    /// One of them has no aggregate function.
    is_plain: bool,
}

impl Having {
    pub(super) fn of(query: &Query, planning: &Planning) -> Self {
        let mut selects = Selects { planning, found: Self::default() };
        let _ = query.visit(&mut selects);
        selects.found
    }

    /// The error as it is told if it is about such a column.
    pub(super) fn explain(&self, error: SqlError) -> SqlError {
        let about = error.message().strip_prefix("column ").and_then(|rest| rest.split_once(" in HAVING "));
        let Some((column, _)) = about else { return error };
        let name = column.rsplit('.').next().unwrap_or(column);
        let (code, message) = if self.aliases.iter().any(|alias| alias == name) {
            let message = format!(
                "{column} is a column, and the select list gives its name to something else; use another alias"
            );
            (code::AMBIGUOUS_COLUMN, message)
        } else if self.is_plain {
            (code::ONLY_AGGREGATE_IN_HAVING, error.message().to_owned())
        } else {
            return error;
        };
        SqlError::coded(code, message).at(error.position())
    }
}

struct Selects<'a> {
    planning: &'a Planning,
    found: Having,
}

impl Visitor for Selects<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let Some(having) = &select.having else { return ControlFlow::Continue(()) };
        let aliases = select.projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        });
        self.found.aliases.extend(aliases);
        let aggregate = visit_expressions(having, |expr| match expr {
            Expr::Function(function) if self.is_aggregate(&function.name.to_string()) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        self.found.is_plain |= aggregate.is_continue();
        ControlFlow::Continue(())
    }
}

impl Selects<'_> {
    fn is_aggregate(&self, function: &str) -> bool {
        self.planning.get_aggregate_meta(&function.to_lowercase()).is_some()
    }
}
