// SPDX-License-Identifier: Apache-2.0
//! What a query says besides its rows.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_a_large_table_for_a_row_is_told() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 20).await;
    fixture.engine.database().flush(None).expect("flushes");
    let warnings = async |sql: &str| {
        numbers(&session, sql).await.expect(sql);
        session.take_warnings()
    };
    let told = warnings("select k from t where v = 77777").await;
    assert!(
        matches!(told.as_slice(), [warning] if warning.starts_with("all 1048576 rows of T are looked at for about")
            && warning.contains("no condition is on K, the first column of its key")),
        "{told:?}"
    );
    for meant in [
        "select k from t where k = 77777",
        "select count(*) from t",
        "select count(*) from t where v > 77777",
        "select count(*) from t where v % 77777 = 1",
        "select /*+ NO_INDEX */ sum(k) from t",
    ] {
        assert_eq!(warnings(meant).await, Vec::<String>::new(), "{meant}");
    }
    changed(&session, "create index iv on t (v)").await.expect("builds");
    assert_eq!(warnings("select k from t where v = 77777").await, Vec::<String>::new());
    assert_eq!(warnings("select /*+ NO_INDEX */ k from t where v = 77777").await, Vec::<String>::new());
}

/// Statements that change or explain something say what queries do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_are_no_queries_warn_too() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 20).await;
    fixture.engine.database().flush(None).expect("flushes");
    changed(&session, "create table u (k bigint primary key, v bigint)").await.expect("creates");
    for sql in [
        "upsert into u select k, v from t where v = 77777",
        "update t set v = 3 where v = 77777",
        "delete from t where v = 77777",
    ] {
        changed(&session, sql).await.expect(sql);
        let told = session.take_warnings();
        assert!(
            matches!(told.as_slice(), [warning] if warning.contains("rows of T are looked at for about")),
            "{sql}: {told:?}"
        );
    }
    plan(&session, "select k from t where v = 77777").await;
    assert_eq!(session.take_warnings().len(), 1);
    changed(&session, "upsert into u select a.k, b.v from t a, t b where a.k < 3 and b.k < 3")
        .await
        .expect("joins");
    let told = session.take_warnings();
    assert!(
        matches!(told.as_slice(), [warning] if warning.contains("joined without a condition")),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_that_name_nothing_are_told() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    for sql in [
        "create table t (k bigint primary key, v bigint, w bigint)",
        "create index iv on t (v)",
        "create index iw on t (w)",
        "upsert into t values (1, 2, 3), (2, 3, 4)",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    let hinted = async |hint: &str, from: &str| {
        let sql = format!("select /*+ INDEX({hint}) */ k from {from} where v = 3 and w = 4");
        let shown = plan(&session, &sql).await;
        assert_eq!(numbers(&session, &sql).await.expect(&sql), [2]);
        (shown, session.take_warnings())
    };
    for (hint, from, index) in
        [("T IV", "t", "IV"), ("T IW", "t", "IW"), ("X IW", "t x", "IW"), ("T NONE_SUCH IV", "t", "IV")]
    {
        let (shown, told) = hinted(hint, from).await;
        assert!(shown.contains(&format!("index={index}")), "{hint}: {shown}");
        let vain = hint.contains("NONE_SUCH");
        assert_eq!(told.len(), usize::from(vain), "{hint}: {told:?}");
    }
    let (_, told) = hinted("T IX", "t").await;
    assert_eq!(told, ["hint INDEX names IX, which is no index of T; there is IV, IW"]);
    let (_, told) = hinted("U IV", "t").await;
    assert_eq!(told, ["hint INDEX names U, which is no table that the statement reads"]);
}
