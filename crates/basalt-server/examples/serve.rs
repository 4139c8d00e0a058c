// SPDX-License-Identifier: Apache-2.0
//! Serves a database until it is killed, without the rest of the `basalt` program: `serve DB PORT READY_FILE`. For tests of the
//! server alone, which need not wait for the SQL engine to be compiled.

use std::path::Path;

use basalt_server::{Server, ServerOptions};
use basalt_store::{Database, OpenOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, db, port, ready] = &arguments[..] else { return Err("serve DB PORT READY_FILE".into()) };
    let db = Database::open(Path::new(db), OpenOptions::create())?;
    let server = Server::start(db, ServerOptions { port: port.parse()?, ..ServerOptions::default() })?;
    std::fs::write(ready, server.address().to_string())?;
    loop {
        std::thread::park();
    }
}
