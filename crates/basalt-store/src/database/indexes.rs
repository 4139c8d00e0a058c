// SPDX-License-Identifier: Apache-2.0
//! The life of an index: registered, built, given another state. What it is and how it follows its table: [`crate::index`].

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::table::DeleteRule;
use basalt_model::{IndexDescriptor, IndexState, KeyRange, Seq, TableDescriptor, TableId, TableName};
use bytes::Bytes;

use super::tables::{self, NewTable};
use super::{Database, Ingest, IngestSummary, Shared};
use crate::error::{Error, Result};
use crate::index::IndexKeeper;
use crate::ingest::Ingested;
use crate::manifest::{BuildEntry, Manifest};
use crate::new_file::FinishedFile;
use crate::snapshot::Snapshot;
use crate::version::{TableVersion, Version};

/// Sequence numbers that are set aside for the files of a build: more runs than that share the lowest.
const BUILD_SEQS: u64 = 1024;

/// An index that is being built, and followed since it was registered.
#[derive(Debug, Clone)]
pub struct NewIndex {
    /// The index.
    pub id: TableId,
    /// What to build from: the table as of the registration, or later.
    pub snapshot: Snapshot,
    /// The first row of the table that the index lacks.
    pub from: Bytes,
    /// Its rows read as of this commit, the last one before the registration.
    pub(super) seq: Seq,
    /// No write that it has followed is older.
    pub(super) timestamp: i64,
}

/// What a load of a build is: all that the index lacks, or the rows before one of its table.
#[derive(Debug, Clone)]
pub(super) struct BuildPart {
    pub(super) seq: Seq,
    pub(super) timestamp: i64,
    /// The first row of the table that the index lacks then; `None` if that is none.
    pub(super) from: Option<Bytes>,
}

impl Database {
    /// Brings what knows the rows of the index of this name. Without it, writes to the table of the index are refused. It may
    /// come before the index is created.
    pub fn keep_index(&self, name: TableName, keeper: Arc<dyn IndexKeeper>) {
        self.shared().keepers.put(name, keeper);
    }

    /// Takes the keeper of an index away, after the index.
    pub fn forget_index(&self, name: &TableName) {
        self.shared().keepers.remove(name);
    }

    /// All indexes of a table, whatever their state, by age.
    pub fn indexes(&self, base: TableId) -> Vec<(TableId, Arc<TableDescriptor>)> {
        indexes_in(&self.shared().version(), base)
    }

    /// Registers an index, empty and being built, for [`Database::build_index`]. From now on it follows every write.
    pub fn create_index(&self, descriptor: TableDescriptor) -> Result<NewIndex> {
        self.create_index_split(descriptor, &[])
    }

    /// The same with a region for every range between the `splits`, which are sorted, distinct and not empty.
    pub fn create_index_split(&self, mut descriptor: TableDescriptor, splits: &[Bytes]) -> Result<NewIndex> {
        let shared = self.shared();
        shared.check_writable()?;
        tables::check_descriptor(&descriptor)?;
        let ranges = tables::ranges_between(splits)?;
        let index = index_of(&mut descriptor)?;
        index.state = IndexState::Building;
        let base = index.base;
        let mut manifest = shared.manifest.lock();
        check_base(&shared.version().table(base)?.descriptor)?;
        if shared.version().names.contains_key(&descriptor.name) {
            return Err(Error::TableExists { name: descriptor.name });
        }
        let born = shared.new_table(manifest.current(), descriptor, &ranges);
        manifest.change(|manifest| born.enter(manifest))?;
        let index = shared.register(manifest.current(), None, born);
        manifest.is_in_memory();
        Ok(index)
    }

    /// Registers an index anew, under a new identity and with the regions that it had, to be built from its table as it is now.
    pub fn restart_index(&self, index: TableId) -> Result<NewIndex> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        let before = Arc::clone(shared.version().table(index)?);
        let mut descriptor = TableDescriptor::clone(&before.descriptor);
        index_of(&mut descriptor)?.state = IndexState::Building;
        let ranges: Vec<KeyRange> = before.regions.iter().map(|region| region.range.clone()).collect();
        let born = shared.new_table(manifest.current(), descriptor, &ranges);
        manifest.change(|manifest| {
            manifest.remove_table(index);
            born.enter(manifest);
        })?;
        let index = shared.register(manifest.current(), Some(index), born);
        manifest.is_in_memory();
        Ok(index)
    }

    /// The index, to be built on from where an earlier build of it has come; `None` if that is nowhere, see [`Ingest::finish_part`].
    ///
    /// It is built from a later snapshot then. A row that no write has changed meanwhile is the same in both. Of one that was changed
    /// the index has, newer than anything that is built, what followed: all that the row is now, and markers for what it was.
    pub fn resume_index(&self, index: TableId) -> Result<Option<NewIndex>> {
        let shared = self.shared();
        shared.check_writable()?;
        let descriptor = self.table_by_id(index)?;
        check_building(&descriptor)?;
        let manifest = shared.manifest.lock();
        let entry = manifest.current().tables.iter().find(|table| table.id == index);
        let Some(building) = entry.and_then(|table| table.building.clone()) else { return Ok(None) };
        let BuildEntry { from, seq, timestamp, .. } = building;
        Ok(Some(NewIndex { id: index, snapshot: shared.snapshot(), from, seq, timestamp }))
    }

    /// Begins to write rows that an index lacks: those of its snapshot. When the load is finished the index is active, unless it is
    /// a part of a build.
    pub fn build_index(&self, index: &NewIndex) -> Result<Ingest> {
        let descriptor = self.table_by_id(index.id)?;
        check_building(&descriptor)?;
        self.begin_ingest(index.id, Some(index))
    }

    /// Gives an index another state. To one that is disabled or being built this cannot say that it is complete.
    pub fn set_index_state(&self, index: TableId, state: IndexState) -> Result<()> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut manifest = shared.manifest.lock();
        let version = shared.version();
        let before = version.table(index)?;
        let known = before.descriptor.index.as_ref().ok_or_else(|| not_an_index(&before.descriptor))?.state;
        let whole = |state| matches!(state, IndexState::Active | IndexState::Unusable);
        if whole(state) && !whole(known) {
            return Err(Error::Invalid(format!(
                "index {} is {} and has to be rebuilt before it can be {}",
                before.descriptor.name,
                known.name(),
                state.name()
            )));
        }
        manifest.change(|manifest| manifest.set_index_state(index, state))?;
        shared.edit_version(|version| set_state(version, index, state));
        manifest.is_in_memory();
        Ok(())
    }
}

/// The indexes of a table in a version.
pub(crate) fn indexes_in(version: &Version, base: TableId) -> Vec<(TableId, Arc<TableDescriptor>)> {
    version.indexes_of(base).map(|index| (index.id, Arc::clone(&index.descriptor))).collect()
}

fn index_of(descriptor: &mut TableDescriptor) -> Result<&mut IndexDescriptor> {
    if descriptor.index.is_none() {
        return Err(not_an_index(descriptor));
    }
    Ok(descriptor.index.as_mut().expect("checked above"))
}

/// With HBase's own rule a compaction can bring a value back, by dropping the marker that hid it: no write, and another row.
pub(super) fn check_base(base: &TableDescriptor) -> Result<()> {
    match base.families.iter().find(|family| family.delete_rule == DeleteRule::ByTimestamp) {
        None => Ok(()),
        Some(family) => Err(Error::Invalid(format!(
            "table {} with NEW_VERSION_BEHAVIOR = false (family {}) takes no indexes: what a delete hides there can come back without a write",
            base.name, family.name
        ))),
    }
}

fn not_an_index(descriptor: &TableDescriptor) -> Error {
    Error::Invalid(format!("table {} is no index", descriptor.name))
}

fn check_building(descriptor: &TableDescriptor) -> Result<()> {
    match &descriptor.index {
        Some(index) if index.state == IndexState::Building => Ok(()),
        Some(index) => Err(Error::Invalid(format!(
            "index {} is {}; only one that is being built can be filled",
            descriptor.name,
            index.state.name()
        ))),
        None => Err(not_an_index(descriptor)),
    }
}

/// Changes the state in a version.
pub(super) fn set_state(version: &mut Version, index: TableId, state: IndexState) {
    let Some(found) = version.tables.get(&index) else { return };
    let mut table = TableVersion::clone(found);
    if let Some(index) = &mut Arc::make_mut(&mut table.descriptor).index {
        index.state = state;
    }
    version.put_table(table);
}

impl Manifest {
    /// Changes the state of an index.
    pub(super) fn set_index_state(&mut self, index: TableId, state: IndexState) {
        let entries = self.tables.iter_mut().filter(|table| table.id == index);
        for table in entries {
            if let Some(descriptor) = &mut table.descriptor.index {
                descriptor.state = state;
            }
            if state != IndexState::Building {
                table.building = None;
            }
        }
    }

    /// Takes a table and its files out.
    pub(super) fn remove_table(&mut self, id: TableId) {
        self.tables.retain(|table| table.id != id);
        self.regions.retain(|region| region.table != id);
    }
}

impl Shared {
    /// Puts an index in place while no commit is on its way. The snapshot shows everything that it has not followed, and
    /// the numbers just below the snapshot's are the build's. Its rows get no newer timestamp than what is followed: a
    /// delete hides only what is not newer.
    fn register(self: &Arc<Self>, manifest: &Manifest, gone: Option<TableId>, index: NewTable) -> NewIndex {
        let (id, index) = (index.id(), index.into_version(self));
        let before = self.version();
        let mut sequencer = self.commit.drain();
        let timestamp = sequencer.timestamp_at(0);
        let (_, last) = sequencer.take_seqs(BUILD_SEQS);
        self.edit_version(|version| {
            if let Some(gone) = gone {
                version.remove_table(gone);
            }
            version.put_table(index);
        });
        self.commit.publish(&mut sequencer, last, 0);
        let snapshot = self.snapshot();
        let seq = snapshot.seq();
        drop(sequencer);
        if let Some(table) = gone.and_then(|gone| before.tables.get(&gone)) {
            self.discard(manifest, table);
        }
        NewIndex { id, snapshot, from: Bytes::new(), seq, timestamp }
    }

    /// The indexes of a table that a bulk load leaves behind; an error if one of them had to allow it.
    pub(super) fn outdate_indexes(&self, version: &Version, base: TableId) -> Result<Vec<TableId>> {
        let mut outdated = Vec::new();
        for index in version.indexes_of(base) {
            let Some(descriptor) = &index.descriptor.index else { continue };
            if descriptor.unique && descriptor.state.is_kept() {
                let table = &version.table(base)?.descriptor.name;
                return Err(Error::Invalid(format!(
                    "table {table} has the unique index {}, which a bulk load cannot check; drop the index first",
                    index.descriptor.name
                )));
            }
            if descriptor.state.is_kept() {
                outdated.push(index.id);
            }
        }
        Ok(outdated)
    }

    /// Publishes files of a build: as old as the registration of the index. With the last ones the index is active; with others the
    /// manifest says how far it is.
    pub(super) fn publish_build(
        &self,
        index: TableId,
        dir: &str,
        done: Ingested,
        part: BuildPart,
    ) -> Result<IngestSummary> {
        self.check_writable()?;
        let (rows, cells) = (done.rows, done.cells);
        let mut manifest = self.manifest.lock();
        let version = self.version();
        let current = version.table(index)?;
        check_building(&current.descriptor)?;
        let BuildPart { seq, timestamp, from } = part;
        let runs_before = manifest.current().tables.iter().find(|table| table.id == index);
        let mut runs = runs_before.and_then(|table| table.building.as_ref()).map_or(0, |entry| entry.runs);
        // Newest first, as families keep their files; no row is in two of the runs, or it is the same in both.
        let mut files: Vec<(String, FinishedFile)> = Vec::new();
        for run in done.runs.into_iter().filter(|run| !run.is_empty()) {
            let seq = Seq(seq.0.saturating_sub(runs.min(BUILD_SEQS - 1)));
            runs += 1;
            for (family, mut file) in run {
                let meta = &mut file.meta;
                (meta.seq_min, meta.seq_max, meta.seq_override) = (seq, seq, Some(seq));
                files.push((family, file));
            }
        }
        let listed = self.list(current, dir, &files)?;
        files.iter_mut().for_each(|(_, file)| file.keep());
        manifest.change(|manifest| {
            self.note_progress(manifest);
            manifest.last_seq = manifest.last_seq.max(seq);
            match &from {
                Some(from) => {
                    let entry = BuildEntry { from: from.clone(), seq, timestamp, runs };
                    let known = manifest.tables.iter_mut().filter(|table| table.id == index);
                    known.for_each(|table| table.building = Some(entry.clone()));
                }
                None => manifest.set_index_state(index, IndexState::Active),
            }
            for (region, family, meta) in &listed {
                let entry = manifest.region_mut(*region).expect("regions change under the manifest's lock");
                entry.families.entry(family.clone()).or_default().push(meta.clone());
            }
        })?;
        let name: Arc<str> = current.descriptor.name.to_string().into();
        self.edit_version(|version| {
            for (region, family, meta) in &listed {
                version.edit_region(index, *region, |region| {
                    let open = self.store_file(&region.dir, family, &name, meta);
                    region.files.entry(family.clone()).or_default().push(open);
                });
            }
            if from.is_none() {
                set_state(version, index, IndexState::Active);
            }
        });
        manifest.is_in_memory();
        let size_bytes = files.iter().map(|(_, file)| file.meta.size_bytes).sum();
        self.metrics.ingested_bytes.fetch_add(size_bytes, Relaxed);
        self.upkeep.want_compaction();
        Ok(IngestSummary { rows, cells, files: files.len() as u64, size_bytes, seq })
    }
}
