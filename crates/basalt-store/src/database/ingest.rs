// SPDX-License-Identifier: Apache-2.0
//! Makes the files of a bulk load part of the database, all at once.
//!
//! With the order of commits stopped, the load gets one sequence number; the manifest names its files under
//! that number, and then they become visible together with it. The log is not involved: the files are
//! durable before the manifest names them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::{Seq, TableId};

use super::Shared;
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::manifest::FileMeta;
use crate::new_file::FinishedFile;

/// A finished file of a load, and where it belongs.
pub(crate) struct IngestedFile {
    pub(crate) region: RegionId,
    pub(crate) family: String,
    pub(crate) file: FinishedFile,
}

impl Shared {
    /// Publishes a load. After an error nothing of it is visible.
    pub(crate) fn publish_ingest(&self, table: TableId, mut files: Vec<IngestedFile>) -> Result<Seq> {
        self.check_writable()?;
        if files.is_empty() {
            return Ok(self.commit.visible());
        }
        let mut manifest = self.manifest.lock();
        let version = self.version();
        let current = version.table(table)?;
        if let Some(gone) = files.iter().find(|file| !current.descriptor.families.iter().any(|f| f.name == file.family)) {
            let (table, family) = (current.descriptor.name.clone(), gone.family.clone());
            return Err(Error::NoSuchFamily { table, family });
        }
        let mut sequencer = self.commit.drain();
        self.check_open()?;
        let seq = sequencer.take_seq();
        for file in &mut files {
            let meta = &mut file.file.meta;
            (meta.seq_min, meta.seq_max, meta.seq_override) = (seq, seq, Some(seq));
            file.file.keep();
        }
        let changed = manifest.change(|manifest| {
            self.note_progress(manifest);
            manifest.last_seq = seq;
            for file in &files {
                let entry = manifest.region_mut(file.region).expect("regions change under the manifest's lock");
                entry.families.entry(file.family.clone()).or_default().insert(0, file.file.meta.clone());
            }
        });
        if let Err(error) = changed {
            self.commit.abandon(&sequencer, seq);
            return Err(error);
        }
        let name: Arc<str> = current.descriptor.name.to_string().into();
        self.edit_version(|version| {
            for file in &files {
                let (path, meta): (_, &FileMeta) = (file.file.path().to_owned(), &file.file.meta);
                version.edit_region(table, file.region, |region| {
                    let open = self.store_file(path, &name, meta);
                    region.files.entry(file.family.clone()).or_default().insert(0, open);
                });
            }
            // Under the version's lock, so that no snapshot sees the one without the other.
            self.commit.publish(&sequencer, seq);
        });
        let bytes: u64 = files.iter().map(|file| file.file.meta.size_bytes).sum();
        self.metrics.ingested_bytes.fetch_add(bytes, Relaxed);
        drop((sequencer, manifest));
        self.upkeep.want_compaction();
        Ok(seq)
    }
}
