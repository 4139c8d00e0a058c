// SPDX-License-Identifier: Apache-2.0
//! Commands of the shell: `.name` as in SQLite, `\name` as in psql.

use std::path::Path;

use anyhow::anyhow;
use clap::ValueEnum;

use super::Shell;
use super::schema::create_statement;
use crate::failure::{Failure, Result};
use crate::load::find_table;
use crate::output::OutputFormat;
use crate::sql::{Next, Runner, run_file};

const HELP: &str = "\
.tables                 list the tables                                \\d \\dt
.schema [TABLE]         show how tables were created
.describe TABLE         list the columns of a table                    \\d TABLE
.mode FORMAT            table, csv, tsv, json, jsonl, markdown, arrow, line, trash
.maxrows N|all          rows of a table that are shown on a terminal
.timer on|off           how long each statement takes                  \\timing
.read FILE              run the statements of a file                   \\i FILE
.help                   this list                                      \\?
.quit                   leave (also Ctrl-D)                            \\q
\\x                      one column a line, and back
Ctrl-C cancels the running statement; Tab completes; Ctrl-R searches the history.";

impl Shell<'_> {
    /// Runs a line that begins with `.` or `\`.
    pub(super) fn run_command(&mut self, line: &str) -> Result<Next> {
        let line = line.trim().trim_end_matches(';');
        let (name, argument) = match line.split_once(char::is_whitespace) {
            Some((name, argument)) => (name, argument.trim()),
            None => (line, ""),
        };
        match name {
            ".tables" | "\\dt" => self.query("SHOW TABLES")?,
            "\\d" if argument.is_empty() => self.query("SHOW TABLES")?,
            ".describe" | "\\d" => self.describe(needed(name, argument, "a table")?)?,
            ".schema" => self.schema(argument)?,
            ".mode" => self.printer.format = format(argument)?,
            ".maxrows" => self.printer.rows_max = rows_max(argument)?,
            ".timer" => self.printer.timing = switch(name, argument)?,
            "\\timing" if argument.is_empty() => self.printer.timing = !self.printer.timing,
            "\\timing" => self.printer.timing = switch(name, argument)?,
            "\\x" => self.toggle_lines(),
            ".read" | "\\i" => run_file(self, Path::new(needed(name, argument, "a file")?))?,
            ".help" | "\\?" | "\\h" => println!("{HELP}"),
            ".quit" | ".exit" | "\\q" => return Ok(Next::Quit),
            _ => return Err(unknown(name)),
        }
        Ok(Next::GoOn)
    }

    fn query(&mut self, text: &str) -> Result<()> {
        self.statement(text, text, 0)
    }

    fn describe(&mut self, table: &str) -> Result<()> {
        self.query(&format!("DESCRIBE {table}"))?;
        self.indexes(table)
    }

    /// The indexes of a table, each as a statement.
    fn indexes(&self, table: &str) -> Result<()> {
        let Ok(found) = find_table(self.connection, table) else { return Ok(()) };
        let database = self.connection.engine().database();
        let Ok((id, _)) = database.table(&found.name) else { return Ok(()) };
        for (_, index) in database.indexes(id) {
            println!("{}", create_statement(&index));
        }
        Ok(())
    }

    fn schema(&self, table: &str) -> Result<()> {
        if !table.is_empty() {
            println!("{}", create_statement(&*find_table(self.connection, table)?));
            return self.indexes(table);
        }
        let mut tables = self.connection.engine().database().tables();
        // An index comes after its table.
        tables.sort_by(|(_, a), (_, b)| (a.index.is_some(), &a.name).cmp(&(b.index.is_some(), &b.name)));
        // Tables of Basalt itself are no business of a script that creates tables again.
        for (_, table) in tables.iter().filter(|(_, table)| table.schema.is_some()) {
            println!("{}", create_statement(table));
        }
        Ok(())
    }

    fn toggle_lines(&mut self) {
        self.printer.format = match self.printer.format {
            OutputFormat::Line => OutputFormat::Table,
            _ => OutputFormat::Line,
        };
    }
}

fn needed<'a>(name: &str, argument: &'a str, what: &str) -> Result<&'a str> {
    if argument.is_empty() { Err(Failure::input(anyhow!("{name} needs {what}"))) } else { Ok(argument) }
}

fn format(argument: &str) -> Result<OutputFormat> {
    let known = || {
        let names = OutputFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        names.map(|value| value.get_name().to_string()).collect::<Vec<_>>().join(", ")
    };
    OutputFormat::from_str(argument, true).map_err(|_| Failure::input(anyhow!("the modes are {}", known())))
}

fn rows_max(argument: &str) -> Result<Option<usize>> {
    match argument {
        "all" => Ok(None),
        number => {
            number.parse().map(Some).map_err(|_| Failure::input(anyhow!(".maxrows takes a number or all")))
        }
    }
}

fn switch(name: &str, argument: &str) -> Result<bool> {
    match argument.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(Failure::input(anyhow!("{name} takes on or off"))),
    }
}

fn unknown(name: &str) -> Failure {
    let near = super::words::COMMANDS.iter().min_by_key(|command| strsim::damerau_levenshtein(command, name));
    let hint = match near {
        Some(near) if strsim::damerau_levenshtein(near, name) <= 2 => format!("; did you mean {near}?"),
        _ => "; .help lists the commands".to_string(),
    };
    Failure::input(anyhow!("there is no command {name}{hint}"))
}
