// SPDX-License-Identifier: Apache-2.0
use datafusion::prelude::{col, lit};

use super::*;

/// K has the numbers from 0 to 999, once each, and half of the rows have a price P below 10; nothing is known of other columns.
fn facts(column: &Column) -> Option<ValueFacts> {
    let range = |min: f64, max: f64, whole: bool| Some(NumberRange { min, max, whole });
    match column.name.as_str() {
        "k" => Some(ValueFacts { values: Some(1000.0), range: range(0.0, 999.0, true), filled: 1.0 }),
        "p" => Some(ValueFacts { values: Some(100.0), range: range(0.0, 10.0, false), filled: 0.5 }),
        _ => None,
    }
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
    near(col("k").gt_eq(lit(400)).and(col("k").lt(lit(500))), 0.1);
    near(col("k").lt(lit(3.5)), 0.0035);
    near(col("p").lt(lit(2.5)), 0.125);
    near(col("p").lt(lit(ScalarValue::Decimal128(Some(25), 5, 1))), 0.125);
    near(col("p").between(lit(2), lit(4)), 0.1);
    near(col("p").eq(lit(2)), 0.005);
    near(col("p").is_null(), 0.5);
    near(col("p").is_not_null(), 0.5);
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
        col("k").lt(lit("3")),
    ] {
        let share = share(&condition, &facts);
        assert!(share > 0.0 && share < 1.0, "{condition} leaves {share}");
    }
}
