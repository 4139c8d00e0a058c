// SPDX-License-Identifier: Apache-2.0
//! Texts beside DATEs and TIMESTAMPs, and DATEs beside TIMESTAMPs, where they are compared or stand in place of each other. The planner would
//! make nanoseconds of all, which a DATE before 1677 or behind 2262 has none of: a text becomes what it stands beside, and a DATE
//! out of a TIMESTAMP's range the first or last there is.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, TimestampNanosecondArray};
use datafusion::arrow::compute::unary;
use datafusion::arrow::datatypes::{DataType, TimeUnit, TimestampMillisecondType, TimestampNanosecondType};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use super::alike::with_alike;
use super::instant::parse_instant;
use super::numbers::rewrite_plan;
use super::plain::Plain;

const NANOS_A_MILLI: i64 = 1_000_000;

/// The rule before types are coerced.
#[derive(Debug)]
pub(crate) struct ComparedInstants {
    nanos: Arc<ScalarUDF>,
}

impl ComparedInstants {
    pub(crate) fn new() -> Self {
        let nanos = Plain::function("$nanos", |_, found| Ok(found.to_vec()), |_| TIMESTAMP, run_nanos);
        Self { nanos: Arc::new(nanos) }
    }

    /// Makes the texts among the values what the others are, and DATEs TIMESTAMPs where both are there; true if anything has changed.
    fn make_alike(&self, values: &mut [&mut Expr], schema: &DFSchema) -> bool {
        let types: Vec<Option<DataType>> = values.iter().map(|value| value.get_type(schema).ok()).collect();
        let has = |wanted: &DataType| types.iter().any(|found| found.as_ref() == Some(wanted));
        let wanted = match (has(&TIMESTAMP), has(&DATE)) {
            (true, _) => TIMESTAMP,
            (false, true) => DATE,
            _ => return false,
        };
        let mut changed = false;
        for (value, found) in values.iter_mut().zip(&types) {
            let instant = match &**value {
                Expr::Literal(literal, _) => of_literal(literal, &wanted),
                _ => None,
            };
            if let Some(instant) = instant {
                **value = Expr::Literal(instant, None);
                changed = true;
            } else if found.as_ref() == Some(&DATE) && wanted == TIMESTAMP {
                **value = self.nanos.call(vec![std::mem::take(*value)]);
                changed = true;
            }
        }
        changed
    }

    fn of_expr(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { mut left, op, mut right }) if op.negate().is_some() => {
                let changed = self.make_alike(&mut [left.as_mut(), right.as_mut()], schema);
                Transformed::new_transformed(Expr::BinaryExpr(BinaryExpr { left, op, right }), changed)
            }
            other => with_alike(other, |_, values| self.make_alike(values, schema)),
        }
    }
}

impl AnalyzerRule for ComparedInstants {
    fn name(&self) -> &str {
        "compared_instants"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            rewrite_plan(plan, |expr, schema| Ok(self.of_expr(expr, schema)))
        });
        rewritten.map(|rewritten| rewritten.data)
    }
}

const DATE: DataType = DataType::Timestamp(TimeUnit::Millisecond, None);
const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

/// The instant that a text or DATE of the statement is, as a value of the wanted type; `None` of anything else.
fn of_literal(literal: &ScalarValue, wanted: &DataType) -> Option<ScalarValue> {
    let nanos = match literal {
        ScalarValue::TimestampMillisecond(Some(millis), None) if *wanted == TIMESTAMP => {
            i128::from(*millis) * i128::from(NANOS_A_MILLI)
        }
        text => parse_instant(text.try_as_str()??)?,
    };
    Some(match *wanted {
        TIMESTAMP => {
            let within = nanos.clamp(i64::MIN.into(), i64::MAX.into());
            ScalarValue::TimestampNanosecond(Some(i64::try_from(within).ok()?), None)
        }
        _ => {
            let millis = i64::try_from(nanos.div_euclid(NANOS_A_MILLI.into())).ok()?;
            ScalarValue::TimestampMillisecond(Some(millis), None)
        }
    })
}

/// DATEs as TIMESTAMPs.
fn run_nanos(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let values = args.args[0].to_array(args.number_rows)?;
    let millis = values.as_primitive::<TimestampMillisecondType>();
    let nanos: TimestampNanosecondArray =
        unary::<_, _, TimestampNanosecondType>(millis, |millis| millis.saturating_mul(NANOS_A_MILLI));
    let nanos: ArrayRef = Arc::new(nanos);
    match &args.args[0] {
        ColumnarValue::Array(_) => Ok(ColumnarValue::Array(nanos)),
        ColumnarValue::Scalar(_) => ScalarValue::try_from_array(&nanos, 0).map(ColumnarValue::Scalar),
    }
}
