// SPDX-License-Identifier: Apache-2.0
//! A description of a file: trailer, file info, shape of the index, statistics of blocks and cells, Bloom
//! filters. [`FileStat`] prints as text and serialises as JSON.

use std::collections::BTreeMap;
use std::fmt;

use basalt_model::CellType;
use basalt_model::escape::Escaped;
use serde::Serialize;

use crate::bloom::{BloomFacts, BloomKind};
use crate::columnar::SectionFacts;
use crate::compression::Compression;
use crate::encoding::Encoding;
use crate::error::Result;
use crate::file_info::keys;
use crate::reader::HFileReader;
use crate::trailer::Trailer;

/// Everything worth knowing of a file, short of its cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileStat {
    /// Name.
    pub file: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Data block encoding.
    pub encoding: Encoding,
    /// The trailer.
    pub trailer: Trailer,
    /// File info, keys and values as text.
    pub file_info: Vec<InfoEntry>,
    /// Shape of the data index.
    pub index: IndexStat,
    /// Data blocks.
    pub blocks: BlockStat,
    /// Sections of row groups, those of one purpose together, in the order in which they first occur.
    pub sections: Vec<SectionStat>,
    /// Cells.
    pub cells: CellStat,
    /// What the general Bloom filter answers for.
    pub bloom: BloomKind,
    /// Facts of the general Bloom filter.
    pub general_bloom: Option<BloomFacts>,
    /// Facts of the delete-family Bloom filter.
    pub delete_family_bloom: Option<BloomFacts>,
}

/// One entry of the file info.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InfoEntry {
    /// Key, escaped.
    pub key: String,
    /// Value: a number where the key is known to hold one, the length of sketches, else escaped bytes.
    pub value: String,
}

/// The data index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexStat {
    /// Levels; 1 if the root points to data blocks.
    pub levels: u32,
    /// Entries of the root.
    pub root_entries: u32,
    /// Entries that point to data blocks.
    pub data_entries: usize,
    /// Bytes of all index keys at the lowest level.
    pub key_bytes: u64,
}

/// The data blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BlockStat {
    /// How many.
    pub count: usize,
    /// Bytes on disk, with headers and checksums.
    pub disk_bytes: u64,
    /// Bytes after decompression, still encoded.
    pub encoded_bytes: u64,
    /// Bytes of the cells in raw form, keys and values.
    pub raw_bytes: u64,
    /// Cells of the smallest block.
    pub cells_min: usize,
    /// Cells of the largest block.
    pub cells_max: usize,
}

/// Sections of one purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SectionStat {
    /// What they hold, and of which key part or column.
    pub what: String,
    /// Schemes and codecs, each with the number of sections.
    pub schemes: BTreeMap<String, usize>,
    /// Values.
    pub values: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
}

impl SectionStat {
    /// Adds a section to the others of its purpose.
    fn add(all: &mut Vec<Self>, facts: SectionFacts) {
        let at = all.iter().position(|stat| stat.what == facts.what).unwrap_or_else(|| {
            let (what, schemes) = (facts.what.clone(), BTreeMap::new());
            all.push(Self { what, schemes, values: 0, disk_bytes: 0 });
            all.len() - 1
        });
        let scheme = match facts.compression {
            Compression::None => facts.scheme.to_owned(),
            codec => format!("{} {codec}", facts.scheme),
        };
        *all[at].schemes.entry(scheme).or_default() += 1;
        all[at].values += u64::from(facts.values);
        all[at].disk_bytes += u64::from(facts.bytes);
    }
}

/// The cells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CellStat {
    /// How many.
    pub count: u64,
    /// Distinct rows.
    pub rows: u64,
    /// Puts.
    pub puts: u64,
    /// Delete markers of single versions.
    pub deletes: u64,
    /// Delete markers of columns.
    pub delete_columns: u64,
    /// Delete markers of families.
    pub delete_families: u64,
    /// Delete markers of single versions of families.
    pub delete_family_versions: u64,
    /// Bytes of keys.
    pub key_bytes: u64,
    /// Bytes of values.
    pub value_bytes: u64,
    /// Bytes of tags.
    pub tag_bytes: u64,
}

/// Describes a file; reads all of it.
pub fn stat(reader: &HFileReader) -> Result<FileStat> {
    let mut blocks = BlockStat { count: reader.block_count()?, cells_min: usize::MAX, ..Default::default() };
    let mut cells = CellStat::default();
    let mut key_bytes = 0;
    let mut last_row = Vec::new();
    let mut sections = Vec::new();
    for index in 0..blocks.count {
        let encoded = reader.read_encoded_block(index)?;
        let block = encoded.decode()?;
        if let Some(group) = encoded.columns() {
            group.facts()?.into_iter().for_each(|facts| SectionStat::add(&mut sections, facts));
        }
        blocks.disk_bytes += u64::from(reader.block_extent(index)?.size_bytes);
        blocks.encoded_bytes += encoded.memory_bytes() as u64;
        blocks.cells_min = blocks.cells_min.min(block.len());
        blocks.cells_max = blocks.cells_max.max(block.len());
        key_bytes += reader.block_first_key(index)?.len() as u64;
        cells.count += block.len() as u64;
        cells.rows += block.row_starts.len() as u64;
        // A row may go on from the block before.
        if !block.is_empty() && index > 0 && block.row(0) == last_row {
            cells.rows -= 1;
        }
        for at in 0..block.len() {
            count_cell(&mut cells, &block.cell(at));
        }
        last_row = block.len().checked_sub(1).map(|last| block.row(last).to_vec()).unwrap_or_default();
    }
    blocks.cells_min = blocks.cells_min.min(blocks.cells_max);
    blocks.raw_bytes = cells.key_bytes + cells.value_bytes + cells.tag_bytes + 8 * cells.count;
    Ok(FileStat {
        file: reader.name().to_owned(),
        size_bytes: reader.size_bytes(),
        encoding: reader.encoding(),
        trailer: reader.trailer().clone(),
        file_info: reader.file_info().iter().map(|(key, value)| info_entry(key, value)).collect(),
        index: IndexStat {
            levels: reader.trailer().data_index_levels,
            root_entries: reader.trailer().data_index_count,
            data_entries: blocks.count,
            key_bytes,
        },
        blocks,
        sections,
        cells,
        bloom: reader.bloom_kind(),
        general_bloom: reader.general_bloom().cloned(),
        delete_family_bloom: reader.delete_family_bloom().cloned(),
    })
}

fn count_cell(stat: &mut CellStat, cell: &basalt_model::CellRef<'_>) {
    let count = match cell.cell_type {
        CellType::Put => &mut stat.puts,
        CellType::Delete => &mut stat.deletes,
        CellType::DeleteColumn => &mut stat.delete_columns,
        CellType::DeleteFamily => &mut stat.delete_families,
        CellType::DeleteFamilyVersion => &mut stat.delete_family_versions,
    };
    *count += 1;
    stat.key_bytes += crate::key::FlatKey::of(cell).len() as u64;
    stat.value_bytes += cell.value.len() as u64;
    stat.tag_bytes += cell.tags.len() as u64;
}

/// Keys whose values are big-endian integers.
const NUMBERS: [&[u8]; 12] = [
    keys::AVG_KEY_LEN,
    keys::AVG_VALUE_LEN,
    keys::CREATE_TIME_TS,
    keys::LEN_OF_BIGGEST_CELL,
    keys::MAX_TAGS_LEN,
    keys::KEY_VALUE_VERSION,
    keys::MAX_MEMSTORE_TS_KEY,
    keys::DELETE_FAMILY_COUNT,
    keys::MAX_SEQ_ID_KEY,
    keys::EARLIEST_PUT_TS,
    keys::BLOOM_FILTER_PARAM,
    b"BULKLOAD_TIMESTAMP",
];

fn info_entry(key: &[u8], value: &[u8]) -> InfoEntry {
    let number = |bytes: &[u8]| match bytes.len() {
        4 => bytes.try_into().ok().map(i32::from_be_bytes).map(i64::from),
        8 => bytes.try_into().ok().map(i64::from_be_bytes),
        _ => None,
    };
    let known = NUMBERS.contains(&key).then(|| number(value)).flatten().map(|number| number.to_string());
    let range = || Some(format!("{} to {}", number(value.get(..8)?)?, number(value.get(8..)?)?));
    let known = known.or_else(|| match key {
        keys::TIMERANGE => range(),
        // Registers by the thousand, which say nothing to people.
        keys::SKETCHES => Some(format!("{} bytes", value.len())),
        _ => None,
    });
    InfoEntry { key: Escaped(key).to_string(), value: known.unwrap_or_else(|| Escaped(value).to_string()) }
}

impl fmt::Display for FileStat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trailer { compression, minor_version, .. } = self.trailer;
        writeln!(
            f,
            "{}: {} bytes, HFile 3.{minor_version}, {}, {compression}",
            self.file, self.size_bytes, self.encoding
        )?;
        self.fmt_trailer(f)?;
        writeln!(f, "\nfile info")?;
        for entry in &self.file_info {
            line(f, &entry.key, &entry.value)?;
        }
        self.fmt_shape(f)?;
        self.fmt_bloom(f, "bloom filter", self.bloom.name(), self.general_bloom.as_ref())?;
        self.fmt_bloom(f, "delete-family bloom filter", "ROW", self.delete_family_bloom.as_ref())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<32} {value}")
}

impl FileStat {
    fn fmt_trailer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trailer = &self.trailer;
        writeln!(f, "\ntrailer")?;
        line(f, "file info offset", trailer.file_info_offset)?;
        line(f, "load-on-open offset", trailer.load_on_open_offset)?;
        line(f, "data index raw bytes", trailer.data_index_raw_bytes)?;
        line(f, "raw bytes", trailer.raw_bytes)?;
        line(f, "data index entries", trailer.data_index_count)?;
        line(f, "meta index entries", trailer.meta_index_count)?;
        line(f, "cells", trailer.cell_count)?;
        line(f, "data index levels", trailer.data_index_levels)?;
        if trailer.first_data_block_offset != u64::MAX {
            line(f, "first data block offset", trailer.first_data_block_offset)?;
            line(f, "last data block offset", trailer.last_data_block_offset)?;
        }
        line(f, "compression", trailer.compression)?;
        line(f, "checksum of the trailer", if trailer.checksummed { "yes" } else { "no" })
    }

    fn fmt_shape(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (index, blocks, cells) = (&self.index, &self.blocks, &self.cells);
        writeln!(f, "\nindex")?;
        line(f, "levels", index.levels)?;
        line(f, "root entries", index.root_entries)?;
        line(f, "data block entries", index.data_entries)?;
        line(f, "key bytes", index.key_bytes)?;
        writeln!(f, "\ndata blocks")?;
        line(f, "count", blocks.count)?;
        line(f, "bytes on disk", blocks.disk_bytes)?;
        line(f, "bytes encoded", blocks.encoded_bytes)?;
        line(f, "bytes raw", blocks.raw_bytes)?;
        line(f, "cells in a block", format_args!("{} to {}", blocks.cells_min, blocks.cells_max))?;
        if !self.sections.is_empty() {
            writeln!(f, "\nsections of row groups, bytes on disk")?;
        }
        for section in &self.sections {
            let schemes = section.schemes.iter().map(|(name, count)| format!("{count} {name}"));
            let (bytes, schemes) = (section.disk_bytes, schemes.collect::<Vec<_>>().join(", "));
            line(f, &section.what, format_args!("{bytes} of {} values: {schemes}", section.values))?;
        }
        writeln!(f, "\ncells")?;
        line(f, "count", cells.count)?;
        line(f, "rows", cells.rows)?;
        line(f, "Put", cells.puts)?;
        line(f, "Delete", cells.deletes)?;
        line(f, "DeleteColumn", cells.delete_columns)?;
        line(f, "DeleteFamily", cells.delete_families)?;
        line(f, "DeleteFamilyVersion", cells.delete_family_versions)?;
        line(f, "key bytes", cells.key_bytes)?;
        line(f, "value bytes", cells.value_bytes)?;
        line(f, "tag bytes", cells.tag_bytes)
    }

    fn fmt_bloom(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        kind: &str,
        facts: Option<&BloomFacts>,
    ) -> fmt::Result {
        let Some(facts) = facts else { return writeln!(f, "\n{title}: none") };
        writeln!(f, "\n{title}: {kind}")?;
        line(f, "keys", facts.keys)?;
        line(f, "capacity", facts.capacity)?;
        line(f, "bytes", facts.bytes)?;
        line(f, "chunks", facts.chunks)?;
        line(f, "hashes per key", format_args!("{} {:?}", facts.hash_count, facts.hash))
    }
}
