// SPDX-License-Identifier: Apache-2.0
//! The server over real sockets, with a client that knows only the protocol. Real clients are in `tests/hbase`.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod endpoints;
mod hostile;
mod load;
mod methods;
mod regions;
mod rows;
mod scans;
mod support;
mod tables;
