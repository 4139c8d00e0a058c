// SPDX-License-Identifier: Apache-2.0
//! The order in which a query wants the rows of a table, and which ways to them have it. The planner does not tell a table;
//! [`crate::rules`] does, before a way is chosen.

use basalt_model::{KeyColumn, SortOrder};
use datafusion::logical_expr::Expr;

use super::BasaltTable;
use crate::index::{Place, Usable};
use crate::keys;

/// The order of rows that is wanted, and how many of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedOrder {
    pub(crate) columns: Vec<WantedColumn>,
    pub(crate) fetch: Option<usize>,
}

/// One column of it, by its name in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedColumn {
    pub(crate) name: String,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

impl WantedOrder {
    /// True if the table's key is in this order, or with a limit in the opposite one, under these filters.
    pub(super) fn is_of_table(&self, table: &BasaltTable, filters: &[Expr]) -> bool {
        let schema = table.table_schema();
        let key = &schema.key[keys::fixed_columns(schema, filters)..];
        let is = |turned: bool| {
            self.columns.len() <= key.len()
                && self.columns.iter().zip(key).all(|(wanted, key)| {
                    wanted.name == key.name && wanted.descending == (is_descending(key) != turned)
                })
        };
        is(false) || self.fetch.is_some() && is(true)
    }

    /// True if the rows of an index come in this order under these filters, which are in terms of the index.
    pub(super) fn is_of_index(&self, index: &Usable, filters: &[Expr]) -> bool {
        // A value that ended by itself stands where it was.
        !index.is_loose && self.follows(index, filters, WantedColumn::is)
    }

    /// True if an index with ASC and DESC the other way round would have it.
    pub(super) fn is_of_turned_index(&self, index: &Usable, filters: &[Expr]) -> bool {
        self.follows(index, filters, |wanted, key, _| wanted.descending != is_descending(key))
    }

    /// True if the columns are the next ones of an index behind those that the filters fix, and are ordered as `is` says.
    fn follows(
        &self,
        index: &Usable,
        filters: &[Expr],
        is: impl Fn(&WantedColumn, &KeyColumn, &Place) -> bool,
    ) -> bool {
        let schema = index.table.table_schema();
        let rest = schema.key.iter().skip(keys::fixed_columns(schema, filters));
        let mut rest = rest.filter(|key| !index.is_presence(&key.name));
        self.columns.iter().all(|wanted| {
            let place = index.place(&wanted.name);
            let is_next = |key: &KeyColumn| {
                place.is_some_and(|place| place.column == key.name && is(wanted, key, place))
            };
            rest.next().is_some_and(is_next)
        })
    }
}

impl WantedColumn {
    fn is(&self, key: &KeyColumn, place: &Place) -> bool {
        // NULL sorts first in a row key, whichever the order of the column.
        let has_nulls = key.nullable || place.presence.is_some();
        self.descending == is_descending(key) && (self.nulls_first || !has_nulls)
    }
}

fn is_descending(key: &KeyColumn) -> bool {
    key.order == SortOrder::Desc
}
