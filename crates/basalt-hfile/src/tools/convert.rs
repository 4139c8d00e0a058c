// SPDX-License-Identifier: Apache-2.0
//! Rewriting a file: same cells, other encoding, compression or block size.

use crate::bloom::BloomKind;
use crate::compression::Compression;
use crate::encoding::Encoding;
use crate::error::Result;
use crate::file::FileWrite;
use crate::file_info::keys;
use crate::options::WriterOptions;
use crate::reader::HFileReader;
use crate::writer::{FileSummary, HFileWriter};

/// What to change; `None` keeps what the file has.
#[derive(Debug, Clone, Default)]
pub struct ConvertOptions {
    /// Data block encoding.
    pub encoding: Option<Encoding>,
    /// Compression.
    pub compression: Option<Compression>,
    /// Level of the compression; `None` is the codec's default.
    pub compression_level: Option<i32>,
    /// Block size; files do not say theirs, so `None` is 65,536.
    pub block_bytes: Option<u32>,
    /// Index block size; `None` is 131,072.
    pub index_block_bytes: Option<u32>,
    /// Entries below which an index level is not split; `None` is 16.
    pub index_entries_min: Option<u32>,
    /// Bloom filter.
    pub bloom: Option<BloomKind>,
}

/// Entries of the file info that belong to the form of a file, not to its cells.
const OF_THE_FORM: [&[u8]; 8] = [
    keys::FILE_NUMBER,
    keys::DATA_BLOCK_ENCODING,
    keys::INDEX_BLOCK_ENCODING,
    keys::BLOOM_FILTER_TYPE,
    keys::BLOOM_FILTER_PARAM,
    keys::LAST_BLOOM_KEY,
    keys::KEY_VALUE_VERSION,
    keys::MAX_MEMSTORE_TS_KEY,
];

/// Writes the cells of `reader` to `out`, and what its file info says of them.
pub fn convert<W: FileWrite>(reader: &HFileReader, out: W, options: &ConvertOptions) -> Result<FileSummary> {
    let mut writer = HFileWriter::new(out, writer_options(reader, options))?;
    for (key, value) in reader.file_info().iter() {
        if !key.starts_with(b"hfile.") && !OF_THE_FORM.contains(&key) {
            writer.add_file_info(key, value);
        }
    }
    for index in 0..reader.block_count()? {
        writer.append_block(&reader.read_rows(index)?)?;
    }
    writer.finish()
}

fn writer_options(reader: &HFileReader, options: &ConvertOptions) -> WriterOptions {
    let defaults = WriterOptions::default();
    WriterOptions {
        encoding: options.encoding.unwrap_or(reader.encoding()),
        compression: options.compression.unwrap_or(reader.trailer().compression),
        compression_level: options.compression_level,
        block_bytes: options.block_bytes.unwrap_or(defaults.block_bytes),
        index_block_bytes: options.index_block_bytes.unwrap_or(defaults.index_block_bytes),
        index_entries_min: options.index_entries_min.unwrap_or(defaults.index_entries_min),
        bloom: options.bloom.unwrap_or(reader.bloom_kind()),
        bloom_hash: reader
            .general_bloom()
            .or(reader.delete_family_bloom())
            .map_or(defaults.bloom_hash, |bloom| bloom.hash),
        file_number: reader.file_info().i64(keys::FILE_NUMBER).unwrap_or(0) as u64,
        with_seq: reader.has_seq(),
        with_tags: reader.has_tags(),
        tags_compressed: reader.has_compressed_tags(),
        create_time_ms: reader.file_info().i64(keys::CREATE_TIME_TS).unwrap_or(0),
        trailer_checksum: reader.trailer().checksummed,
        order: reader.trailer().order,
        ..defaults
    }
}
