// SPDX-License-Identifier: Apache-2.0
//! Runs every `tests/sql/*.slt` against a database of its own.
//!
//! `query` compares rows; NULL is written `NULL`, the empty text `(empty)`, a DECIMAL without precision without the zeros behind its last digit, and `rowsort` sorts before comparing.
//! `statement error <pattern>` matches the whole message; the code comes first, e.g. `1012 table X does not exist`.
//! `reopen` as a statement closes the database and opens it again. `{dir}` in a statement is a directory for its files.

use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use basalt_sql::{Engine, EngineOptions, Outcome, Session, SqlError};
use basalt_store::{Database, OpenOptions};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};

/// An error whose text begins with its Phoenix code, if it has one.
#[derive(Debug)]
struct Failure(SqlError);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.code() {
            Some(code) => write!(f, "{} {}", code.number, self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::error::Error for Failure {}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Self(error)
    }
}

struct Connection {
    directory: PathBuf,
    session: Option<Session>,
}

impl Connection {
    fn open(directory: &Path) -> Result<Self, SqlError> {
        let database = Database::open(directory, OpenOptions::create())?;
        let options = EngineOptions { threads: 2, memory_bytes: 64 << 20, ..EngineOptions::default() };
        let session = Engine::try_new(database, options)?.session();
        Ok(Self { directory: directory.to_owned(), session: Some(session) })
    }
}

#[async_trait]
impl AsyncDB for Connection {
    type Error = Failure;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failure> {
        if sql.trim() == "reopen" {
            self.session = None;
            self.session = Self::open(&self.directory)?.session;
            return Ok(DBOutput::StatementComplete(0));
        }
        let files = self.directory.parent().expect("beside the database").display().to_string();
        let session = self.session.as_ref().expect("open");
        match session.execute(&sql.replace("{dir}", &files)).await? {
            Outcome::Rows(mut stream) => {
                let width = stream.schema().fields().len();
                let mut rows = vec![];
                while let Some(batch) = stream.next().await {
                    append(&batch?, &mut rows);
                }
                Ok(DBOutput::Rows { types: vec![DefaultColumnType::Any; width], rows })
            }
            Outcome::Count { rows, .. } => Ok(DBOutput::StatementComplete(rows)),
            Outcome::Done { .. } => Ok(DBOutput::StatementComplete(0)),
        }
    }

    async fn shutdown(&mut self) {
        self.session = None;
    }
}

fn append(batch: &RecordBatch, rows: &mut Vec<Vec<String>>) {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| {
            let is_wide = matches!(column.data_type(), DataType::Decimal256(..));
            (ArrayFormatter::try_new(column, &options).expect("printable"), is_wide)
        })
        .collect();
    for row in 0..batch.num_rows() {
        let text = |(column, is_wide): &(ArrayFormatter<'_>, bool)| match column.value(row).to_string() {
            text if text.is_empty() => "(empty)".to_owned(),
            text if *is_wide && text.contains('.') => {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            text => text,
        };
        rows.push(columns.iter().map(text).collect());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sql_files() {
    let files = Path::new("tests/sql");
    let mut paths: Vec<_> =
        std::fs::read_dir(files).expect("tests/sql").map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let mut failures = vec![];
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "slt")) {
        let directory = tempfile::tempdir().expect("temporary directory");
        let mut runner =
            Runner::new(|| async { Connection::open(&directory.path().join("db")).map_err(Failure) });
        if let Err(error) = runner.run_file_async(path).await {
            failures.push(format!("{}", error.display(false)));
        }
        runner.shutdown_async().await;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
