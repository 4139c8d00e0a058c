// SPDX-License-Identifier: Apache-2.0
//! `basalt sql`: formats, inputs, errors.

use std::io::Read;
use std::process::Stdio;

use crate::program::Place;

const TABLE: &str = "CREATE TABLE t (k INTEGER PRIMARY KEY, d DECIMAL(10,2), v VARCHAR, at DATE);
    UPSERT INTO t VALUES (1, 1.5, 'a,b', DATE '2026-01-31 10:20:30.456'), (2, NULL, NULL, NULL)";

fn printed(format: &str) -> String {
    let place = Place::with(TABLE);
    let ran = place.run(&["sql", "db", "-c", "SELECT * FROM t ORDER BY k", "--format", format]);
    ran.expect_ok();
    ran.out
}

#[test]
fn csv() {
    assert_eq!(printed("csv"), "K,D,V,AT\n1,1.50,\"a,b\",2026-01-31 10:20:30.456\n2,,,\n");
}

#[test]
fn tsv() {
    assert_eq!(printed("tsv"), "K\tD\tV\tAT\n1\t1.50\ta,b\t2026-01-31 10:20:30.456\n2\t\t\t\n");
}

#[test]
fn json_lines() {
    let expected = "{\"K\":1,\"D\":1.50,\"V\":\"a,b\",\"AT\":\"2026-01-31 10:20:30.456\"}\n\
                    {\"K\":2,\"D\":null,\"V\":null,\"AT\":null}\n";
    assert_eq!(printed("jsonl"), expected);
}

#[test]
fn a_null_without_a_type_is_a_null_in_every_format() {
    let place = Place::with(TABLE);
    let expected = [
        ("csv", "A,B\n,1\n"),
        ("tsv", "A\tB\n\t1\n"),
        ("jsonl", "{\"A\":null,\"B\":1}\n"),
        ("markdown", "| A | B |\n|---|---:|\n|  | 1 |\n"),
    ];
    for (format, expected) in expected {
        let ran = place.run(&["sql", "db", "-c", "SELECT NULL AS a, 1 AS b", "--format", format]);
        ran.expect_ok();
        assert_eq!(ran.out, expected, "{format}");
    }
}

#[test]
fn json() {
    let value: serde_json::Value = serde_json::from_str(&printed("json")).expect("valid JSON");
    assert_eq!(value.as_array().map(Vec::len), Some(2));
}

#[test]
fn plans_are_json_where_results_are() {
    let place = Place::with(TABLE);
    for sql in
        ["EXPLAIN SELECT * FROM t", "EXPLAIN ANALYZE SELECT * FROM t", "EXPLAIN FORMAT JSON SELECT * FROM t"]
    {
        let ran = place.run(&["sql", "db", "-c", sql, "--format", "json"]);
        ran.expect_ok();
        let plan: serde_json::Value = serde_json::from_str(&ran.out).expect("valid JSON");
        assert_eq!(plan["plan"]["operator"], "BasaltScan", "{sql}: {}", ran.out);
        assert_eq!(plan["plan"]["metrics"].is_object(), sql.contains("ANALYZE"), "{sql}: {}", ran.out);
    }
}

#[test]
fn markdown() {
    assert!(printed("markdown").starts_with("| K | D | V | AT |\n|---:|---:|---|---|\n| 1 | 1.50 | a,b |"));
}

#[test]
fn table() {
    let expected = "\
┌───┬──────┬──────┬─────────────────────────┐
│ K │  D   │  V   │           AT            │
├───┼──────┼──────┼─────────────────────────┤
│ 1 │ 1.50 │ a,b  │ 2026-01-31 10:20:30.456 │
│ 2 │ NULL │ NULL │ NULL                    │
└───┴──────┴──────┴─────────────────────────┘
";
    assert_eq!(printed("table"), expected);
}

#[test]
fn arrow_is_a_stream_that_reads_back() {
    let place = Place::with(TABLE);
    let output =
        place.command(&["sql", "db", "-c", "SELECT k FROM t", "--format", "arrow"]).output().expect("runs");
    let reader = arrow::ipc::reader::StreamReader::try_new(&output.stdout[..], None).expect("a stream");
    assert_eq!(reader.map(|batch| batch.expect("sound").num_rows()).sum::<usize>(), 2);
}

#[test]
fn statements_come_from_options_a_file_or_the_input() {
    let place = Place::new();
    let two = [
        "sql",
        "db",
        "-c",
        "CREATE TABLE t (k INTEGER PRIMARY KEY)",
        "-c",
        "UPSERT INTO t VALUES (1); SELECT * FROM t",
    ];
    place.run(&two).expect_ok();
    place
        .write("more.sql", "-- two rows more\nUPSERT INTO t VALUES (2),\n (3);\nSELECT COUNT(*) AS n FROM t");
    let from_file = place.run(&["sql", "db", "-f", "more.sql", "--format", "csv"]);
    assert_eq!((from_file.code, from_file.out.as_str()), (0, "N\n3\n"), "{from_file:?}");
    let from_input = place.run_with(&["sql", "db", "--format", "csv"], "SELECT 1 AS a;\nSELECT 2 AS b;");
    assert_eq!((from_input.code, from_input.out.as_str()), (0, "A\n1\nB\n2\n"), "{from_input:?}");
}

#[test]
fn an_error_points_at_its_place_and_stops_the_rest() {
    let place = Place::with(TABLE);
    place.write("bad.sql", "SELECT 1 AS a;\n\nSELECT kk FROM t;\nSELECT 2 AS b;\n");
    let ran = place.run(&["sql", "db", "-f", "bad.sql", "--format", "csv"]);
    ran.expect_error(
        1,
        &["bad.sql, statement at line 3", "KK", "did you mean K?", "line 3: SELECT kk FROM t;\n"],
    );
    assert_eq!(ran.out, "A\n1\n");
}

#[test]
fn an_unknown_table_names_the_nearest() {
    let place = Place::with("CREATE TABLE customer (k INTEGER PRIMARY KEY)");
    place.sql("SELECT * FROM custmer").expect_error(1, &["CUSTMER", "CUSTOMER"]);
}

#[test]
fn a_wrong_command_line_is_2() {
    let place = Place::new();
    place.run(&["sql"]).expect_error(2, &["DB"]);
    place.run(&["sql", "db", "--format", "xml"]).expect_error(2, &["xml"]);
    place.run(&["laod"]).expect_error(2, &["did you mean load?"]);
    place.run(&["db", "sql", "db"]).expect_error(2, &["before a command"]);
    assert!(!place.path("db").exists(), "nothing was made");
}

#[test]
fn timing_goes_to_stderr_one_line_a_statement() {
    let place = Place::new();
    let ran = place.run(&["sql", "db", "-c", "SELECT 1; SELECT 2", "--format", "csv", "--timing"]);
    let times = ran.err.lines().filter(|line| line.starts_with("Time: ")).count();
    assert_eq!((ran.code, times), (0, 2), "{ran:?}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let place = Place::new();
    let series =
        "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 200000) SELECT n FROM s";
    let mut child = place
        .command(&["sql", "db", "-c", series, "--format", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut first = [0; 4];
    child.stdout.take().expect("piped").read_exact(&mut first).expect("some rows");
    let output = child.wait_with_output().expect("the program ends");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), err.contains("error")), (Some(0), false), "{err}");
}

#[test]
fn doubling_statements_run_again_and_again() {
    let place = Place::with(
        "create table test (pk integer primary key, v1 float, v2 float);
         create sequence pkey;
         upsert into test values (next value for pkey, rand(), rand())",
    );
    for round in 1..=12 {
        place.sql("upsert into test select next value for pkey, rand(), rand() from test").expect_ok();
        assert_eq!(
            place.rows("select count(*), count(distinct pk) from test"),
            [format!("{0},{0}", 1 << round)]
        );
    }
}
