// SPDX-License-Identifier: Apache-2.0
//! Bulk loads: rows go straight into store files ([`crate::ingest`]) and become part of the database all at
//! once.
//!
//! To publish, the order of commits is stopped and the load gets its sequence numbers, one for each sorted run
//! of files; the manifest names the files under these numbers, and then they become visible together with
//! them. The log is not involved: the files are durable before the manifest names them.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::columnar::ColumnBatch;
use basalt_model::{IndexState, Seq, TableId, WriteBatch};
use bytes::Bytes;

use super::indexes::{BuildPart, NewIndex, set_state};
use super::write::refuse_index;
use super::{Database, Shared};
use crate::compact::FILE_BYTES_MAX;
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::ingest::{IngestSpec, IngestWriter, Ingested};
use crate::manifest::FileMeta;
use crate::new_file::FinishedFile;
use crate::read::{self, Keep, WorkingMemory};
use crate::snapshot::read::access;
use crate::version::TableVersion;

/// Memory for rows that arrive out of order is this share of the database's memory, and at most this much.
const MEMORY_SHARE: u64 = 8;
const MEMORY_MAX: u64 = 256 << 20;
/// Row groups that are encoded get this share, of which each takes about so many bytes.
const GROUPS_SHARE: u64 = 4;
const GROUP_MEMORY: u64 = 24 << 20;

impl Database {
    /// Begins a bulk load into a table: no log, no memtable, bounded memory. Nothing is visible before
    /// [`Ingest::finish`], and nothing has happened if the load is dropped instead. Rows may come in any
    /// order; sorted ones are written as they come.
    pub fn ingest(&self, table: TableId) -> Result<Ingest> {
        let version = self.shared().version();
        refuse_index(&version.enabled_table(table)?.descriptor)?;
        self.shared().outdate_indexes(&version, table)?;
        self.begin_ingest(table, None)
    }

    /// A load whose rows are new, or that of an index's rows as they were at its registration.
    pub(super) fn begin_ingest(&self, table: TableId, build: Option<&NewIndex>) -> Result<Ingest> {
        let shared = self.shared();
        shared.check_writable()?;
        let version = shared.version();
        let found = version.table(table)?;
        let dir = &found.regions.first().expect("a table has a region").dir;
        let memory_bytes = (shared.options.memory_bytes / MEMORY_SHARE).min(MEMORY_MAX) as usize;
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let encoders = ((shared.options.memory_bytes / GROUPS_SHARE / GROUP_MEMORY) as usize).clamp(1, cores);
        let mut families = Vec::with_capacity(found.descriptor.families.len());
        for family in &found.descriptor.families {
            let schema = found.descriptor.schema.as_ref();
            let target = shared.files.target(dir, family, schema, false)?.encoded_by(encoders);
            families.push((family.name.clone(), target, family.delete_rule));
        }
        let spec = IngestSpec {
            env: shared.env.clone(),
            table,
            table_name: found.descriptor.name.clone(),
            cell_bytes_max: found.descriptor.cell_bytes_max().unwrap_or(shared.options.cell_bytes_max),
            families,
            timestamp_min: shared.commit.visible_timestamp(),
            timestamp_fixed: build.map(|build| build.timestamp),
            memory_bytes,
            file_bytes_max: FILE_BYTES_MAX,
            bounds: found.regions.iter().skip(1).map(|region| region.range.start.clone()).collect(),
        };
        let memory = shared.cache.work_with(memory_bytes as u64);
        let writer = IngestWriter::start(spec)?;
        Ok(Ingest {
            shared: Arc::clone(shared),
            table,
            dir: Arc::clone(dir),
            build: build.map(|build| BuildPart { seq: build.seq, timestamp: build.timestamp, from: None }),
            writer,
            _memory: memory,
        })
    }
}

/// A bulk load under way; see [`Database::ingest`].
pub struct Ingest {
    shared: Arc<Shared>,
    table: TableId,
    /// Where the files lie, whichever regions they are of.
    dir: Arc<str>,
    /// For the rows of an index.
    build: Option<BuildPart>,
    writer: IngestWriter,
    /// For rows that wait to be sorted.
    _memory: WorkingMemory,
}

/// What a bulk load has added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngestSummary {
    /// Row mutations.
    pub rows: u64,
    /// Cells written to files.
    pub cells: u64,
    /// Store files.
    pub files: u64,
    /// Their size in bytes.
    pub size_bytes: u64,
    /// The commit at which it became visible.
    pub seq: Seq,
}

impl Ingest {
    /// Adds rows of the table. Cells without a timestamp get the time of the load's beginning. An error may
    /// concern an earlier batch; after one the load is over.
    pub fn add(&mut self, batch: WriteBatch) -> Result<()> {
        self.writer.add(batch)
    }

    /// Adds rows of the table by column, which is faster where they are behind all that was added before and the family's encoding
    /// is COLUMNAR.
    pub fn add_columns(&mut self, batch: ColumnBatch) -> Result<()> {
        self.writer.add_columns(batch)
    }

    /// Makes everything that was added durable and visible, all at once.
    pub fn finish(self) -> Result<IngestSummary> {
        let timestamp = self.writer.timestamp();
        let done = self.writer.finish()?;
        match self.build {
            Some(build) => self.shared.publish_build(self.table, &self.dir, done, build),
            None => self.shared.publish_ingest(self.table, &self.dir, done, timestamp),
        }
    }
}

impl Ingest {
    /// As [`Ingest::finish`] for an index, of which this was a part: it has the rows of its table before `from` now, and
    /// [`Database::resume_index`] goes on there.
    pub fn finish_part(mut self, from: Bytes) -> Result<IngestSummary> {
        match &mut self.build {
            Some(build) => build.from = Some(from),
            None => return Err(Error::Invalid("only an index is built in parts".to_owned())),
        }
        self.finish()
    }
}

impl std::fmt::Debug for Ingest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Shared {
    /// Publishes a load. After an error nothing of it is visible.
    fn publish_ingest(
        &self,
        table: TableId,
        dir: &str,
        done: Ingested,
        timestamp: i64,
    ) -> Result<IngestSummary> {
        self.check_writable()?;
        let (rows, cells) = (done.rows, done.cells);
        let runs: Vec<_> = done.runs.into_iter().filter(|run| !run.is_empty()).collect();
        let run_count = runs.len() as u64;
        let mut manifest = self.manifest.lock();
        let version = self.version();
        let current = version.enabled_table(table)?;
        let sequencer = &mut self.commit.drain();
        self.check_open()?;
        if run_count == 0 {
            return Ok(IngestSummary { rows, cells, files: 0, size_bytes: 0, seq: self.commit.visible() });
        }
        let outdated = self.outdate_indexes(&version, table)?;
        let (first, last) = sequencer.take_seqs(run_count);
        let mut files: Vec<(String, FinishedFile)> = Vec::new();
        for (run, seq) in runs.into_iter().zip(first.0..) {
            for (family, mut file) in run {
                let meta = &mut file.meta;
                (meta.seq_min, meta.seq_max, meta.seq_override) = (Seq(seq), Seq(seq), Some(Seq(seq)));
                files.push((family, file));
            }
        }
        let name: Arc<str> = current.descriptor.name.to_string().into();
        let listed = self.check_families(current, &files).and_then(|()| self.list(current, dir, &files));
        let changed = listed.and_then(|listed| {
            files.iter_mut().for_each(|(_, file)| file.keep());
            manifest.change(|manifest| {
                self.note_progress(manifest);
                manifest.last_seq = last;
                manifest.last_timestamp = manifest.last_timestamp.max(timestamp);
                for (region, family, meta) in &listed {
                    let entry =
                        manifest.region_mut(*region).expect("regions change under the manifest's lock");
                    entry.families.entry(family.clone()).or_default().insert(0, meta.clone());
                }
                outdated.iter().for_each(|&index| manifest.set_index_state(index, IndexState::Outdated));
            })?;
            Ok(listed)
        });
        let listed = match changed {
            Ok(listed) => listed,
            Err(error) => {
                self.commit.abandon(sequencer, last);
                return Err(error);
            }
        };
        self.edit_version(|version| {
            for (region, family, meta) in &listed {
                version.edit_region(table, *region, |region| {
                    let open = self.store_file(&region.dir, family, &name, meta);
                    region.files.entry(family.clone()).or_default().insert(0, open);
                });
            }
            outdated.iter().for_each(|&index| set_state(version, index, IndexState::Outdated));
            // Under the version's lock, so that no snapshot sees the one without the other.
            self.commit.publish(sequencer, last, timestamp);
        });
        manifest.is_in_memory();
        let size_bytes = files.iter().map(|(_, file)| file.meta.size_bytes).sum();
        self.metrics.ingested_bytes.fetch_add(size_bytes, Relaxed);
        self.upkeep.want_compaction();
        Ok(IngestSummary { rows, cells, files: files.len() as u64, size_bytes, seq: last })
    }

    /// The files as the regions list them: whole, but where a region was split after the load began.
    pub(super) fn list(
        &self,
        table: &TableVersion,
        dir: &str,
        files: &[(String, FinishedFile)],
    ) -> Result<Vec<(RegionId, String, FileMeta)>> {
        let (access, name) = (access(self, Keep::Nothing), table.descriptor.name.to_string().into());
        let mut listed = Vec::with_capacity(files.len());
        for (family, file) in files {
            let file = self.store_file(dir, family, &name, &file.meta);
            for region in table.regions.iter().filter(|region| file.overlaps(&region.range)) {
                if let Some(meta) = read::part_of(&file, &region.range, &access)? {
                    let meta = if &*region.dir == dir { meta } else { meta.listed_from(dir) };
                    listed.push((region.id, family.clone(), meta));
                }
            }
        }
        Ok(listed)
    }

    /// A family may have been dropped while the load ran.
    fn check_families(&self, table: &TableVersion, files: &[(String, FinishedFile)]) -> Result<()> {
        let known = |name: &str| table.descriptor.families.iter().any(|family| family.name == name);
        match files.iter().find(|(family, _)| !known(family)) {
            Some((family, _)) => {
                Err(Error::NoSuchFamily { table: table.descriptor.name.clone(), family: family.clone() })
            }
            None => Ok(()),
        }
    }
}
