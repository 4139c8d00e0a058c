// SPDX-License-Identifier: Apache-2.0
//! Random cells, of the kinds that have ever gone wrong in some reader: several versions, every delete marker,
//! empty qualifiers and values, keys with 0x00 and 0xff, keys that share long prefixes, values beyond a block
//! and beyond a codec's buffer, many distinct tags, equal keys that differ in their sequence number.

use basalt_model::{CellRef, CellType, Seq};

use crate::chance::Chance;

/// A cell that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnedCell {
    pub(crate) row: Vec<u8>,
    pub(crate) family: Vec<u8>,
    pub(crate) qualifier: Vec<u8>,
    pub(crate) timestamp: i64,
    pub(crate) cell_type: CellType,
    pub(crate) value: Vec<u8>,
    pub(crate) seq: u64,
    pub(crate) tags: Vec<u8>,
}

impl OwnedCell {
    pub(crate) fn put(row: &[u8], family: &[u8], qualifier: &[u8], timestamp: i64, value: Vec<u8>) -> Self {
        Self {
            row: row.to_vec(),
            family: family.to_vec(),
            qualifier: qualifier.to_vec(),
            timestamp,
            cell_type: CellType::Put,
            value,
            seq: 0,
            tags: Vec::new(),
        }
    }

    pub(crate) fn borrow(&self) -> CellRef<'_> {
        CellRef {
            row: &self.row,
            family: &self.family,
            qualifier: &self.qualifier,
            timestamp: self.timestamp,
            cell_type: self.cell_type,
            value: &self.value,
            seq: Seq(self.seq),
            tags: &self.tags,
        }
    }
}

/// What the cells of a file look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Everything at once, in small pieces.
    Mixed,
    /// `Mixed` with tags on most cells, most of them repeated, more distinct ones than a dictionary holds.
    Tagged,
    /// Long keys with long shared prefixes, a long family, many deletes of whole families.
    Prefixed,
    /// A few cells with large rows, qualifiers and values, up to several times a codec's buffer.
    Big,
    /// So many rows, half of them with a delete of the family, that Bloom filters need several chunks.
    Many,
    /// Rows with the same columns and lengths, in batches, with another row now and then: what a reader makes runs of.
    Regular,
    /// No cell at all.
    Empty,
}

/// Milliseconds of about the year 2023, from which versions count back.
const NOW: i64 = 1_700_000_000_000;

/// Sorted cells of a kind; numbered if `with_seq`.
pub(crate) fn cells(kind: Kind, with_seq: bool, chance: &mut Chance) -> Vec<OwnedCell> {
    let mut cells = match kind {
        Kind::Mixed | Kind::Tagged => mixed(300, chance),
        Kind::Prefixed => prefixed(chance),
        Kind::Big => big(chance),
        Kind::Many => many(),
        Kind::Regular => regular(chance),
        Kind::Empty => Vec::new(),
    };
    if kind == Kind::Tagged {
        add_tags(&mut cells, chance);
    }
    // Those of regular rows are numbered by batch.
    if with_seq && kind != Kind::Regular {
        for cell in &mut cells {
            // Lengths of 1 to 7 bytes in a file, as of a young and of an old table.
            let bits = 4 * (1 + chance.below(12));
            cell.seq = chance.below(1 << bits) as u64;
        }
    }
    cells.sort_by(|a, b| a.borrow().compare(&b.borrow()));
    if with_seq {
        // The same key twice with different numbers is a rewrite of the same version, and legal.
        cells.dedup_by(|a, b| a.borrow().compare(&b.borrow()).is_eq());
    } else {
        cells.dedup_by(|a, b| a.borrow().compare_without_seq(&b.borrow()).is_eq());
    }
    cells
}

fn marker(cell_type: CellType, row: &[u8], family: &[u8], qualifier: &[u8], timestamp: i64) -> OwnedCell {
    OwnedCell { cell_type, ..OwnedCell::put(row, family, qualifier, timestamp, Vec::new()) }
}

fn mixed(rows: usize, chance: &mut Chance) -> Vec<OwnedCell> {
    let family: &[u8] = b"cf";
    let mut cells = Vec::new();
    for number in 0..rows {
        let row = mixed_row(number, chance);
        for column in 0..1 + chance.below(4) {
            let qualifier = mixed_qualifier(column, chance);
            let mut timestamp = NOW + chance.below(1 << 30) as i64;
            let versions = if chance.one_in(4) { 1 + chance.below(6) } else { 1 };
            for _ in 0..versions {
                cells.push(OwnedCell::put(&row, family, &qualifier, timestamp, mixed_value(chance)));
                if chance.one_in(8) {
                    cells.push(OwnedCell::put(&row, family, &qualifier, timestamp, mixed_value(chance)));
                }
                timestamp -= if chance.one_in(3) { 1 } else { chance.below(1 << 20) as i64 };
            }
            if chance.one_in(5) {
                let kind = chance.pick(&[CellType::Delete, CellType::DeleteColumn]);
                cells.push(marker(kind, &row, family, &qualifier, timestamp + chance.below(5) as i64));
            }
        }
        if chance.one_in(6) {
            let kind = chance.pick(&[CellType::DeleteFamily, CellType::DeleteFamilyVersion]);
            cells.push(marker(kind, &row, family, b"", NOW + chance.below(1 << 30) as i64));
        }
        if chance.one_in(40) {
            cells.push(OwnedCell::put(&row, family, b"oldest", 0, b"epoch".to_vec()));
            cells.push(OwnedCell::put(&row, family, b"newest", i64::MAX - 1, b"far".to_vec()));
        }
    }
    cells
}

fn mixed_row(number: usize, chance: &mut Chance) -> Vec<u8> {
    match number % 6 {
        0 => [vec![0], chance.bytes(1 + number % 5)].concat(),
        1 => [vec![0xff, 0xff], chance.bytes(number % 4)].concat(),
        2 => [b"row".to_vec(), vec![0, number as u8, 0, 0xff]].concat(),
        3 => format!("user{:08}", chance.below(100_000_000)).into_bytes(),
        // Each the beginning of the next.
        4 => b"prefix of a prefix of a prefix"[..1 + number % 30].to_vec(),
        _ => chance.bytes(1 + number % 24),
    }
}

fn mixed_qualifier(column: usize, chance: &mut Chance) -> Vec<u8> {
    match chance.below(6) {
        0 if column == 0 => Vec::new(),
        1 => chance.bytes(1 + column * 3),
        _ => format!("q{column}").into_bytes(),
    }
}

fn mixed_value(chance: &mut Chance) -> Vec<u8> {
    match chance.below(6) {
        0 => Vec::new(),
        1 | 2 => b"constant-value".to_vec(),
        _ => {
            let len = chance.below(40);
            chance.bytes(len)
        }
    }
}

fn add_tags(cells: &mut [OwnedCell], chance: &mut Chance) {
    // Twice as many as the 127 that a dictionary holds; a few are drawn most of the time.
    let pool: Vec<Vec<u8>> =
        (0..250).map(|number| tag(64 + number as u8 % 100, &chance.bytes(number % 20))).collect();
    for cell in cells {
        for _ in 0..chance.pick(&[0, 1, 1, 2, 5]) {
            let number = if chance.one_in(3) { chance.below(pool.len()) } else { chance.below(6) };
            cell.tags.extend_from_slice(&pool[number]);
        }
    }
}

/// `u16 length of type and payload | u8 type | payload`.
fn tag(tag_type: u8, payload: &[u8]) -> Vec<u8> {
    [&(1 + payload.len() as u16).to_be_bytes()[..], &[tag_type], payload].concat()
}

fn prefixed(chance: &mut Chance) -> Vec<OwnedCell> {
    let family: &[u8] = b"a_family_with_a_long_name";
    let mut cells = Vec::new();
    for number in 0..250 {
        let tenant = "tenant/0000000042/region/eu-central/".repeat(6);
        let row = format!("{tenant}{:09}", number * 3 + chance.below(3)).into_bytes();
        let timestamp = NOW + number as i64;
        for column in ["column_a", "column_b", "column_bb", "column_bbbbbbbbbbbbbbbbbbbb"] {
            let value = if chance.one_in(3) { Vec::new() } else { (number as u64).to_be_bytes().to_vec() };
            cells.push(OwnedCell::put(&row, family, column.as_bytes(), timestamp, value));
        }
        if chance.one_in(2) {
            let kind = chance.pick(&[CellType::DeleteFamily, CellType::DeleteFamilyVersion]);
            cells.push(marker(kind, &row, family, b"", timestamp - 1));
        }
    }
    cells
}

fn big(chance: &mut Chance) -> Vec<OwnedCell> {
    // The longest family and row there can be.
    let family = vec![b'f'; 127];
    let mut cells = Vec::new();
    for (number, len) in [10, 70_000, 300, 66_000, 600_000, 0, 218_422, 261_120].into_iter().enumerate() {
        let row = format!("big{number:02}").into_bytes();
        let value = if number % 2 == 0 { chance.bytes(len) } else { vec![b'z'; len] };
        cells.push(OwnedCell::put(&row, &family, b"v", NOW, value));
        cells.push(OwnedCell::put(&row, &family, &chance.bytes(3_000), NOW, b"long qualifier".to_vec()));
    }
    cells.push(OwnedCell::put(&vec![b'r'; 32_767], &family, b"", NOW, b"longest row".to_vec()));
    cells.push(OwnedCell::put(&vec![b'r'; 32_767], &family, b"q", NOW, Vec::new()));
    cells
}

fn many() -> Vec<OwnedCell> {
    let mut cells = Vec::new();
    for number in 0..250_000_u32 {
        let row = (number * 7).to_be_bytes();
        if number % 2 == 0 {
            cells.push(marker(CellType::DeleteFamily, &row, b"f", b"", NOW));
        }
        cells.push(OwnedCell::put(&row, b"f", b"q", NOW, Vec::new()));
    }
    cells
}

fn regular(chance: &mut Chance) -> Vec<OwnedCell> {
    let family: &[u8] = b"0";
    let columns: Vec<(Vec<u8>, usize)> = (0..2 + chance.below(5))
        // Where the first value were the row before's, as empty ones are, FAST_DIFF would have no runs.
        .map(|number| (number, if number == 0 { 4 } else { chance.pick(&[0, 1, 4, 4, 8, 20]) }))
        .map(|(number, value_bytes)| (format!("V{number}").into_bytes(), value_bytes))
        .collect();
    let key_bytes = chance.pick(&[4, 8, 12]);
    let (rows_per_batch, first_seq) = (chance.pick(&[7, 100, 1_000]), chance.pick(&[1, 120, 60_000]));
    let mut cells = Vec::new();
    for number in 0..2_000_usize {
        let key = (number as u64 * 3 + 200).to_be_bytes();
        let row = [&[7; 4][..key_bytes.max(8) - 8], &key[8 - key_bytes.min(8)..]].concat();
        let batch = number / rows_per_batch;
        let odd = chance.one_in(150).then(|| chance.below(4));
        for (index, (qualifier, value_bytes)) in columns.iter().enumerate() {
            let value = match odd {
                Some(0) => b"a longer value than those of other rows".to_vec(),
                Some(1) => b"same".to_vec(),
                Some(2) if index > 0 => continue,
                _ => chance.bytes(*value_bytes),
            };
            let mut cell = OwnedCell::put(&row, family, qualifier, NOW + 25 * batch as i64, value);
            cell.seq = (first_seq + batch) as u64;
            if odd == Some(3) {
                cells.push(OwnedCell { timestamp: cell.timestamp - 9, ..cell.clone() });
            }
            cells.push(cell);
        }
    }
    cells
}
