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
fn an_open_literal_is_named() {
    let error = crate::dialect::parse("select 'open from t").expect_err("no statement");
    assert_eq!(error.message(), "the text literal is not closed by '");
    assert_eq!(error.position(), Some(Position { line: 1, column: 8 }));
}
