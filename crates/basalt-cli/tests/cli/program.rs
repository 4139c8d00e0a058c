// SPDX-License-Identifier: Apache-2.0
//! A directory, and the program run in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of one test.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

/// What a run of the program gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A place whose database `db` has run these statements.
    pub(crate) fn with(statements: &str) -> Self {
        let place = Self::new();
        place.sql(statements).expect_ok();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).expect("the directory is writable");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a text file")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
        command.args(arguments).current_dir(self.dir.path()).env("TMPDIR", self.dir.path());
        command
    }

    /// Runs the program with nothing on its standard input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).stdin(Stdio::null()).output().expect("the program starts"))
    }

    /// Runs the program with this on its standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("piped above");
        // The program may end before it has read everything; then the pipe is closed, which is no failure of the test.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        Ran::of(child.wait_with_output().expect("the program ends"))
    }

    /// Runs statements on the database `db` and gives their rows as CSV.
    pub(crate) fn sql(&self, statements: &str) -> Ran {
        self.run(&["sql", "db", "-c", statements, "--format", "csv", "--quiet"])
    }

    /// The rows of a query, without the header.
    pub(crate) fn rows(&self, query: &str) -> Vec<String> {
        let ran = self.sql(query);
        ran.expect_ok();
        ran.out.lines().skip(1).map(str::to_string).collect()
    }

    /// All files below `name`.
    pub(crate) fn files(&self, name: &str) -> Vec<PathBuf> {
        let mut waiting = vec![self.path(name)];
        let mut files = Vec::new();
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(entries(&path));
            } else {
                files.push(path);
            }
        }
        files.sort();
        files
    }
}

fn entries(path: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path()).collect()
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn expect_ok(&self) {
        assert_eq!(self.code, 0, "{self:#?}");
    }

    /// The program failed with this code and these words in its message.
    #[track_caller]
    pub(crate) fn expect_error(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:#?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is missing in {self:#?}");
        }
    }
}
