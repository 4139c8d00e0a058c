// SPDX-License-Identifier: Apache-2.0
//! `basalt serve` without the rest of the program, for tests of the server that need not wait for the SQL engine to be compiled:
//! `serve serve DB --port N --zookeeper-port N --ready-file FILE [--lease-ms N] [--look-us N]`, ended by SIGTERM. No help.

use std::path::Path;

use basalt_server::{Server, ServerOptions};
use basalt_store::{Database, OpenOptions};
use tokio::signal::unix::{SignalKind, signal};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let db = Database::open(Path::new(value("serve").ok_or("no DB")?), OpenOptions::create())?;
    let defaults = ServerOptions::default();
    let options = ServerOptions {
        port: value("--port").ok_or("no --port")?.parse()?,
        zookeeper_port: value("--zookeeper-port").map(str::parse).transpose()?,
        lease_ms: value("--lease-ms").map_or(Ok(defaults.lease_ms), str::parse)?,
        look_us: value("--look-us").map_or(Ok(defaults.look_us), str::parse)?,
        ..defaults
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = Server::start(db.clone(), options)?;
    if let Some(address) = server.zookeeper_address() {
        eprintln!("answering for ZooKeeper at {address}");
    }
    let ready = value("--ready-file").ok_or("no --ready-file")?;
    std::fs::write(format!("{ready}.new"), server.address().to_string())?;
    std::fs::rename(format!("{ready}.new"), ready)?;
    runtime
        .block_on(async {
            signal(SignalKind::terminate())?.recv().await.ok_or(std::io::ErrorKind::BrokenPipe.into())
        })
        .map_err(|error: std::io::Error| error)?;
    server.stop();
    db.close()?;
    Ok(())
}
