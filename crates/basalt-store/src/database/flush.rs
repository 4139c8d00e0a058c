// SPDX-License-Identifier: Apache-2.0
//! From a memtable to store files.
//!
//! 1. *Seal.* With the order of commits stopped, the active memtable becomes a sealed one and an empty one
//!    takes its place. Every commit of the region up to this point is in sealed memtables or files. Several regions of a
//!    table may be sealed at one commit.
//! 2. *Wait* until those commits are visible or undone, and sync the log; now the sealed memtables do not
//!    change any more, and nothing in them could still be lost elsewhere.
//! 3. *Write* one file per family, and make it durable with its name.
//! 4. *Swap.* One manifest change names the files, says that the log is not needed up to the seal, and names
//!    the first segment that still is. Then the version follows, and the old segments go.
//!
//! A failure before 4 leaves sealed memtables; the next flush takes them along. A region that was dropped
//! meanwhile has its new files removed.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::{FamilyDescriptor, Seq, TableId, TableSchema};
use parking_lot::MutexGuard;

use super::{Database, Shared};
use crate::error::Result;
use crate::ids::RegionId;
use crate::manifest::Manifest;
use crate::memtable::{Memtable, MemtableCursor};
use crate::new_file::FinishedFile;
use crate::read::{BoxedSource, CellSource, FamilyStream, Purpose, Rules};
use crate::version::RegionVersion;

impl Database {
    /// Writes what is in memory to store files: of one table, or of all. Recovery is shorter afterwards.
    pub fn flush(&self, table: Option<TableId>) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        for region in shared.region_ids(table)? {
            shared.flush_region(region.0, region.1)?;
        }
        Ok(())
    }

    /// As [`Database::flush`], for one region.
    pub fn flush_region(&self, table: TableId, region: RegionId) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        shared.version().table(table)?.region(region)?;
        shared.flush_region(table, region).map(drop)
    }
}

/// What step 1 found.
struct Sealed {
    table: TableId,
    regions: Vec<SealedRegion>,
    /// Everything up to here is sealed.
    seq: Seq,
}

struct SealedRegion {
    region: Arc<RegionVersion>,
    memtables: Vec<Arc<Memtable>>,
}

/// A file that step 3 wrote.
struct Flushed {
    region: RegionId,
    family: String,
    file: FinishedFile,
}

impl Sealed {
    fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        self.regions.iter().flat_map(|region| &region.memtables)
    }
}

impl Shared {
    /// The regions of one table, or of all.
    pub(super) fn region_ids(&self, table: Option<TableId>) -> Result<Vec<(TableId, RegionId)>> {
        let version = self.version();
        let tables = match table {
            Some(id) => vec![version.table(id)?],
            None => version.tables.values().collect(),
        };
        Ok(tables.iter().flat_map(|table| table.regions.iter().map(|region| (table.id, region.id))).collect())
    }

    /// Flushes a region; false if it was empty or is gone.
    pub(super) fn flush_region(&self, table: TableId, region: RegionId) -> Result<bool> {
        let one_at_a_time = self.upkeep.flushing.lock();
        let Some(sealed) = self.seal(table, &[region]) else { return Ok(false) };
        if sealed.memtables().next().is_none() {
            return Ok(false);
        }
        self.flush_sealed(sealed, &one_at_a_time, |_| ()).map(|seq| seq.is_some())
    }

    /// Flushes what the log does not have. A region that fails keeps no other from it.
    pub(super) fn flush_unlogged(&self) -> Result<()> {
        let version = self.version();
        let unlogged =
            version.regions().filter(|region| region.memtables().any(|memtable| memtable.is_unlogged()));
        let flush = |region: &Arc<RegionVersion>| self.flush_region(region.table, region.id).map(drop);
        unlogged.map(flush).fold(Ok(()), Result::and)
    }

    /// Flushes regions of a table up to one commit, which it gives, and makes a further change of the manifest together
    /// with that. `None` if one of the regions is gone; then nothing was changed.
    pub(super) fn flush_together(
        &self,
        table: TableId,
        regions: &[RegionId],
        one_at_a_time: &MutexGuard<'_, ()>,
        edit: impl FnOnce(&mut Manifest),
    ) -> Result<Option<Seq>> {
        match self.seal(table, regions) {
            Some(sealed) => self.flush_sealed(sealed, one_at_a_time, edit),
            None => Ok(None),
        }
    }

    fn flush_sealed(
        &self,
        mut sealed: Sealed,
        _one_at_a_time: &MutexGuard<'_, ()>,
        edit: impl FnOnce(&mut Manifest),
    ) -> Result<Option<Seq>> {
        self.commit.wait_resolved(sealed.seq);
        // Commits after the last visible one were undone, but their frame may still be in a failed log. The
        // next recovery decides about them for all regions alike, so this one must not claim to have them.
        sealed.seq = sealed.seq.min(self.commit.visible());
        // Batches that were acknowledged before they were durable become so for all regions at once: after a
        // crash one must not be found in the files of one region and be missing from another.
        self.commit.sync_log()?;
        let (bytes, started) =
            (sealed.memtables().map(|memtable| memtable.size_bytes()).sum(), self.env.clock.monotonic());
        let place = sealed.regions.first().map(|region| (sealed.table, region.region.id));
        let _under_way = place.map(|place| self.upkeep.running.flush(place, bytes, self.env.now_ms()));
        let files = self.write_families(&sealed)?;
        let swapped = self.swap_flushed(&sealed, files, edit)?;
        self.upkeep.pace.flushed(bytes, self.env.clock.monotonic().saturating_sub(started));
        self.look_at_depth();
        self.upkeep.flush_done();
        Ok(swapped.then_some(sealed.seq))
    }

    fn seal(&self, table: TableId, regions: &[RegionId]) -> Option<Sealed> {
        let sequencer = self.commit.sequencer();
        let seq = sequencer.last_seq();
        self.edit_version(|version| {
            for region in regions {
                version.edit_region(table, *region, |region| {
                    if region.active.seq_range().is_some() {
                        region.sealed.push(std::mem::take(&mut region.active));
                    }
                });
            }
        });
        drop(sequencer);
        let version = self.version();
        let found = version.table(table).ok()?;
        let sealed = |id: &RegionId| {
            let region = Arc::clone(found.regions.iter().find(|known| known.id == *id)?);
            Some(SealedRegion { memtables: region.sealed.clone(), region })
        };
        Some(Sealed { table, regions: regions.iter().map(sealed).collect::<Option<_>>()?, seq })
    }

    fn write_families(&self, sealed: &Sealed) -> Result<Vec<Flushed>> {
        let version = self.version();
        let mut files = Vec::new();
        // A table that was dropped meanwhile has nothing to write.
        let Ok(table) = version.table(sealed.table) else { return Ok(files) };
        for region in &sealed.regions {
            let with_tags = region.memtables.iter().any(|memtable| memtable.has_tags());
            for family in &table.descriptor.families {
                let schema = table.descriptor.schema.as_ref();
                let file = self.write_family(region, sealed.seq, family, schema, with_tags)?;
                let (region, family) = (region.region.id, &family.name);
                files.extend(file.map(|file| Flushed { region, family: family.clone(), file }));
            }
        }
        Ok(files)
    }

    fn write_family(
        &self,
        sealed: &SealedRegion,
        seq: Seq,
        family: &FamilyDescriptor,
        schema: Option<&TableSchema>,
        with_tags: bool,
    ) -> Result<Option<FinishedFile>> {
        let newest_first = sealed.memtables.iter().rev();
        let source = |memtable: &Arc<Memtable>| -> BoxedSource {
            Box::new(MemtableCursor::new(Arc::clone(memtable), Some(&family.name), Seq(u64::MAX)))
        };
        let seq_horizon = self.open_scans.oldest();
        let rules = Rules { seq_horizon, ..Rules::new(family, self.env.now_ms()) };
        let mut cells = FamilyStream::new(newest_first.map(source).collect(), rules, Purpose::CompactSome);
        cells.seek(b"");
        let mut file = None;
        let mut target = None;
        while let Some(run) = cells.next_run(None)? {
            if target.is_none() {
                let created = self.files.target(&sealed.region.dir, family, schema, with_tags)?;
                file = Some(created.create(true)?);
                target = Some(created);
            }
            let file = file.as_mut().expect("created above");
            for i in run.cells {
                file.append(run.block.cell(i))?;
            }
        }
        let (Some(file), Some(target)) = (file, target) else { return Ok(None) };
        let seqs = sealed.memtables.iter().filter_map(|memtable| memtable.seq_range());
        let (seq_min, seq_max) =
            seqs.fold((Seq(u64::MAX), Seq(0)), |(min, max), (a, b)| (min.min(a), max.max(b)));
        let finished = file.finish(seq_min, seq_max.min(seq))?;
        target.sync()?;
        Ok(Some(finished))
    }

    /// False if the table is gone.
    fn swap_flushed(
        &self,
        sealed: &Sealed,
        mut files: Vec<Flushed>,
        edit: impl FnOnce(&mut Manifest),
    ) -> Result<bool> {
        let mut manifest = self.manifest.lock();
        let version = self.version();
        let Ok(current) = version.table(sealed.table) else { return Ok(false) };
        files.retain(|flushed| current.descriptor.families.iter().any(|known| known.name == flushed.family));
        let memtables: Vec<Arc<Memtable>> = sealed.memtables().cloned().collect();
        let first_segment = self.first_segment_after(&memtables);
        files.iter_mut().for_each(|flushed| flushed.file.keep());
        manifest.change(|manifest| {
            self.note_progress(manifest);
            manifest.first_segment = manifest.first_segment.max(first_segment);
            for SealedRegion { region, .. } in &sealed.regions {
                // Splits and merges do not come in between: they hold the lock of flushes.
                let entry = manifest.region_mut(region.id).expect("dropped only under the manifest's lock");
                entry.flushed_seq = sealed.seq;
                for flushed in files.iter().filter(|flushed| flushed.region == region.id) {
                    let files = entry.families.entry(flushed.family.clone()).or_default();
                    files.insert(0, flushed.file.meta.clone());
                }
            }
            edit(manifest);
        })?;
        let name: Arc<str> = current.descriptor.name.to_string().into();
        self.edit_version(|version| {
            for SealedRegion { region, memtables } in &sealed.regions {
                version.edit_region(sealed.table, region.id, |region| {
                    let done =
                        |memtable: &Arc<Memtable>| memtables.iter().any(|done| Arc::ptr_eq(done, memtable));
                    region.sealed.retain(|memtable| !done(memtable));
                    for Flushed { family, file, .. } in files.iter().filter(|file| file.region == region.id) {
                        let file = self.store_file(&region.dir, family, &name, &file.meta);
                        region.files.entry(family.clone()).or_default().insert(0, file);
                    }
                });
            }
        });
        manifest.is_in_memory();
        self.upkeep.flushed_memtables.lock().add(&memtables);
        self.commit.release(memtables.iter().map(|memtable| memtable.size_bytes()).sum());
        self.commit.remove_log_before(&self.env, first_segment);
        self.metrics.flushes.fetch_add(u64::from(!memtables.is_empty()), Relaxed);
        let written: u64 = files.iter().map(|flushed| flushed.file.meta.size_bytes).sum();
        self.metrics.flush_bytes.fetch_add(written, Relaxed);
        Ok(true)
    }

    /// The first segment of the log that is needed once `flushed` is in files.
    fn first_segment_after(&self, flushed: &[Arc<Memtable>]) -> u64 {
        // Read first: whatever is visible now and in no memtable below is in files, so the log need not keep
        // it. A commit that becomes visible later may go into a memtable behind our back.
        let visible = self.commit.visible();
        let version = self.version();
        let waiting = version.regions().flat_map(|region| region.memtables());
        let waiting = waiting.filter(|memtable| !flushed.iter().any(|done| Arc::ptr_eq(done, memtable)));
        let oldest = waiting.filter_map(|memtable| memtable.seq_range()).map(|(oldest, _)| oldest).min();
        let mut log = self.commit.log();
        let Some(oldest) = oldest else {
            // Nothing in the log is needed: end the open segment, so that it can go as well.
            if log.open_segment_is_done(visible) {
                // If that fails, the segment stays and so does what it holds.
                let _ = log.finish_segment();
            }
            return log.first_needed(visible);
        };
        log.first_needed(Seq(oldest.0 - 1))
    }

    /// Writes down how far the numbers are.
    pub(super) fn note_progress(&self, manifest: &mut Manifest) {
        // The sequencer's lock may be held by the caller; what is visible is enough: later numbers are in
        // the log, or were never acknowledged.
        manifest.last_seq = manifest.last_seq.max(self.commit.visible());
        manifest.last_timestamp = manifest.last_timestamp.max(self.commit.visible_timestamp());
        manifest.next_file = manifest.next_file.max(self.files.next_file());
    }
}
