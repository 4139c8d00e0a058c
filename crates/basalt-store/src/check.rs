// SPDX-License-Identifier: Apache-2.0
//! Verifies a database that nobody has open for writing: every manifest, every frame of the log, every block of
//! every store file. Changes nothing.
//!
//! A *damage* is a byte that is not what was written, or a file that is missing. A *note* is something that the
//! next opening cleans up by itself: a torn tail, files of work that never counted.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_hfile::{HFileReader, ReadOptions, VerifyFinding};
use basalt_model::{KeyRange, TableId};
use bytes::Bytes;

use crate::env::{Env, LockError, LockMode};
use crate::error::{Corruption, Error, Result};
use crate::layout;
use crate::manifest::store::{self, Found};
use crate::manifest::{Listing, Manifest};
use crate::wal::recover::{LogReader, Replay};
use crate::workers::Workers;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Cleaned up by the next opening.
    Note,
    /// Data is lost or wrong.
    Damage,
}

/// Something found by [`check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub file: PathBuf,
    /// Where in the file, if it is one place.
    pub offset: Option<u64>,
    /// The table whose data it is, if that can be told.
    pub table: Option<String>,
    /// The rows that it may concern, if that can be told.
    pub range: Option<KeyRange>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, table, range, what, .. } = self.clone();
        match self.offset {
            Some(offset) => Corruption { file, offset, table, range, what }.fmt(f),
            None => {
                write!(f, "{}", self.file.display())?;
                if let Some(table) = table {
                    write!(f, " (table {table})")?;
                }
                write!(f, ": {what}")
            }
        }
    }
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// Manifests read.
    pub manifests: u64,
    /// Tables in the newest.
    pub tables: u64,
    /// Segments of the log.
    pub wal_segments: u64,
    /// Frames in them.
    pub wal_frames: u64,
    /// Snapshots of tables in it.
    pub snapshots: u64,
    /// Store files verified, each once, whoever lists it.
    pub files: u64,
    /// Their size in bytes.
    pub file_bytes: u64,
    /// Their cells.
    pub cells: u64,
    /// Findings that are damage.
    pub damages: u64,
    /// Findings that are notes.
    pub notes: u64,
}

/// Verifies the database at `path`; `report` gets every finding as it is made. An error means that it could not
/// be checked at all: it is no database, or somebody has it open for writing.
pub fn check(path: &Path, env: &Env, report: &mut dyn FnMut(Finding)) -> Result<CheckReport> {
    let lock_path = path.join(layout::LOCK);
    let _lock = match env.storage.lock(&lock_path, LockMode::Shared) {
        Ok(lock) => Some(lock),
        Err(LockError::Held(holder)) => return Err(Error::Locked { path: path.to_owned(), holder }),
        Err(LockError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(LockError::Io(error)) => return Err(Error::io("lock", &lock_path)(error)),
    };
    let mut check = Check { env, root: path, report, done: CheckReport::default() };
    match store::find(env, path) {
        Ok(Found::Empty) => {
            Err(Error::NotADatabase { path: path.to_owned(), found: "it is missing or empty" })
        }
        Ok(Found::Manifest { manifest, numbers, damaged }) => {
            check.manifests(&numbers, damaged);
            check.log(&manifest)?;
            check.files(&manifest);
            check.orphans(&manifest);
            Ok(check.done)
        }
        // No manifest is readable: the files cannot be told apart, but this is a finding, not a failure.
        Err(Error::Corrupt(corruption)) => {
            check.corruption((*corruption).clone());
            Ok(check.done)
        }
        Err(error) => Err(error),
    }
}

struct Check<'a> {
    env: &'a Env,
    root: &'a Path,
    report: &'a mut dyn FnMut(Finding),
    done: CheckReport,
}

impl Check<'_> {
    fn finding(&mut self, finding: Finding) {
        match finding.severity {
            Severity::Note => self.done.notes += 1,
            Severity::Damage => self.done.damages += 1,
        }
        (self.report)(finding);
    }

    fn note(&mut self, file: PathBuf, offset: Option<u64>, what: impl Into<String>) {
        let (severity, table, range) = (Severity::Note, None, None);
        self.finding(Finding { severity, file, offset, table, range, what: what.into() });
    }

    fn corruption(&mut self, found: Corruption) {
        let Corruption { file, offset, table, range, what } = found;
        self.finding(Finding { severity: Severity::Damage, file, offset: Some(offset), table, range, what });
    }

    /// An error about one file, as a finding.
    fn error(&mut self, file: &Path, table: Option<&str>, error: &Error) {
        if let Error::Corrupt(corruption) = error {
            return self.corruption((**corruption).clone());
        }
        let cause = std::error::Error::source(error).map_or(String::new(), |cause| format!(": {cause}"));
        let (severity, table) = (Severity::Damage, table.map(str::to_owned));
        let what = format!("{error}{cause}");
        self.finding(Finding { severity, file: file.to_owned(), offset: None, table, range: None, what });
    }

    fn manifests(&mut self, numbers: &[u64], damaged: Vec<Error>) {
        self.done.manifests = numbers.len() as u64;
        let newest_damaged = damaged.len();
        for error in &damaged {
            self.error(self.root, None, error);
        }
        // The one in force is valid; those before it are kept for people, and checked for them.
        for &number in numbers.iter().rev().skip(newest_damaged + 1) {
            let path = self.root.join(layout::manifest_name(number));
            if let Err(error) = store::read(self.env, &path) {
                self.error(&path, None, &error);
            }
        }
    }

    fn log(&mut self, manifest: &Manifest) -> Result<()> {
        self.done.tables = manifest.tables.len() as u64;
        let reader = LogReader {
            env: self.env,
            root: self.root,
            log_id: manifest.log_id,
            first_segment: manifest.first_segment,
            skip_damage: true,
            table_name: &|id| table_name(manifest, id),
            workers: &Workers::on_all_cores(self.env.clone()),
        };
        // That the sections check out is all there is to see.
        let found = reader.read(Replay { prepare: Arc::new(|_, _| ()), apply: &mut |(), _| Ok(()) })?;
        (self.done.wal_segments, self.done.wal_frames) = (found.segments.len() as u64, found.frames);
        for corruption in found.damage {
            self.corruption(corruption);
        }
        if let Some(torn) = found.torn.filter(|torn| !torn.blank) {
            let offset = Some(torn.offset);
            self.note(
                torn.path,
                offset,
                "the log ends in a torn write, which no acknowledged write is behind",
            );
        }
        for segment in found.useless {
            self.note(layout::segment_path(self.root, segment), None, "the segment is not needed any more");
        }
        Ok(())
    }

    fn files(&mut self, manifest: &Manifest) {
        self.done.snapshots = manifest.snapshots.len() as u64;
        let mut seen = HashSet::new();
        for listing in manifest.listings() {
            // Several regions, and snapshots, may list one file.
            if !seen.insert(listing.meta.id) {
                continue;
            }
            let path = listing.path(self.root);
            let place = FilePlace { path, table: listing.descriptor.name.to_string(), listing };
            let meta = listing.meta.whole();
            self.done.files += 1;
            self.done.file_bytes += meta.size_bytes;
            if let Err(error) = self.file(&place) {
                self.error(&place.path.clone(), Some(&place.table), &error);
            }
        }
    }

    fn file(&mut self, place: &FilePlace<'_>) -> Result<()> {
        let file = self.env.storage.open(&place.path).map_err(Error::io("open", &place.path))?;
        let options = ReadOptions { seq_override: place.listing.meta.seq_override, ..ReadOptions::default() };
        let reader = match HFileReader::open(file, options) {
            Ok(reader) => reader,
            Err(error) => {
                let finding = place.finding(None, error.into());
                self.finding(finding);
                return Ok(());
            }
        };
        self.done.cells += reader.cells();
        let mut findings = Vec::new();
        reader.verify(&mut |finding| findings.push(place.finding(Some(&reader), finding)));
        if findings.is_empty() {
            findings.extend(place.disagreements(&reader).map(|what| place.finding(None, what)));
        }
        findings.into_iter().for_each(|finding| self.finding(finding));
        Ok(())
    }

    fn orphans(&mut self, manifest: &Manifest) {
        let known: BTreeSet<PathBuf> = manifest.listings().map(|listing| listing.path(self.root)).collect();
        let mut dirs = vec![self.root.join(layout::DATA_DIR)];
        while let Some(dir) = dirs.pop() {
            let Ok(entries) = self.env.storage.list(&dir) else { continue };
            for entry in entries {
                let path = dir.join(&entry.name);
                if entry.is_dir {
                    dirs.push(path);
                } else if !known.contains(&path) {
                    self.note(path, None, "no manifest names the file");
                }
            }
        }
    }
}

fn table_name(manifest: &Manifest, id: TableId) -> Option<String> {
    manifest.table(id).map(|table| table.descriptor.name.to_string())
}

/// A store file and what the manifest says of it.
struct FilePlace<'a> {
    path: PathBuf,
    table: String,
    listing: Listing<'a>,
}

impl FilePlace<'_> {
    fn finding(&self, reader: Option<&HFileReader>, found: VerifyFinding) -> Finding {
        let of_block = reader.zip(found.offset).and_then(|(reader, offset)| self.block_range(reader, offset));
        Finding {
            severity: Severity::Damage,
            file: self.path.clone(),
            offset: found.offset,
            table: Some(self.table.clone()),
            range: Some(of_block.unwrap_or_else(|| self.rows())),
            what: found.what,
        }
    }

    /// All rows of the file.
    fn rows(&self) -> KeyRange {
        let meta = self.listing.meta.whole();
        KeyRange { start: meta.first_row.clone(), end: KeyRange::point(meta.last_row.clone()).end }
    }

    /// The rows that the data block at `offset` may hold; the row of the next index key may begin in it.
    fn block_range(&self, reader: &HFileReader, offset: u64) -> Option<KeyRange> {
        let count = reader.block_count().ok()?;
        let at =
            (0..count).find(|&at| reader.block_extent(at).is_ok_and(|extent| extent.offset == offset))?;
        let start = Bytes::copy_from_slice(reader.block_first_row(at).ok()?);
        let end = match at + 1 < count {
            true => KeyRange::point(Bytes::copy_from_slice(reader.block_first_row(at + 1).ok()?)).end,
            false => self.rows().end,
        };
        Some(KeyRange { start, end })
    }

    /// Where the file, sound in itself, is not the file that the manifest means.
    fn disagreements(&self, reader: &HFileReader) -> Option<VerifyFinding> {
        let first = reader.read_block(0).ok()?;
        let (cell, last_row) = (first.cell(0), reader.last_row()?);
        let Listing { region, family, meta: listed, .. } = self.listing;
        let meta = listed.whole();
        let rows =
            KeyRange { start: listed.first_row.clone(), end: KeyRange::point(listed.last_row.clone()).end };
        let what = if reader.cells() != meta.cells {
            format!("the manifest gives it {} cells, it has {}", meta.cells, reader.cells())
        } else if reader.size_bytes() != meta.size_bytes {
            format!("the manifest gives it {} bytes, it has {}", meta.size_bytes, reader.size_bytes())
        } else if cell.family != family.as_bytes() {
            format!("it holds family {:?}, not {:?}", String::from_utf8_lossy(cell.family), family)
        } else if *cell.row != meta.first_row || *last_row != meta.last_row {
            "its first or last row is not what the manifest says".to_owned()
        } else if !rows.overlaps(&region.range) {
            "its rows are not those of its region".to_owned()
        } else {
            return None;
        };
        Some(VerifyFinding { file: self.path.display().to_string(), offset: None, what, is_unread: false })
    }
}
