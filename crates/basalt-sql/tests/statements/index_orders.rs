// SPDX-License-Identifier: Apache-2.0
//! Indexes that are chosen for their order, or because they are small, and the rows that they give then.

use basalt_sql::Session;

use super::{changed, doubled, numbers, open, plan};

/// The same question, to whatever is chosen and to the table.
async fn both(session: &Session, sql: &str) -> [Vec<i64>; 2] {
    let table = sql.replacen("select", "select /*+ NO_INDEX */", 1);
    [numbers(session, sql).await.expect(sql), numbers(session, &table).await.expect(sql)]
}

async fn filled(session: &Session, options: &str) {
    doubled(session, 17).await;
    for sql in [
        &format!("create table s (k bigint primary key, g bigint, v bigint, w varchar) {options}"),
        "upsert into s select k, k % 8, k * 7919 % 131071, 'x' || cast(k as varchar) || '................................................' from t",
        "upsert into s (k, g) values (500000, 3), (500001, 3)",
    ] {
        changed(session, sql).await.expect(sql);
    }
    session.engine().database().flush(None).expect("flushes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_saves_a_sort() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    filled(&session, "").await;
    for sql in ["create index i on s (v)", "create index j on s (g, v desc)"] {
        changed(&session, sql).await.expect(sql);
    }
    let of_text =
        "select cast(substr(w, 2, instr(w, '.') - 2) as bigint) from s order by v nulls first limit 7";
    for (sql, way) in [
        ("select v from s order by v limit 5", "IndexOnlyScan: table=S, index=I, in its order"),
        ("select a.v from s as a order by a.v limit 5 offset 300", "IndexOnlyScan: table=S, index=I"),
        ("select v from s order by v", "IndexOnlyScan: table=S, index=I"),
        ("select v from s where v > 100 order by v", "IndexOnlyScan: table=S, index=I"),
        (of_text, "IndexLookup: table=S, index=I, in its order"),
        ("select v from s where g = 3 order by v desc limit 20", "IndexOnlyScan: table=S, index=J"),
        ("select v from s where g = 3 order by v desc, k", "IndexOnlyScan: table=S, index=J"),
        ("select v from s order by g, v desc limit 20", "IndexOnlyScan: table=S, index=J, in its order"),
    ] {
        let shown = plan(&session, sql).await;
        assert!(shown.contains(way) && !shown.contains("SortExec"), "{sql}:\n{shown}");
        let [found, expected] = both(&session, sql).await;
        assert_eq!(found, expected, "{sql}");
    }
    // Not the order of an index, or one that the key has; a lookup for each row of the table.
    for sql in [
        "select v from s order by v desc limit 5",
        "select v from s order by v nulls last limit 5",
        "select k from s order by k limit 5",
        "select cast(length(w) as bigint) from s order by v",
    ] {
        let shown = plan(&session, sql).await;
        assert!(!shown.contains("IndexLookup") && !shown.contains("IndexOnlyScan"), "{sql}:\n{shown}");
        let [found, expected] = both(&session, sql).await;
        assert_eq!(found, expected, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_index_is_read_in_place_of_a_table_of_wide_rows() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    filled(&session, "data_block_encoding = 'FAST_DIFF', compression = 'NONE'").await;
    changed(&session, "create index i on s (v)").await.expect("creates");
    let sql = "select sum(v) from s";
    let shown = plan(&session, sql).await;
    assert!(shown.contains("IndexOnlyScan: table=S, index=I, smaller than the table"), "{shown}");
    let [found, expected] = both(&session, sql).await;
    assert_eq!(found, expected);
    let shown = plan(&session, "select sum(v + g) from s").await;
    assert!(!shown.contains("IndexOnlyScan"), "{shown}");
}
