// SPDX-License-Identifier: Apache-2.0
//! `basalt serve`: HBase's clients connect to a database, and Phoenix's, until a signal ends it.
//!
//! What clients need in their `hbase-site.xml` goes to stdout, everything else to stderr. A signal lets calls in flight end; what was
//! acknowledged is in the log. Exit code 0 after a signal: that is how a server is stopped.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use basalt::{Database, Engine, EngineOptions, OpenOptions};
use basalt_avatica::{AvaticaServer, ServerOptions as AvaticaOptions};
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
    // It keeps the indexes of tables that HBase's clients write to, and answers Phoenix's.
    let engine = Engine::try_new(db.clone(), EngineOptions { user_files: false, ..EngineOptions::default() })
        .map_err(anyhow::Error::from)?;
    let options = ServerOptions {
        port: args.port,
        zookeeper_port: args.zookeeper_port,
        threads: shared.threads.map(usize::from),
        lease_ms: args.lease_ms,
        look_us: args.look_us,
        ..ServerOptions::default()
    };
    let server = Server::start(db.clone(), options).map_err(Failure::database)?;
    let phoenix = args.phoenix_port.map(|port| serve_phoenix(&engine, port, shared)).transpose()?;
    writeln!(std::io::stdout(), "{}", server.client_configuration())?;
    if !shared.quiet {
        eprintln!("serving {} at {}; Ctrl-C ends it", args.db.display(), server.address());
        if let Some(address) = server.zookeeper_address() {
            eprintln!("answering for ZooKeeper at {address}");
        }
    }
    if let Some(phoenix) = phoenix.as_ref().filter(|_| !shared.quiet) {
        let address = phoenix.address();
        eprintln!(
            "answering Phoenix's thin clients at jdbc:phoenix:thin:url=http://{address};serialization=PROTOBUF"
        );
    }
    if let Some(file) = &args.ready_file {
        write_ready(file, &server, phoenix.as_ref())?;
    }
    let _ = signals.block_on(interrupted());
    if let Some(phoenix) = phoenix {
        phoenix.stop();
    }
    server.stop();
    drop(engine);
    db.close().map_err(Failure::database)
}

fn serve_phoenix(engine: &Engine, port: u16, shared: &Shared) -> Result<AvaticaServer> {
    let threads = shared.threads.map(usize::from);
    let options = AvaticaOptions { port, threads, ..AvaticaOptions::default() };
    AvaticaServer::start(engine.clone(), options).map_err(|error| anyhow::Error::from(error).into())
}

/// Large pages are for programs that touch all of what they ask for. A server's buffers come and go by the kilobyte, and the
/// kernel clears 2 MiB for the first byte of each: a fifth of its time when clients put, and memory that nothing was written to.
/// A kernel that cannot be told so changes only that.
fn keep_to_small_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Whoever waits for the file sees it whole: the address for HBase's clients, and in a second line that for Phoenix's, if there is one.
fn write_ready(file: &Path, server: &Server, phoenix: Option<&AvaticaServer>) -> Result<()> {
    let place = || format!("cannot write {}", file.display());
    let mut partial = file.as_os_str().to_owned();
    partial.push(".new");
    let mut lines = format!("{}\n", server.address());
    if let Some(phoenix) = phoenix {
        lines.push_str(&format!("{}\n", phoenix.address()));
    }
    std::fs::write(&partial, lines).with_context(place)?;
    std::fs::rename(&partial, file).with_context(place)?;
    Ok(())
}
