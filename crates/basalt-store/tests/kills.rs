// SPDX-License-Identifier: Apache-2.0
//! Writers of rows, of batches over several tables and of every durability, killed with SIGKILL at random moments over one
//! database, while it is flushed, compacted, split, merged and snapshots are taken.
//!
//! Each writer makes one change after the other, number `k` of it is the same whenever it is made, and takes the place of an
//! earlier one, so that the database stays small:
//!
//! ```text
//! rows      table rows: row k mod 500 := k                          SYNC, ASYNC, FSYNC in turn
//! batches   tables left and right, in one batch                     SYNC, ASYNC, FSYNC in turn; two such writers
//!             rows (k mod 64, 0 .. n(k)-1) := k, the others of the slot are deleted
//!             rows (hot, 0 .. 9) := k
//! skipped   table skipped: rows (k mod 300, 0 .. 2) := k            SKIP; a flush every 40th
//! ```
//!
//! The writers are this program, started anew as a child; the parent knows only what they printed. What must be found, with
//! A the last acknowledged change of a writer: its state after A or after A + 1, exactly, in all tables; of the writer that
//! skips the log the state after some change from the last acknowledged flush on. Every third time the parent
//! looks, it opens the database for reading only, so that the recovery is left to the next child, which may be killed in it.
//!
//! `BASALT_KILLS` sets the number of kills, `BASALT_SEED` repeats a run's choices (not the machine's timing).
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![allow(clippy::disallowed_methods, reason = "the parent is no part of a database")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use basalt_model::{CellType, FamilyDescriptor, TableDescriptor, TableId, TableName, WriteBatch};
use basalt_store::read::Keep;
use basalt_store::{Database, Durability, Env, OpenOptions, ScanOptions};

#[path = "children/lines.rs"]
mod children;

use children::{assert_undamaged, message, mixed, report, say, setting};

const KILLS: u64 = 60;
const ROWS: u64 = 500;
const SLOTS: u64 = 64;
const SLOT_ROWS: u64 = 30;
const HOT: u64 = 10;
const SKIPPED_SLOTS: u64 = 300;
const SKIPPED_ROWS: u64 = 3;
const FLUSH_EVERY: u64 = 40;
/// Changes of a writer whom nobody kills.
const LIFE_MAX: u64 = 1_000_000;

const SIGKILL: i32 = 9;

const CHILD_TEST: &str = "the_writers_that_are_killed";
const CHILD_DIR: &str = "BASALT_KILLS_DIR";
const CHILD_SEED: &str = "BASALT_KILLS_SEED";

/// The rows of a table and what is in them.
type Rows = BTreeMap<Vec<u8>, u64>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Writer {
    Rows,
    Batches(u64),
    Skipped,
}

const WRITERS: [Writer; 4] = [Writer::Rows, Writer::Batches(0), Writer::Batches(1), Writer::Skipped];
const TABLES: [&str; 4] = ["rows", "left", "right", "skipped"];

fn row(parts: [u64; 3]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.to_be_bytes()).collect()
}

/// What change `number` of a writer leaves in a table: rows, and whether they are there.
fn change(writer: Writer, number: u64, table: &str) -> Vec<(Vec<u8>, bool)> {
    match (writer, table) {
        (Writer::Rows, "rows") => vec![(row([0, number % ROWS, 0]), true)],
        (Writer::Batches(id), "left" | "right") => {
            let there = 1 + mixed(number << 8 | id) % SLOT_ROWS;
            let slot = (0..SLOT_ROWS).map(|i| (row([id, number % SLOTS, i]), i < there));
            slot.chain((0..HOT).map(|i| (row([id, SLOTS, i]), true))).collect()
        }
        (Writer::Skipped, "skipped") => {
            (0..SKIPPED_ROWS).map(|i| (row([0, number % SKIPPED_SLOTS, i]), true)).collect()
        }
        _ => Vec::new(),
    }
}

/// What a table shows of a writer after its changes 1 to `last`.
fn after(writer: Writer, last: u64, table: &str) -> Rows {
    let mut rows = Rows::new();
    for number in last.saturating_sub(ROWS).max(1)..=last {
        for (row, is_there) in change(writer, number, table) {
            if is_there {
                rows.insert(row, number);
            } else {
                rows.remove(&row);
            }
        }
    }
    rows
}

fn durability(writer: Writer, number: u64) -> Durability {
    match (writer, number % 3) {
        (Writer::Skipped, _) => Durability::Skip,
        (_, 0) => Durability::Sync,
        (_, 1) => Durability::Async,
        _ => Durability::Fsync,
    }
}

fn options() -> OpenOptions {
    OpenOptions {
        memory_bytes: 16 << 20,
        memtable_bytes: Some(128 << 10),
        wal_segment_bytes: 128 << 10,
        ..OpenOptions::create()
    }
}

fn table(db: &Database, name: &str) -> TableId {
    db.table(&TableName::in_default(name)).unwrap().0
}

/// The rows of each table, by writer.
fn found(db: &Database) -> BTreeMap<(Writer, &'static str), Rows> {
    let snapshot = db.snapshot();
    let mut found = BTreeMap::new();
    for name in TABLES {
        let options = ScanOptions { keep: Keep::Nothing, ..ScanOptions::default() };
        let mut scan = snapshot.scan(table(db, name), &options).unwrap();
        while let Some(runs) = scan.next_runs().unwrap() {
            for run in runs {
                for cell in run.cells.map(|i| run.block.cell(i)) {
                    let id = u64::from_be_bytes(cell.row[..8].try_into().unwrap());
                    let writer = match name {
                        "rows" => Writer::Rows,
                        "skipped" => Writer::Skipped,
                        _ => Writer::Batches(id),
                    };
                    let number = u64::from_be_bytes(cell.value[..8].try_into().unwrap());
                    let rows: &mut Rows = found.entry((writer, name)).or_default();
                    assert_eq!(rows.insert(cell.row.to_vec(), number), None, "{name}: a row twice");
                }
            }
        }
    }
    found
}

#[test]
fn the_writers_that_are_killed() {
    let Ok(dir) = std::env::var(CHILD_DIR) else { return };
    // A mistake on any thread ends all of them, so that the parent sees it.
    let say_it = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        say_it(panic);
        std::process::abort();
    }));
    let db = &Database::open(Path::new(&dir), options()).unwrap();
    for name in TABLES {
        if db.table(&TableName::in_default(name)).is_err() {
            let descriptor = TableDescriptor::new(TableName::in_default(name));
            db.create_table(descriptor.family(FamilyDescriptor::new("f"))).unwrap();
        }
    }
    let found = found(db);
    let last = |writer: Writer| {
        let rows = found.iter().filter(|((of, _), _)| *of == writer).flat_map(|(_, rows)| rows.values());
        rows.copied().max().unwrap_or(0)
    };
    let begins: Vec<u64> = WRITERS.iter().map(|writer| last(*writer)).collect();
    begins.iter().enumerate().for_each(|(writer, last)| say("from", writer as u64, *last));
    std::thread::scope(|scope| {
        for (at, last) in begins.into_iter().enumerate() {
            scope.spawn(move || (last + 1..=last + LIFE_MAX).for_each(|number| write(db, at, number)));
        }
        scope.spawn(|| {
            let seed = setting(CHILD_SEED, 0);
            for number in 0..LIFE_MAX {
                let kind = tidy(db, mixed(seed.wrapping_add(number)));
                // Without a parent who listens this is the end.
                say("tidied", kind, number);
            }
        });
    });
}

fn write(db: &Database, at: usize, number: u64) {
    let writer = WRITERS[at];
    let mut batch = WriteBatch::new();
    let mut value = number.to_be_bytes().to_vec();
    value.resize(80, b'-');
    let timestamp = i64::try_from(number).unwrap();
    for name in TABLES {
        for (row, is_there) in change(writer, number, name) {
            let mut builder = batch.row(table(db, name), &row).unwrap();
            if is_there {
                builder.put(b"f", b"q", timestamp, &value).unwrap();
            } else {
                builder.delete(b"f", b"", timestamp, CellType::DeleteFamily).unwrap();
            }
            builder.finish();
        }
    }
    db.write(batch, durability(writer, number)).unwrap();
    say("wrote", at as u64, number);
    if writer == Writer::Skipped && number.is_multiple_of(FLUSH_EVERY) {
        db.flush(Some(table(db, "skipped"))).unwrap();
        say("flushed", at as u64, number);
    }
}

/// What [`tidy`] does, in the order of the numbers that it gives.
const KINDS: [&str; 7] =
    ["pauses", "flushes", "major compactions", "compactions", "splits", "merges", "snapshots"];

/// One piece of work that changes no answer; gives its kind.
fn tidy(db: &Database, chance: u64) -> u64 {
    let name = ["rows", "left", "right"][(chance >> 8) as usize % 3];
    let id = table(db, name);
    let regions = db.regions(id).unwrap();
    match chance % 8 {
        0 => {
            db.flush(Some(id)).unwrap();
            1
        }
        1 => {
            db.compact(Some(id), true).unwrap();
            2
        }
        2 => {
            db.compact(None, false).unwrap();
            3
        }
        3 if regions.len() < 4 => {
            let row = row([(chance >> 16) & 1, (chance >> 24) % SLOTS, 0]);
            let region = regions.iter().rfind(|region| *region.range.start <= *row).unwrap();
            if *region.range.start == *row {
                return 0;
            }
            db.split_region(id, region.id, Some(&row)).unwrap();
            4
        }
        4 if regions.len() > 1 => {
            db.merge_regions(id, [regions[0].id, regions[1].id]).unwrap();
            5
        }
        5 => {
            if db.snapshots().is_empty() {
                db.create_snapshot("kept", &TableName::in_default(name)).unwrap();
            } else {
                db.drop_snapshot("kept").unwrap();
            }
            6
        }
        _ => {
            std::thread::sleep(Duration::from_millis(chance >> 32 & 31));
            0
        }
    }
}

/// What the parent knows.
struct Run {
    dir: PathBuf,
    seed: u64,
    kills: u64,
    kills_in_recovery: u64,
    /// Acknowledged changes of each writer.
    changes: [u64; 4],
    /// What was tidied, by [`KINDS`].
    tidied: [u64; 7],
    /// The last acknowledged change of each writer.
    written: [u64; 4],
    /// The last of the writer that skips the log before an acknowledged flush.
    flushed: u64,
}

impl Run {
    /// One life of the writers.
    fn live(&mut self) {
        let mut child = self.start();
        let chance = mixed(self.seed.wrapping_add(self.kills));
        // One life in six ends while the database is opened, or shortly after.
        let life_ms = if chance.is_multiple_of(6) { chance >> 8 & 15 } else { 20 + (chance >> 8) % 300 };
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
        std::thread::sleep(Duration::from_millis(life_ms));
        if let Some(status) = child.try_wait().unwrap() {
            panic!("the writers ended by themselves: {status}");
        }
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(SIGKILL), "the writers ended by themselves: {status}");
        self.kills += 1;
        let mut began = false;
        for (word, writer, number) in reader.join().unwrap().iter().filter_map(|line| message(line)) {
            let writer = writer as usize;
            match word {
                "from" => {
                    began = true;
                    self.begin(writer, number);
                }
                "wrote" => {
                    assert_eq!(number, self.written[writer] + 1, "{:?} left a change out", WRITERS[writer]);
                    self.written[writer] = number;
                    self.changes[writer] += 1;
                }
                "flushed" => self.flushed = number,
                "tidied" => self.tidied[writer] += 1,
                other => panic!("the writers say {other}"),
            }
        }
        self.kills_in_recovery += u64::from(!began);
    }

    fn start(&self) -> Child {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([CHILD_TEST, "--exact", "--nocapture"]);
        child.env(CHILD_DIR, &self.dir).env(CHILD_SEED, mixed(self.seed ^ self.kills).to_string());
        child.stdout(Stdio::piped()).spawn().unwrap()
    }

    /// The number at which a writer goes on, or is found to have ended.
    fn begin(&mut self, writer: usize, number: u64) {
        let least = if WRITERS[writer] == Writer::Skipped { self.flushed } else { self.written[writer] };
        let most = self.written[writer] + 1;
        let who = WRITERS[writer];
        assert!(
            (least..=most).contains(&number),
            "{who:?} has come to {number}, expected {least} to {most} after kill {}",
            self.kills
        );
        self.written[writer] = number;
    }

    /// Opens the database and compares all of it.
    fn verify(&mut self) {
        let read_only = self.kills.is_multiple_of(3) && self.changes[0] > 0;
        let db = Database::open(&self.dir, OpenOptions { read_only, ..options() }).unwrap();
        // The first lives may have ended before there were tables.
        if TABLES.iter().any(|name| db.table(&TableName::in_default(*name)).is_err()) {
            assert_eq!(self.written, [0; 4]);
            return;
        }
        let found = found(&db);
        db.close().unwrap();
        for (at, writer) in WRITERS.into_iter().enumerate() {
            let of = |name: &'static str| found.get(&(writer, name)).cloned().unwrap_or_default();
            let last = TABLES.iter().flat_map(|name| of(name).into_values()).max().unwrap_or(0);
            self.begin(at, last);
            for name in TABLES {
                let place = format!("{writer:?} at {last} in {name} after kill {}", self.kills);
                assert_eq!(of(name), after(writer, last, name), "{place}");
            }
        }
        if read_only {
            // The recovery may still be to come, and lose nothing more.
            return;
        }
        // What was found was recovered into files or is in the log again.
        self.flushed = self.written[3];
    }

    fn check(&self) {
        assert_undamaged(&self.dir);
    }
}

#[test]
fn killed_at_random_moments_every_writer_finds_all_that_it_was_promised() {
    let kills = setting("BASALT_KILLS", KILLS);
    let clock_seed = Env::local().clock.now_ms().unsigned_abs();
    let seed = setting("BASALT_SEED", clock_seed);
    report(format_args!("replay the choices of this run: BASALT_KILLS={kills} BASALT_SEED={seed}"));
    assert!(kills > 0, "a run without kills proves nothing");
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("db");
    let mut run = Run {
        dir,
        seed,
        kills: 0,
        kills_in_recovery: 0,
        changes: [0; 4],
        tidied: [0; 7],
        written: [0; 4],
        flushed: 0,
    };
    while run.kills < kills {
        run.live();
        if !run.kills.is_multiple_of(4) {
            run.verify();
        }
        if run.kills.is_multiple_of(20) {
            run.check();
        }
        if run.kills.is_multiple_of(500) {
            report(format_args!("{} of {kills} kills, {:?} changes acknowledged", run.kills, run.changes));
        }
    }
    run.verify();
    run.check();
    assert!(run.changes.iter().all(|changes| *changes > 5 * kills), "only {:?} changes", run.changes);
    let tidied = KINDS.iter().zip(run.tidied).map(|(kind, count)| format!("{count} {kind}"));
    let tidied = tidied.collect::<Vec<_>>().join(", ");
    assert!(run.tidied.iter().all(|count| *count >= kills / 10), "{tidied}");
    report(format_args!(
        "{kills} kills ({} before the database was open), {} changes of rows and of batches over tables acknowledged, \
         beside {tidied}: nothing lost, nothing half there",
        run.kills_in_recovery,
        run.changes.iter().sum::<u64>()
    ));
}
