// SPDX-License-Identifier: Apache-2.0
//! The store: write-ahead log, memtables, store files, snapshots, compaction. Cells in, sorted cells out;
//! nothing here knows SQL or a socket.

pub mod env;
pub mod error;
pub mod ids;
pub mod manifest;

pub use env::Env;
pub use error::{Corruption, Error, Result};
pub use ids::{FileId, RegionId};
pub use manifest::FileMeta;
