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
        (
            "select v + cast(length(w) as bigint) from s where g = 3 and v > 0 order by v desc limit 3",
            "IndexLookup: table=S, index=J",
        ),
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
        "select v from s order by g desc, v limit 5",
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

/// An index is read from its end for the opposite order; its NULLs, which it has at its beginning, come where they are wanted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_is_read_from_its_end() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    filled(&session, "").await;
    for sql in [
        "create index i on s (v)",
        "create index j on s (g, v desc)",
        "create index n on s (w) include (v)",
        "create index m on s (w) include (v) where g = 2",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    let of_text =
        "select cast(substr(w, 2, instr(w, '.') - 2) as bigint) from s order by v desc, k desc limit 7";
    for stage in 0..3 {
        for sql in match stage {
            0 => vec![],
            1 => vec![
                "upsert into s select k + 600000, g, v + 1 from s where k % 9000 = 1",
                "upsert into s (k, g, v) values (500001, 3, 200000), (500002, 3, null), (77, null, 300000), (78, null, null)",
                "delete from s where v between 130000 and 130900",
            ],
            _ => vec!["delete from s where v > 1000", "delete from s where k = 500000"],
        } {
            changed(&session, sql).await.expect(sql);
        }
        if stage == 2 {
            fixture.engine.database().flush(None).expect("flushes");
        }
        for (sql, way) in [
            (
                "select coalesce(v, -1) from s order by v desc limit 5",
                "IndexOnlyScan: table=S, index=I, in its order from the end",
            ),
            (
                "select coalesce(v, -1) from s order by v desc limit 5 offset 300",
                "IndexOnlyScan: table=S, index=I",
            ),
            (
                "select coalesce(v, -1) from s order by v desc nulls last limit 50",
                "IndexOnlyScan: table=S, index=I",
            ),
            ("select coalesce(v, -1) from s order by v desc", "IndexOnlyScan: table=S, index=I"),
            ("select k from s where v > 100 order by v desc, k desc", "IndexOnlyScan: table=S, index=I"),
            (
                "select k from s where v < 900 order by v desc, k desc limit 40",
                "IndexOnlyScan: table=S, index=I",
            ),
            (of_text, "IndexLookup: table=S, index=I"),
            (
                "select cast(coalesce(length(w), 0) as bigint) + coalesce(v, -1) from s where g = 3 order by v limit 4",
                "IndexLookup: table=S, index=J",
            ),
            (
                "select coalesce(v, -1) from s where g = 3 order by v limit 20",
                "IndexOnlyScan: table=S, index=J",
            ),
            (
                "select coalesce(v, -1) from s where g = 3 order by v, k desc",
                "IndexOnlyScan: table=S, index=J",
            ),
            (
                "select coalesce(g, -1) * 1000000 + coalesce(v, -1) from s order by g desc, v nulls last limit 20000",
                "IndexOnlyScan: table=S, index=J",
            ),
            (
                "select coalesce(v, -1) from s order by w desc, k desc limit 500",
                "IndexOnlyScan: table=S, index=N",
            ),
            (
                "select coalesce(v, -1) from s where g = 2 order by w desc, k desc limit 9",
                "IndexOnlyScan: table=S, index=M",
            ),
        ] {
            let shown = plan(&session, sql).await;
            let is_sorted = shown.contains("SortExec");
            assert!(shown.contains(way) && shown.contains(", reversed") && !is_sorted, "{sql}:\n{shown}");
            let [found, expected] = both(&session, sql).await;
            assert!(
                !found.is_empty() && found == expected,
                "stage {stage}, {sql}: {found:?}, not {expected:?}"
            );
        }
    }
    let before =
        numbers(&session, "select k from s order by v desc nulls last, k desc limit 3").await.expect("rows");
    changed(&session, "delete from s where v is not null order by v desc, k desc limit 3")
        .await
        .expect("deletes");
    for key in before {
        let left =
            numbers(&session, &format!("select count(*) from s where k = {key}")).await.expect("counts");
        assert_eq!(left, [0], "{key}");
    }
}
