// SPDX-License-Identifier: Apache-2.0
//! Cursors beyond text in and text out: what a FETCH leaves, and how many cursors there may be.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_fetch_was_not_asked_for_or_not_read_of_comes_with_the_next() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 15).await;
    for sql in ["declare c cursor for select k from t order by k", "open c"] {
        changed(&session, sql).await.expect(sql);
    }
    let mut read = vec![];
    for rows in [3, 10_000, 1] {
        read.extend(numbers(&session, &format!("fetch next {rows} rows from c")).await.expect("fetches"));
        assert_eq!(read, (1..=read.len() as i64).collect::<Vec<_>>());
    }
    assert_eq!(read.len(), 10_004);

    let Outcome::Rows(mut half) = session.execute("fetch next 20000 rows from c").await.expect("fetches")
    else {
        panic!("rows")
    };
    let batch = half.next().await.expect("a batch").expect("rows");
    let Err(error) = session.execute("fetch next from c").await else { panic!("two fetched at once") };
    assert!(error.message().contains("still being read"), "{error}");
    drop(half);
    let rest = numbers(&session, "fetch next 100000 rows from c").await.expect("fetches");
    assert_eq!(rest.first(), Some(&(10_005 + batch.num_rows() as i64)));
    assert_eq!(rest.last(), Some(&(1 << 15)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_has_a_bounded_number_of_cursors() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    for at in 0..32 {
        changed(&session, &format!("declare c{at} cursor for select {at}")).await.expect("declares");
    }
    let error = changed(&session, "declare c32 cursor for select 1").await.expect_err("one too many");
    assert!(error.message().contains("32 cursors"), "{error}");
    changed(&session, "close c7").await.expect("closes");
    changed(&session, "declare c32 cursor for select 1").await.expect("declares");
    // Another session has its own.
    let other = fixture.engine.session();
    assert!(changed(&other, "open c0").await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_of_a_cursor_are_bound_where_it_is_declared() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    let prepared = session.prepare("declare c cursor for select ? + 1").expect("parses");
    session.execute_prepared(&prepared, &[41.into()]).await.expect("declares");
    changed(&session, "open c").await.expect("opens");
    assert_eq!(numbers(&session, "fetch next from c").await.expect("fetches"), [42]);
}
