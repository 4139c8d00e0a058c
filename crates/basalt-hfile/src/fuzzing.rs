// SPDX-License-Identifier: Apache-2.0
//! Entry points for fuzzers, and what they hold the decoders to. Not part of the public interface.
//!
//! Each function takes any bytes and must return: no panic, no hang, and no more memory than a small multiple
//! of [`RAW_BYTES_MAX`]. `fuzz/` at the root of the repository runs them under cargo-fuzz; `tests/corpus.rs` runs the
//! same functions over `testdata/corpus` and over mutations of it, in every test run.

use std::sync::Arc;

use basalt_model::CellRef;
use bytes::Bytes;

use crate::block::{BlockHeader, HEADER_LEN};
use crate::bloom::{BloomKind, BloomReader};
use crate::compression::{Compression, decompress};
use crate::encoded_block::EncodedBlock;
use crate::encoding::{CellLayout, DecodeContext, Encoding};
use crate::file_info::FileInfo;
use crate::index::{read_non_root_entries, read_root_entries};
use crate::trailer::{TRAILER_LEN, Trailer};
use crate::{FlatKey, HFileReader, MemoryFile, ReadOptions};

/// Raw bytes that a block may claim under a fuzzer.
pub const RAW_BYTES_MAX: u32 = 1 << 20;
/// Bytes of slots and keys that one byte of a block may become: the smallest delta-encoded cell has four bytes, its
/// slot 48, and row starts double while they grow.
const UNFOLD_MAX: usize = 64;

/// Names and functions of all targets.
pub const TARGETS: [(&str, fn(&[u8])); 5] =
    [("file", file), ("resealed_file", resealed_file), ("block", block), ("codec", codec), ("parts", parts)];

/// A whole file, as it is.
pub fn file(data: &[u8]) {
    let options = ReadOptions { block_raw_bytes_max: RAW_BYTES_MAX, ..Default::default() };
    let Ok(reader) = HFileReader::open(Arc::new(MemoryFile::new("fuzz", data.to_vec())), options) else { return };
    reader.verify(&mut |_| {});
    let Ok(blocks) = reader.block_count() else { return };
    for index in 0..blocks {
        let Ok(block) = reader.read_block(index) else { continue };
        for at in 0..block.len() {
            let cell = block.cell(at);
            let _ = reader.may_contain_row(cell.row);
            let _ = reader.may_contain_column(cell.row, cell.qualifier);
        }
    }
    let _ = reader.find_block(b"r3");
    let _ = crate::tools::stat(&reader).map(|stat| stat.to_string());
}

/// A whole file whose checksums are first made right, so that the damage reaches the decoders.
pub fn resealed_file(data: &[u8]) {
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

/// One block: a byte that chooses encoding and layout, then the payload.
pub fn block(data: &[u8]) {
    let Some((&choice, body)) = data.split_first() else { return };
    let encoded = EncodedBlock {
        file: Arc::new(MemoryFile::new("fuzz", Bytes::new())),
        offset: 0,
        encoding: Encoding::ALL[usize::from(choice & 7) % Encoding::ALL.len()],
        body: Bytes::copy_from_slice(body),
        context: DecodeContext {
            layout: CellLayout {
                with_tags: choice & 0x10 != 0,
                tags_compressed: choice & 0x20 != 0,
                with_seq: choice & 0x40 != 0,
            },
            seq_override: None,
            cell_bytes_estimate: 30,
            block_raw_bytes_max: RAW_BYTES_MAX as usize,
        },
    };
    check_block(&encoded);
}

/// The input for [`block`] that stands for a block of a file.
pub fn block_input(block: &EncodedBlock) -> Vec<u8> {
    let layout = block.context.layout;
    let encoding = Encoding::ALL.iter().position(|encoding| *encoding == block.encoding).unwrap_or(0) as u8;
    let flags = [(layout.with_tags, 0x10), (layout.tags_compressed, 0x20), (layout.with_seq, 0x40)];
    let choice = flags.into_iter().filter(|(set, _)| *set).fold(encoding, |choice, (_, flag)| choice | flag);
    [&[choice], &block.body[..]].concat()
}

/// The cursor must give what the batch decoder gives, if that succeeds; and neither may grow without bound.
fn check_block(encoded: &EncodedBlock) {
    let decoded = encoded.decode();
    let Ok(mut cursor) = encoded.cursor() else { return };
    let mut walked = 0;
    while let Ok(true) = cursor.next_cell() {
        if let Ok(block) = &decoded {
            assert_eq!(cursor.cell(), Some(block.cell(walked)), "cell {walked} by cursor and by batch");
        }
        walked += 1;
    }
    while let Ok(true) = cursor.previous_cell() {}
    let Ok(block) = decoded else { return };
    assert_eq!(walked, block.len());
    assert!(block.keys.len() + block.tags.len() <= 2 * RAW_BYTES_MAX as usize + encoded.body.len());
    assert!(block.slots.len() * size_of::<crate::CellSlot>() <= UNFOLD_MAX * (encoded.body.len() + 1));
    let cells: Vec<CellRef<'_>> = (0..block.len()).map(|at| block.cell(at)).collect();
    let Some(middle) = cells.get(cells.len() / 2) else { return };
    // Damaged cells may be out of order; then a seek lands somewhere, which is all that can be asked.
    let sorted = cells.windows(2).all(|pair| pair[0].compare_without_seq(&pair[1]).is_le());
    let found = cursor.seek(&FlatKey::of(middle));
    let row = encoded.decode_row(middle.row);
    if sorted {
        assert!(matches!(found, Ok(true)));
        let expected = cells.iter().filter(|cell| cell.row == middle.row).count();
        assert_eq!(row.map(|row| row.len()).ok(), Some(expected));
    }
}

/// A compressed payload: codec, raw length (24 bits), then the stored bytes.
pub fn codec(data: &[u8]) {
    let Some((&[codec, a, b, c], stored)) = data.split_first_chunk() else { return };
    let compression = Compression::ALL[usize::from(codec) % Compression::ALL.len()];
    let raw_len = (u32::from_be_bytes([0, a, b, c]) % RAW_BYTES_MAX) as usize;
    if let Ok(raw) = decompress(compression, &Bytes::copy_from_slice(stored), raw_len) {
        assert_eq!(raw.len(), raw_len);
    }
}

/// The small formats, each given the same bytes.
pub fn parts(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let mut trailer = data.to_vec();
    trailer.resize(TRAILER_LEN, 0);
    let _ = Trailer::decode(&trailer);
    let _ = FileInfo::decode(data);
    for kind in [BloomKind::Row, BloomKind::RowCol] {
        if let Ok(bloom) = BloomReader::parse(&bytes, kind) {
            let _ = bloom.may_contain(data, |_| Ok(Bytes::from_static(b"\x55")));
        }
    }
    let mut entries = 0;
    let _ = read_non_root_entries(&bytes, |_, _| {
        entries += 1;
        Ok(())
    });
    let _ = read_root_entries(&bytes, 1000, |_, _| {
        entries += 1;
        Ok(())
    });
    assert!(entries <= data.len());
    if let Some(header) = data.first_chunk() {
        let _ = BlockHeader::parse(header);
    }
    if let Some(key) = FlatKey::parse(data) {
        assert_eq!(key.to_vec(), data);
    }
}
