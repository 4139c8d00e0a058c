// SPDX-License-Identifier: Apache-2.0
//! Segments: key ranges of about equal bytes, cut along the block indexes of the files. They are the unit of
//! parallel scans (Phoenix's guideposts, for free).
//!
//! 1. Every file gives some boundaries: rows of index keys, evenly spaced, each with the bytes on disk up to
//!    the next. Their number is bounded, however many blocks the file has.
//! 2. All boundaries sorted by row are a histogram of bytes over the key space; the cuts are made where the
//!    sum passes the next multiple of the share that each segment should have.
//!
//! Memtables count through the rows that their owner samples, as boundaries of the same kind.

use std::sync::Arc;

use basalt_model::KeyRange;
use bytes::Bytes;

use super::file::StoreFile;
use crate::Result;

/// Boundaries per file and wanted segment: cuts are off by at most this fraction of a segment per file.
const BOUNDARIES_PER_SEGMENT: usize = 16;

/// A part of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The rows.
    pub range: KeyRange,
    /// Bytes on disk that a scan of it reads, about.
    pub bytes_estimate: u64,
}

/// A row at which bytes begin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boundary {
    /// The row.
    pub row: Bytes,
    /// Bytes from here to the source's next boundary.
    pub bytes: u64,
}

/// The blocks of a file that may hold rows of `range`: first and end.
fn blocks_of(file: &StoreFile, range: &KeyRange) -> Result<(usize, usize)> {
    if !file.overlaps(range) {
        return Ok((0, 0));
    }
    let reader = file.reader()?;
    let count = file.explained(reader.block_count())?;
    let first = file.explained(reader.find_block(&range.start))?.unwrap_or(count);
    let end = match &range.end {
        Some(end) => file.explained(reader.find_block(end))?.map_or(count, |block| block + 1),
        None => count,
    };
    Ok((first, end))
}

/// Bytes on disk that a scan of `range` reads of a file, about.
pub fn file_bytes(file: &StoreFile, range: &KeyRange) -> Result<u64> {
    let (first, end) = blocks_of(file, range)?;
    if first >= end {
        return Ok(0);
    }
    let extent = |block| file.explained(file.reader()?.block_extent(block));
    let last = extent(end - 1)?;
    Ok(last.offset + u64::from(last.size_bytes) - extent(first)?.offset)
}

/// The blocks that a scan of `range` reads of a file if it skips none.
pub fn file_blocks(file: &StoreFile, range: &KeyRange) -> Result<u64> {
    let (first, end) = blocks_of(file, range)?;
    Ok(end.saturating_sub(first) as u64)
}

/// The boundaries of a file within `range`.
pub fn file_boundaries(
    file: &StoreFile,
    range: &KeyRange,
    wanted: usize,
    out: &mut Vec<Boundary>,
) -> Result<()> {
    let (first, end) = blocks_of(file, range)?;
    if first >= end {
        return Ok(());
    }
    let reader = file.reader()?;
    let step = ((end - first) / (wanted * BOUNDARIES_PER_SEGMENT).max(1)).max(1);
    let offset = |block: usize| file.explained(reader.block_extent(block)).map(|extent| extent.offset);
    let mut block = first;
    while block < end {
        let next = (block + step).min(end);
        let last = file.explained(reader.block_extent(next - 1))?;
        let bytes = last.offset + u64::from(last.size_bytes) - offset(block)?;
        let row = file.explained(reader.block_first_row(block))?;
        out.push(Boundary { row: Bytes::copy_from_slice(row).max(range.start.clone()), bytes });
        block = next;
    }
    Ok(())
}

/// Cuts `ranges` (sorted, disjoint) into about `wanted` segments. `boundaries` may lie in any order.
pub fn cut(ranges: &[KeyRange], mut boundaries: Vec<Boundary>, wanted: usize) -> Vec<Segment> {
    boundaries.sort();
    let total: u64 = boundaries.iter().map(|boundary| boundary.bytes).sum();
    let share = (total / wanted.max(1) as u64).max(1);
    let mut boundaries = boundaries.into_iter().peekable();
    let mut segments = Vec::new();
    let mut passed = 0;
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        let mut start = range.start.clone();
        let mut bytes = 0;
        while let Some(boundary) = boundaries.next_if(|boundary| is_below_end(&boundary.row, range)) {
            if boundary.row < range.start {
                continue;
            }
            if passed / share != (passed + bytes) / share && boundary.row > start {
                let piece = KeyRange { start, end: Some(boundary.row.clone()) };
                segments.push(Segment { range: piece, bytes_estimate: bytes });
                passed += bytes;
                (start, bytes) = (boundary.row, 0);
            }
            bytes += boundary.bytes;
        }
        passed += bytes;
        segments.push(Segment { range: KeyRange { start, end: range.end.clone() }, bytes_estimate: bytes });
    }
    segments
}

fn is_below_end(row: &Bytes, range: &KeyRange) -> bool {
    range.end.as_ref().is_none_or(|end| row < end)
}

/// Ranges beyond which boundaries are gathered for all of them at once, not for each.
const RANGES_MAX: usize = 64;

/// Cuts `ranges` along `files` alone.
pub fn segments(files: &[Arc<StoreFile>], ranges: &[KeyRange], wanted: usize) -> Result<Vec<Segment>> {
    let mut boundaries = Vec::new();
    let hull = hull_of(ranges);
    let gathered = if ranges.len() > RANGES_MAX { std::slice::from_ref(&hull) } else { ranges };
    for range in gathered {
        for file in files {
            file_boundaries(file, range, wanted, &mut boundaries)?;
        }
    }
    Ok(cut(ranges, boundaries, wanted))
}

fn hull_of(ranges: &[KeyRange]) -> KeyRange {
    KeyRange {
        start: ranges.first().map(|range| range.start.clone()).unwrap_or_default(),
        end: ranges.last().and_then(|range| range.end.clone()),
    }
}

#[cfg(test)]
mod tests;
