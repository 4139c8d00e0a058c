// SPDX-License-Identifier: Apache-2.0
//! What all connections share: the database, who the server is, and the state that outlives a call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use basalt_store::Database;
use basalt_wire::names::ServerName;
use tokio::sync::Semaphore;

use crate::answers::Answers;
use crate::compactions::Compactions;
use crate::connection::{Awake, REQUEST_BYTES, SHARE};
use crate::master::procedures::Procedures;
use crate::master::switches::Switches;
use crate::nonces::Nonces;
use crate::regions::Regions;
use crate::scanners::Scanners;
use crate::server::{ServerOptions, Status};

/// See the module.
pub(crate) struct Node {
    pub(crate) db: Database,
    pub(crate) name: ServerName,
    pub(crate) cluster_id: String,
    pub(crate) regions: Regions,
    pub(crate) scanners: Scanners,
    pub(crate) nonces: Nonces,
    pub(crate) procedures: Procedures,
    pub(crate) switches: Switches,
    pub(crate) compactions: Compactions,
    /// Shares of the memory for requests.
    pub(crate) request_shares: Arc<Semaphore>,
    /// Memory for answers.
    pub(crate) answers: Arc<Answers>,
    pub(crate) awake: Arc<Awake>,
    connections: AtomicUsize,
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    calls: AtomicU64,
    /// Threads that calls may start to be done sooner.
    helpers: AtomicUsize,
}

/// Threads that a call may start; they are free again when it ends.
pub(crate) struct Helpers<'a> {
    free: &'a AtomicUsize,
    pub(crate) count: usize,
}

impl Drop for Helpers<'_> {
    fn drop(&mut self) {
        self.free.fetch_add(self.count, Relaxed);
    }
}

/// Counts a connection for as long as it lives.
pub(crate) struct OpenConnection<'a>(&'a AtomicUsize);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Node {
    pub(crate) fn new(db: Database, address: SocketAddr, options: &ServerOptions) -> Self {
        let start_code = u64::try_from(db.now_ms()).unwrap_or(1).max(1);
        let workers = options.threads.unwrap_or_else(cores);
        let name = ServerName { host: address.ip().to_string(), port: address.port(), start_code };
        Self {
            cluster_id: cluster_id(db.identity()),
            name,
            regions: Regions::default(),
            scanners: Scanners::new(options.lease_ms, options.read_ahead_bytes),
            nonces: Nonces::default(),
            procedures: Procedures::new(start_code),
            switches: Switches::default(),
            compactions: Compactions::default(),
            request_shares: Arc::new(Semaphore::new(REQUEST_BYTES / SHARE)),
            answers: Answers::new(options.answer_bytes),
            awake: Awake::new(workers, Duration::from_micros(options.look_us)),
            connections: AtomicUsize::new(0),
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            helpers: AtomicUsize::new(workers.saturating_sub(1)),
            db,
        }
    }

    pub(crate) fn open_connection(&self) -> OpenConnection<'_> {
        self.connections.fetch_add(1, Relaxed);
        OpenConnection(&self.connections)
    }

    /// Up to `wanted` threads, as many as are free: all calls together have one for each core but one.
    pub(crate) fn helpers(&self, wanted: usize) -> Helpers<'_> {
        let take = |free: usize| Some(free - free.min(wanted));
        let free = self.helpers.fetch_update(Relaxed, Relaxed, take).unwrap_or(0);
        Helpers { free: &self.helpers, count: free.min(wanted) }
    }

    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Relaxed);
    }

    pub(crate) fn status(&self) -> Status {
        Status {
            connections: self.connections.load(Relaxed),
            scanners: self.scanners.len(),
            read_ahead_bytes: self.scanners.read_ahead_bytes(),
            answer_bytes: self.answers.bytes(),
            request_bytes: (REQUEST_BYTES - self.request_shares.available_permits() * SHARE) as u64,
            calls: self.calls.load(Relaxed),
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The identity of the database as a UUID, which clients expect: the same each time it is served.
fn cluster_id(identity: u64) -> String {
    let high = identity.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ identity;
    let (high, low) = (high & !0xf000 | 0x4000, identity & (u64::MAX >> 2) | 1 << 63);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
