// SPDX-License-Identifier: Apache-2.0
//! The database: tables, writes, snapshots, and the upkeep behind them.
//!
//! Who owns what:
//!
//! | part | owns | module |
//! |---|---|---|
//! | commit line | order, durability and visibility of writes | [`crate::commit`] |
//! | version | memtables and open files of every region, as a value | [`crate::version`] |
//! | manifest store | what is durable of that | [`crate::manifest`] |
//! | upkeep | flushes, compactions, log syncs | [`upkeep`] |
//!
//! Locks, in the order in which they may be taken: flushing, manifest, sequencer, version, group, log. A version change
//! that must agree with the manifest happens under the manifest's lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use basalt_model::{TableDescriptor, TableId, TableName};
use parking_lot::{Mutex, RwLock};

use crate::commit::CommitLine;
use crate::compact::LookupTimes;
use crate::env::{Env, LockGuard};
use crate::error::{Corruption, Error, Result};
use crate::ids::RegionId;
use crate::index::Keepers;
use crate::manifest::lock::ManifestLock;
use crate::metrics::{
    CompactionStats, FileStats, MetricCounters, Metrics, RegionStats, RunningStats, TableStats,
};
use crate::new_file::FileFactory;
use crate::options::OpenOptions;
use crate::read::{BlockCache, FileHandles, StoreFile};
use crate::snapshot::Snapshot;
use crate::snapshot::open_scans::OpenScans;
use crate::version::{RegionVersion, TableVersion, Version};
use upkeep::Upkeep;

mod compacting;
mod compaction;
mod files;
mod flush;
mod hfiles;
pub(crate) mod indexes;
mod ingest;
mod namespaces;
mod open;
mod pacing;
mod regions;
mod replay;
mod running;
mod snapshots;
mod tables;
mod upkeep;
mod write;

pub use indexes::NewIndex;
pub use ingest::{Ingest, IngestSummary};
pub use namespaces::NamespaceProperties;
pub use snapshots::TableSnapshot;
pub(crate) use write::check_cell;

/// A database that this process has open. Cheap to clone; the last clone that goes closes it.
#[derive(Clone)]
pub struct Database {
    handle: Arc<Handle>,
}

/// Closes when dropped; background threads hold only [`Shared`].
struct Handle {
    shared: Arc<Shared>,
}

/// What all parts of an open database share.
pub(crate) struct Shared {
    pub(crate) env: Env,
    pub(crate) root: PathBuf,
    pub(crate) options: OpenOptions,
    pub(crate) commit: CommitLine,
    pub(crate) version: RwLock<Arc<Version>>,
    pub(crate) manifest: ManifestLock,
    pub(crate) files: Arc<FileFactory>,
    handles: FileHandles,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) metrics: MetricCounters,
    pub(crate) open_scans: Arc<OpenScans>,
    pub(crate) keepers: Keepers,
    pub(crate) lookups: LookupTimes,
    upkeep: Upkeep,
    manifest_uncertain: Arc<AtomicBool>,
    closed: AtomicBool,
    lock: Mutex<Option<Box<dyn LockGuard>>>,
    damage: Vec<Corruption>,
}

impl Database {
    /// Opens the database in the directory `path` and recovers what its log holds. The directory stays locked
    /// until [`Database::close`] or the last clone is dropped.
    pub fn open(path: &Path, options: OpenOptions) -> Result<Self> {
        let shared = open::open(path, options)?;
        upkeep::start(&shared)?;
        Ok(Self { handle: Arc::new(Handle { shared }) })
    }

    /// Stops the upkeep, makes the log durable and releases the directory. Snapshots stay readable. What the log has is not flushed: the next
    /// opening replays it. Writes of [`Durability::Skip`](crate::Durability::Skip), which it does not have, are. Flushes and compactions that others
    /// asked for and that have not ended fail.
    pub fn close(self) -> Result<()> {
        self.shared().close()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.shared().root
    }

    /// What recovery skipped; empty unless asked for by [`crate::Recovery::SkipDamagedWal`].
    pub fn recovery_damage(&self) -> &[Corruption] {
        &self.shared().damage
    }

    /// A view of all writes acknowledged so far, unchanged by later ones.
    pub fn snapshot(&self) -> Snapshot {
        self.shared().snapshot()
    }

    /// The table of this name.
    pub fn table(&self, name: &TableName) -> Result<(TableId, Arc<TableDescriptor>)> {
        let version = self.shared().version();
        let table = version.table_named(name)?;
        Ok((table.id, Arc::clone(&table.descriptor)))
    }

    /// The table with this identity.
    pub fn table_by_id(&self, id: TableId) -> Result<Arc<TableDescriptor>> {
        Ok(Arc::clone(&self.shared().version().table(id)?.descriptor))
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<(TableId, Arc<TableDescriptor>)> {
        let version = self.shared().version();
        version.names.values().map(|id| (*id, Arc::clone(&version.tables[id].descriptor))).collect()
    }

    /// False if the table takes no reads and writes; see [`Database::set_table_enabled`].
    pub fn is_table_enabled(&self, id: TableId) -> Result<bool> {
        Ok(!self.shared().version().table(id)?.disabled)
    }

    /// True if the table exists, is enabled and still has this region, which begins with `start`.
    pub fn serves(&self, table: TableId, region: RegionId, start: &[u8]) -> bool {
        let version = self.shared().version();
        version.table(table).is_ok_and(|table| !table.disabled && table.region_of(start).id == region)
    }

    /// The regions of a table, by key, with their sizes.
    pub fn regions(&self, table: TableId) -> Result<Vec<RegionStats>> {
        let version = self.shared().version();
        Ok(version.table(table)?.regions.iter().map(|region| region_stats(region)).collect())
    }

    /// A number that tells this database from others for as long as it exists.
    pub fn identity(&self) -> u64 {
        self.shared().manifest.lock().current().log_id
    }

    /// Milliseconds since the epoch, by the clock of the database.
    pub fn now_ms(&self) -> i64 {
        self.shared().env.now_ms()
    }

    /// Sizes of a table, from what is known without reading it.
    pub fn stats(&self, table: TableId) -> Result<TableStats> {
        Ok(table_stats(self.shared().version().table(table)?))
    }

    /// The store files of all tables, by table, region and family; one that several regions list since a split is there for each.
    pub fn files(&self) -> Vec<FileStats> {
        let version = self.shared().version();
        let mut files = vec![];
        for (&table, found) in &version.tables {
            for region in &found.regions {
                let stats = |(family, file): (&str, &Arc<StoreFile>)| FileStats {
                    table,
                    region: region.id,
                    family: family.to_owned(),
                    meta: file.meta().clone(),
                };
                files.extend(region.all_files().map(stats));
            }
        }
        files
    }

    /// The last compactions since the database was opened, the newest last.
    pub fn compactions(&self) -> Vec<CompactionStats> {
        self.shared().metrics.ended.lock().iter().cloned().collect()
    }

    /// The flushes and compactions that are under way, in the order in which they began.
    pub fn running(&self) -> Vec<RunningStats> {
        self.shared().upkeep.running.stats()
    }

    /// Lets the upkeep compact store files, or not, until it is told otherwise or the database is closed; gives how it was. Without
    /// compactions reads grow slower, and writes are slowed down. Compactions that somebody asks for are made in any case.
    pub fn set_upkeep_compactions(&self, enabled: bool) -> bool {
        self.shared().upkeep.set_compactions(enabled)
    }

    /// True if the upkeep compacts store files.
    pub fn upkeep_compacts(&self) -> bool {
        self.shared().upkeep.compacts()
    }

    /// Counters of this database since it was opened.
    pub fn metrics(&self) -> Metrics {
        let shared = self.shared();
        Metrics {
            unflushed_bytes: shared.commit.unflushed_bytes(),
            wal_bytes: shared.commit.log_bytes(),
            depth: shared.upkeep.pace.depth() as u64,
            cache: shared.cache.stats(),
            disk_cache: shared.handles.disk_cache().map(|cache| cache.stats()),
            ..shared.metrics.read()
        }
    }
}

fn region_stats(region: &RegionVersion) -> RegionStats {
    let mut stats = RegionStats {
        id: region.id,
        range: region.range.clone(),
        memtable_bytes: region.memtable_bytes(),
        files: 0,
        size_bytes: 0,
    };
    for (_, file) in region.all_files() {
        stats.files += 1;
        stats.size_bytes += file.meta().size_bytes;
    }
    stats
}

fn table_stats(table: &TableVersion) -> TableStats {
    let mut stats = TableStats { regions: table.regions.len() as u64, ..TableStats::default() };
    for region in &table.regions {
        stats.memtable_bytes += region.memtable_bytes();
        stats.memtable_rows += region.memtables().map(|memtable| memtable.len() as u64).sum::<u64>();
        let rows = |files: &Vec<Arc<StoreFile>>| files.iter().map(|file| file.meta().rows).sum::<u64>();
        stats.rows_estimate += region.files.values().map(rows).max().unwrap_or(0);
        for (_, file) in region.all_files() {
            stats.files += 1;
            stats.cells += file.meta().cells;
            stats.size_bytes += file.meta().size_bytes;
        }
    }
    stats.rows_estimate += stats.memtable_rows;
    stats
}

impl Shared {
    /// The current version.
    pub(crate) fn version(&self) -> Arc<Version> {
        Arc::clone(&self.version.read())
    }

    /// Replaces the version by an edited copy.
    pub(crate) fn edit_version<T>(&self, edit: impl FnOnce(&mut Version) -> T) -> T {
        let mut current = self.version.write();
        let mut next = Version::clone(&current);
        let result = edit(&mut next);
        next.favour_files(&current);
        *current = Arc::new(next);
        result
    }

    pub(crate) fn snapshot(self: &Arc<Self>) -> Snapshot {
        // Both under one lock: all that `visible` shows is in this version, see `crate::commit`.
        let current = self.version.read();
        Snapshot::new(Arc::clone(self), Arc::clone(&current), self.commit.visible())
    }

    /// An error once the database is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() { Err(Error::Closed) } else { Ok(()) }
    }

    /// An error if the database takes no changes.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.options.read_only {
            return Err(Error::ReadOnly);
        }
        if self.manifest_uncertain.load(Ordering::Acquire) {
            self.manifest.lock().settle()?;
        }
        Ok(())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.upkeep.stop();
        let kept = if self.options.read_only { Ok(()) } else { self.flush_unlogged().and(self.close_log()) };
        let settled = self.manifest.lock().close();
        self.files.close();
        self.lock.lock().take();
        kept.and(settled)
    }

    fn close_log(&self) -> Result<()> {
        let sequencer = self.commit.drain();
        let mut log = self.commit.log();
        if log.has_unsynced() {
            log.sync(crate::env::SyncKind::Data)?;
        }
        log.mark();
        let trimmed = log.trim();
        drop((log, sequencer));
        trimmed
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Whoever wants to see the error calls `close`.
        let _ = self.shared.close();
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.shared().root).finish_non_exhaustive()
    }
}
