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
    // Those that are looked for are held decoded in place of that.
    let decoding = ReadAccess { keep: Keep::Decoded, ..access.clone() };
    for index in 0..blocks {
        file.block(index as usize, Way::Sought, &decoding).expect("it is sound");
    }
    let decoded = access.cache.stats();
    assert!(decoded.blocks == blocks && decoded.bytes > encoded.bytes, "{decoded:?}, {encoded:?}");
    assert_eq!(scan(&decoding), (blocks, 3 * blocks));
}

#[test]
fn what_a_scan_reads_stays_as_it_is_stored_however_often_it_comes_again() {
    let (env, access) = (memory_env(), access());
    let cells = numbered(0..100);
    let file = store_file(&env, 1, &cells);
    let blocks = file.blocks_end().expect("it is sound");
    let decoded =
        || (0..blocks).filter(|&index| access.cache.get(file.meta().id, index, 0).is_some()).count();
    for _ in 0..3 {
        assert_eq!(
            drain(&mut FileSource::new(Arc::clone(&file), access.clone(), Seq(u64::MAX)), None),
            cells
        );
        assert_eq!((decoded(), access.cache.stats().blocks as usize), (SOUGHT, blocks));
        assert_eq!(access.counters.blocks_read.load(Relaxed), blocks as u64);
    }
}

#[test]
fn of_a_row_group_that_a_scan_reads_the_sections_are_held_until_lookups_have_decoded_all_of_it() {
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
    let scan = || {
        assert_eq!(
            drain(&mut FileSource::new(Arc::clone(&file), access.clone(), Seq(u64::MAX)), None),
            cells
        );
        access.cache.stats()
    };
    let first = scan();
    assert_eq!((decoded(), scan().bytes), (SOUGHT, first.bytes));
    let look_up_all = |from: usize| {
        for _ in 0..17 {
            for row in (from..parts).map(|part| format!("row{:05}", part * 1_024 + 3)) {
                file.decode_for_row(
                    (0, group.vector_of_row(row.as_bytes()).expect("sound")),
                    row.as_bytes(),
                    &group,
                    &access,
                )
                .expect("it is sound");
            }
        }
    };
    look_up_all(parts - 1);
    assert_eq!(decoded(), SOUGHT + 1);
    let sections = access.cache.stats().blocks as usize - 1 - decoded();
    assert!(sections > 1, "they are still there");
    look_up_all(SOUGHT);
    assert_eq!((decoded(), access.cache.stats().blocks as usize), (parts, 1 + parts));
    assert!(access.cache.stats().bytes > 2 * first.bytes, "the cells take more than what is stored");
    let blocks_read = || access.counters.blocks_read.load(Relaxed);
    let before = blocks_read();
    scan();
    assert_eq!(blocks_read(), before, "all of it is in the cache");
}

#[test]
fn what_scans_have_left_leaves_for_what_lookups_decode() {
    let env = memory_env();
    let cells = numbered(0..5_000);
    let file = file_of(&env, 1, &cells, WriterOptions { block_bytes: 1 << 10, ..WriterOptions::default() });
    let blocks = file.blocks_end().expect("it is sound");
    let scan = |access: &ReadAccess| {
        assert_eq!(
            drain(&mut FileSource::new(Arc::clone(&file), access.clone(), Seq(u64::MAX)), None),
            cells
        );
        access.cache.stats().bytes
    };
    let roomy = ReadAccess { cache: Arc::new(BlockCache::new(64 << 20)), ..access() };
    let stored = scan(&roomy);
    let access = ReadAccess { cache: Arc::new(BlockCache::new(2 * stored)), ..access() };
    assert!(scan(&access) < 2 * stored);
    for _ in 0..3 {
        (0..blocks / 4).for_each(|index| drop(file.block(index, Way::Sought, &access).expect("it is sound")));
    }
    let held = (0..blocks / 4).filter(|&index| access.cache.get(file.meta().id, index, 0).is_some()).count();
    let stats = access.cache.stats();
    assert!(held * 10 >= blocks / 4 * 9, "{held} of {} are decoded: {stats:?}", blocks / 4);
    assert!(stats.bytes <= stats.capacity_bytes, "{stats:?}");
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
