// SPDX-License-Identifier: Apache-2.0
//! A scan of a SQL table: visible cells into record batches.
//!
//! Row groups that pass as they are ([`super::straight`]) answer the scan's predicate before columns are made of them:
//! a group, or a vector of it, of which the bounds say that no row passes is not read at all, and of the others only
//! the rows that pass are decoded. Rows that are read as cells are handed out with all columns that the condition needs,
//! for the caller to look at.

mod ranked;
mod request;

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::RecordBatch;
use basalt_hfile::columnar::{Binder, BoundPredicate, Mask, VECTOR, Verdict};
use basalt_hfile::predicate::Predicate;
use basalt_hfile::typed::{RowDecoder, Totals, TypedError};
use basalt_hfile::{CellRun, ColumnarBlock};
use basalt_model::{ColumnRef, TableSchema};

use self::ranked::Ranked;
pub use self::request::{Condition, RowRequest};
use super::access::ReadCounters;
use super::scan::{CellScan, Chunk};
use super::straight::{GroupRows, Taking, Unordered};
use crate::{Error, Result};

/// Rows of a row group from which on its columns are read in one go; fewer are read vector by vector.
const LOAD_ROWS_MIN: usize = 8192;
/// Vectors of a row group with rows that pass, after which its columns are read in one go though the condition grows.
const LOAD_VECTORS_MIN: usize = 8;
/// With a condition that grows, rows that pass go to the caller once the scan has looked at a part like this of the rows
/// that it had looked at before.
const GROWTH_PART: usize = 8;
/// Rows after which a scan returns to its caller, though it found none that pass.
const LOOKED_AT_MAX: usize = 1 << 20;

/// Rows of a scan.
#[derive(Debug)]
pub struct RowBatch {
    /// The rows. Without columns it has rows all the same, for counting.
    pub batch: RecordBatch,
    /// True if all of them are wanted, and the columns are those of the request. Else the columns of the condition
    /// follow them, and the caller must look at the rows.
    pub passed: bool,
}

/// The next part of a scan that is told only while it runs what it reads; `None` if there is nothing more.
pub(crate) type NextPart = Box<dyn FnMut() -> Result<Option<CellScan>> + Send>;

/// Rows by one scan of all families that are read; see [`super::RowBatches`].
pub struct RowScan {
    cells: CellScan,
    /// Asked when there are no more cells.
    next_part: Option<NextPart>,
    schema: Arc<TableSchema>,
    /// Of the wanted columns.
    decoder: RowDecoder,
    /// Of these and the condition's, for rows that were not looked at.
    wide: Option<RowDecoder>,
    /// Rows go into `wide`, not into `decoder`; none wait in the other one if their order counts.
    is_wide: bool,
    taking: Taking,
    condition: Option<Condition>,
    binder: Binder,
    bound: Option<Bound>,
    skip: u64,
    short: bool,
    table: Arc<str>,
    batch_rows: usize,
    runs: std::vec::IntoIter<CellRun>,
    /// Rows that come after those that wait, which must go first.
    behind: Option<GroupRows>,
    /// A window that begins with what comes next, once no rows wait.
    begins: Option<Unordered>,
    /// Rows of a window whose rows come in no order, and wait until it ends.
    window: Option<Ranked>,
    /// Rows of such a window, in order.
    ready: VecDeque<RowBatch>,
    /// Rows of a vector in which some may pass are handed out with it.
    by_vectors: bool,
    /// Cells and rows since the caller asked for more.
    looked_at: usize,
    /// All that were looked at before.
    looked_at_before: usize,
    /// No cells are left.
    ended: bool,
    failed: bool,
}

/// The condition in the terms of the row group in hand.
struct Bound {
    /// What was bound.
    stated: Arc<Predicate>,
    predicate: BoundPredicate,
    verdict: Verdict,
    /// Rows that pass are wanted.
    is_exact: bool,
    /// Rows of the group that are asked for.
    rows: usize,
    /// Vectors of the group with rows that pass.
    vectors: usize,
    /// The wanted columns were read.
    is_loaded: bool,
}

impl Bound {
    /// True if the wanted columns of the row group are to be read now, when rows of one more vector pass.
    fn loads(&mut self, grows: bool) -> bool {
        self.vectors += 1;
        let is_time = !grows || self.vectors >= LOAD_VECTORS_MIN;
        let loads = is_time && self.rows >= LOAD_ROWS_MIN && !self.is_loaded;
        self.is_loaded |= loads;
        loads
    }
}

impl fmt::Debug for RowScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowScan").field("table", &self.table).finish_non_exhaustive()
    }
}

impl RowScan {
    /// Decodes `cells`, which must include those of the condition's columns, into batches. `table` is named in errors.
    pub fn new(cells: CellScan, schema: Arc<TableSchema>, request: RowRequest, table: Arc<str>) -> Self {
        let (all, taking) = (request.all_columns(), request.taking(&schema));
        let RowRequest { columns, condition, skip, short, totals, batch_rows, .. } = request;
        let mut cells = cells;
        cells.allow_row_groups(taking.clone());
        let mut decoder = match short {
            true => RowDecoder::in_short_form(&schema, &columns),
            false => RowDecoder::of_columns(&schema, &columns),
        };
        if let Some(wanted) = totals {
            decoder.set_totals(&schema, &columns, &wanted);
        }
        let wide = condition.is_some().then(|| RowDecoder::of_columns(&schema, &all));
        Self {
            cells,
            next_part: None,
            schema,
            decoder,
            wide,
            is_wide: false,
            taking,
            condition,
            binder: Binder::default(),
            bound: None,
            skip,
            short,
            table,
            batch_rows: batch_rows.max(1),
            runs: Vec::new().into_iter(),
            behind: None,
            begins: None,
            window: None,
            ready: VecDeque::new(),
            by_vectors: false,
            looked_at: 0,
            looked_at_before: 0,
            ended: false,
            failed: false,
        }
    }

    /// The same scan, which leaves out vectors of which no row passes, but no single rows.
    pub(super) fn by_vectors(self) -> Self {
        Self { by_vectors: true, ..self }
    }

    /// The same scan, which goes on with more parts after its own cells; in whatever order, so it leaves out no first rows.
    pub(crate) fn with_parts(self, next_part: NextPart) -> Self {
        debug_assert!(self.skip == 0, "which rows are the first is known only if they come in order");
        Self { next_part: Some(next_part), ..self }
    }

    /// Goes on with the next part; false if there is none.
    fn begin_part(&mut self) -> Result<bool> {
        let Some(next_part) = &mut self.next_part else { return Ok(false) };
        let Some(cells) = next_part()? else { return Ok(false) };
        self.cells = cells.counting_on(self.cells.counters());
        self.cells.allow_row_groups(self.taking.clone());
        Ok(true)
    }

    /// What the scan has read so far; goes on counting while it runs.
    pub fn counters(&self) -> &Arc<ReadCounters> {
        self.cells.counters()
    }

    /// What the rows come to that were added up so far, and were in no batch.
    pub fn totals(&self) -> Option<&Totals> {
        self.decoder.totals()
    }

    fn decoder(&mut self) -> &mut RowDecoder {
        match &mut self.wide {
            Some(wide) if self.is_wide => wide,
            _ => &mut self.decoder,
        }
    }

    /// Makes the decoder for rows that passed, or did not, the one that is filled; false if the rows in the other one
    /// must go first.
    fn turn(&mut self, passed: bool) -> Result<bool> {
        let wide = !passed;
        if wide != self.is_wide {
            self.decoder().end().map_err(|error| self.explain(error))?;
            if self.decoder().rows_ready() > 0 && !self.taking.any_order {
                return Ok(false);
            }
            self.is_wide = wide;
        }
        Ok(true)
    }

    /// Rows that wait in the one decoder and in the other.
    fn rows_ready(&self) -> (usize, usize) {
        (self.decoder.rows_ready(), self.wide.as_ref().map_or(0, RowDecoder::rows_ready))
    }

    /// True if there are rows enough, or rows that wait and may make the condition stronger, or the caller has waited long enough.
    fn should_return(&mut self) -> bool {
        if self.window.is_some() {
            return false;
        }
        if !self.ready.is_empty() || self.looked_at >= LOOKED_AT_MAX {
            return true;
        }
        let (narrow, wide) = self.rows_ready();
        let rows_ready = narrow.max(wide);
        let step = (self.looked_at_before / GROWTH_PART).max(VECTOR);
        rows_ready >= self.batch_rows || self.grows() && rows_ready > 0 && self.looked_at >= step
    }

    fn grows(&self) -> bool {
        self.condition.as_ref().is_some_and(|condition| condition.grows)
    }

    fn fill(&mut self) -> Result<()> {
        self.looked_at_before += std::mem::take(&mut self.looked_at);
        while !self.ended && !self.should_return() {
            if self.begins.is_some() && !self.begin_window()? {
                return Ok(());
            }
            if let Some(run) = self.runs.as_slice().first().cloned() {
                if !self.turn(self.condition.is_none())? {
                    return Ok(());
                }
                self.runs.next();
                self.looked_at += run.cells.len();
                if let Some(window) = &mut self.window {
                    window.add_cells(&run);
                }
                self.decoder().push(&run).map_err(|error| self.explain(error))?;
                continue;
            }
            if let Some(rows) = self.behind.take() {
                self.looked_at += rows.rows.count();
                if !self.push_rows(&rows)? {
                    self.behind = Some(rows);
                    return Ok(());
                }
                continue;
            }
            match self.cells.next_chunk()? {
                Some(Chunk::Cells(runs)) => self.runs = runs.into_iter(),
                Some(Chunk::Rows(rows)) => {
                    let ends = rows.begins.is_some() && self.window.is_none() && self.ends_batch_at_group();
                    self.behind = Some(rows);
                    if ends {
                        return Ok(());
                    }
                }
                Some(Chunk::Begins(rows)) => self.begins = Some(rows),
                Some(Chunk::Ends) => return self.end_window(),
                None => {
                    self.decoder().end().map_err(|error| self.explain(error))?;
                    self.ended = !self.begin_part()?;
                }
            }
        }
        Ok(())
    }

    /// Begins with a window whose rows come in no order; false if rows wait, which come before them.
    fn begin_window(&mut self) -> Result<bool> {
        self.decoder().end().map_err(|error| self.explain(error))?;
        if self.rows_ready() != (0, 0) {
            return Ok(false);
        }
        // Rows that were looked at and those that were not are put in order together.
        self.is_wide = self.condition.is_some();
        let Some(Unordered { ranks, rows_max }) = self.begins.take() else { return Ok(true) };
        // Of rows without columns, and of those that are all left out, nobody sees the order.
        let has_order = !self.decoder().has_no_columns() && self.skip < rows_max as u64;
        self.window = has_order.then(|| Ranked::new(ranks));
        Ok(true)
    }

    /// Puts the rows of the window in order.
    fn end_window(&mut self) -> Result<()> {
        let Some(window) = self.window.take() else { return Ok(()) };
        self.decoder().end().map_err(|error| self.explain(error))?;
        let batch = self.decoder().finish_batch().map_err(|error| self.explain(error))?;
        let batch = window.in_order(batch).map_err(|error| self.explain(error.into()))?;
        let passed = !self.is_wide;
        for start in (0..batch.num_rows()).step_by(self.batch_rows) {
            let batch = batch.slice(start, self.batch_rows.min(batch.num_rows() - start));
            self.ready.push_back(RowBatch { batch, passed });
        }
        Ok(())
    }

    /// True if the batch in hand should have no rows of the next row group: texts come in short form only while they are of
    /// one dictionary. A batch of very few rows is filled all the same.
    fn ends_batch_at_group(&mut self) -> bool {
        self.short && self.decoder().rows_ready() > self.batch_rows / 16
    }

    /// What the bounds say of a vector's rows. Those that cannot pass are left out.
    fn verdict(&mut self, rows: &GroupRows) -> Result<Verdict> {
        let explain = |error| rows.explain(error);
        match rows.begins {
            Some(begin) => self.begin_group(&rows.group, begin.rows).map_err(explain)?,
            None => self.follow_condition(&rows.group),
        }
        let bound = self.bound.as_ref().expect("the group has begun");
        let verdict = match bound.verdict {
            Verdict::Some => bound.predicate.of_vector(&rows.group, rows.vector).map_err(explain)?,
            Verdict::All => return Ok(Verdict::All),
            Verdict::None => {
                self.skip_group(rows.rows.count());
                return Ok(Verdict::None);
            }
        };
        if verdict == Verdict::None {
            self.counters().rows_skipped.fetch_add(rows.rows.count() as u64, Relaxed);
        }
        Ok(verdict)
    }

    /// Takes the rows of a vector that pass; false if rows of the other kind must go first.
    fn push_rows(&mut self, rows: &GroupRows) -> Result<bool> {
        let explain = |error| rows.explain(error);
        let GroupRows { group, vector, rows: of_vector, begins, .. } = rows;
        if begins.is_some() {
            self.decoder.begin_totals();
        }
        let mut wanted = *of_vector;
        let mut all = true;
        if self.condition.is_some() {
            all = match self.verdict(rows)? {
                Verdict::None => return Ok(true),
                verdict => verdict == Verdict::All,
            };
            let is_exact = self.bound.as_ref().is_some_and(|bound| bound.is_exact) && self.window.is_none();
            if !self.turn(is_exact)? {
                return Ok(false);
            }
        } else {
            let Some(left) = self.behind_offset(rows)? else { return Ok(false) };
            wanted = left;
        }
        if let Some(begin) = begins.filter(|begin| !all && !begin.is_mixed)
            && !self.is_wide
            && self.decoder.has_no_columns()
        {
            let start = *vector * VECTOR + of_vector.rows().next().unwrap_or_default();
            return self.count_group(rows, start..start + begin.rows).map(|()| true);
        }
        if !all && !self.by_vectors {
            let bound = self.bound.as_ref().expect("the group has begun");
            let decoder = match &mut self.wide {
                Some(wide) if self.is_wide => wide,
                _ => &mut self.decoder,
            };
            let selected = decoder.select(&bound.predicate, group, *vector).map_err(explain)?;
            wanted = wanted.and(selected);
            let left_out = of_vector.count() - wanted.count();
            self.cells.counters().rows_skipped.fetch_add(left_out as u64, Relaxed);
            if wanted.is_none() {
                decoder.pass_over();
                return Ok(true);
            }
        }
        if wanted.is_none() {
            return Ok(true);
        }
        if all && self.skip == 0 && self.counts_group() {
            let rows = wanted.count() + self.cells.skip_group();
            self.decoder().push_count(rows).map_err(|error| self.explain(error))?;
            return Ok(true);
        }
        let grows = self.grows();
        let loads = match &mut self.bound {
            Some(bound) => bound.loads(grows),
            None => begins.is_some_and(|begin| begin.rows >= LOAD_ROWS_MIN),
        };
        if self.add_up(rows, &wanted, loads)? {
            return Ok(true);
        }
        if loads {
            self.decoder().load(group).map_err(explain)?;
        }
        self.decoder().push_vector(group, *vector, &wanted).map_err(|error| match error {
            TypedError::File(error) => rows.explain(error),
            error => self.explain(error),
        })?;
        self.window.iter_mut().for_each(|window| window.add_rows(rows, &wanted));
        Ok(true)
    }

    /// Adds up the rows of a vector that pass, or all of its row group if its head knows all of it; false if they have to be
    /// pushed.
    fn add_up(&mut self, rows: &GroupRows, wanted: &Mask, loads: bool) -> Result<bool> {
        if self.is_wide || self.decoder.totals().is_none() {
            return Ok(false);
        }
        let GroupRows { group, vector, begins, .. } = rows;
        let explain = |error| rows.explain(error);
        let passes = self.bound.as_ref().is_none_or(|bound| bound.verdict == Verdict::All);
        let is_whole = begins.is_some_and(|begin| !begin.is_mixed && begin.rows == group.rows());
        let mut added = wanted.count();
        if passes && is_whole && self.decoder.add_up_group(group).map_err(explain)? {
            added += self.cells.skip_group();
        } else {
            if loads {
                self.decoder.load(group).map_err(explain)?;
            }
            if !self.decoder.add_up(group, *vector, wanted).map_err(explain)? {
                return Ok(false);
            }
        }
        self.looked_at += added;
        self.counters().rows.fetch_add(added as u64, Relaxed);
        Ok(true)
    }

    /// Counts the rows of a row group that pass, of which nothing else is wanted, and leaves it.
    fn count_group(&mut self, group: &GroupRows, rows: Range<usize>) -> Result<()> {
        let bound = self.bound.as_ref().expect("the group has begun");
        let count = self.decoder.count(&bound.predicate, &group.group, rows.clone());
        let count = count.map_err(|error| group.explain(error))?;
        self.cells.skip_group();
        self.counters().rows_skipped.fetch_add((rows.len() - count) as u64, Relaxed);
        self.decoder.push_count(count).map_err(|error| self.explain(error))
    }

    /// True if all rows of the row group in hand that pass as they are pass, and are only counted.
    fn counts_group(&mut self) -> bool {
        let all = self.bound.as_ref().is_none_or(|bound| bound.verdict == Verdict::All);
        all && self.decoder().has_no_columns()
    }

    /// The rows of a vector that an offset leaves; `None` if rows that wait must go first.
    fn behind_offset(&mut self, rows: &GroupRows) -> Result<Option<Mask>> {
        let GroupRows { rows: of_vector, begins, .. } = rows;
        if self.skip == 0 || self.window.is_some() {
            return Ok(Some(*of_vector));
        }
        // Rows that wait come before these, and are the first to be left out.
        self.decoder().end().map_err(|error| self.explain(error))?;
        if self.decoder().rows_ready() > 0 {
            return Ok(None);
        }
        if let Some(begin) = begins.filter(|begin| !begin.is_mixed && begin.rows as u64 <= self.skip) {
            self.skip -= begin.rows as u64;
            self.skip_group(of_vector.count());
            return Ok(Some(Mask::NONE));
        }
        let skip = of_vector.count().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
        self.skip -= skip as u64;
        Ok(Some(of_vector.without(of_vector.first(skip))))
    }

    /// Puts the condition in the terms of a row group, and reads what it needs of it.
    fn begin_group(&mut self, group: &ColumnarBlock, rows: usize) -> Result<(), basalt_hfile::Error> {
        let condition = self.condition.as_mut().expect("there is a condition");
        let stated = (condition.predicate)();
        let predicate = self.binder.bind(&stated, group, &self.schema);
        let verdict = predicate.of_block(group);
        if verdict == Verdict::Some && rows >= LOAD_ROWS_MIN {
            let (columns, key) = predicate.columns();
            group.load(key, &columns)?;
        }
        let is_exact = condition.is_exact && predicate.is_exact();
        let (vectors, is_loaded) = (0, false);
        self.bound = Some(Bound { stated, predicate, verdict, is_exact, rows, vectors, is_loaded });
        Ok(())
    }

    /// Takes over what the condition has become since the row group began.
    fn follow_condition(&mut self, group: &ColumnarBlock) {
        let (Some(condition), Some(bound)) = (&mut self.condition, &mut self.bound) else { return };
        if !condition.grows {
            return;
        }
        let stated = (condition.predicate)();
        if Arc::ptr_eq(&stated, &bound.stated) {
            return;
        }
        bound.predicate = self.binder.bind(&stated, group, &self.schema);
        bound.verdict = bound.predicate.of_block(group);
        bound.is_exact = condition.is_exact && bound.predicate.is_exact();
        bound.stated = stated;
    }

    /// Leaves the row group, of which these rows are the first.
    fn skip_group(&mut self, first: usize) {
        let rows = first + self.cells.skip_group();
        self.counters().rows_skipped.fetch_add(rows as u64, Relaxed);
        self.counters().blocks_skipped.fetch_add(1, Relaxed);
    }

    /// The next rows, for a caller that counts them in their place.
    pub(super) fn next_uncounted(&mut self) -> Result<Option<RowBatch>> {
        self.fill()?;
        if let Some(RowBatch { batch, passed }) = self.ready.pop_front() {
            return Ok(Some(RowBatch { batch: self.skipped(batch), passed }));
        }
        let (narrow, wide) = self.rows_ready();
        if (narrow, wide) == (0, 0) && self.ended {
            return Ok(None);
        }
        // The fuller one, or that which is being filled: the other one is empty if the order counts.
        let passed = if narrow == wide { !self.is_wide } else { narrow > wide };
        let decoder = match &mut self.wide {
            Some(decoder) if !passed => decoder,
            _ => &mut self.decoder,
        };
        let batch = decoder.finish_batch().map_err(|error| self.explain(error))?;
        Ok(Some(RowBatch { batch: self.skipped(batch), passed }))
    }

    /// What an offset leaves of a batch.
    fn skipped(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows();
        let skip = rows.min(usize::try_from(self.skip).unwrap_or(usize::MAX));
        self.skip -= skip as u64;
        batch.slice(skip, rows - skip)
    }

    fn next_batch(&mut self) -> Result<Option<RowBatch>> {
        let next = self.next_uncounted()?;
        let rows = next.as_ref().map_or(0, |next| next.batch.num_rows());
        self.counters().rows.fetch_add(rows as u64, Relaxed);
        Ok(next)
    }

    #[cold]
    fn explain(&self, source: TypedError) -> Error {
        Error::StoredRow { table: self.table.to_string(), source: Arc::new(source) }
    }
}

impl Iterator for RowScan {
    type Item = Result<RowBatch>;

    fn next(&mut self) -> Option<Result<RowBatch>> {
        if self.failed {
            return None;
        }
        let next = self.next_batch().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

/// The families that a scan of these columns must read: theirs, and that of the empty cell, which every row
/// has. Sorted, each once.
pub fn families_of(schema: &TableSchema, columns: &[ColumnRef]) -> Vec<String> {
    let family = |column: &ColumnRef| match column {
        ColumnRef::Key(_) => None,
        ColumnRef::Column(index) => Some(schema.columns[*index].family.clone()),
    };
    let mut families: Vec<String> = columns.iter().filter_map(family).collect();
    families.push(schema.empty_family.clone());
    families.sort_unstable();
    families.dedup();
    families
}

#[cfg(test)]
mod tests;
