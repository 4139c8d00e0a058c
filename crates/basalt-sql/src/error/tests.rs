// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn a_name_one_letter_off_is_suggested() {
    let known = ["LINEITEM", "ORDERS"];
    assert_eq!(nearest("LINITEM", known).as_deref(), Some("LINEITEM"));
    assert_eq!(nearest("order", known).as_deref(), Some("ORDERS"));
    assert_eq!(nearest("CUSTOMER", known), None);
}

#[test]
fn a_parser_error_points_at_the_token() {
    let error = crate::dialect::parse("select k\nfrom t where\n  )").expect_err("no statement");
    assert_eq!(error.code().map(|code| code.sqlstate), Some("42P00"));
    assert_eq!(error.position(), Some(Position { line: 3, column: 3 }));
}

#[test]
fn every_error_has_a_state() {
    let state = |error: SqlError| error.sqlstate();
    assert_eq!(state(SqlError::coded(code::TABLE_NOT_FOUND, "no such table")), "42M03");
    assert_eq!(state(SqlError::limited(code::TIMED_OUT, "too long")), "TIM01");
    assert_eq!(state(SqlError::statement("a mistake of no number")), "42000");
    assert_eq!(state(SqlError::unsupported("not supported")), "0A000");
    assert_eq!(state(SqlError::overtaken("try again")), "40001");
    assert_eq!(state(SqlError::internal("a bug")), "XX000");
    assert_eq!(state(SqlError::new(ErrorKind::Damaged, "damage")), "XX001");
    // Through the engine's own error and back.
    let shared = DataFusionError::Shared(std::sync::Arc::new(SqlError::unsupported("not supported").into()));
    assert_eq!(state(SqlError::from(shared)), "0A000");
}

#[test]
fn an_open_literal_is_named() {
    let error = crate::dialect::parse("select 'open from t").expect_err("no statement");
    assert_eq!(error.message(), "the text literal is not closed by '");
    assert_eq!(error.position(), Some(Position { line: 1, column: 8 }));
}

/// The number of a statement that is none.
fn number(sql: &str) -> Option<i32> {
    crate::dialect::parse(sql).expect_err(sql).code().map(|code| code.number)
}

#[test]
fn an_expression_that_is_not_there_has_the_number_of_its_place() {
    for in_a_select_list in ["select from t", "select a,, b from t", "select distinct from t"] {
        assert_eq!(number(in_a_select_list), Some(601), "{in_a_select_list}");
    }
    for begun in ["select 1 from t where a =", "select 1 from t where a in ()", "select case end from t"] {
        assert_eq!(number(begun), Some(602), "{begun}");
    }
    for not_begun in
        ["select 1 from t where = 1", "select 1\nfrom t\nwhere a = 1 and )", "select 1 from t where not"]
    {
        assert_eq!(number(not_begun), Some(604), "{not_begun}");
    }
    assert_eq!(number("upsert into t values (1, default)"), Some(604));
}

#[test]
fn a_name_that_is_not_there_has_the_number_of_its_place() {
    assert_eq!(number("select a as from t"), Some(603));
    assert_eq!(number("select cast(a) from t"), Some(603));
    assert_eq!(number("create table t (k)"), Some(602));
    assert_eq!(number("create table t (k nope)"), Some(201));
    assert_eq!(number("create table t (k integer constraint pk primary key ())"), Some(602));
}

#[test]
fn numbers_of_sequences_have_their_errors() {
    assert_eq!(number("create sequence s start with 'x'"), Some(1202));
    assert_eq!(number("create sequence s increment by 1.5"), Some(1203));
    assert_eq!(number("create sequence s minvalue x"), Some(1208));
    assert_eq!(number("create sequence s maxvalue 99999999999999999999"), Some(1209));
    assert_eq!(number("select next 0 values for s"), Some(1215));
}
