// SPDX-License-Identifier: Apache-2.0
//! Opening: lock, manifest, files, log.
//!
//! 1. Look whether the directory is a database, before anything is created in it.
//! 2. Take the lock; look again, now that nobody else changes it.
//! 3. Remove files that no manifest names: they belong to flushes, compactions and loads that never counted.
//! 4. Replay the log into memtables, cut its torn tail. Store files are opened when they are first read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use basalt_model::{RowMutation, Seq, TableId};
use parking_lot::{Mutex, RwLock};

use super::Shared;
use super::files::open_region;
use super::upkeep::Upkeep;
use crate::commit::{CommitLine, assign_seqs};
use crate::env::{Env, LockError, LockGuard, LockMode};
use crate::error::{Corruption, Error, Result};
use crate::index::Keepers;
use crate::layout;
use crate::manifest::store::{Found, ManifestStore, find};
use crate::manifest::{Manifest, RegionEntry};
use crate::memtable::Memtable;
use crate::metrics::MetricCounters;
use crate::new_file::FileFactory;
use crate::options::{OpenOptions, Recovery};
use crate::read::{BlockCache, FileHandles};
use crate::version::{RegionVersion, TableVersion, Version};
use crate::wal::frame::Section;
use crate::wal::recover::{LogReader, Recovered, repair};
use crate::wal::writer::LogWriter;

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
    let handles = FileHandles::default();
    let version = open_version(&env, path, &handles, manifest.current());
    let (recovered, timestamp) = replay(&env, path, manifest.current(), &version, &options)?;
    if !options.read_only {
        repair(&env, path, &recovered)?;
    }
    damage.extend(recovered.damage.iter().cloned());
    let current = manifest.current();
    let last_seq = current.last_seq.max(recovered.seq_last);
    let (log_id, segment_bytes) = (current.log_id, options.wal_segment_bytes);
    let (segments, next_segment) = (recovered.segments, recovered.next_segment);
    let log = LogWriter::new(env.clone(), path.to_owned(), log_id, segment_bytes, segments, next_segment);
    let unflushed_bytes = version.regions().map(|region| region.memtable_bytes()).sum();
    let next_file = current.next_file;
    Ok(Arc::new(Shared {
        files: Arc::new(FileFactory::new(env.clone(), path.to_owned(), next_file)),
        handles,
        cache: Arc::new(BlockCache::new(options.cache_bytes())),
        upkeep: Upkeep::default(),
        metrics: MetricCounters::default(),
        open_scans: Arc::default(),
        keepers: Keepers::default(),
        commit: CommitLine::new(log, log_id, last_seq, timestamp, unflushed_bytes),
        env,
        root: path.to_owned(),
        options,
        version: RwLock::new(Arc::new(version)),
        manifest_uncertain: manifest.uncertain_flag(),
        manifest: Mutex::new(manifest),
        closed: AtomicBool::new(false),
        lock: Mutex::new(lock),
        damage,
    }))
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
    version
}

/// Step 4. Fills the active memtables with what the files do not have yet.
fn replay(
    env: &Env,
    root: &Path,
    manifest: &Manifest,
    version: &Version,
    options: &OpenOptions,
) -> Result<(Recovered, i64)> {
    let reader = LogReader {
        env,
        root,
        log_id: manifest.log_id,
        first_segment: manifest.first_segment,
        skip_damage: options.recovery == Recovery::SkipDamagedWal,
        table_name: &|id| manifest.table(id).map(|table| table.descriptor.name.to_string()),
    };
    let flushed_seqs: BTreeMap<_, _> =
        manifest.regions.iter().map(|entry| (entry.id, entry.flushed_seq)).collect();
    let flushed = |region| flushed_seqs[&region];
    let recovered = reader.read(&mut |sections| {
        replay_frame(sections, version, &flushed);
        Ok(())
    })?;
    let timestamp = recovered.timestamp.max(manifest.last_timestamp);
    Ok((recovered, timestamp))
}

fn replay_frame(sections: Vec<Section>, version: &Version, flushed: &dyn Fn(crate::RegionId) -> Seq) {
    let mut sections = sections.into_iter().peekable();
    while let Some(first) = sections.next() {
        let seq = first.seq;
        let mut rows: Vec<(TableId, RowMutation)> =
            first.rows.into_iter().map(|row| (first.table, row)).collect();
        while let Some(section) = sections.next_if(|section| section.seq == seq) {
            rows.extend(section.rows.into_iter().map(|row| (section.table, row)));
        }
        replay_batch(seq, rows, version, flushed);
    }
}

/// Rows are sent to regions by key, not by the region that the log names: it may have been split since.
fn replay_batch(
    seq: Seq,
    rows: Vec<(TableId, RowMutation)>,
    version: &Version,
    flushed: &dyn Fn(crate::RegionId) -> Seq,
) {
    let (seqs, _) = assign_seqs(seq, &rows);
    let mut region: Option<(&RegionVersion, Seq)> = None;
    for (i, (table, row)) in rows.into_iter().enumerate() {
        let key = row.row_bytes();
        let fits = |(region, _): &(&RegionVersion, Seq)| region.table == table && region.range.contains(&key);
        if !region.as_ref().is_some_and(fits) {
            // A table that is gone was dropped after the write.
            let Some(table) = version.tables.get(&table) else { continue };
            let found = &**table.region_of(&key);
            region = Some((found, flushed(found.id)));
        }
        let (region, flushed_seq) = region.expect("set above");
        if seqs.of(i) > flushed_seq {
            Memtable::insert(&region.active, std::iter::once((seqs.of(i), row)));
        }
    }
}
