// SPDX-License-Identifier: Apache-2.0
//! From a version and a sequence number to the sources that a reader merges.

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_hfile::{CellRun, CellSlot};
use basalt_model::{FamilyDescriptor, KeyRange, Seq, TableId};

use super::ScanOptions;
use crate::database::Shared;
use crate::error::{Error, Result};
use crate::memtable::{Memtable, MemtableCursor};
use crate::read::{
    self, Boundary, CellColumns, CellScan, FamilyInput, Keep, ReadAccess, ReadCounters, RegionInput,
    RowsInput, Rules, Segment, SourceMaker,
};
use crate::version::{RegionVersion, TableVersion, Version};

/// Rows of a memtable that are sampled per wanted segment.
const SAMPLES_PER_SEGMENT: usize = 16;

pub(crate) fn access(shared: &Shared, keep: Keep) -> ReadAccess {
    let (cache, counters) = (Arc::clone(&shared.cache), Arc::new(ReadCounters::default()));
    ReadAccess { cache, keep, columns: None, counters }
}

pub(crate) fn scan(
    shared: &Shared,
    version: &Version,
    table: TableId,
    options: &ScanOptions,
    seq: Seq,
) -> Result<CellScan> {
    let table = version.enabled_table(table)?;
    let ranges = check_ranges(&options.ranges)?;
    let families = wanted_families(table, options.families.as_deref())?;
    let now_ms = shared.env.now_ms();
    let timestamp_max = options.as_of_ms.unwrap_or(i64::MAX);
    let rules = |family| Rules { timestamp_max, ..reading(family, options.versions, now_ms) };
    let wanted = |region: &&Arc<RegionVersion>| ranges.iter().any(|range| range.overlaps(&region.range));
    let input = |region: &Arc<RegionVersion>| RegionInput {
        range: region.range.clone(),
        families: families.iter().map(|family| family_input(region, family, rules(family), seq)).collect(),
    };
    let regions = table.regions.iter().filter(wanted).map(input).collect();
    Ok(CellScan::new(regions, ranges, access(shared, keep_of(&families, options.keep)), seq))
}

pub(crate) fn row(
    shared: &Shared,
    version: &Version,
    table: TableId,
    row: &[u8],
    wanted: Wanted<'_>,
    seq: Seq,
) -> Result<Vec<CellRun>> {
    let table = version.enabled_table(table)?;
    let region = table.region_of(row);
    let now_ms = shared.env.now_ms();
    let input = |family: &FamilyDescriptor| family_input(region, family, reading(family, 1, now_ms), seq);
    let families: Vec<_> = table.descriptor.families.iter().collect();
    let access = lookup_access(shared, keep_of(&families, Keep::Decoded), wanted);
    read::get_row(families.into_iter().map(input).collect(), row, &access, seq)
}

/// What [`row`] gives, for several rows, which ascend: a fraction of the time where most of them are in memory, or nowhere.
pub(crate) fn rows(
    shared: &Shared,
    version: &Version,
    table: TableId,
    rows: &[&[u8]],
    wanted: Wanted<'_>,
    seq: Seq,
) -> Result<Vec<Vec<CellRun>>> {
    let table = version.enabled_table(table)?;
    let now_ms = shared.env.now_ms();
    let families: Vec<_> = table.descriptor.families.iter().collect();
    let access = lookup_access(shared, keep_of(&families, Keep::Decoded), wanted);
    let mut out = vec![Vec::new(); rows.len()];
    let mut done = 0;
    while let Some(first) = rows.get(done) {
        let region = table.region_of(first);
        let count = rows[done..].iter().take_while(|row| region.range.contains(row)).count();
        let here = done..done + count;
        for family in &families {
            let memtables = region.memtables().filter(|memtable| !memtable.is_empty());
            let of_rows =
                |memtable: &Arc<Memtable>| memtable.runs_of_rows(&rows[here.clone()], &family.name, seq);
            let input = RowsInput {
                rules: reading(family, 1, now_ms),
                in_memory: memtables.map(of_rows).collect(),
                files: region.files.get(&family.name).map_or(&[], Vec::as_slice),
            };
            read::get_rows(input, &rows[here.clone()], &access, seq, &mut out[here.clone()])?;
        }
        done = here.end;
    }
    Ok(out)
}

/// Of a lookup: the columns that are enough, and where is counted what is read; `None`: all, nowhere.
type Wanted<'a> = Option<(&'a CellColumns, &'a Arc<ReadCounters>)>;

fn lookup_access(shared: &Shared, keep: Keep, wanted: Wanted<'_>) -> ReadAccess {
    let Some((columns, counters)) = wanted else { return access(shared, keep) };
    let (cache, counters) = (Arc::clone(&shared.cache), Arc::clone(counters));
    ReadAccess { cache, keep, columns: Some(columns.clone()), counters }
}

/// What a reader of these families keeps of what it reads: nothing if one of them has BLOCKCACHE=FALSE.
pub(crate) fn keep_of(families: &[&FamilyDescriptor], wanted: Keep) -> Keep {
    if families.iter().all(|family| family.cache_blocks) { wanted } else { Keep::Nothing }
}

/// Memory per cell of a decoded block, beside the bytes of the cell.
const SLOT_BYTES: u64 = size_of::<CellSlot>() as u64;
/// Scans that read no more than this from a file are cached in any case, in bytes on disk.
const SMALL_SCAN_BYTES: u64 = 4 << 20;

/// True if a scan of `ranges` should put decoded blocks into the cache: the decoded table takes at most three quarters of it, or the
/// scan is small. Larger scans would only push out what others need, and themselves find little the next time.
pub(crate) fn worth_decoding(
    shared: &Shared,
    version: &Version,
    table: TableId,
    ranges: &[KeyRange],
) -> Result<bool> {
    let table = version.table(table)?;
    let files = || table.regions.iter().flat_map(|region| region.all_files()).map(|(_, file)| file);
    let decoded: u64 = files().map(|file| file.meta().raw_bytes + file.meta().cells * SLOT_BYTES).sum();
    if decoded <= shared.cache.stats().capacity_bytes / 4 * 3 {
        return Ok(true);
    }
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Ok(true) };
    let hull = KeyRange { start: first.start.clone(), end: last.end.clone() };
    for file in files() {
        if read::file_bytes(file, &hull)? > SMALL_SCAN_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sorted and disjoint, without empty ones; anything else is the caller's mistake.
fn check_ranges(ranges: &[KeyRange]) -> Result<Vec<KeyRange>> {
    let ranges: Vec<KeyRange> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
    let apart = |pair: &[KeyRange]| pair[0].end.as_ref().is_some_and(|end| *end <= pair[1].start);
    if ranges.windows(2).all(apart) {
        Ok(ranges)
    } else {
        Err(Error::Invalid("the key ranges of a scan must be sorted and must not overlap".into()))
    }
}

fn wanted_families<'a>(
    table: &'a TableVersion,
    names: Option<&[String]>,
) -> Result<Vec<&'a FamilyDescriptor>> {
    let families = &table.descriptor.families;
    let Some(names) = names else { return Ok(families.iter().collect()) };
    if let Some(name) = names.iter().find(|name| !families.iter().any(|family| family.name == **name)) {
        let table = table.descriptor.name.clone();
        return Err(Error::NoSuchFamily { table, family: name.clone() });
    }
    Ok(families.iter().filter(|family| names.contains(&family.name)).collect())
}

/// The rules of a family for a reader who wants this many versions.
fn reading(family: &FamilyDescriptor, versions: u32, now_ms: i64) -> Rules {
    let rules = Rules::new(family, now_ms);
    Rules { versions_max: rules.versions_max.min(versions.max(1)), ..rules }
}

pub(super) fn family_input(
    region: &RegionVersion,
    family: &FamilyDescriptor,
    rules: Rules,
    seq: Seq,
) -> FamilyInput {
    let memtables = region.memtables().filter(|memtable| !memtable.is_empty());
    let source = |memtable: &Arc<Memtable>| -> SourceMaker {
        let (memtable, family) = (Arc::clone(memtable), family.name.clone());
        Arc::new(move || Box::new(MemtableCursor::new(Arc::clone(&memtable), Some(&family), seq)))
    };
    FamilyInput {
        rules,
        memtables: memtables.map(source).collect(),
        files: region.files.get(&family.name).cloned().unwrap_or_default(),
    }
}

pub(crate) fn segments(
    version: &Version,
    table: TableId,
    ranges: &[KeyRange],
    wanted: usize,
) -> Result<Vec<Segment>> {
    let table = version.table(table)?;
    let ranges = check_ranges(ranges)?;
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Ok(Vec::new()) };
    let hull = KeyRange { start: first.start.clone(), end: last.end.clone() };
    let mut boundaries = Vec::new();
    for region in table.regions.iter().filter(|region| region.range.overlaps(&hull)) {
        for (_, file) in region.all_files() {
            read::file_boundaries(file, &hull, wanted, &mut boundaries)?;
        }
        boundaries.extend(memtable_boundaries(region, wanted));
    }
    Ok(read::cut(&ranges, boundaries, wanted))
}

/// The blocks of all files that may hold rows of `ranges`. A block at which one range ends and another begins counts twice.
pub(crate) fn blocks(version: &Version, table: TableId, ranges: &[KeyRange]) -> Result<u64> {
    let mut blocks = 0;
    for region in &version.table(table)?.regions {
        for range in ranges.iter().filter(|range| region.range.overlaps(range)) {
            for (_, file) in region.all_files() {
                blocks += read::file_blocks(file, range)?;
            }
        }
    }
    Ok(blocks)
}

/// Cuts the rows of a region into about `wanted` parts of about equal bytes.
pub(crate) fn region_segments(region: &RegionVersion, wanted: usize) -> Result<Vec<Segment>> {
    let mut boundaries = memtable_boundaries(region, wanted);
    for (_, file) in region.all_files() {
        read::file_boundaries(file, &region.range, wanted, &mut boundaries)?;
    }
    Ok(read::cut(std::slice::from_ref(&region.range), boundaries, wanted))
}

fn memtable_boundaries(region: &RegionVersion, wanted: usize) -> Vec<Boundary> {
    let mut sums = BTreeMap::new();
    for memtable in region.memtables() {
        let rows = memtable.sample_rows(wanted * SAMPLES_PER_SEGMENT);
        let share = memtable.size_bytes() / (rows.len() as u64 + 1);
        for row in rows {
            *sums.entry(row).or_insert(0) += share;
        }
    }
    sums.into_iter().map(|(row, bytes)| Boundary { row, bytes }).collect()
}
