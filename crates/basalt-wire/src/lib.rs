// SPDX-License-Identifier: Apache-2.0
//! HBase's RPC protocol, and that of Phoenix's thin clients ([`avatica`]), without sockets: bytes in, values out, and back.
//!
//! ```text
//! bytes of a connection -> preamble, then frames                              preamble.rs, frame.rs
//! frame                 -> header, message (pb.rs), cell block                frame.rs, cell_block.rs, compressor.rs
//! message               -> operation of basalt-model                          multi.rs, read.rs, mutation.rs, filter.rs, schema.rs
//! cells of a result     -> message or cell block                              result.rs
//! error                 -> exception by its Java class                        exception.rs
//! ```
//!
//! Nothing here trusts a length: what a peer declares is held against what it sent before anything is allocated.
//! The layouts are those of HBase 2.6; each module draws its own.

pub mod avatica;
pub mod cell_block;
mod comparator;
pub mod compressor;
pub mod exception;
pub mod filter;
pub mod frame;
#[doc(hidden)]
pub mod fuzzing;
pub mod multi;
pub mod mutation;
pub mod names;
pub mod pb;
pub mod preamble;
pub mod read;
pub mod region_name;
pub mod result;
pub mod schema;
pub mod zookeeper;

pub use cell_block::{CellReader, WireCell};
pub use compressor::Compressor;
pub use exception::Exception;
pub use frame::{FrameError, Request, Response};
