// SPDX-License-Identifier: Apache-2.0
//! Recovery: what the log has and the files do not goes back into memtables.
//!
//! 1. *Prepare*, on all cores: the rows of a stretch of the log are sent to their regions, and sorted.
//! 2. *Gather*, in the order of the log: the sorted runs of each region.
//! 3. *Build*, on all cores: the runs of a region are cut at the same rows, each part is merged, and the memtable is
//!    filled from the parts.
//! 4. *Flush*, if what was gathered exceeds the memory for unflushed writes and the log goes on: 3, and then the
//!    largest regions become files. The log is not touched, and its segments stay needed until the opening is over: a
//!    crash in between finds what it found, and the files. Only what the log proves durable is flushed; a batch could
//!    otherwise survive in one region's files and vanish from the log with another region's rows.
//!
//! A flush that fails, on a full disk say, is not tried again: the rest stays in memory, and the database opens.
//! Nothing is written to the log before all of it was read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use basalt_model::{RowMutation, Seq, TableId};
use bytes::Bytes;

use super::Shared;
use crate::commit::assign_seqs;
use crate::error::Result;
use crate::ids::RegionId;
use crate::memtable::{Memtable, SortedRun, detached};
use crate::options::Recovery;
use crate::version::{RegionVersion, Version};
use crate::wal::frame::Section;
use crate::wal::recover::{LogReader, Progress, Recovered, Replay};
use crate::workers::{Answer, Workers};

/// Entries that are worth a part of their own when a memtable is built.
const PART_ENTRIES: usize = 32 << 10;
/// Rows of a run that are looked at to find where to cut.
const SAMPLES: usize = 8;

type Place = (TableId, RegionId);

/// Reads the log into the memtables of the current version.
pub(super) fn run(shared: &Shared) -> Result<Recovered> {
    let version = shared.version();
    let (log_id, first_segment, router) = {
        let manifest = shared.manifest.lock();
        let manifest = manifest.current();
        let flushed = manifest.regions.iter().map(|entry| (entry.id, entry.flushed_seq)).collect();
        let router = Arc::new(Router { version: Arc::clone(&version), flushed });
        (manifest.log_id, manifest.first_segment, router)
    };
    let workers = &Workers::on_all_cores(shared.env.clone());
    let reader = LogReader {
        env: &shared.env,
        root: &shared.root,
        log_id,
        first_segment,
        skip_damage: shared.options.recovery == Recovery::SkipDamagedWal,
        table_name: &|id| version.table(id).ok().map(|table| table.descriptor.name.to_string()),
        workers,
    };
    let prepare = Arc::new(move |sections, size_bytes| router.prepare(sections, size_bytes));
    let may_flush = !shared.options.read_only;
    let mut gathered = Gathered { shared, workers, runs: BTreeMap::new(), bytes: 0, may_flush };
    let found = reader.read(Replay { prepare, apply: &mut |runs, progress| gathered.add(runs, progress) })?;
    gathered.build(found.seq_last, found.timestamp);
    Ok(found)
}

/// Step 1.
struct Router {
    version: Arc<Version>,
    flushed: HashMap<RegionId, Seq>,
}

/// Rows of one stretch by region.
#[derive(Default)]
struct Routed {
    slots: BTreeMap<Place, usize>,
    rows: Vec<Vec<(Seq, RowMutation)>>,
}

impl Router {
    fn prepare(&self, sections: Vec<Section>, size_bytes: usize) -> Vec<(Place, SortedRun)> {
        let mut routed = Routed::default();
        let mut sections = sections.into_iter().peekable();
        while let Some(first) = sections.next() {
            let seq = first.seq;
            let mut rows: Vec<(TableId, RowMutation)> =
                first.rows.into_iter().map(|row| (first.table, row)).collect();
            while let Some(section) = sections.next_if(|section| section.seq == seq) {
                rows.extend(section.rows.into_iter().map(|row| (section.table, row)));
            }
            self.route(seq, rows, &mut routed);
        }
        let rows = || routed.rows.iter().flatten();
        let kept: usize = rows().map(|(_, mutation)| mutation.entry().len()).sum();
        // A few rows must not keep all of the stretch in memory.
        let sparse = kept < size_bytes / 2;
        let sorted = |rows: &mut Vec<_>| {
            let rows = std::mem::take(rows);
            SortedRun::new(if sparse { detached(&rows) } else { rows })
        };
        routed.slots.iter().map(|(place, &slot)| (*place, sorted(&mut routed.rows[slot]))).collect()
    }

    /// Rows are sent to regions by key, not by the region that the log names: it may have been split since.
    fn route(&self, seq: Seq, rows: Vec<(TableId, RowMutation)>, routed: &mut Routed) {
        let (seqs, _) = assign_seqs(seq, &rows);
        let mut current: Option<(&RegionVersion, Seq, usize)> = None;
        for (i, (table, row)) in rows.into_iter().enumerate() {
            let key = row.borrow().row();
            let fits =
                |(region, ..): &(&RegionVersion, _, _)| region.table == table && region.range.contains(key);
            if !current.as_ref().is_some_and(fits) {
                // A table that is gone was dropped after the write.
                let Some(table) = self.version.tables.get(&table) else { continue };
                let region = table.region_of(key);
                let slot = routed.slot((table.id, region.id));
                current = Some((region, self.flushed[&region.id], slot));
            }
            let (_, flushed_seq, slot) = current.expect("set above");
            if seqs.of(i) > flushed_seq {
                routed.rows[slot].push((seqs.of(i), row));
            }
        }
    }
}

impl Routed {
    fn slot(&mut self, place: Place) -> usize {
        *self.slots.entry(place).or_insert_with(|| {
            self.rows.push(Vec::new());
            self.rows.len() - 1
        })
    }
}

/// Steps 2 to 4.
struct Gathered<'a> {
    shared: &'a Shared,
    workers: &'a Workers,
    runs: BTreeMap<Place, Vec<SortedRun>>,
    /// What the runs will take of memory.
    bytes: u64,
    may_flush: bool,
}

impl Gathered<'_> {
    fn add(&mut self, runs: Vec<(Place, SortedRun)>, before: Progress) -> Result<()> {
        let limit = self.shared.options.unflushed_bytes_max();
        if self.may_flush && before.durable && self.shared.commit.unflushed_bytes() + self.bytes > limit {
            self.build(before.seq_last, before.timestamp);
            self.flush(limit / 2);
        }
        for (place, run) in runs.into_iter().filter(|(_, run)| run.len() > 0) {
            self.bytes += run.memory_bytes();
            self.runs.entry(place).or_default().push(run);
        }
        Ok(())
    }

    /// Step 3, of all that is gathered.
    fn build(&mut self, seq: Seq, timestamp: i64) {
        self.bytes = 0;
        let version = self.shared.version();
        let runs = std::mem::take(&mut self.runs);
        let merging: Vec<_> = runs.into_iter().map(|(place, runs)| (place, self.merge(runs))).collect();
        let filling: Vec<_> = merging
            .into_iter()
            .map(|((table, region), parts)| {
                let parts: Vec<_> = parts.iter().map(|part| self.workers.wait(part)).collect();
                let region = version.table(table).and_then(|table| table.region(region));
                let region = region.expect("regions stay as they are while the database opens");
                let memtable: Arc<Memtable> = Arc::clone(&region.active);
                self.workers.run(move || memtable.fill(parts))
            })
            .collect();
        let added = filling.iter().map(|filled| self.workers.wait(filled)).sum();
        self.shared.commit.recovered(seq, timestamp, added);
    }

    /// Has runs merged to one, in parts of about the same size.
    fn merge(&self, runs: Vec<SortedRun>) -> Vec<Answer<SortedRun>> {
        let entries: usize = runs.iter().map(SortedRun::len).sum();
        let cuts = cuts(&runs, entries.div_ceil(PART_ENTRIES));
        let mut parts: Vec<Vec<SortedRun>> = (0..=cuts.len()).map(|_| Vec::new()).collect();
        for run in runs {
            parts.iter_mut().zip(run.split(&cuts)).for_each(|(part, run)| part.push(run));
        }
        parts.into_iter().map(|part| self.workers.run(move || SortedRun::merge(part))).collect()
    }

    /// Step 4, until no more than `target_bytes` are in memory.
    fn flush(&mut self, target_bytes: u64) {
        while self.may_flush && self.shared.commit.unflushed_bytes() > target_bytes {
            let version = self.shared.version();
            let Some(largest) = version.regions().max_by_key(|region| region.memtable_bytes()) else {
                return;
            };
            self.may_flush = matches!(self.shared.flush_region(largest.table, largest.id), Ok(true));
        }
    }
}

/// Rows that cut runs into `count` parts of about the same size.
fn cuts(runs: &[SortedRun], count: usize) -> Vec<Bytes> {
    if count <= 1 {
        return Vec::new();
    }
    let mut samples: Vec<Bytes> = runs.iter().flat_map(|run| run.cuts(SAMPLES)).collect();
    samples.sort_unstable();
    samples.dedup();
    let at = |i: usize| samples[i * samples.len() / count].clone();
    let mut cuts: Vec<Bytes> = if samples.is_empty() { Vec::new() } else { (1..count).map(at).collect() };
    cuts.dedup();
    cuts
}
