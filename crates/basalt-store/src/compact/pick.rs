// SPDX-License-Identifier: Apache-2.0
//! Which files of one family of one region to rewrite, from their metadata alone.
//!
//! Files form *runs*: the outputs of one compaction (or bulk ingest) share their range of sequence numbers and
//! do not overlap. A reader of a row pays for every file whose rows span it, so depth is what counts:
//!
//! 1. **Expired.** Files wholly past the family's TTL are dropped.
//! 2. **Deep.** Where more than `depth_max` files span a stretch of rows, the runs there are sorted by size.
//!    The smallest are merged, as many as bring the depth down to the bound; a larger run joins only while it
//!    is at most `size_ratio` times those before it together. So a few small files never cause a huge one to
//!    be rewritten, and each byte is rewritten about once per factor `size_ratio` that its run grows.
//! 3. **Ingested.** Files of one bulk ingest that overlap, because its rows came in no order, are merged: they are one run
//!    then. What is larger than `ingested_bytes_max` is left to the rule of depth.
//! 4. **Aged.** A file of which half of the time from its first cell to its last has passed its TTL since it was written is rewritten alone: as long as
//!    cells come about evenly it is half as large then, and every byte of it is rewritten once more at most.
//!    So is a file of which half the cells are past a TTL of their own.
//! 5. **Deletes.** A file of which half the cells are delete markers and that nothing overlaps is rewritten
//!    alone; they leave.
//! 6. **Small.** Neighbours in row order that are all much smaller than a file should be are merged when
//!    there are many, so that ten thousand tiny ingests are not ten thousand files.
//! 7. **Part.** A file of which only some rows count, since a split, is rewritten when nothing else is to do; the last region
//!    to do so frees the file.
//!
//! Files that do not overlap are otherwise left alone, however many there are. Of deep and of small files no more than `files_max` are merged at a
//! time, the smallest: a program that never lives for long gets on with them, too.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use basalt_model::Seq;
use bytes::Bytes;

use crate::{FileId, FileMeta};

/// When files are rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickOptions {
    /// Files that may span one row. Default 4. Lower reads less and writes more.
    pub depth_max: usize,
    /// A run joins a compaction while it is at most this many percent of the smaller ones together. Default
    /// 150. Higher rewrites more at a time.
    pub size_ratio_percent: u64,
    /// Files below this size are small. Default 16 MiB.
    pub small_bytes: u64,
    /// Small neighbours that are merged. Default 8.
    pub small_count: usize,
    /// Deep or small files that are merged at a time, about. Default 64. Lower gets on in smaller steps and writes more.
    pub files_max: usize,
    /// What overlaps in a bulk ingest is merged up to this size. Default 8 GiB.
    pub ingested_bytes_max: u64,
    /// Files with no newer timestamp than this are expired; `i64::MIN` if the family has no TTL.
    pub expired_below: i64,
    /// The TTL of the family in milliseconds, if it has one.
    pub ttl_ms: i64,
    /// The clock, for cells with a TTL of their own; milliseconds since the epoch.
    pub now_ms: i64,
    /// Markers leave a full compaction: false for families that keep deleted cells.
    pub markers_leave: bool,
}

impl Default for PickOptions {
    fn default() -> Self {
        Self {
            depth_max: 4,
            size_ratio_percent: 150,
            small_bytes: 16 << 20,
            small_count: 8,
            files_max: 64,
            ingested_bytes_max: 8 << 30,
            expired_below: i64::MIN,
            ttl_ms: i64::MAX,
            now_ms: i64::MIN,
            markers_leave: true,
        }
    }
}

/// Why files were picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Everything in them is past its TTL.
    Expired,
    /// Too many files span one row.
    Deep,
    /// Files of one bulk ingest overlap.
    Ingested,
    /// Half of its time is past the TTL, or half of its cells past their own.
    Aged,
    /// Mostly delete markers.
    Deletes,
    /// Many small neighbours.
    Small,
    /// Only some of its rows count.
    Part,
    /// Asked for.
    Major,
}

impl Reason {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Deep => "deep",
            Self::Ingested => "ingested",
            Self::Aged => "aged",
            Self::Deletes => "deletes",
            Self::Small => "small",
            Self::Part => "part",
            Self::Major => "major",
        }
    }
}

/// Files to rewrite together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// The files, ascending.
    pub inputs: Vec<FileId>,
    /// True if no other file holds any row between the first and the last of the inputs: markers may go.
    pub all: bool,
    /// Why.
    pub reason: Reason,
}

/// The next compaction that the files call for, or `None` if they are in order.
pub fn pick(files: &[FileMeta], options: &PickOptions) -> Option<Pick> {
    let of = |reason, inputs: Option<Vec<&FileMeta>>| inputs.map(|inputs| decide(files, &inputs, reason));
    of(Reason::Expired, expired(files, options))
        .or_else(|| of(Reason::Deep, deep(files, options)))
        .or_else(|| of(Reason::Ingested, ingested(files, options)))
        .or_else(|| of(Reason::Aged, files.iter().find(|file| is_aged(file, options)).map(|file| vec![file])))
        .or_else(|| of(Reason::Deletes, deletes(files, options)))
        .or_else(|| of(Reason::Small, small(files, options)))
        .or_else(|| of(Reason::Part, part(files)))
}

/// How many files span one row, at most.
pub(crate) fn depth<'a>(files: impl Iterator<Item = &'a FileMeta>) -> usize {
    deepest(files).len()
}

/// Everything; `None` if there is nothing.
pub fn major(files: &[FileMeta]) -> Option<Pick> {
    let inputs: Vec<&FileMeta> = files.iter().collect();
    (!inputs.is_empty()).then(|| decide(files, &inputs, Reason::Major))
}

/// True if a major compaction would do something and the oldest file was written before `written_before`, both in
/// milliseconds: several files, markers, or cells past a TTL. One file without them has no hidden cells either.
pub fn is_due(files: &[&FileMeta], written_before: i64, options: &PickOptions) -> bool {
    let old = files.iter().any(|file| file.created_ms <= written_before);
    let has_work = |file: &&FileMeta| {
        file.deletes > 0
            || file.timestamp_min < options.expired_below
            || file.own_ttl.is_some_and(|own| own.first_ms < options.now_ms)
    };
    old && (files.len() > 1 || files.iter().any(has_work))
}

fn decide(files: &[FileMeta], inputs: &[&FileMeta], reason: Reason) -> Pick {
    let mut ids: Vec<FileId> = inputs.iter().map(|file| file.id).collect();
    ids.sort_unstable();
    let hull = Hull::of(inputs);
    let all = files.iter().all(|file| !hull.overlaps(file) || ids.binary_search(&file.id).is_ok());
    Pick { inputs: ids, all, reason }
}

/// From the first to the last row of some files, both inclusive.
struct Hull<'a> {
    first: &'a Bytes,
    last: &'a Bytes,
}

impl<'a> Hull<'a> {
    fn of(files: &[&'a FileMeta]) -> Self {
        let first = files.iter().map(|file| &file.first_row).min().expect("a pick has inputs");
        let last = files.iter().map(|file| &file.last_row).max().expect("a pick has inputs");
        Self { first, last }
    }

    fn overlaps(&self, file: &FileMeta) -> bool {
        file.first_row <= *self.last && *self.first <= file.last_row
    }
}

fn expired<'a>(files: &'a [FileMeta], options: &PickOptions) -> Option<Vec<&'a FileMeta>> {
    let expired: Vec<_> = files.iter().filter(|file| file.timestamp_max < options.expired_below).collect();
    (!expired.is_empty()).then_some(expired)
}

/// True if the TTL has passed a file's last cell or half of its time since it was written, or if its cells' own TTLs have passed half
/// of its cells.
pub(crate) fn is_aging(file: &FileMeta, options: &PickOptions) -> bool {
    file.timestamp_max < options.expired_below || is_aged(file, options)
}

fn is_aged(file: &FileMeta, options: &PickOptions) -> bool {
    if file.own_ttl.and_then(|own| own.half_ms).is_some_and(|half_ms| half_ms < options.now_ms) {
        return true;
    }
    // What had expired before was left out when it was written.
    let first = file.timestamp_min.max(file.created_ms.saturating_sub(options.ttl_ms));
    let expired = options.expired_below.saturating_sub(first);
    expired > 0 && expired >= file.timestamp_max.saturating_sub(options.expired_below)
}

fn deep<'a>(files: &'a [FileMeta], options: &PickOptions) -> Option<Vec<&'a FileMeta>> {
    let deepest = deepest(files.iter());
    if deepest.len() <= options.depth_max {
        return None;
    }
    let mut runs: BTreeMap<_, Run<'a>> = BTreeMap::new();
    for file in files {
        runs.entry(run_key(file)).or_default().bytes += file.size_bytes;
    }
    for &file in &deepest {
        runs.entry(run_key(file)).or_default().spanning.push(file);
    }
    let mut runs: Vec<Run<'a>> = runs.into_values().filter(|run| !run.spanning.is_empty()).collect();
    runs.sort_by_key(|run| run.bytes);
    let files_max = options.files_max.max(2);
    let needed = (deepest.len() - options.depth_max + 1).clamp(2, files_max);
    let chosen = choose(runs, needed..=files_max, options.size_ratio_percent);
    let hull = Hull::of(&chosen);
    let keys: Vec<_> = chosen.iter().map(|file| run_key(file)).collect();
    Some(files.iter().filter(|file| keys.contains(&run_key(file)) && hull.overlaps(file)).collect())
}

/// A run, and its files that span the deepest stretch (one, unless two compactions had the same reach).
#[derive(Default)]
struct Run<'a> {
    bytes: u64,
    spanning: Vec<&'a FileMeta>,
}

fn run_key(file: &FileMeta) -> (u64, u64) {
    (file.seq_min.0, file.seq_max.0)
}

/// The smallest runs until as many files as are `wanted` at least are among them, then larger ones while they are in proportion, until there are as many
/// as are wanted at most.
fn choose(runs: Vec<Run<'_>>, wanted: RangeInclusive<usize>, ratio_percent: u64) -> Vec<&FileMeta> {
    let mut chosen = Vec::new();
    let mut bytes = 0u64;
    for run in runs {
        let in_proportion = u128::from(run.bytes) * 100 <= u128::from(bytes) * u128::from(ratio_percent);
        if chosen.len() >= *wanted.end() || chosen.len() >= *wanted.start() && !in_proportion {
            break;
        }
        bytes += run.bytes;
        chosen.extend(run.spanning);
    }
    chosen
}

/// The files that span the deepest stretch of rows; the first one of several.
fn deepest<'a>(files: impl Iterator<Item = &'a FileMeta>) -> Vec<&'a FileMeta> {
    let mut by_first: Vec<&FileMeta> = files.collect();
    by_first.sort_by(|a, b| a.first_row.cmp(&b.first_row).then(a.id.cmp(&b.id)));
    let mut open: Vec<&FileMeta> = Vec::new();
    let mut best = Vec::new();
    for file in by_first {
        open.retain(|other| other.last_row >= file.first_row);
        open.push(file);
        if open.len() > best.len() {
            best.clone_from(&open);
        }
    }
    best
}

fn ingested<'a>(files: &'a [FileMeta], options: &PickOptions) -> Option<Vec<&'a FileMeta>> {
    let mut ingests: BTreeMap<Seq, Vec<&FileMeta>> = BTreeMap::new();
    for file in files {
        if let Some(seq) = file.seq_override {
            ingests.entry(seq).or_default().push(file);
        }
    }
    let heaps = ingests.into_values().flat_map(overlapping);
    let bytes = |heap: &[&FileMeta]| heap.iter().map(|file| file.size_bytes).sum::<u64>();
    heaps.into_iter().find(|heap| heap.len() > 1 && bytes(heap) <= options.ingested_bytes_max)
}

/// Files in the order of their rows, cut where none spans the next one's first row.
fn overlapping(mut files: Vec<&FileMeta>) -> Vec<Vec<&FileMeta>> {
    files.sort_by(|a, b| a.first_row.cmp(&b.first_row).then(a.id.cmp(&b.id)));
    let mut heaps: Vec<Vec<&FileMeta>> = Vec::new();
    let mut reach: Option<&Bytes> = None;
    for file in files {
        match (heaps.last_mut(), reach) {
            (Some(heap), Some(last)) if file.first_row <= *last => heap.push(file),
            _ => heaps.push(vec![file]),
        }
        reach = reach.max(Some(&file.last_row));
    }
    heaps
}

fn deletes<'a>(files: &'a [FileMeta], options: &PickOptions) -> Option<Vec<&'a FileMeta>> {
    if !options.markers_leave {
        return None;
    }
    let mostly_markers = |file: &&FileMeta| file.deletes * 2 >= file.cells && file.deletes > 0;
    let alone = |file: &&FileMeta| {
        let hull = Hull::of(&[file]);
        files.iter().all(|other| other.id == file.id || !hull.overlaps(other))
    };
    files.iter().filter(mostly_markers).find(alone).map(|file| vec![file])
}

fn small<'a>(files: &'a [FileMeta], options: &PickOptions) -> Option<Vec<&'a FileMeta>> {
    let mut by_first: Vec<&FileMeta> = files.iter().collect();
    by_first.sort_by(|a, b| a.first_row.cmp(&b.first_row).then(a.id.cmp(&b.id)));
    let stretches = by_first.split(|file| file.size_bytes >= options.small_bytes);
    let longest = stretches.max_by_key(|stretch| stretch.len())?;
    if longest.len() < options.small_count.max(2) {
        return None;
    }
    let bytes = |files: &&[&FileMeta]| files.iter().map(|file| file.size_bytes).sum::<u64>();
    let smallest = longest.windows(options.files_max.clamp(2, longest.len())).min_by_key(bytes)?;
    Some(smallest.to_vec())
}

fn part(files: &[FileMeta]) -> Option<Vec<&FileMeta>> {
    files.iter().find(|file| file.part.is_some()).map(|file| vec![file])
}

#[cfg(test)]
mod tests;
