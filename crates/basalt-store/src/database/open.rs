// SPDX-License-Identifier: Apache-2.0
//! Opening: lock, manifest, files, log.
//!
//! 1. Look whether the directory is a database, before anything is created in it.
//! 2. Take the lock; look again, now that nobody else changes it.
//! 3. Remove files that no manifest names: they belong to flushes, compactions and loads that never counted.
//! 4. Replay the log into memtables ([`replay`]), cut its torn tail. Store files are opened when they are first read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use basalt_model::TableId;
use parking_lot::{Mutex, RwLock};

use super::files::open_region;
use super::upkeep::Upkeep;
use super::{Shared, replay};
use crate::commit::CommitLine;
use crate::compact::LookupTimes;
use crate::env::{DiskCache, DiskCacheOptions, Env, LockError, LockGuard, LockMode};
use crate::error::{Corruption, Error, Result};
use crate::index::Keepers;
use crate::layout;
use crate::manifest::lock::ManifestLock;
use crate::manifest::store::{Found, ManifestStore, find};
use crate::manifest::{Manifest, RegionEntry};
use crate::metrics::MetricCounters;
use crate::new_file::FileFactory;
use crate::options::{OpenOptions, Recovery};
use crate::read::{BlockCache, FileHandles};
use crate::version::{TableVersion, Version};
use crate::wal::recover::repair;
use crate::wal::writer::{LogWriter, SegmentEntry};

pub(super) fn open(path: &Path, options: OpenOptions) -> Result<Arc<Shared>> {
    let env = options.env.clone();
    let fresh = matches!(find(&env, path)?, Found::Empty);
    if fresh && (!options.create || options.read_only) {
        return Err(Error::NotADatabase { path: path.to_owned(), found: "it is missing or empty" });
    }
    if fresh {
        env.storage.create_dir(path).map_err(Error::io("create", path))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        env.storage.sync_dir(parent).map_err(Error::io("sync", parent))?;
    }
    let lock = lock(&env, path, options.read_only)?;
    let (manifest, mut damage) = open_manifest(&env, path, &options)?;
    if !options.read_only && damage.is_empty() {
        remove_orphans(&env, path, manifest.current());
    }
    let disk_cache = open_disk_cache(&options)?;
    let mut shared = shared(path, options, disk_cache, manifest, lock);
    let recovered = replay::run(&shared)?;
    if !shared.options.read_only {
        repair(&env, path, &recovered)?;
    }
    damage.extend(recovered.damage);
    shared.damage = damage;
    let log = log_writer(&shared, recovered.segments, recovered.next_segment);
    shared.commit.go_on_with(log);
    Ok(Arc::new(shared))
}

/// The database as its manifest has it, before the log is read.
fn shared(
    root: &Path,
    options: OpenOptions,
    disk_cache: Option<Arc<DiskCache>>,
    manifest: ManifestStore,
    lock: Option<Box<dyn LockGuard>>,
) -> Shared {
    let env = options.env.clone();
    let list_bytes = disk_cache.as_ref().map_or(0, |cache| cache.memory_bytes());
    let handles = FileHandles::new(disk_cache);
    let current = manifest.current();
    let version = open_version(&env, root, &handles, current);
    let (log_id, next_file) = (current.log_id, current.next_file);
    let (last_seq, timestamp) = (current.last_seq, current.last_timestamp);
    let cache = Arc::new(BlockCache::new(options.cache_bytes().saturating_sub(list_bytes)));
    // Nothing is written to it: a log of its own takes its place once this one was read.
    let log = LogWriter::new(env.clone(), root.to_owned(), log_id, 0, Vec::new(), current.first_segment);
    Shared {
        files: Arc::new(FileFactory::new(env.clone(), root.to_owned(), next_file).within(&options, &cache)),
        handles,
        cache,
        upkeep: Upkeep::new(&options),
        metrics: MetricCounters::default(),
        open_scans: Arc::default(),
        keepers: Keepers::default(),
        lookups: LookupTimes::default(),
        commit: CommitLine::new(log, log_id, last_seq, timestamp),
        env,
        root: root.to_owned(),
        options,
        version: RwLock::new(Arc::new(version)),
        manifest_uncertain: manifest.uncertain_flag(),
        manifest: ManifestLock::new(manifest),
        closed: AtomicBool::new(false),
        lock: Mutex::new(lock),
        damage: Vec::new(),
    }
}

fn open_disk_cache(options: &OpenOptions) -> Result<Option<Arc<DiskCache>>> {
    let Some(DiskCacheOptions { dir, bytes }) = &options.disk_cache else { return Ok(None) };
    let cache = DiskCache::open(dir, *bytes).map_err(Error::io("open the disk cache in", dir))?;
    Ok(Some(Arc::new(cache)))
}

/// The log behind its segments.
fn log_writer(shared: &Shared, segments: Vec<SegmentEntry>, next_segment: u64) -> LogWriter {
    let log_id = shared.manifest.lock().current().log_id;
    let segment_bytes = shared.options.wal_segment_bytes;
    LogWriter::new(shared.env.clone(), shared.root.clone(), log_id, segment_bytes, segments, next_segment)
}

fn lock(env: &Env, root: &Path, read_only: bool) -> Result<Option<Box<dyn LockGuard>>> {
    let path = root.join(layout::LOCK);
    let mode = if read_only { LockMode::Shared } else { LockMode::Exclusive };
    match env.storage.lock(&path, mode) {
        Ok(guard) => Ok(Some(guard)),
        Err(LockError::Held(holder)) if holder.is_empty() => {
            Err(Error::Locked { path: root.to_owned(), holder: "readers or another process".into() })
        }
        Err(LockError::Held(holder)) => Err(Error::Locked { path: root.to_owned(), holder }),
        // A copy of a database need not have the file, and its medium need not be writable.
        Err(LockError::Io(error)) if read_only && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(LockError::Io(error)) => Err(Error::io("lock", &path)(error)),
    }
}

fn open_manifest(env: &Env, root: &Path, options: &OpenOptions) -> Result<(ManifestStore, Vec<Corruption>)> {
    match find(env, root)? {
        Found::Empty => {
            let wal = root.join(layout::WAL_DIR);
            env.storage.create_dir(&wal).map_err(Error::io("create", &wal))?;
            let manifest = Manifest::empty(env.random.next_u64());
            let mut store = ManifestStore::new(env.clone(), root.to_owned(), manifest, Vec::new());
            store.change(|_| ())?;
            Ok((store, Vec::new()))
        }
        Found::Manifest { manifest, numbers, damaged, .. } => {
            // Falling back silently could lose what only the damaged one names.
            let mut damage = Vec::new();
            for error in damaged {
                match (error, options.recovery) {
                    (Error::Corrupt(corruption), Recovery::SkipDamagedWal) => {
                        damage.push((*corruption).clone())
                    }
                    (error, _) => return Err(error),
                }
            }
            Ok((ManifestStore::new(env.clone(), root.to_owned(), *manifest, numbers), damage))
        }
    }
}

/// Step 3. What cannot be removed now is tried again by the next opening.
fn remove_orphans(env: &Env, root: &Path, manifest: &Manifest) {
    if let Ok(entries) = env.storage.list(root) {
        for entry in entries.iter().filter(|entry| layout::is_manifest_temporary(&entry.name)) {
            let _ = env.storage.remove(&root.join(&entry.name));
        }
    }
    let known: BTreeSet<_> = manifest.listings().map(|listing| listing.path(root)).collect();
    remove_unknown(env, &root.join(layout::DATA_DIR), &|path| known.contains(path));
}

/// Removes files that are not known, then directories that are empty; true if nothing is left.
fn remove_unknown(env: &Env, dir: &Path, known: &dyn Fn(&Path) -> bool) -> bool {
    let Ok(entries) = env.storage.list(dir) else { return false };
    let mut empty = true;
    for entry in entries {
        let path = dir.join(&entry.name);
        if entry.is_dir {
            empty &= remove_unknown(env, &path, known) && env.storage.remove_dir(&path).is_ok();
        } else if layout::parse_number(&entry.name).is_some() && !known(&path) {
            empty &= env.storage.remove(&path).is_ok();
        } else {
            empty = false;
        }
    }
    empty
}

fn open_version(env: &Env, root: &Path, handles: &FileHandles, manifest: &Manifest) -> Version {
    let mut version = Version::default();
    let mut regions: BTreeMap<TableId, Vec<&RegionEntry>> = BTreeMap::new();
    for region in &manifest.regions {
        regions.entry(region.table).or_default().push(region);
    }
    for entry in &manifest.tables {
        let name: Arc<str> = entry.descriptor.name.to_string().into();
        let own = regions.remove(&entry.id).unwrap_or_default();
        let open = |region: &RegionEntry| Arc::new(open_region((env, root, handles), region, &name));
        let mut regions: Vec<_> = own.into_iter().map(open).collect();
        regions.sort_by(|a, b| a.range.start.cmp(&b.range.start));
        version.put_table(TableVersion {
            id: entry.id,
            descriptor: Arc::new(entry.descriptor.clone()),
            disabled: entry.disabled,
            regions,
        });
    }
    version.favour_files(&Version::default());
    version
}
