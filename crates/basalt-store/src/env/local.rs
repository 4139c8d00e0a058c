// SPDX-License-Identifier: Apache-2.0
//! The machine: POSIX files, the system clock, threads. Beside `disk_cache` the only file of this crate that may call them.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is what Env stands for")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use basalt_hfile::LocalFile;
use rustix::fs::{FlockOperation, flock};

use super::{
    Clock, DirEntry, FileRead, FileSync, FileWrite, LockError, LockGuard, LockMode, Random, Spawner, Storage,
    StorageFile, SyncKind, Task,
};

#[derive(Debug)]
pub(super) struct LocalStorage;

#[derive(Debug)]
struct LocalWrite {
    file: Arc<File>,
}

impl FileWrite for LocalWrite {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_ref().write_all(bytes)
    }
}

impl FileSync for File {
    fn sync(&self, kind: SyncKind) -> io::Result<()> {
        match kind {
            SyncKind::Data => self.sync_data(),
            SyncKind::All => self.sync_all(),
        }
    }
}

impl StorageFile for LocalWrite {
    fn syncer(&self) -> Arc<dyn FileSync> {
        Arc::clone(&self.file) as _
    }

    fn reserve(&mut self, len: u64) -> io::Result<()> {
        const ZEROS: &[u8] = &[0; 64 << 10];
        let start = self.file.as_ref().stream_position()?;
        for at in (0..len).step_by(ZEROS.len()) {
            let part = (len - at).min(ZEROS.len() as u64) as usize;
            self.file.write_all_at(&ZEROS[..part], start + at)?;
        }
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.file.as_ref().seek(SeekFrom::Start(len)).map(drop)
    }
}

impl Storage for LocalStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        Ok(Box::new(LocalWrite { file: Arc::new(file) }))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Box::new(LocalWrite { file: Arc::new(file) }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn FileRead>> {
        Ok(Arc::new(LocalFile::open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push(DirEntry { name, is_dir: entry.file_type()?.is_dir() });
        }
        entries.sort();
        Ok(entries)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn lock(&self, path: &Path, mode: LockMode) -> Result<Box<dyn LockGuard>, LockError> {
        let mut file = match mode {
            LockMode::Exclusive => {
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
            }
            LockMode::Shared => File::open(path),
        }
        .map_err(LockError::Io)?;
        let operation = match mode {
            LockMode::Exclusive => FlockOperation::NonBlockingLockExclusive,
            LockMode::Shared => FlockOperation::NonBlockingLockShared,
        };
        if let Err(error) = flock(&file, operation) {
            if error == rustix::io::Errno::WOULDBLOCK {
                let mut holder = String::new();
                // A holder that has just taken the lock may not have written its name yet; an unreadable
                // name must not hide that the lock is held.
                let _ = file.read_to_string(&mut holder);
                return Err(LockError::Held(holder.trim().to_owned()));
            }
            return Err(LockError::Io(error.into()));
        }
        if mode == LockMode::Exclusive {
            file.set_len(0).map_err(LockError::Io)?;
            // Best effort: with a full disk the lock still holds, it only cannot say whose it is.
            let _ = file.write_all(holder_text().as_bytes());
        }
        Ok(Box::new(LocalLock { _file: file }))
    }
}

#[derive(Debug)]
struct LocalLock {
    _file: File,
}

impl LockGuard for LocalLock {}

/// `process 4711 (basalt sql db), started 2026-11-21 21:50:00 UTC`.
fn holder_text() -> String {
    let command =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    let command: String = command.chars().take(200).collect();
    let now = unix_time().as_secs();
    format!("process {} ({command}), since {}\n", std::process::id(), utc(now))
}

/// Civil date of a Unix time (Howard Hinnant's days-to-date algorithm).
fn utc(unix_secs: u64) -> String {
    let (days, secs) = ((unix_secs / 86_400) as i64, unix_secs % 86_400);
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", secs / 3_600, secs / 60 % 60, secs % 60)
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[derive(Debug)]
pub(super) struct LocalClock {
    started: Instant,
}

impl LocalClock {
    pub(super) fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for LocalClock {
    fn now_ms(&self) -> i64 {
        unix_time().as_millis() as i64
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

#[derive(Debug)]
pub(super) struct LocalRandom;

impl Random for LocalRandom {
    fn next_u64(&self) -> u64 {
        getrandom::u64().expect("the operating system has randomness once it has started")
    }
}

#[derive(Debug)]
pub(super) struct LocalSpawner;

struct LocalTask(std::thread::JoinHandle<()>);

impl Task for LocalTask {
    fn join(self: Box<Self>) {
        // A panic of the thread was reported when it happened.
        let _ = self.0.join();
    }
}

impl Spawner for LocalSpawner {
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<Box<dyn Task>> {
        let handle = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
        Ok(Box::new(LocalTask(handle)))
    }
}
