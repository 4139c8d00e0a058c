// SPDX-License-Identifier: Apache-2.0
//! `basalt [DB]`: the shell. On a terminal it edits lines, completes, colours and keeps a history; otherwise it reads the
//! standard input like a script: no prompt, the first error ends it.

mod command;
mod complete;
mod edit;
mod highlight;
mod schema;
mod words;

use std::io::IsTerminal;
use std::path::Path;

use reedline::Signal;

use crate::args::Shared;
use crate::connection::Connection;
use crate::failure::Result;
use crate::output::OutputFormat;
use crate::sql::{Next, Runner, run_input, run_text};
use crate::statement::{self, Printer, ROWS_MAX_DEFAULT};

/// Runs the command.
pub(crate) fn run(db: Option<&Path>, shared: &Shared) -> Result<()> {
    refuse_misspelt_command(db)?;
    let connection = Connection::open(db, shared)?;
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut shell = Shell {
        connection: &connection,
        printer: Printer {
            format: OutputFormat::Table,
            timing: is_terminal,
            rows_max: Some(ROWS_MAX_DEFAULT),
            quiet: shared.quiet,
        },
    };
    if is_terminal {
        shell.converse()
    } else {
        run_input(&mut shell, &mut std::io::stdin().lock(), "standard input")
    }
}

/// `basalt laod` would make a database of that name; nobody wants that.
fn refuse_misspelt_command(db: Option<&Path>) -> Result<()> {
    use clap::CommandFactory;
    let Some(name) = db.filter(|db| !db.exists()).and_then(Path::to_str) else { return Ok(()) };
    if name.contains(['/', '.']) {
        return Ok(());
    }
    let command = crate::args::CommandLine::command();
    let near = command
        .get_subcommands()
        .map(|command| command.get_name())
        .find(|command| strsim::damerau_levenshtein(command, name) == 1);
    match near {
        Some(near) => Err(crate::failure::Failure::usage(format!(
            "there is no command {name} and no database of that name; did you mean {near}? For a new database say ./{name}"
        ))),
        None => Ok(()),
    }
}

/// What the shell remembers between lines.
struct Shell<'a> {
    connection: &'a Connection,
    printer: Printer,
}

impl Shell<'_> {
    fn converse(&mut self) -> Result<()> {
        self.greet();
        let mut editor = edit::editor(self.connection.engine().clone())?;
        let prompt = edit::DatabasePrompt::new(self.connection);
        loop {
            match editor.read_line(&prompt)? {
                Signal::Success(text) if self.run_and_report(&text) == Next::Quit => return Ok(()),
                Signal::CtrlD => return Ok(()),
                // A statement was run; Ctrl-C clears the line; anything else is nothing to the shell.
                _ => {}
            }
        }
    }

    fn greet(&self) {
        if self.printer.quiet {
            return;
        }
        println!(
            "Basalt {}. Statements end with a semicolon; .help lists commands, Ctrl-D leaves.",
            env!("CARGO_PKG_VERSION")
        );
        if self.connection.is_temporary() {
            println!("This database is temporary and goes when you leave; `basalt DIRECTORY` keeps one.");
        }
    }

    /// Runs what was typed. Errors are shown and the conversation goes on.
    fn run_and_report(&mut self, text: &str) -> Next {
        let ended = match self.command(text.trim()) {
            Some(ended) => ended,
            None => run_text(self, text).map(|()| Next::GoOn),
        };
        ended.unwrap_or_else(|failure| {
            failure.print();
            // SIGTERM asks the program to end, not the statement.
            if failure.code() == 143 { Next::Quit } else { Next::GoOn }
        })
    }
}

impl Runner for Shell<'_> {
    fn statement(&mut self, text: &str, whole: &str, offset: usize) -> Result<()> {
        statement::run(self.connection, text, whole, offset, &self.printer)
    }

    fn command(&mut self, line: &str) -> Option<Result<Next>> {
        line.starts_with(['.', '\\']).then(|| self.run_command(line))
    }
}

#[cfg(test)]
mod tests;
