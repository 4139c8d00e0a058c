// SPDX-License-Identifier: Apache-2.0
//! Replays recorded sequences of client operations and compares the answers with those of real HBase 2.6.
//!
//! A file holds one JSON object per line, gzipped or not. A line with `table` opens a sequence and describes its
//! table; every other line is one operation (`do`) with the `answer` that HBase gave. Rows, qualifiers and values
//! are hexadecimal, a family is text, a cell is `[row, family, qualifier, timestamp, type, value]`.
//!
//! The clock stands at `1800000000000 + i` during operation `i`, as in the recorded answers. Nothing happens in
//! the background: flushes and compactions are operations.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use basalt_model::table::{DeleteRule, KeepDeletedCells};
use basalt_model::{FamilyDescriptor, TableDescriptor, TableName};
use basalt_store::env::Clock;
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Env, OpenOptions, Rows, Table};
use flate2::read::GzDecoder;
use serde_json::Value;

mod answer;
mod client;
mod operation;
mod parse;

/// Time of the first operation.
const CLOCK_START_MS: i64 = 1_800_000_000_000;

/// Sequences that agreed and those that did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// All answers were equal.
    pub passed: u64,
    /// Some answer differed.
    pub failed: u64,
}

/// Replays all sequences of a file; `say` gets a line for each, with the first difference if there is one.
pub fn file(path: &Path, score: &mut Score, say: &mut dyn FnMut(&str)) -> Result<()> {
    let name = path.display().to_string();
    let mut sequence: Option<Sequence> = None;
    for (number, line) in lines(path)?.enumerate() {
        let place = || format!("{name}, line {}", number + 1);
        let line: Value = serde_json::from_str(&line.with_context(place)?).with_context(place)?;
        if line.get("table").is_some() {
            if let Some(done) = sequence.take() {
                done.finish(score, say);
            }
            sequence = Some(Sequence::begin(&name, &line).with_context(place)?);
        } else {
            sequence.as_mut().context("an operation before any table").with_context(place)?.step(&line)?;
        }
    }
    if let Some(done) = sequence {
        done.finish(score, say);
    }
    Ok(())
}

/// The lines of a file, gzipped or not.
pub(crate) fn lines(path: &Path) -> Result<Box<dyn Iterator<Item = std::io::Result<String>>>> {
    let open = || std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()));
    let mut magic = [0; 2];
    let gzipped = open()?.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
    let reader: Box<dyn Read> = if gzipped { Box::new(GzDecoder::new(open()?)) } else { Box::new(open()?) };
    Ok(Box::new(BufReader::new(reader).lines()))
}

/// A clock that is told the time.
#[derive(Debug, Default)]
struct ToldClock(AtomicI64);

impl Clock for ToldClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.now_ms().unsigned_abs())
    }

    fn sleep(&self, duration: Duration) {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

/// What operations work on.
struct Place {
    table: Table,
    /// Scans that a filter broke off. HBase's server keeps those open for a minute, and so does the replay: until
    /// the end of the sequence.
    abandoned: Vec<Rows>,
}

/// One table and the operations on it.
struct Sequence {
    name: String,
    clock: Arc<ToldClock>,
    place: Place,
    operations: u64,
    difference: Option<String>,
}

impl Sequence {
    fn begin(file: &str, line: &Value) -> Result<Self> {
        let number = line["seq"].as_u64().context("seq is missing")?;
        let clock = Arc::new(ToldClock::default());
        clock.0.store(CLOCK_START_MS, Ordering::Relaxed);
        let storage = Arc::new(SimStorage::new(number));
        let env = Env { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..Env::with_storage(storage) };
        let options = OpenOptions { env, background: false, memory_bytes: 64 << 20, ..OpenOptions::create() };
        let db = Database::open(Path::new("/replay"), options)?;
        let name = TableName::in_default("t");
        db.create_table(descriptor(&name, &line["table"])?)?;
        let table = db.open_table(&name)?;
        let name = format!("{file} sequence {number}");
        let place = Place { table, abandoned: Vec::new() };
        Ok(Self { name, clock, place, operations: 0, difference: None })
    }

    fn step(&mut self, line: &Value) -> Result<()> {
        if self.difference.is_some() {
            return Ok(());
        }
        let number = line["i"].as_i64().context("i is missing")?;
        self.clock.0.store(CLOCK_START_MS + number, Ordering::Relaxed);
        let found = operation::run(&mut self.place, &line["do"]);
        let found = found.with_context(|| format!("{} operation {number}", self.name))?;
        self.operations += 1;
        if found != line["answer"] {
            self.difference = Some(format!(
                "operation {number}: {}\n    HBase:  {}\n    Basalt: {found}",
                line["do"], line["answer"]
            ));
        }
        Ok(())
    }

    fn finish(self, score: &mut Score, say: &mut dyn FnMut(&str)) {
        match self.difference {
            None => {
                score.passed += 1;
                say(&format!("{}: {} operations, all answers equal", self.name, self.operations));
            }
            Some(difference) => {
                score.failed += 1;
                say(&format!("{}: {difference}", self.name));
            }
        }
    }
}

fn descriptor(name: &TableName, table: &Value) -> Result<TableDescriptor> {
    let families = table["families"].as_array().context("families are missing")?;
    let mut families: Vec<FamilyDescriptor> = families.iter().map(family).collect::<Result<_>>()?;
    families.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(TableDescriptor {
        name: name.clone(),
        families,
        schema: None,
        attributes: BTreeMap::new(),
        index: None,
    })
}

fn family(family: &Value) -> Result<FamilyDescriptor> {
    let text = |key: &str| family[key].as_str().with_context(|| format!("{key} of a family is missing"));
    let number = |key: &str| {
        let number = family[key].as_u64().and_then(|number| u32::try_from(number).ok());
        number.with_context(|| format!("{key} of a family is missing"))
    };
    Ok(FamilyDescriptor {
        versions_max: number("versions")?,
        versions_min: number("min_versions")?,
        ttl_secs: family["ttl_seconds"].as_u64(),
        keep_deleted_cells: match text("keep_deleted_cells")? {
            "TRUE" => KeepDeletedCells::True,
            "TTL" => KeepDeletedCells::Ttl,
            _ => KeepDeletedCells::False,
        },
        encoding: text("encoding")?.to_owned(),
        bloom: text("bloom")?.to_owned(),
        block_bytes: number("block_size")?,
        delete_rule: match family["new_version_behavior"].as_bool() {
            Some(true) => DeleteRule::BySequence,
            _ => DeleteRule::ByTimestamp,
        },
        ..FamilyDescriptor::of_hbase(text("name")?)
    })
}
