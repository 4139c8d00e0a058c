// SPDX-License-Identifier: Apache-2.0
//! Snapshots on their way from one database to another: a directory of plain files.
//!
//! ```text
//! SNAPSHOT                     what the snapshot is, written last: without it the directory is of no use
//! <family>/<20 digits>         its store files, under the numbers that they had
//! ```
//!
//! `SNAPSHOT` is text like a manifest: `basalt snapshot 1 <bytes> <CRC-32C>`, then JSON. An import gives the files new numbers, and
//! raises the number of the next commit above all that the files hold: commits of another database come before ours.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_hfile::{HFileReader, ReadOptions};
use basalt_model::Seq;

use super::{check_free, check_name, listings};
use crate::database::{Database, Shared};
use crate::env::{Env, SyncKind};
use crate::error::{Error, Result};
use crate::ids::{FileId, RegionId};
use crate::layout;
use crate::manifest::{FileMeta, Manifest, SnapshotEntry, document};

const DOCUMENT: &str = "SNAPSHOT";
const MAGIC: &str = "basalt snapshot";
/// The format written, and the newest that is read.
const FORMAT: u32 = 1;
/// Bytes that are copied at a time.
const CHUNK_BYTES: u64 = 4 << 20;
/// No database comes this far; a document that says so is not one of ours.
const SEQ_MAX: u64 = 1 << 62;

impl Database {
    /// Copies a snapshot into a directory, which must be new or empty; the snapshot may be dropped meanwhile.
    pub fn export_snapshot(&self, name: &str, to: &Path) -> Result<()> {
        let shared = self.shared();
        shared.check_open()?;
        let (snapshot, files) = shared.hold_snapshot(name)?;
        let storage = &shared.env.storage;
        storage.create_dir(to).map_err(Error::io("create", to))?;
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        storage.sync_dir(parent).map_err(Error::io("sync", parent))?;
        if !storage.list(to).map_err(Error::io("list", to))?.is_empty() {
            return Err(Error::Invalid(format!(
                "cannot export to {}: expected an empty directory",
                to.display()
            )));
        }
        for (family, file) in &files {
            let dir = layout::family_dir(to, "", family);
            storage.create_dir(&dir).map_err(Error::io("create", &dir))?;
            copy(&shared.env, file.path(), &dir.join(file.meta().id.to_string()))?;
        }
        for (family, _) in &files {
            let dir = layout::family_dir(to, "", family);
            storage.sync_dir(&dir).map_err(Error::io("sync", &dir))?;
        }
        write_document(&shared.env, to, &snapshot)
    }

    /// Adds the snapshot in a directory that [`Database::export_snapshot`] wrote, under its name or another. Every byte is
    /// verified.
    pub fn import_snapshot(&self, from: &Path, name: Option<&str>) -> Result<String> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut snapshot = read_document(&shared.env, from)?;
        if let Some(name) = name {
            snapshot.name = name.to_owned();
        }
        check_name(&snapshot.name)?;
        check_free(&shared.manifest.lock(), &snapshot.name)?;
        let first_region = shared.take_regions(snapshot.regions.len() as u64)?;
        let copies = shared.copy_files(from, &mut snapshot, first_region)?;
        shared.enter_import(snapshot, copies)
    }
}

/// Files that were copied and that no manifest names yet.
struct Copies {
    env: Env,
    paths: Vec<PathBuf>,
    kept: bool,
}

impl Drop for Copies {
    fn drop(&mut self) {
        if !self.kept {
            // Best effort: orphans are removed by the next opening.
            self.paths.iter().for_each(|path| drop(self.env.storage.remove(path)));
        }
    }
}

type HeldFile = (String, Arc<crate::read::StoreFile>);

impl Shared {
    /// A snapshot and its files, which stay as long as they are held.
    fn hold_snapshot(&self, name: &str) -> Result<(SnapshotEntry, Vec<HeldFile>)> {
        let manifest = self.manifest.lock();
        let found = manifest.current().snapshot(name);
        let snapshot = found.ok_or_else(|| Error::NoSuchSnapshot { name: name.to_owned() })?;
        let table: Arc<str> = snapshot.descriptor.name.to_string().into();
        let mut files = BTreeMap::new();
        for listing in listings(snapshot) {
            let file = self.store_file(&listing.region.dir, listing.family, &table, listing.meta);
            files.insert(listing.meta.id, (listing.family.to_owned(), file));
        }
        Ok((snapshot.clone(), files.into_values().collect()))
    }

    /// Region numbers that nobody else gets; the first of them.
    fn take_regions(&self, count: u64) -> Result<u64> {
        let mut manifest = self.manifest.lock();
        let first = manifest.current().next_region;
        manifest.change_alone(|manifest| manifest.next_region += count)?;
        Ok(first)
    }

    /// Copies the files of a snapshot and lets it name the copies.
    fn copy_files(&self, from: &Path, snapshot: &mut SnapshotEntry, first_region: u64) -> Result<Copies> {
        let mut copies = Copies { env: self.env.clone(), paths: Vec::new(), kept: false };
        let mut known: HashMap<FileId, (FileId, String)> = HashMap::new();
        for (id, region) in (first_region..).map(RegionId).zip(&mut snapshot.regions) {
            region.id = id;
            region.dir = layout::region_dir(&snapshot.descriptor.name, id);
            for (family, metas) in &mut region.families {
                for meta in metas {
                    let (new, dir) = match known.get(&meta.id) {
                        Some(copied) => copied.clone(),
                        None => (
                            self.copy_file(from, &region.dir, family, meta, &mut copies)?,
                            region.dir.clone(),
                        ),
                    };
                    known.insert(meta.id, (new, dir.clone()));
                    (meta.id, meta.dir) = (new, Some(dir));
                    if let Some(part) = &mut meta.part {
                        part.whole.id = new;
                    }
                }
            }
        }
        Ok(copies)
    }

    /// Copies one file into the directory of a region, under a number of its own.
    fn copy_file(
        &self,
        from: &Path,
        region_dir: &str,
        family: &str,
        meta: &FileMeta,
        copies: &mut Copies,
    ) -> Result<FileId> {
        let source = layout::family_dir(from, "", family).join(meta.id.to_string());
        verify(&self.env, &source, meta.whole())?;
        let dir = layout::family_dir(&self.root, region_dir, family);
        self.files.make_dir(&dir)?;
        let id = self.files.take_id();
        let path = dir.join(id.to_string());
        let _creating = self.files.creating()?;
        copies.paths.push(path.clone());
        copy(&self.env, &source, &path)?;
        self.env.storage.sync_dir(&dir).map_err(Error::io("sync", &dir))?;
        Ok(id)
    }

    fn enter_import(&self, snapshot: SnapshotEntry, mut copies: Copies) -> Result<String> {
        let mut manifest = self.manifest.lock();
        check_free(&manifest, &snapshot.name)?;
        let newest = listings(&snapshot).map(|listing| listing.meta.seq_max).max().unwrap_or_default();
        let sequencer = &mut self.commit.drain();
        let behind = newest.0.saturating_sub(sequencer.last_seq().0);
        let taken = (behind > 0).then(|| sequencer.take_seqs(behind).1);
        let name = snapshot.name.clone();
        copies.kept = true;
        let changed = manifest.change_alone(|manifest: &mut Manifest| {
            self.note_progress(manifest);
            manifest.last_seq = manifest.last_seq.max(newest);
            manifest.snapshots.push(snapshot);
        });
        match (changed, taken) {
            (Ok(()), Some(last)) => self.commit.publish(sequencer, last, self.commit.visible_timestamp()),
            (Err(error), Some(last)) => {
                self.commit.abandon(sequencer, last);
                return Err(error);
            }
            (changed, None) => changed?,
        }
        Ok(name)
    }
}

fn write_document(env: &Env, dir: &Path, snapshot: &SnapshotEntry) -> Result<()> {
    let temporary = dir.join(format!("{DOCUMENT}.tmp"));
    let path = dir.join(DOCUMENT);
    let mut file = env.storage.create(&temporary).map_err(Error::io("create", &temporary))?;
    file.append(&document::encode(MAGIC, FORMAT, snapshot)).map_err(Error::io("write", &temporary))?;
    file.sync(SyncKind::All).map_err(Error::io("sync", &temporary))?;
    env.storage.rename(&temporary, &path).map_err(Error::io("rename", &temporary))?;
    env.storage.sync_dir(dir).map_err(Error::io("sync", dir))
}

fn read_document(env: &Env, dir: &Path) -> Result<SnapshotEntry> {
    let path = dir.join(DOCUMENT);
    let file = env.storage.open(&path).map_err(Error::io("open", &path))?;
    let bytes = file.read_at(0, file.size() as usize).map_err(Error::io("read", &path))?;
    let (snapshot, json_at): (SnapshotEntry, _) = document::decode(MAGIC, FORMAT, &bytes, &path)?;
    let newest = listings(&snapshot).map(|listing| listing.meta.seq_max).max();
    if newest > Some(Seq(SEQ_MAX)) {
        return Err(Error::corrupt(&path, json_at, format!("it names a commit above {SEQ_MAX}")));
    }
    Ok(snapshot)
}

/// An error unless the file is what the snapshot says, byte for byte.
fn verify(env: &Env, path: &Path, meta: &FileMeta) -> Result<()> {
    let file = env.storage.open(path).map_err(Error::io("open", path))?;
    let options = ReadOptions { seq_override: meta.seq_override, ..ReadOptions::default() };
    let opened = HFileReader::open(file, options);
    let reader = opened.map_err(|error| match error {
        basalt_hfile::Error::Io { source, .. } => Error::io("read", path)(source),
        other => Error::corrupt(path, 0, other.to_string()),
    })?;
    if (reader.cells(), reader.size_bytes()) != (meta.cells, meta.size_bytes) {
        let what = format!(
            "the snapshot gives it {} cells in {} bytes, it has {} in {}",
            meta.cells,
            meta.size_bytes,
            reader.cells(),
            reader.size_bytes()
        );
        return Err(Error::corrupt(path, 0, what));
    }
    let mut found = None;
    reader.verify(&mut |finding| {
        found.get_or_insert(finding);
    });
    match found {
        None => Ok(()),
        Some(finding) if finding.is_unread => Err(Error::io("read", path)(io::Error::other(finding.what))),
        Some(finding) => Err(Error::corrupt(path, finding.offset.unwrap_or(0), finding.what)),
    }
}

/// Copies a file and makes its bytes durable, not its name.
fn copy(env: &Env, from: &Path, to: &Path) -> Result<()> {
    let source = env.storage.open(from).map_err(Error::io("open", from))?;
    let mut target = env.storage.create(to).map_err(Error::io("create", to))?;
    let mut at = 0;
    while at < source.size() {
        let len = (source.size() - at).min(CHUNK_BYTES);
        let bytes = source.read_at(at, len as usize).map_err(Error::io("read", from))?;
        target.append(&bytes).map_err(Error::io("write", to))?;
        at += len;
    }
    target.sync(SyncKind::All).map_err(Error::io("sync", to))
}
