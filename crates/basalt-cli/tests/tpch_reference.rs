// SPDX-License-Identifier: Apache-2.0
//! The program's answers over TPC-H against those that DuckDB gave (tests/reference/*.json, recorded by
//! tests/reference/make.py): the questions of the main job, and the 22 queries of the benchmark. All through the command line:
//! generate, load, ask; every question is a process of its own, so every answer comes from a reopened database.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// An average of decimals has six digits after the point in Basalt and is a double in DuckDB.
const FLOAT_TOLERANCE: f64 = 1e-6;

#[test]
fn tables_created_from_parquet_answer_as_duckdb_does() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    generate(dir.path(), "0.01", "lineitem,orders", "parquet");
    for (table, key) in [("lineitem", "l_orderkey,l_linenumber"), ("orders", "o_orderkey")] {
        let file = dir.path().join(format!("{table}.parquet"));
        run(basalt("load").args([&db, Path::new(table), &file]).args(["--create", "--primary-key", key]));
    }
    compare_all(&db, "reference/tpch-sf0.01.json", 21);
}

#[test]
fn tables_loaded_from_tbl_files_answer_as_duckdb_does() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    generate(dir.path(), "0.01", "lineitem,orders", "tbl");
    run(basalt("sql").arg(&db).arg("-f").arg(shared("queries/tpch-tables.sql")));
    for table in ["lineitem", "orders"] {
        let file = dir.path().join(format!("{table}.tbl"));
        run(basalt("load").args([&db, Path::new(table), &file]));
    }
    compare_all(&db, "reference/tpch-sf0.01.json", 21);
}

#[test]
fn all_queries_of_the_benchmark_answer_as_in_duckdb() {
    const KEYS: [(&str, &str); 8] = [
        ("region", "r_regionkey"),
        ("nation", "n_nationkey"),
        ("supplier", "s_suppkey"),
        ("customer", "c_custkey"),
        ("part", "p_partkey"),
        ("partsupp", "ps_partkey,ps_suppkey"),
        ("orders", "o_orderkey"),
        ("lineitem", "l_orderkey,l_linenumber"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    generate(dir.path(), "0.1", &KEYS.map(|(table, _)| table).join(","), "parquet");
    for (table, key) in KEYS {
        let file = dir.path().join(format!("{table}.parquet"));
        run(basalt("load").args([&db, Path::new(table), &file]).args(["--create", "--primary-key", key]));
    }
    compare_all(&db, "reference/tpch-queries-sf0.1.json", 22);
}

fn generate(dir: &Path, scale: &str, tables: &str, format: &str) {
    run(basalt("tpch").arg(dir).args(["--sf", scale, "--tables", tables, "--format", format]));
}

/// Compares with all answers of a record, which are `least` at least.
fn compare_all(db: &Path, record: &str, least: usize) {
    let record = std::fs::read_to_string(shared(record)).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let answers = record["answers"].as_array().unwrap();
    assert!(answers.len() >= least, "the record holds {} answers", answers.len());
    let differences: Vec<String> = answers.iter().filter_map(|answer| difference(db, answer)).collect();
    assert!(
        differences.is_empty(),
        "{} of {} answers differ:\n{}",
        differences.len(),
        answers.len(),
        differences.join("\n")
    );
}

/// Asks the question of a recorded answer; `None` if Basalt answers the same.
fn difference(db: &Path, answer: &Value) -> Option<String> {
    let sql = answer["sql"].as_str().unwrap();
    let output = run(basalt("sql").arg(db).args(["--format", "tsv", "-c", sql]));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    let columns: Vec<String> = lines.next().unwrap_or_default().split('\t').map(str::to_lowercase).collect();
    let rows: Vec<Vec<String>> = lines.map(|line| line.split('\t').map(canonical).collect()).collect();
    let problem = first_problem(answer, &columns, &rows)?;
    Some(format!("{}: {problem}\n    {sql}", answer["name"].as_str().unwrap()))
}

fn first_problem(answer: &Value, columns: &[String], rows: &[Vec<String>]) -> Option<String> {
    let recorded: Vec<&str> =
        answer["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    if columns != recorded {
        return Some(format!("columns are {columns:?}, expected {recorded:?}"));
    }
    if rows.len() as u64 != answer["row_count"].as_u64().unwrap() {
        return Some(format!("{} rows, expected {}", rows.len(), answer["row_count"]));
    }
    if let Some(expected) = answer["rows"].as_array() {
        return expected.iter().zip(rows).find_map(|(expected, row)| row_problem(expected, row));
    }
    let ordered_by = answer["ordered_by"].as_str()?;
    let at = columns.iter().position(|name| name == ordered_by).unwrap();
    let rows_digest = rows.iter().fold(0u64, |sum, row| sum.wrapping_add(fnv1a(&row.join("|"))));
    let order: String = rows.iter().map(|row| row[at].clone() + "\n").collect();
    digest_problem("rows", rows_digest, &answer["rows_digest"])
        .or_else(|| digest_problem("order", fnv1a(&order), &answer["order_digest"]))
}

fn row_problem(expected: &Value, row: &[String]) -> Option<String> {
    let expected = expected.as_array().unwrap();
    let same = expected.len() == row.len()
        && expected.iter().zip(row).all(|(expected, value)| same(expected, value));
    (!same).then(|| format!("row {row:?}, expected {expected:?}"))
}

fn same(expected: &Value, value: &str) -> bool {
    match expected {
        Value::Null => value.is_empty(),
        Value::String(text) => text == value,
        Value::Number(number) => {
            let expected = number.as_f64().unwrap();
            value
                .parse::<f64>()
                .is_ok_and(|value| (value - expected).abs() <= FLOAT_TOLERANCE * expected.abs().max(1.0))
        }
        other => panic!("make.py writes no {other}"),
    }
}

fn digest_problem(what: &str, digest: u64, recorded: &Value) -> Option<String> {
    let digest = format!("{digest:016x}");
    (recorded != digest.as_str()).then(|| format!("digest of the {what} is {digest}, expected {recorded}"))
}

/// The form of make.py: decimals in their shortest form, midnight as a date.
fn canonical(value: &str) -> String {
    if let Some(date) = value.strip_suffix(" 00:00:00.000") {
        return date.to_string();
    }
    let is_decimal =
        value.contains('.') && value.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
    if is_decimal { value.trim_end_matches('0').trim_end_matches('.').to_string() } else { value.to_string() }
}

/// 64-bit FNV-1a, as in make.py.
fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn basalt(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_basalt"));
    program.arg(command);
    program
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{error}", output.status);
    output
}

/// A file of the repository's `tests` folder.
fn shared(path: &str) -> PathBuf {
    Path::new("../../tests").join(path)
}
