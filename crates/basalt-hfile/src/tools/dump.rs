// SPDX-License-Identifier: Apache-2.0
//! All cells of a file as text, one line each, in the form of the fixtures that HBase's own reader made:
//! row, family and qualifier in hex, timestamp, type name, value in hex, sequence number, tags in hex.

use std::io::{self, Write};

use basalt_model::{CellRef, CellType};

use crate::error::Result;
use crate::reader::HFileReader;

/// The first line of a dump.
pub const DUMP_HEADER: &str = "row\tfamily\tqualifier\ttimestamp\ttype\tvalue\tseqid\ttags";

/// Why a dump ended early.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] crate::Error),
    /// The output could not be written.
    #[error("cannot write the dump")]
    Output(#[from] io::Error),
}

/// Writes a header line and then one line per cell.
pub fn dump(reader: &HFileReader, out: &mut dyn Write) -> Result<(), DumpError> {
    writeln!(out, "{DUMP_HEADER}")?;
    let mut lines = Vec::new();
    for index in 0..reader.block_count()? {
        let block = reader.read_block(index)?;
        lines.clear();
        for at in 0..block.len() {
            write_line(&block.cell(at), &mut lines);
        }
        out.write_all(&lines)?;
    }
    Ok(())
}

fn write_line(cell: &CellRef<'_>, out: &mut Vec<u8>) {
    let tab = |out: &mut Vec<u8>| out.push(b'\t');
    for part in [cell.row, cell.family, cell.qualifier] {
        write_hex(part, out);
        tab(out);
    }
    out.extend_from_slice(format!("{}\t{}\t", cell.timestamp, type_name(cell.cell_type)).as_bytes());
    write_hex(cell.value, out);
    out.extend_from_slice(format!("\t{}\t", cell.seq.0).as_bytes());
    write_hex(cell.tags, out);
    out.push(b'\n');
}

fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for &byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// HBase's name of a type.
fn type_name(cell_type: CellType) -> &'static str {
    match cell_type {
        CellType::Put => "Put",
        CellType::Delete => "Delete",
        CellType::DeleteFamilyVersion => "DeleteFamilyVersion",
        CellType::DeleteColumn => "DeleteColumn",
        CellType::DeleteFamily => "DeleteFamily",
    }
}
