// SPDX-License-Identifier: Apache-2.0
use super::*;
use basalt_model::Seq;

const CELL: &[u8] = b"\0\0\0\x1a\0\0\0\x10\0\0\0\x02\0\x02r1\x01fq\0\0\0\0\0\0\x03\xe8\x04v1";

#[test]
fn a_recorded_cell_both_ways() {
    let mut reader = CellReader::new(Bytes::from_static(CELL));
    let cells = reader.take(1).unwrap();
    let cell = &cells[0];
    assert_eq!((&cell.row[..], &cell.family[..], &cell.qualifier[..]), (&b"r1"[..], &b"f"[..], &b"q"[..]));
    assert_eq!((cell.timestamp, cell.cell_type, &cell.value[..]), (1000, CellType::Put, &b"v1"[..]));
    let mut out = BytesMut::new();
    let cell = CellRef {
        row: b"r1",
        family: b"f",
        qualifier: b"q",
        timestamp: 1000,
        cell_type: CellType::Put,
        value: b"v1",
        seq: Seq(0),
        tags: b"",
    };
    encode_cell(&cell, &mut out);
    assert_eq!(out, CELL);
}

#[test]
fn every_cut_of_a_block_is_refused() {
    for len in 0..CELL.len() {
        let mut reader = CellReader::new(Bytes::from_static(&CELL[..len]));
        assert!(reader.take(1).is_err(), "{len} bytes");
    }
    assert!(CellReader::new(Bytes::from_static(CELL)).take(2).is_err());
    assert!(CellReader::new(Bytes::from_static(CELL)).take(usize::MAX).is_err());
}

/// Whatever byte is changed, the reader answers; it neither panics nor reads beyond the block.
#[test]
fn changed_bytes_are_read_or_refused() {
    for at in 0..CELL.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = CELL.to_vec();
            bytes[at] = value;
            if let Ok(cells) = CellReader::new(bytes.into()).take(1) {
                assert!(cells[0].row.len() + cells[0].value.len() <= CELL.len());
            }
        }
    }
}

#[test]
fn tags_are_found() {
    let mut bytes = CELL.to_vec();
    bytes[3] += 2 + 4;
    bytes.extend_from_slice(b"\0\x04\0\x02\x08x");
    let cells = CellReader::new(bytes.into()).take(1).unwrap();
    assert_eq!(&cells[0].tags[..], b"\0\x02\x08x");
}

#[test]
fn a_cell_whose_key_lies_ready_is_written_the_same() {
    let cell = CellRef {
        row: b"r1",
        family: b"f",
        qualifier: b"q",
        timestamp: 1000,
        cell_type: CellType::Put,
        value: b"v1",
        seq: basalt_model::Seq(7),
        tags: b"",
    };
    let (mut plain, mut flat) = (BytesMut::new(), BytesMut::new());
    encode_cell(&cell, &mut plain);
    encode_flat_cell(b"\0\x02r1\x01fq", 1000, CellType::Put, b"v1", &mut flat);
    assert_eq!(plain, flat);
}
