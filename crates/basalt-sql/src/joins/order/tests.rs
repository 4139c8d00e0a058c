// SPDX-License-Identifier: Apache-2.0
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::logical_expr::logical_plan::table_scan;
use datafusion::logical_expr::{LogicalPlanBuilder, col};
use datafusion::optimizer::OptimizerContext;

use super::*;

fn table(name: &str) -> LogicalPlanBuilder {
    let field = |name: &str| Field::new(name, DataType::Int64, true);
    table_scan(Some(name), &Schema::new(vec![field("k"), field("v")]), None).unwrap()
}

fn inner(left: LogicalPlanBuilder, right: LogicalPlan, on: &[(&str, &str)]) -> LogicalPlanBuilder {
    let on = on.iter().map(|(left, right)| col(*left).eq(col(*right)));
    left.join_on(right, JoinType::Inner, on).unwrap()
}

/// The equalities of `ON` as pairs, as the planner has them by then.
fn as_planned(plan: LogicalPlan) -> LogicalPlan {
    datafusion::optimizer::Optimizer::with_rules(vec![Arc::new(
        datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate::new(),
    )])
    .optimize(plan, &OptimizerContext::new(), |_, _| {})
    .unwrap()
}

fn reordered(plan: LogicalPlan) -> LogicalPlan {
    JoinOrder.rewrite(as_planned(plan), &OptimizerContext::new()).unwrap().data
}

fn build(builder: LogicalPlanBuilder) -> LogicalPlan {
    builder.build().unwrap()
}

#[test]
fn columns_and_their_order_stay() {
    let some = table("b").filter(col("b.v").eq(datafusion::prelude::lit(1))).unwrap();
    let joined = inner(table("a"), build(table("c")), &[("a.v", "c.v")]);
    let joined = inner(joined, build(some), &[("b.k", "c.k"), ("a.k", "b.v")]);
    let plan = build(joined);
    let found = reordered(plan.clone());
    assert_eq!(found.schema().columns(), plan.schema().columns());
    assert_ne!(found, as_planned(plan));
    let again = JoinOrder.rewrite(found.clone(), &OptimizerContext::new()).unwrap();
    assert_eq!(again.data.schema().columns(), found.schema().columns());
}

#[test]
fn every_condition_is_asked_once_more() {
    let joined = inner(table("a"), build(table("b")), &[("a.k", "b.k")]);
    let joined = joined
        .join_on(
            build(table("c")),
            JoinType::Inner,
            [col("c.k").eq(col("a.k") + col("b.v")), col("a.v").lt(col("c.v")), col("b.v").gt(col("a.v"))],
        )
        .unwrap();
    let text = reordered(build(joined)).display_indent().to_string();
    for condition in ["c.k = a.k + b.v", "a.k + b.v = c.k"] {
        if text.contains(condition) {
            assert!(text.contains("a.v < c.v") && text.contains("b.v > a.v"), "{text}");
            assert!(text.contains("a.k = b.k") || text.contains("b.k = a.k"), "{text}");
            return;
        }
    }
    panic!("a condition is missing: {text}");
}

#[test]
fn a_question_for_partners_goes_down_to_the_input_that_it_asks() {
    let joined = inner(table("a"), build(table("b")), &[("a.k", "b.k")]);
    let joined = inner(joined, build(table("c")), &[("b.v", "c.v")]);
    let asked = |keys: (Vec<&str>, Vec<&str>)| {
        let plan = joined.clone().join(build(table("d")), JoinType::LeftSemi, keys, None).unwrap();
        reordered(build(plan)).display_indent().to_string()
    };
    let text = asked((vec!["a.v"], vec!["d.k"]));
    assert!(!text.starts_with("LeftSemi Join"), "{text}");
    assert!(text.contains("LeftSemi Join: a.v = d.k"), "{text}");
    // Of two inputs it asks what both of them are joined to.
    let text = asked((vec!["a.v", "b.v"], vec!["d.k", "d.v"]));
    assert!(text.starts_with("LeftSemi Join: a.v = d.k, b.v = d.v"), "{text}");
}

#[test]
fn two_inputs_and_outer_joins_stay_as_they_are() {
    let two = as_planned(build(inner(table("a"), build(table("b")), &[("a.k", "b.k")])));
    assert_eq!(reordered(two.clone()), two);
    let outer = table("a").join_on(build(table("b")), JoinType::Left, [col("a.k").eq(col("b.k"))]).unwrap();
    let outer = as_planned(build(inner(outer, build(table("c")), &[("a.k", "c.k")])));
    assert_eq!(reordered(outer.clone()), outer);
}
