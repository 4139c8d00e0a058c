// SPDX-License-Identifier: Apache-2.0
//! Kills a loading program with SIGKILL at random moments, again and again over one database, and looks at what
//! is there afterwards.
//!
//! The loader is `basalt sql` with statements on its standard input. Each statement is one atomic batch; its
//! acknowledgement is the answer to a SELECT that follows it. Statement `k` (1, 2, 3, …) is
//!
//! ```text
//! UPSERT   rows (k, 0) .. (k, n-1), each with total = n, and in the same batch the rows (0, 0) .. (0, HOT-1)
//!          with total = k: new keys and old ones
//! DELETE   every fifth: all rows of an earlier batch; every fiftieth: of all batches but the last ones
//! ```
//!
//! After each kill, with A = the last acknowledged statement and B = the last one sent:
//!
//! 1. the rows (0, *) all say the same k, the last batch that happened, and k is not before A;
//! 2. every batch up to k is there with all its rows, unless a statement up to B deletes it;
//! 3. no batch after k is there with any row;
//! 4. a batch deleted at or before A is gone.
//!
//! Kills come at any time after the program was started: while it recovers, loads, flushes. `BASALT_KILLS` sets
//! their number, `BASALT_SEED` repeats a run's choices (not the machine's timing).
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const KILLS: u64 = 80;
const KILLS_WITH_INDEXES: u64 = 20;
/// Rows that every batch overwrites.
const HOT: u64 = 40;
/// Small, so that memtables are flushed many times in a run.
const MEMORY: &str = "16MB";
/// Sent but not yet acknowledged statements: the program always has something to do when it is killed.
const IN_FLIGHT: u64 = 3;
/// Batches that the large deletes leave, so that a long run takes no longer per kill than a short one.
const KEPT: u64 = 100;
/// Nothing that this test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn killed_at_random_moments_no_acknowledged_row_is_lost_and_no_batch_is_half_there() {
    run(KILLS, false);
}

/// Builds of indexes are killed as well, and begun again.
#[test]
fn killed_at_random_moments_indexes_differ_in_nothing_from_their_table() {
    run(KILLS_WITH_INDEXES, true);
}

fn run(kills: u64, indexed: bool) {
    let number = |text: String| text.parse().expect("BASALT_KILLS and BASALT_SEED are whole numbers");
    let kills: u64 = std::env::var("BASALT_KILLS").map_or(kills, number);
    let seed: u64 = std::env::var("BASALT_SEED").map_or_else(|_| clock_seed(), number);
    report(format_args!(
        "replay the choices of this run: BASALT_KILLS={kills} BASALT_SEED={seed} cargo test --release --test crash"
    ));
    assert!(kills > 0, "a run without kills proves nothing");

    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::new(dir.path().join("db"), seed);
    run.create_table();
    if indexed {
        run.output("CREATE LOCAL INDEX crash_total ON crash (total) INCLUDE (payload)");
        run.output("CREATE INDEX crash_payload ON crash (UPPER(payload) DESC, total)");
    }
    for cycle in 1..=kills {
        run.load_until_killed();
        run.verify(cycle);
        if indexed {
            run.verify_indexes(cycle);
        }
        if cycle % 10 == 0 || cycle == kills {
            run.check();
        }
        if cycle % 250 == 0 {
            report(format_args!("{cycle} of {kills} kills, {} rows acknowledged", run.rows_acknowledged));
        }
    }
    run.report(kills);
}

/// What was sent, what was acknowledged, and the chances taken.
struct Run {
    db: PathBuf,
    chance: Chance,
    /// Number of the last statement sent.
    sent: u64,
    /// Number of the last statement acknowledged.
    acknowledged: u64,
    /// Rows of each batch sent.
    batches: BTreeMap<u64, u64>,
    /// Batch -> statement that deletes it.
    deleted_by: BTreeMap<u64, u64>,
    /// The last batch that happened, as of the last kill.
    last_happened: u64,
    /// A large delete was sent in the last life, or was without an answer before it.
    large_in_flight: bool,
    rows_acknowledged: u64,
    kills_before_first_answer: u64,
    kills: u64,
}

impl Run {
    fn new(db: PathBuf, seed: u64) -> Self {
        Self {
            db,
            chance: Chance(seed),
            sent: 0,
            acknowledged: 0,
            batches: BTreeMap::new(),
            deleted_by: BTreeMap::new(),
            last_happened: 0,
            large_in_flight: false,
            rows_acknowledged: 0,
            kills_before_first_answer: 0,
            kills: 0,
        }
    }

    fn create_table(&self) {
        self.output(
            "CREATE TABLE crash (batch BIGINT NOT NULL, line BIGINT NOT NULL, total BIGINT, payload VARCHAR \
             CONSTRAINT pk PRIMARY KEY (batch, line))",
        );
    }

    /// One life of the loader: from start to SIGKILL.
    fn load_until_killed(&mut self) {
        let mut loader = Loader::start(&self.db);
        self.large_in_flight = false;
        // One life in eight ends before there can be much of an answer: that kills recovery.
        let early = self.chance.below(8) == 0;
        let life =
            Duration::from_millis(if early { self.chance.below(40) } else { 40 + self.chance.below(600) });
        let started = Instant::now();
        let mut answered = false;
        while started.elapsed() < life {
            while self.sent < self.acknowledged + IN_FLIGHT {
                let statement = self.next_statement();
                loader.send(statement);
            }
            let Some(acknowledged) = loader.answer_within(life.saturating_sub(started.elapsed())) else {
                break;
            };
            answered = true;
            self.acknowledge(acknowledged);
        }
        loader.kill();
        self.kills += 1;
        self.kills_before_first_answer += u64::from(!answered);
        // Answers that the program gave before it died count: the pipe still holds them.
        for acknowledged in loader.remaining_answers() {
            self.acknowledge(acknowledged);
        }
    }

    fn acknowledge(&mut self, statement: u64) {
        assert!(
            statement > self.acknowledged && statement <= self.sent,
            "an answer to a statement never sent: {statement}"
        );
        for k in self.acknowledged + 1..=statement {
            self.rows_acknowledged += self.batches.get(&k).map_or(0, |rows| rows + HOT);
        }
        self.acknowledged = statement;
    }

    /// The text of the next statement and of the SELECT that acknowledges it.
    fn next_statement(&mut self) -> String {
        self.sent += 1;
        let k = self.sent;
        if k.is_multiple_of(50) && k > KEPT {
            let last = k - KEPT;
            self.large_in_flight = true;
            for (batch, _) in self.batches.range(..=last) {
                self.deleted_by.entry(*batch).or_insert(k);
            }
            return format!(
                "DELETE FROM crash WHERE batch BETWEEN 1 AND {last};\nSELECT {k} AS acknowledged;\n"
            );
        }
        let victim = k.saturating_sub(5 + self.chance.below(20));
        let deletes = k.is_multiple_of(5)
            && self.batches.contains_key(&victim)
            && !self.deleted_by.contains_key(&victim);
        let mut text = if deletes {
            self.deleted_by.insert(victim, k);
            format!("DELETE FROM crash WHERE batch = {victim};\n")
        } else {
            let rows = 100 + self.chance.below(901);
            self.batches.insert(k, rows);
            upsert(k, rows)
        };
        writeln!(text, "SELECT {k} AS acknowledged;").unwrap();
        text
    }

    fn verify(&mut self, cycle: u64) {
        let found = self.ask(
            "SELECT batch, COUNT(*) AS n, MIN(total) AS low, MAX(total) AS high, MAX(line) AS last FROM crash \
             GROUP BY batch ORDER BY batch",
        );
        let mut found: BTreeMap<u64, [u64; 4]> =
            found.into_iter().map(|row| (row[0], [row[1], row[2], row[3], row[4]])).collect();
        let place =
            format!("after kill {cycle}, acknowledged up to {}, sent up to {}", self.acknowledged, self.sent);
        self.verify_hot_rows(found.remove(&0), &place);
        // Of each statement that deletes: batches that are there, and that are not.
        let mut deletes: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        for (batch, &rows) in &self.batches {
            let deleted_by = self.deleted_by.get(batch).copied();
            let found = found.remove(batch);
            if let Some(statement) = deleted_by {
                deletes.entry(statement).or_default()[usize::from(found.is_none())] += 1;
            }
            match found {
                Some(there) => {
                    assert_eq!(there, [rows, rows, rows, rows - 1], "batch {batch} is half there {place}");
                    assert!(
                        *batch <= self.last_happened,
                        "batch {batch} is there without its overwritten rows {place}"
                    );
                    let gone = deleted_by.is_some_and(|statement| statement <= self.acknowledged);
                    assert!(!gone, "batch {batch} was deleted by {deleted_by:?} and is there {place}");
                }
                None => {
                    let may_lack = *batch > self.last_happened || deleted_by.is_some();
                    assert!(may_lack, "batch {batch} of {rows} rows is lost {place}");
                }
            }
        }
        for (statement, [left, gone]) in deletes {
            assert!(left == 0 || gone == 0, "delete {statement} left {left} batches and took {gone} {place}");
        }
        assert!(found.is_empty(), "batches that nobody sent: {found:?} {place}");
        self.settle();
    }

    /// CHECK INDEX answers with rows, index rows, missing and stale ones.
    fn verify_indexes(&mut self, cycle: u64) {
        // A delete of many rows is written around the indexes, which are built anew behind it. Killed there, it leaves them to the
        // next one who opens the database, who has no time for it here.
        let unfinished = "SELECT LOWER(TABLE_NAME) FROM SYSTEM.CATALOG WHERE INDEX_STATE <> 'a'";
        for index in self.output(unfinished).lines().skip(1) {
            assert!(
                self.large_in_flight,
                "after kill {cycle}: {index} is unfinished and nothing outdated it"
            );
            self.output(&format!("ALTER INDEX {index} ON crash REBUILD"));
        }
        for index in ["crash_total", "crash_payload"] {
            let found = self.output(&format!("CHECK INDEX {index} ON crash"));
            let row: Vec<&str> = found.lines().last().unwrap_or_default().split('\t').collect();
            let [_, rows, entries, missing, stale, ..] = row[..] else {
                panic!("CHECK INDEX answers {found:?}")
            };
            assert_eq!((entries, missing, stale), (rows, "0", "0"), "after kill {cycle}: {found}");
        }
        if cycle.is_multiple_of(4) {
            let rebuild = "ALTER INDEX crash_total ON crash REBUILD";
            let mut build = basalt("sql").arg(&self.db).args(["-c", rebuild]).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(self.chance.below(60)));
            build.kill().unwrap();
            build.wait().unwrap();
            self.output(rebuild);
        }
    }

    /// The rows that every batch overwrites: all of one batch, and of none before the last acknowledged.
    fn verify_hot_rows(&mut self, hot: Option<[u64; 4]>, place: &str) {
        let acknowledged = self.batches.range(..=self.acknowledged).next_back().map_or(0, |(k, _)| *k);
        let least = acknowledged.max(self.last_happened);
        let Some([rows, low, high, last]) = hot else {
            assert_eq!(least, 0, "the overwritten rows are lost {place}");
            return;
        };
        assert_eq!((rows, last), (HOT, HOT - 1), "overwritten rows are missing {place}");
        assert_eq!(low, high, "the overwritten rows come from several batches {place}");
        assert!(
            (least..=self.sent).contains(&low),
            "overwritten rows say {low}, expected {least} or later {place}"
        );
        self.last_happened = low;
    }

    /// Statements without an answer happened or did not; from now on only what was found counts.
    fn settle(&mut self) {
        let there: BTreeSet<u64> =
            self.ask("SELECT DISTINCT batch FROM crash").into_iter().map(|row| row[0]).collect();
        self.batches.retain(|batch, _| there.contains(batch));
        self.deleted_by.retain(|batch, _| !there.contains(batch));
        let live = self.batches.clone();
        self.deleted_by.retain(|batch, _| live.contains_key(batch));
        self.acknowledged = self.sent;
    }

    /// The numbers that a query answers.
    fn ask(&self, sql: &str) -> Vec<Vec<u64>> {
        self.output(sql)
            .lines()
            .skip(1)
            .map(|line| line.split('\t').map(|n| n.parse().unwrap()).collect())
            .collect()
    }

    /// What a program prints that opens the database anew for one statement.
    fn output(&self, sql: &str) -> String {
        let output = basalt("sql").arg(&self.db).args(["--format", "tsv", "-c", sql]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {}\n{error}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    fn check(&self) {
        let output = basalt("check").arg(&self.db).output().unwrap();
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "basalt check: {}\n{report}", output.status);
    }

    fn report(&self, kills: u64) {
        assert_eq!(self.kills, kills);
        let files = store_files(&self.db.join("data"));
        assert!(files > 0, "no memtable was flushed; the test is too small to mean anything");
        assert!(self.rows_acknowledged > 1_000, "only {} rows acknowledged", self.rows_acknowledged);
        report(format_args!(
            "{} kills ({} before the first answer), {} statements, {} rows acknowledged, {files} store files: \
             nothing lost, nothing half there",
            self.kills, self.kills_before_first_answer, self.sent, self.rows_acknowledged
        ));
    }
}

/// Says what a run did, also when it passes: the runner keeps what goes through `eprintln!` to itself then.
fn report(line: std::fmt::Arguments<'_>) {
    let mut uncaptured = std::io::stderr();
    writeln!(uncaptured, "{line}").unwrap();
}

fn upsert(k: u64, rows: u64) -> String {
    let mut text = String::from("UPSERT INTO crash VALUES ");
    for line in 0..rows {
        write!(text, "({k},{line},{rows},'batch {k} line {line} of {rows}'),").unwrap();
    }
    for line in 0..HOT {
        write!(text, "(0,{line},{k},'overwritten by {k}'),").unwrap();
    }
    text.pop();
    text.push_str(";\n");
    text
}

/// A running `basalt sql`. Statements go to it and answers come from it through threads, so that neither a
/// full pipe nor a long recovery delays a kill.
struct Loader {
    child: Child,
    statements: Sender<String>,
    answers: Receiver<u64>,
}

impl Loader {
    fn start(db: &Path) -> Self {
        let mut child = basalt("sql")
            .arg(db)
            .args(["--format", "tsv", "--quiet", "--memory", MEMORY])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (statements, to_write) = mpsc::channel();
        let (read, answers) = mpsc::channel();
        std::thread::spawn(move || write_statements(&to_write, input));
        std::thread::spawn(move || read_answers(output, &read));
        Self { child, statements, answers }
    }

    fn send(&self, statement: String) {
        // Fails when the program has ended; then its end is what the test reports.
        let _ = self.statements.send(statement);
    }

    fn answer_within(&self, time: Duration) -> Option<u64> {
        self.answers.recv_timeout(time).ok()
    }

    fn kill(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            panic!("the loader ended by itself: {status}");
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn remaining_answers(&self) -> Vec<u64> {
        let mut rest = Vec::new();
        while let Ok(answer) = self.answers.recv_timeout(PATIENCE) {
            rest.push(answer);
        }
        rest
    }
}

fn write_statements(statements: &Receiver<String>, mut input: ChildStdin) {
    while let Ok(statement) = statements.recv() {
        if input.write_all(statement.as_bytes()).and_then(|()| input.flush()).is_err() {
            return; // killed
        }
    }
}

/// Answers of one column of numbers; header lines are not numbers. A line cut off by the kill does not count.
fn read_answers(output: ChildStdout, sender: &Sender<u64>) {
    let mut output = BufReader::new(output);
    let mut line = String::new();
    while output.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        if let Some(Ok(answer)) = line.strip_suffix('\n').map(str::parse) {
            let _ = sender.send(answer);
        }
        line.clear();
    }
}

fn store_files(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { store_files(&path) } else { 1 }).sum()
}

fn basalt(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_basalt"));
    program.arg(command);
    program
}

fn clock_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
