// SPDX-License-Identifier: Apache-2.0
//! Files of users: what `basalt load`, COPY and `FROM 'file'` read, and what COPY and `--format` write.
//!
//! ```text
//! file -> [source] -> Arrow batches of declared types        Arrow batches -> [sink] -> bytes -> [target file]
//! ```
//! Owns the formats and nothing else: which rows go where, what is printed of a bad row and where standard output leads
//! is the caller's. Two rules: a row that does not fit is known by file, line, column and reason before anybody else sees
//! it; and a file that is written has its name only when it is whole.

mod error;
mod format;
mod sink;
mod source;
mod target_file;
mod text;

pub use error::{Error, Result};
pub use format::{Format, Header, Options};
pub use sink::{CsvStyle, Sink, arrow_sink, csv_sink, json_array_sink, json_row, jsonl_sink, tsv_sink};
pub use source::{
    BadRow, FirstBadRow, Inferred, Refusals, Source, Target, TargetColumn, has_names, infer, of_schema, open,
    shown, total_bytes,
};
pub use target_file::{Compression, TargetFile, Writing};
pub use text::{ColumnText, Kind, kind_of, type_name};
