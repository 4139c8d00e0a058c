// SPDX-License-Identifier: Apache-2.0
//! The sorted file: HFile v3 blocks, encodings, compression, index and Bloom filters. Bytes in, cells or
//! Arrow arrays out; nothing here opens a database or knows a table.
//!
//! The container is byte-compatible with HBase 2.6 (HFile 3.3): HBase opens what [`HFileWriter`] writes, and
//! [`HFileReader`] opens what HBase wrote.
//!
//! ```text
//! data blocks, with leaf index blocks and Bloom chunks between them
//! intermediate index blocks                                         (large files)
//! root index | meta index | file info | Bloom metadata              <- loaded when opened
//! trailer, 4,096 bytes
//! ```
//!
//! Start with [`writer`] and [`reader`]; then [`block`] (checksums), [`encoding`] (cells to bytes), [`compression`],
//! [`index`], [`bloom`], [`trailer`], [`file_info`]; [`typed`] turns cells into Arrow arrays and back.

pub mod block;
pub mod bloom;
pub mod cells;
pub mod columnar;
pub mod compression;
pub mod encoded_block;
pub mod encoding;
pub mod error;
pub mod file;
pub mod file_info;
#[doc(hidden)]
pub mod fuzzing;
pub mod index;
pub mod key;
pub mod options;
pub mod predicate;
pub mod reader;
pub mod rows;
pub mod tools;
pub mod trailer;
#[cfg(feature = "typed")]
pub mod typed;
pub mod varint;
mod write_buffer;
pub mod writer;

#[cfg(test)]
mod fixtures;

pub use block::Checksum;
pub use bloom::BloomKind;
pub use cells::{CellBlock, CellRun, CellSlot, RowFronts};
pub use columnar::ColumnarBlock;
pub use compression::Compression;
pub use encoded_block::{BlockCursor, EncodedBlock};
pub use encoding::Encoding;
pub use error::{Error, Result};
pub use file::{FileRead, FileWrite, LocalFile, MemoryFile};
pub use file_info::FileInfo;
pub use key::FlatKey;
pub use options::{ReadOptions, WriterOptions};
pub use predicate::Predicate;
pub use reader::{BlockExtent, HFileReader, VerifyFinding};
pub use rows::{RowBlock, RowPart, Rows};
pub use trailer::Trailer;
pub use writer::{Background, FileSummary, HFileWriter};
