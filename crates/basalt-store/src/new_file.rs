// SPDX-License-Identifier: Apache-2.0
//! Store files in the making: created under a fresh id, written, made durable, and only then described by a
//! [`FileMeta`] that a manifest may name. A file that is dropped before that removes itself.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_hfile::columnar::ColumnBatch;
use basalt_hfile::{Background, BloomKind, Compression, Encoding, HFileWriter, WriterOptions};
use basalt_model::table::{BLOOM_ROW_PREFIX, ROW_PREFIX_LENGTH};
use basalt_model::{CellRef, FamilyDescriptor, ROW_LEN_MAX, Seq, TableSchema};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use crate::env::{Env, StorageFile, SyncKind};
use crate::error::{Error, Result};
use crate::ids::FileId;
use crate::layout;
use crate::manifest::FileMeta;
use crate::options::OpenOptions;
use crate::read::{BlockCache, WorkingMemory};
use crate::tags;

/// Bytes of a row group for each byte of the family's block size.
const COLUMNAR_FACTOR: u64 = 256;
/// What a row group takes for each byte of rows and values: places, timestamps, and what becomes of them.
const GROUP_FACTOR: u64 = 3;
/// Block size of families that have none of their own.
const DEFAULT_BLOCK_BYTES: u32 = 64 << 10;
/// Smallest block size that little memory leads to.
const BLOCK_BYTES_MIN: u32 = 1 << 10;
/// Memory of a file being written beside its blocks: what gathers for the disk, index and Bloom filter.
const WRITER_BYTES: u64 = 1 << 20;

/// Hands out file ids and makes directories; one per database.
#[derive(Debug)]
pub(crate) struct FileFactory {
    env: Env,
    root: PathBuf,
    next_file: AtomicU64,
    /// Bytes at which a row group ends, at most.
    group_bytes_max: u64,
    /// Of which the memory of files being written is taken; `None` where nobody counts.
    cache: Option<Arc<BlockCache>>,
    /// Directories that exist and whose names are durable.
    known_dirs: Mutex<HashSet<PathBuf>>,
    /// Whoever creates a file reads it meanwhile.
    is_closed: RwLock<bool>,
}

/// What a file being written sets aside at most, in bytes, if its family has the usual block size: a row group that gathers and one that is
/// encoded.
pub(crate) fn working_bytes_max(options: &OpenOptions) -> u64 {
    let block_bytes = (options.group_bytes_max() / COLUMNAR_FACTOR).min(DEFAULT_BLOCK_BYTES.into());
    (block_bytes * COLUMNAR_FACTOR * GROUP_FACTOR * 2).max(1)
}

/// Where the files of one family of one region go and how they are written.
#[derive(Debug, Clone)]
pub(crate) struct FamilyTarget {
    factory: Arc<FileFactory>,
    dir: PathBuf,
    options: WriterOptions,
    /// Row groups that are encoded at once.
    encoders: usize,
}

/// A store file being written.
pub(crate) struct NewFile {
    env: Env,
    id: FileId,
    path: PathBuf,
    /// `None` once finished or failed.
    writer: Option<HFileWriter<Box<dyn StorageFile>>>,
    created_ms: i64,
    own_ttls: tags::Ends,
    kept: bool,
    /// Taken until the file is written.
    memory: Option<WorkingMemory>,
}

/// A thread for each row group that is encoded while the next ones gather.
#[derive(Debug)]
struct EncodingThreads {
    env: Env,
    most: usize,
}

impl Background for EncodingThreads {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        // Without a thread the job is gone, which its writer notices.
        let _ = self.env.spawner.spawn("basalt-encode", job);
    }

    fn jobs(&self) -> usize {
        self.most
    }
}

impl FileFactory {
    /// Hands out ids from `next_file` on.
    pub(crate) fn new(env: Env, root: PathBuf, next_file: u64) -> Self {
        Self {
            env,
            root,
            next_file: AtomicU64::new(next_file),
            group_bytes_max: u64::MAX,
            cache: None,
            known_dirs: Mutex::default(),
            is_closed: RwLock::new(false),
        }
    }

    /// The same within a database's memory.
    pub(crate) fn within(self, options: &OpenOptions, cache: &Arc<BlockCache>) -> Self {
        Self { group_bytes_max: options.group_bytes_max(), cache: Some(Arc::clone(cache)), ..self }
    }

    /// No file has this id yet.
    pub(crate) fn next_file(&self) -> u64 {
        self.next_file.load(Ordering::Relaxed)
    }

    /// No file is created from now on: whoever opens the database next gives out the same ids.
    pub(crate) fn close(&self) {
        *self.is_closed.write() = true;
    }

    /// Permission to create a file, as long as the guard lives.
    pub(crate) fn creating(&self) -> Result<RwLockReadGuard<'_, bool>> {
        let is_closed = self.is_closed.read();
        if *is_closed { Err(Error::Closed) } else { Ok(is_closed) }
    }

    /// An id that no other file gets.
    pub(crate) fn take_id(&self) -> FileId {
        FileId(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// The place for files of `family` in the region at `region_dir`, of a table of this schema. `with_tags` if a
    /// cell may have tags.
    pub(crate) fn target(
        self: &Arc<Self>,
        region_dir: &str,
        family: &FamilyDescriptor,
        schema: Option<&TableSchema>,
        with_tags: bool,
    ) -> Result<FamilyTarget> {
        let dir = layout::family_dir(&self.root, region_dir, &family.name);
        self.make_dir(&dir)?;
        let layout = schema.map(|schema| Arc::new(schema.family_layout(&family.name)));
        let mut options = WriterOptions { with_tags, layout, ..writer_options(family)? };
        if options.encoding == Encoding::Columnar {
            let block_bytes = u32::try_from(self.group_bytes_max / COLUMNAR_FACTOR).unwrap_or(u32::MAX);
            options.block_bytes = options.block_bytes.min(block_bytes.max(BLOCK_BYTES_MIN));
        }
        Ok(FamilyTarget { factory: Arc::clone(self), dir, options, encoders: 1 })
    }

    /// Creates a directory and makes its name durable, and those of the directories above it.
    pub(crate) fn make_dir(&self, dir: &Path) -> Result<()> {
        let mut known = self.known_dirs.lock();
        if known.contains(dir) {
            return Ok(());
        }
        self.env.storage.create_dir(dir).map_err(Error::io("create", dir))?;
        for parent in dir.ancestors().skip(1).take_while(|parent| parent.starts_with(&self.root)) {
            self.env.storage.sync_dir(parent).map_err(Error::io("sync", parent))?;
        }
        known.insert(dir.to_owned());
        Ok(())
    }
}

/// The options of a family's files, or what is wrong with its attributes.
pub(crate) fn writer_options(family: &FamilyDescriptor) -> Result<WriterOptions> {
    let unknown = |attribute: &str, value: &str| {
        Error::Invalid(format!("family {:?} has {attribute} {value:?}, which is not known", family.name))
    };
    Ok(WriterOptions {
        encoding: Encoding::from_name(&family.encoding)
            .ok_or_else(|| unknown("DATA_BLOCK_ENCODING", &family.encoding))?,
        compression: Compression::from_name(&family.compression)
            .ok_or_else(|| unknown("COMPRESSION", &family.compression))?,
        bloom: bloom_kind(family)?,
        block_bytes: family.block_bytes,
        ..WriterOptions::default()
    })
}

fn bloom_kind(family: &FamilyDescriptor) -> Result<BloomKind> {
    let FamilyDescriptor { name, bloom, attributes, .. } = family;
    if bloom != BLOOM_ROW_PREFIX {
        let unknown =
            || Error::Invalid(format!("family {name:?} has BLOOMFILTER {bloom:?}, which is not known"));
        return BloomKind::from_name(bloom).ok_or_else(unknown);
    }
    let given = attributes.get(ROW_PREFIX_LENGTH);
    match given.and_then(|len| len.trim().parse().ok()).filter(|len| (1..=ROW_LEN_MAX as u32).contains(len)) {
        Some(len) => Ok(BloomKind::RowPrefix(len)),
        None => Err(Error::Invalid(format!(
            "family {name:?} has BLOOMFILTER {bloom}, which needs the attribute {ROW_PREFIX_LENGTH}, a number of bytes from 1 to {ROW_LEN_MAX}; \
             found {}",
            given.map_or("none", String::as_str)
        ))),
    }
}

impl FamilyTarget {
    /// What a file takes of memory while it is written: the row group that gathers and those that are encoded, or a few
    /// blocks.
    fn memory_bytes(&self) -> u64 {
        let block_bytes = u64::from(self.options.block_bytes);
        match self.options.encoding {
            Encoding::Columnar => block_bytes * COLUMNAR_FACTOR * GROUP_FACTOR * (1 + self.encoders as u64),
            _ => block_bytes * 4 + WRITER_BYTES,
        }
    }

    /// Begins a file. `with_seq` stores the sequence number of every cell.
    pub(crate) fn create(&self, with_seq: bool) -> Result<NewFile> {
        let env = self.factory.env.clone();
        let id = self.factory.take_id();
        let path = self.dir.join(id.to_string());
        let created_ms = env.now_ms();
        let (create_time_ms, file_number) = (created_ms, id.0);
        let options = WriterOptions { create_time_ms, file_number, with_seq, ..self.options.clone() };
        let creating = self.factory.creating()?;
        let file = env.storage.create(&path).map_err(Error::io("create", &path))?;
        drop(creating);
        let memory = self.factory.cache.as_ref().map(|cache| cache.work_with(self.memory_bytes()));
        let mut new = NewFile {
            env,
            id,
            path,
            writer: None,
            created_ms,
            own_ttls: tags::Ends::new(created_ms),
            kept: false,
            memory,
        };
        let mut writer = HFileWriter::new(file, options).map_err(|error| new.explain(error))?;
        writer.encode_in(Arc::new(EncodingThreads { env: new.env.clone(), most: self.encoders }));
        new.writer = Some(writer);
        Ok(new)
    }

    /// The same place, for a writer that so many threads encode row groups for.
    pub(crate) fn encoded_by(self, threads: usize) -> Self {
        Self { encoders: threads, ..self }
    }

    /// The same place for files whose cells may have tags.
    pub(crate) fn with_tags(mut self) -> Self {
        self.options.with_tags = true;
        self
    }

    /// Makes the names of the finished files durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.factory.env.storage.sync_dir(&self.dir).map_err(Error::io("sync", &self.dir))
    }
}

impl NewFile {
    /// Appends a cell that does not sort before the last one.
    #[inline]
    pub(crate) fn append(&mut self, cell: CellRef<'_>) -> Result<()> {
        if !cell.tags.is_empty() {
            self.own_ttls.add(&cell);
        }
        let writer = self.writer.as_mut().expect("a finished file is consumed");
        writer.append(cell).map_err(|error| self.explain(error))
    }

    /// Appends rows by column.
    pub(crate) fn append_columns(&mut self, batch: &ColumnBatch) -> Result<()> {
        let writer = self.writer.as_mut().expect("a finished file is consumed");
        writer.append_columns(batch).map_err(|error| self.explain(error))
    }

    /// Bytes written so far, about.
    pub(crate) fn size_so_far(&self) -> u64 {
        self.writer.as_ref().map_or(0, HFileWriter::size_so_far)
    }

    /// Completes the file and makes its bytes durable; its cells come from the commits `seq_min` to
    /// `seq_max`. Its name is not durable before [`FamilyTarget::sync`].
    pub(crate) fn finish(mut self, seq_min: Seq, seq_max: Seq) -> Result<FinishedFile> {
        let writer = self.writer.take().expect("a finished file is consumed");
        let (summary, mut file) = writer.finish_into().map_err(|error| self.explain(error))?;
        file.sync(SyncKind::All).map_err(Error::io("sync", &self.path))?;
        self.memory = None;
        assert!(summary.cells > 0, "files without cells are not written");
        let meta = FileMeta {
            id: self.id,
            size_bytes: summary.size_bytes,
            cells: summary.cells,
            rows: summary.rows,
            deletes: summary.deletes,
            raw_bytes: summary.raw_bytes,
            first_row: summary.first_row,
            last_row: summary.last_row,
            timestamp_min: summary.timestamp_min,
            timestamp_max: summary.timestamp_max,
            seq_min,
            seq_max,
            own_ttl: self.own_ttls.of_file(summary.cells),
            seq_override: None,
            created_ms: self.created_ms,
            dir: None,
            part: None,
        };
        Ok(FinishedFile { meta, file: self })
    }

    fn explain(&self, error: basalt_hfile::Error) -> Error {
        match error {
            basalt_hfile::Error::Io { source, .. } => Error::io("write", &self.path)(source),
            other => Error::Invalid(format!("cannot write {}: {other}", self.path.display())),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.kept {
            // Best effort: an orphan is removed by the next opening.
            let _ = self.env.storage.remove(&self.path);
        }
    }
}

/// A complete store file that no manifest names yet. Dropping it removes it.
pub(crate) struct FinishedFile {
    pub(crate) meta: FileMeta,
    file: NewFile,
}

impl FinishedFile {
    #[cfg(test)]
    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// A manifest that names the file is being written: from now on it must not be removed.
    pub(crate) fn keep(&mut self) {
        self.file.kept = true;
    }
}
