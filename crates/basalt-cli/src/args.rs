// SPDX-License-Identifier: Apache-2.0
//! The command line as scripts may rely on it. Options that several commands share have one name.

mod bench;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use basalt::DiskCacheOptions;
use basalt_files::{Format, Options};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::output::OutputFormat;
pub(crate) use bench::{
    BenchArgs, BenchBesideArgs, BenchChangesArgs, BenchCommand, BenchEncodingsArgs, BenchIndexArgs,
    BenchJoinArgs, BenchMemoryArgs, BenchPointsArgs, BenchRpcArgs, BenchSqlArgs, BenchStatementsArgs,
};

/// A wide-column database with SQL.
///
/// `basalt DB` opens a shell on the database in the directory DB; without DB, on a temporary one.
#[derive(Debug, Parser)]
#[command(name = "basalt", version, subcommand_help_heading = "Commands", max_term_width = 100)]
pub(crate) struct CommandLine {
    /// Directory of the database; made when there is none. Without it: a temporary database.
    pub(crate) db: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options that every command understands.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shared {
    /// Memory that the program may use, e.g. 512MB or 4GB.
    #[arg(long, global = true, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    /// Keep what was read of store files in this directory, too: for a database on a slower disk than this one.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// What the directory of --cache-dir may hold, e.g. 100GB.
    #[arg(long, global = true, value_name = "SIZE", default_value = "10GB")]
    pub(crate) cache_disk: ByteSize,
    /// Threads that work on a statement; default: one per core.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Say nothing but results and errors.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

impl Shared {
    /// The number of threads asked for, else the number of cores.
    pub(crate) fn threads(&self) -> usize {
        match self.threads {
            Some(threads) => threads.into(),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// The second tier of the block cache, if one was asked for.
    pub(crate) fn disk_cache(&self) -> Option<DiskCacheOptions> {
        let dir = self.cache_dir.clone()?;
        Some(DiskCacheOptions { dir, bytes: self.cache_disk.0 })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run SQL statements and print their results.
    Sql(SqlArgs),
    /// Load files into a table.
    Load(LoadArgs),
    /// Generate the tables of the TPC-H benchmark as files.
    Tpch(TpchArgs),
    /// Serve a database to HBase's clients, on the loopback interface, until Ctrl-C or SIGTERM.
    Serve(ServeArgs),
    /// Verify every checksum and the manifest of a database; changes nothing.
    Check(CheckArgs),
    /// Look into a store file (HFile).
    Hfile(HfileArgs),
    /// Generate TPC-H, load it and time a set of queries.
    Demo(DemoArgs),
    /// Measure whole workloads.
    Bench(BenchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    /// Directory of the database; made when there is none.
    pub(crate) db: PathBuf,
    /// Statements to run, separated by semicolons; may be given several times.
    #[arg(short = 'c', long = "command", value_name = "SQL", conflicts_with = "file")]
    pub(crate) commands: Vec<String>,
    /// File of statements; `-` is the standard input, which is also read when neither -c nor -f is given.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How to print results.
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(crate) format: OutputFormat,
    /// Print how long each statement took.
    #[arg(long)]
    pub(crate) timing: bool,
    /// End a statement that takes longer than this.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Memory that sorts, groups and joins of one statement may have, of that of --memory; beyond it they go to disk.
    #[arg(long, value_name = "SIZE")]
    pub(crate) query_memory: Option<ByteSize>,
}

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Directory of the database; made when there is none.
    pub(crate) db: PathBuf,
    /// Table to load into.
    pub(crate) table: String,
    /// Files to read, in this order; `-` is the standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Create the table with the columns and types found in the first file.
    #[arg(long)]
    pub(crate) create: bool,
    /// Columns of the primary key, for --create.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) primary_key: Vec<String>,
    /// What to do with a line that does not fit: stop (lines before it stay), skip, or reject=FILE.
    #[arg(long, value_name = "stop|skip|reject=FILE", default_value = "stop")]
    pub(crate) on_error: OnError,
    /// Format of the files; default: by the ending of the name.
    #[arg(long, value_enum)]
    pub(crate) format: Option<InputFormat>,
    /// Character between the fields of a CSV file.
    #[arg(long, value_name = "C", value_parser = one_byte)]
    pub(crate) delimiter: Option<u8>,
    /// Whether the first line of a CSV or TSV file names the columns.
    #[arg(long, value_enum, default_value_t = Header::Auto)]
    pub(crate) header: Header,
}

/// Formats that `load` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Comma-separated values, RFC 4180.
    Csv,
    /// Tab-separated values, with backslash escapes.
    Tsv,
    /// TPC-H's own: fields that end in `|`.
    Tbl,
    /// One JSON object a line.
    #[value(alias = "ndjson", alias = "json")]
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file or stream.
    Arrow,
}

/// Whether a text file begins with the names of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Header {
    /// Look at the first lines.
    Auto,
    /// It does.
    Yes,
    /// It does not: fields go to the columns in declared order.
    No,
}

/// What happens to a row that does not fit the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OnError {
    /// Keep the rows before it and end with an error.
    Stop,
    /// Leave it out and count it.
    Skip,
    /// Leave it out and write it with the reason to this file.
    Reject(PathBuf),
}

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Csv => Self::Csv,
            InputFormat::Tsv => Self::Tsv,
            InputFormat::Tbl => Self::Tbl,
            InputFormat::Jsonl => Self::Jsonl,
            InputFormat::Parquet => Self::Parquet,
            InputFormat::Arrow => Self::Arrow,
        }
    }
}

impl From<Header> for basalt_files::Header {
    fn from(header: Header) -> Self {
        match header {
            Header::Auto => Self::Auto,
            Header::Yes => Self::Yes,
            Header::No => Self::No,
        }
    }
}

impl LoadArgs {
    /// How the files are to be read.
    pub(crate) fn options(&self) -> Options {
        Options {
            format: self.format.map(Format::from),
            delimiter: self.delimiter,
            header: self.header.into(),
            ..Options::default()
        }
    }
}

impl FromStr for OnError {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "stop" => Ok(Self::Stop),
            None if text == "skip" => Ok(Self::Skip),
            Some(("reject", file)) if !file.is_empty() => Ok(Self::Reject(file.into())),
            _ => Err("expected stop, skip or reject=FILE".into()),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TpchArgs {
    /// Directory to write the files to; made when there is none.
    pub(crate) dir: PathBuf,
    /// Scale factor: 1 is 6 million lines of LINEITEM, about 1 GB as text.
    #[arg(long = "sf", value_name = "N", default_value_t = 1.0, value_parser = scale_factor)]
    pub(crate) scale: f64,
    /// Only these tables.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "A,B")]
    pub(crate) tables: Vec<crate::tpch::Table>,
    /// Format of the files.
    #[arg(long, value_enum, default_value_t = TpchFormat::Parquet)]
    pub(crate) format: TpchFormat,
}

/// Formats that `tpch` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TpchFormat {
    /// Apache Parquet, zstd.
    Parquet,
    /// With a header line.
    Csv,
    /// The benchmark's own: fields that end in `|`.
    Tbl,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Directory of the database; made when there is none.
    pub(crate) db: PathBuf,
    /// Port of all HBase services; 0 for any that is free.
    #[arg(long, default_value_t = 16_020)]
    pub(crate) port: u16,
    /// Also answer, read-only, what clients ask ZooKeeper, on this port; 0 for any that is free.
    #[arg(long, value_name = "PORT")]
    pub(crate) zookeeper_port: Option<u16>,
    /// Also answer Phoenix's thin clients, with SQL, on this port: 8765 is what they look for; 0 for any that is free.
    #[arg(long, value_name = "PORT")]
    pub(crate) phoenix_port: Option<u16>,
    /// Milliseconds after which a scanner that nobody asks for is closed.
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    pub(crate) lease_ms: u64,
    /// Microseconds that a thread stays awake for the next call of a client whose calls follow each other closely; 0 for never.
    #[arg(long, value_name = "US", default_value_t = 200)]
    pub(crate) look_us: u64,
    /// Write the address to this file once clients can connect.
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Directory of the database.
    pub(crate) db: PathBuf,
    /// How to print the findings.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct HfileArgs {
    #[command(subcommand)]
    pub(crate) command: HfileCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HfileCommand {
    /// Print the cells of the file.
    Dump(HfileTarget),
    /// Print the trailer, the file info and sums over the blocks.
    Stat(HfileTarget),
    /// Read every block and check every checksum.
    Verify(HfileTarget),
    /// Write the same cells into a new file, in another encoding or compression.
    Convert(ConvertArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The store file to read.
    pub(crate) file: PathBuf,
    /// The store file to write; must not exist.
    pub(crate) out: PathBuf,
    /// Data block encoding: NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1; default: as before.
    #[arg(long)]
    pub(crate) encoding: Option<String>,
    /// NONE, GZ, SNAPPY, LZ4 or ZSTD; default: as before.
    #[arg(long)]
    pub(crate) compression: Option<String>,
    /// Level of the compression.
    #[arg(long)]
    pub(crate) level: Option<i32>,
    /// Bytes of a block before it is encoded; default: 65536. Also `--block-bytes`.
    #[arg(long, alias = "block-bytes", value_name = "BYTES")]
    pub(crate) block_size: Option<u32>,
    /// NONE, ROW or ROWCOL; default: as before.
    #[arg(long)]
    pub(crate) bloom: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct HfileTarget {
    /// The store file.
    pub(crate) file: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Directory for the files and the database.
    #[arg(default_value = "demo-data")]
    pub(crate) dir: PathBuf,
    /// Scale factor of TPC-H.
    #[arg(long = "sf", value_name = "N", default_value_t = 1.0, value_parser = scale_factor)]
    pub(crate) scale: f64,
    /// Also write the figures to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// A number of bytes written as people write it: `512MB`, `4GiB`, `1000000`. K, M and G are powers of 1,024.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected a size such as 512MB or 4GB".to_string();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| expected())?;
        let unit =
            match text[digits..].trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
                "" => 0,
                "k" => 10,
                "m" => 20,
                "g" => 30,
                "t" => 40,
                _ => return Err(expected()),
            };
        let bytes = number * (1u64 << unit) as f64;
        if bytes < 1.0 || bytes > u64::MAX as f64 { Err(expected()) } else { Ok(Self(bytes as u64)) }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds
        .filter(|limit| !limit.is_zero())
        .ok_or_else(|| "a time is a number of seconds, such as 0.5".to_owned())
}

fn one_byte(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("expected one ASCII character, or tab".into()),
    }
}

fn scale_factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if scale > 0.0 && scale <= 100_000.0 => Ok(scale),
        _ => Err("expected a number above 0, e.g. 0.01, 1 or 10".into()),
    }
}

#[cfg(test)]
mod tests;
