// SPDX-License-Identifier: Apache-2.0
//! Plans are the same, whether all rules are asked or those that have something to do.

use std::sync::Arc;

use basalt_store::{Database, OpenOptions};
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::displayable;

use super::*;
use crate::dialect::{self, Statement};
use crate::plan::Planning;
use crate::progress::Progress;
use crate::{Engine, EngineOptions};

const TABLES: [&str; 5] = [
    "create table t (k bigint not null, l integer not null, v decimal(10, 2), w varchar, d date constraint pk primary key (k, l))",
    "create table u (k bigint primary key, v integer, x double)",
    "create index u_by_v on u (v) include (x)",
    "create view w as select * from t where v > 1",
    "upsert into u values (1, 2, 3.0), (2, 3, 4.5), (3, 2, 0.5)",
];

/// Of one table, a step of a kind each.
const SHORT: [&str; 17] = [
    "select k, l, v from t order by v desc",
    "select * from t",
    "select count(*) from t",
    "select count(*) from u",
    "select count(*), count(v), min(v), max(x) from u where v < 1000",
    "select sum(v * 2), avg(v) from t where v between 1 and 2 + 3 and w like 'a%' and not (l = 3 or l = 4)",
    "select w, sum(v) from t where d >= to_date('1994-01-01') group by w",
    "select k + 1 as n from t order by n",
    "select count(distinct w) from t",
    "select w, count(distinct k) from t group by w",
    "select 1, coalesce(w, 'none') from t where k = 7 and l > 2",
    "select k from t where 1 = 0",
    "select x.k, x.k as again from t x where x.w is not null",
    "select upper(w) || 'b' from t where upper(w) || 'b' = 'AB'",
    "select case when v > 1 then 'a' else 'b' end c, count(*) from t group by case when v > 1 then 'a' else 'b' end",
    "select v, x from u where v = 2",
    "select max(k) from t where v is null group by 1 + 1",
];

/// What needs all rules, or another look.
const LONG: [&str; 20] = [
    "select k from t where k in (1, 2, 3) and l in (4, 5) limit 10000 offset 20000",
    "select k from t where true limit 0",
    "select w, l from t group by w, l order by w, l offset 5",
    "select k, l, v from t order by v desc nulls last limit 3 offset 2",
    "select k, l, v from t order by k, l limit 3",
    "select w, sum(v) s from t group by w order by s desc limit 10",
    "select distinct w from t",
    "select * from t join u on t.k = u.k where u.v > 3",
    "select t.k, u.x from t left join u on t.k = u.k and t.l > u.v order by t.k limit 5",
    "select k from t union all select k from u",
    "select k from t where k in (select v from u)",
    "select k, (select max(v) from u where u.k = t.k) from t",
    "select k from t where exists (select 1 from u where u.k = t.l)",
    "select w, sum(v) from t group by w having sum(v) > 10",
    "select n from (select k + 1 as n from t) where n > 7",
    "select k, row_number() over (partition by w order by k) from t",
    "select * from (select k, row_number() over (partition by w order by k) n from t) where n <= 3",
    "select a.k from t a, u b, t c where a.k = b.k and b.v = c.l and c.w = 'x'",
    "select k, l from t group by grouping sets ((k), (l))",
    "with recursive r (n) as (select 1 union all select n + 1 from r where n < 5) select * from r",
];

async fn planned(engine: &Engine, sql: &str) -> (Planning, LogicalPlan) {
    let parsed = dialect::parse(sql).expect("parses");
    let Statement::Query(query) = parsed.statement else { panic!("{sql} is no query") };
    let planning = Planning::new(engine, parsed.tokens, Arc::new(Progress::default()), Arc::default());
    let plan = planning.query(*query).expect("is planned");
    (planning, plan)
}

#[tokio::test]
async fn plans_are_those_of_all_rules() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let database = Database::open(&directory.path().join("db"), OpenOptions::create()).expect("opens");
    let engine =
        Engine::try_new(database, EngineOptions { threads: 3, ..EngineOptions::default() }).expect("starts");
    let session = engine.session();
    for sql in TABLES {
        session.execute(sql).await.expect("makes tables");
    }
    let queries = SHORT.iter().map(|sql| (*sql, true)).chain(LONG.iter().map(|sql| (*sql, false)));
    for (sql, is_short) in queries {
        // Each from the beginning: aliases of subqueries are numbered.
        let (planning, plan) = planned(&engine, sql).await;
        assert_eq!(is_of_one_table(&plan), is_short, "{sql}");
        let optimized = engine.one_table().optimize(&plan, planning.state()).expect("is optimized");
        let (planning, plan) = planned(&engine, sql).await;
        let all = planning.state().optimize(&plan).expect("is optimized");
        assert_eq!(optimized.display_indent().to_string(), all.display_indent().to_string(), "{sql}");

        let (planning, plan) = planned(&engine, sql).await;
        let physical = planning.physical(&plan).await.expect("can be run");
        let (planning, plan) = planned(&engine, sql).await;
        let ungated = SessionStateBuilder::from(planning.state().clone());
        let ungated = ungated.with_physical_optimizer_rules(all_physical()).build();
        let all = ungated.create_physical_plan(&plan).await.expect("can be run");
        let text = |plan| displayable(plan).indent(false).to_string();
        assert_eq!(text(physical.as_ref()), text(all.as_ref()), "{sql}");
    }
}
