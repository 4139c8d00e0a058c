// SPDX-License-Identifier: Apache-2.0
//! What the database consists of in memory at one moment: tables, regions, their memtables and open files.
//!
//! A [`Version`] is a value behind an `Arc`: changes (a sealed memtable, a flush, a compaction, a new table)
//! make a new one that shares all that stayed. A snapshot is a version and a sequence number. Files that no
//! version holds any more and that the manifest has dropped remove themselves
//! ([`StoreFile::mark_obsolete`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_model::{KeyRange, TableDescriptor, TableId, TableName};

use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::memtable::Memtable;
use crate::read::StoreFile;

/// All tables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Version {
    pub(crate) tables: BTreeMap<TableId, Arc<TableVersion>>,
    pub(crate) names: BTreeMap<TableName, TableId>,
    /// The indexes of each table that has some, by age.
    pub(crate) indexes: BTreeMap<TableId, Vec<TableId>>,
}

/// One table and its regions, sorted by key.
#[derive(Debug, Clone)]
pub(crate) struct TableVersion {
    pub(crate) id: TableId,
    pub(crate) descriptor: Arc<TableDescriptor>,
    /// It takes no reads and writes.
    pub(crate) disabled: bool,
    pub(crate) regions: Vec<Arc<RegionVersion>>,
}

/// One region.
#[derive(Debug, Clone)]
pub(crate) struct RegionVersion {
    pub(crate) id: RegionId,
    pub(crate) table: TableId,
    pub(crate) range: KeyRange,
    /// Directory relative to the database.
    pub(crate) dir: Arc<str>,
    /// Takes the writes.
    pub(crate) active: Arc<Memtable>,
    /// Wait to be flushed, oldest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    /// Files by family, newest first.
    pub(crate) files: BTreeMap<String, Vec<Arc<StoreFile>>>,
}

impl Version {
    pub(crate) fn table(&self, id: TableId) -> Result<&Arc<TableVersion>> {
        self.tables.get(&id).ok_or_else(|| Error::NoSuchTable { name: format!("with id {}", id.0) })
    }

    /// A table that takes reads and writes.
    pub(crate) fn enabled_table(&self, id: TableId) -> Result<&Arc<TableVersion>> {
        let table = self.table(id)?;
        if table.disabled {
            return Err(Error::TableDisabled { name: table.descriptor.name.to_string() });
        }
        Ok(table)
    }

    pub(crate) fn table_named(&self, name: &TableName) -> Result<&Arc<TableVersion>> {
        let id = self.names.get(name).ok_or_else(|| Error::NoSuchTable { name: name.to_string() })?;
        self.table(*id)
    }

    pub(crate) fn regions(&self) -> impl Iterator<Item = &Arc<RegionVersion>> {
        self.tables.values().flat_map(|table| &table.regions)
    }

    /// Adds or replaces a table.
    pub(crate) fn put_table(&mut self, table: TableVersion) {
        self.remove_table(table.id);
        if let Some(index) = &table.descriptor.index {
            let indexes = self.indexes.entry(index.base).or_default();
            indexes.push(table.id);
            indexes.sort_unstable();
        }
        self.names.insert(table.descriptor.name.clone(), table.id);
        self.tables.insert(table.id, Arc::new(table));
    }

    pub(crate) fn remove_table(&mut self, id: TableId) {
        let Some(table) = self.tables.remove(&id) else { return };
        self.names.remove(&table.descriptor.name);
        if let Some(index) = &table.descriptor.index
            && let Some(indexes) = self.indexes.get_mut(&index.base)
        {
            indexes.retain(|known| *known != id);
            if indexes.is_empty() {
                self.indexes.remove(&index.base);
            }
        }
    }

    /// Puts regions in the place of others that have the same rows.
    pub(crate) fn replace_regions(&mut self, table: TableId, gone: &[RegionId], new: Vec<RegionVersion>) {
        let Some(table) = self.tables.get_mut(&table) else { return };
        let regions = &mut Arc::make_mut(table).regions;
        regions.retain(|region| !gone.contains(&region.id));
        regions.extend(new.into_iter().map(Arc::new));
        regions.sort_by(|a, b| a.range.start.cmp(&b.range.start));
    }

    /// Tells the files of tables that are others than `before` whether their family is IN_MEMORY.
    pub(crate) fn favour_files(&self, before: &Self) {
        for (id, table) in &self.tables {
            let before = before.tables.get(id);
            if !before.is_some_and(|before| Arc::ptr_eq(before, table))
                && (table.has_favoured() || before.is_some_and(|before| before.has_favoured()))
            {
                table.favour_files();
            }
        }
    }

    /// The indexes of a table, whatever their state.
    pub(crate) fn indexes_of(&self, base: TableId) -> impl Iterator<Item = &Arc<TableVersion>> {
        self.indexes.get(&base).into_iter().flatten().filter_map(|id| self.tables.get(id))
    }

    /// Changes one region; false if it is gone.
    pub(crate) fn edit_region(
        &mut self,
        table: TableId,
        region: RegionId,
        edit: impl FnOnce(&mut RegionVersion),
    ) -> bool {
        let Some(table) = self.tables.get_mut(&table) else { return false };
        let Some(at) = table.regions.iter().position(|known| known.id == region) else { return false };
        edit(Arc::make_mut(&mut Arc::make_mut(table).regions[at]));
        true
    }
}

impl TableVersion {
    fn has_favoured(&self) -> bool {
        self.descriptor.families.iter().any(|family| family.in_memory)
    }

    fn favour_files(&self) {
        for family in &self.descriptor.families {
            let files = self.regions.iter().filter_map(|region| region.files.get(&family.name)).flatten();
            files.for_each(|file| file.favour(family.in_memory));
        }
    }

    /// The region with this identity.
    pub(crate) fn region(&self, id: RegionId) -> Result<&Arc<RegionVersion>> {
        let found = self.regions.iter().find(|region| region.id == id);
        found.ok_or_else(|| Error::NoSuchRegion { table: self.descriptor.name.clone(), region: id })
    }

    /// The region that holds `row`.
    pub(crate) fn region_of(&self, row: &[u8]) -> &Arc<RegionVersion> {
        let (first, others) = self.regions.split_first().expect("a table has a region");
        // The first one begins with the empty key, which lies nowhere: to compare it with vector instructions takes hundreds of cycles.
        let at = others.partition_point(|region| &region.range.start[..] <= row);
        at.checked_sub(1).map_or(first, |at| &others[at])
    }
}

impl RegionVersion {
    /// A region without data.
    pub(crate) fn new(id: RegionId, table: TableId, range: KeyRange, dir: Arc<str>) -> Self {
        Self { id, table, range, dir, active: Arc::default(), sealed: Vec::new(), files: BTreeMap::new() }
    }

    /// All memtables, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.sealed.iter().rev())
    }

    /// Bytes in memtables.
    pub(crate) fn memtable_bytes(&self) -> u64 {
        self.memtables().map(|memtable| memtable.size_bytes()).sum()
    }

    /// All files with their family.
    pub(crate) fn all_files(&self) -> impl Iterator<Item = (&str, &Arc<StoreFile>)> {
        self.files.iter().flat_map(|(family, files)| files.iter().map(move |file| (family.as_str(), file)))
    }
}
