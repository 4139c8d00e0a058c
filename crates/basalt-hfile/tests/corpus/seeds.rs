// SPDX-License-Identifier: Apache-2.0
//! Sound inputs for every fuzz target, made from small files of our own writer.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use basalt_hfile::fuzzing::{block_input, columnar_vectors};
use basalt_hfile::{
    BloomKind, Compression, Encoding, HFileReader, HFileWriter, MemoryFile, ReadOptions, WriterOptions,
};
use basalt_model::{CellRef, CellType, FamilyLayout, Seq, SqlType};

const TRAILER_LEN: usize = 4096;
const HEADER_LEN: usize = 33;

pub(crate) fn write(folder: fn(&str) -> PathBuf) {
    let save = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(folder(target)).unwrap();
        fs::write(folder(target).join(name), bytes).unwrap();
    };
    for encoding in Encoding::OF_HBASE {
        for (with_tags, tags_compressed, with_seq) in
            [(false, false, false), (false, false, true), (true, false, false), (true, true, true)]
        {
            let bloom = if with_seq { BloomKind::RowCol } else { BloomKind::Row };
            let options =
                WriterOptions { encoding, with_tags, tags_compressed, with_seq, bloom, ..Default::default() };
            of_encoding(encoding, options, &save);
        }
    }
    for compression in Compression::ALL {
        of_codec(compression, &save);
    }
    of_parts(&save);
    of_columnar(&save);
    // Two new tags, both again by number, none; then an evicted one would need 127 more.
    save("tags", "sound", b"\x05\xff\x03\x08T1\x0b\x00\x00\xff\x04\x01XYZ\x00\x0b\x00\x01\x00\x00");
    save("tags", "empty", b"\x00");
}

fn of_encoding(encoding: Encoding, options: WriterOptions, save: &impl Fn(&str, &str, &[u8])) {
    let (with_tags, with_seq) = (options.with_tags, options.with_seq);
    let encoding = encoding.name().to_lowercase();
    let layout = match (with_tags, with_seq) {
        (false, false) => "bare",
        (false, true) => "seq",
        (true, false) => "tags",
        (true, true) => "full",
    };
    let bytes = small_file(options.clone());
    let reader =
        HFileReader::open(Arc::new(MemoryFile::new("seed", bytes.clone())), ReadOptions::default()).unwrap();
    for index in [0, reader.block_count().unwrap() / 2] {
        let block = reader.read_encoded_block(index).unwrap();
        save(&format!("encoding_{encoding}"), &format!("{layout}_{index}"), &block_input(&block));
    }
    let regular = regular_file(options);
    let file = Arc::new(MemoryFile::new("seed", regular.clone()));
    let reader = HFileReader::open(file, ReadOptions::default()).unwrap();
    let block = reader.read_encoded_block(0).unwrap();
    save(&format!("encoding_{encoding}"), &format!("{layout}_regular"), &block_input(&block));
    if with_seq && !with_tags {
        save("resealed_file", &format!("{encoding}_regular"), &regular);
    }
    if with_seq && with_tags {
        save("file", &encoding, &bytes);
        save("resealed_file", &encoding, &bytes);
    }
}

fn of_codec(compression: Compression, save: &impl Fn(&str, &str, &[u8])) {
    let name = compression.name().to_lowercase();
    let bytes = small_file(WriterOptions { compression, ..Default::default() });
    save("resealed_file", &format!("codec_{name}"), &bytes);
    let end = HEADER_LEN + u32::from_be_bytes(bytes[8..12].try_into().unwrap()) as usize;
    save("block_header", &name, &bytes[..end]);
    if compression == Compression::None {
        return;
    }
    // The payload of the first block and of an empty one, behind the raw length that the header declares.
    let covered = u32::from_be_bytes(bytes[29..33].try_into().unwrap()) as usize;
    save(&format!("codec_{name}"), "block", &[&bytes[13..16], &bytes[HEADER_LEN..covered]].concat());
    let raw = b"a long run, a long run, a long run, and again".repeat(40);
    let mut writer =
        HFileWriter::new(Vec::new(), WriterOptions { compression, ..Default::default() }).unwrap();
    writer.append(cell(b"r", b"q", 1, CellType::Put, &raw, 0, b"")).unwrap();
    let bytes = writer.finish_into().unwrap().1;
    let covered = u32::from_be_bytes(bytes[29..33].try_into().unwrap()) as usize;
    save(&format!("codec_{name}"), "runs", &[&bytes[13..16], &bytes[HEADER_LEN..covered]].concat());
    if compression == Compression::Zstd {
        let bare = zstd::bulk::compress(&raw, 3).unwrap();
        save("codec_zstd", "bare", &[&(raw.len() as u32).to_be_bytes()[1..], &bare].concat());
    }
}

/// Row groups, and a vector of each scheme.
fn of_columnar(save: &impl Fn(&str, &str, &[u8])) {
    for compression in [Compression::None, Compression::Zstd] {
        let options =
            WriterOptions { encoding: Encoding::Columnar, compression, with_seq: true, ..Default::default() };
        for (name, bytes) in [
            ("small", small_file(options.clone())),
            ("regular", regular_file(options.clone())),
            ("mixed", mixed_file(options.clone())),
            ("close", close_file(options.clone())),
            ("texts", texts_file(options)),
        ] {
            let file = Arc::new(MemoryFile::new("seed", bytes.clone()));
            let reader = HFileReader::open(file, ReadOptions::default()).unwrap();
            let groups = (0..reader.block_count().unwrap())
                .filter(|&index| reader.open_block(index).unwrap().columns().is_some());
            for index in groups.take(1) {
                let extent = reader.block_extent(index).unwrap();
                let at = extent.offset as usize;
                let name = format!("{name}_{}", compression.name().to_lowercase());
                let block = &bytes[at..at + extent.size_bytes as usize];
                save("columnar_block", &name, block);
                save("columnar_typed", &name, &[&[name.len() as u8], block].concat());
            }
        }
    }
    let vectors = columnar_vectors();
    for (scheme, bytes) in &vectors {
        save("columnar_vector", scheme, bytes);
    }
    let mut schemes: Vec<u8> = vectors.iter().map(|(_, bytes)| bytes[0]).collect();
    schemes.sort_unstable();
    schemes.dedup();
    assert_eq!(schemes, [1, 2, 3, 4, 5, 6, 7, 17, 18, 19, 20, 21, 22, 23, 24, 25], "a scheme has no seed");
}

/// Rows of two numbers that are close to each other: one of them is kept as distances.
fn close_file(options: WriterOptions) -> Vec<u8> {
    let columns = [b"a", b"b"].map(|name| (name.to_vec(), SqlType::BigInt)).to_vec();
    let layout = Some(Arc::new(FamilyLayout { key: vec![], columns }));
    let mut writer = HFileWriter::new(Vec::new(), WriterOptions { layout, ..options }).unwrap();
    for number in 0..100u64 {
        let row = format!("row {number:05}");
        let first = number * 7_919 % 4_096 * 1_000_003;
        for (name, value) in [(b"a", first), (b"b", first + number % 30)] {
            let value = (value ^ 1 << 63).to_be_bytes();
            writer.append(cell(row.as_bytes(), name, 1, CellType::Put, &value, 1, b"")).unwrap();
        }
    }
    writer.finish_into().unwrap().1
}

/// Rows of few texts, of texts around numbers, of one form, and of words; some lack one.
fn texts_file(options: WriterOptions) -> Vec<u8> {
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for number in 0..60usize {
        let row = format!("row {number:05}");
        let word = |at: usize| ["granodiorite", "hornblendite", "anorthosite", "slate"][at * at % 7 % 4];
        let of_row = [
            (b"a", word(number).to_owned()),
            (b"b", format!("order-{:06}", number * number * 277)),
            (b"c", format!("{:04x}/state={:04x}", number * 977 % 65_536, number * number)),
            (b"d", format!("{} {} {} {number}", word(number), word(number / 7), word(number / 3))),
        ];
        for (name, text) in of_row.into_iter().filter(|(name, _)| number % 11 > 0 || *name != b"b") {
            writer.append(cell(row.as_bytes(), name, 1, CellType::Put, text.as_bytes(), 1, b"")).unwrap();
        }
    }
    writer.finish_into().unwrap().1
}

/// Rows with gaps, versions, markers and values of several lengths.
fn mixed_file(options: WriterOptions) -> Vec<u8> {
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for number in 0..70u32 {
        let row = format!("row {:05}", number * 7);
        let value = number.to_be_bytes();
        let put = |qualifier, timestamp, value| {
            cell(row.as_bytes(), qualifier, timestamp, CellType::Put, value, u64::from(number), b"")
        };
        if number % 9 == 0 {
            writer
                .append(cell(row.as_bytes(), b"", 90, CellType::DeleteFamily, b"", u64::from(number), b""))
                .unwrap();
        }
        if number % 3 > 0 {
            writer.append(put(b"gaps", 100, &value)).unwrap();
        }
        for version in 0..1 + i64::from(number % 5 == 4) {
            writer.append(put(b"versions", 100 - version, &value[number as usize % 4..])).unwrap();
        }
    }
    writer.finish_into().unwrap().1
}

fn of_parts(save: &impl Fn(&str, &str, &[u8])) {
    for (bloom, name) in [(BloomKind::Row, "row"), (BloomKind::RowCol, "rowcol")] {
        let bytes = small_file(WriterOptions { bloom, ..Default::default() });
        let mut at = 0;
        while at < bytes.len() - TRAILER_LEN {
            let end =
                at + HEADER_LEN + u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
            let payload = &bytes[at + HEADER_LEN..end - 4];
            match &bytes[at..at + 8] {
                b"IDXLEAF2" => save("index", &format!("leaf_{name}"), payload),
                b"IDXROOT2" if !payload.is_empty() => save("index", &format!("root_{name}"), payload),
                b"FILEINF2" => save("trailer_and_info", &format!("info_{name}"), payload),
                b"BLMFMET2" | b"DFBLMET2" => save("bloom", &format!("{name}_{}", bytes[at]), payload),
                _ => {}
            }
            at = end;
        }
        let trailer = &bytes[bytes.len() - TRAILER_LEN..];
        save(
            "trailer_and_info",
            &format!("trailer_{name}"),
            &[&trailer[..140], &trailer[TRAILER_LEN - 4..]].concat(),
        );
    }
}

fn cell<'a>(
    row: &'a [u8],
    qualifier: &'a [u8],
    timestamp: i64,
    cell_type: CellType,
    value: &'a [u8],
    seq: u64,
    tags: &'a [u8],
) -> CellRef<'a> {
    CellRef { row, family: b"f", qualifier, timestamp, cell_type, value, seq: Seq(seq), tags }
}

fn small_file(options: WriterOptions) -> Vec<u8> {
    let options = WriterOptions { block_bytes: 200, index_block_bytes: 120, index_entries_min: 2, ..options };
    let with_tags = options.with_tags;
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for number in 0..9u8 {
        // Some rows are longer than 255 bytes, so that row lengths differ in both bytes.
        let row = [&b"row"[..], &[number], &vec![b'x'; usize::from(number) * 40]].concat();
        let seq = u64::from(number) * 60;
        let tags = |tags: &'static [u8]| if with_tags { tags } else { b"" };
        let mut add = |qualifier, timestamp, cell_type, value, tags| {
            writer.append(cell(&row, qualifier, timestamp, cell_type, value, seq, tags)).unwrap();
        };
        add(b"", 9, CellType::DeleteFamily, b"", b"");
        add(b"a", 1_700_000_000_000, CellType::Put, b"value", tags(b"\0\x03\x08T1"));
        add(b"a", 1_600_000_000_000, CellType::Put, b"value", tags(b"\0\x03\x08T1\0\x02\x01X"));
        add(b"ab", -5, CellType::DeleteColumn, b"", b"");
        add(b"abc", 1_700_000_000_000, CellType::Put, b"other", b"");
    }
    writer.finish_into().unwrap().1
}

/// Rows of one form, but for the tenth: what is decoded in bulk.
fn regular_file(options: WriterOptions) -> Vec<u8> {
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for number in 0..18u32 {
        let row = (0x8000_00f8 + number).to_be_bytes();
        let timestamp = 1_700_000_000_000 + i64::from(number / 7);
        for qualifier in ["ab", "ac", "x"] {
            if number == 10 && qualifier == "ac" {
                continue;
            }
            let value = (number * 77).to_be_bytes();
            let value = if qualifier == "x" { &b"x"[..] } else { &value };
            let seq = 120 + u64::from(number);
            writer
                .append(cell(&row, qualifier.as_bytes(), timestamp, CellType::Put, value, seq, b""))
                .unwrap();
        }
    }
    writer.finish_into().unwrap().1
}
