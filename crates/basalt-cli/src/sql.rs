// SPDX-License-Identifier: Apache-2.0
//! `basalt sql`: statements from the command line, a file or the standard input, one after the other, until one fails.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use basalt::split_statements;

use crate::args::{Shared, SqlArgs};
use crate::connection::Connection;
use crate::failure::{Failure, Result};
use crate::output::OutputFormat;
use crate::statement::{self, Printer, ROWS_MAX_DEFAULT};

/// Runs the command.
pub(crate) fn run(args: &SqlArgs, shared: &Shared) -> Result<()> {
    let connection = Connection::open(Some(&args.db), shared)?;
    connection.session.set_timeout(args.timeout);
    connection.session.set_json_plans(matches!(args.format, OutputFormat::Json | OutputFormat::Jsonl));
    connection.session.set_memory_limit(args.query_memory.map(|size| size.0));
    let printer = Printer {
        format: args.format,
        timing: args.timing,
        rows_max: Some(ROWS_MAX_DEFAULT),
        quiet: shared.quiet,
    };
    let mut runner = Plain { connection: &connection, printer: &printer };
    if !args.commands.is_empty() {
        return args.commands.iter().try_for_each(|text| run_text(&mut runner, text));
    }
    match args.file.as_deref() {
        Some(path) if path != Path::new("-") => run_file(&mut runner, path),
        _ => run_input(&mut runner, &mut std::io::stdin().lock(), "standard input"),
    }
}

/// Runs what a text consists of.
pub(crate) trait Runner {
    /// Runs one statement; it was cut from `whole` at byte `offset`.
    fn statement(&mut self, text: &str, whole: &str, offset: usize) -> Result<()>;

    /// Runs a line that is a command instead of SQL; `None` if it is none. Asked only where a statement may begin.
    fn command(&mut self, line: &str) -> Option<Result<Next>>;
}

/// Whether there is more to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    GoOn,
    Quit,
}

/// Runs SQL and nothing else.
struct Plain<'a> {
    connection: &'a Connection,
    printer: &'a Printer,
}

impl Runner for Plain<'_> {
    fn statement(&mut self, text: &str, whole: &str, offset: usize) -> Result<()> {
        statement::run(self.connection, text, whole, offset, self.printer)
    }

    fn command(&mut self, _: &str) -> Option<Result<Next>> {
        None
    }
}

/// Runs all statements of a text; the last one needs no semicolon.
pub(crate) fn run_text(runner: &mut dyn Runner, text: &str) -> Result<()> {
    let split = split_statements(text);
    let mut statements = split.statements.iter().chain(&split.rest);
    statements.try_for_each(|statement| runner.statement(statement.text, text, statement.offset))
}

/// Runs all statements of a file.
pub(crate) fn run_file(runner: &mut dyn Runner, path: &Path) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    run_input(runner, &mut BufReader::new(file), &path.display().to_string())
}

/// Runs statements as they are read, so that an input may be of any size. An error names the line on which its statement begins.
pub(crate) fn run_input(runner: &mut dyn Runner, input: &mut dyn BufRead, name: &str) -> Result<()> {
    // What was read and not yet run, and the number of its first line.
    let mut text = String::new();
    let mut first_line = 1;
    loop {
        let before = text.len();
        let read = input.read_line(&mut text).with_context(|| format!("cannot read {name}"))?;
        if read > 0 && text[..before].trim().is_empty() {
            let line = first_line + text[..before].matches('\n').count();
            if let Some(ended) = runner.command(text[before..].trim()) {
                if ended.map_err(|failure| within(failure, name, line))? == Next::Quit {
                    return Ok(());
                }
                text.truncate(before);
                text.push('\n');
                continue;
            }
        }
        // Only a line with a semicolon can complete a statement; looking at every line would be quadratic.
        if read > 0 && !text[before..].contains(';') {
            continue;
        }
        let split = split_statements(&text);
        let rest = if read == 0 { split.rest } else { None };
        for statement in split.statements.iter().chain(&rest) {
            let line = first_line + text[..statement.offset].matches('\n').count();
            runner
                .statement(statement.text, &text, statement.offset)
                .map_err(|failure| within(failure, name, line))?;
        }
        if read == 0 {
            return Ok(());
        }
        let taken = split.statements.last().map_or(0, |last| behind(&text, last.offset + last.text.len()));
        first_line += text[..taken].matches('\n').count();
        text.drain(..taken);
    }
}

/// The byte behind the semicolon that ends the statement which ends at `end`. Between the two there may be blanks and comments.
fn behind(text: &str, end: usize) -> usize {
    let mut at = end;
    while let Some(found) = text[at..].find(';') {
        at += found + 1;
        // A semicolon in a comment ends nothing: cutting there would leave a statement or an open comment behind.
        let cut = split_statements(&text[..at]);
        if cut.rest.is_none() && cut.open.is_none() {
            return at;
        }
    }
    text.len()
}

fn within(failure: Failure, name: &str, line: usize) -> Failure {
    if failure.has_message() && !failure.is_cancelled() {
        failure.context(format!("{name}, statement at line {line}"))
    } else {
        failure
    }
}

#[cfg(test)]
mod tests;
