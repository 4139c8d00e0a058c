// SPDX-License-Identifier: Apache-2.0
//! Splits, merges and truncations of regions: manifest edits, while reads and writes go on.
//!
//! A split:
//!
//! 1. *Flush* the region, so that little is in memory at step 4. No flush begins until the end.
//! 2. *List.* Each daughter lists the files that have rows of it; where a file has rows of both, both list a part of it
//!    ([`crate::manifest::FilePart`]).
//! 3. *Edit.* One change of the manifest puts the daughters in the place of the region. A crash before leaves one region, a crash
//!    behind it two; the log says nothing of regions that recovery would rely on.
//! 4. *Swap.* With nothing on its way to the log, each daughter gets the memtable entries of its rows, and the version
//!    follows the manifest. Writes wait for this step only.
//!
//! A truncation does the same with one daughter of the same range that lists no file.
//!
//! A merge does the same the other way round, with one addition: step 1 flushes both regions up to the same commit, because
//! a region has one number up to which its rows are in files. Snapshots and scans hold the regions that they began with.

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_model::escape::Escaped;
use basalt_model::{KeyRange, Seq, TableId};
use bytes::Bytes;

use super::compaction::Wish;
use super::{Database, Shared};
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::layout;
use crate::manifest::{FileMeta, RegionEntry};
use crate::memtable::Memtable;
use crate::read::{self, Keep, StoreFile};
use crate::snapshot::query::check_row;
use crate::snapshot::read::{access, region_segments};
use crate::version::{RegionVersion, TableVersion, Version};

/// How often a merge rewrites parts of files that cannot be one before it gives up.
const MERGE_ATTEMPTS: usize = 4;

impl Database {
    /// Splits a region: rows from `at` on go to a region of their own. Without `at` the files are cut in halves. Nothing is
    /// rewritten; both regions refer to the same files until compactions have made them their own. Gives the new regions.
    pub fn split_region(&self, table: TableId, region: RegionId, at: Option<&[u8]>) -> Result<[RegionId; 2]> {
        let shared = self.shared();
        shared.check_writable()?;
        let row = match at {
            Some(row) => Bytes::copy_from_slice(row),
            None => shared.split_row(table, region)?,
        };
        check_row(&row)?;
        shared.split_region(table, region, &row)
    }

    /// The row at which the files of a region are cut in halves; an error if it has no such row.
    pub fn split_row(&self, table: TableId, region: RegionId) -> Result<Bytes> {
        self.shared().split_row(table, region)
    }

    /// Takes all rows from a region at once; those that are written meanwhile may stay. Snapshots of before keep what they show. Gives the region
    /// that has its place.
    pub fn truncate_region(&self, table: TableId, region: RegionId) -> Result<RegionId> {
        let shared = self.shared();
        shared.check_writable()?;
        shared.truncate_region(table, region)
    }

    /// Makes two regions one. They must follow each other. As a rule nothing is rewritten. Gives the new region.
    pub fn merge_regions(&self, table: TableId, regions: [RegionId; 2]) -> Result<RegionId> {
        let shared = self.shared();
        shared.check_writable()?;
        for _ in 0..MERGE_ATTEMPTS {
            match shared.try_merge(table, regions)? {
                Merge::Done(region) => return Ok(region),
                Merge::Rewrite(region, family) => {
                    shared.compact_family(table, region, &family, true, Wish::Asked)?
                }
            }
        }
        let name = shared.version().table(table)?.descriptor.name.clone();
        Err(Error::Invalid(format!("the regions of table {name} change too often to be merged; repeat it")))
    }
}

/// Bytes of a region's largest family beyond which it is split, if its table says nothing; as in HBase.
const MAX_FILESIZE: u64 = 10 << 30;

/// What a merge came to.
enum Merge {
    Done(RegionId),
    /// Parts of a file in this family of this region have to be rewritten before.
    Rewrite(RegionId, String),
}

impl Shared {
    /// The regions that have grown beyond what their table's MAX_FILESIZE allows, unless its SPLIT_ENABLED is false.
    pub(super) fn too_large(&self) -> Vec<(TableId, RegionId)> {
        let mut found = Vec::new();
        for table in self.version().tables.values() {
            let attribute = |name: &str| table.descriptor.attributes.get(name).map(|text| text.trim());
            let max =
                attribute("MAX_FILESIZE").and_then(|text| text.parse().ok()).filter(|&max: &u64| max > 0);
            let allowed = attribute("SPLIT_ENABLED").is_none_or(|text| !text.eq_ignore_ascii_case("false"));
            for region in table.regions.iter().filter(|_| allowed) {
                // One whose files are still shared was split not long ago.
                let bytes = |files: &Vec<Arc<StoreFile>>| {
                    files.iter().map(|file| file.meta().size_bytes).sum::<u64>()
                };
                let size_bytes = region.files.values().map(bytes).max().unwrap_or(0);
                let is_whole = region.all_files().all(|(_, file)| file.meta().part.is_none());
                if size_bytes > max.unwrap_or(MAX_FILESIZE) && is_whole {
                    found.push((table.id, region.id));
                }
            }
        }
        found
    }

    /// Splits a region in the middle; one of which all rows are alike stays.
    pub(super) fn split_in_halves(&self, table: TableId, region: RegionId) -> Result<()> {
        match self.split_row(table, region) {
            Ok(row) => self.split_region(table, region, &row).map(drop),
            Err(Error::Invalid(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn split_row(&self, table: TableId, region: RegionId) -> Result<Bytes> {
        let version = self.version();
        let table = version.table(table)?;
        let region = table.region(region)?;
        let segments = region_segments(region, 2)?;
        let inside = |row: &Bytes| *row > region.range.start;
        let row = segments.into_iter().next().and_then(|first| first.range.end).filter(inside);
        let row = match row {
            Some(row) => Some(row),
            None => self.middle_row(region)?.filter(inside),
        };
        row.ok_or_else(|| {
            Error::Invalid(format!(
                "region {} of table {} has no row at which it could be split into halves; name one",
                region.id, table.descriptor.name
            ))
        })
    }

    /// The row in the middle of a region's largest file, or of what it has in memory.
    fn middle_row(&self, region: &RegionVersion) -> Result<Option<Bytes>> {
        let files = region.all_files().map(|(_, file)| file);
        if let Some(largest) = files.max_by_key(|file| file.meta().size_bytes) {
            return read::middle_row(largest, &region.range, &access(self, Keep::Nothing));
        }
        let largest = region.memtables().max_by_key(|memtable| memtable.len());
        Ok(largest.and_then(|memtable| memtable.sample_rows(2).into_iter().next()))
    }

    pub(super) fn split_region(
        &self,
        table: TableId,
        region: RegionId,
        row: &Bytes,
    ) -> Result<[RegionId; 2]> {
        let flushing = self.upkeep.flushing.lock();
        check_split(self.version().table(table)?, region, row)?;
        self.flush_together(table, &[region], &flushing, |_| ())?;
        let mut manifest = self.manifest.lock();
        let version = self.version();
        let current = version.table(table)?;
        let parent = current.region(region)?;
        let ranges = [
            KeyRange { start: parent.range.start.clone(), end: Some(row.clone()) },
            KeyRange { start: row.clone(), end: parent.range.end.clone() },
        ];
        let next = manifest.current().next_region;
        let flushed_seq = manifest.current().regions_of(table).find(|entry| entry.id == region);
        let flushed_seq = flushed_seq.expect("the version follows the manifest").flushed_seq;
        let mut daughters = Vec::with_capacity(2);
        for (id, range) in (next..).map(RegionId).zip(ranges) {
            let families = self.parts_of(parent, &range)?;
            daughters.push(new_region(current, id, range, flushed_seq, families));
        }
        manifest.change(|manifest| {
            self.note_progress(manifest);
            manifest.next_region += 2;
            manifest.regions.retain(|entry| entry.id != region);
            manifest.regions.extend(daughters.iter().cloned());
        })?;
        // Nothing that has a number is still on its way into the memtables that are divided here, or out of them.
        let sequencer = self.commit.drain();
        let opened = daughters.iter().map(|entry| self.daughter(current, region, entry));
        let opened: Vec<_> = opened.collect::<Result<_>>()?;
        self.edit_version(|version| version.replace_regions(table, &[region], opened));
        manifest.is_in_memory();
        drop(sequencer);
        self.release_files(manifest.current(), parent.all_files().map(|(_, file)| file));
        self.upkeep.want_compaction();
        Ok([daughters[0].id, daughters[1].id])
    }

    fn truncate_region(&self, table: TableId, region: RegionId) -> Result<RegionId> {
        let flushing = self.upkeep.flushing.lock();
        check_without_indexes(&self.version(), table)?;
        let flushed_seq = self.flush_together(table, &[region], &flushing, |_| ())?.ok_or(Error::Conflict)?;
        let mut manifest = self.manifest.lock();
        let version = self.version();
        check_without_indexes(&version, table)?;
        let current = version.table(table)?;
        let before = current.region(region)?;
        let id = RegionId(manifest.current().next_region);
        let entry = new_region(current, id, before.range.clone(), flushed_seq, BTreeMap::new());
        manifest.change(|manifest| {
            self.note_progress(manifest);
            manifest.next_region += 1;
            manifest.regions.retain(|entry| entry.id != region);
            manifest.regions.push(entry.clone());
        })?;
        let sequencer = self.commit.drain();
        let empty = self.daughter(current, region, &entry)?;
        self.edit_version(|version| version.replace_regions(table, &[region], vec![empty]));
        manifest.is_in_memory();
        drop(sequencer);
        self.release_files(manifest.current(), before.all_files().map(|(_, file)| file));
        Ok(id)
    }

    /// The files of a region that have rows of `range`, as a region of that range lists them.
    fn parts_of(&self, region: &RegionVersion, range: &KeyRange) -> Result<BTreeMap<String, Vec<FileMeta>>> {
        let access = access(self, Keep::Nothing);
        let mut families: BTreeMap<String, Vec<FileMeta>> = BTreeMap::new();
        for (family, file) in region.all_files() {
            if let Some(meta) = read::part_of(file, range, &access)? {
                families.entry(family.to_owned()).or_default().push(meta.listed_from(&region.dir));
            }
        }
        Ok(families)
    }

    /// A daughter with its share of what the region has in memory at this moment.
    fn daughter(&self, table: &TableVersion, parent: RegionId, entry: &RegionEntry) -> Result<RegionVersion> {
        let version = self.version();
        let parent = version.table(table.id)?.region(parent)?;
        let mut daughter = self.open_region(entry, &table.descriptor.name.to_string().into());
        daughter.active = Arc::new(parent.active.rows_of(&entry.range));
        let sealed = parent.sealed.iter().map(|memtable| Arc::new(memtable.rows_of(&entry.range)));
        daughter.sealed = sealed.filter(|memtable| !memtable.is_empty()).collect();
        Ok(daughter)
    }

    fn try_merge(&self, table: TableId, regions: [RegionId; 2]) -> Result<Merge> {
        let flushing = self.upkeep.flushing.lock();
        check_neighbours(self.version().table(table)?, regions)?;
        let flushed = self.flush_together(table, &regions, &flushing, |_| ())?;
        let mut manifest = self.manifest.lock();
        let version = self.version();
        let current = version.table(table)?;
        let [left, right] = check_neighbours(current, regions)?;
        let families = match joined(left, right) {
            Ok(families) => families,
            Err(family) => return Ok(Merge::Rewrite(right.id, family)),
        };
        let flushed_seq = flushed.ok_or(Error::Conflict)?;
        let id = RegionId(manifest.current().next_region);
        let range = KeyRange { start: left.range.start.clone(), end: right.range.end.clone() };
        let entry = new_region(current, id, range, flushed_seq, families);
        manifest.change(|manifest| {
            self.note_progress(manifest);
            manifest.next_region += 1;
            manifest.regions.retain(|entry| !regions.contains(&entry.id));
            manifest.regions.push(entry.clone());
        })?;
        let sequencer = self.commit.drain();
        let merged = self.merged(current, [left.id, right.id], &entry)?;
        self.edit_version(|version| version.replace_regions(table, &regions, vec![merged]));
        manifest.is_in_memory();
        drop(sequencer);
        self.upkeep.want_compaction();
        Ok(Merge::Done(id))
    }

    fn merged(
        &self,
        table: &TableVersion,
        parents: [RegionId; 2],
        entry: &RegionEntry,
    ) -> Result<RegionVersion> {
        let version = self.version();
        let region = self.open_region(entry, &table.descriptor.name.to_string().into());
        let active = Memtable::default();
        for parent in parents {
            // Sealed ones that a failure left behind go back to those that take writes: their rows are not flushed.
            let parent = version.table(table.id)?.region(parent)?;
            parent.memtables().for_each(|memtable| active.take_all(memtable, &KeyRange::all()));
        }
        Ok(RegionVersion { active: Arc::new(active), ..region })
    }
}

fn new_region(
    table: &TableVersion,
    id: RegionId,
    range: KeyRange,
    flushed_seq: Seq,
    families: BTreeMap<String, Vec<FileMeta>>,
) -> RegionEntry {
    let dir = layout::region_dir(&table.descriptor.name, id);
    RegionEntry { id, table: table.id, dir, range, flushed_seq, families }
}

/// Rows that go without being deleted would stay in indexes.
fn check_without_indexes(version: &Version, table: TableId) -> Result<()> {
    let found = version.table(table)?;
    if found.descriptor.index.is_none() && version.indexes_of(table).next().is_none() {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "no region of table {} can be truncated alone: the table has indexes or is one; truncate the table",
        found.descriptor.name
    )))
}

fn check_split(table: &TableVersion, region: RegionId, row: &Bytes) -> Result<()> {
    let region = table.region(region)?;
    if *row > region.range.start && region.range.contains(row) {
        return Ok(());
    }
    let end = region.range.end.as_ref().map(|end| format!(" to before {}", Escaped(end)));
    Err(Error::Invalid(format!(
        "region {} of table {} cannot be split at row {}: it begins with {}{}; expected a row behind the first \
         and before the end",
        region.id,
        table.descriptor.name,
        Escaped(row),
        Escaped(&region.range.start),
        end.unwrap_or_default(),
    )))
}

/// The two regions in the order of their keys.
fn check_neighbours(table: &TableVersion, regions: [RegionId; 2]) -> Result<[&Arc<RegionVersion>; 2]> {
    let [mut left, mut right] = [table.region(regions[0])?, table.region(regions[1])?];
    if left.range.start > right.range.start {
        std::mem::swap(&mut left, &mut right);
    }
    if left.range.end.as_ref() == Some(&right.range.start) {
        return Ok([left, right]);
    }
    Err(Error::Invalid(format!(
        "regions {} and {} of table {} cannot be merged: one must begin where the other ends",
        left.id, right.id, table.descriptor.name
    )))
}

/// The files of both regions; the family if parts of one file lie too far apart to be one.
fn joined(
    left: &RegionVersion,
    right: &RegionVersion,
) -> std::result::Result<BTreeMap<String, Vec<FileMeta>>, String> {
    let mut families: BTreeMap<String, Vec<FileMeta>> = BTreeMap::new();
    for region in [left, right] {
        for (family, file) in region.all_files() {
            let listed = families.entry(family.to_owned()).or_default();
            let meta = file.meta().listed_from(&region.dir);
            match listed.iter_mut().find(|other| other.id == meta.id) {
                Some(before) => *before = before.joined(&meta).ok_or_else(|| family.to_owned())?,
                None => listed.push(meta),
            }
        }
    }
    families
        .values_mut()
        .for_each(|files| files.sort_by(|a, b| b.seq_max.cmp(&a.seq_max).then(b.id.cmp(&a.id))));
    Ok(families)
}
