// SPDX-License-Identifier: Apache-2.0
//! Where the manifest names files: in regions of tables, and in those of snapshots.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use basalt_model::TableDescriptor;
use bytes::Bytes;

use super::{FileMeta, Manifest, RegionEntry};
use crate::ids::FileId;
use crate::layout;

/// A file as a region lists it.
#[derive(Clone, Copy)]
pub(crate) struct Listing<'a> {
    /// The table's, or the snapshot's.
    pub(crate) descriptor: &'a TableDescriptor,
    pub(crate) region: &'a RegionEntry,
    pub(crate) family: &'a str,
    pub(crate) meta: &'a FileMeta,
}

impl Listing<'_> {
    /// Directory relative to the database.
    pub(crate) fn dir(&self) -> &str {
        self.meta.dir_in(&self.region.dir)
    }

    pub(crate) fn path(&self, root: &Path) -> PathBuf {
        layout::file_path(root, self.dir(), self.family, self.meta.id)
    }
}

impl RegionEntry {
    /// All files with their family.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &FileMeta)> {
        self.families.iter().flat_map(|(family, files)| files.iter().map(move |file| (family.as_str(), file)))
    }
}

impl Manifest {
    /// All listings, of tables first. A file may have several.
    pub(crate) fn listings(&self) -> impl Iterator<Item = Listing<'_>> {
        let descriptors: BTreeMap<_, _> =
            self.tables.iter().map(|table| (table.id, &table.descriptor)).collect();
        let tables = self
            .regions
            .iter()
            .filter_map(move |region| descriptors.get(&region.table).map(|descriptor| (*descriptor, region)));
        let snapshots = self
            .snapshots
            .iter()
            .flat_map(|snapshot| snapshot.regions.iter().map(move |region| (&snapshot.descriptor, region)));
        tables.chain(snapshots).flat_map(|(descriptor, region)| {
            region.files().map(move |(family, meta)| Listing { descriptor, region, family, meta })
        })
    }

    /// All files that a table or a snapshot needs.
    pub(crate) fn file_ids(&self) -> HashSet<FileId> {
        self.listings().map(|listing| listing.meta.id).collect()
    }

    pub(super) fn check_listings(&self) -> Result<(), String> {
        let mut places: BTreeMap<FileId, (&str, &str)> = BTreeMap::new();
        for listing in self.listings() {
            let Listing { descriptor, region, family, meta } = listing;
            let id = meta.id;
            if id.0 >= self.next_file {
                return Err(format!("file id {id} is not below {}", self.next_file));
            }
            let place = (meta.dir_in(&region.dir), family);
            if *places.entry(id).or_insert(place) != place {
                return Err(format!(
                    "file id {id} is not unique: it lies in {} and in {}",
                    places[&id].0, place.0
                ));
            }
            if !descriptor.families.iter().any(|known| known.name == family) {
                return Err(format!("file {id} lies in family {family:?}, which its table lacks"));
            }
            if meta.first_row > meta.last_row || meta.seq_min > meta.seq_max {
                return Err(format!("file {id} ends before it begins"));
            }
            if !region.range.contains(&meta.first_row) || !region.range.contains(&meta.last_row) {
                return Err(format!("file {id} is listed for rows outside of region {}", region.id));
            }
            if meta
                .bound()
                .is_some_and(|bound| !bound.contains(&meta.first_row) || !bound.contains(&meta.last_row))
            {
                return Err(format!("file {id} is listed for rows outside of its bound"));
            }
            if meta.seq_max > self.last_seq {
                return Err(format!("file {id} holds commit {}, after {}", meta.seq_max.0, self.last_seq.0));
            }
        }
        Ok(())
    }
}

/// No row of a file is listed twice by the regions of one table.
pub(super) fn check_rows(table: &TableDescriptor, regions: &[&RegionEntry]) -> Result<(), String> {
    let mut rows: BTreeMap<FileId, Vec<(&Bytes, &Bytes)>> = BTreeMap::new();
    for (_, meta) in regions.iter().flat_map(|region| region.files()) {
        rows.entry(meta.id).or_default().push((&meta.first_row, &meta.last_row));
    }
    for (id, mut listed) in rows {
        listed.sort();
        if listed.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
            return Err(format!("file id {id} is not unique: table {} lists rows of it twice", table.name));
        }
    }
    Ok(())
}
