// SPDX-License-Identifier: Apache-2.0
//! What statements leave in the block cache.

use super::*;

#[tokio::test]
async fn a_scan_with_no_cache_and_of_a_family_without_it_leaves_the_block_cache_as_it_is() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    let database = fixture.engine.database();
    let held = || database.metrics().cache.blocks;
    doubled(&session, 14).await;
    for sql in [
        "create table u (k bigint primary key, v bigint) blockcache = false",
        "upsert into u select k, v from t",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    database.flush(None).expect("flushes");
    let sum = |hint: &str, table: &str| {
        format!("select {hint} cast(sum(v) as bigint) from {table} where v % 3 = 1")
    };
    // Planning reads the heads of row groups, which stay.
    for table in ["t", "u"] {
        numbers(&session, &format!("select count(*) from {table} where v < -1")).await.expect("counts");
    }
    let before = held();
    let uncached = numbers(&session, &sum("/*+ NO_CACHE */", "t")).await.expect("adds up");
    assert_eq!((held(), session.take_warnings()), (before, vec![]));
    assert_eq!(numbers(&session, &sum("", "u")).await.expect("adds up"), uncached);
    assert_eq!(held(), before, "BLOCKCACHE=FALSE");
    assert_eq!(numbers(&session, &sum("", "t")).await.expect("adds up"), uncached);
    assert!(held() > before);
}
