// SPDX-License-Identifier: Apache-2.0
//! `basalt hfile`: look into a single store file, Basalt's or HBase's, without a database around it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use basalt_hfile::tools::{self, ConvertOptions, DumpError};
use basalt_hfile::{BloomKind, Compression, Encoding, FileRead, HFileReader, LocalFile, ReadOptions};

use crate::args::{ConvertArgs, HfileArgs, HfileCommand, HfileTarget, ReportFormat, Shared};
use crate::failure::{Failure, Result};

/// Runs the command.
pub(crate) fn run(args: &HfileArgs, shared: &Shared) -> Result<()> {
    match &args.command {
        HfileCommand::Dump(target) => dump(target),
        HfileCommand::Stat(target) => stat(target),
        HfileCommand::Verify(target) => verify(target, shared),
        HfileCommand::Convert(args) => convert(args, shared),
    }
}

fn open(path: &Path) -> Result<Arc<dyn FileRead>> {
    let file = LocalFile::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(Arc::new(file))
}

fn reader(path: &Path) -> Result<HFileReader> {
    HFileReader::open(open(path)?, ReadOptions::default()).map_err(damaged)
}

/// A file that cannot be read as an HFile is damaged, or none.
fn damaged(error: basalt_hfile::Error) -> Failure {
    Failure::database(anyhow::Error::from(error))
}

fn dump(target: &HfileTarget) -> Result<()> {
    let reader = reader(&target.file)?;
    let stdout = io::stdout().lock();
    let mut out = io::BufWriter::with_capacity(1 << 16, stdout);
    let dumped = match target.format {
        ReportFormat::Text => tools::dump(&reader, &mut out),
        ReportFormat::Json => {
            tools::dump(&reader, &mut JsonLines { out: &mut out, names: Vec::new(), line: Vec::new() })
        }
    };
    match dumped {
        Ok(()) => Ok(out.flush()?),
        Err(DumpError::Output(error)) => Err(error.into()),
        Err(DumpError::File(error)) => {
            out.flush()?;
            Err(damaged(error))
        }
    }
}

/// Turns the lines of a dump into JSON objects; the first line has the names.
struct JsonLines<'a> {
    out: &'a mut dyn Write,
    names: Vec<String>,
    line: Vec<u8>,
}

impl Write for JsonLines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl JsonLines<'_> {
    fn end_line(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.line).trim_end_matches('\n').to_string();
        self.line.clear();
        if self.names.is_empty() {
            self.names = line.split('\t').map(str::to_string).collect();
            return Ok(());
        }
        let fields = self
            .names
            .iter()
            .zip(line.split('\t'))
            .map(|(name, field)| (name.clone(), number_or_text(name, field)));
        writeln!(self.out, "{}", serde_json::Value::Object(fields.collect()))
    }
}

/// Timestamps and sequence numbers are numbers; everything else is a text, also hex that has no letters in it.
fn number_or_text(name: &str, field: &str) -> serde_json::Value {
    match field.parse::<i64>() {
        Ok(number) if matches!(name, "timestamp" | "seqid") => number.into(),
        _ => field.into(),
    }
}

fn stat(target: &HfileTarget) -> Result<()> {
    let stat = tools::stat(&reader(&target.file)?).map_err(damaged)?;
    match target.format {
        ReportFormat::Text => write!(io::stdout(), "{stat}")?,
        ReportFormat::Json => {
            let value = serde_json::to_value(&stat).context("cannot write the figures as JSON")?;
            writeln!(io::stdout(), "{value:#}")?;
        }
    }
    Ok(())
}

fn verify(target: &HfileTarget, shared: &Shared) -> Result<()> {
    let findings = tools::verify(open(&target.file)?);
    match target.format {
        ReportFormat::Json => {
            let value = serde_json::to_value(&findings).context("cannot write the findings as JSON")?;
            writeln!(io::stdout(), "{value:#}")?;
        }
        ReportFormat::Text => {
            for finding in &findings {
                writeln!(io::stdout(), "{finding}")?;
            }
        }
    }
    match findings.len() {
        0 if shared.quiet || target.format == ReportFormat::Json => Ok(()),
        0 => Ok(writeln!(io::stdout(), "{}: sound", target.file.display())?),
        count => Err(Failure::database(anyhow!("{} is damaged: {count} findings", target.file.display()))),
    }
}

fn convert(args: &ConvertArgs, shared: &Shared) -> Result<()> {
    let options = ConvertOptions {
        encoding: named("encoding", args.encoding.as_deref(), Encoding::from_name)?,
        compression: named("compression", args.compression.as_deref(), Compression::from_name)?,
        compression_level: args.level,
        block_bytes: args.block_size,
        bloom: named("bloom filter", args.bloom.as_deref(), BloomKind::from_name)?,
        ..ConvertOptions::default()
    };
    let reader = reader(&args.file)?;
    // The new file has its name only when it is whole, and an existing one is never written over.
    if args.out.exists() {
        return Err(Failure::input(anyhow!("{} exists already", args.out.display())));
    }
    let unfinished = args.out.with_extension("unfinished");
    let cannot = || format!("cannot write {}", args.out.display());
    let out = fs::File::create(&unfinished).with_context(cannot)?;
    let summary = tools::convert(&reader, out, &options).map_err(damaged)?;
    fs::rename(&unfinished, &args.out).with_context(cannot)?;
    if !shared.quiet {
        let before = reader.size_bytes();
        eprintln!(
            "{}: {} cells, {} bytes (before: {before})",
            args.out.display(),
            summary.cells,
            summary.size_bytes
        );
    }
    Ok(())
}

fn named<T>(what: &str, name: Option<&str>, find: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
    match name {
        None => Ok(None),
        Some(name) => match find(&name.to_uppercase()) {
            Some(found) => Ok(Some(found)),
            None => Err(Failure::usage(format!("there is no {what} {name}"))),
        },
    }
}
