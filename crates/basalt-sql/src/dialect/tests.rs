// SPDX-License-Identifier: Apache-2.0
use super::*;

fn statement(sql: &str) -> Statement {
    match parse(sql) {
        Ok(parsed) => parsed.statement,
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn query_text(sql: &str) -> String {
    match statement(sql) {
        Statement::Query(query) => query.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unquoted_names_are_folded_and_quoted_ones_kept() {
    assert_eq!(query_text("select a, \"b\" from t"), "SELECT A, \"b\" FROM T");
}

#[test]
fn tables_are_declared_in_phoenix_words() {
    let Statement::CreateTable(table) = statement(
        "create table if not exists s.t (a varchar(5) not null, cf.b decimal(8,2), c unsigned_int, \
         constraint pk primary key (a desc, c)) compression='zstd', cf.versions=3 split on ('x')",
    ) else {
        panic!("no table")
    };
    assert_eq!(table.name.to_string(), "S.T");
    assert!(table.if_not_exists && table.splits.len() == 1);
    assert_eq!(table.columns[1].name, Name { schema: Some("CF".into()), name: "B".into() });
    assert_eq!(table.columns[1].sql_type.to_string(), "DECIMAL(8,2)");
    let key: Vec<_> =
        table.primary_key.iter().flatten().map(|(name, order)| format!("{name} {order:?}")).collect();
    assert_eq!(key, ["A Desc", "C Asc"]);
    let option = |family: Option<&str>, name: &str, value: &str| OptionDef {
        family: family.map(str::to_owned),
        name: name.to_owned(),
        value: value.to_owned(),
    };
    assert_eq!(table.options, [option(None, "COMPRESSION", "zstd"), option(Some("CF"), "VERSIONS", "3")]);
}

#[test]
fn the_constraint_may_follow_without_a_comma() {
    assert!(matches!(
        statement("create table t (k integer not null, j integer not null constraint pk primary key (k, j))"),
        Statement::CreateTable(table) if table.primary_key.as_ref().is_some_and(|key| key.len() == 2)
    ));
}

#[test]
fn row_values_are_written_out() {
    let after_where = |sql: &str| query_text(sql).split_once("WHERE ").expect("WHERE").1.to_owned();
    assert_eq!(after_where("select 1 from t where (a, b) > (1, 2)"), "(A > 1 OR (A = 1 AND B > 2))");
    assert_eq!(after_where("select 1 from t where (a, b) <= (1, 2)"), "(A < 1 OR (A = 1 AND B <= 2))");
    assert_eq!(after_where("select 1 from t where (a, b) in ((1, 2))"), "((A = 1 AND B = 2))");
    assert!(parse("select 1 from t where (a, b) > (1, 2, 3)").is_err());
}

#[test]
fn sequence_values_are_expressions() {
    for sql in ["select next value for s + 1", "select next 5 values for x.s", "select current value for s"] {
        assert!(matches!(statement(sql), Statement::Query(_)), "{sql}");
    }
    // NEXT alone is a name like any other.
    assert_eq!(query_text("select next from t"), "SELECT NEXT FROM T");
}

#[test]
fn upserts_take_rows_or_a_query() {
    let source = |sql| match statement(sql) {
        Statement::Upsert(upsert) => upsert,
        other => panic!("{other:?}"),
    };
    let rows = source("upsert into t (a, f.b) values (1, 'x'), (-2, null)");
    assert_eq!(rows.columns.map(|columns| columns.len()), Some(2));
    assert!(matches!(rows.source, UpsertSource::Values(rows) if rows.len() == 2));
    assert!(matches!(source("upsert into t select a, b from u").source, UpsertSource::Query(_)));
    assert!(source("upsert into t (select a, b from u)").columns.is_none());
}

#[test]
fn hints_are_kept() {
    let parsed = parse("select /*+ NO_INDEX, index(t i1 i2) */ * from t").expect("valid");
    assert_eq!(parsed.hints, ["NO_INDEX", "INDEX(T I1 I2)"]);
}

#[test]
fn what_follows_a_statement_is_an_error() {
    let number = |sql: &str| parse(sql).expect_err(sql).code().map(|code| code.number);
    assert_eq!(number("select 1 from t t2 t3"), Some(603), "one word too many");
    assert_eq!(number("select 1 from t t2 t3 where"), Some(602), "another clause");
    assert_eq!(number("select 1 from t where a = E'b'"), Some(201), "a literal of a type that is not there");
}
