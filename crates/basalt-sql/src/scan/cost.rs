// SPDX-License-Identifier: Apache-2.0
//! What lookups of single rows cost, in rows that a scan reads in the same time.
//!
//! Row groups are read by column: a scan of six million rows of LINEITEM that leaves nearly all of them out takes five milliseconds, of which half is planning,
//! and a lookup of a row that is in no cache 20 to 40 microseconds, so that rows found by an index are worth it if they are few of many thousands. Cells
//! are read one after the other, by scans too. `basalt bench index` and the tests of indexes show what comes of it.

use basalt_model::{FamilyDescriptor, KeyRange, TableDescriptor, TableId};
use basalt_store::Snapshot;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// A row by its key.
    pub(super) look_up: u64,
    /// Beginning a scan of a table, in all its partitions.
    pub(super) begin: u64,
}

impl Cost {
    /// Of row groups.
    const BY_COLUMN: Self = Self { look_up: 20_000, begin: 200_000 };
    /// Of cells, in blocks of other encodings or in memory.
    const BY_CELL: Self = Self { look_up: 100, begin: 1_000 };

    /// Of a table.
    pub(super) fn of(snapshot: &Snapshot, id: TableId, descriptor: &TableDescriptor) -> Self {
        let by_column = |family: &FamilyDescriptor| family.encoding == "COLUMNAR";
        let is_stored = || snapshot.blocks(id, &[KeyRange::all()]).is_ok_and(|blocks| blocks > 0);
        let is_by_column = descriptor.families.iter().all(by_column) && is_stored();
        if is_by_column { Self::BY_COLUMN } else { Self::BY_CELL }
    }
}
