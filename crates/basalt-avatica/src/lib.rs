// SPDX-License-Identifier: Apache-2.0
//! A port for Phoenix's thin clients: its thin JDBC driver and whatever uses that, `phoenixdb` of Python, SQLAlchemy by way of it. They speak
//! Avatica's protocol: protobuf messages in HTTP requests ([`basalt_wire::avatica`]).
//!
//! ```text
//! HTTP request -> [server] body -> [exchange] request -> [connections] connection -> [connection] answer
//!                                                           session of SQL, its statements    |
//!                        rows of a statement, a frame at a time <- [rows] [columns] <---------+
//!                        tables and columns, for those who ask  <- [metadata] <---------------+
//!                        values of parameters                   -> [parameters] --------------+
//! ```
//!
//! A connection is known by the id that its client chose; which socket a request comes from does not matter. It is one
//! [`Session`](basalt_sql::Session), and answers one request after the other. One that nobody asks anything for ten minutes is closed.

mod columns;
mod connection;
mod connections;
mod exchange;
mod failure;
mod metadata;
mod parameters;
mod rows;
mod server;
mod values;

pub use server::{AvaticaServer, ServerError, ServerOptions};
