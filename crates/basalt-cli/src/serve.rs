// SPDX-License-Identifier: Apache-2.0
//! `basalt serve`: HBase's clients connect to a database, until a signal ends it.
//!
//! What clients need in their `hbase-site.xml` goes to stdout, everything else to stderr. A signal lets calls in flight end; what was
//! acknowledged is in the log. Exit code 0 after a signal: that is how a server is stopped.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use basalt::{Database, Engine, EngineOptions, OpenOptions};
use basalt_server::{Server, ServerOptions};

use crate::args::{ServeArgs, Shared};
use crate::connection::{interrupted, memory_bytes};
use crate::failure::{Failure, Result};

/// Runs the command.
pub(crate) fn run(args: &ServeArgs, shared: &Shared) -> Result<()> {
    keep_to_small_pages();
    let signals = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot listen for signals")?;
    let options = OpenOptions {
        memory_bytes: memory_bytes(shared),
        disk_cache: shared.disk_cache(),
        ..OpenOptions::create()
    };
    let db = Database::open(&args.db, options).map_err(Failure::database)?;
    // Nobody asks it anything: it keeps the indexes of tables that clients write to.
    let engine = Engine::try_new(db.clone(), EngineOptions::default()).map_err(anyhow::Error::from)?;
    let options = ServerOptions {
        port: args.port,
        zookeeper_port: args.zookeeper_port,
        threads: shared.threads.map(usize::from),
        lease_ms: args.lease_ms,
        look_us: args.look_us,
        ..ServerOptions::default()
    };
    let server = Server::start(db.clone(), options).map_err(Failure::database)?;
    writeln!(std::io::stdout(), "{}", server.client_configuration())?;
    if !shared.quiet {
        eprintln!("serving {} at {}; Ctrl-C ends it", args.db.display(), server.address());
        if let Some(address) = server.zookeeper_address() {
            eprintln!("answering for ZooKeeper at {address}");
        }
    }
    if let Some(file) = &args.ready_file {
        write_ready(file, &server)?;
    }
    let _ = signals.block_on(interrupted());
    server.stop();
    drop(engine);
    db.close().map_err(Failure::database)
}

/// Large pages are for programs that touch all of what they ask for. A server's buffers come and go by the kilobyte, and the
/// kernel clears 2 MiB for the first byte of each: a fifth of its time when clients put, and memory that nothing was written to.
/// A kernel that cannot be told so changes only that.
fn keep_to_small_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Whoever waits for the file sees it whole.
fn write_ready(file: &Path, server: &Server) -> Result<()> {
    let place = || format!("cannot write {}", file.display());
    let mut partial = file.as_os_str().to_owned();
    partial.push(".new");
    std::fs::write(&partial, format!("{}\n", server.address())).with_context(place)?;
    std::fs::rename(&partial, file).with_context(place)?;
    Ok(())
}
