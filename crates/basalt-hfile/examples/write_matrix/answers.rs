// SPDX-License-Identifier: Apache-2.0
//! What Basalt's own reader answers about a file, as the texts that tests/hbase/README.md describes.

use std::fmt::Write;

use basalt_hfile::{BloomKind, CellBlock, FlatKey, HFileReader, Result};
use basalt_model::{CellType, ROW_LEN_MAX};

use crate::cells::OwnedCell;
use crate::chance::Chance;

/// Probes of a kind for each file.
const PROBES: usize = 60;

/// The cells that were written, one a line.
pub(crate) fn tsv(cells: &[OwnedCell], with_seq: bool, with_tags: bool) -> String {
    let mut out = String::from("row\tfamily\tqualifier\ttimestamp\ttype\tvalue\tseqid\ttags\n");
    for cell in cells {
        let seq = if with_seq { cell.seq } else { 0 };
        let tags = if with_tags { hex(&cell.tags) } else { String::new() };
        let (row, family, qualifier) = (hex(&cell.row), hex(&cell.family), hex(&cell.qualifier));
        let fields = [row, family, qualifier, cell.timestamp.to_string(), type_name(cell.cell_type).into()];
        out += &format!("{}\t{}\t{seq}\t{tags}\n", fields.join("\t"), hex(&cell.value));
    }
    out
}

/// Random seeks with the place of the cell that `reader` finds.
pub(crate) fn seeks(reader: &HFileReader, cells: &[OwnedCell], chance: &mut Chance) -> Result<String> {
    let blocks = (0..reader.block_count()?).map(|index| reader.read_block(index));
    let blocks = blocks.collect::<Result<Vec<_>>>()?;
    let mut out = String::from("probe\trow\tqualifier\ttimestamp\ttype\tcell\n");
    for _ in 0..PROBES {
        let OwnedCell { row, family, qualifier, timestamp, cell_type, .. } = random_key(cells, chance);
        let (row_text, qualifier_text, name) = (hex(&row), hex(&qualifier), type_name(cell_type));
        let mut probe = |text: String, key: FlatKey<'_>| -> Result<()> {
            let found = first_not_before(reader, &blocks, &key)?;
            let found = if found < cells.len() { found.to_string() } else { "end".into() };
            let _ = writeln!(out, "{text}\t{found}");
            Ok(())
        };
        probe(format!("row\t{row_text}\t-\t-\t-"), FlatKey::first_of_row(&row))?;
        let column = FlatKey::first_of_column(&row, &family, &qualifier);
        probe(format!("column\t{row_text}\t{qualifier_text}\t-\t-"), column)?;
        let cell = FlatKey { timestamp, type_code: cell_type.code(), ..column };
        probe(format!("cell\t{row_text}\t{qualifier_text}\t{timestamp}\t{name}"), cell)?;
    }
    Ok(out)
}

/// A key that is one of the cells', or close to one.
fn random_key(cells: &[OwnedCell], chance: &mut Chance) -> OwnedCell {
    let mut key = match cells {
        [] => OwnedCell::put(b"row", b"f", b"q", 1, Vec::new()),
        cells => cells[chance.below(cells.len())].clone(),
    };
    key.row = nearby(&key.row, chance);
    if key.row.is_empty() {
        // No row is empty, and HBase has no key for one.
        key.row.push(0);
    }
    key.qualifier = nearby(&key.qualifier, chance);
    // HBase's reader refuses timestamps below 0, and takes the largest for "latest".
    key.timestamp = (key.timestamp + chance.pick(&[-1, 0, 0, 1])).clamp(0, i64::MAX - 1);
    key.cell_type = chance.pick(&[key.cell_type, key.cell_type, CellType::Put, CellType::DeleteFamily]);
    key
}

/// Random questions to the Bloom filters, about rows and columns that are there and that are not.
pub(crate) fn blooms(reader: &HFileReader, cells: &[OwnedCell], chance: &mut Chance) -> Result<String> {
    let mut out = String::from("probe\trow\tqualifier\tanswer\n");
    for _ in 0..PROBES {
        let key = random_key(cells, chance);
        let beyond = [&[0xff; 3][..], &chance.bytes(2)].concat();
        let mut absent = [chance.bytes(2), key.row.clone()].concat();
        absent.truncate(ROW_LEN_MAX);
        for row in [key.row, absent, beyond] {
            let row_text = hex(&row);
            // HBase asks for a column only where the filter knows columns.
            if reader.bloom_kind() == BloomKind::RowCol {
                let answer = answer(reader.may_contain_column(&row, &key.qualifier)?);
                let _ = writeln!(out, "column\t{row_text}\t{}\t{answer}", hex(&key.qualifier));
            }
            let _ = writeln!(out, "row\t{row_text}\t-\t{}", answer(reader.may_contain_row(&row)?));
            let _ = writeln!(
                out,
                "family-delete\t{row_text}\t-\t{}",
                answer(reader.may_contain_family_delete(&row)?)
            );
        }
    }
    Ok(out)
}

/// `key` itself, or something that sorts close to it.
fn nearby(key: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut out = key.to_vec();
    match chance.below(5) {
        0 => out.push(0),
        1 => {
            out.pop();
        }
        2 => {
            if let Some(last) = out.last_mut() {
                *last = last.wrapping_add(1);
            }
        }
        _ => {}
    }
    out.truncate(ROW_LEN_MAX);
    out
}

/// Number of the first cell that is not below `key`, found through the index and then within the encoded block.
/// `blocks` are all cells, which turn the found cell into its number.
fn first_not_before(reader: &HFileReader, blocks: &[CellBlock], key: &FlatKey<'_>) -> Result<usize> {
    if blocks.is_empty() {
        return Ok(0);
    }
    let start = reader.find_block_of_key(key)?.unwrap_or(0);
    let before: usize = blocks[..start].iter().map(CellBlock::len).sum();
    let block = &blocks[start];
    let mut cursor = reader.read_encoded_block(start)?.cursor()?;
    cursor.seek(key)?;
    // Index keys are shortened, so the cell may be the first of the next block.
    let Some(found) = cursor.cell() else { return Ok(before + block.len()) };
    let within = (0..block.len()).position(|cell| block.cell(cell) == found);
    Ok(before + within.expect("cursor and decoder see the same cells"))
}

fn answer(maybe: bool) -> &'static str {
    if maybe { "maybe" } else { "absent" }
}

fn type_name(cell_type: CellType) -> &'static str {
    match cell_type {
        CellType::Put => "Put",
        CellType::Delete => "Delete",
        CellType::DeleteFamilyVersion => "DeleteFamilyVersion",
        CellType::DeleteColumn => "DeleteColumn",
        CellType::DeleteFamily => "DeleteFamily",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
