// SPDX-License-Identifier: Apache-2.0
use std::sync::atomic::AtomicUsize;

use basalt_hfile::MemoryFile;
use proptest::prelude::*;

use super::*;

/// A file in memory that counts what is read of it.
#[derive(Debug)]
struct Slow {
    file: MemoryFile,
    reads: AtomicUsize,
}

impl Slow {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { file: MemoryFile::new("slow", bytes), reads: AtomicUsize::new(0) })
    }

    fn reads(&self) -> usize {
        self.reads.swap(0, Relaxed)
    }
}

impl FileRead for Slow {
    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        self.reads.fetch_add(1, Relaxed);
        self.file.read_at(offset, len)
    }

    fn size(&self) -> u64 {
        self.file.size()
    }

    fn name(&self) -> &str {
        self.file.name()
    }
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

fn open(dir: &Path) -> Arc<DiskCache> {
    Arc::new(DiskCache::open(dir, BYTES_MIN).expect("a cache"))
}

/// Reads all of a file in steps of one and a half pieces.
fn read_all(file: &dyn FileRead) -> Vec<u8> {
    let step = PIECE_BYTES / 2 * 3;
    let read = |at: u64| file.read_at(at, step.min(file.size() - at) as usize).expect("it is there");
    (0..file.size()).step_by(step as usize).flat_map(read).collect()
}

#[test]
fn what_was_read_once_is_not_read_again_not_even_after_a_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let bytes = noise(1_000_000, 1);
    let slow = Slow::new(bytes.clone());
    for restart in 0..3 {
        let cache = open(dir.path());
        let file = cache.read_through(slow.clone()).expect("it can be told from others");
        slow.reads();
        assert_eq!(read_all(&file), bytes);
        assert_eq!(slow.reads() == 0, restart > 0, "restart {restart}");
        assert_eq!(read_all(&file), bytes);
        assert_eq!(slow.reads(), 0);
        let stats = cache.stats();
        assert!(stats.hits > 20 && (stats.failures, stats.evictions) == (0, 0), "{stats:?}");
        assert_eq!(stats.bytes, 1_000_000_u64.next_multiple_of(PIECE_BYTES));
    }
}

#[test]
fn files_of_the_same_size_are_told_apart() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = open(dir.path());
    let (one, mut other) = (noise(300_000, 1), noise(300_000, 1));
    other[299_000] ^= 1;
    other[7] ^= 1;
    for bytes in [&one, &other, &one] {
        let file = cache.read_through(Slow::new(bytes.clone())).expect("it can be told from others");
        assert_eq!(read_all(&file), *bytes);
    }
}

#[test]
fn more_than_fits_is_read_right_and_what_comes_again_and_again_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = open(dir.path());
    let (hot, cold) = (noise(4 << 20, 1), noise(40 << 20, 2));
    let (hot_file, cold_file) = (Slow::new(hot.clone()), Slow::new(cold.clone()));
    let [through_hot, through_cold] = [hot_file.clone(), cold_file]
        .map(|file| cache.read_through(file).expect("it can be told from others"));
    for _ in 0..4 {
        assert_eq!(read_all(&through_hot), hot);
    }
    hot_file.reads();
    assert_eq!(read_all(&through_cold), cold);
    assert_eq!(read_all(&through_hot), hot);
    assert!(hot_file.reads() < 8, "a scan pushed it out");
    let stats = cache.stats();
    assert!(stats.evictions > 300 && stats.bytes <= stats.capacity_bytes, "{stats:?}");
    let size = fs::metadata(dir.path().join(FILE_NAME)).expect("the file").len();
    assert!(size <= BYTES_MIN, "{size} bytes on disk");
}

/// Whatever becomes of the cache's file, what is read is right.
#[test]
fn damage_is_a_piece_that_is_not_there() {
    let bytes = noise(500_000, 3);
    for damage in 0..60 {
        let dir = tempfile::tempdir().expect("a directory");
        let slow = Slow::new(bytes.clone());
        let read = |cache: &Arc<DiskCache>| {
            read_all(&cache.read_through(slow.clone()).expect("it can be told from others"))
        };
        assert_eq!(read(&open(dir.path())), bytes);
        let path = dir.path().join(FILE_NAME);
        let mut stored = fs::read(&path).expect("the cache's file");
        let data = stored.len() - 500_000_usize.next_multiple_of(PIECE_BYTES as usize);
        match damage {
            0 => stored.clear(),
            1 => stored.truncate(5_000),
            2 => stored.truncate(data),
            3 => stored.fill(0xff),
            _ => {
                let places = [0..4_096, 4_096..20_000, data..data + 400_000];
                let place = places[damage % 3].clone();
                let from = place.start + (damage * 7_919) % place.len();
                stored[from..from + damage].iter_mut().for_each(|byte| *byte ^= 0x55);
            }
        }
        fs::write(&path, stored).expect("the cache's file");
        let cache = open(dir.path());
        assert_eq!(read(&cache), bytes, "damage {damage}");
        assert_eq!(read(&cache), bytes, "damage {damage}, again");
    }
}

#[test]
fn a_cache_of_another_size_begins_anew_and_one_in_use_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let slow = Slow::new(noise(300_000, 1));
    let cache = open(dir.path());
    read_all(&cache.read_through(slow).expect("it can be told from others"));
    let error = DiskCache::open(dir.path(), BYTES_MIN).expect_err("it is in use").to_string();
    assert!(error.ends_with("is in use by another process; give each process a cache of its own"), "{error}");
    drop(cache);
    let cache = DiskCache::open(dir.path(), 2 * BYTES_MIN).expect("a cache");
    assert_eq!(cache.stats().bytes, 0);
    let error = DiskCache::open(dir.path(), 1_000).expect_err("it is too small").to_string();
    assert_eq!(error, "a disk cache takes at least 16777216 bytes; found 1000");
}

#[test]
fn a_disk_that_takes_nothing_slows_down_and_fails_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = open(dir.path());
    let full = File::open(dir.path().join(FILE_NAME)).expect("the cache's file, not to be written to");
    let cache = Arc::into_inner(cache).expect("nobody else has it");
    let cache = Arc::new(DiskCache { file: full, ..cache });
    let bytes = noise(300_000, 1);
    let file = cache.read_through(Slow::new(bytes.clone())).expect("it can be told from others");
    assert_eq!(read_all(&file), bytes);
    assert_eq!(read_all(&file), bytes);
    let stats = cache.stats();
    assert!(stats.failures >= 5 && stats.hits == 0, "{stats:?}");
}

#[test]
fn several_threads_read_what_is_there_while_pieces_come_and_go() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = open(dir.path());
    let bytes = noise(24 << 20, 5);
    let file = cache.read_through(Slow::new(bytes.clone())).expect("it can be told from others");
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (file, bytes) = (&file, &bytes);
            scope.spawn(move || {
                let mut state = thread;
                for _ in 0..2_000 {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let at = (state >> 20) as usize % (bytes.len() - 200_000);
                    let len = (state >> 8) as usize % 200_000;
                    assert_eq!(file.read_at(at as u64, len).expect("it is there"), bytes[at..at + len]);
                }
            });
        }
    });
    let stats = cache.stats();
    assert!(stats.evictions > 100 && stats.hits > 100 && stats.failures == 0, "{stats:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every stretch of a file, in any order, is as in the file.
    #[test]
    fn any_stretch_is_as_in_the_file(size in 0..400_000_usize, stretches in prop::collection::vec((0..420_000_usize, 0..300_000_usize), 1..12)) {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = open(dir.path());
        let bytes = noise(size, size as u64);
        let file = cache.read_through(Slow::new(bytes.clone())).expect("it can be told from others");
        for (at, len) in stretches {
            let read = file.read_at(at as u64, len);
            match bytes.get(at..at + len) {
                Some(expected) => prop_assert_eq!(read.expect("it is there"), expected),
                None => prop_assert_eq!(read.expect_err("it ends before").kind(), io::ErrorKind::UnexpectedEof),
            }
        }
        prop_assert_eq!(file.read_at(u64::MAX, 1).expect_err("it ends before").kind(), io::ErrorKind::UnexpectedEof);
    }
}
