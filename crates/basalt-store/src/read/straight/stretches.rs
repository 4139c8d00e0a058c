// SPDX-License-Identifier: Apache-2.0
//! Which file a scan goes through where: the key space in stretches, each with the file that has most of its rows.
//!
//! ```text
//! file A   |-----------|                       stretches   A (with C) | B (with A and C) | D
//! file B           |---------|         ->
//! file C     |---------|                       the larger file is ahead where two overlap,
//! file D                        |-----|        and gaps belong to the stretch before them
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_hfile::Encoding;
use basalt_model::KeyRange;
use bytes::Bytes;

use crate::Result;
use crate::read::file::StoreFile;

/// Some rows and the files that have any of them.
pub(super) struct Stretch {
    /// The first begins before all rows, each ends where the next begins, and the last has no end.
    pub(super) range: KeyRange,
    /// The file whose row groups may pass as they are; `None` where no file has row groups.
    pub(super) lone: Option<Arc<StoreFile>>,
    pub(super) others: Vec<Arc<StoreFile>>,
}

/// The stretches of `files` for readers of `hull`; none if no file has row groups.
pub(super) fn stretches(files: &[Arc<StoreFile>], hull: &KeyRange) -> Result<Vec<Stretch>> {
    let mut has_groups = Vec::with_capacity(files.len());
    for file in files {
        // Rows that do not count are told apart cell by cell.
        let uncut = file.meta().bound().is_none_or(|bound| bound.intersect(hull) == *hull);
        has_groups.push(uncut && file.reader()?.encoding() == Encoding::Columnar);
    }
    if !has_groups.contains(&true) {
        return Ok(Vec::new());
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    // Files that have rows where the sweep stands, by what makes them the best to go through.
    let mut here: BTreeMap<(bool, u64, usize), usize> = BTreeMap::new();
    for (row, changes) in changes(files) {
        for change in changes {
            let file = change.file;
            let rank = (has_groups[file], files[file].meta().size_bytes, file);
            if change.begins {
                here.insert(rank, file);
            } else {
                here.remove(&rank);
            }
        }
        let Some((&(groups, ..), &best)) = here.last_key_value() else { continue };
        let lone = groups.then(|| &files[best]);
        let again = |last: &&mut Stretch| same(last.lone.as_ref(), lone);
        if stretches.last_mut().filter(again).is_none() {
            let start = if stretches.is_empty() { Bytes::new() } else { row.clone() };
            if let Some(last) = stretches.last_mut() {
                last.range.end = Some(row);
            }
            let range = KeyRange { start, end: None };
            stretches.push(Stretch { range, lone: lone.cloned(), others: Vec::new() });
        }
        let stretch = stretches.last_mut().expect("one was pushed if there was none");
        for &file in here.values() {
            let file = &files[file];
            if !same(lone, Some(file)) && !stretch.others.iter().any(|other| Arc::ptr_eq(other, file)) {
                stretch.others.push(Arc::clone(file));
            }
        }
    }
    Ok(stretches)
}

fn same(one: Option<&Arc<StoreFile>>, other: Option<&Arc<StoreFile>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// A file has rows from here on, or none any more.
struct Change {
    file: usize,
    begins: bool,
}

fn changes(files: &[Arc<StoreFile>]) -> BTreeMap<Bytes, Vec<Change>> {
    let mut changes: BTreeMap<Bytes, Vec<Change>> = BTreeMap::new();
    for (file, meta) in files.iter().map(|file| file.meta()).enumerate() {
        changes.entry(meta.first_row.clone()).or_default().push(Change { file, begins: true });
        let behind = Bytes::from([&meta.last_row[..], &[0]].concat());
        changes.entry(behind).or_default().push(Change { file, begins: false });
    }
    changes
}

#[cfg(test)]
mod tests;
