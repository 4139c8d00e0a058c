// SPDX-License-Identifier: Apache-2.0
use std::path::Path;

use basalt_hfile::WriterOptions;

use super::*;
use crate::read::BlockCache;
use crate::read::testing::{Cell, access, cells_of, file_of, memory_env, store_file};

fn numbered(rows: std::ops::Range<u64>) -> Vec<Cell> {
    rows.map(|i| Cell::put(&format!("row{i:05}"), "q", 1, i)).collect()
}

fn drain(source: &mut dyn CellSource, end: Option<&[u8]>) -> Vec<Cell> {
    let runs: Vec<_> = std::iter::from_fn(|| source.next_run(end).expect("memory does not fail")).collect();
    cells_of(&runs)
}

#[test]
fn a_seek_stands_at_the_first_row_not_below() {
    let env = memory_env();
    let cells = numbered(0..100);
    let mut source = FileSource::new(store_file(&env, 1, &cells), access(), Seq(u64::MAX));
    assert_eq!(drain(&mut source, None), cells);
    for (row, first) in [("", 0), ("row00042", 42), ("row00041x", 42), ("row00099", 99), ("s", 100)] {
        source.seek(row.as_bytes());
        assert_eq!(drain(&mut source, None), cells[first..], "from {row:?}");
    }
}

#[test]
fn a_scan_stops_at_its_end_without_reading_on() {
    let env = memory_env();
    let access = access();
    let mut source = FileSource::new(store_file(&env, 1, &numbered(0..1000)), access.clone(), Seq(u64::MAX));
    let seen = drain(&mut source, Some(b"row00003"));
    assert!(seen.len() >= 3 && seen.len() < 20);
    assert_eq!(access.counters.blocks_read.load(Relaxed), 1);
}

#[test]
fn a_second_read_comes_from_the_cache() {
    let env = memory_env();
    let access = access();
    let file = store_file(&env, 1, &numbered(0..100));
    let blocks =
        file.reader().and_then(|reader| file.explained(reader.block_count())).expect("it is sound") as u64;
    for _ in 0..2 {
        drain(&mut FileSource::new(Arc::clone(&file), access.clone(), Seq(u64::MAX)), None);
    }
    assert_eq!(access.counters.blocks_read.load(Relaxed), blocks);
    assert_eq!(access.counters.blocks_cached.load(Relaxed), blocks);
    assert_eq!(access.cache.stats().hits, blocks);
}

#[test]
fn what_is_too_much_decoded_is_kept_encoded() {
    let env = memory_env();
    let access = ReadAccess { keep: Keep::Stored, ..access() };
    let cells = numbered(0..100);
    let file = store_file(&env, 1, &cells);
    let blocks =
        file.reader().and_then(|reader| file.explained(reader.block_count())).expect("it is sound") as u64;
    let scan = |access: &ReadAccess| {
        let found = drain(&mut FileSource::new(Arc::clone(&file), access.clone(), Seq(u64::MAX)), None);
        assert_eq!(found, cells);
        let counters = &access.counters;
        (counters.blocks_read.load(Relaxed), counters.blocks_cached.load(Relaxed))
    };
    assert_eq!(scan(&access), (blocks, 0));
    let encoded = access.cache.stats();
    assert_eq!(encoded.blocks, blocks);
    assert_eq!(scan(&access), (blocks, blocks));
    assert_eq!((access.cache.stats().hits, access.cache.stats().misses), (blocks, blocks));
    // Who may keep them decoded has found them a second time: they are held decoded in place of that.
    let decoding = ReadAccess { keep: Keep::Decoded, ..access.clone() };
    scan(&decoding);
    let decoded = access.cache.stats();
    assert!(decoded.blocks == blocks && decoded.bytes > encoded.bytes, "{decoded:?}, {encoded:?}");
    assert_eq!(scan(&decoding), (blocks, 3 * blocks));
}

#[test]
fn what_a_scan_reads_is_decoded_for_good_when_it_is_read_again() {
    let (env, access) = (memory_env(), access());
    let cells = numbered(0..100);
    let file = store_file(&env, 1, &cells);
    let blocks = file.blocks_end().expect("it is sound");
    let decoded =
        || (0..blocks).filter(|&index| access.cache.get(file.meta().id, index, 0).is_some()).count();
    for held in [SOUGHT, blocks, blocks] {
        assert_eq!(
            drain(&mut FileSource::new(Arc::clone(&file), access.clone(), Seq(u64::MAX)), None),
            cells
        );
        assert_eq!((decoded(), access.cache.stats().blocks as usize), (held, blocks));
        assert_eq!(access.counters.blocks_read.load(Relaxed), blocks as u64);
    }
}

#[test]
fn of_a_row_group_that_a_scan_reads_the_sections_are_held_and_its_parts_when_it_is_read_again() {
    let env = memory_env();
    let access = ReadAccess { cache: Arc::new(BlockCache::new(64 << 20)), ..access() };
    let cells = numbered(0..20_000);
    let options =
        WriterOptions { encoding: Encoding::Columnar, block_bytes: 4 << 20, ..WriterOptions::default() };
    let file = file_of(&env, 1, &cells, options);
    assert_eq!(file.blocks_end().expect("it is sound"), 1);
    let group = file.row_group(0, &access).expect("it is sound").expect("it is one");
    let parts = group.vectors();
    let decoded = || (0..parts).filter(|&part| access.cache.get(file.meta().id, 0, part).is_some()).count();
    let mut bytes = Vec::new();
    for held in [SOUGHT, parts, parts] {
        assert_eq!(
            drain(&mut FileSource::new(Arc::clone(&file), access.clone(), Seq(u64::MAX)), None),
            cells
        );
        assert_eq!(decoded(), held);
        bytes.push(access.cache.stats().bytes);
    }
    assert!(parts > 10 && bytes[0] * 2 < bytes[1] && bytes[1] == bytes[2], "{bytes:?} for {parts} parts");
    // The head and the parts: the sections have left for them.
    assert_eq!(access.cache.stats().blocks as usize, 1 + parts);
}

#[test]
fn where_others_would_have_to_leave_what_is_read_again_stays_as_it_is_stored() {
    let env = memory_env();
    let cells = numbered(0..5_000);
    let file = file_of(&env, 1, &cells, WriterOptions { block_bytes: 1 << 10, ..WriterOptions::default() });
    let blocks = file.blocks_end().expect("it is sound") as u64;
    let scan = |access: &ReadAccess| {
        assert_eq!(
            drain(&mut FileSource::new(Arc::clone(&file), access.clone(), Seq(u64::MAX)), None),
            cells
        );
        access.cache.stats()
    };
    let bytes_of = |scans: usize| {
        let access = ReadAccess { cache: Arc::new(BlockCache::new(64 << 20)), ..access() };
        let mut bytes = 0;
        for _ in 0..scans {
            bytes = scan(&access).bytes;
        }
        bytes
    };
    let (stored, decoded) = (bytes_of(1), bytes_of(2));
    let access = ReadAccess { cache: Arc::new(BlockCache::new((stored + decoded) / 2)), ..access() };
    for _ in 0..4 {
        scan(&access);
    }
    let stats = access.cache.stats();
    assert!(stored < stats.bytes && stats.bytes <= stats.capacity_bytes, "{stats:?}");
    let read = access.counters.blocks_read.load(Relaxed);
    assert!(read < 2 * blocks, "{read} blocks were read in four scans of {blocks}");
}

#[test]
fn cells_newer_than_the_snapshot_are_left_out() {
    let env = memory_env();
    let mut cells = numbered(0..100);
    for (i, cell) in cells.iter_mut().enumerate() {
        cell.seq = (i as u64 * 7) % 10;
    }
    let mut source = FileSource::new(store_file(&env, 1, &cells), access(), Seq(4));
    cells.retain(|cell| cell.seq <= 4);
    assert_eq!(drain(&mut source, None), cells);
}

#[test]
fn files_follow_each_other_and_open_late() {
    let env = memory_env();
    let cells = numbered(0..300);
    let files: Vec<_> = (0..3).map(|i| store_file(&env, i, &cells[i as usize * 100..][..100])).collect();
    let mut source = FileListSource::new(files.clone(), access(), Seq(u64::MAX));
    source.seek(b"row00150");
    assert_eq!(drain(&mut source, Some(b"row00190")).last().map(|cell| cell.seq >= 189), Some(true));
    assert!(files[0].handle.opened().is_none() && files[2].handle.opened().is_none());
    source.seek(b"");
    assert_eq!(drain(&mut source, None), cells);
    source.seek(b"row00199");
    assert_eq!(drain(&mut source, None), cells[199..]);
}

#[test]
fn lists_are_as_few_as_the_deepest_overlap() {
    let env = memory_env();
    let file = |id, rows| store_file(&env, id, &numbered(rows));
    let files = [file(1, 0..10), file(2, 5..15), file(3, 10..20), file(4, 16..30), file(5, 40..50)];
    let ids: Vec<Vec<u64>> = disjoint_lists(&files)
        .iter()
        .map(|list| list.iter().map(|file| file.meta().id.0).collect())
        .collect();
    assert_eq!(ids, [vec![1, 3, 5], vec![2, 4]]);
}

#[test]
fn a_damaged_block_is_named_with_its_rows_and_the_next_is_readable() {
    let env = memory_env();
    let cells = numbered(0..100);
    let file = store_file(&env, 7, &cells);
    let extent =
        file.reader().map(|reader| reader.block_extent(1)).expect("it is sound").expect("two blocks");
    flip_byte(&env, file.path(), extent.offset + 40);
    let mut source = FileSource::new(file, access(), Seq(u64::MAX));
    let first = source.next_run(None).expect("the first block is sound").expect("it has cells");
    let Err(Error::Corrupt(damage)) = source.next_run(None) else { panic!("the damage went unnoticed") };
    assert_eq!((damage.offset, damage.table.as_deref()), (extent.offset, Some("T")));
    let range = damage.range.clone().expect("the index is sound");
    assert!(!range.contains(b"row00000"));
    let lost: Vec<Cell> = cells.iter().filter(|cell| range.contains(&cell.row)).cloned().collect();
    let rest = drain(&mut source, None);
    assert!(!lost.is_empty() && !rest.is_empty());
    assert!(first.cells.len() + lost.len() + rest.len() >= cells.len());
}

fn flip_byte(env: &Env, path: &Path, offset: u64) {
    let file = env.storage.open(path).expect("it is there");
    let mut bytes = file.read_at(0, file.size() as usize).expect("memory does not fail").to_vec();
    bytes[offset as usize] ^= 1;
    let mut file = env.storage.create(path).expect("memory does not fail");
    file.append(&bytes).expect("memory does not fail");
}
