// SPDX-License-Identifier: Apache-2.0
use super::*;

fn check(name: &str, text: &str, expected: &str) {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join(name);
    std::fs::write(&path, text).expect("directory is writable");
    let shown = match infer(&path, &Options::default()) {
        Ok(columns) => columns
            .iter()
            .map(|column| format!("{} {}", column.name, column.sql_type))
            .collect::<Vec<_>>()
            .join(", "),
        Err(error) => error.sentence().replace(&format!("{}/", dir.path().display()), ""),
    };
    assert_eq!(shown, expected);
}

#[test]
fn text_gets_the_narrowest_types() {
    check(
        "a.csv",
        "id,price,on,since,name,code\n1,2.5,true,2026-01-31,x,007\n2,3,false,,1,008\n",
        "id BIGINT, price DOUBLE, on BOOLEAN, since DATE, name VARCHAR, code VARCHAR",
    );
}

#[test]
fn a_first_line_with_numbers_is_no_header() {
    check("a.csv", "1,x\n2,y\n", "C1 BIGINT, C2 VARCHAR");
}

#[test]
fn json_types_count_for_something() {
    check(
        "a.jsonl",
        "{\"n\":1,\"s\":\"1\",\"d\":\"2026-01-01\"}\n{\"n\":1.5,\"t\":null}\n",
        "n DOUBLE, s VARCHAR, d DATE, t VARCHAR",
    );
}

#[test]
fn columns_of_a_tbl_file_are_numbered() {
    check("region.tbl", "0|AFRICA|x|\n", "C1 BIGINT, C2 VARCHAR, C3 VARCHAR");
}

#[test]
fn nothing_is_not_a_table() {
    check("a.csv", "", "a.csv has no columns");
}
