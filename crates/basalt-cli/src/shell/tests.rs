// SPDX-License-Identifier: Apache-2.0
use super::complete::{TableNames, candidates};
use super::edit::is_complete;
use super::highlight::{Kind, pieces};

fn names() -> Vec<TableNames> {
    let table = |table: &str, columns: &[&str]| TableNames {
        table: table.into(),
        columns: columns.iter().map(|column| column.to_string()).collect(),
    };
    vec![table("ORDERS", &["O_ORDERKEY", "O_CUSTKEY"]), table("LINEITEM", &["L_ORDERKEY", "lower"])]
}

/// What Tab offers at the `|`.
fn offered(marked: &str) -> String {
    let (before, after) = marked.split_once('|').expect("a cursor");
    let (start, words) = candidates(before, &format!("{before}{after}"), &names());
    format!("{}[{}]", &before[..start], words.join(" "))
}

#[test]
fn words_of_sql_come_in_the_case_that_is_typed() {
    assert_eq!(offered("SEL|"), "[SELECT]");
    assert_eq!(offered("sel|"), "[select]");
    assert_eq!(offered("select sum|"), "select [sum(]");
}

#[test]
fn tables_follow_from() {
    assert_eq!(offered("select * from |"), "select * from [LINEITEM ORDERS]");
    assert_eq!(offered("select * from o|"), "select * from [orders]");
    assert_eq!(offered("select * from orders, l|"), "select * from orders, [lineitem]");
}

#[test]
fn columns_are_those_of_the_tables_in_the_statement() {
    assert_eq!(
        offered("select | from orders"),
        "select [O_CUSTKEY O_ORDERKEY] from orders".replace(" from orders", "")
    );
    assert_eq!(offered("select o_custkey, o_o| from orders"), "select o_custkey, [o_orderkey]");
    assert_eq!(
        offered("select 1 from lineitem where lineitem.|"),
        "select 1 from lineitem where lineitem.[L_ORDERKEY lower]"
    );
    assert_eq!(offered("select o_c|"), "select [o_custkey]");
}

#[test]
fn commands_are_completed_with_their_arguments() {
    assert_eq!(offered(".ti|"), "[.timer]");
    assert_eq!(offered("\\ti|"), "[\\timing]");
    assert_eq!(offered(".mode j|"), ".mode [json jsonl]");
    assert_eq!(offered(".schema or|"), ".schema [orders]");
}

#[test]
fn a_statement_is_complete_at_its_semicolon() {
    assert!(is_complete("select 1;") && is_complete(".tables") && is_complete("\\d t") && is_complete("  "));
    assert!(
        !is_complete("select 1")
            && !is_complete("select ';")
            && !is_complete("select 1 /* ; ")
            && !is_complete("a; b")
    );
}

#[test]
fn colours_cover_the_text_and_change_nothing() {
    let text = "SELECT 'it''s', \"q\" /* c */ FROM t WHERE ü > 1.5e3 -- end";
    let pieces = pieces(text);
    assert_eq!(pieces.iter().map(|(_, text)| *text).collect::<String>(), text);
    let of = |kind| {
        pieces.iter().filter(|(found, _)| *found == kind).map(|(_, text)| *text).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of(Kind::Keyword), "SELECT FROM WHERE");
    assert_eq!(of(Kind::Literal), "'it' 's'");
    assert_eq!(of(Kind::Comment), "/* c */ -- end");
    assert_eq!(of(Kind::Number), "1.5e3");
}
