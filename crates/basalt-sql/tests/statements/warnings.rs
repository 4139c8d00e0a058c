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
