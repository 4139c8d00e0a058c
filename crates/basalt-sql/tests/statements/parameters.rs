// SPDX-License-Identifier: Apache-2.0
//! Prepared statements, statements that may take so long, and warnings.

use basalt_sql::Value;

use super::*;

/// The first column of all rows of a prepared query.
async fn found(session: &Session, sql: &str, values: &[Value]) -> Result<Vec<i64>, SqlError> {
    let prepared = session.prepare(sql)?;
    let Outcome::Rows(mut rows) = session.execute_prepared(&prepared, values).await? else {
        panic!("no query")
    };
    let mut numbers = vec![];
    while let Some(batch) = rows.next().await {
        numbers.extend(batch?.column(0).as_primitive::<Int64Type>().values());
    }
    Ok(numbers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_take_any_value_as_it_is() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    let create = "create table t (k bigint not null, s varchar, d double, m decimal(9,2), b varbinary, f boolean, day date, \
                  t timestamp constraint pk primary key (k))";
    changed(&session, create).await.expect("creates");
    let add = session.prepare("upsert into t values (?, ?, ?, ?, ?, ?, ?, ?)").expect("prepares");
    assert_eq!(add.parameters(), 8);
    let texts = ["plain", "it's", "''", "\\' or 1 = 1 --", "a''b", "?", ":1"];
    for (at, text) in texts.iter().enumerate() {
        let values = [
            (i64::MIN + at as i64).into(),
            (*text).into(),
            1.5e300.into(),
            Value::Decimal("-12.50".into()),
            vec![0_u8, 255].into(),
            true.into(),
            Value::Date(-1),
            Value::Timestamp(1_700_000_000_123_456_789),
        ];
        session.execute_prepared(&add, &values).await.expect("writes");
        let same = "select k from t where s = ? and d = ? and m = ? and b = ? and f = ? and day = ? and t = ? and k = ?";
        let values: Vec<_> = values[1..].iter().chain(&values[..1]).cloned().collect();
        assert_eq!(found(&session, same, &values).await.expect("finds"), [i64::MIN + at as i64], "{text}");
        // In calls that are put into other words.
        let inside = "select count(*) from t where s = any(array[?, 'none']) and coalesce(?, 'x') = s";
        assert_eq!(
            found(&session, inside, &[(*text).into(), (*text).into()]).await.expect("finds"),
            [1],
            "{text}"
        );
    }
    let by_number = "select count(*) from t where s in (:2, :1) or s = :1 limit :3";
    assert_eq!(
        found(&session, by_number, &["plain".into(), "it's".into(), 5.into()]).await.expect("finds"),
        [2]
    );
    let sql = "select count(*) from t where s is null or s = ?";
    let none = [Option::<String>::None.into()];
    assert_eq!(found(&session, sql, &none).await.expect("finds"), [0]);

    let change = session.prepare("update t set m = ? where s = ?").expect("prepares");
    let outcome = session.execute_prepared(&change, &[Value::Decimal("7".into()), "a''b".into()]).await;
    assert!(matches!(outcome, Ok(Outcome::Count { rows: 1, .. })), "{outcome:?}");
    let delete = session.prepare("delete from t where m = ? limit ?").expect("prepares");
    let outcome = session.execute_prepared(&delete, &[7.into(), 10.into()]).await;
    assert!(matches!(outcome, Ok(Outcome::Count { rows: 1, .. })), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parameter_needs_one_value() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    let error = changed(&session, "select ?").await.expect_err("no value");
    assert_eq!(error.code().map(|code| code.number), Some(2004));
    let prepared = session.prepare("select :2").expect("prepares");
    let error = session.execute_prepared(&prepared, &[1.into()]).await.expect_err("one is missing");
    assert!(error.message().starts_with("parameter 2 has no value"), "{error}");
    let error =
        session.execute_prepared(&prepared, &[1.into(), 2.into(), 3.into()]).await.expect_err("too many");
    assert_eq!(error.code().map(|code| code.number), Some(2003));
    assert!(session.prepare("select :name").is_err());
    let bad = Value::Decimal("1) or (1".into());
    assert!(session.execute_prepared(&session.prepare("select ?").expect("prepares"), &[bad]).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_ends_when_its_time_is_over() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 16).await;
    session.set_timeout(Some(Duration::from_millis(200)));
    let error = numbers(&session, "select a.k from t a, t b").await.expect_err("4 billion rows");
    assert_eq!(error.code().map(|code| code.number), Some(6000));
    assert_eq!(error.kind(), ErrorKind::Resources);
    let endless = "upsert into t select a.k + 100000 + b.k * 100000, 1 from t a, t b";
    assert_eq!(
        changed(&session, endless).await.expect_err("too long").code().map(|code| code.number),
        Some(6000)
    );
    session.set_timeout(None);
    assert_eq!(count(&session, "t").await, 1 << 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_of_tables_is_warned_of() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 2).await;
    changed(&session, "create table u (k bigint primary key)").await.expect("creates");
    changed(&session, "upsert into u values (1), (2)").await.expect("writes");
    numbers(&session, "select count(*) from t, u").await.expect("counts");
    let warnings = session.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("without a condition"), "{warnings:?}");
    for fine in [
        "select t.k from t, u where t.k = u.k",
        "select k from t, (select count(*) as n from u) as c where k < n",
    ] {
        numbers(&session, fine).await.expect(fine);
        assert_eq!(session.take_warnings(), [""; 0], "{fine}");
    }
}
