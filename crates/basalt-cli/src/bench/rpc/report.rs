// SPDX-License-Identifier: Apache-2.0
//! The figures as Markdown, with a plot of the scans beside it.

use std::fmt::Write;

use super::Measured;
use crate::args::BenchRpcArgs;
use crate::bench::machine;
use crate::bench::page::{Plot, write_page};
use crate::bench::plot::{Line, svg};
use crate::failure::Result;
use crate::output::grouped;

/// Whether a figure is better when it is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
}

/// The figures of the Java program: its name, ours, its unit.
const ROWS: [(&str, &str, &str, Better); 19] = [
    ("get_p50", "single get, p50", "µs", Better::Less),
    ("get_p99", "single get, p99", "µs", Better::Less),
    ("bare_get_p50", "the same get over a bare socket, p50", "µs", Better::Less),
    ("multi_get", "multi-get of 60,000 rows, best of 3", "ms", Better::Less),
    ("bare_multi_get", "the same over a bare socket, best of 4", "ms", Better::Less),
    ("scan_1", "scan, caching 1", "rows/s", Better::More),
    ("bare_scan_1", "the same over a bare socket", "rows/s", Better::More),
    ("scan_10", "scan, caching 10", "rows/s", Better::More),
    ("scan_30", "scan, caching 30", "rows/s", Better::More),
    ("scan_100", "scan, caching 100", "rows/s", Better::More),
    ("scan_1000", "scan, caching 1000", "rows/s", Better::More),
    ("bare_scan_1000", "the same over a bare socket", "rows/s", Better::More),
    ("scan_default", "scan, caching as the client has it", "rows/s", Better::More),
    ("put_sync", "puts through BufferedMutator, synced", "rows/s", Better::More),
    ("bare_put_sync", "the same over a bare socket, 5,000 a call", "rows/s", Better::More),
    ("put_async", "puts through BufferedMutator, ASYNC_WAL", "rows/s", Better::More),
    ("bare_put_async", "the same over a bare socket, 5,000 a call", "rows/s", Better::More),
    ("get_64_threads", "gets of 64 client threads", "gets/s", Better::More),
    ("", "largest resident memory of the server", "MiB", Better::Less),
];

/// Writes the file and the plot.
pub(super) fn write(args: &BenchRpcArgs, basalt: &Measured, hbase: &Measured) -> Result<()> {
    let text = header(args) + &table(basalt, hbase);
    let title = "Rows per second over caching, HBase and Basalt";
    let picture = picture(basalt, hbase)?;
    let plots: Vec<Plot> = picture.into_iter().map(|picture| Plot { title, ending: "", picture }).collect();
    write_page(&args.out, text, &plots)
}

fn header(args: &BenchRpcArgs) -> String {
    let load = machine::load().map_or(String::new(), |load| format!(", load {load:.1} at the end"));
    format!(
        "# HBase's client: HBase and Basalt\n\n\
         Written by `basalt bench rpc --rows {rows}` (`make bench-rpc ROWS={rows}`): {} rows of 100 bytes in one family and one region, asked for by HBase's Java client 2.6.4 in one\n\
         process, first from Basalt, then from HBase 2.6.4 with a heap of {heap}, on the same machine ({}{load}). Both servers are warm, the data is in their caches, and\n\
         both sync their logs to the disk before a write is acknowledged, unless the client says ASYNC_WAL. A bare socket is a client that does nothing but send a message and\n\
         receive its answer; what HBase's client needs beyond it is its own share.\n\n",
        grouped(args.rows.into()),
        machine::processors(),
        rows = args.rows,
        heap = args.heap,
    )
}

/// A line for every figure that both have.
pub(super) fn table(basalt: &Measured, hbase: &Measured) -> String {
    let mut text = String::from("| | HBase | Basalt | unit | times as good |\n|---|--:|--:|---|--:|\n");
    let megabytes = |measured: &Measured| measured.memory.map(|memory| memory.peak as f64 / (1 << 20) as f64);
    for (name, title, unit, better) in ROWS {
        let figure = |measured: &Measured| match name {
            "" => megabytes(measured),
            _ => measured.figures.get(name).copied(),
        };
        let (Some(theirs), Some(ours)) = (figure(hbase), figure(basalt)) else { continue };
        let ratio = match better {
            Better::Less => theirs / ours,
            Better::More => ours / theirs,
        };
        let (theirs_text, ours_text) = (number(theirs), number(ours));
        let _ = writeln!(text, "| {title} | {theirs_text} | {ours_text} | {unit} | {ratio:.1} |");
        if name == "bare_get_p50" {
            let share = |measured: &Measured, bare: f64| {
                measured.figures.get("get_p50").map_or(0.0, |get| (get - bare).max(0.0))
            };
            let (theirs, ours) = (number(share(hbase, theirs)), number(share(basalt, ours)));
            let _ = writeln!(text, "| of it the client's own | {theirs} | {ours} | {unit} | |");
        }
    }
    text
}

fn number(figure: f64) -> String {
    match figure {
        figure if figure < 100.0 => format!("{figure:.1}"),
        figure => grouped(figure.round() as u64),
    }
}

fn picture(basalt: &Measured, hbase: &Measured) -> anyhow::Result<Option<String>> {
    let points: Vec<(&str, String)> =
        ROWS.iter().filter_map(|(name, ..)| Some((*name, name.strip_prefix("scan_")?.to_owned()))).collect();
    let line = |name: &str, measured: &Measured| {
        let values = points.iter().map(|(name, _)| measured.figures.get(*name).copied());
        Some(Line { name: name.to_owned(), values: values.collect::<Option<Vec<f64>>>()? })
    };
    let (Some(theirs), Some(ours)) = (line("HBase", hbase), line("Basalt", basalt)) else { return Ok(None) };
    let names: Vec<String> = points.iter().map(|(_, name)| name.clone()).collect();
    let title = "Scans over HBase's RPC: rows per second";
    svg(title, "rows that the client asks for at once (caching)", &names, &[theirs, ours]).map(Some)
}
