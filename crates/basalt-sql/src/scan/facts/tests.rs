// SPDX-License-Identifier: Apache-2.0
use datafusion::prelude::{col, lit};

use super::*;

/// K has the numbers from 0 to 999, once each; nothing is known of other columns.
fn facts(column: &Column) -> Option<ValueFacts> {
    (column.name == "k").then_some(ValueFacts { values: Some(1000.0), bounds: Some((0, 999)) })
}

#[test]
fn comparisons_leave_what_lies_on_their_side() {
    let near = |condition: Expr, expected: f64| {
        let found = share(&condition, &facts);
        assert!((found - expected).abs() < 0.01, "{condition} leaves {found}, expected {expected}");
    };
    near(col("k").lt(lit(250)), 0.25);
    near(col("k").gt_eq(lit(250)), 0.75);
    near(lit(250).lt(col("k")), 0.75);
    near(col("k").between(lit(200), lit(1100)), 0.8);
    near(col("k").lt(lit(-5)), 0.0);
    near(col("k").gt(lit(-5)), 1.0);
    near(col("k").eq(lit(3)), 0.001);
    near(col("k").in_list((0..100).map(lit).collect(), false), 0.1);
    near(col("k").lt(lit(500)).or(col("k").gt_eq(lit(500))), 1.0);
}

#[test]
fn of_what_is_not_known_something_is_left_and_something_is_not() {
    for condition in [
        col("v").lt(lit(3)),
        col("v").eq(lit("x")),
        col("v").like(lit("a%")),
        col("v").eq(col("w")),
        col("v").in_list((0..100).map(lit).collect(), false),
        col("v").not_eq(lit(1)),
        col("v").is_null(),
        col("k").lt(lit(3.5)),
    ] {
        let share = share(&condition, &facts);
        assert!(share > 0.0 && share < 1.0, "{condition} leaves {share}");
    }
}
