// SPDX-License-Identifier: Apache-2.0
//! What a region has of a file, and where its middle is.

use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use super::access::ReadAccess;
use super::file::{FileSource, StoreFile};
use super::segments::file_bytes;
use super::source::CellSource;
use crate::{FileMeta, Result};

/// The listing of a file in a region of `range`; `None` if it has no row there. Where the range cuts the file, a
/// block on either side is read, because first and last row of a listing are rows of the file.
pub(crate) fn part_of(
    file: &Arc<StoreFile>,
    range: &KeyRange,
    access: &ReadAccess,
) -> Result<Option<FileMeta>> {
    let meta = file.meta();
    let (has_first, has_last) = (range.contains(&meta.first_row), range.contains(&meta.last_row));
    if has_first && has_last {
        return Ok(Some(meta.clone()));
    }
    if !file.overlaps(range) {
        return Ok(None);
    }
    let mut source = FileSource::new(Arc::clone(file), access.clone(), Seq(u64::MAX));
    let first = match has_first {
        true => meta.first_row.clone(),
        false => {
            source.seek(&range.start);
            let Some(run) = source.next_run(range.end.as_deref())? else { return Ok(None) };
            Bytes::copy_from_slice(run.block.row(run.cells.start))
        }
    };
    let last = match has_last {
        true => Some(meta.last_row.clone()),
        false => source.row_before(range.end.as_deref())?,
    };
    let Some(last) = last.filter(|last| *last >= first && range.contains(&first)) else { return Ok(None) };
    let rows = KeyRange { start: first.clone(), end: KeyRange::point(last.clone()).end };
    // Of the whole file, the index included.
    let (part, all) = (file_bytes(file, &rows)?, file_bytes(file, &KeyRange::all())?.max(1));
    let size_bytes = u128::from(meta.whole().size_bytes) * u128::from(part) / u128::from(all);
    Ok(Some(meta.cut(range, first, last, u64::try_from(size_bytes).unwrap_or(u64::MAX))))
}

/// The row in the middle of what a file has of `range`. Reads all of that: for files of few blocks, whose index says too little.
pub(crate) fn middle_row(
    file: &Arc<StoreFile>,
    range: &KeyRange,
    access: &ReadAccess,
) -> Result<Option<Bytes>> {
    let mut source = FileSource::new(Arc::clone(file), access.clone(), Seq(u64::MAX));
    match nth_row(&mut source, range, u64::MAX)? {
        Ok(row) => Ok(Some(row)),
        Err(rows) => Ok(nth_row(&mut source, range, rows / 2)?.ok()),
    }
}

/// A row by its number, from 0; the number of rows if there are not as many.
fn nth_row(
    source: &mut FileSource,
    range: &KeyRange,
    number: u64,
) -> Result<std::result::Result<Bytes, u64>> {
    let mut passed = 0;
    source.seek(&range.start);
    while let Some(CellRun { block, cells }) = source.next_run(range.end.as_deref())? {
        let behind = block.row_starts.partition_point(|&start| start as usize <= cells.start);
        let starts = block.row_starts[behind..].iter().map(|&start| start as usize);
        for start in std::iter::once(cells.start).chain(starts.take_while(|start| *start < cells.end)) {
            let row = block.row(start);
            if !range.contains(row) {
                return Ok(Err(passed));
            }
            if passed == number {
                return Ok(Ok(Bytes::copy_from_slice(row)));
            }
            passed += 1;
        }
    }
    Ok(Err(passed))
}
