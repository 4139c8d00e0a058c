// SPDX-License-Identifier: Apache-2.0
//! A view of the database at one commit.

use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_hfile::predicate::Predicate;
use basalt_model::{Get, KeyRange, Scan, Seq, TableDescriptor, TableId, TableName, TableSchema};

use crate::database::Shared;
use crate::error::{Error, Result};
use crate::read::{
    CellColumns, CellScan, Keep, KnownValues, NextRanges, ReadCounters, Row, RowBatches, RowRequest, RowScan,
    Rows, RowsApart, Segment, can_be_apart, families_of,
};
use crate::version::Version;

mod known;
pub(crate) mod open_scans;
pub(crate) mod query;
pub(crate) mod read;

pub use query::Lookups;

/// Sees exactly the batches up to its sequence number, for as long as it lives, and keeps the files alive that
/// hold them. Cheap to clone and to send.
#[derive(Clone)]
pub struct Snapshot {
    shared: Arc<Shared>,
    version: Arc<Version>,
    seq: Seq,
}

/// What to scan and how.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Rows wanted, sorted and disjoint. Default: all.
    pub ranges: Vec<KeyRange>,
    /// Families wanted; `None` for all. Default `None`.
    pub families: Option<Vec<String>>,
    /// Versions wanted per column, at most as many as the family keeps. Default 1.
    pub versions: u32,
    /// Only cells of this moment and before, in milliseconds since 1970; rows are as they were then, as far as versions and
    /// deleted cells are kept. `None` for all. Default `None`.
    pub as_of_ms: Option<i64>,
    /// What goes into the cache. Default: all; less for scans larger than the cache.
    pub keep: Keep,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            ranges: vec![KeyRange::all()],
            families: None,
            versions: 1,
            as_of_ms: None,
            keep: Keep::Decoded,
        }
    }
}

impl Snapshot {
    pub(crate) fn new(shared: Arc<Shared>, version: Arc<Version>, seq: Seq) -> Self {
        Self { shared, version, seq }
    }

    /// The same for one table only: what other tables have had since then is not kept for it.
    pub fn of_table(&self, id: TableId) -> Result<Self> {
        let table = Arc::clone(self.version.table(id)?);
        let mut version = Version::default();
        version.names.insert(table.descriptor.name.clone(), id);
        version.tables.insert(id, table);
        Ok(Self { shared: Arc::clone(&self.shared), version: Arc::new(version), seq: self.seq })
    }

    /// The newest commit that the snapshot shows.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The table of this name, as it was.
    pub fn table(&self, name: &TableName) -> Result<(TableId, Arc<TableDescriptor>)> {
        let table = self.version.table_named(name)?;
        Ok((table.id, Arc::clone(&table.descriptor)))
    }

    /// The indexes of a table, whatever their state, by age.
    pub fn indexes(&self, base: TableId) -> Vec<(TableId, Arc<TableDescriptor>)> {
        crate::database::indexes::indexes_in(&self.version, base)
    }

    /// The visible cells of some key ranges, in key order.
    pub fn scan(&self, table: TableId, options: &ScanOptions) -> Result<CellScan> {
        read::scan(&self.shared, &self.version, table, options, self.seq)
    }

    /// Rows of some key ranges (sorted, disjoint) of a SQL table. What is read goes into the cache,
    /// decoded if the scan would not flood it.
    pub fn rows(
        &self,
        table: TableId,
        schema: &Arc<TableSchema>,
        request: RowRequest,
        ranges: Vec<KeyRange>,
    ) -> Result<RowBatches> {
        let expected = ranges.clone();
        self.open_rows(table, schema, request, &expected, ranges, None)
    }

    /// Rows of a SQL table like those of [`Self::rows`], for a reader who is told only while it reads which ranges are its own: `next` gives
    /// some (sorted, disjoint) whenever those before are read, until there are none. Parts may come in any order. `expected` is what
    /// it will read, about.
    pub fn rows_in_parts(
        &self,
        table: TableId,
        schema: &Arc<TableSchema>,
        request: RowRequest,
        expected: &[KeyRange],
        mut next: impl FnMut() -> Option<Vec<KeyRange>> + Send + 'static,
    ) -> Result<RowBatches> {
        let first = next().unwrap_or_default();
        self.open_rows(table, schema, request, expected, first, Some(Box::new(next)))
    }

    /// Opens rows of the ranges `first` and of those that follow; `expected` is what will be read.
    fn open_rows(
        &self,
        table: TableId,
        schema: &Arc<TableSchema>,
        request: RowRequest,
        expected: &[KeyRange],
        first: Vec<KeyRange>,
        next: Option<NextRanges>,
    ) -> Result<RowBatches> {
        let keep = match request.cached {
            true if read::worth_decoding(&self.shared, &self.version, table, expected)? => Keep::Decoded,
            true => Keep::Stored,
            false => Keep::Nothing,
        };
        let (snapshot, as_of_ms) = (self.clone(), request.as_of_ms);
        let open = move |ranges, families| {
            let options = ScanOptions { ranges, families: Some(families), versions: 1, as_of_ms, keep };
            snapshot.scan(table, &options)
        };
        let descriptor = &self.version.table(table)?.descriptor;
        let name: Arc<str> = descriptor.name.to_string().into();
        let wanted = request.all_columns();
        let families: Vec<String> = match schema.has_empty_cell() {
            true => families_of(schema, &wanted),
            // Without the empty cell a row may have cells in any one family.
            false => descriptor.families.iter().map(|family| family.name.clone()).collect(),
        };
        let schema = Arc::clone(schema);
        if families.len() > 1 && as_of_ms.is_none() && can_be_apart(descriptor, &families, &schema, &wanted) {
            let rows = RowsApart::try_new(Box::new(open), families, schema, request, name, first, next)?;
            return Ok(RowBatches::Apart(Box::new(rows)));
        }
        let scan = RowScan::new(open(first, families.clone())?, schema, request, name);
        let scan = match next {
            None => scan,
            Some(mut next) => {
                let parts = move || next().map(|ranges| open(ranges, families.clone())).transpose();
                scan.with_parts(Box::new(parts))
            }
        };
        Ok(RowBatches::Together(Box::new(scan)))
    }

    /// The number of rows of a SQL table, if the files' own counts add up to it: one family, nothing in memory, nothing
    /// deleted, overwritten or expiring.
    pub fn row_count(&self, table: TableId) -> Result<Option<u64>> {
        known::row_count(&self.version, table, self.seq)
    }

    /// True if the files say that every row of a SQL table satisfies a predicate on its columns, of those whose [`row_count`](Self::row_count)
    /// is known. Their heads are read the first time.
    pub fn all_rows_satisfy(
        &self,
        table: TableId,
        schema: &TableSchema,
        predicate: &Arc<Predicate>,
    ) -> Result<bool> {
        known::all_rows_satisfy(&self.shared, &self.version, table, schema, predicate, self.seq)
    }

    /// Between which integers the values of a table's columns lie, about: by the heads of row groups, which are read the first
    /// time.
    pub fn known_values(&self, table: TableId) -> Result<KnownValues> {
        known::known_values(&self.shared, &self.version, table)
    }

    /// What a get finds of one row, as it was; an empty row if there is nothing.
    pub fn get(&self, table: TableId, get: &Get) -> Result<Row> {
        self.view().get(table, get)
    }

    /// What several gets find, in the order in which they are given. They are looked up in the order of their rows, which
    /// leads through each index and block but once.
    pub fn get_all(&self, table: TableId, gets: &[Get]) -> Result<Vec<Row>> {
        self.lookups(table)?.get_all(gets)
    }

    /// For gets one after the other, best in the order of their rows.
    pub fn lookups(&self, table: TableId) -> Result<Lookups<'_>> {
        Lookups::new(self.view(), table)
    }

    /// The rows of a scan, as they were. Nothing is read before the first row is asked for.
    pub fn query(&self, table: TableId, scan: &Scan) -> Result<Rows> {
        self.view().scan(table, scan)
    }

    fn view(&self) -> query::View<'_> {
        let now_ms = self.shared.env.now_ms();
        query::View { shared: &self.shared, version: &self.version, seq: self.seq, now_ms }
    }

    /// The visible cells of one row, in key order; none if there is no such row.
    pub fn get_row(&self, table: TableId, row: &[u8]) -> Result<Vec<CellRun>> {
        read::row(&self.shared, &self.version, table, row, None, self.seq)
    }

    /// At least the cells of some of the row's columns: of others none is read, where that saves anything. What is read is counted in `counters`.
    pub fn get_row_of(
        &self,
        table: TableId,
        row: &[u8],
        columns: &CellColumns,
        counters: &Arc<ReadCounters>,
    ) -> Result<Vec<CellRun>> {
        let wanted = Some((columns, counters));
        read::row(&self.shared, &self.version, table, row, wanted, self.seq)
    }

    /// The same of several rows, which ascend and are each named once: less time than to ask for one after the other.
    pub fn get_rows(&self, table: TableId, rows: &[impl AsRef<[u8]>]) -> Result<Vec<Vec<CellRun>>> {
        self.look_up(table, rows, None)
    }

    /// What [`Self::get_rows`] gives of some columns, as [`Self::get_row_of`] does.
    pub fn get_rows_of(
        &self,
        table: TableId,
        rows: &[impl AsRef<[u8]>],
        columns: &CellColumns,
        counters: &Arc<ReadCounters>,
    ) -> Result<Vec<Vec<CellRun>>> {
        self.look_up(table, rows, Some((columns, counters)))
    }

    fn look_up(
        &self,
        table: TableId,
        rows: &[impl AsRef<[u8]>],
        wanted: Option<(&CellColumns, &Arc<ReadCounters>)>,
    ) -> Result<Vec<Vec<CellRun>>> {
        let rows: Vec<&[u8]> = rows.iter().map(AsRef::as_ref).collect();
        if !rows.is_sorted_by(|a, b| a < b) {
            return Err(Error::Invalid("the rows of a lookup must ascend and must not repeat".into()));
        }
        read::rows(&self.shared, &self.version, table, &rows, wanted, self.seq)
    }

    /// Cuts `ranges` (sorted, disjoint) into about `wanted` parts of about equal bytes, for parallel scans.
    pub fn segments(&self, table: TableId, ranges: &[KeyRange], wanted: usize) -> Result<Vec<Segment>> {
        read::segments(&self.version, table, ranges, wanted)
    }

    /// The blocks of store files that a scan of `ranges` (sorted, disjoint) reads if it can skip none.
    pub fn blocks(&self, table: TableId, ranges: &[KeyRange]) -> Result<u64> {
        read::blocks(&self.version, table, ranges)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("seq", &self.seq).finish_non_exhaustive()
    }
}
