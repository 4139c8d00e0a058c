// SPDX-License-Identifier: Apache-2.0
//! The order in which a query wants the rows of a table, and which ways to them have it. The planner does not tell a table;
//! [`crate::rules`] does, before a way is chosen.

use std::sync::Arc;

use basalt_model::{KeyColumn, SortOrder, SqlType};
use datafusion::arrow::compute::SortOptions;
use datafusion::common::Column;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

use super::{BasaltScan, BasaltTable};
use crate::index::{Place, Usable};
use crate::keys;

/// The order of rows that is wanted, and how many of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedOrder {
    pub(crate) columns: Vec<WantedColumn>,
    pub(crate) fetch: Option<usize>,
}

/// From which end an index is read to have an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IndexEnd {
    /// From its first row to its last.
    First,
    /// From its last row to its first. Of the first column that is wanted NULLs come before, if that is so wanted: a key has them at its
    /// beginning.
    Last(Option<FirstNulls>),
}

impl IndexEnd {
    /// A scan of the index turned so that it begins at this end, and from where it comes then: a scan of single keys is as it is.
    pub(super) fn of_scan(self, scan: Arc<dyn ExecutionPlan>) -> (Arc<dyn ExecutionPlan>, Self) {
        let Self::Last(nulls) = &self else { return (scan, self) };
        let turned = scan
            .downcast_ref::<BasaltScan>()
            .and_then(|scan| scan.begun_at_the_end(nulls.as_ref().map(|nulls| &nulls.condition)));
        match turned {
            Some(turned) => (Arc::new(turned), self),
            None => (scan, Self::First),
        }
    }

    /// How the values of a column of the index's key come behind equal ones of those before it.
    pub(super) fn options(&self, key: &KeyColumn) -> SortOptions {
        // NULL sorts first in a row key, whichever the order of the column.
        let of_key = SortOptions { descending: is_descending(key), nulls_first: true };
        match self {
            Self::First => of_key,
            Self::Last(nulls) => SortOptions {
                descending: !of_key.descending,
                nulls_first: nulls.as_ref().is_some_and(|nulls| nulls.column == key.name),
            },
        }
    }
}

/// NULLs that come first where the other rows come from the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FirstNulls {
    /// Of this column of the index.
    pub(super) column: String,
    /// What says that there is one, in terms of the index.
    pub(super) condition: Expr,
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

    /// The end from which the rows of an index come in this order under these filters, which are in terms of the index.
    pub(super) fn of_index(&self, index: &Usable, filters: &[Expr]) -> Option<IndexEnd> {
        if index.is_loose {
            // A value that ended by itself stands where it was.
            return None;
        }
        if self.follows(index, filters, WantedColumn::is) {
            return Some(IndexEnd::First);
        }
        let first = self.columns.first()?;
        let is = |wanted: &WantedColumn, key: &KeyColumn, place: &Place| {
            let nulls_are_there = !wanted.nulls_first || wanted == first || !has_nulls(key, place);
            wanted.descending != is_descending(key) && nulls_are_there
        };
        if !self.follows(index, filters, is) {
            return None;
        }
        let place = index.place(&first.name).filter(|_| first.nulls_first);
        let nulls = place.and_then(|place| {
            let key = index.table.table_schema().key.iter().find(|key| key.name == place.column);
            let column = Expr::Column(Column::new_unqualified(&first.name));
            let condition = index.condition(&Expr::IsNull(Box::new(column)))?;
            let nulls = FirstNulls { column: place.column.clone(), condition };
            key.is_some_and(|key| has_nulls(key, place)).then_some(nulls)
        });
        Some(IndexEnd::Last(nulls))
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
                    && !matches!(key.sql_type, SqlType::Array(_))
            };
            rest.next().is_some_and(is_next)
        })
    }
}

impl WantedColumn {
    fn is(&self, key: &KeyColumn, place: &Place) -> bool {
        // NULL sorts first in a row key, whichever the order of the column.
        self.descending == is_descending(key) && (self.nulls_first || !has_nulls(key, place))
    }
}

fn has_nulls(key: &KeyColumn, place: &Place) -> bool {
    key.nullable || place.presence.is_some()
}

fn is_descending(key: &KeyColumn) -> bool {
    key.order == SortOrder::Desc
}
