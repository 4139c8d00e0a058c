// SPDX-License-Identifier: Apache-2.0
//! The table of the benchmark, as Phoenix lays it out: four cells a row, the empty one and one per column.
//!
//! ```text
//! create table test (pk integer primary key, v1 float, v2 float, v3 integer)
//!
//! row = pk, 4 bytes, sign bit flipped; family "0"; one timestamp and one sequence number per 1,000 rows
//!   "_0" = "x"            the empty cell, which says that the row is there
//!   "V1" = rand(), 4 bytes, made sortable
//!   "V2" = rand()
//!   "V3" = pk modulo 1,000, 4 bytes, sign bit flipped
//! ```

use std::error::Error;

use basalt_hfile::{FileWrite, HFileWriter};
use basalt_model::{CellRef, CellType, Seq};

/// Cells of a row.
pub(crate) const CELLS_PER_ROW: u64 = 4;
const ROWS_PER_BATCH: u64 = 1_000;
const FIRST_BATCH_MS: i64 = 1_700_000_000_000;

/// Appends `cells` cells, rounded down to whole rows.
pub(crate) fn write<W: FileWrite>(writer: &mut HFileWriter<W>, cells: u64) -> Result<(), Box<dyn Error>> {
    let mut random = 1;
    for number in 0..cells / CELLS_PER_ROW {
        let row = sortable_int(i32::try_from(number)?);
        let batch = number / ROWS_PER_BATCH;
        let values: [(&[u8], &[u8]); CELLS_PER_ROW as usize] = [
            (b"V1", &random_float(&mut random)),
            (b"V2", &random_float(&mut random)),
            (b"V3", &sortable_int(i32::try_from(number % 1_000)?)),
            (b"_0", b"x"),
        ];
        for (qualifier, value) in values {
            writer.append(CellRef {
                row: &row,
                family: b"0",
                qualifier,
                timestamp: FIRST_BATCH_MS + i64::try_from(batch)? * 25,
                cell_type: CellType::Put,
                value,
                seq: Seq(1 + batch),
                tags: b"",
            })?;
        }
    }
    Ok(())
}

fn sortable_int(value: i32) -> [u8; 4] {
    (value as u32 ^ 1 << 31).to_be_bytes()
}

/// A number in 0..1 of SplitMix64..
fn random_float(state: &mut u64) -> [u8; 4] {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    let unit = (z >> 40) as f32 / (1 << 24) as f32;
    (unit.to_bits() ^ 1 << 31).wrapping_add(1).to_be_bytes()
}
