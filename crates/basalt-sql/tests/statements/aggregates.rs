// SPDX-License-Identifier: Apache-2.0
//! Sums, averages and counts of exact numbers, and the least and the greatest of anything, mean what the planner's own operators make of them: `FILTER (WHERE TRUE OR …)`
//! keeps an aggregation with those.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;

use super::conditions::Chance;
use super::*;

async fn shown(session: &Session, sql: &str) -> String {
    let Outcome::Rows(mut rows) = session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
    else {
        panic!("{sql} is no query")
    };
    let mut batches: Vec<RecordBatch> = vec![];
    while let Some(batch) = rows.next().await {
        batches.push(batch.unwrap_or_else(|error| panic!("{sql}: {error}")));
    }
    let table = pretty_format_batches(&batches).expect("prints").to_string();
    // The titles name the aggregates, of which one has a filter.
    table.lines().filter(|line| !line.starts_with("| A0")).collect::<Vec<_>>().join("\n")
}

/// A number made of the table's columns, of at most so many operations.
fn number(chance: &mut Chance, depth: u32) -> String {
    if depth > 0 && chance.below(3) > 0 {
        let (left, right) = (number(chance, depth - 1), number(chance, depth - 1));
        return format!("({left} {} {right})", chance.one_of(&["+", "-", "*"]));
    }
    chance.one_of(&["d", "e", "-d", "1", "2.5", "0.07", "100", "cast(i as decimal(12, 1))"]).to_owned()
}

fn query(chance: &mut Chance, filtered: bool) -> [String; 2] {
    let names = ["sum", "avg", "count", "sum", "avg", "min", "max"];
    let mut aggregates = vec![];
    for index in 0..chance.below(4) + 1 {
        let name = names[chance.below(names.len() as u64) as usize];
        let number = number(chance, 2);
        let of = match name {
            "count" => chance.one_of(&["*", "d", "t", "e", "i"]).to_owned(),
            "min" | "max" => chance.one_of(&["l", "t", "c", "d", "b", "day", "k2"]).to_owned(),
            _ => number,
        };
        let aggregate = if chance.below(9) == 0 { "sum(b)".to_owned() } else { format!("{name}({of})") };
        aggregates.push((aggregate, index));
    }
    let by =
        chance.one_of(&["", "t", "c", "i", "t, c", "c, b", "l", "k1", "k1, k2", "t, c, l", "day, t", "d"]);
    let condition = match filtered {
        true => {
            chance.one_of(&["where d > 10", "where t <> 's1'", "where c is null", "where k2 < 100 and e < 5"])
        }
        false => "",
    };
    [false, true].map(|plain| {
        let filter = if plain { " filter (where k2 is not null or d > 0)" } else { "" };
        let aggregates =
            aggregates.iter().map(|(aggregate, index)| format!("{aggregate}{filter} as a{index}"));
        let mut columns: Vec<String> = aggregates.collect();
        columns.extend((!by.is_empty()).then(|| by.to_owned()));
        let group = if by.is_empty() { String::new() } else { format!("group by {by} order by {by}") };
        format!("select {} from t {condition} {group}", columns.join(", "))
    })
}

async fn fill(session: &Session, chance: &mut Chance, rows: u64) {
    let rows = (0..rows).map(|_| {
        let n = chance.below(1_000_000);
        let or_null = |value: String, of: u64| if n % 11 == of { "null".to_owned() } else { value };
        let values = [
            format!("{}", n % 37),
            format!("{}", n % 5000),
            or_null(format!("{}.{:02}", n % 90_000, n % 100), 1),
            or_null(format!("-{}.{:04}", n % 7, n % 10_000), 2),
            or_null(format!("{}", n % 9), 3),
            or_null(format!("{}", n * 900_000_000), 4),
            or_null(format!("'s{}'", n % 4), 5),
            or_null(format!("'{}'", ["A", "N", "R"][n as usize % 3]), 6),
            or_null(format!("'a longer text, number {}'", n % 6), 7),
            or_null(format!("date '2024-01-{:02}'", n % 20 + 1), 8),
        ];
        format!("({})", values.join(", "))
    });
    let rows: Vec<String> = rows.collect();
    changed(session, &format!("upsert into t values {}", rows.join(", "))).await.expect("the rows are valid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_add_up_as_in_the_planners_own_operators() {
    let fixture = open(256 << 20);
    let (session, mut chance) = (fixture.engine.session(), Chance(11));
    let create = "create table t (k1 bigint not null, k2 integer not null, d decimal(12, 2), e decimal(9, 4), \
                  i integer, b bigint, t varchar, c char(1), l varchar, day date, \
                  constraint pk primary key (k1, k2))";
    changed(&session, create).await.expect("the table is valid");
    fill(&session, &mut chance, 6000).await;
    fixture.engine.database().flush(None).expect("flushes");
    // All rows in one file; then some in memory, too, which replace others or lie between them.
    for round in 0..3 {
        for asked in 0..80 {
            let [ours, planners] = query(&mut chance, asked % 2 == 0);
            let found = shown(&session, &ours).await;
            assert_eq!(found, shown(&session, &planners).await, "round {round}: {ours}");
        }
        fill(&session, &mut chance, 60).await;
    }
    let plan =
        shown(&session, "explain select t, sum(d * (1 - e)), avg(d), count(*) from t group by t").await;
    assert!(plan.contains("NumberAggregate"), "{plan}");
    let plan = shown(&session, "explain select min(l), max(t), count(c) from t").await;
    assert!(plan.contains("ScanTotals"), "{plan}");
    let plan = shown(&session, "explain select sum(d) filter (where k2 is not null) from t").await;
    assert!(!plan.contains("NumberAggregate"), "{plan}");
}

/// Aggregates of all rows that satisfy a condition, and the same by the planner's own operators.
fn of_all(aggregates: &[String], condition: &str) -> [String; 2] {
    ["", " filter (where k2 is not null or d > 0)"].map(|filter| {
        let named = aggregates.iter().enumerate();
        let columns: Vec<String> =
            named.map(|(at, aggregate)| format!("{aggregate}{filter} as a{at}")).collect();
        format!("select {} from t {condition}", columns.join(", "))
    })
}

/// What a scan adds up.
fn totals(chance: &mut Chance) -> [String; 2] {
    let aggregates: Vec<String> = (0..chance.below(4) + 1)
        .map(|_| match chance.one_of(&["sum", "avg", "min", "max", "count", "min", "max"]) {
            "count" => format!("count({})", chance.one_of(&["*", "d", "f", "k2"])),
            name @ ("sum" | "avg") => format!("{name}({})", chance.one_of(&["k1", "k2", "d", "i", "f", "g"])),
            name => format!("{name}({})", chance.one_of(&["k1", "k2", "d", "i", "f", "g", "day", "at"])),
        })
        .collect();
    let conditions = ["", "", "where k1 < 30", "where d > 100", "where f is null", "where k1 = 7 and g > 5"];
    of_all(&aggregates, chance.one_of(&conditions))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_of_a_scan_are_those_of_the_planners_own_operators() {
    let fixture = open(256 << 20);
    let (session, mut chance) = (fixture.engine.session(), Chance(5));
    let create = "create table t (k1 bigint not null, k2 integer not null, d decimal(12, 2), i smallint, f float, g double, \
                  day date, at timestamp, constraint pk primary key (k1, k2 desc))";
    changed(&session, create).await.expect("the table is valid");
    for round in 0..4 {
        // All rows in one file; then some in memory, too, which replace others or lie between them; then in two files.
        let rows = (0..if round == 0 { 5000 } else { 50 }).map(|_| {
            let n = chance.below(1_000_000);
            let or_null = |value: String, of: u64| if n % 9 == of { "null".to_owned() } else { value };
            let values = [
                format!("{}", n % 37),
                format!("{}", n % 3000),
                or_null(format!("-{}.{:02}", n % 90_000, n % 100), 1),
                or_null(format!("{}", n % 9), 2),
                // Sums of these are exact in whatever order.
                or_null(format!("{}", (n % 4096) as f64 / 16.0 - 100.0), 3),
                or_null(format!("{}", n as f64 / 1024.0), 4),
                or_null(format!("date '2024-01-{:02}'", n % 20 + 1), 5),
                or_null(format!("timestamp '2024-01-{:02} 01:02:03.{}'", n % 20 + 1, n % 1000), 6),
            ];
            format!("({})", values.join(", "))
        });
        let rows: Vec<String> = rows.collect();
        changed(&session, &format!("upsert into t values {}", rows.join(", ")))
            .await
            .expect("the rows are valid");
        if round % 3 == 0 {
            fixture.engine.database().flush(None).expect("flushes");
        }
        for _ in 0..60 {
            let [ours, planners] = totals(&mut chance);
            let plan = shown(&session, &format!("explain {ours}")).await;
            assert!(
                plan.contains("ScanTotals") || ours.contains("k1 = 7") || ours.starts_with("select count(*)"),
                "{ours}: {plan}"
            );
            let found = shown(&session, &ours).await;
            assert_eq!(found, shown(&session, &planners).await, "round {round}: {ours}");
        }
    }
    // Nothing to add up.
    let aggregates = ["sum(f)", "min(d)", "count(i)", "avg(g)", "max(at)"].map(str::to_owned);
    for condition in ["where k1 > 100", "where k2 < 0"] {
        let [ours, planners] = of_all(&aggregates, condition);
        assert_eq!(shown(&session, &ours).await, shown(&session, &planners).await, "{ours}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_by_the_first_key_column_need_no_exchange() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    // Enough bytes for several partitions, and values of the first column that are cut by none of them.
    for order in ["", " desc"] {
        for sql in [
            "drop table if exists t",
            "drop sequence if exists s",
            &format!(
                "create table t (k bigint not null, n bigint not null, v double, w double, constraint pk primary key (k{order}, n))"
            ),
            "create sequence s",
            "upsert into t values (0, next value for s, rand(), rand())",
        ] {
            changed(&session, sql).await.expect(sql);
        }
        for _ in 0..18 {
            let double = "upsert into t select cast(sqrt(n) as bigint) * 10 - 500, next value for s, rand(), rand() from t";
            changed(&session, double).await.expect("doubles");
        }
        fixture.engine.database().flush(None).expect("flushes");
        fixture.engine.database().compact(None, true).expect("compacts");
        let plan = shown(&session, "explain select k, count(*) from t group by k").await;
        assert!(plan.contains("segments=2") && !plan.contains("RepartitionExec"), "{plan}");
        let plan = shown(&session, "explain select distinct k from t").await;
        assert!(plan.contains("DistinctRuns"), "{plan}");
        for (ours, planners) in [
            ("count(distinct k) from t", "count(distinct k + 0) from t"),
            (
                "sum(c), max(c) from (select k, count(*) as c from t group by k)",
                "sum(c), max(c) from (select k + 0 as k, count(*) as c from t group by k + 0)",
            ),
            ("count(*) from t a join (select distinct k from t) b on a.k = b.k", "count(*) from t"),
            ("count(*) from (select k from t union select k + 1 from t)", "count(distinct k) * 2 from t"),
        ] {
            let found = shown(&session, &format!("select {ours}")).await;
            let told = shown(&session, &format!("select {planners}")).await;
            let rows = |shown: &str| -> Vec<String> {
                shown.lines().nth(3).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
            };
            assert_eq!(rows(&found), rows(&told), "{ours}");
        }
    }
}

/// A join begins with the first row of its smaller side again for each of equal rows of the other: what comes out is in no order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_a_join_are_put_together() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let database = Database::open(&directory.path().join("db"), OpenOptions::create()).expect("opens");
    let options =
        EngineOptions { threads: 2, memory_bytes: 64 << 20, batch_rows: 1, ..EngineOptions::default() };
    let session = Engine::try_new(database, options).expect("starts").session();
    for sql in [
        "create table a (g integer not null, k integer not null, constraint pk primary key (g, k))",
        "create table b (k integer not null, n integer not null, constraint pk primary key (k, n))",
        "upsert into a values (1, 1), (1, 2), (2, 1), (2, 2), (3, 1)",
        "upsert into b values (1, 1), (1, 2), (1, 3), (2, 1), (2, 2)",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    let join = "from a join b on a.k = b.k";
    let groups =
        numbers(&session, &format!("select count(*) {join} group by a.k, a.g")).await.expect("groups");
    assert_eq!(groups.len(), 5, "{groups:?}");
    let sql = format!("select cast(a.k * 10 + a.g as bigint) {join} order by a.k, a.g");
    let ordered = numbers(&session, &sql).await.expect("sorts");
    assert!(ordered.len() == 13 && ordered.is_sorted(), "{ordered:?}");
}
