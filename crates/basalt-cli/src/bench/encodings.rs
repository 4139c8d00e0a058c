// SPDX-License-Identifier: Apache-2.0
//! `basalt bench encodings`: what compression and block encodings cost and save, on one table: an integer key and two
//! random floats.
//!
//! Every encoding with every codec gets a table of the same rows, in one store file, without a Bloom filter. Of each: its
//! size, how fast all values of all columns are read, how fast those of one, and how fast single rows. Values are added up
//! by SQL, so that each is really there; COUNT(\*) alone would be answered from the files' counts.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use basalt::TableName;
use basalt_hfile::{Compression, Encoding};
use rustix::fs::{Advice, fadvise};
use serde_json::{Value, json};

use super::chance::Chance;
use super::machine;
use super::memory::{Bandwidth, bandwidth};
use super::page::{Plot, write_page};
use super::plot::{self, Line};
use super::sheet::{Sheet, median, percentile, write_json};
use crate::args::{BenchEncodingsArgs, Shared};
use crate::connection::{Connection, memory_bytes};
use crate::failure::{Failure, Result};
use crate::progress::size;
use crate::statement::{Until, measure};

const ALL_COLUMNS: &str = "SELECT COUNT(*), SUM(pk), SUM(v1), SUM(v2) FROM";
const ONE_COLUMN: &str = "SELECT SUM(v1) FROM";
/// Warm readings, one behind the other, for each of the others.
const WARM_READINGS: usize = 5;

/// Where the data is before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Neither in the system's cache nor in ours.
    Disk,
    /// In the system's cache; the database was opened anew.
    System,
    /// Where the same query, asked twice before, has left it: in the block cache, as far as that has room.
    Cache,
}

impl Place {
    const ALL: [Self; 3] = [Self::Disk, Self::System, Self::Cache];

    fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::System => "system cache",
            Self::Cache => "warm",
        }
    }
}

/// A reading of a table.
struct Reading {
    place: Place,
    threads: usize,
    one_column: bool,
    seconds: f64,
    /// The share of the blocks asked for that the block cache had.
    hits: f64,
}

/// All that is known of a table.
struct Figures {
    encoding: Encoding,
    compression: Compression,
    bytes: u64,
    write_seconds: f64,
    readings: Vec<Reading>,
    /// Microseconds that a row took, ascending.
    gets: Vec<f64>,
}

/// Runs the command.
pub(crate) fn run(args: &BenchEncodingsArgs, shared: &Shared) -> Result<()> {
    let work = match &args.dir {
        Some(dir) => tempfile::Builder::new().prefix("bench-encodings-").tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let work = work.context("cannot make a directory for the data")?;
    let db = work.path().join("db");
    let memory = [1, shared.threads()].map(|threads| bandwidth(threads, 512, args.runs));
    let [one, all_threads] = memory.map(|memory| memory.gigabytes());
    say(
        shared,
        &format!("memory: one thread reads {one:.2} GB/s, {} read {all_threads:.2}", shared.threads()),
    );
    make_source(&db, args, shared)?;
    let mut all: Vec<Figures> = vec![];
    for encoding in Encoding::ALL {
        for compression in Compression::ALL {
            if args.wants(encoding.name(), compression.name()) {
                say(shared, &format!("{encoding} {compression}"));
                all.push(measure_table(&db, encoding, compression, args, shared)?);
            }
        }
    }
    let sheet = sheet(args, &all, &memory);
    sheet.print();
    let remarks = remarks(args, shared, &all, &memory);
    println!("{remarks}");
    if let Some(path) = &args.out {
        let text = header(args, shared) + &sheet.markdown() + "\n" + &remarks + "\n";
        write_page(path, text, &plots(args, &all)?)?;
    }
    if let Some(path) = &args.plot {
        std::fs::write(path, sizes(args, &all)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let figures = json!({
        "rows": args.rows,
        "memory_gb_per_s": one,
        "memory_gb_per_s_threads": all_threads,
        "tables": all.iter().map(|figures| figures.json(args.rows)).collect::<Vec<_>>(),
    });
    write_json(args.json.as_deref(), &figures)
}

fn say(shared: &Shared, line: &str) {
    if !shared.quiet {
        eprintln!("{line}");
    }
}

fn open(db: &Path, threads: usize, shared: &Shared) -> Result<Connection> {
    let threads = u16::try_from(threads).unwrap_or(u16::MAX);
    Connection::open(Some(db), &Shared { threads: Some(threads), quiet: true, ..shared.clone() })
}

fn run_sql(connection: &Connection, sql: &str) -> Result<()> {
    measure(connection, sql, Until::End).map(drop)
}

/// A table whose rows all others get.
fn make_source(db: &Path, args: &BenchEncodingsArgs, shared: &Shared) -> Result<()> {
    say(shared, &format!("making {} rows", args.rows));
    let connection = open(db, shared.threads(), shared)?;
    run_sql(&connection, "CREATE TABLE source (pk INTEGER PRIMARY KEY, v1 FLOAT, v2 FLOAT)")?;
    run_sql(&connection, "UPSERT INTO source VALUES (0, RAND(), RAND())")?;
    let mut rows = 1;
    while rows < args.rows {
        let more = rows.min(args.rows - rows);
        let sql =
            format!("UPSERT INTO source SELECT pk + {rows}, RAND(), RAND() FROM source WHERE pk < {more}");
        run_sql(&connection, &sql)?;
        rows += more;
    }
    Ok(())
}

fn measure_table(
    db: &Path,
    encoding: Encoding,
    compression: Compression,
    args: &BenchEncodingsArgs,
    shared: &Shared,
) -> Result<Figures> {
    let connection = open(db, shared.threads(), shared)?;
    let options =
        format!("DATA_BLOCK_ENCODING = '{encoding}', COMPRESSION = '{compression}', BLOOMFILTER = 'NONE'");
    run_sql(&connection, &format!("CREATE TABLE t (pk INTEGER PRIMARY KEY, v1 FLOAT, v2 FLOAT) {options}"))?;
    let start = Instant::now();
    run_sql(&connection, "UPSERT INTO t SELECT pk, v1, v2 FROM source")?;
    let database = connection.engine().database();
    let (table, _) = database.table(&TableName::in_default("T")).map_err(Failure::database)?;
    database.flush(Some(table)).map_err(Failure::database)?;
    let write_seconds = start.elapsed().as_secs_f64();
    database.compact(Some(table), true).map_err(Failure::database)?;
    let bytes = database.stats(table).map_err(Failure::database)?.size_bytes;
    drop(connection);
    let mut readings = vec![];
    let mut threads = vec![1, shared.threads()];
    threads.dedup();
    for threads in threads {
        for one_column in [false, true] {
            readings.extend(read(db, threads, one_column, args, shared)?);
        }
    }
    let gets = get_rows(db, args, shared)?;
    run_sql(&open(db, 1, shared)?, "DROP TABLE t")?;
    Ok(Figures { encoding, compression, bytes, write_seconds, readings, gets })
}

/// Reads the table from each place, and each time finds as many rows.
fn read(
    db: &Path,
    threads: usize,
    one_column: bool,
    args: &BenchEncodingsArgs,
    shared: &Shared,
) -> Result<Vec<Reading>> {
    let sql = format!("{} t", if one_column { ONE_COLUMN } else { ALL_COLUMNS });
    let mut seconds: [Vec<f64>; 3] = Default::default();
    let mut asked = [Asked::default(); 3];
    for _ in 0..args.runs {
        leave_cache(db)?;
        let mut timed = |place: Place, connection: &Connection| -> Result<()> {
            let before = Asked::so_far(connection);
            let measured = measure(connection, &sql, Until::End)?;
            seconds[place as usize].push(measured.elapsed.as_secs_f64());
            asked[place as usize].add_since(before, connection);
            Ok(())
        };
        timed(Place::Disk, &open(db, threads, shared)?)?;
        let connection = open(db, threads, shared)?;
        timed(Place::System, &connection)?;
        measure(&connection, &sql, Until::End)?;
        for _ in 0..WARM_READINGS {
            timed(Place::Cache, &connection)?;
        }
    }
    let readings = Place::ALL.into_iter().zip(seconds).zip(asked);
    Ok(readings
        .map(|((place, seconds), asked)| {
            let (seconds, hits) = (median(seconds), asked.hits());
            Reading { place, threads, one_column, seconds, hits }
        })
        .collect())
}

/// Blocks that the block cache was asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    hits: u64,
    misses: u64,
}

impl Asked {
    fn so_far(connection: &Connection) -> Self {
        let cache = connection.engine().database().metrics().cache;
        Self { hits: cache.hits, misses: cache.misses }
    }

    fn add_since(&mut self, before: Self, connection: &Connection) {
        let now = Self::so_far(connection);
        self.hits += now.hits - before.hits;
        self.misses += now.misses - before.misses;
    }

    /// The share that it had.
    fn hits(self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }
}

/// Asks the system to forget the database's files.
fn leave_cache(db: &Path) -> Result<()> {
    let mut waiting = vec![db.to_path_buf()];
    while let Some(path) = waiting.pop() {
        for entry in std::fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))? {
            let path = entry.with_context(|| format!("cannot read {}", path.display()))?.path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let file =
                std::fs::File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
            // Where the system does not know the advice, what is called cold is warm, and looks like it.
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
        }
    }
    Ok(())
}

/// Random rows, each by its key, through the store; the first tenth warms up.
fn get_rows(db: &Path, args: &BenchEncodingsArgs, shared: &Shared) -> Result<Vec<f64>> {
    let connection = open(db, 1, shared)?;
    let snapshot = connection.engine().database().snapshot();
    let (table, _) = snapshot.table(&TableName::in_default("T")).map_err(Failure::database)?;
    let (mut chance, mut micros) = (Chance::new(7), vec![]);
    for _ in 0..args.gets + args.gets / 10 {
        let key = chance.below(args.rows.into()) as u32 ^ 1 << 31;
        let start = Instant::now();
        let found = snapshot.get_row(table, &key.to_be_bytes()).map_err(Failure::database)?;
        micros.push(start.elapsed().as_secs_f64() * 1e6);
        if found.is_empty() {
            return Err(Failure::database(anyhow::anyhow!("a row of the table is missing")));
        }
    }
    let mut counted = micros.split_off((args.gets / 10) as usize);
    counted.sort_by(f64::total_cmp);
    Ok(counted)
}

/// Bytes of a row of this table in a store file that HBase 2.6 and Phoenix 5.2 wrote in NONE without a codec: what their scans move.
const PLAIN_ROW_BYTES: f64 = 100.3;

impl Figures {
    fn name(&self) -> String {
        format!("{} {}", self.encoding, self.compression)
    }

    fn seconds(&self, place: Place, threads: usize, one_column: bool) -> f64 {
        let wanted = |reading: &&Reading| {
            (reading.place, reading.threads, reading.one_column) == (place, threads, one_column)
        };
        self.readings.iter().find(wanted).map_or(f64::NAN, |reading| reading.seconds)
    }

    /// The share of the blocks that warm readings found in the block cache, of those that found the fewest.
    fn warm_hits(&self) -> f64 {
        let warm = self.readings.iter().filter(|reading| reading.place == Place::Cache);
        warm.map(|reading| reading.hits).fold(1.0, f64::min)
    }

    fn json(&self, rows: u32) -> Value {
        let readings = self.readings.iter().map(|reading| {
            let per_second = |bytes: f64| bytes / reading.seconds / 1e6;
            json!({
                "from": reading.place.name(),
                "threads": reading.threads,
                "columns": if reading.one_column { "v1" } else { "all" },
                "seconds": reading.seconds,
                "cache_hits": reading.hits,
                "rows_per_s": f64::from(rows) / reading.seconds,
                "stored_mb_per_s": per_second(self.bytes as f64),
                "plain_mb_per_s": per_second(f64::from(rows) * PLAIN_ROW_BYTES),
            })
        });
        json!({
            "encoding": self.encoding.name(),
            "compression": self.compression.name(),
            "bytes": self.bytes,
            "bytes_per_row": self.bytes as f64 / f64::from(rows),
            "rows_written_per_s": f64::from(rows) / self.write_seconds,
            "get_us_p50": percentile(&self.gets, 0.5),
            "get_us_p99": percentile(&self.gets, 0.99),
            "reads": readings.collect::<Vec<_>>(),
        })
    }
}

/// The largest number of threads that a table was read with.
fn threads(all: &[Figures]) -> usize {
    let readings = all.iter().flat_map(|figures| &figures.readings);
    readings.map(|reading| reading.threads).max().unwrap_or(1)
}

fn header(args: &BenchEncodingsArgs, shared: &Shared) -> String {
    format!(
        "# Compression against block encoding\n\n\
         Written by `basalt bench encodings --rows {} --runs {} --memory {}MB` ({}): one table of an INTEGER key and two random FLOATs in every\n\
         encoding with every codec, one store file each, no Bloom filter. *all* adds up every column of every row, SUM(v1) one of them; *disk* is\n\
         behind a dropped system cache, *system* the system's cache with a database just opened, *warm* the third time and the next four; *cached* is the\n\
         share of blocks that the block cache had then. *get* reads random rows by key.\n\n",
        args.rows,
        args.runs,
        memory_bytes(shared) >> 20,
        machine::processors(),
    )
}

fn sheet(args: &BenchEncodingsArgs, all: &[Figures], memory: &[Bandwidth; 2]) -> Sheet<'static> {
    let most = threads(all);
    let rows = f64::from(args.rows);
    let headings = [
        "table",
        "size",
        "bytes/row",
        "written",
        "all, disk",
        "all, system",
        "all, warm",
        "all, threads",
        "cached",
        "plain MB/s",
        "stored MB/s",
        "SUM(v1)",
        "SUM(v1), threads",
        "of memory",
        "of memory, threads",
        "get p50",
        "p99",
    ];
    let mut sheet = Sheet::new(&headings, 1);
    for figures in all {
        let rate = |seconds: f64| format!("{} rows/s", crate::progress::short(rows / seconds));
        let [sum, sum_threads] = [1, most].map(|threads| figures.seconds(Place::Cache, threads, true));
        // Four bytes of a FLOAT.
        let of_memory = |seconds: f64, memory: &Bandwidth| {
            format!("{:.0} %", 100.0 * rows * 4.0 / seconds / 1e9 / memory.gigabytes())
        };
        sheet.row(vec![
            figures.name(),
            size(figures.bytes),
            format!("{:.2}", figures.bytes as f64 / rows),
            rate(figures.write_seconds),
            rate(figures.seconds(Place::Disk, 1, false)),
            rate(figures.seconds(Place::System, 1, false)),
            rate(figures.seconds(Place::Cache, 1, false)),
            rate(figures.seconds(Place::Cache, most, false)),
            format!("{:.0} %", 100.0 * figures.warm_hits()),
            format!("{:.0}", rows * PLAIN_ROW_BYTES / figures.seconds(Place::Cache, 1, false) / 1e6),
            format!("{:.0}", figures.bytes as f64 / figures.seconds(Place::Cache, 1, false) / 1e6),
            rate(sum),
            rate(sum_threads),
            of_memory(sum, &memory[0]),
            of_memory(sum_threads, &memory[1]),
            format!("{:.1} µs", percentile(&figures.gets, 0.5)),
            format!("{:.1} µs", percentile(&figures.gets, 0.99)),
        ]);
    }
    sheet
}

fn remarks(args: &BenchEncodingsArgs, shared: &Shared, all: &[Figures], memory: &[Bandwidth; 2]) -> String {
    let [one, all_threads] = memory.map(|memory| memory.gigabytes());
    format!(
        "{} rows, {} of memory; one thread unless it says threads, which are {}; plain MB/s: at the {PLAIN_ROW_BYTES} bytes that HBase takes for a\n\
         row in NONE; of memory: decoded bytes of SUM(v1) beside {one:.2} GB/s, which one thread reads of memory, and {all_threads:.2} GB/s, which all read",
        crate::output::grouped(args.rows.into()),
        size(memory_bytes(shared)),
        threads(all),
    )
}

fn plots(args: &BenchEncodingsArgs, all: &[Figures]) -> anyhow::Result<[Plot; 2]> {
    let read = |figures: &Figures| f64::from(args.rows) / figures.seconds(Place::System, 1, false);
    let speeds = lines("rows a second: all values added up, from the system's cache", all, read)?;
    Ok([
        Plot { title: "Bytes a row by encoding and codec", ending: "", picture: sizes(args, all)? },
        Plot { title: "Rows read a second by encoding and codec", ending: "-speed", picture: speeds },
    ])
}

fn sizes(args: &BenchEncodingsArgs, all: &[Figures]) -> anyhow::Result<String> {
    let bytes = |figures: &Figures| figures.bytes as f64 / f64::from(args.rows);
    lines("bytes a row: an integer key and two random floats", all, bytes)
}

/// A line for each codec over the encodings.
fn lines(title: &str, all: &[Figures], value: impl Fn(&Figures) -> f64) -> anyhow::Result<String> {
    let encodings: Vec<String> = Encoding::ALL
        .iter()
        .filter(|encoding| all.iter().any(|figures| figures.encoding == **encoding))
        .map(|encoding| encoding.name().to_owned())
        .collect();
    let line = |compression: &Compression| {
        let of = |name: &String| {
            let found = all
                .iter()
                .find(|figures| figures.encoding.name() == name && figures.compression == *compression);
            found.map_or(0.0, &value)
        };
        Line { name: compression.name().to_owned(), values: encodings.iter().map(of).collect() }
    };
    let codecs = Compression::ALL.iter();
    let codecs = codecs.filter(|codec| all.iter().any(|figures| figures.compression == **codec));
    let lines: Vec<Line> = codecs.map(line).collect();
    plot::svg(title, "block encoding", &encodings, &lines)
}
