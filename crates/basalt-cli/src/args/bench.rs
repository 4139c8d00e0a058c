// SPDX-License-Identifier: Apache-2.0
//! The command line of `basalt bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::scale_factor;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Short statements alone and beside long ones, and how soon these end when they are cancelled.
    Beside(BenchBesideArgs),
    /// The questions of the demo to a table whose rows lie in several files, or were written again.
    Changes(BenchChangesArgs),
    /// Size and speed of every block encoding with every codec, on a key and two random floats.
    Encodings(BenchEncodingsArgs),
    /// What indexes of TPC-H's LINEITEM cost and give.
    Index(BenchIndexArgs),
    /// A join with ever more keys: time and memory.
    Join(BenchJoinArgs),
    /// How fast this machine reads memory in order.
    Memory(BenchMemoryArgs),
    /// Single rows through the cell API: found, written durably; beside RocksDB if its program is named.
    Points(BenchPointsArgs),
    /// The questions of the demo on 1 to all threads, and a join with ever more keys.
    Sql(BenchSqlArgs),
    /// HBase's Java client asks HBase and Basalt the same, one after the other; needs a JDK and, the first time, Maven.
    Rpc(BenchRpcArgs),
    /// Statements of one row, by text and prepared, called in this process.
    Statements(BenchStatementsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BenchEncodingsArgs {
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 8_000_000, value_parser = clap::value_parser!(u32).range(1000..=1_000_000_000))]
    pub(crate) rows: u32,
    /// Only these encodings, as in DATA_BLOCK_ENCODING.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) encodings: Vec<String>,
    /// Only these codecs, as in COMPRESSION.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) codecs: Vec<String>,
    /// Times that each reading is repeated; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) runs: usize,
    /// Random rows that are read by key.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) gets: u32,
    /// Directory for the data, which is removed at the end; default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// File to draw bytes a row to, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Page to write the table to, as Markdown; the plot lies beside it. What it has below its first `## ` stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

impl BenchEncodingsArgs {
    /// True if a table of this encoding and codec is asked for.
    pub(crate) fn wants(&self, encoding: &str, codec: &str) -> bool {
        let among = |names: &[String], name: &str| {
            names.is_empty() || names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
        };
        among(&self.encodings, encoding) && among(&self.codecs, codec)
    }
}

#[derive(Debug, Args)]
pub(crate) struct BenchIndexArgs {
    /// TPC-H scale factor.
    #[arg(long = "sf", value_name = "N", default_value_t = 1.0, value_parser = scale_factor)]
    pub(crate) scale: f64,
    /// Times that each query is repeated; the median counts.
    #[arg(long, value_name = "N", default_value_t = 101)]
    pub(crate) runs: usize,
    /// UPSERTs of 1,000 rows each, with indexes and without.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) upserts: u64,
    /// Directory for the data, which a second run finds; default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchJoinArgs {
    /// The joins begin at two to the power of this many keys; every second power is measured.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(10..=28))]
    pub(crate) keys_from: u32,
    /// And end at this many.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(10..=28))]
    pub(crate) keys_to: u32,
    /// Times that each join is repeated; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    pub(crate) runs: usize,
    /// Directory for the data, which a second run finds; default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchMemoryArgs {
    /// Memory that is read, by all threads together.
    #[arg(long, value_name = "MB", default_value_t = 512)]
    pub(crate) megabytes: usize,
    /// Times that each reading is repeated; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) runs: usize,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchPointsArgs {
    /// Rows of 100 bytes.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    pub(crate) rows: u64,
    /// Block encoding of the table, as in DATA_BLOCK_ENCODING.
    #[arg(long, value_name = "NAME", default_value = "NONE")]
    pub(crate) encoding: String,
    /// Codec of the table, as in COMPRESSION.
    #[arg(long, value_name = "NAME", default_value = "NONE")]
    pub(crate) compression: String,
    /// How often both are asked, in turn; medians count.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// The program made of bench/rocksdb/points.cc, which is asked the same before.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) rocksdb: Option<PathBuf>,
    /// Directory for the data, which is removed at the end; default: a temporary one. It decides which disk is measured.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Page to write the table to, as Markdown. What it has below its first `## ` stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchBesideArgs {
    /// TPC-H scale factor.
    #[arg(long = "sf", value_name = "N", default_value_t = 1.0, value_parser = scale_factor)]
    pub(crate) scale: f64,
    /// Times that each short statement is repeated; the median counts.
    #[arg(long, value_name = "N", default_value_t = 11)]
    pub(crate) runs: usize,
    /// Directory for the data, which a second run finds; default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Page to write the table to; what people wrote below it stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchChangesArgs {
    /// TPC-H scale factor.
    #[arg(long = "sf", value_name = "N", default_value_t = 1.0, value_parser = scale_factor)]
    pub(crate) scale: f64,
    /// Times that each question is repeated; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) runs: usize,
    /// Directory for the data, which a second run finds; default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Page to write the table to; what people wrote below it stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchSqlArgs {
    /// TPC-H scale factor.
    #[arg(long = "sf", value_name = "N", default_value_t = 1.0, value_parser = scale_factor)]
    pub(crate) scale: f64,
    /// Times that each question is repeated; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) runs: usize,
    /// The joins begin at two to the power of this many keys.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(4..=40))]
    pub(crate) keys_from: u32,
    /// And end at this many.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(4..=40))]
    pub(crate) keys_to: u32,
    /// Directory for the data, which a second run finds; default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchStatementsArgs {
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rows: u64,
    /// Calls of each kind.
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000_000))]
    pub(crate) calls: usize,
    /// Page to write all to, as Markdown, with what `bench index` measures. What it has below its first `## ` stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// TPC-H scale factor of the indexed table on the page.
    #[arg(long = "sf", value_name = "N", default_value_t = 1.0, value_parser = scale_factor)]
    pub(crate) scale: f64,
    /// Times that each query of it is repeated; the median counts.
    #[arg(long, value_name = "N", default_value_t = 101)]
    pub(crate) runs: usize,
    /// UPSERTs of 1,000 rows each on the page, with indexes and without.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) upserts: u64,
    /// Directory for the data; default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// File to write all figures to.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BenchRpcArgs {
    /// Rows of 100 bytes in the table.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    pub(crate) rows: u32,
    /// Folder of the Java programs: `tests/hbase` of the repository.
    #[arg(long, value_name = "DIR", default_value = "tests/hbase")]
    pub(crate) programs: PathBuf,
    /// File to write the table to; the plot lies beside it. What it has below its first `## ` stays.
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks/rpc.md")]
    pub(crate) out: PathBuf,
    /// Directory for the data of both servers, which is removed at the end; default: a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Largest heap of HBase, as Java takes it.
    #[arg(long, value_name = "SIZE", default_value = "4g")]
    pub(crate) heap: String,
}
