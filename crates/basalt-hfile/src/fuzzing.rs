// SPDX-License-Identifier: Apache-2.0
//! Entry points for fuzzers, and what they hold the decoders to. Not part of the public interface.
//!
//! Each target takes any bytes and must return: no panic, no second of work, and never more memory allocated than
//! [`memory_bytes_max`] says. `fuzz/` at the root of the repository runs them under cargo-fuzz, one program a
//! target; `tests/corpus.rs` runs the same functions over `testdata/corpus` and mutations of it, and counts what they
//! allocate, in every test run.

use std::sync::Arc;

use basalt_model::CellRef;
use bytes::Bytes;

use crate::block::{BlockHeader, HEADER_LEN, block_in};
use crate::bloom::{BloomKind, BloomReader};
use crate::columnar::{self, Held, Stored};
use crate::compression::{Compression, decompress};
use crate::encoded_block::{Content, EncodedBlock};
use crate::encoding::{CellLayout, DecodeContext, Encoding, delta};
use crate::file_info::FileInfo;
use crate::index::{read_non_root_entries, read_root_entries};
use crate::trailer::{TRAILER_LEN, Trailer};
use crate::{CellBlock, FlatKey, HFileReader, MemoryFile, ReadOptions};

/// Raw bytes that a block may claim under a fuzzer.
pub const RAW_BYTES_MAX: u32 = 1 << 20;

/// Bytes that a target may have allocated at any moment, given an input of `len` bytes: slots, keys and row starts
/// of one block of [`RAW_BYTES_MAX`], each of which may double while it grows, and the file around it.
pub fn memory_bytes_max(len: usize) -> usize {
    12 * RAW_BYTES_MAX as usize + 64 * len
}

/// What a fuzzer calls with each input.
pub type Target = fn(&[u8]);

/// Name and function of every target.
pub const TARGETS: [(&str, Target); 18 + cfg!(feature = "typed") as usize] = [
    ("file", file),
    ("resealed_file", resealed_file),
    ("encoding_none", |data| block(Encoding::None, data)),
    ("encoding_prefix", |data| block(Encoding::Prefix, data)),
    ("encoding_diff", |data| block(Encoding::Diff, data)),
    ("encoding_fast_diff", |data| block(Encoding::FastDiff, data)),
    ("encoding_row_index_v1", |data| block(Encoding::RowIndexV1, data)),
    ("columnar_block", columnar_block),
    ("columnar_vector", columnar_vector),
    ("tags", tags),
    ("codec_gz", |data| codec(Compression::Gz, data)),
    ("codec_snappy", |data| codec(Compression::Snappy, data)),
    ("codec_lz4", |data| codec(Compression::Lz4, data)),
    ("codec_zstd", |data| codec(Compression::Zstd, data)),
    ("block_header", block_header),
    ("index", index),
    ("bloom", bloom),
    ("trailer_and_info", trailer_and_info),
    #[cfg(feature = "typed")]
    ("columnar_typed", columnar_typed),
];

/// The function of a target; panics if there is none of this name.
pub fn target(name: &str) -> Target {
    let found = TARGETS.into_iter().find(|target| target.0 == name);
    found.unwrap_or_else(|| panic!("no fuzz target is named {name}")).1
}

fn open(bytes: Vec<u8>) -> crate::Result<HFileReader> {
    let options = ReadOptions { block_raw_bytes_max: RAW_BYTES_MAX, ..Default::default() };
    HFileReader::open(Arc::new(MemoryFile::new("fuzz", bytes)), options)
}

/// A whole file, as it is: opened, verified, scanned, sought in, asked.
fn file(data: &[u8]) {
    let Ok(reader) = open(data.to_vec()) else { return };
    reader.verify(&mut |_| {});
    let Ok(blocks) = reader.block_count() else { return };
    for index in 0..blocks {
        let Ok(block) = reader.read_block(index) else { continue };
        for at in [0, block.len() / 2, block.len().saturating_sub(1)] {
            if at < block.len() {
                seek(&reader, &block.cell(at));
            }
        }
    }
    let _ = reader.find_block(b"r3");
    let _ = crate::tools::stat(&reader).map(|stat| stat.to_string());
}

/// Looks for a cell as a caller would: Bloom filter, index, cursor. Anything may come out but a panic.
fn seek(reader: &HFileReader, cell: &CellRef<'_>) {
    let _ = reader.may_contain_row(cell.row);
    let _ = reader.may_contain_column(cell.row, cell.qualifier);
    let _ = reader.may_contain_family_delete(cell.row);
    let key = FlatKey::of(cell);
    let Ok(Some(index)) = reader.find_block_of_key(&key) else { return };
    let Ok(Ok(mut cursor)) = reader.read_encoded_block(index).map(|block| block.cursor()) else { return };
    if let Ok(true) = cursor.seek(&key) {
        assert!(cursor.cell().is_some());
        let _ = cursor.previous_cell();
    }
}

/// A whole file whose checksums are first made right, so that the damage reaches the decoders.
fn resealed_file(data: &[u8]) {
    let mut bytes = data.to_vec();
    let blocks_end = bytes.len().saturating_sub(TRAILER_LEN);
    let mut at = 0;
    while let Some(header) = bytes.get(at..blocks_end).and_then(|rest| rest.first_chunk::<HEADER_LEN>()) {
        let Ok(header) = BlockHeader::parse(header) else { break };
        let total = header.total_bytes as usize;
        if at + total > blocks_end {
            break;
        }
        let mut block = bytes[at..at + header.covered_bytes as usize].to_vec();
        header.checksum.append_to(&mut block, header.checksum_chunk_bytes as usize);
        bytes[at..at + total].copy_from_slice(&block);
        at += total;
    }
    if bytes.len() >= TRAILER_LEN {
        let checksum = bytes.len() - 12;
        bytes[checksum..checksum + 8].fill(0);
    }
    file(&bytes);
}

/// One block of an encoding: a byte that chooses the layout of its cells, then the payload.
fn block(encoding: Encoding, data: &[u8]) {
    let Some((&choice, body)) = data.split_first() else { return };
    let with_tags = choice & 1 != 0;
    let layout =
        CellLayout { with_tags, tags_compressed: with_tags && choice & 2 != 0, with_seq: choice & 4 != 0 };
    let (body, context) = (Bytes::copy_from_slice(body), context(layout));
    check_block(&block_of(Content::Cells { encoding, body, context, marks: Arc::default() }));
}

fn context(layout: CellLayout) -> DecodeContext {
    let block_raw_bytes_max = RAW_BYTES_MAX as usize;
    DecodeContext { layout, seq_override: None, cell_bytes_estimate: 30, block_raw_bytes_max }
}

fn block_of(content: Content) -> EncodedBlock {
    EncodedBlock { file: Arc::new(MemoryFile::new("fuzz", Bytes::new())), offset: 0, content }
}

/// A row group with its header, its checksums made right.
fn columnar_block(data: &[u8]) {
    let layout = CellLayout { with_seq: true, ..Default::default() };
    let Ok(group) = columnar::fuzzed::open(data.to_vec(), &context(layout)) else { return };
    let group = Arc::new(group);
    let _ = group.facts();
    columnar::fuzzed::parts(&group, data);
    let encoded = block_of(Content::Columns(group.clone()));
    let block = check_walk(&encoded);
    // What a damaged index says of rows may be found out only by who reads them all: a seek may land anywhere.
    for at in block.iter().flat_map(|block| [0, block.len() / 2, block.len() - 1]) {
        let cell = block.as_ref().map(|block| block.cell(at));
        let Some(cell) = cell else { return };
        let _ = encoded.decode_row(cell.row);
        let _ = encoded.cursor().and_then(|mut cursor| cursor.seek(&FlatKey::of(&cell)));
    }
    let _ = encoded.decode_row(b"row");
    for column in 0..group.columns().count() {
        for vector in 0..group.vectors().min(3) {
            let _ = Held::default().vector(&group, Stored::Column(column), vector).is_ok();
            let _ = group.vector_bounds(column, vector);
        }
    }
}

/// A row group whose rows become record batches: a byte that chooses what its bytes are taken for, then the block.
#[cfg(feature = "typed")]
fn columnar_typed(data: &[u8]) {
    let Some((&choice, block)) = data.split_first() else { return };
    let layout = CellLayout { with_seq: true, ..Default::default() };
    let Ok(group) = columnar::fuzzed::open(block.to_vec(), &context(layout)) else { return };
    let group = Arc::new(group);
    let cells = block_of(Content::Columns(group.clone())).decode();
    crate::typed::fuzzed::read(&group, cells.ok(), choice);
}

/// One vector of a section.
fn columnar_vector(data: &[u8]) {
    let _ = columnar::fuzzed::vector(data, RAW_BYTES_MAX as usize);
}

/// Sound inputs for the target `columnar_vector`, by the names of their schemes.
pub fn columnar_vectors() -> Vec<(&'static str, Vec<u8>)> {
    columnar::fuzzed::vectors()
}

/// The input of an encoding's target that stands for a block of a file.
pub fn block_input(block: &EncodedBlock) -> Vec<u8> {
    let Content::Cells { body, context, .. } = &block.content else { return Vec::new() };
    let layout = context.layout;
    let flags = [(layout.with_tags, 1), (layout.tags_compressed, 2), (layout.with_seq, 4)];
    let choice = flags.into_iter().filter(|(set, _)| *set).fold(0, |choice, (_, flag)| choice | flag);
    [&[choice], &body[..]].concat()
}

/// The cursor, the runs of rows and the single row must give what the batch decoder gives, if that succeeds.
fn check_block(encoded: &EncodedBlock) {
    let Some(block) = check_walk(encoded) else { return };
    // The first seek goes without marks, the second makes them, those behind it use them.
    for at in [0, block.len() / 2, block.len() - 1, block.len() / 3] {
        check_seek(encoded, &block, at);
    }
}

/// The cells of the block, if there are any, by batch; by runs of rows and by cursor they must be the same.
fn check_walk(encoded: &EncodedBlock) -> Option<CellBlock> {
    let decoded = encoded.decode();
    match (&decoded, encoded.decode_rows()) {
        (Ok(block), Ok(rows)) => {
            let mut at = 0;
            rows.for_each_cell(|cell| {
                assert_eq!(*cell, block.cell(at), "cell {at} by rows and by batch");
                at += 1;
            });
            assert_eq!((at, rows.len(), rows.is_plain()), (block.len(), block.len(), block.plain));
        }
        (decoded, rows) => assert_eq!(decoded.is_err(), rows.is_err()),
    }
    let Ok(mut cursor) = encoded.cursor() else { return None };
    let mut walked = 0;
    while let Ok(true) = cursor.next_cell() {
        if let Ok(block) = &decoded {
            assert_eq!(cursor.cell(), Some(block.cell(walked)), "cell {walked} by cursor and by batch");
        }
        walked += 1;
    }
    while let Ok(true) = cursor.previous_cell() {}
    let block = decoded.ok()?;
    assert_eq!(walked, block.len());
    (walked > 0).then_some(block)
}

fn check_seek(encoded: &EncodedBlock, block: &CellBlock, at: usize) {
    let cell = block.cell(at);
    let found = encoded.cursor().and_then(|mut cursor| {
        let found = cursor.seek(&FlatKey::of(&cell))?;
        let landed = cursor.cell().map(|cell| FlatKey::of(&cell).to_vec());
        cursor.previous_cell()?;
        Ok((found, landed))
    });
    let row = encoded.decode_row(cell.row);
    // Damaged cells may be out of order; then a seek lands somewhere, which is all that can be asked.
    let sorted = (1..block.len()).all(|at| block.cell(at - 1).compare_without_seq(&block.cell(at)).is_le());
    if sorted {
        assert!(matches!(found, Ok((true, Some(key))) if key == FlatKey::of(&cell).to_vec()));
        let expected = (0..block.len()).filter(|&at| block.row(at) == cell.row).count();
        assert_eq!(row.map(|row| row.len()).ok(), Some(expected));
    }
}

/// Dictionary-coded tags: for each cell a byte with the raw length of its tags, then the coded tags.
fn tags(data: &[u8]) {
    let mut reader = delta::TagReader::default();
    let (mut at, mut raw) = (0, Vec::new());
    while let Some(&len) = data.get(at) {
        let before = raw.len();
        let Some(end) = reader.read(data, at + 1, len.into(), &mut raw) else { return };
        assert_eq!(raw.len() - before, usize::from(len));
        assert!(delta::tags_are_whole(&raw[before..]));
        at = end;
    }
}

/// A compressed payload: raw length (24 bits), then the stored bytes.
fn codec(compression: Compression, data: &[u8]) {
    let Some((&[a, b, c], stored)) = data.split_first_chunk() else { return };
    let raw_len = (u32::from_be_bytes([0, a, b, c]) % RAW_BYTES_MAX) as usize;
    if let Ok(raw) = decompress(compression, &Bytes::copy_from_slice(stored), raw_len) {
        assert_eq!(raw.len(), raw_len);
    }
}

/// A block with its header and checksums, and a header by itself.
fn block_header(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    if let Ok(block) = block_in(&bytes, 0) {
        assert_eq!(block.stored.len(), block.header.covered_bytes as usize - HEADER_LEN);
        for compression in Compression::ALL {
            let _ = block.payload(compression, RAW_BYTES_MAX as usize);
        }
    }
    let Some(Ok(header)) = data.first_chunk().map(BlockHeader::parse) else { return };
    let mut again = [0; HEADER_LEN];
    header.write_over(&mut again);
    assert_eq!(BlockHeader::parse(&again), Ok(header));
}

/// Index blocks of both forms, and flat keys.
fn index(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let mut entries = 0;
    let mut count = |_, key: Bytes| {
        entries += 1;
        if let Some(parsed) = FlatKey::parse(&key) {
            assert_eq!(parsed.to_vec(), key);
        }
        Ok(())
    };
    let _ = read_non_root_entries(&bytes, &mut count);
    let _ = read_root_entries(&bytes, 1000, &mut count);
    assert!(entries <= data.len());
    if let Some(key) = FlatKey::parse(data) {
        assert_eq!(key.to_vec(), data);
    }
}

/// The metadata of a Bloom filter, then asked with a chunk that has every other bit set.
fn bloom(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    for kind in [BloomKind::Row, BloomKind::RowCol] {
        if let Ok(bloom) = BloomReader::parse(&bytes, kind) {
            let _ = bloom.chunk_before(u64::MAX);
            for key in [data, b"row1", b""] {
                let _ = bloom.may_contain(key, |_| Ok(Bytes::from_static(b"\x55\x55\x55")));
            }
        }
    }
}

/// A trailer, its length made right; and file info.
fn trailer_and_info(data: &[u8]) {
    let mut trailer = data.to_vec();
    let version = trailer.split_off(data.len().saturating_sub(4));
    trailer.resize(TRAILER_LEN - version.len(), 0);
    trailer.extend(version);
    if let Ok(trailer) = Trailer::decode(&trailer) {
        // What is written is always the newest minor version.
        let again = Trailer::decode(&trailer.encode()).ok();
        assert_eq!(
            again.clone().map(|again| Trailer { minor_version: trailer.minor_version, ..again }),
            Some(trailer)
        );
    }
    if let Ok(info) = FileInfo::decode(data) {
        let mut again = Vec::new();
        info.encode(&mut again);
        assert_eq!(FileInfo::decode(&again).as_ref(), Ok(&info));
    }
}
