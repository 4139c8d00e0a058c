// SPDX-License-Identifier: Apache-2.0
//! The blanks at the end of a CHAR(n). They are stored and read back without; as in Phoenix they count behind `||` and
//! in LENGTH and OCTET_LENGTH, and do not in comparisons.

use std::sync::Arc;

use basalt_hfile::typed::TYPE_METADATA;
use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, lit,
};
use datafusion::optimizer::AnalyzerRule;

use super::plain::Plain;

/// Functions that see the blanks.
const SEE_BLANKS: [&str; 5] = ["$concat", "length", "char_length", "character_length", "octet_length"];

/// The rule.
#[derive(Debug)]
pub(crate) struct CharBlanks {
    padded: Arc<ScalarUDF>,
}

impl CharBlanks {
    pub(crate) fn new() -> Self {
        let coerce = |_: &str, _: &[DataType]| Ok(vec![DataType::Utf8, DataType::Int64]);
        let padded = Plain::function("$padded", coerce, |_| DataType::Utf8, run_padded);
        Self { padded: Arc::new(padded) }
    }

    fn rewrite_plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        if matches!(plan, LogicalPlan::TableScan(_) | LogicalPlan::Extension(_) | LogicalPlan::Values(_)) {
            return Ok(Transformed::no(plan));
        }
        let schema = merge_schema(&plan.inputs());
        if !schema.fields().iter().any(|field| width(field.metadata().get(TYPE_METADATA)).is_some()) {
            return Ok(Transformed::no(plan));
        }
        let preserver = NamePreserver::new(&plan);
        let rewritten = plan.map_expressions(|expr| {
            let name = preserver.save(&expr);
            let rewritten = expr.transform_up(|expr| Ok(self.rewrite(expr, &schema)))?;
            Ok(rewritten.update_data(|expr| name.restore(expr)))
        })?;
        if rewritten.transformed { rewritten.map_data(LogicalPlan::recompute_schema) } else { Ok(rewritten) }
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        match expr {
            Expr::ScalarFunction(ScalarFunction { func, args }) if SEE_BLANKS.contains(&func.name()) => {
                let padded = |arg: Expr| match char_width(&arg, schema) {
                    Some(width) => self.padded.call(vec![arg, lit(width)]),
                    None => arg,
                };
                let args = args.into_iter().map(padded).collect();
                Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if is_comparison(op)
                    && (char_width(&left, schema).is_some() || char_width(&right, schema).is_some()) =>
            {
                let (left, right) = (Box::new(without_blanks(*left)), Box::new(without_blanks(*right)));
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Expr::Between(Between { expr, negated, low, high }) if char_width(&expr, schema).is_some() => {
                let (low, high) = (Box::new(without_blanks(*low)), Box::new(without_blanks(*high)));
                Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
            }
            Expr::InList(InList { expr, list, negated }) if char_width(&expr, schema).is_some() => {
                let list = list.into_iter().map(without_blanks).collect();
                Transformed::yes(Expr::InList(InList { expr, list, negated }))
            }
            expr => Transformed::no(expr),
        }
    }
}

impl AnalyzerRule for CharBlanks {
    fn name(&self) -> &str {
        "char_blanks"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| self.rewrite_plan(plan)).map(|rewritten| rewritten.data)
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// The n of a column of type CHAR(n).
fn char_width(expr: &Expr, schema: &DFSchema) -> Option<i64> {
    let Expr::Column(_) = expr else { return None };
    let (_, field) = expr.to_field(schema).ok()?;
    width(field.metadata().get(TYPE_METADATA))
}

fn width(sql_type: Option<&String>) -> Option<i64> {
    sql_type?.strip_prefix("CHAR(")?.strip_suffix(')')?.parse().ok()
}

fn without_blanks(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) => {
            Expr::Literal(ScalarValue::Utf8(Some(text.trim_end_matches(' ').to_owned())), metadata)
        }
        expr => expr,
    }
}

fn run_padded(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (texts, widths) =
        (args.args[0].to_array(args.number_rows)?, args.args[1].to_array(args.number_rows)?);
    let widths = widths.as_primitive::<Int64Type>();
    let padded = texts.as_string::<i32>().iter().zip(widths).map(|(text, width)| {
        let width = usize::try_from(width?).ok()?;
        Some(format!("{:width$}", text?))
    });
    Ok(ColumnarValue::Array(Arc::new(padded.collect::<StringArray>())))
}
