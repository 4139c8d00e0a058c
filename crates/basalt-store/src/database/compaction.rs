// SPDX-License-Identifier: Apache-2.0
//! Runs compactions: picks files by rule ([`crate::compact`]), has them rewritten, swaps the manifest.
//!
//! Markers, and the sequence numbers of cells, leave only if nothing outside of the inputs can be older: no
//! other file with any of the rows (the pick says so), and no memtable with a commit that is not newer than
//! all inputs. The latter happens after a bulk load, which gives its files a number at once while older
//! writes still wait in memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::table::KeepDeletedCells;
use basalt_model::{FamilyDescriptor, IndexState, TableDescriptor, TableId, TableSchema};

use super::upkeep::caught;
use super::{Database, Shared};
use crate::compact::{self, CompactionSpec, Control, Courtesy, FILE_BYTES_MAX, Pick, PickOptions, Reason};
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::manifest::FileMeta;
use crate::metrics::CompactionStats;
use crate::new_file::FinishedFile;
use crate::read::{Keep, Purpose, Rules, StoreFile};
use crate::snapshot::read::access;
use crate::version::RegionVersion;

impl Database {
    /// Rewrites store files: of one table, or of all. A `major` compaction leaves one sorted run per family,
    /// without anything that no reader sees; otherwise only what the rules call for is done.
    pub fn compact(&self, table: Option<TableId>, major: bool) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        shared.compact_regions(table, major, Wish::Asked)
    }

    /// As [`Database::compact`], for one region.
    pub fn compact_region(&self, table: TableId, region: RegionId, major: bool) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let version = shared.version();
        let found = version.table(table)?;
        found.region(region)?;
        let mut families = found.descriptor.families.iter();
        families.try_for_each(|family| shared.compact_family(table, region, &family.name, major, Wish::Asked))
    }
}

/// Who wants a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Somebody who waits for it.
    Asked,
    /// The rules, behind everybody's back: it gives way to readers.
    Upkeep,
}

/// A family that is due by the clock.
#[derive(Debug)]
pub(super) struct Due {
    table: TableId,
    region: RegionId,
    family: String,
    /// All of it, because its period is over.
    major: bool,
}

/// One family of one region.
struct FamilyPlace {
    region: Arc<RegionVersion>,
    table_name: Arc<str>,
    family: FamilyDescriptor,
    schema: Option<TableSchema>,
}

impl FamilyPlace {
    fn files(&self) -> &[Arc<StoreFile>] {
        self.region.files.get(&self.family.name).map_or(&[], Vec::as_slice)
    }
}

impl Shared {
    /// Compacts what the rules pick, or everything, until nothing is left to do or the database closes. A family that cannot be compacted does not
    /// keep the others from it; whoever asked hears of the first one at the end.
    pub(super) fn compact_regions(&self, table: Option<TableId>, major: bool, wish: Wish) -> Result<()> {
        let mut regions = self.region_ids(table)?;
        let mut seen = BTreeSet::new();
        let mut failed = Ok(());
        // Regions that come out of a split or a merge meanwhile have their turn, too.
        while !regions.is_empty() {
            for (table, region) in regions {
                seen.insert(region);
                let version = self.version();
                let Ok(found) = version.table(table) else { continue };
                for family in &found.descriptor.families {
                    match self.compact_family(table, region, &family.name, major, wish) {
                        Err(Error::Closed) => return Err(Error::Closed),
                        done => failed = failed.and(done),
                    }
                }
            }
            regions = self.region_ids(table).unwrap_or_default();
            regions.retain(|(_, region)| !seen.contains(region));
        }
        failed
    }

    /// What is due by the clock: files past their TTL or half past it, and families whose major-compaction period is over.
    pub(super) fn due_by_clock(&self) -> Vec<Due> {
        let (now_ms, version) = (self.env.now_ms(), self.version());
        let mut due = Vec::new();
        for table in version.tables.values().filter(|table| may_be_compacted(&table.descriptor)) {
            for family in &table.descriptor.families {
                let options = pick_options(&Rules::new(family, now_ms));
                let period_ms = family.major_compaction_ms.and_then(|period| i64::try_from(period).ok());
                for region in &table.regions {
                    let Some(files) = region.files.get(&family.name) else { continue };
                    let files: Vec<&FileMeta> = files.iter().map(|file| file.meta()).collect();
                    let major = period_ms.is_some_and(|period_ms| {
                        compact::is_due(&files, now_ms.saturating_sub(period_ms), &options)
                    });
                    if major || files.iter().any(|file| compact::is_aging(file, &options)) {
                        let family = family.name.clone();
                        due.push(Due { table: table.id, region: region.id, family, major });
                    }
                }
            }
        }
        due
    }

    /// Compacts what [`Self::due_by_clock`] found.
    pub(super) fn compact_due(&self, due: &Due) -> Result<()> {
        self.compact_family(due.table, due.region, &due.family, due.major, Wish::Upkeep)
    }

    /// Compacts a family. What fails behind everybody's back is counted, and tried again later; only the end of the database is an error then.
    pub(super) fn compact_family(
        &self,
        table: TableId,
        region: RegionId,
        family: &str,
        major: bool,
        wish: Wish,
    ) -> Result<()> {
        let compacting = &self.upkeep.compacting;
        match caught("compaction", || self.compact_claimed((table, region), family, major, wish)) {
            Ok(is_claimed) => {
                if is_claimed {
                    compacting.succeeded(region, family);
                }
                Ok(())
            }
            Err(Error::Closed) => Err(Error::Closed),
            Err(error) => {
                compacting.failed(region, family, &error, self.env.clock.monotonic());
                self.look_at_depth();
                if wish == Wish::Asked {
                    return Err(error);
                }
                self.metrics.upkeep_failures.fetch_add(1, Relaxed);
                Ok(())
            }
        }
    }

    /// False if somebody else compacts the family, or it is left alone.
    fn compact_claimed(
        &self,
        (table, region): (TableId, RegionId),
        family: &str,
        major: bool,
        wish: Wish,
    ) -> Result<bool> {
        loop {
            let compacting = &self.upkeep.compacting;
            let claim = match wish {
                Wish::Asked => Some(compacting.claim(region, family)),
                Wish::Upkeep => compacting.try_claim(region, family, self.env.clock.monotonic()),
            };
            let Some(claim) = claim else { return Ok(false) };
            if self.is_closed() {
                return Err(Error::Closed);
            }
            let Some(place) = self.family_place(table, region, family) else { return Ok(true) };
            let metas: Vec<FileMeta> = place.files().iter().map(|file| file.meta().clone()).collect();
            let rules = Rules::new(&place.family, self.env.now_ms());
            let picked =
                if major { compact::major(&metas) } else { compact::pick(&metas, &pick_options(&rules)) };
            let Some(pick) = picked else { return Ok(true) };
            let done = self.run_compaction(&place, rules, &pick, (wish, claim.control()))?;
            if major || !done {
                return Ok(true);
            }
        }
    }

    /// `None` if it is gone, or must not be compacted.
    fn family_place(&self, table: TableId, region: RegionId, family: &str) -> Option<FamilyPlace> {
        let version = self.version();
        let table = version.table(table).ok()?;
        if !may_be_compacted(&table.descriptor) {
            return None;
        }
        let region = table.regions.iter().find(|known| known.id == region)?;
        let descriptor = table.descriptor.families.iter().find(|known| known.name == family)?;
        Some(FamilyPlace {
            region: Arc::clone(region),
            table_name: table.descriptor.name.to_string().into(),
            family: descriptor.clone(),
            schema: table.descriptor.schema.clone(),
        })
    }

    /// False if there was nothing that could be done now.
    fn run_compaction(
        &self,
        place: &FamilyPlace,
        rules: Rules,
        pick: &Pick,
        (wish, control): (Wish, &Control),
    ) -> Result<bool> {
        let started_ms = self.env.now_ms();
        let chosen = |file: &&Arc<StoreFile>| pick.inputs.contains(&file.meta().id);
        let inputs: Vec<Arc<StoreFile>> = place.files().iter().filter(chosen).cloned().collect();
        let newest = inputs.iter().map(|file| file.meta().seq_max).max().expect("a pick has inputs");
        let in_memory = place.region.memtables().filter_map(|memtable| memtable.seq_range());
        let oldest_in_memory = in_memory.map(|(oldest, _)| oldest).min();
        let all = pick.all && oldest_in_memory.is_none_or(|oldest| oldest > newest);
        if pick.reason == Reason::Deletes && !(all && newest.0 <= self.open_scans.oldest()) {
            // Its markers could not leave yet. Look again after the next flush.
            return Ok(false);
        }
        let mut with_tags = false;
        let mut put_timestamp_min = i64::MAX;
        if pick.reason != Reason::Expired {
            for file in &inputs {
                with_tags |= file.reader()?.has_tags();
                put_timestamp_min = put_timestamp_min.min(file.put_timestamp_min()?);
            }
        }
        let rules = Rules { put_timestamp_min, seq_horizon: self.open_scans.oldest(), ..rules };
        let spec = CompactionSpec {
            range: place.region.range.clone(),
            rules,
            purpose: if all { Purpose::CompactAll } else { Purpose::CompactSome },
            target: self.files.target(&place.region.dir, &place.family, place.schema.as_ref(), with_tags)?,
            file_bytes_max: FILE_BYTES_MAX,
            inputs,
        };
        let behind = || self.upkeep.pace.is_behind() || self.upkeep.compacting.is_waited_for();
        let courtesy =
            (wish == Wish::Upkeep).then(|| Courtesy::new(&self.lookups, &*self.env.clock, &behind));
        let bytes = |sizes: &mut dyn Iterator<Item = u64>| sizes.sum::<u64>();
        let bytes_read = bytes(&mut spec.inputs.iter().map(|file| file.meta().size_bytes));
        let access = access(self, Keep::Nothing);
        let family = ((place.region.table, place.region.id), &*place.family.name);
        let sizes = (bytes_read, started_ms);
        let _under_way = self.upkeep.running.compaction(family, pick.reason.name(), sizes, &access.counters);
        let outputs = compact::run(&spec, &access, control, courtesy)?;
        let mut stats = CompactionStats {
            table: place.region.table,
            region: place.region.id,
            family: place.family.name.clone(),
            reason: pick.reason.name(),
            files_read: spec.inputs.len() as u64,
            bytes_read,
            files_written: outputs.len() as u64,
            bytes_written: bytes(&mut outputs.iter().map(|output| output.meta.size_bytes)),
            started_ms,
            ended_ms: started_ms,
        };
        if self.swap_compacted(place, &spec.inputs, outputs)? {
            stats.ended_ms = self.env.now_ms();
            self.metrics.note_compaction(stats);
            self.look_at_depth();
        }
        Ok(true)
    }

    /// False if the inputs are no longer those of the region.
    fn swap_compacted(
        &self,
        place: &FamilyPlace,
        inputs: &[Arc<StoreFile>],
        mut outputs: Vec<FinishedFile>,
    ) -> Result<bool> {
        let (table, region, family) = (place.region.table, place.region.id, &place.family.name);
        let mut manifest = self.manifest.lock();
        // Dropped, split or merged while it was rewritten: nothing to swap, and the outputs remove themselves.
        let Some(current) = self.family_place(table, region, family) else { return Ok(false) };
        let is_input = |meta: &FileMeta| inputs.iter().any(|input| input.meta().id == meta.id);
        let here = current.files().iter().filter(|file| is_input(file.meta())).count();
        if here != inputs.len() {
            // Nobody else compacts the family, so it was dropped and came back empty.
            return Ok(false);
        }
        outputs.iter_mut().for_each(FinishedFile::keep);
        manifest.change(|manifest| {
            self.note_progress(manifest);
            let entry = manifest.region_mut(region).expect("dropped only under the manifest's lock");
            let files = entry.families.entry(family.clone()).or_default();
            files.retain(|meta| !is_input(meta));
            files.extend(outputs.iter().map(|output| output.meta.clone()));
            if files.is_empty() {
                entry.families.remove(family);
            }
        })?;
        self.edit_version(|version| {
            version.edit_region(table, region, |region| {
                let files = region.files.entry(family.clone()).or_default();
                files.retain(|file| !is_input(file.meta()));
                let open = |output: &FinishedFile| {
                    self.store_file(&region.dir, family, &place.table_name, &output.meta)
                };
                files.extend(outputs.iter().map(open));
            })
        });
        manifest.is_in_memory();
        self.release_files(manifest.current(), inputs);
        Ok(true)
    }
}

fn may_be_compacted(table: &TableDescriptor) -> bool {
    // Markers must wait for the rows that they are for, see `crate::index`.
    let is_building = table.index.as_ref().is_some_and(|index| index.state == IndexState::Building);
    !is_building && table.compaction_enabled()
}

fn pick_options(rules: &Rules) -> PickOptions {
    PickOptions {
        expired_below: if rules.versions_min == 0 { rules.timestamp_min } else { i64::MIN },
        ttl_ms: rules.now_ms.saturating_sub(rules.timestamp_min),
        now_ms: rules.now_ms,
        markers_leave: rules.keep_deleted_cells == KeepDeletedCells::False,
        ..PickOptions::default()
    }
}
