// SPDX-License-Identifier: Apache-2.0
//! Databases that earlier releases wrote are opened, whole: manifest, log, store files of every encoding, catalog, indexes, sequences.
//!
//! ```text
//! testdata/golden/<release>/db            as a kill left it: most rows in files, the last ones in the log
//!                           questions.sql what is asked
//!                           answers.csv   what that release answered
//! ```
//!
//! `BASALT_GOLDEN=<release> cargo test --release --workspace --test cli golden` writes the folder of a release with the program at hand: once, when it is
//! released. What is there is never written again.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::program::Place;

const FOLDER: &str = "testdata/golden";
const QUESTIONS: &str = "questions.sql";
const ANSWERS: &str = "answers.csv";
/// Block encodings and codecs of the tables that have files.
const FILES: [(&str, &str); 8] = [
    ("NONE", "NONE"),
    ("PREFIX", "SNAPPY"),
    ("DIFF", "LZ4"),
    ("FAST_DIFF", "ZSTD"),
    ("ROW_INDEX_V1", "GZ"),
    ("COLUMNAR", "NONE"),
    ("COLUMNAR", "ZSTD"),
    ("COLUMNAR", "LZ4"),
];

#[test]
fn golden_databases_of_every_release_answer_as_they_did() {
    if let Ok(release) = std::env::var("BASALT_GOLDEN") {
        write(&Path::new(FOLDER).join(release));
    }
    let releases = fs::read_dir(FOLDER).expect("there are releases").flatten();
    let mut seen = 0;
    for release in releases.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let place = Place::new();
        copy(&release.join("db"), &place.path("db"));
        // Before anything opens it for writing.
        place.run(&["check", "db", "--quiet"]).expect_ok();
        let answers = ask(&place, &release);
        let expected = fs::read_to_string(release.join(ANSWERS)).expect("recorded answers");
        assert_eq!(answers, expected, "{} is read otherwise than it was", release.display());
        // Written to, and opened again.
        place.sql("UPSERT INTO kinds (k) VALUES (1000); CHECK INDEX by_text ON kinds").expect_ok();
        assert_eq!(place.rows("SELECT COUNT(*) FROM kinds WHERE k = 1000"), ["1"]);
        place.run(&["check", "db", "--quiet"]).expect_ok();
        seen += 1;
    }
    assert!(seen > 0, "no release has left a database in {FOLDER}");
}

fn ask(place: &Place, release: &Path) -> String {
    let questions = fs::canonicalize(release.join(QUESTIONS)).expect("recorded questions");
    let questions = questions.to_str().expect("a path of text");
    let ran = place.run(&["sql", "db", "-f", questions, "--format", "csv", "--quiet"]);
    ran.expect_ok();
    ran.out
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("writable");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().expect("it has one").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("copies")),
        }
    }
}

/// Tables with rows in files; the same of every encoding.
fn table_of(number: usize) -> String {
    let (encoding, codec) = FILES[number];
    format!(
        "CREATE TABLE t{number} (a VARCHAR NOT NULL, b BIGINT NOT NULL, n INTEGER, d DECIMAL(12,3), f DOUBLE, s VARCHAR, t TIMESTAMP \
         CONSTRAINT pk PRIMARY KEY (a, b DESC)) DATA_BLOCK_ENCODING='{encoding}', COMPRESSION='{codec}', VERSIONS=2;"
    )
}

const KINDS: &str = "CREATE TABLE kinds (k INTEGER PRIMARY KEY, ti TINYINT, si SMALLINT, bi BIGINT, ui UNSIGNED_INT, ul UNSIGNED_LONG, \
    f FLOAT, d DOUBLE, dp DECIMAL(18,4), db DECIMAL, bo BOOLEAN, dt DATE, tm TIME, ts TIMESTAMP, c CHAR(5), v VARCHAR, bn BINARY(4), vb VARBINARY, \
    x VARCHAR DEFAULT 'unsaid');
    CREATE TABLE lists (k VARCHAR PRIMARY KEY, i INTEGER[], t VARCHAR ARRAY);
    CREATE SEQUENCE numbers START WITH 10 INCREMENT BY 5;
    CREATE VIEW fives AS SELECT * FROM kinds WHERE ti = 5;
    CREATE TABLE narrow (PRIMARY KEY (k)) AS SELECT 1 AS k, 'one' AS v;";

/// One row of every kind of value, written with these numbers.
fn kinds(key: usize) -> String {
    let sign = if key.is_multiple_of(2) { "" } else { "-" };
    format!(
        "UPSERT INTO kinds VALUES ({key}, {}, {sign}{key}00, {sign}{key}000000000000, {key}, {key}000000, {sign}{key}.5, {sign}{key}.25, {sign}{key}.1234, \
         {sign}{key}.00000000000000000000123, {}, DATE '2026-01-{:02}', TIME '2026-01-01 10:20:{:02}', TIMESTAMP '2026-02-03 04:05:06.{key:09}', \
         'c{}', 'text {key}', ENCODE_BINARY_PLACE, NULL, NULL);",
        key % 7,
        key.is_multiple_of(2),
        key % 28 + 1,
        key % 60,
        key % 10,
    )
    .replace("ENCODE_BINARY_PLACE", "DECODE('0a0b0c0d', 'HEX')")
}

fn rows() -> String {
    let mut rows = String::from("a,b,n,d,f,s,t\n");
    for row in 0..300_u32 {
        let s = if row % 5 == 0 { String::new() } else { format!("text of {}", row % 17) };
        let line = format!(
            "group {:02},{},{},{}.{:03},{}.5,{s},2026-03-{:02} 01:02:03.{:09}\n",
            row / 25,
            row % 25,
            i64::from(row) * 7919 - 50_000,
            row * 13,
            row % 1000,
            row,
            row % 28 + 1,
            row * 1_000_003,
        );
        rows.push_str(&line);
    }
    rows
}

fn questions() -> String {
    let mut questions = vec![
        "SELECT * FROM kinds ORDER BY k".to_owned(),
        "SELECT k, v FROM kinds WHERE v = 'text 7'".to_owned(),
        "SELECT * FROM fives ORDER BY k".to_owned(),
        "SELECT k, i[1], ARRAY_TO_STRING(t, '-', 'none') FROM lists ORDER BY k".to_owned(),
        "SELECT * FROM narrow".to_owned(),
        "SELECT table_name, column_name, data_type FROM INFORMATION_SCHEMA.COLUMNS WHERE table_schema IS NULL OR table_schema = '' ORDER BY table_name, column_name".to_owned(),
        "SELECT table_name, index_name, state FROM INFORMATION_SCHEMA.INDEXES ORDER BY index_name".to_owned(),
        "SELECT NEXT VALUE FOR numbers > 14 FROM narrow".to_owned(),
    ];
    for number in 0..FILES.len() {
        questions.push(format!("SELECT * FROM t{number} ORDER BY a, b DESC"));
        questions.push(format!("SELECT COUNT(*), SUM(n), SUM(d), MAX(s), MIN(t) FROM t{number} WHERE b > 3"));
    }
    questions.iter().map(|question| format!("{question};\n")).collect()
}

/// Writes the folder of a release, which must not be there.
fn write(release: &Path) {
    fs::create_dir(release).expect("a release is written once");
    let place = Place::new();
    place.write("rows.csv", rows());
    let tables: String = (0..FILES.len()).map(table_of).collect();
    place.sql(&format!("{KINDS} {tables}")).expect_ok();
    for number in 0..FILES.len() {
        place.run(&["load", "db", &format!("t{number}"), "rows.csv", "--quiet"]).expect_ok();
    }
    let some: String = (1..40).map(kinds).collect();
    // Rows that come back from a file lie in files.
    place.sql(&format!("{some} COPY kinds TO 'kinds.arrow'; DELETE FROM kinds")).expect_ok();
    place.run(&["load", "db", "kinds", "kinds.arrow", "--quiet"]).expect_ok();
    place
        .sql("CREATE INDEX by_text ON kinds (v) INCLUDE (bi); CREATE LOCAL INDEX by_number ON t6 (n)")
        .expect_ok();
    place
        .sql("UPSERT INTO lists VALUES ('a', ARRAY[1,2,3], ARRAY['x','y']), ('b', ARRAY[-1], ARRAY['z'])")
        .expect_ok();
    leave_in_the_log(&place);
    copy(&place.path("db"), &release.join("db"));
    let _ = fs::remove_file(lock_of(release));
    fs::write(release.join(QUESTIONS), questions()).expect("writable");
    fs::write(release.join(ANSWERS), ask(&place, release)).expect("writable");
}

fn lock_of(release: &Path) -> PathBuf {
    release.join("db/LOCK")
}

/// Changes that no file has when the program is killed.
fn leave_in_the_log(place: &Place) {
    let mut program = place
        .command(&["sql", "db", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = program.stdin.take().expect("piped");
    let mut statements = String::new();
    for number in 0..FILES.len() {
        statements += &format!("DELETE FROM t{number} WHERE a = 'group 03';\n");
        statements += &format!("UPSERT INTO t{number} (a, b, s) VALUES ('group 00', 3, 'changed');\n");
    }
    statements += "DELETE FROM kinds WHERE k = 3;\nUPSERT INTO kinds (k, v) VALUES (7, 'text seven'), (50, 'text 7');\n";
    statements += "SELECT NEXT VALUE FOR numbers AS n FROM narrow;\n";
    stdin.write_all(statements.as_bytes()).expect("it listens");
    let mut lines = BufReader::new(program.stdout.take().expect("piped")).lines();
    assert_eq!(lines.next().expect("an answer").expect("text"), "N");
    program.kill().expect("it runs");
    program.wait().expect("it ends");
}
