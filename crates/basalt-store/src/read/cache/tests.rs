// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::read::testing::{Cell, memory_env, store_file};

fn block(bytes: usize) -> Arc<CellBlock> {
    Arc::new(CellBlock { keys: vec![0; bytes].into(), ..CellBlock::default() })
}

fn of(file: u64) -> BlockOwner {
    BlockOwner { file: FileId(file), favoured: false }
}

#[test]
fn blocks_asked_for_again_outlive_a_scan_over_many_times_the_cache() {
    let cache = BlockCache::new(8 << 20);
    let hot = |index: usize| cache.get(FileId(1), index, 0).is_some();
    for index in 0..20 {
        cache.insert(of(1), index, 0, &block(64 << 10));
    }
    for _ in 0..3 {
        assert!((0..20).all(hot), "they fit");
    }
    for index in 0..2_000 {
        cache.insert(of(2), index, 0, &block(64 << 10));
    }
    let left = (0..20).filter(|&index| hot(index)).count();
    assert!(left >= 18, "{left} of 20 left");
    let stats = cache.stats();
    assert!(stats.evictions > 1_500 && stats.bytes <= stats.capacity_bytes, "{stats:?}");
    assert_eq!((stats.hits, stats.misses), (60 + left as u64, 20 - left as u64));
}

#[test]
fn favoured_blocks_stay_while_they_are_no_more_than_half() {
    let cache = BlockCache::new(8 << 20);
    let favoured = BlockOwner { file: FileId(1), favoured: true };
    let held = |file: u64, count: usize| {
        (0..count).filter(|&index| cache.blocks.peek(&key(FileId(file), index, 0)).is_some()).count()
    };
    for index in 0..40 {
        cache.insert(favoured, index, 0, &block(64 << 10));
    }
    for round in 0..3 {
        for index in 0..1_000 {
            cache.insert(of(2), index, 0, &block(64 << 10));
            cache.get(FileId(2), index, 0);
        }
        assert_eq!(held(1, 40), 40, "round {round}");
    }
    let stats = cache.stats();
    assert!(stats.bytes <= stats.capacity_bytes && stats.favoured_bytes > 40 << 16, "{stats:?}");

    for index in 40..400 {
        cache.insert(favoured, index, 0, &block(64 << 10));
    }
    for index in 0..1_000 {
        cache.insert(of(2), index, 0, &block(64 << 10));
        cache.get(FileId(2), index, 0);
    }
    let stats = cache.stats();
    assert!(stats.favoured_bytes <= stats.capacity_bytes / 2 + (128 << 10), "{stats:?}");
    assert!(held(2, 1_000) >= 40, "others have a half of the cache");

    cache.make_room_for_indexes(6 << 20);
    let stats = cache.stats();
    assert!(stats.bytes <= 2 << 20 && stats.favoured_bytes <= 1 << 20, "{stats:?}");
}

#[test]
fn indexes_and_filters_take_their_room_from_the_blocks() {
    let cache = BlockCache::new(8 << 20);
    for index in 0..100 {
        cache.insert(of(1), index, 0, &block(64 << 10));
    }
    cache.make_room_for_indexes(6 << 20);
    let stats = cache.stats();
    assert!(stats.bytes <= 2 << 20 && stats.index_bytes == 6 << 20, "{stats:?}");
    cache.make_room_for_indexes(100 << 20);
    assert!(cache.stats().capacity_bytes <= 2 << 20);
    cache.make_room_for_indexes(0);
    assert_eq!(cache.stats().capacity_bytes, 8 << 20);
}

#[test]
fn memory_that_others_work_with_is_the_caches_again_afterwards() {
    let cache = Arc::new(BlockCache::new(8 << 20));
    for index in 0..100 {
        cache.insert(of(1), index, 0, &block(64 << 10));
    }
    cache.make_room_for_memtables(2 << 20);
    let work = [1 << 20, 3 << 20].map(|bytes| cache.work_with(bytes));
    let stats = cache.stats();
    assert!(stats.bytes <= 2 << 20, "{stats:?}");
    assert_eq!(
        (stats.memtable_bytes, stats.working_bytes, stats.capacity_bytes),
        (2 << 20, 4 << 20, 2 << 20)
    );
    drop(work);
    assert_eq!(cache.stats().capacity_bytes, 6 << 20);
    cache.make_room_for_memtables(0);
    assert_eq!(cache.stats().capacity_bytes, 8 << 20);
}

#[test]
fn a_part_is_worth_decoding_once_it_was_looked_into_again_and_again() {
    let cache = BlockCache::new(1 << 20);
    let asked = |part, columns| {
        let asked = (0..100).map(|_| cache.is_worth_decoding(FileId(7), (3, part), columns));
        asked.enumerate().filter_map(|(at, is_worth)| is_worth.then_some(at)).collect::<Vec<_>>()
    };
    assert_eq!(asked(1, (4, 4))[..3], [16, 33, 50]);
    assert_eq!(asked(4, (4, 12))[..2], [48, 97], "of fewer columns each lookup takes less");
    for index in 0..100 {
        cache.insert(of(1), index, 0, &block(64 << 10));
    }
    assert_eq!(asked(2, (4, 4)), [67], "where something else has to leave one in four is decoded");
}

#[test]
fn what_is_held_as_it_is_stored_is_room_for_what_is_looked_up() {
    let cache = BlockCache::new(8 << 20);
    let file = store_file(&memory_env(), 1, &[Cell::put("row", "q", 1, 1)]);
    let encoded = file.reader().expect("it is sound").read_encoded_block(0).expect("it is sound");
    let stored = |cache: &BlockCache| cache.leaving.0.stored_bytes.load(Relaxed);
    for index in 0..10 {
        cache.insert_encoded(of(1), index, &encoded);
        cache.insert_encoded(of(1), index, &encoded);
    }
    assert_eq!(stored(&cache), cache.stats().bytes);
    for index in 0..4 {
        cache.remove_encoded(FileId(1), index);
    }
    assert_eq!(stored(&cache), cache.stats().bytes);
    for index in 0..1_000 {
        cache.insert(of(2), index, 0, &block(64 << 10));
    }
    assert!(stored(&cache) <= 10 * (ENTRY_OVERHEAD + encoded.memory_bytes() as u64));
    cache.make_room_for_indexes(100 << 20);
    (0..10).for_each(|index| cache.remove_encoded(FileId(1), index));
    assert_eq!(stored(&cache), 0);
}
