// SPDX-License-Identifier: Apache-2.0
//! `basalt load` and `basalt tpch`.

use crate::program::Place;

const ITEMS: &str = "CREATE TABLE item (id INTEGER PRIMARY KEY, price DECIMAL(6,2), name VARCHAR(10))";

fn items() -> Vec<String> {
    vec!["1,1.50,lamp".into(), "2,,chair".into()]
}

#[test]
fn every_text_format_loads_the_same_rows() {
    for (name, text) in [
        ("a.csv", "name,id,price\nlamp,1,1.5\nchair,2,\n"),
        ("b.csv", "1,1.5,lamp\n2,,chair\n"),
        ("a.tsv", "id\tprice\tname\n1\t1.5\tlamp\n2\t\\N\tchair\n"),
        ("a.tbl", "1|1.5|lamp|\n2||chair|\n"),
        ("a.jsonl", "{\"ID\":1,\"PRICE\":1.50,\"NAME\":\"lamp\"}\n{\"name\":\"chair\",\"id\":2}\n"),
    ] {
        let place = Place::with(ITEMS);
        place.write(name, text);
        place.run(&["load", "db", "item", name]).expect_ok();
        assert_eq!(place.rows("SELECT * FROM item ORDER BY id"), items(), "{name}");
    }
}

#[test]
fn what_sql_prints_loads_again() {
    let source = Place::with(ITEMS);
    source.sql("UPSERT INTO item VALUES (1, 1.5, 'lamp'), (2, NULL, 'chair')").expect_ok();
    for (format, name) in [("csv", "a.csv"), ("tsv", "a.tsv"), ("jsonl", "a.jsonl"), ("arrow", "a.arrow")] {
        let output = source
            .command(&["sql", "db", "-c", "SELECT * FROM item", "--format", format])
            .output()
            .expect("runs");
        let place = Place::with(ITEMS);
        place.write(name, output.stdout);
        place.run(&["load", "db", "item", name]).expect_ok();
        assert_eq!(place.rows("SELECT * FROM item ORDER BY id"), items(), "{format}");
    }
}

#[test]
fn the_standard_input_is_a_file_too() {
    let place = Place::with(ITEMS);
    place.run_with(&["load", "db", "item", "-", "--format", "csv"], "1,1.5,lamp\n2,,chair\n").expect_ok();
    assert_eq!(place.rows("SELECT * FROM item ORDER BY id"), items());
}

#[test]
fn create_takes_names_and_types_from_the_file() {
    let place = Place::new();
    place.write("shop.csv", "id,since,price,name\n1,2026-01-31,1.5,lamp\n2,2026-02-01,2,chair\n");
    let without_key = place.run(&["load", "db", "shop", "shop.csv", "--create"]);
    without_key.expect_error(2, &["--primary-key", "ID, SINCE, PRICE, NAME"]);
    assert!(!place.path("db").exists(), "nothing was made");
    place.run(&["load", "db", "shop", "shop.csv", "--create", "--primary-key", "id"]).expect_ok();
    let rows = place.rows("SELECT id + 1, since, price * 2, UPPER(name) FROM shop ORDER BY id");
    assert_eq!(rows, ["2,2026-01-31 00:00:00.000,3.0,LAMP", "3,2026-02-01 00:00:00.000,4.0,CHAIR"]);
    place
        .run(&["load", "db", "shop", "shop.csv", "--create", "--primary-key", "id"])
        .expect_error(1, &["SHOP", "exists"]);
    place
        .run(&["load", "db", "other", "shop.csv", "--create", "--primary-key", "no"])
        .expect_error(1, &["primary key", "ID, SINCE, PRICE, NAME"]);
}

const BAD: &str = "id,price,name\n1,1.50,lamp\n2,cheap,chair\n3,3,\"sofa, red\"\n,4,table\n5,5\n6,6,a very long name\n7,7,desk\n";

#[test]
fn a_bad_line_stops_the_load_and_what_stood_before_is_kept() {
    let place = Place::with(ITEMS);
    place.write("bad.csv", BAD);
    place.run(&["load", "db", "item", "bad.csv"]).expect_error(
        1,
        &["bad.csv, line 3, column PRICE: 'cheap' is not a DECIMAL(6,2)", "the row before it was loaded"],
    );
    assert_eq!(place.rows("SELECT id FROM item"), ["1"]);
}

#[test]
fn bad_lines_are_skipped_and_counted() {
    let place = Place::with(ITEMS);
    place.write("bad.csv", BAD);
    let ran = place.run(&["load", "db", "item", "bad.csv", "--on-error", "skip"]);
    ran.expect_ok();
    for words in ["3 rows", "4 left out", "bad.csv, line 5, column ID: is NULL, but part of the primary key"]
    {
        assert!(ran.err.contains(words), "{words:?} is missing in {ran:?}");
    }
    assert_eq!(place.rows("SELECT id, name FROM item ORDER BY id"), ["1,lamp", "3,\"sofa, red\"", "7,desk"]);
}

#[test]
fn rejected_lines_are_kept_with_their_reasons() {
    let place = Place::with(ITEMS);
    place.write("bad.csv", BAD);
    place.run(&["load", "db", "item", "bad.csv", "--on-error", "reject=rejected.csv", "--quiet"]).expect_ok();
    assert_eq!(
        place.read("rejected.csv"),
        "# bad.csv, line 3, column PRICE: 'cheap' is not a DECIMAL(6,2)\n2,cheap,chair\n\
         # bad.csv, line 5, column ID: is NULL, but part of the primary key\n,4,table\n\
         # bad.csv, line 6: has 2 fields, expected 3\n5,5\n\
         # bad.csv, line 7, column NAME: 'a very long name' has 16 characters, VARCHAR(10) takes 10\n6,6,a very long name\n"
    );
    assert_eq!(place.rows("SELECT COUNT(*) FROM item"), ["3"]);
}

#[test]
fn a_file_that_does_not_fit_changes_nothing() {
    let place = Place::with(ITEMS);
    place.write("a.csv", "id,pryce\n1,2\n");
    place.run(&["load", "db", "item", "a.csv"]).expect_error(1, &["pryce", "did you mean PRICE?"]);
    place.run(&["load", "db", "itme", "a.csv"]).expect_error(1, &["itme", "did you mean ITEM?"]);
    place.run(&["load", "db", "item", "none.csv"]).expect_error(1, &["cannot open none.csv"]);
    assert_eq!(place.rows("SELECT COUNT(*) FROM item"), ["0"]);
}

#[test]
fn a_load_over_rows_replaces_them_whole() {
    let place = Place::with(ITEMS);
    place.sql("UPSERT INTO item VALUES (1, 9, 'old'), (3, 3, 'kept')").expect_ok();
    place.write("a.csv", "1,,lamp\n2,2,\n");
    place.run(&["load", "db", "item", "a.csv"]).expect_ok();
    assert_eq!(place.rows("SELECT * FROM item ORDER BY id"), ["1,,lamp", "2,2.00,", "3,3.00,kept"]);
}

#[test]
fn tpch_tables_load_from_every_format_with_the_same_answer() {
    let place = Place::new();
    let mut answers = Vec::new();
    for format in ["parquet", "csv", "tbl"] {
        let dir = format!("files-{format}");
        let tables = ["tpch", &dir, "--sf", "0.002", "--tables", "lineitem", "--format", format, "--quiet"];
        place.run(&tables).expect_ok();
        let file = format!("{dir}/lineitem.{format}");
        let table = format!("lineitem_{format}");
        let key = "l_orderkey,l_linenumber";
        place.run(&["load", "db", &table, &file, "--create", "--primary-key", key, "--quiet"]).expect_ok();
        answers.push(place.rows(&format!(
            "SELECT COUNT(*), SUM(CAST(l_quantity AS DECIMAL(12,2))), MIN(l_shipdate), MAX(l_comment) FROM {table}"
        )));
    }
    assert!(answers[0][0].starts_with("11957,"), "{answers:?}");
    assert_eq!(answers[1], answers[0]);
    assert_eq!(answers[2], answers[0]);
}
