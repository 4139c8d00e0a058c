// SPDX-License-Identifier: Apache-2.0
//! Bytes of HBase, both ways: the worked examples of the format, and every data block of the fixtures.

use basalt_model::{CellType, Seq};

use super::raw_cells::raw_cell_len;
use super::*;
use crate::cells::CellSlot;
use crate::fixtures;
use crate::reader::tests_support::data_payloads;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

const TIME: i64 = 1_700_000_000_500;

fn example_cells() -> Vec<CellRef<'static>> {
    let cell =
        |row: &'static str, qualifier: &'static str, timestamp, cell_type, value: &'static str, seq| {
            CellRef {
                row: row.as_bytes(),
                family: b"f",
                qualifier: qualifier.as_bytes(),
                timestamp,
                cell_type,
                value: value.as_bytes(),
                seq: Seq(seq),
                tags: b"",
            }
        };
    vec![
        cell("r1", "a", TIME, CellType::Put, "v1", 5),
        cell("r1", "a", TIME - 250, CellType::Put, "v1", 4),
        cell("r1", "ab", TIME + 100, CellType::DeleteColumn, "", 200),
        cell("r2", "a", TIME, CellType::Put, "hello", 0),
        cell("r2x", "a", TIME, CellType::Put, "hello", 0),
    ]
}

/// Encodes the cells as one block, without the encoding's number.
fn encode(encoding: Encoding, layout: CellLayout, cells: &[CellRef<'_>]) -> Vec<u8> {
    let mut encoder = encoding.implementation().encoder(layout);
    let mut out = WriteBuffer::default();
    encoder.begin(&mut out);
    let mut raw_bytes = 0;
    for (index, cell) in cells.iter().enumerate() {
        let step = index.checked_sub(1).map(|before| CellStep::between(&FlatKey::of(&cells[before]), cell));
        let key = FlatKey::of(cell).to_vec();
        out.reserve(encoded_len_max(cell, &key));
        encoder.append(cell, &key, step.as_ref(), &mut out);
        raw_bytes += raw_cell_len(cell, layout);
    }
    encoder.finish(raw_bytes, &mut out);
    out.take_vec()
}

fn context(layout: CellLayout) -> DecodeContext {
    DecodeContext { layout, seq_override: None, cell_bytes_estimate: 0, block_raw_bytes_max: 1 << 30 }
}

fn check_both_ways(encoding: Encoding, layout: CellLayout, cells: &[CellRef<'_>], expected: &str) {
    let encoded = encode(encoding, layout, cells);
    assert_eq!(encoded, hex(expected), "{encoding}");
    let block = encoding.implementation().decode(&encoded.into(), &context(layout)).unwrap();
    let decoded: Vec<_> = (0..block.len()).map(|at| block.cell(at)).collect();
    assert_eq!(decoded, cells, "{encoding}");
}

#[test]
fn the_examples_of_the_format_come_out_byte_for_byte() {
    let layout = CellLayout { with_seq: true, ..Default::default() };
    let examples = [
        (
            Encoding::Prefix,
            "0000008e
             10 02 00 0002 7231 01 66 61 0000018bcfe569f4 04  7631  05
             03 02 0d  68fa 04       7631  04
             0a 00 07  62 0000018bcfe56a58 0c  8fc8
             0d 05 03  32 01 66 61 0000018bcfe569f4 04 68656c6c6f 00
             10 05 01  03 723278 01 66 61 0000018bcfe569f4 04 68656c6c6f 00",
        ),
        (
            Encoding::Diff,
            "0000008e 01 66
             50 10 02 00 0002 7231 61 f469e5cf8b01 04 7631 05
             0f 07 fa 7631 04
             98 11 00 07 62 5e01 0c 8fc8
             08 10 05 03 32 61 64 04 68656c6c6f 00
             0e 11 01 03723278 61 00 68656c6c6f 00",
        ),
        (
            Encoding::FastDiff,
            "0000008e
             00 10 02 00 0002 7231 01 66 61 0000018bcfe569f4 04 7631 05
             7e 07 68fa 04
             06 11 00 07 62 6a58 0c 8fc8
             06 10 05 03 32 61 69f4 04 68656c6c6f 00
             77 11 01 03723278 61 f4 00",
        ),
    ];
    for (encoding, expected) in examples {
        check_both_ways(encoding, layout, &example_cells(), expected);
    }
    let rows = encode(Encoding::RowIndexV1, layout, &example_cells());
    assert_eq!(rows[142..], hex("00000003 00000000 00000051 0000006f 0000008e"));
}

#[test]
fn the_examples_of_tags_come_out_byte_for_byte() {
    let cell = |qualifier: &'static [u8], tags: &'static [u8]| CellRef {
        row: b"r1",
        family: b"f",
        qualifier,
        timestamp: TIME,
        cell_type: CellType::Put,
        value: b"v1",
        seq: Seq(5),
        tags,
    };
    let cells = [cell(b"a", b"\0\x03\x08T1"), cell(b"b", b"\0\x03\x08T1\0\x03\x08T2"), cell(b"c", b"")];
    let mut layout = CellLayout { with_seq: true, with_tags: true, tags_compressed: false };
    check_both_ways(
        Encoding::FastDiff,
        layout,
        &cells,
        "00000066 00 10 02 00 00027231016661 0000018bcfe569f4 04 7631  05 0003085431  05
         7f 06 62 f4  0a 0003085431 0003085432  05  7f 06 63 f4  00  05",
    );
    layout.tags_compressed = true;
    check_both_ways(
        Encoding::FastDiff,
        layout,
        &cells,
        "00000066 00 10 02 00 00027231016661 0000018bcfe569f4 04 7631  05 ff 03 085431  05
         7f 06 62 f4  0a 0000 ff 03 085432  05  7f 06 63 f4  00  05",
    );
}

#[test]
fn data_blocks_of_hbase_encode_back_to_the_same_bytes() {
    for fixture in fixtures::all() {
        let reader = fixture.open();
        for (encoding, body, context) in data_payloads(&reader) {
            let block = encoding.implementation().decode(&body, &context).unwrap();
            let cells: Vec<_> = (0..block.len()).map(|at| block.cell(at)).collect();
            assert!(encode(encoding, context.layout, &cells) == body, "{}", fixture.name);
        }
    }
}

#[test]
fn a_full_tag_dictionary_drops_the_least_recently_used() {
    let tags: Vec<Vec<u8>> = (0..400u32)
        .map(|number| {
            // Tag 0 comes back every third cell and so is never dropped; the others come back once.
            let payload = if number % 3 == 0 { 0 } else { number % 200 };
            let tag = [&[8][..], &payload.to_be_bytes()].concat();
            [&(tag.len() as u16).to_be_bytes()[..], &tag].concat()
        })
        .collect();
    let rows: Vec<String> = (0..tags.len()).map(|row| format!("{row:04}")).collect();
    let cells: Vec<_> = rows
        .iter()
        .zip(&tags)
        .map(|(row, tags)| CellRef { row: row.as_bytes(), tags, ..example_cells()[0] })
        .collect();
    let layout = CellLayout { with_seq: false, with_tags: true, tags_compressed: true };
    for encoding in [Encoding::Prefix, Encoding::Diff, Encoding::FastDiff] {
        let encoded = encode(encoding, layout, &cells);
        let block = encoding.implementation().decode(&encoded.into(), &context(layout)).unwrap();
        for (at, cell) in cells.iter().enumerate() {
            assert_eq!(block.cell(at), CellRef { seq: Seq(0), ..*cell });
        }
    }
}

#[test]
fn slots_stay_small() {
    assert_eq!(size_of::<CellSlot>(), 48);
}
