// SPDX-License-Identifier: Apache-2.0
//! INDEX hints: the tables that they name, by their own names or by what the query calls them, and what they name in vain.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Query, TableFactor, Visit, Visitor};

use super::Planning;
use crate::hints::IndexHints;
use crate::index::Usable;
use crate::scan::BasaltTable;

/// What a query calls its tables: from the other name to the table's own.
#[derive(Debug, Default)]
pub(super) struct Aliases(HashMap<String, String>);

impl Aliases {
    pub(super) fn add_from(&mut self, query: &Query) {
        let _ = query.visit(self);
    }
}

impl Visitor for Aliases {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias: Some(alias), .. } = factor
            && let Some(own) = name.0.last().and_then(|part| part.as_ident())
        {
            self.0.insert(alias.name.value.clone(), own.value.clone());
        }
        ControlFlow::Continue(())
    }
}

impl Planning {
    /// The hints with the tables' own names.
    pub(super) fn index_hints(&self) -> IndexHints {
        let aliases = self.aliases.lock();
        self.index_hints.renamed(|name| aliases.0.get(name).cloned())
    }

    /// Says which indexes hints name that a table does not have.
    pub(super) fn warn_of_indexes(&self, table: &BasaltTable, indexes: &[Usable], hints: &IndexHints) {
        let name = table.relation_name();
        for wanted in hints.preferred(&name.name) {
            if indexes.iter().all(|index| index.name() != wanted) {
                let names: Vec<&str> = indexes.iter().map(Usable::name).collect();
                let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                self.warn(format!(
                    "hint INDEX names {wanted}, which is no index of {name}; there is {there}"
                ));
            }
        }
    }

    /// Says which tables hints name that the statement does not read.
    pub(super) fn warn_of_tables(&self) {
        let hints = self.index_hints();
        let read: Vec<String> =
            self.tables.lock().values().map(|table| table.relation_name().name.clone()).collect();
        for wanted in hints.tables().filter(|wanted| read.iter().all(|name| name != wanted)) {
            self.warn(format!("hint INDEX names {wanted}, which is no table that the statement reads"));
        }
    }
}
