// SPDX-License-Identifier: Apache-2.0
//! The ports of an open database. So far one: HBase's RPC, at which unmodified HBase clients connect.
//!
//! ```text
//! listener   one port for all services; a task per connection                 server.rs; zookeeper.rs for those who ask there first
//! connection preamble, header, frames; short calls are made here, others on threads, so many at once   connection.rs, connection/
//! call       service and method -> handler, one table                         call.rs
//! handlers   registry.rs, client/ (rows, endpoints), master/ (tables), admin.rs (regions)
//! beside     regions.rs (names -> ranges), meta.rs (hbase:meta out of the manifest), scanners.rs (leases), failure.rs (errors
//!            -> exception classes)
//! ```
//!
//! Handlers are plain functions that may block; those that do run on a bounded number of threads. All state of a client beyond its
//! connection is in [`scanners`]: it is bounded, and goes with its lease.
//!
//! ```no_run
//! use basalt_server::{Server, ServerOptions};
//! use basalt_store::{Database, OpenOptions};
//! let db = Database::open("shop".as_ref(), OpenOptions::create())?;
//! let server = Server::start(db, ServerOptions::default())?;
//! println!("{}", server.client_configuration());
//! server.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admin;
mod answers;
mod call;
mod client;
mod compactions;
mod connection;
mod failure;
mod master;
mod meta;
mod node;
mod nonces;
mod refusals;
mod regions;
mod registry;
mod scanners;
mod server;
mod zookeeper;

pub use server::{Server, ServerError, ServerOptions, Status};
