// SPDX-License-Identifier: Apache-2.0
//! Which columns become cells where rows of a row group are read as cells.

use std::sync::Arc;

use basalt_hfile::ColumnarBlock;
use basalt_model::{ColumnRef, TableSchema};

/// Columns of a table of which cells are wanted. Where that can be told, no other columns of a row group are read.
#[derive(Debug, Clone)]
pub struct CellColumns {
    /// Their qualifiers, sorted, `always` among them.
    qualifiers: Arc<[Vec<u8>]>,
    /// The column that says that a row is there.
    always: Vec<u8>,
}

impl CellColumns {
    /// Some of a table's columns.
    pub fn new(schema: &TableSchema, columns: impl IntoIterator<Item = ColumnRef>) -> Self {
        let qualifier = |column| match column {
            ColumnRef::Key(_) => None,
            ColumnRef::Column(at) => Some(schema.columns[at].qualifier.clone()),
        };
        let mut qualifiers: Vec<Vec<u8>> = columns.into_iter().filter_map(qualifier).collect();
        let always = schema.empty_qualifier.clone();
        qualifiers.push(always.clone());
        qualifiers.sort_unstable();
        qualifiers.dedup();
        Self { qualifiers: qualifiers.into(), always }
    }

    /// The qualifiers that are read of a row group. `None` stands for all: where a row may lack the column that says that it is there, or
    /// has more than puts, others may have to say so.
    pub(crate) fn of_group(&self, group: &ColumnarBlock) -> Option<&Arc<[Vec<u8>]>> {
        (group.is_plain() && group.is_in_every_row(&self.always)).then_some(&self.qualifiers)
    }
}
