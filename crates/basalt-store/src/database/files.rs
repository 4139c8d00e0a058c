// SPDX-License-Identifier: Apache-2.0
//! Store files of an open database: from a listing in the manifest to a file that can be read, and its end.

use std::path::Path;
use std::sync::Arc;

use super::Shared;
use crate::env::Env;
use crate::layout;
use crate::manifest::{FileMeta, Manifest, RegionEntry};
use crate::read::{FileHandles, StoreFile};
use crate::version::RegionVersion;

impl Shared {
    /// A file of a family as a region at `region_dir` lists it. `table` is named in errors.
    pub(super) fn store_file(
        &self,
        region_dir: &str,
        family: &str,
        table: &Arc<str>,
        meta: &FileMeta,
    ) -> Arc<StoreFile> {
        open_file((&self.env, &self.root, &self.handles), region_dir, family, table, meta)
    }

    /// A region as the manifest has it, without memtables.
    pub(super) fn open_region(&self, entry: &RegionEntry, table: &Arc<str>) -> RegionVersion {
        open_region((&self.env, &self.root, &self.handles), entry, table)
    }

    /// Files that the manifest in force does not name go with the last one who reads them.
    pub(super) fn release_files<'a>(
        &self,
        manifest: &Manifest,
        files: impl IntoIterator<Item = &'a Arc<StoreFile>>,
    ) {
        let named = manifest.file_ids();
        for file in files {
            if !named.contains(&file.meta().id) {
                file.mark_obsolete();
            }
        }
    }
}

type Place<'a> = (&'a Env, &'a Path, &'a FileHandles);

fn open_file(
    (env, root, handles): Place<'_>,
    region_dir: &str,
    family: &str,
    table: &Arc<str>,
    meta: &FileMeta,
) -> Arc<StoreFile> {
    let path = layout::file_path(root, meta.dir_in(region_dir), family, meta.id);
    Arc::new(StoreFile::of(handles.of(env, meta.id, &path), Arc::clone(table), meta.clone()))
}

/// See [`Shared::open_region`].
pub(super) fn open_region(place: Place<'_>, entry: &RegionEntry, table: &Arc<str>) -> RegionVersion {
    let mut region =
        RegionVersion::new(entry.id, entry.table, entry.range.clone(), entry.dir.as_str().into());
    for (family, metas) in &entry.families {
        let open = |meta: &FileMeta| open_file(place, &entry.dir, family, table, meta);
        region.files.insert(family.clone(), metas.iter().map(open).collect());
    }
    region
}
