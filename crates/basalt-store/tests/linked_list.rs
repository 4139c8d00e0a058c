// SPDX-License-Identifier: Apache-2.0
//! HBase's test of the big linked list (`IntegrationTestBigLinkedList`): lists of nodes that point at nodes which were
//! durable before, written by processes that are killed; in the end no node may point into the void.
//!
//! A generator writes batches of `WIDTH` nodes. Node `i` of a batch points at node `i` of the batch before, and when
//! `WRAP` batches are written the first of them gets its pointers, at the last batch turned by one: all are one circle.
//!
//! ```text
//! batch 0      batch 1      batch 2
//!   n0  <------- n0 <-------- n0 <---.         every batch is one commit, together with the count of commits of its
//!   n1  <------- n1 <-------- n1 <-. |         generator, which is read and written in place (a row update); the next
//!   |`-------------------------------'         one begins when it is acknowledged
//!   `------------------------------'
//! ```
//!
//! Beside the generators a janitor fills a second table, truncates it, and gives it a family and takes it away again.
//!
//! The writers are this program, started anew as a child after every SIGKILL; the parent knows only what they printed.
//! After each start: a generator's count is what it acknowledged, or one more; the second table has all rows of one
//! filling, or none, as its last acknowledgement allows. At the end: UNDEFINED (pointed at, not there) 0, UNREFERENCED
//! (there, pointed at by none) 0, REFERENCED all nodes, each pointed at once.
//!
//! `BASALT_NODES` sets the number of nodes, `BASALT_SEED` repeats a run's choices (not the machine's timing).
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use basalt_model::{FamilyDescriptor, LATEST_TIMESTAMP, TableDescriptor, TableId, TableName, WriteBatch};
use basalt_store::read::Keep;
use basalt_store::{Database, Durability, OpenOptions, ScanOptions};

#[path = "children/lines.rs"]
mod children;

use children::{assert_undamaged, message, mixed, report, say, setting};

const GENERATORS: u64 = 4;
const WIDTH: u64 = 2_500;
const WRAP: u64 = 25;
/// Commits of a circle: its batches and the one that closes it.
const CIRCLE_STEPS: u64 = WRAP + 1;
const CIRCLE_NODES: u64 = WIDTH * WRAP;
/// Rows of one filling of the janitor's table.
const FILLING: u64 = 500;
/// Lives of the writers, about.
const LIVES: u64 = 40;

const CHILD_TEST: &str = "the_writers_that_are_killed";
const CHILD_DIR: &str = "BASALT_LIST_DIR";
const CHILD_CIRCLES: &str = "BASALT_LIST_CIRCLES";
const CHILD_FILLING: &str = "BASALT_LIST_FILLING";

/// The key of a node; batches are numbered over all circles of a generator.
fn key(generator: u64, batch: u64, node: u64) -> [u8; 8] {
    mixed(generator << 56 | batch << 24 | node).to_be_bytes()
}

fn open(dir: &Path) -> Database {
    let options = OpenOptions {
        memory_bytes: 32 << 20,
        memtable_bytes: Some(2 << 20),
        wal_segment_bytes: 1 << 20,
        ..OpenOptions::create()
    };
    Database::open(dir, options).unwrap()
}

fn described(name: &str, families: &[&str]) -> TableDescriptor {
    let table = TableDescriptor::new(TableName::in_default(name));
    families.iter().fold(table, |table, family| table.family(FamilyDescriptor::new(*family)))
}

fn table(db: &Database, name: &str) -> TableId {
    let known = db.table(&TableName::in_default(name)).map(|(id, _)| id);
    known.unwrap_or_else(|_| db.create_table(described(name, &["f"])).unwrap())
}

fn put(batch: &mut WriteBatch, table: TableId, row: &[u8], qualifier: &str, value: &[u8]) {
    let mut builder = batch.row(table, row).unwrap();
    builder.put(b"f", qualifier.as_bytes(), LATEST_TIMESTAMP, value).unwrap();
    builder.finish();
}

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().unwrap())
}

/// Calls `each` with row, qualifier and value of all visible cells.
fn for_each_cell(db: &Database, table: TableId, mut each: impl FnMut(&[u8], &[u8], &[u8])) {
    let mut scan =
        db.snapshot().scan(table, &ScanOptions { keep: Keep::Nothing, ..ScanOptions::default() }).unwrap();
    while let Some(runs) = scan.next_runs().unwrap() {
        for run in runs {
            for cell in run.cells.map(|i| run.block.cell(i)) {
                each(cell.row, cell.qualifier, cell.value);
            }
        }
    }
}

/// Commits of each generator.
fn counts(db: &Database) -> BTreeMap<u64, u64> {
    let mut counts: BTreeMap<u64, u64> = (0..GENERATORS).map(|generator| (generator, 0)).collect();
    for_each_cell(db, table(db, "count"), |row, _, value| {
        counts.insert(number(row), number(value));
    });
    counts
}

/// Fillings in the janitor's table, with their rows.
fn fillings(db: &Database) -> BTreeMap<u64, u64> {
    let mut fillings = BTreeMap::new();
    for_each_cell(db, table(db, "scratch"), |row, _, _| *fillings.entry(number(&row[..8])).or_default() += 1);
    fillings
}

#[test]
fn the_writers_that_are_killed() {
    let Ok(dir) = std::env::var(CHILD_DIR) else { return };
    let db = &open(Path::new(&dir));
    table(db, "nodes");
    let counts = counts(db);
    counts.iter().for_each(|(generator, count)| say("count", *generator, *count));
    let left = fillings(db);
    left.iter().for_each(|(filling, rows)| say("found", *filling, *rows));
    say("ready", 0, 0);
    if let Some(filling) = left.keys().next() {
        truncate(db, *filling);
    }
    let steps = setting(CHILD_CIRCLES, 0) * CIRCLE_STEPS;
    std::thread::scope(|scope| {
        for (&generator, &count) in &counts {
            scope.spawn(move || (count..steps).for_each(|step| generate(db, generator, step)));
        }
        scope.spawn(|| (0..).try_for_each(|i| clean(db, setting(CHILD_FILLING, 0) + i, steps)));
    });
    say("done", 0, 0);
}

/// One commit of a generator.
fn generate(db: &Database, generator: u64, step: u64) {
    let (nodes, count) = (table(db, "nodes"), table(db, "count"));
    let (circle, place) = (step / CIRCLE_STEPS, step % CIRCLE_STEPS);
    let first = circle * WRAP;
    let mut batch = WriteBatch::new();
    for node in 0..WIDTH {
        if place == WRAP {
            let last = key(generator, first + WRAP - 1, (node + 1) % WIDTH);
            put(&mut batch, nodes, &key(generator, first, node), "prev", &last);
            continue;
        }
        let row = key(generator, first + place, node);
        if place > 0 {
            put(&mut batch, nodes, &row, "prev", &key(generator, first + place - 1, node));
        } else {
            put(&mut batch, nodes, &row, "waits", b"");
        }
    }
    let row = generator.to_be_bytes();
    let written = db.update(count, &row, Durability::Sync, |cells| {
        let before = cells.first().map_or(0, |run| number(run.block.cell(run.cells.start).value));
        assert_eq!(before, step, "somebody else writes for generator {generator}");
        put(&mut batch, count, &row, "n", &(step + 1).to_be_bytes());
        Ok(Some(batch))
    });
    written.unwrap();
    say("wrote", generator, step);
}

/// One round of the janitor; `None` once the generators are done.
fn clean(db: &Database, filling: u64, steps: u64) -> Option<()> {
    let scratch = table(db, "scratch");
    let mut batch = WriteBatch::new();
    for row in 0..FILLING {
        put(&mut batch, scratch, &[filling.to_be_bytes(), row.to_be_bytes()].concat(), "x", b"");
    }
    db.write(batch, Durability::Sync).unwrap();
    say("filled", filling, FILLING);
    let families: &[&str] = if filling.is_multiple_of(2) { &["f", "g"] } else { &["f"] };
    db.alter_table(scratch, described("scratch", families)).unwrap();
    truncate(db, filling);
    counts(db).values().any(|&count| count < steps).then_some(())
}

fn truncate(db: &Database, filling: u64) {
    db.truncate_table(&TableName::in_default("scratch"), true).unwrap();
    say("truncated", filling, 0);
}

/// What the parent knows.
struct Run {
    dir: PathBuf,
    circles: u64,
    seed: u64,
    /// Acknowledged commits of each generator.
    written: BTreeMap<u64, u64>,
    /// The newest filling that may have been begun, the newest that was acknowledged, and the newest that was truncated.
    /// A life begins with one that no life before it can have written, acknowledged or not.
    begun: u64,
    filled: u64,
    truncated: u64,
    lives: u64,
    kills: u64,
    truncations: u64,
}

impl Run {
    fn start(&mut self) -> Child {
        self.lives += 1;
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([CHILD_TEST, "--exact", "--nocapture"]);
        child.env(CHILD_DIR, &self.dir).env(CHILD_CIRCLES, self.circles.to_string());
        self.begun += 1;
        child.env(CHILD_FILLING, self.begun.to_string());
        child.stdout(Stdio::piped()).spawn().unwrap()
    }

    /// One life of the writers; true if they came to the end.
    fn live(&mut self) -> bool {
        let mut child = self.start();
        let steps = self.circles * CIRCLE_STEPS * GENERATORS;
        // One life in eight ends before the writers can do much: that kills recovery.
        let early = mixed(self.seed + self.lives).is_multiple_of(8);
        let mut left = if early { 0 } else { 1 + mixed(self.seed ^ self.lives) % (2 * steps / LIVES) };
        let (mut done, mut killed, mut found) = (false, false, BTreeMap::new());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while let Some(Ok(line)) = lines.next() {
            if left == 0 && !killed {
                child.kill().unwrap();
                killed = true;
            }
            let Some((word, a, b)) = message(&line) else { continue };
            match word {
                "count" => self.check_count(a, b),
                "found" => {
                    found.insert(a, b);
                }
                "ready" => self.check_fillings(&found),
                "wrote" => {
                    assert_eq!(self.written.insert(a, b + 1), Some(b), "generator {a} skipped a commit");
                    left = left.saturating_sub(1);
                }
                "filled" => {
                    self.filled = a;
                    self.begun = a + 1;
                }
                "truncated" => {
                    self.truncated = a;
                    self.truncations += 1;
                }
                "done" => done = true,
                other => panic!("the writers say {other}"),
            }
        }
        let status = child.wait().unwrap();
        self.kills += u64::from(killed && !status.success());
        assert!(killed || status.success(), "the writers ended by themselves: {status}");
        done
    }

    fn check_count(&mut self, generator: u64, count: u64) {
        let written = self.written.insert(generator, count).unwrap();
        let life = self.lives;
        assert!(
            count == written || count == written + 1,
            "life {life}: generator {generator} has {count} commits, {written} were acknowledged"
        );
    }

    fn check_fillings(&self, found: &BTreeMap<u64, u64>) {
        let place = format!("life {}, filled {}, truncated {}", self.lives, self.filled, self.truncated);
        assert!(found.len() <= 1, "{place}: several fillings: {found:?}");
        let Some((&filling, &rows)) = found.first_key_value() else {
            return;
        };
        assert_eq!(rows, FILLING, "{place}: filling {filling} is there in part");
        assert!(filling > self.truncated, "{place}: filling {filling} came back");
        assert!(filling >= self.filled, "{place}: filling {filling} hides a later one");
    }

    fn report(&self) {
        let db = open(&self.dir);
        let (mut defined, mut pointers) = (Vec::new(), Vec::new());
        for_each_cell(&db, table(&db, "nodes"), |row, qualifier, value| {
            if defined.last() != Some(&number(row)) {
                defined.push(number(row));
            }
            if qualifier == b"prev" {
                pointers.push(number(value));
            }
        });
        pointers.sort_unstable();
        let total = pointers.len();
        pointers.dedup();
        let undefined = pointers.iter().filter(|key| defined.binary_search(key).is_err()).count();
        let referenced = pointers.len() - undefined;
        let unreferenced = defined.len() - referenced;
        report(format_args!(
            "REFERENCED {referenced}, UNREFERENCED {unreferenced}, UNDEFINED {undefined}; {} kills, {} truncations",
            self.kills, self.truncations
        ));
        let nodes = (self.circles * CIRCLE_NODES * GENERATORS) as usize;
        assert_eq!((undefined, unreferenced, referenced, total), (0, 0, nodes, nodes));
        assert!(self.kills * 4 > LIVES, "{} kills", self.kills);
        assert!(self.truncations > 10, "{} truncations", self.truncations);
        db.close().unwrap();
        assert_undamaged(&self.dir);
    }
}

#[test]
fn killed_writers_leave_no_node_that_points_into_the_void() {
    let nodes = setting("BASALT_NODES", 1_000_000);
    let seed = setting("BASALT_SEED", u64::from_be_bytes(key(0, nodes, 0)));
    report(format_args!("replay the choices of this run: BASALT_NODES={nodes} BASALT_SEED={seed}"));
    let dir = tempfile::tempdir().unwrap();
    let circles = nodes.div_ceil(CIRCLE_NODES * GENERATORS);
    let mut run = Run {
        dir: dir.path().join("db"),
        circles,
        seed,
        written: (0..GENERATORS).map(|generator| (generator, 0)).collect(),
        begun: 0,
        filled: 0,
        truncated: 0,
        lives: 0,
        kills: 0,
        truncations: 0,
    };
    while !run.live() {}
    run.report();
}
