// SPDX-License-Identifier: Apache-2.0
//! A disk that fills up while the program loads: an error, not a loss. Once there is space the database goes on.
//!
//! The disk is a small file system in memory, mounted in a namespace of its own (`unshare`), where the machine
//! allows that; and everywhere a limit on the size of a file, which ends writes just as suddenly.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const ROWS_PER_STATEMENT: u64 = 500;
const STATEMENTS: u64 = 600;
/// Arguments: program, directory of the disk, file of statements, directory for results.
const FULL_FILE_SYSTEM: &str = r#"
    mount -t tmpfs -o size=24m basalt "$2" || exit 90
    head -c 6M /dev/zero > "$2/ballast"
    "$1" sql "$2/db" --quiet -c "CREATE TABLE t (k BIGINT PRIMARY KEY, v VARCHAR)" || exit 91
    "$1" sql "$2/db" --quiet --format tsv --memory 32MB -f "$3" > "$4/acknowledged" 2> "$4/error"
    echo $? > "$4/load"
    "$1" sql "$2/db" --quiet --format tsv -c "SELECT COUNT(*) AS n, MAX(k) AS last FROM t" > "$4/found-when-full" 2>&1
    rm "$2/ballast"
    "$1" sql "$2/db" --quiet --format tsv -c "SELECT COUNT(*) AS n, MAX(k) AS last FROM t" > "$4/found"
    "$1" sql "$2/db" --quiet -c "UPSERT INTO t VALUES (-1, 'there is space again')" || exit 92
    "$1" check "$2/db" || exit 93
"#;
/// The same arguments. 1,024 blocks of 512 or 1,024 bytes, as the shell counts.
const LIMITED_FILES: &str = r#"
    "$1" sql "$2/db" --quiet -c "CREATE TABLE t (k BIGINT PRIMARY KEY, v VARCHAR)" || exit 91
    (trap '' XFSZ; ulimit -f 16384
     "$1" sql "$2/db" --quiet --format tsv --memory 256MB -f "$3" > "$4/acknowledged" 2> "$4/error"
     echo $? > "$4/load")
    "$1" sql "$2/db" --quiet --format tsv -c "SELECT COUNT(*) AS n, MAX(k) AS last FROM t" > "$4/found"
    "$1" sql "$2/db" --quiet -c "UPSERT INTO t VALUES (-1, 'no limit any more')" || exit 92
    "$1" check "$2/db" || exit 93
"#;

#[test]
fn a_full_file_system_is_an_error_and_nothing_acknowledged_is_lost() {
    let namespace = ["--user", "--map-root-user", "--mount"];
    let allowed =
        Command::new("unshare").args(namespace).args(["mount", "-t", "tmpfs", "basalt", "/mnt"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("this machine allows no mounts in a namespace; only the limit on file sizes is tested");
        return;
    }
    let mut shell = Command::new("unshare");
    shell.args(namespace).arg("sh");
    let results = fill(shell, FULL_FILE_SYSTEM);
    let error = read(results.path(), "error");
    assert!(error.contains("no space left"), "the error does not say that the disk is full: {error}");
    assert_found(results.path(), "found-when-full");
    assert_found(results.path(), "found");
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_nothing_acknowledged_is_lost() {
    let results = fill(Command::new("sh"), LIMITED_FILES);
    assert_found(results.path(), "found");
}

/// Runs the script; its results lie in the directory returned.
fn fill(mut shell: Command, script: &str) -> tempfile::TempDir {
    let (disk, results) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let statements = results.path().join("statements.sql");
    std::fs::write(&statements, all_statements()).unwrap();
    let program = env!("CARGO_BIN_EXE_basalt");
    let output = shell
        .args(["-c", script, "sh", program])
        .args([disk.path(), &statements, results.path()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}{}", output.status, String::from_utf8_lossy(&output.stdout));
    let load = read(results.path(), "load");
    assert_ne!(load.trim(), "0", "the disk never filled up; the test proves nothing");
    results
}

/// The rows found are those of the acknowledged statements, and of at most one more: the one that failed may
/// have happened, but not in part.
fn assert_found(results: &Path, file: &str) {
    let acknowledged = read(results, "acknowledged");
    let acknowledged = acknowledged.lines().filter_map(|line| line.parse::<u64>().ok()).max().unwrap_or(0);
    assert!(acknowledged > 10, "only {acknowledged} statements before the disk was full");
    let text = read(results, file);
    let numbers = text.lines().nth(1).and_then(|line| line.split_once('\t'));
    let Some((rows, last)) = numbers else { panic!("{file}: no rows but: {text}") };
    let (rows, last): (u64, u64) = (rows.parse().unwrap(), last.parse().unwrap());
    assert_eq!(rows, last + 1, "{file}: a statement is there in part");
    let whole = [acknowledged, acknowledged + 1].map(|statements| statements * ROWS_PER_STATEMENT);
    assert!(whole.contains(&rows), "{file}: {rows} rows after {acknowledged} acknowledged statements");
}

/// Upserts of rows 0, 1, 2, … whose text does not compress, each acknowledged by a SELECT of its number.
fn all_statements() -> String {
    let mut text = String::new();
    let mut noise = 1u64;
    for statement in 0..STATEMENTS {
        text.push_str("UPSERT INTO t VALUES ");
        for k in statement * ROWS_PER_STATEMENT..(statement + 1) * ROWS_PER_STATEMENT {
            write!(text, "({k},'").unwrap();
            for _ in 0..8 {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                write!(text, "{:016x}", noise ^ (noise >> 29)).unwrap();
            }
            text.push_str("'),");
        }
        text.pop();
        writeln!(text, ";\nSELECT {} AS acknowledged;", statement + 1).unwrap();
    }
    text
}

fn read(results: &Path, file: &str) -> String {
    std::fs::read_to_string(results.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}
