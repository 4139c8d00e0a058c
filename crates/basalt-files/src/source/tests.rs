// SPDX-License-Identifier: Apache-2.0
//! What all sources share is tested through small files; each format has tests of its own beside it.

use std::path::Path;

use super::*;
use crate::sink::{CsvStyle, Sink, csv_sink};

/// What is done with rows that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnError {
    Stop,
    Reject,
}

/// Keeps them as `basalt load` writes them to a reject file.
struct Bad {
    on_error: OnError,
    rejected: Vec<u8>,
    stopped: Option<BadRow>,
}

impl Refusals for Bad {
    fn report(&mut self, row: BadRow) -> Result<bool> {
        if self.on_error == OnError::Stop {
            self.stopped = Some(row);
            return Ok(false);
        }
        self.rejected.extend_from_slice(format!("# {}\n", row.to_string().replace('\n', " ")).as_bytes());
        self.rejected.extend_from_slice(row.raw.trim_ascii_end());
        self.rejected.push(b'\n');
        Ok(true)
    }
}

/// What became of a file.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    /// Rows as CSV, in the order of the file's columns.
    pub(super) rows: Vec<String>,
    pub(super) rejected: String,
    pub(super) stopped: Option<String>,
}

/// K INTEGER NOT NULL PRIMARY KEY, D DECIMAL(5,2), V VARCHAR.
pub(super) fn target() -> Target {
    let column = |name: &str, sql_type, is_key| TargetColumn {
        name: name.into(),
        sql_type,
        is_key,
        nullable: !is_key,
    };
    Target {
        columns: vec![
            column("K", SqlType::Integer, true),
            column("D", SqlType::Decimal(Some((5, 2))), false),
            column("V", SqlType::Varchar(None), false),
        ],
    }
}

/// Loads a file. Names in messages are without the directory.
pub(super) fn load_file(
    dir: &Path,
    path: &Path,
    target: &Target,
    on_error: OnError,
) -> Result<Loaded, String> {
    let plain = |text: String| text.replace(&format!("{}/", dir.display()), "");
    let mut bad = Bad { on_error, rejected: vec![], stopped: None };
    let run = |bad: &mut Bad| -> Result<Vec<String>> {
        let mut source = open(path, &Options::default(), target, Arc::default())?;
        let mut rows = Vec::new();
        while let Some(batch) = source.next_batch(bad)? {
            let mut out = Vec::new();
            csv_sink(CsvStyle::default(), batch.schema(), &mut out)
                .and_then(|mut sink| sink.batch(&batch))
                .expect("memory");
            rows.extend(String::from_utf8(out).expect("text").lines().skip(1).map(str::to_string));
        }
        Ok(rows)
    };
    let rows = run(&mut bad).map_err(|error| plain(error.sentence()))?;
    let rejected = plain(String::from_utf8_lossy(&bad.rejected).into_owned());
    Ok(Loaded { rows, rejected, stopped: bad.stopped.map(|row| plain(row.to_string())) })
}

fn try_loaded(name: &str, text: &str, target: &Target, on_error: OnError) -> Result<Loaded, String> {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join(name);
    std::fs::write(&path, text).expect("directory is writable");
    load_file(dir.path(), &path, target, on_error)
}

pub(super) fn loaded(name: &str, text: &str, target: &Target, on_error: OnError) -> Loaded {
    try_loaded(name, text, target, on_error).expect("the file can be opened")
}

fn refused(name: &str, text: &str) -> String {
    try_loaded(name, text, &target(), OnError::Reject).expect_err("the file should be refused")
}

#[test]
fn a_header_names_columns_in_any_order() {
    assert_eq!(loaded("a.csv", "v,k\nx,1\ny,2\n", &target(), OnError::Stop).rows, ["x,1", "y,2"]);
}

#[test]
fn without_a_header_fields_go_by_position() {
    assert_eq!(loaded("a.csv", "1,2.5,x\n", &target(), OnError::Stop).rows, ["1,2.50,x"]);
    assert_eq!(loaded("a.tbl", "1|2.5|x|\n2|||\n", &target(), OnError::Stop).rows, ["1,2.50,x", "2,,"]);
    assert_eq!(loaded("a.tsv", "1\t\\N\tx\\ty\n", &target(), OnError::Stop).rows, ["1,,x\ty"]);
}

#[test]
fn a_value_that_is_also_a_name_makes_no_header() {
    assert_eq!(loaded("a.csv", "1,,v\n2,,d\n", &target(), OnError::Stop).rows, ["1,,v", "2,,d"]);
}

#[test]
fn more_rows_than_a_batch_arrive() {
    let text: String = (0..20_000).map(|i| format!("{i},1,v{i}\n")).collect();
    let rows = loaded("a.csv", &text, &target(), OnError::Stop).rows;
    assert_eq!((rows.len(), rows[19_999].as_str()), (20_000, "19999,1.00,v19999"));
}

#[test]
fn a_bad_line_stops_the_load_behind_the_good_ones() {
    let loaded = loaded("a.csv", "k,d,v\n1,1,x\n2,1.234,y\n3,1,z\n", &target(), OnError::Stop);
    assert_eq!(loaded.rows, ["1,1.00,x"]);
    assert_eq!(
        loaded.stopped.as_deref(),
        Some(
            "a.csv, line 3, column D: '1.234' has more than 2 digits behind the point, which DECIMAL(5,2) cannot keep"
        )
    );
}

#[test]
fn bad_lines_are_rejected_as_they_were() {
    let text = "k,d,v\n1,1,x\n,1,y\n3,\"1\"2,z\n4,1\n5,\"a\nb\",w\n6,6,end\n";
    let loaded = loaded("a.csv", text, &target(), OnError::Reject);
    assert_eq!(loaded.rows, ["1,1.00,x", "6,6.00,end"]);
    assert_eq!(
        loaded.rejected,
        "# a.csv, line 3, column K: is NULL, but part of the primary key\n,1,y\n\
         # a.csv, line 4: text follows a closing quote\n3,\"1\"2,z\n\
         # a.csv, line 5: has 2 fields, expected 3\n4,1\n\
         # a.csv, line 6, column D: 'a b' is not a DECIMAL(5,2)\n5,\"a\nb\",w\n"
    );
}

#[test]
fn bytes_that_are_no_text_are_named() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("a.csv");
    std::fs::write(&path, b"1,1,\xff\n2,2,x\n").expect("directory is writable");
    let loaded = load_file(dir.path(), &path, &target(), OnError::Reject).expect("opens");
    assert_eq!(loaded.rows, ["2,2.00,x"]);
    assert!(
        loaded.rejected.starts_with("# a.csv, line 1, column V: is not valid UTF-8\n"),
        "{}",
        loaded.rejected
    );
}

#[test]
fn a_header_that_does_not_fit_is_refused() {
    assert_eq!(
        refused("a.csv", "k,d,vv\n"),
        "a.csv has a column vv, which the table has not; did you mean V? (if its first line is data, say that it has no header)"
    );
    assert_eq!(
        refused("a.csv", "k,K,v\n"),
        "a.csv has the column K twice (if its first line is data, say that it has no header)"
    );
    assert_eq!(
        refused("a.csv", "v,d\nx,1\n"),
        "a.csv has no column K, which is part of the primary key (if its first line is data, say that it has no header)"
    );
    assert_eq!(
        refused("a.dat", ""),
        "cannot tell the format of a.dat by its name; say which it is: csv, tsv, tbl, jsonl, parquet or arrow"
    );
}

#[test]
fn an_empty_file_has_no_rows() {
    for name in ["a.csv", "a.tsv", "a.tbl", "a.jsonl"] {
        assert_eq!(loaded(name, "", &target(), OnError::Stop).rows, Vec::<String>::new(), "{name}");
    }
}
