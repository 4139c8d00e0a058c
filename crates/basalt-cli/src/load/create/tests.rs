// SPDX-License-Identifier: Apache-2.0
use basalt::SqlType;

use super::*;

fn check(table: &str, key: &[&str], expected: &str) {
    let column = |name: &str, sql_type| Inferred { name: name.into(), sql_type };
    let columns = [
        column("id", SqlType::BigInt),
        column("date", SqlType::Date),
        column("Price", SqlType::Decimal(Some((15, 2)))),
    ];
    let key: Vec<String> = key.iter().map(|part| part.to_string()).collect();
    match in_key_order(columns.into(), &key, || Ok(true)).and_then(|columns| statement(table, &columns, &key))
    {
        Ok(text) => assert_eq!(text, expected),
        Err(failure) => assert_eq!(failure.message(), expected),
    }
}

#[test]
fn names_fold_and_are_quoted() {
    check(
        "shop.item",
        &["date", " ID"],
        "CREATE TABLE \"SHOP\".\"ITEM\" (\"DATE\" DATE NOT NULL, \"ID\" BIGINT NOT NULL, \"PRICE\" DECIMAL(15,2), \
         CONSTRAINT pk PRIMARY KEY (\"DATE\", \"ID\"))",
    );
}

#[test]
fn the_key_must_be_columns_of_the_file() {
    check("t", &["no"], "the primary key has a column no, which the file has not; it has ID, DATE, PRICE");
    check("t", &["id", "ID"], "the primary key has the column ID twice");
}

#[test]
fn without_names_the_order_of_the_file_must_do() {
    let column = |name: &str| Inferred { name: name.into(), sql_type: SqlType::BigInt };
    let refused = in_key_order(vec![column("c1"), column("c2")], &["c2".into(), "c1".into()], || Ok(false));
    assert!(refused.is_err_and(|failure| failure.message().contains("another order than the file")));
}
