// SPDX-License-Identifier: Apache-2.0
//! How a command ends when it does not succeed: an exit code, one line, and a caret where there is a place.
//!
//! ```text
//! 0  done
//! 1  a statement or a file was wrong
//! 2  the command line was wrong
//! 3  the database is damaged, locked or cannot be reached
//! 130, 143  stopped by Ctrl-C or SIGTERM, as shells report it
//! ```
//! A reader of our output that went away (`| head`) is no failure: the program ends quietly with 0.

use std::io;

use anyhow::anyhow;

/// The result of everything in this program that can end it.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why the program ends, and with which exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    error: Option<anyhow::Error>,
    place: Option<String>,
}

impl Failure {
    /// The statement or the file was wrong.
    pub(crate) fn input(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 1, error: Some(error.into()), place: None }
    }

    /// The command line was wrong.
    pub(crate) fn usage(message: impl std::fmt::Display) -> Self {
        Self { code: 2, error: Some(anyhow!("{message}")), place: None }
    }

    /// The database is damaged or cannot be reached.
    pub(crate) fn database(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 3, error: Some(error.into()), place: None }
    }

    /// The user or the system stopped the statement.
    pub(crate) fn cancelled(code: u8) -> Self {
        Self { code, error: Some(anyhow!("cancelled")), place: None }
    }

    /// True if the user stopped the statement.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.code == 130
    }

    /// Ends the program without a word.
    pub(crate) fn quiet(code: u8) -> Self {
        Self { code, error: None, place: None }
    }

    /// Adds the lines that point at the place in the statement.
    pub(crate) fn with_place(mut self, place: Option<String>) -> Self {
        self.place = place;
        self
    }

    /// Puts a sentence in front of the chain.
    pub(crate) fn context(mut self, sentence: impl std::fmt::Display + Send + Sync + 'static) -> Self {
        self.error = self.error.map(|error| error.context(sentence));
        self
    }

    /// What the process returns.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// True if there is something to print.
    pub(crate) fn has_message(&self) -> bool {
        self.error.is_some()
    }

    /// The chain of causes on one line; each cause that only repeats the one before is left out.
    pub(crate) fn message(&self) -> String {
        let Some(error) = &self.error else { return String::new() };
        let mut line = String::new();
        for cause in error.chain() {
            let text = cause.to_string();
            if line.is_empty() {
                line = text;
            } else if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
        }
        line.replace('\n', " ")
    }

    /// Prints the failure to stderr: `error: …` and the place, if there is one.
    pub(crate) fn print(&self) {
        if self.has_message() {
            eprintln!("error: {}", self.message());
            if let Some(place) = &self.place {
                eprintln!("{place}");
            }
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let is_closed_pipe = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        };
        if error.chain().any(is_closed_pipe) { Self::quiet(0) } else { Self::input(error) }
    }
}

impl From<io::Error> for Failure {
    /// A closed output pipe ends the program quietly.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::quiet(0) } else { Self::input(error) }
    }
}

/// The line of `text` that holds byte `at`, and below it a caret under that byte.
pub(crate) fn point_at(text: &str, at: usize) -> String {
    let at = at.min(text.len());
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    let number = text[..at].matches('\n').count() + 1;
    let margin = format!("line {number}: ");
    let before = unicode_width::UnicodeWidthStr::width(&text[start..at]);
    format!("{margin}{}\n{}^", text[start..end].replace('\t', " "), " ".repeat(margin.len() + before))
}

#[cfg(test)]
mod tests;
