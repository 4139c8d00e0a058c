// SPDX-License-Identifier: Apache-2.0
//! `basalt bench points`: how fast is one row found, or written durably? Rows of 100 bytes (a key of 16, one cell of 84) under random keys,
//! asked for through the cell API as a program that embeds Basalt does it.
//!
//! `bench/rocksdb/points.cc` asks RocksDB the same, in the same order, and prints a line `question<TAB>figure<TAB>unit` for each; its
//! program is run before, if it is named, and its figures stand beside. Both are asked in turn for some rounds, each time of a new database: the
//! medians count, and how far the rounds' ratios lie apart is said.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use basalt::cells::{
    Database, Durability, FamilyDescriptor, Get, Keep, LATEST_TIMESTAMP, OpenOptions, Put, ScanOptions,
    Table, TableDescriptor, TableName, WriteBatch,
};
use serde_json::{Value, json};

use super::machine;
use super::page::write_page;
use super::sheet::{Sheet, write_json};
use crate::args::{BenchPointsArgs, Shared};
use crate::failure::Result;

const BATCH_ROWS: u64 = 1_000;
const WRITERS: u64 = 64;
const GETS: u64 = 300_000;
const MULTI_GETS: u64 = 200;
const SINGLE_PUTS: u64 = 50_000;
const VALUE_BYTES: usize = 84;
const THREADS: [u64; 2] = [1, 2];
const SCANS: usize = 5;
/// Threads whose gets come before those that are timed.
const WARM: [u64; 2] = [9, 10];

/// One answer.
#[derive(Debug, Clone)]
struct Figure {
    question: String,
    value: f64,
    unit: String,
}

/// What one program answered, by round.
#[derive(Default)]
struct Rounds(Vec<Vec<Figure>>);

/// Runs the command.
pub(crate) fn run(args: &BenchPointsArgs, shared: &Shared) -> Result<()> {
    let (mut ours, mut theirs) = (Rounds::default(), args.rocksdb.is_some().then(Rounds::default));
    for _ in 0..args.rounds {
        if let (Some(program), Some(theirs)) = (&args.rocksdb, &mut theirs) {
            theirs.0.push(ask_peer(program, args)?);
        }
        ours.0.push(ask(args, shared)?);
    }
    let sheet = sheet(&ours, theirs.as_ref());
    sheet.print();
    if let Some(path) = &args.out {
        write_page(path, header(args) + &sheet.markdown(), &[])?;
    }
    write_json(
        args.json.as_deref(),
        &json!({
            "rows": args.rows,
            "encoding": args.encoding,
            "compression": args.compression,
            "basalt": ours.json(),
            "rocksdb": theirs.as_ref().map(Rounds::json),
        }),
    )
}

fn directory(args: &BenchPointsArgs) -> anyhow::Result<tempfile::TempDir> {
    let directory = match &args.dir {
        Some(dir) => tempfile::Builder::new().prefix("bench-points-").tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    directory.context("cannot make a directory for the data")
}

/// All questions, to a database of its own.
fn ask(args: &BenchPointsArgs, shared: &Shared) -> anyhow::Result<Vec<Figure>> {
    let directory = directory(args)?;
    let memory_bytes = shared.memory.map_or(2 << 30, |memory| memory.0);
    let options = OpenOptions { memory_bytes, ..OpenOptions::create() };
    let db = Database::open(&directory.path().join("db"), options)?;
    let table = create(&db, &args.encoding, &args.compression)?;
    let mut answers = Answers { db: &db, table: &table, rows: args.rows, figures: vec![] };
    answers.load()?;
    answers.space()?;
    answers.scans()?;
    for threads in THREADS {
        answers.gets(threads)?;
        answers.multi_gets(threads)?;
    }
    answers.cache("gets");
    answers.puts()?;
    answers.report("memory that is new to the program", fresh_memory_rate(), "GB/s");
    let figures = answers.figures;
    db.close()?;
    Ok(figures)
}

fn create(db: &Database, encoding: &str, compression: &str) -> anyhow::Result<Table> {
    let name = TableName::in_default("points");
    let mut family = FamilyDescriptor::new("f");
    family.set("DATA_BLOCK_ENCODING", encoding)?;
    family.set("COMPRESSION", compression)?;
    db.create_table(TableDescriptor::new(name.clone()).family(family))?;
    Ok(db.open_table(&name)?)
}

/// How fast memory is written that the program has not had before, in GB/s: what a scan that fills the cache waits for.
fn fresh_memory_rate() -> f64 {
    const BYTES: usize = 1 << 30;
    let started = Instant::now();
    let memory = std::hint::black_box(vec![1_u8; BYTES]);
    memory.len() as f64 / 1e9 / started.elapsed().as_secs_f64()
}

/// SplitMix64: a bijection, so that no two rows have one key.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number below 10^12 for each row below that, no two the same: a Feistel network of forty bits, walked until its number is below.
fn shuffled(row: u64) -> u64 {
    const HALF: u64 = (1 << 20) - 1;
    let mut number = row;
    loop {
        let (mut left, mut right) = (number >> 20, number & HALF);
        for round in 0..4 {
            (left, right) = (right, left ^ mixed(right << 8 | round) & HALF);
        }
        number = left << 20 | right;
        if number < 1_000_000_000_000 {
            return number;
        }
    }
}

fn key(row: u64) -> [u8; 16] {
    let mut key = *b"user000000000000";
    key[4..].copy_from_slice(format!("{:012}", shuffled(row)).as_bytes());
    key
}

/// Half of it chance, half of it the same in all rows.
fn value(row: u64) -> [u8; VALUE_BYTES] {
    let mut value = [b'x'; VALUE_BYTES];
    for (i, chunk) in value[..VALUE_BYTES / 2].chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&mixed(row ^ (i as u64) << 48).to_le_bytes()[..chunk.len()]);
    }
    value
}

/// The questions, and what they were answered so far.
struct Answers<'a> {
    db: &'a Database,
    table: &'a Table,
    rows: u64,
    figures: Vec<Figure>,
}

impl Answers<'_> {
    fn report(&mut self, question: impl Into<String>, value: f64, unit: &str) {
        self.figures.push(Figure { question: question.into(), value, unit: unit.into() });
    }

    /// All rows in batches, each durable before the next; then flushed and compacted.
    fn load(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        for first in (0..self.rows).step_by(BATCH_ROWS as usize) {
            let mut batch = WriteBatch::new();
            for row in first..self.rows.min(first + BATCH_ROWS) {
                let mut builder = batch.row(self.table.id(), &key(row))?;
                builder.put(b"f", b"", LATEST_TIMESTAMP, &value(row))?;
                builder.finish();
            }
            self.db.write(batch, Durability::Sync)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        self.report("batches of 1,000 rows", self.rows as f64 / seconds, "rows/s");
        self.table.flush()?;
        Ok(self.table.major_compact()?)
    }

    fn space(&mut self) -> anyhow::Result<()> {
        let bytes = self.db.stats(self.table.id())?.size_bytes;
        self.report("space", bytes as f64 / self.rows as f64, "bytes/row");
        let metrics = self.db.metrics();
        let written = metrics.bytes_written + metrics.flush_bytes + metrics.compaction_bytes;
        self.report("write amplification", written as f64 / (self.rows * 100) as f64, "times");
        Ok(())
    }

    /// Scans that leave nothing in the cache, which read files; one that fills it; the first one that finds something there; more of
    /// them; and two at once.
    fn scans(&mut self) -> anyhow::Result<()> {
        for (question, keep, times, threads) in [
            ("scan of files", Keep::Nothing, SCANS, 1),
            ("scan into the cache", Keep::Decoded, 1, 1),
            ("second scan, of the cache", Keep::Decoded, 1, 1),
            ("scan of the cache", Keep::Decoded, SCANS, 1),
            ("scan of files, 2 threads", Keep::Nothing, SCANS, 2),
            ("scan of the cache, 2 threads", Keep::Decoded, SCANS, 2),
        ] {
            let mut rates = Vec::with_capacity(times);
            for _ in 0..times {
                let started = Instant::now();
                let found = match threads {
                    1 => vec![self.scan(keep)?],
                    _ => in_threads(threads, |_| self.scan(keep))?,
                };
                for (count, sum) in found {
                    ensure!(count == self.rows && sum > 0, "a scan found {count} of {} rows", self.rows);
                }
                rates.push((self.rows * threads) as f64 / started.elapsed().as_secs_f64());
            }
            self.report(question, median(rates), "rows/s");
        }
        self.cache("scans");
        Ok(())
    }

    /// What the cache holds after these questions.
    fn cache(&mut self, after: &str) {
        let bytes = self.db.metrics().cache.bytes;
        self.report(format!("cache, after {after}"), bytes as f64 / self.rows as f64, "bytes/row");
    }

    /// How many cells there are, and a sum of bytes of each.
    fn scan(&self, keep: Keep) -> anyhow::Result<(u64, u64)> {
        let options = ScanOptions { keep, ..ScanOptions::default() };
        let mut scan = self.db.snapshot().scan(self.table.id(), &options)?;
        let (mut count, mut sum) = (0, 0);
        while let Some(runs) = scan.next_runs()? {
            for run in runs {
                for cell in run.cells.map(|i| run.block.cell(i)) {
                    count += 1;
                    sum += u64::from(cell.row[15]) + u64::from(cell.value[0]);
                }
            }
        }
        Ok((count, sum))
    }

    fn gets(&mut self, threads: u64) -> anyhow::Result<()> {
        let (table, rows) = (self.table, self.rows);
        let timed = |thread: u64| -> anyhow::Result<Vec<u32>> {
            let mut times = Vec::with_capacity(GETS as usize);
            for i in 0..GETS {
                let row = mixed(i << 8 | thread) % rows;
                let started = Instant::now();
                let found = table.get(&Get::new(key(row).to_vec()))?;
                let first = found.value(b"f", b"").map(|value| value[0]);
                times.push(started.elapsed().as_nanos() as u32);
                ensure!(first == Some(value(row)[0]), "a row was read as another one");
            }
            Ok(times)
        };
        // Of the cache, which holds what was asked for before.
        for thread in WARM {
            timed(thread)?;
        }
        let started = Instant::now();
        let mut times = in_threads(threads, timed)?.concat();
        let rate = (GETS * threads) as f64 / started.elapsed().as_secs_f64();
        times.sort_unstable();
        let at = |part: f64| f64::from(times[(times.len() as f64 * part) as usize]) / 1e3;
        self.report(format!("get, {threads} threads, p50"), at(0.5), "us");
        self.report(format!("get, {threads} threads, p99"), at(0.99), "us");
        self.report(format!("get, {threads} threads, rate"), rate, "rows/s");
        Ok(())
    }

    fn multi_gets(&mut self, threads: u64) -> anyhow::Result<()> {
        let (table, rows) = (self.table, self.rows);
        let work = |thread: u64| -> anyhow::Result<Vec<Duration>> {
            let mut times = Vec::with_capacity(MULTI_GETS as usize);
            for i in 0..MULTI_GETS {
                let wanted: Vec<u64> =
                    (0..BATCH_ROWS).map(|k| mixed(i << 32 | k << 8 | thread) % rows).collect();
                let gets: Vec<Get> = wanted.iter().map(|&row| Get::new(key(row).to_vec())).collect();
                let started = Instant::now();
                let found = table.get_all(&gets)?;
                times.push(started.elapsed());
                let right = found.iter().zip(&wanted).all(|(found, &row)| {
                    found.value(b"f", b"").is_some_and(|found| found[..] == value(row)[..])
                });
                ensure!(right, "a row was read as another one");
            }
            Ok(times)
        };
        let mut times = in_threads(threads, work)?.concat();
        times.sort_unstable();
        let median = times[times.len() / 2].as_secs_f64() / BATCH_ROWS as f64;
        self.report(format!("multi-get of 1,000, {threads} threads, p50"), median * 1e6, "us/key");
        Ok(())
    }

    fn puts(&mut self) -> anyhow::Result<()> {
        let (table, rows) = (self.table, self.rows);
        let started = Instant::now();
        in_threads(WRITERS, |writer| -> anyhow::Result<()> {
            for i in 0..SINGLE_PUTS / WRITERS {
                let row = mixed(i << 8 | writer) % rows;
                table.put(Put::new(key(row).to_vec()).add("f", "", value(i).to_vec()))?;
            }
            Ok(())
        })?;
        let rate = SINGLE_PUTS as f64 / started.elapsed().as_secs_f64();
        self.report("durable single puts, 64 writers", rate, "rows/s");
        Ok(())
    }
}

fn in_threads<T: Send>(
    threads: u64,
    work: impl Fn(u64) -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    std::thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        started.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    })
}

/// The same questions to the other program.
fn ask_peer(program: &Path, args: &BenchPointsArgs) -> anyhow::Result<Vec<Figure>> {
    let directory = directory(args)?;
    let mut command = Command::new(program);
    let output = command.arg(directory.path()).arg(args.rows.to_string()).output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed: {}", program.display(), said.trim());
    }
    String::from_utf8_lossy(&output.stdout).lines().map(Figure::parse).collect()
}

impl Figure {
    fn parse(line: &str) -> anyhow::Result<Self> {
        let mut fields = line.split('\t');
        let (Some(question), Some(value), Some(unit)) = (fields.next(), fields.next(), fields.next()) else {
            bail!("not a question, a figure and a unit: {line}");
        };
        let value = value.parse().with_context(|| format!("not a figure: {value}"))?;
        Ok(Self { question: question.to_owned(), value, unit: unit.to_owned() })
    }
}

impl Rounds {
    /// What was answered to a question, by round; nothing if it was not asked.
    fn of(&self, question: &str) -> Vec<f64> {
        let asked = |round: &Vec<Figure>| {
            round.iter().find(|figure| figure.question == question).map(|figure| figure.value)
        };
        self.0.iter().filter_map(asked).collect()
    }

    /// Each question with its median, and what was found by round.
    fn json(&self) -> Value {
        let figures = self.0.first().into_iter().flatten();
        let asked = figures.map(|figure| {
            let rounds = self.of(&figure.question);
            json!({ "question": figure.question, "figure": median(rounds.clone()), "unit": figure.unit, "rounds": rounds })
        });
        asked.collect()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let (below, above) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    // Of an even number the two in the middle count alike.
    match (values.get(below), values.get(above)) {
        (Some(below), Some(above)) => f64::midpoint(*below, *above),
        _ => f64::NAN,
    }
}

fn header(args: &BenchPointsArgs) -> String {
    format!(
        "# Single rows beside RocksDB\n\n\
         Written by `basalt bench points --rows {} --encoding {} --compression {} --rounds {}` ({}): rows of 100 bytes under random keys.\n\n",
        args.rows,
        args.encoding,
        args.compression,
        args.rounds,
        machine::processors(),
    )
}

/// Medians of all rounds, and of the ratios of each.
fn sheet(ours: &Rounds, theirs: Option<&Rounds>) -> Sheet<'static> {
    let headings: &[&str] = match theirs {
        Some(_) => &["question", "Basalt", "RocksDB", "unit", "Basalt / RocksDB", "by round"],
        None => &["question", "Basalt", "unit"],
    };
    let mut sheet = Sheet::new(headings, 1);
    for figure in ours.0.first().into_iter().flatten() {
        let our_own = ours.of(&figure.question);
        let mut row = vec![figure.question.clone(), format!("{:.2}", median(our_own.clone()))];
        let theirs = theirs.map(|theirs| theirs.of(&figure.question));
        if let Some(theirs) = theirs.as_ref().filter(|theirs| !theirs.is_empty()) {
            let ratios: Vec<f64> = our_own.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
            let (least, most) = ratios
                .iter()
                .fold((f64::INFINITY, 0f64), |(least, most), &ratio| (least.min(ratio), most.max(ratio)));
            row.extend([format!("{:.2}", median(theirs.clone())), figure.unit.clone()]);
            row.extend([format!("{:.2}", median(ratios)), format!("{least:.2} to {most:.2}")]);
        } else if theirs.is_some() {
            row.extend([String::new(), figure.unit.clone(), String::new(), String::new()]);
        } else {
            row.push(figure.unit.clone());
        }
        sheet.row(row);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_s_lines_are_read() {
        let figure = Figure::parse("get, 1 threads, p50\t4.79\tus").expect("three fields");
        assert_eq!(
            (figure.question.as_str(), figure.value, figure.unit.as_str()),
            ("get, 1 threads, p50", 4.79, "us")
        );
        assert!(Figure::parse("get").is_err());
        assert!(Figure::parse("get\tfast\tus").is_err());
    }

    #[test]
    fn the_median_of_the_rounds_counts() {
        let round = |value| vec![Figure { question: "get".into(), value, unit: "us".into() }];
        let rounds = Rounds(vec![round(3.0), round(1.0), round(2.0)]);
        assert_eq!((median(rounds.of("get")), rounds.of("put").len()), (2.0, 0));
        assert_eq!((median(vec![3.0, 1.0]), median(vec![4.0, 1.0, 9.0, 2.0])), (2.0, 3.0));
        assert!(median(vec![]).is_nan());
        let sheet = sheet(&rounds, Some(&Rounds(vec![round(1.0), round(2.0), round(1.0)]))).markdown();
        assert!(sheet.contains("| get | 2.00 | 1.00 | us | 2.00 | 0.50 to 3.00 |"), "{sheet}");
        let alone = super::sheet(&rounds, Some(&Rounds(vec![]))).markdown();
        assert!(alone.contains("| get | 2.00 |  | us |  |  |"), "{alone}");
    }

    #[test]
    fn no_two_rows_have_one_key() {
        let mut numbers: Vec<u64> = (0..3_000_000).map(shuffled).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 3_000_000);
        assert!(numbers.last().is_some_and(|last| *last < 1_000_000_000_000));
        assert_eq!(key(1).len(), 16);
    }
}
