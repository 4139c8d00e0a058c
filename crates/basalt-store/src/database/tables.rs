// SPDX-License-Identifier: Apache-2.0
//! Creating, changing and dropping tables: manifest edits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use basalt_model::escape::Escaped;
use basalt_model::{
    FAMILY_LEN_MAX, FamilyDescriptor, IndexState, KeyRange, TableDescriptor, TableId, TableName,
};
use bytes::Bytes;

use super::indexes::check_base;
use super::{Database, Shared};
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::layout;
use crate::manifest::{Manifest, RegionEntry, TableEntry};
use crate::new_file::writer_options;
use crate::snapshot::query::check_row;
use crate::version::TableVersion;

/// Regions that a table can be created with, at most.
const REGIONS_MAX: usize = 10_000;
/// Bytes of a table's name or namespace, at most.
pub(super) const NAME_LEN_MAX: usize = 255;

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
        check_attributes(&descriptor, &BTreeMap::new())?;
        let ranges = ranges_between(splits)?;
        let mut manifest = shared.manifest.lock();
        if shared.version().names.contains_key(&descriptor.name) {
            return Err(Error::TableExists { name: descriptor.name });
        }
        let born = shared.new_table(manifest.current(), descriptor, &ranges);
        manifest.change(|manifest| born.enter(manifest))?;
        let id = born.entry.id;
        shared.edit_version(|version| version.put_table(born.into_version(shared)));
        manifest.is_in_memory();
        Ok(id)
    }

    /// Gives a table without its rows the place of the table, under a new identity; with the regions that it had, or
    /// with one. Snapshots of before keep what they show.
    pub fn truncate_table(&self, name: &TableName, keep_regions: bool) -> Result<TableId> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        let version = shared.version();
        let before = version.table_named(name)?;
        if let Some(index) = &before.descriptor.index {
            let what =
                format!("{name} is an index of {} and cannot be truncated; truncate the table", index.on);
            return Err(Error::Invalid(what));
        }
        let ranges = |table: &TableVersion| -> Vec<KeyRange> {
            match keep_regions {
                true => table.regions.iter().map(|region| region.range.clone()).collect(),
                false => vec![KeyRange::all()],
            }
        };
        let mut next = Manifest::clone(manifest.current());
        let mut born = vec![shared.new_table(&next, (*before.descriptor).clone(), &ranges(before))];
        born[0].entry.disabled = before.disabled;
        born[0].enter(&mut next);
        let mut gone = vec![before.id];
        for index in version.indexes_of(before.id) {
            gone.push(index.id);
            let table = shared.new_table(&next, emptied(&index.descriptor, born[0].id()), &ranges(index));
            table.enter(&mut next);
            born.push(table);
        }
        manifest.change(|manifest| {
            gone.iter().for_each(|id| manifest.remove_table(*id));
            born.iter().for_each(|table| table.enter(manifest));
        })?;
        let id = born[0].id();
        shared.replace_version(manifest.current(), &gone, born);
        manifest.is_in_memory();
        Ok(id)
    }

    /// Lets a table take reads and writes again, or no longer: they fail with [`Error::TableDisabled`]. Snapshots that were taken before go on showing it.
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
        // Writes that were let in before are on this side of it.
        let _sequencer = shared.commit.drain();
        shared.edit_version(|version| {
            let mut table = TableVersion::clone(&version.tables[&id]);
            table.disabled = !enabled;
            version.put_table(table);
        });
        manifest.is_in_memory();
        Ok(())
    }

    /// Drops a table with its indexes, or an index. Files go when the last snapshot that shows them does.
    pub fn drop_table(&self, name: &TableName) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        let version = shared.version();
        let id = version.table_named(name)?.id;
        let mut gone = vec![id];
        gone.extend(version.indexes_of(id).map(|index| index.id));
        manifest.change(|manifest| gone.iter().for_each(|id| manifest.remove_table(*id)))?;
        shared.replace_version(manifest.current(), &gone, Vec::new());
        manifest.is_in_memory();
        Ok(())
    }

    /// Gives a table another descriptor, name included. The files of families that it no longer has go when
    /// the last snapshot that shows them does.
    pub fn alter_table(&self, id: TableId, descriptor: TableDescriptor) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let before = Arc::clone(&shared.version().table(id)?.descriptor);
        all_right(&descriptor.name, &mistakes(&descriptor, Some(&before)))?;
        check_attributes(&descriptor, &before.attributes)?;
        drop(before);
        let (mut manifest, before) = loop {
            let forgotten = shared.forget_cells_of_new_families(id, &descriptor)?;
            let manifest = shared.manifest.lock();
            let before = Arc::clone(shared.version().table(id)?);
            // Somebody else may have dropped one of them meanwhile, which makes it a new one.
            if new_families(&before.descriptor, &descriptor).all(|family| forgotten.contains(family)) {
                break (manifest, before);
            }
        };
        if shared.version().indexes_of(id).next().is_some() {
            check_base(&descriptor)?;
        }
        // An index stays one: its definition can change, not go.
        let index = descriptor.index.clone().or_else(|| before.descriptor.index.clone());
        let descriptor = TableDescriptor { index, ..descriptor };
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
        manifest.is_in_memory();
        let files = before.regions.iter().flat_map(|region| region.all_files());
        shared.release_files(manifest.current(), files.map(|(_, file)| file));
        Ok(())
    }
}

/// The index of a table that is empty now.
fn emptied(index: &TableDescriptor, base: TableId) -> TableDescriptor {
    let mut emptied = index.clone();
    if let Some(index) = &mut emptied.index {
        index.base = base;
        if matches!(index.state, IndexState::Building | IndexState::Outdated) {
            index.state = IndexState::Active;
        }
    }
    emptied
}

/// A table that is about to be.
pub(super) struct NewTable {
    pub(super) entry: TableEntry,
    pub(super) regions: Vec<RegionEntry>,
}

impl NewTable {
    pub(super) fn id(&self) -> TableId {
        self.entry.id
    }

    pub(super) fn enter(&self, manifest: &mut Manifest) {
        let last = self.regions.last().expect("a table has a region");
        (manifest.next_table, manifest.next_region) = (self.entry.id.0 + 1, last.id.0 + 1);
        manifest.namespaces.insert(self.entry.descriptor.name.namespace.clone());
        manifest.tables.push(self.entry.clone());
        manifest.regions.extend(self.regions.iter().cloned());
    }

    pub(super) fn into_version(self, shared: &Shared) -> TableVersion {
        let TableEntry { id, descriptor, disabled, building: _ } = self.entry;
        let name: Arc<str> = descriptor.name.to_string().into();
        let region = |entry: &RegionEntry| Arc::new(shared.open_region(entry, &name));
        let regions = self.regions.iter().map(region).collect();
        TableVersion { id, descriptor: Arc::new(descriptor), disabled, regions }
    }
}

impl Shared {
    /// Without files. `ranges` are sorted and cover all keys.
    pub(super) fn new_table(
        &self,
        manifest: &Manifest,
        descriptor: TableDescriptor,
        ranges: &[KeyRange],
    ) -> NewTable {
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
        NewTable { entry: TableEntry { id: table, descriptor, disabled: false, building: None }, regions }
    }

    /// Takes tables out of the version, and puts others in their place. The manifest in force says so already.
    pub(super) fn replace_version(&self, manifest: &Manifest, gone: &[TableId], new: Vec<NewTable>) {
        // Writes on their way hold their memtables; they are acknowledged and gone, as if they came before.
        let _sequencer = self.commit.drain();
        let version = self.version();
        self.edit_version(|version| {
            gone.iter().for_each(|id| version.remove_table(*id));
            new.into_iter().for_each(|table| version.put_table(table.into_version(self)));
        });
        gone.iter().filter_map(|id| version.tables.get(id)).for_each(|table| self.discard(manifest, table));
    }

    /// Gives up the files and memory of a table that the version has no more.
    pub(super) fn discard(&self, manifest: &Manifest, table: &TableVersion) {
        let files = table.regions.iter().flat_map(|region| region.all_files()).map(|(_, file)| file);
        self.release_files(manifest, files);
        let memtables: Vec<_> = table.regions.iter().flat_map(|region| region.memtables().cloned()).collect();
        // Snapshots may read them for as long as they live.
        self.upkeep.flushed_memtables.lock().add(&memtables);
        self.commit.release(memtables.iter().map(|memtable| memtable.size_bytes()).sum());
    }

    /// A new family may be an old one that was dropped: its cells that are still in memory and in the log must not
    /// come back. A flush leaves behind what is of no family. Gives the new families.
    fn forget_cells_of_new_families(
        &self,
        id: TableId,
        descriptor: &TableDescriptor,
    ) -> Result<BTreeSet<String>> {
        let version = self.version();
        let before = version.table(id)?;
        let new: BTreeSet<String> = new_families(&before.descriptor, descriptor).cloned().collect();
        for region in before.regions.iter().filter(|region| !new.is_empty() && region.memtable_bytes() > 0) {
            self.flush_region(id, region.id)?;
        }
        Ok(new)
    }

    fn alter_version(&self, before: &TableVersion, descriptor: TableDescriptor, kept: &BTreeSet<String>) {
        let _sequencer = self.commit.drain();
        self.edit_version(|version| {
            let mut table = TableVersion::clone(&version.tables[&before.id]);
            table.descriptor = Arc::new(descriptor);
            for region in &mut table.regions {
                Arc::make_mut(region).files.retain(|family, _| kept.contains(family));
            }
            version.put_table(table);
        });
    }
}

/// The ranges between keys that are sorted, distinct and not empty.
pub(super) fn ranges_between(splits: &[Bytes]) -> Result<Vec<KeyRange>> {
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

/// The names of families that a table gets.
fn new_families<'a>(
    before: &'a TableDescriptor,
    descriptor: &'a TableDescriptor,
) -> impl Iterator<Item = &'a String> {
    let known = |name: &str| before.families.iter().any(|family| family.name == name);
    descriptor.families.iter().map(|family| &family.name).filter(move |name| !known(name))
}

/// All mistakes of the descriptor of a new table in one message.
pub(super) fn check_descriptor(descriptor: &TableDescriptor) -> Result<()> {
    all_right(&descriptor.name, &mistakes(descriptor, None))
}

/// What is wrong with a descriptor, but for names that the table had `before`.
fn mistakes(descriptor: &TableDescriptor, before: Option<&TableDescriptor>) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = &descriptor.name;
    let is_new = before.is_none_or(|before| before.name != *name);
    let had =
        |family: &str| before.is_some_and(|before| before.families.iter().any(|known| known.name == family));
    for (kind, text) in
        [("namespace", &name.namespace), ("table name", &name.name)].into_iter().filter(|_| is_new)
    {
        if text.is_empty() || text.len() > NAME_LEN_MAX || text.contains(|c: char| c.is_control() || c == ':')
        {
            wrong.push(format!(
                "{kind} {text:?} must have 1 to {NAME_LEN_MAX} bytes, none of them ':' or a control character"
            ));
        }
    }
    if descriptor.families.is_empty() {
        wrong.push("a table needs at least one column family".to_owned());
    }
    if !descriptor.families.is_sorted_by(|a, b| a.name < b.name) {
        wrong.push("column families must be sorted by name and distinct".to_owned());
    }
    for family in &descriptor.families {
        if !FamilyDescriptor::is_name(&family.name) && !had(&family.name) {
            let name = &family.name;
            wrong.push(format!(
                "family name {name:?} must have 1 to {FAMILY_LEN_MAX} bytes, none of them ':', '/' or a control character, and \
                 no dot at the front"
            ));
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
    wrong
}

/// Table attributes that somebody gives; what the table had `before` stays as it is.
fn check_attributes(descriptor: &TableDescriptor, before: &BTreeMap<String, String>) -> Result<()> {
    let wrong = descriptor.wrong_attributes().into_iter();
    let given = wrong.filter(|wrong| before.get(&wrong.name) != Some(&wrong.found));
    let wrong: Vec<_> = given.map(|wrong| wrong.to_string()).collect();
    all_right(&descriptor.name, &wrong)
}

fn all_right(name: &TableName, wrong: &[String]) -> Result<()> {
    if wrong.is_empty() { Ok(()) } else { Err(Error::Invalid(format!("table {name}: {}", wrong.join("; ")))) }
}
