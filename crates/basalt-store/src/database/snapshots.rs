// SPDX-License-Identifier: Apache-2.0
//! Snapshots of tables: a table as it was, under a name, for as long as somebody wants it.
//!
//! A snapshot is an entry of the manifest that lists files, as regions do. Taking one flushes the table up to one commit and
//! names the files in the same change of the manifest; no byte is copied. A clone, or a table restored, lists the same files
//! again. A file goes when neither a table nor a snapshot lists it, and nobody reads it.
//!
//! Not to be confused with [`crate::Snapshot`], which a process holds in memory.

use std::sync::Arc;

use basalt_model::{KeyRange, TableId, TableName};

use super::tables::{NewTable, check_descriptor};
use super::write::refuse_index;
use super::{Database, Shared};
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::manifest::store::ManifestStore;
use crate::manifest::{Listing, Manifest, RegionEntry, SnapshotEntry};

mod export;

/// Snapshots at once, at most: each is a part of every manifest written.
const SNAPSHOTS_MAX: usize = 10_000;
/// Bytes of a name, at most.
const NAME_LEN_MAX: usize = 200;

/// What is known of a snapshot of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSnapshot {
    /// Its name.
    pub name: String,
    /// The table, by the name that it had.
    pub table: TableName,
    /// When it was taken, milliseconds since the epoch.
    pub created_ms: i64,
    /// Regions.
    pub regions: u64,
    /// Store files.
    pub files: u64,
    /// Bytes of store files, most of which the table may have as well.
    pub size_bytes: u64,
}

impl Database {
    /// Keeps a table as it is now under a name. Writes acknowledged before are in it, later ones are not; a bulk load that
    /// ends meanwhile is in it wholly or not at all.
    pub fn create_snapshot(&self, name: &str, table: &TableName) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        check_name(name)?;
        let flushing = shared.upkeep.flushing.lock();
        let version = shared.version();
        let found = version.table_named(table)?;
        refuse_index(&found.descriptor)?;
        check_free(&shared.manifest.lock(), name)?;
        let regions: Vec<RegionId> = found.regions.iter().map(|region| region.id).collect();
        let created_ms = shared.env.now_ms();
        let mut taken = false;
        let enter = |manifest: &mut Manifest| {
            // Two calls may have come as far as here.
            taken = manifest.snapshot(name).is_none() && manifest.snapshots.len() < SNAPSHOTS_MAX;
            if let (true, Some(table)) = (taken, manifest.table(found.id)) {
                let descriptor = table.descriptor.clone();
                let regions = manifest.regions_of(found.id).cloned().collect();
                manifest.snapshots.push(SnapshotEntry {
                    name: name.to_owned(),
                    descriptor,
                    created_ms,
                    regions,
                });
            }
        };
        match shared.flush_together(found.id, &regions, &flushing, enter)? {
            Some(_) if taken => Ok(()),
            Some(_) => check_free(&shared.manifest.lock(), name)
                .and(Err(Error::SnapshotExists { name: name.to_owned() })),
            None => Err(Error::NoSuchTable { name: table.to_string() }),
        }
    }

    /// All snapshots of tables, by name.
    pub fn snapshots(&self) -> Vec<TableSnapshot> {
        let manifest = Arc::clone(self.shared().manifest.lock().current());
        let mut snapshots: Vec<_> = manifest.snapshots.iter().map(summary).collect();
        snapshots.sort_by(|a, b| a.name.cmp(&b.name));
        snapshots
    }

    /// Makes a new table of a snapshot; nothing is copied. A SQL table has its schema again.
    pub fn clone_snapshot(&self, name: &str, table: &TableName) -> Result<TableId> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        if shared.version().names.contains_key(table) {
            return Err(Error::TableExists { name: table.clone() });
        }
        let born = shared.table_of_snapshot(manifest.current(), name, Some(table))?;
        manifest.change(|manifest| born.enter(manifest))?;
        let id = born.entry.id;
        shared.edit_version(|version| version.put_table(born.into_version(shared)));
        manifest.is_in_memory();
        Ok(id)
    }

    /// Gives a table the rows, families and attributes that it had, under a new identity; what was written since is gone. A
    /// table that was dropped is there again.
    pub fn restore_snapshot(&self, name: &str) -> Result<TableId> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        let mut born = shared.table_of_snapshot(manifest.current(), name, None)?;
        let version = shared.version();
        let before =
            version.table_named(&born.entry.descriptor.name).ok().map(|table| (table.id, table.disabled));
        if let Some(index) = before.and_then(|(id, _)| version.indexes_of(id).next()) {
            return Err(Error::Invalid(format!(
                "table {} has the index {}, which the snapshot does not know; drop it first and create it again",
                born.entry.descriptor.name, index.descriptor.name
            )));
        }
        born.entry.disabled = before.is_some_and(|(_, disabled)| disabled);
        manifest.change(|manifest| {
            if let Some((gone, _)) = before {
                manifest.remove_table(gone);
            }
            born.enter(manifest);
        })?;
        let id = born.id();
        match before {
            Some((gone, _)) => shared.replace_version(manifest.current(), &[gone], vec![born]),
            None => shared.edit_version(|version| version.put_table(born.into_version(shared))),
        }
        manifest.is_in_memory();
        Ok(id)
    }

    /// Drops a snapshot. Tables made of it stay.
    pub fn drop_snapshot(&self, name: &str) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        let before = Arc::clone(manifest.current());
        let gone = before.snapshot(name).ok_or_else(|| Error::NoSuchSnapshot { name: name.to_owned() })?;
        manifest.change_alone(|manifest| manifest.snapshots.retain(|snapshot| snapshot.name != name))?;
        let table: Arc<str> = gone.descriptor.name.to_string().into();
        let files = listings(gone)
            .map(|listing| shared.store_file(&listing.region.dir, listing.family, &table, listing.meta));
        shared.release_files(manifest.current(), &files.collect::<Vec<_>>());
        Ok(())
    }
}

impl Shared {
    /// A table out of a snapshot, under another name if one is given.
    fn table_of_snapshot(
        &self,
        manifest: &Manifest,
        name: &str,
        table: Option<&TableName>,
    ) -> Result<NewTable> {
        let snapshot =
            manifest.snapshot(name).ok_or_else(|| Error::NoSuchSnapshot { name: name.to_owned() })?;
        let mut descriptor = snapshot.descriptor.clone();
        if let Some(table) = table {
            descriptor.name = table.clone();
            check_descriptor(&descriptor)?;
        }
        let mut regions: Vec<&RegionEntry> = snapshot.regions.iter().collect();
        regions.sort_by(|a, b| a.range.start.cmp(&b.range.start));
        let ranges: Vec<KeyRange> = regions.iter().map(|region| region.range.clone()).collect();
        let mut born = self.new_table(manifest, descriptor, &ranges);
        for (region, from) in born.regions.iter_mut().zip(regions) {
            for (family, meta) in from.files() {
                let meta = meta.listed_from(&from.dir);
                region.families.entry(family.to_owned()).or_default().push(meta);
            }
        }
        Ok(born)
    }
}

/// The files of a snapshot.
fn listings(snapshot: &SnapshotEntry) -> impl Iterator<Item = Listing<'_>> {
    let descriptor = &snapshot.descriptor;
    snapshot.regions.iter().flat_map(move |region| {
        region.files().map(move |(family, meta)| Listing { descriptor, region, family, meta })
    })
}

fn summary(snapshot: &SnapshotEntry) -> TableSnapshot {
    let files = || listings(snapshot).map(|listing| listing.meta);
    TableSnapshot {
        name: snapshot.name.clone(),
        table: snapshot.descriptor.name.clone(),
        created_ms: snapshot.created_ms,
        regions: snapshot.regions.len() as u64,
        files: files().count() as u64,
        size_bytes: files().map(|meta| meta.size_bytes).sum(),
    }
}

fn check_name(name: &str) -> Result<()> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || [b'_', b'-', b'.'].contains(&byte);
    if name.is_empty()
        || name.len() > NAME_LEN_MAX
        || !name.bytes().all(known)
        || name.starts_with(['.', '-'])
    {
        return Err(Error::Invalid(format!(
            "snapshot name {name:?} must have 1 to {NAME_LEN_MAX} letters, digits, '_', '-' and '.', and not begin with one \
             of the last two"
        )));
    }
    Ok(())
}

fn check_free(manifest: &ManifestStore, name: &str) -> Result<()> {
    let manifest = manifest.current();
    if manifest.snapshot(name).is_some() {
        return Err(Error::SnapshotExists { name: name.to_owned() });
    }
    let found = manifest.snapshots.len() as u64 + 1;
    if found > SNAPSHOTS_MAX as u64 {
        return Err(Error::OutOfRange { what: "snapshots", found, min: 0, max: SNAPSHOTS_MAX as u64 });
    }
    Ok(())
}
