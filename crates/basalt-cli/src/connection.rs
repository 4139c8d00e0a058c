// SPDX-License-Identifier: Apache-2.0
//! The open database of a command, the threads its statements run on, and how they are interrupted.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use basalt::{Engine, Options, Session};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::args::Shared;
use crate::failure::{Failure, Result};

/// Memory taken if the user says nothing: a quarter of the machine's, within these bounds.
const MEMORY_BYTES_MIN: u64 = 512 << 20;
const MEMORY_BYTES_MAX: u64 = 32 << 30;
/// What is assumed of a machine that does not tell.
const MACHINE_BYTES: u64 = 4 << 30;

/// An open database with one session.
pub(crate) struct Connection {
    pub(crate) session: Arc<Session>,
    /// The threads that statements run on.
    pub(crate) runtime: Runtime,
    /// The program's own thread: hears signals and prints, however busy the others are. A runtime asks for signals and
    /// timers only between its tasks, and a worker that decodes blocks has seconds' worth of them.
    pub(crate) front: Runtime,
    pub(crate) path: PathBuf,
    /// The directory of a temporary database; goes when the connection goes. Last, so that the database is closed before.
    temporary: Option<TempDir>,
}

/// Why a statement did not run to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Ctrl-C: the statement is cancelled.
    CtrlC,
    /// SIGTERM: the program ends.
    Terminate,
}

impl Interrupt {
    /// What the process returns, as shells report a signal.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::CtrlC => 130,
            Self::Terminate => 143,
        }
    }
}

impl Connection {
    /// Opens the database in the directory `path`, or a temporary one; makes it if there is none.
    pub(crate) fn open(path: Option<&Path>, shared: &Shared) -> Result<Self> {
        let temporary = match path {
            Some(_) => None,
            None => Some(
                tempfile::Builder::new()
                    .prefix("basalt-")
                    .tempdir()
                    .context("cannot make a temporary database")?,
            ),
        };
        let path = match (&temporary, path) {
            (Some(dir), _) => dir.path().join("db"),
            (None, Some(path)) => path.to_path_buf(),
            (None, None) => unreachable!("without a path there is a temporary directory"),
        };
        let is_new = temporary.is_none() && !path.exists();
        let engine = open_engine(&path, shared)?;
        if is_new && !shared.quiet {
            eprintln!("created a database in {}", path.display());
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(shared.threads())
            .enable_all()
            .build()
            .context("cannot start threads")?;
        let front = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot listen for signals")?;
        Ok(Self { session: Arc::new(engine.session()), runtime, front, path, temporary })
    }

    /// The engine below the session.
    pub(crate) fn engine(&self) -> &Engine {
        self.session.engine()
    }

    /// True for a database that goes with the program.
    pub(crate) fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Runs `work` until it is done or a signal comes, which cancels it.
    pub(crate) fn interruptible<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> std::result::Result<T, Interrupt> {
        let mut task = self.runtime.spawn(work);
        self.front.block_on(async {
            tokio::select! {
                biased;
                interrupt = interrupted() => {
                    task.abort();
                    Err(interrupt)
                }
                done = &mut task => match done {
                    Ok(done) => Ok(done),
                    Err(ended) => std::panic::resume_unwind(ended.into_panic()),
                },
            }
        })
    }
}

fn open_engine(path: &Path, shared: &Shared) -> Result<Engine> {
    let options = Options {
        create: true,
        memory_bytes: Some(memory_bytes(shared)),
        disk_cache: shared.disk_cache(),
        threads: Some(shared.threads()),
        ..Options::default()
    };
    basalt::open(path, &options).map_err(Failure::database)
}

/// The memory asked for, else a quarter of the machine's.
pub(crate) fn memory_bytes(shared: &Shared) -> u64 {
    match shared.memory {
        Some(size) => size.0,
        None => (machine_bytes() / 4).clamp(MEMORY_BYTES_MIN, MEMORY_BYTES_MAX),
    }
}

fn machine_bytes() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.map_or(MACHINE_BYTES, |kilobytes| kilobytes << 10)
}

/// Returns when the user presses Ctrl-C or the system asks the program to end.
pub(crate) async fn interrupted() -> Interrupt {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Without signals the statement simply runs to its end.
        let (Ok(mut int), Ok(mut term)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = int.recv() => Interrupt::CtrlC,
            _ = term.recv() => Interrupt::Terminate,
        }
    }
    #[cfg(not(unix))]
    match tokio::signal::ctrl_c().await {
        Ok(()) => Interrupt::CtrlC,
        Err(_) => std::future::pending().await,
    }
}
