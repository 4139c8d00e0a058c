// SPDX-License-Identifier: Apache-2.0
//! Bulk loads: rows go straight into store files ([`crate::ingest`]) and become part of the database all at
//! once.
//!
//! To publish, the order of commits is stopped and the load gets its sequence numbers, one for each sorted run
//! of files; the manifest names the files under these numbers, and then they become visible together with
//! them. The log is not involved: the files are durable before the manifest names them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::{Seq, TableId, WriteBatch};

use super::{Database, Shared};
use crate::compact::FILE_BYTES_MAX;
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::ingest::{IngestSpec, IngestWriter, Ingested};
use crate::manifest::FileMeta;
use crate::new_file::FinishedFile;

/// Memory for rows that arrive out of order is this share of the database's memory, and at most this much.
const MEMORY_SHARE: u64 = 8;
const MEMORY_MAX: u64 = 256 << 20;

impl Database {
    /// Begins a bulk load into a table: no log, no memtable, bounded memory. Nothing is visible before
    /// [`Ingest::finish`], and nothing has happened if the load is dropped instead. Rows may come in any
    /// order; sorted ones are written as they come.
    pub fn ingest(&self, table: TableId) -> Result<Ingest> {
        let shared = self.shared();
        shared.check_writable()?;
        let version = shared.version();
        let found = version.table(table)?;
        let [region] = &found.regions[..] else {
            // Files would have to be cut at the bounds of regions; nothing makes a second one yet.
            return Err(Error::Invalid(format!("table {} has several regions", found.descriptor.name)));
        };
        let mut families = Vec::with_capacity(found.descriptor.families.len());
        for family in &found.descriptor.families {
            families.push((family.name.clone(), {
                let schema = found.descriptor.schema.as_ref();
                shared.files.target(&region.dir, family, schema, false)?
            }));
        }
        let spec = IngestSpec {
            env: shared.env.clone(),
            table,
            table_name: found.descriptor.name.to_string(),
            families,
            timestamp_min: shared.commit.visible_timestamp(),
            memory_bytes: (shared.options.memory_bytes / MEMORY_SHARE).min(MEMORY_MAX) as usize,
            file_bytes_max: FILE_BYTES_MAX,
        };
        let writer = IngestWriter::start(spec)?;
        Ok(Ingest { shared: Arc::clone(shared), table, region: region.id, writer })
    }
}

/// A bulk load under way; see [`Database::ingest`].
pub struct Ingest {
    shared: Arc<Shared>,
    table: TableId,
    region: RegionId,
    writer: IngestWriter,
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

    /// Makes everything that was added durable and visible, all at once.
    pub fn finish(self) -> Result<IngestSummary> {
        let timestamp = self.writer.timestamp();
        let done = self.writer.finish()?;
        self.shared.publish_ingest(self.table, self.region, done, timestamp)
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
        region: RegionId,
        done: Ingested,
        timestamp: i64,
    ) -> Result<IngestSummary> {
        self.check_writable()?;
        let (rows, cells) = (done.rows, done.cells);
        let runs: Vec<_> = done.runs.into_iter().filter(|run| !run.is_empty()).collect();
        let run_count = runs.len() as u64;
        let mut manifest = self.manifest.lock();
        let version = self.version();
        let current = version.table(table)?;
        let sequencer = &mut self.commit.drain();
        self.check_open()?;
        if run_count == 0 {
            return Ok(IngestSummary { rows, cells, files: 0, size_bytes: 0, seq: self.commit.visible() });
        }
        let (first, last) = sequencer.take_seqs(run_count);
        let mut files: Vec<(String, FinishedFile)> = Vec::new();
        for (run, seq) in runs.into_iter().zip(first.0..) {
            for (family, mut file) in run {
                let meta = &mut file.meta;
                (meta.seq_min, meta.seq_max, meta.seq_override) = (Seq(seq), Seq(seq), Some(Seq(seq)));
                file.keep();
                files.push((family, file));
            }
        }
        let changed = self.check_families(current, &files).and_then(|()| {
            manifest.change(|manifest| {
                self.note_progress(manifest);
                manifest.last_seq = last;
                manifest.last_timestamp = manifest.last_timestamp.max(timestamp);
                let entry = manifest.region_mut(region).expect("regions change under the manifest's lock");
                for (family, file) in &files {
                    entry.families.entry(family.clone()).or_default().insert(0, file.meta.clone());
                }
            })
        });
        if let Err(error) = changed {
            self.commit.abandon(sequencer, last);
            return Err(error);
        }
        let name: Arc<str> = current.descriptor.name.to_string().into();
        self.edit_version(|version| {
            version.edit_region(table, region, |region| {
                for (family, file) in &files {
                    let meta: &FileMeta = &file.meta;
                    let open = self.store_file(file.path().to_owned(), &name, meta);
                    region.files.entry(family.clone()).or_default().insert(0, open);
                }
            });
            // Under the version's lock, so that no snapshot sees the one without the other.
            self.commit.publish(sequencer, last, timestamp);
        });
        let size_bytes = files.iter().map(|(_, file)| file.meta.size_bytes).sum();
        self.metrics.ingested_bytes.fetch_add(size_bytes, Relaxed);
        self.upkeep.want_compaction();
        Ok(IngestSummary { rows, cells, files: files.len() as u64, size_bytes, seq: last })
    }

    /// A family may have been dropped while the load ran.
    fn check_families(
        &self,
        table: &crate::version::TableVersion,
        files: &[(String, FinishedFile)],
    ) -> Result<()> {
        let known = |name: &str| table.descriptor.families.iter().any(|family| family.name == name);
        match files.iter().find(|(family, _)| !known(family)) {
            Some((family, _)) => {
                Err(Error::NoSuchFamily { table: table.descriptor.name.clone(), family: family.clone() })
            }
            None => Ok(()),
        }
    }
}
