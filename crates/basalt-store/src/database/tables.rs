// SPDX-License-Identifier: Apache-2.0
//! Creating, changing and dropping tables: manifest edits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use basalt_model::escape::Escaped;
use basalt_model::table::DEFAULT_NAMESPACE;
use basalt_model::{FAMILY_LEN_MAX, KeyRange, TableDescriptor, TableId, TableName};
use bytes::Bytes;

use super::{Database, Shared};
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::layout;
use crate::manifest::{Manifest, RegionEntry, TableEntry};
use crate::new_file::writer_options;
use crate::snapshot::query::check_row;
use crate::version::{RegionVersion, TableVersion};

/// Regions that a table can be created with, at most.
const REGIONS_MAX: usize = 10_000;

impl Database {
    /// Creates a table with one region.
    pub fn create_table(&self, descriptor: TableDescriptor) -> Result<TableId> {
        self.create_table_split(descriptor, &[])
    }

    /// Creates a table with a region for every range between the `splits`, which are sorted, distinct and not empty.
    pub fn create_table_split(&self, descriptor: TableDescriptor, splits: &[Bytes]) -> Result<TableId> {
        let shared = self.shared();
        shared.check_writable()?;
        check_descriptor(&descriptor)?;
        let ranges = ranges_between(splits)?;
        let mut manifest = shared.manifest.lock();
        if shared.version().names.contains_key(&descriptor.name) {
            return Err(Error::TableExists { name: descriptor.name });
        }
        let born = shared.new_table(manifest.current(), descriptor, &ranges);
        manifest.change(|manifest| born.enter(manifest))?;
        let id = born.entry.id;
        shared.edit_version(|version| version.put_table(born.into_version()));
        Ok(id)
    }

    /// Gives a table without its rows the place of the table, under a new identity; with the regions that it had, or
    /// with one. Snapshots of before keep what they show.
    pub fn truncate_table(&self, name: &TableName, keep_regions: bool) -> Result<TableId> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        let before = Arc::clone(shared.version().table_named(name)?);
        let ranges: Vec<KeyRange> = match keep_regions {
            true => before.regions.iter().map(|region| region.range.clone()).collect(),
            false => vec![KeyRange::all()],
        };
        let mut born = shared.new_table(manifest.current(), (*before.descriptor).clone(), &ranges);
        born.entry.disabled = before.disabled;
        manifest.change(|manifest| {
            manifest.tables.retain(|table| table.id != before.id);
            manifest.regions.retain(|region| region.table != before.id);
            born.enter(manifest);
        })?;
        let id = born.entry.id;
        shared.replace_version(before.id, Some(born.into_version()))?;
        Ok(id)
    }

    /// Lets ports serve a table again, or no longer. Programs that embed the database are not concerned.
    pub fn set_table_enabled(&self, id: TableId, enabled: bool) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        shared.version().table(id)?;
        manifest.change(|manifest| {
            for table in manifest.tables.iter_mut().filter(|table| table.id == id) {
                table.disabled = !enabled;
            }
        })?;
        shared.edit_version(|version| {
            let mut table = TableVersion::clone(&version.tables[&id]);
            table.disabled = !enabled;
            version.put_table(table);
        });
        Ok(())
    }

    /// Creates a namespace. Tables may also be created in namespaces that do not exist yet.
    pub fn create_namespace(&self, name: &str) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        check_namespace(name)?;
        let mut manifest = shared.manifest.lock();
        if manifest.current().namespaces.contains(name) {
            return Err(Error::NamespaceExists { name: name.to_owned() });
        }
        let insert = |manifest: &mut Manifest| {
            manifest.namespaces.insert(name.to_owned());
        };
        manifest.change(insert).map(drop)
    }

    /// Drops a namespace that holds no tables.
    pub fn drop_namespace(&self, name: &str) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        if !manifest.current().namespaces.contains(name) {
            return Err(Error::NoSuchNamespace { name: name.to_owned() });
        }
        let tables = shared.version().names.keys().filter(|table| table.namespace == name).count();
        if tables > 0 || name == DEFAULT_NAMESPACE {
            return Err(Error::NamespaceNotEmpty { name: name.to_owned(), tables });
        }
        let remove = |manifest: &mut Manifest| {
            manifest.namespaces.remove(name);
        };
        manifest.change(remove).map(drop)
    }

    /// All namespaces, sorted.
    pub fn namespaces(&self) -> Vec<String> {
        self.shared().manifest.lock().current().namespaces.iter().cloned().collect()
    }

    /// Drops a table. Its files go when the last snapshot that shows them does.
    pub fn drop_table(&self, name: &TableName) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        let id = shared.version().table_named(name)?.id;
        manifest.change(|manifest| {
            manifest.tables.retain(|table| table.id != id);
            manifest.regions.retain(|region| region.table != id);
        })?;
        shared.replace_version(id, None)
    }

    /// Gives a table another descriptor, name included. The files of families that it no longer has go when
    /// the last snapshot that shows them does.
    pub fn alter_table(&self, id: TableId, descriptor: TableDescriptor) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        check_descriptor(&descriptor)?;
        let mut manifest = shared.manifest.lock();
        let before = Arc::clone(shared.version().table(id)?);
        if shared.version().names.get(&descriptor.name).is_some_and(|&other| other != id) {
            return Err(Error::TableExists { name: descriptor.name });
        }
        let kept: BTreeSet<String> = descriptor.families.iter().map(|family| family.name.clone()).collect();
        manifest.change(|manifest| {
            manifest.namespaces.insert(descriptor.name.namespace.clone());
            for table in manifest.tables.iter_mut().filter(|table| table.id == id) {
                table.descriptor = descriptor.clone();
            }
            for region in manifest.regions.iter_mut().filter(|region| region.table == id) {
                region.families.retain(|family, _| kept.contains(family));
            }
        })?;
        shared.alter_version(&before, descriptor, &kept);
        Ok(())
    }
}

/// A table that is about to be.
struct NewTable {
    entry: TableEntry,
    regions: Vec<RegionEntry>,
}

impl NewTable {
    fn enter(&self, manifest: &mut Manifest) {
        let last = self.regions.last().expect("a table has a region");
        (manifest.next_table, manifest.next_region) = (self.entry.id.0 + 1, last.id.0 + 1);
        manifest.namespaces.insert(self.entry.descriptor.name.namespace.clone());
        manifest.tables.push(self.entry.clone());
        manifest.regions.extend(self.regions.iter().cloned());
    }

    fn into_version(self) -> TableVersion {
        let TableEntry { id, descriptor, disabled } = self.entry;
        let region =
            |entry: RegionEntry| Arc::new(RegionVersion::new(entry.id, id, entry.range, entry.dir.into()));
        let regions = self.regions.into_iter().map(region).collect();
        TableVersion { id, descriptor: Arc::new(descriptor), disabled, regions }
    }
}

impl Shared {
    fn new_table(&self, manifest: &Manifest, descriptor: TableDescriptor, ranges: &[KeyRange]) -> NewTable {
        let table = TableId(manifest.next_table);
        let region = |(at, range): (u64, &KeyRange)| RegionEntry {
            id: RegionId(manifest.next_region + at),
            table,
            dir: layout::region_dir(&descriptor.name, RegionId(manifest.next_region + at)),
            range: range.clone(),
            flushed_seq: self.commit.visible(),
            families: BTreeMap::new(),
        };
        let regions = (0..).zip(ranges).map(region).collect();
        NewTable { entry: TableEntry { id: table, descriptor, disabled: false }, regions }
    }

    /// Takes a table out of the version, and puts another in its place. The manifest says so already.
    fn replace_version(&self, gone: TableId, new: Option<TableVersion>) -> Result<()> {
        // Writes on their way hold its memtables; they are acknowledged and gone, as if they came before.
        let _sequencer = self.commit.drain();
        let version = self.version();
        self.edit_version(|version| {
            version.remove_table(gone);
            if let Some(table) = new {
                version.put_table(table);
            }
        });
        for region in &version.table(gone)?.regions {
            region.all_files().for_each(|(_, file)| file.mark_obsolete());
            self.commit.release(region.memtable_bytes());
        }
        Ok(())
    }

    fn alter_version(&self, before: &TableVersion, descriptor: TableDescriptor, kept: &BTreeSet<String>) {
        self.edit_version(|version| {
            let mut table = TableVersion::clone(&version.tables[&before.id]);
            table.descriptor = Arc::new(descriptor);
            for region in &mut table.regions {
                Arc::make_mut(region).files.retain(|family, _| kept.contains(family));
            }
            version.put_table(table);
        });
        for (family, file) in before.regions.iter().flat_map(|region| region.all_files()) {
            if !kept.contains(family) {
                file.mark_obsolete();
            }
        }
    }
}

fn check_namespace(name: &str) -> Result<()> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(known) {
        return Err(Error::Invalid(format!(
            "namespace {name:?} must have one or more letters, digits and underscores"
        )));
    }
    Ok(())
}

/// The ranges between keys that are sorted, distinct and not empty.
fn ranges_between(splits: &[Bytes]) -> Result<Vec<KeyRange>> {
    if splits.len() >= REGIONS_MAX {
        let found = splits.len() as u64 + 1;
        return Err(Error::OutOfRange { what: "regions", found, min: 1, max: REGIONS_MAX as u64 });
    }
    let mut ranges = Vec::with_capacity(splits.len() + 1);
    let mut start = Bytes::new();
    for split in splits {
        if *split <= start {
            let (split, before) = (Escaped(split).to_string(), Escaped(&start).to_string());
            return Err(Error::Invalid(format!(
                "split key {split} follows {before}; split keys must be sorted, distinct and not empty"
            )));
        }
        check_row(split)?;
        ranges.push(KeyRange { start, end: Some(split.clone()) });
        start = split.clone();
    }
    ranges.push(KeyRange { start, end: None });
    Ok(ranges)
}

/// All mistakes of a descriptor in one message.
fn check_descriptor(descriptor: &TableDescriptor) -> Result<()> {
    let mut wrong = Vec::new();
    let name = &descriptor.name;
    if name.name.is_empty() || name.namespace.is_empty() {
        wrong.push("the table name is empty".to_owned());
    }
    if descriptor.families.is_empty() {
        wrong.push("a table needs at least one column family".to_owned());
    }
    if !descriptor.families.is_sorted_by(|a, b| a.name < b.name) {
        wrong.push("column families must be sorted by name and distinct".to_owned());
    }
    for family in &descriptor.families {
        let len = family.name.len();
        if len == 0 || len > FAMILY_LEN_MAX || family.name.contains(':') {
            let name = &family.name;
            wrong.push(format!("family name {name:?} must have 1 to {FAMILY_LEN_MAX} bytes and no colon"));
        }
        if family.versions_max == 0 || family.versions_min > family.versions_max {
            wrong.push(format!(
                "family {:?} keeps {} to {} versions; expected at least 1, and the minimum not above it",
                family.name, family.versions_min, family.versions_max
            ));
        }
        if let Err(error) = writer_options(family) {
            wrong.push(error.to_string());
        }
        if family.ttl_secs == Some(0) {
            wrong.push(format!("family {:?} has a TTL of 0 seconds; expected at least 1", family.name));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Error::Invalid(format!("table {name}: {}", wrong.join("; ")))) }
}
