// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use super::*;
use crate::{Compression, HFileReader, MemoryFile, ReadOptions};

fn put<'a>(row: &'a [u8], qualifier: &'a [u8], timestamp: i64, value: &'a [u8], seq: u64) -> CellRef<'a> {
    let (family, tags) = (&b"f"[..], &b""[..]);
    CellRef { row, family, qualifier, timestamp, cell_type: CellType::Put, value, seq: Seq(seq), tags }
}

fn write(options: WriterOptions, cells: &[CellRef<'_>]) -> (Vec<u8>, FileSummary) {
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for cell in cells {
        writer.append(*cell).unwrap();
    }
    let (summary, file) = writer.finish_into().unwrap();
    (file, summary)
}

#[test]
fn what_is_written_reads_back_through_all_index_levels() {
    let rows: Vec<String> = (0..3000).map(|row| format!("row{row:05}")).collect();
    let mut cells = vec![];
    for (number, row) in rows.iter().enumerate() {
        cells.push(put(row.as_bytes(), b"a", 7, row.as_bytes(), number as u64));
        cells.push(put(row.as_bytes(), b"b", 7, b"", 300));
    }
    for compression in [Compression::None, Compression::Zstd] {
        let options =
            WriterOptions { compression, block_bytes: 128, index_block_bytes: 256, ..Default::default() };
        let (bytes, summary) = write(options, &cells);
        assert_eq!((summary.cells, summary.rows, summary.deletes), (6000, 3000, 0));
        assert_eq!(summary.size_bytes, bytes.len() as u64);
        let file = Arc::new(MemoryFile::new("test", bytes));
        let reader = HFileReader::open(file, ReadOptions::default()).unwrap();
        assert!(reader.trailer().data_index_levels >= 3);
        let mut back = 0;
        for index in 0..reader.block_count().unwrap() {
            let block = reader.read_block(index).unwrap();
            assert!(block.plain);
            for at in 0..block.len() {
                assert_eq!(block.cell(at), cells[back]);
                back += 1;
            }
        }
        assert_eq!(back, cells.len());
        for row in &rows {
            assert!(reader.may_contain_row(row.as_bytes()).unwrap());
            let index = reader.find_block(row.as_bytes()).unwrap().unwrap();
            let block = reader.read_block(index).unwrap();
            let found = block.lower_bound_row(row.as_bytes());
            let next = if found == block.len() {
                reader.read_block(index + 1).unwrap().row(0).to_vec()
            } else {
                block.row(found).to_vec()
            };
            assert_eq!(next, row.as_bytes());
        }
        let absent =
            (0..3000).filter(|row| reader.may_contain_row(format!("no{row}").as_bytes()).unwrap()).count();
        assert!(absent < 150, "{absent} of 3000 absent rows pass the bloom filter");
        assert_eq!(reader.find_block(b"a").unwrap(), Some(0));
        assert_eq!(reader.find_block(b"z").unwrap(), None);
        reader.verify(&mut |finding| panic!("{finding}"));
    }
}

#[test]
fn cells_out_of_order_are_refused() {
    let mut writer = HFileWriter::new(Vec::new(), WriterOptions::default()).unwrap();
    writer.append(put(b"b", b"q", 5, b"", 0)).unwrap();
    writer.append(put(b"b", b"q", 5, b"", 0)).unwrap();
    for wrong in [put(b"a", b"q", 5, b"", 0), put(b"b", b"p", 5, b"", 0), put(b"b", b"q", 6, b"", 0)] {
        assert!(matches!(writer.append(wrong), Err(Error::Order { .. })));
    }
    assert!(matches!(writer.append(put(b"", b"q", 5, b"", 0)), Err(Error::Invalid { .. })));
    assert_eq!(writer.finish().unwrap().cells, 2);
}

#[test]
fn an_empty_file_opens() {
    let (bytes, summary) = write(WriterOptions::default(), &[]);
    assert_eq!(summary.cells, 0);
    let reader =
        HFileReader::open(Arc::new(MemoryFile::new("empty", bytes)), ReadOptions::default()).unwrap();
    assert_eq!(reader.block_count().unwrap(), 0);
    assert_eq!(reader.find_block(b"a").unwrap(), None);
    assert_eq!(reader.last_row(), None);
}

#[test]
fn a_sequence_number_given_at_opening_replaces_the_stored_ones() {
    let (bytes, _) = write(WriterOptions::default(), &[put(b"a", b"q", 5, b"v", 3)]);
    let options = ReadOptions { seq_override: Some(Seq(99)), ..Default::default() };
    let reader = HFileReader::open(Arc::new(MemoryFile::new("bulk", bytes)), options).unwrap();
    assert_eq!(reader.read_block(0).unwrap().cell(0).seq, Seq(99));
}
