// SPDX-License-Identifier: Apache-2.0
//! Where sequences may be mentioned, and the rewriting of the plan.
//!
//! ```text
//! Projection: $next_value('', 'S', 1) + 1, K        Projection: $seq_0 + 1, K
//!   TableScan: T                                      Sequences: $seq_0 = NEXT VALUE FOR S
//!                                                       TableScan: T
//! ```

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result as PlanResult, exec_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Distinct, Expr, Extension, Limit, LogicalPlan, Projection, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Sort, Volatility, lit,
};
use datafusion::scalar::ScalarValue;

use super::dealer::{Currents, Dealer};
use super::node::{SequenceColumn, SequenceNode};
use super::table::SequenceName;
use crate::dialect::{CURRENT_VALUE, NEXT_VALUE};
use crate::error::{SqlError, code};

/// One mention of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The sequence.
    pub(crate) name: SequenceName,
    /// How many values; 0 for CURRENT VALUE.
    pub(crate) count: u32,
}

/// The two functions that stand for sequences until the plan is rewritten.
pub(crate) fn functions() -> [ScalarUDF; 2] {
    [NEXT_VALUE, CURRENT_VALUE].map(|name| {
        let arguments = vec![DataType::Utf8, DataType::Utf8, DataType::Int64];
        ScalarUDF::new_from_impl(Stand { name, signature: Signature::exact(arguments, Volatility::Volatile) })
    })
}

/// A function that is never called.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Stand {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Stand {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Int64)
    }

    fn display_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(label(self.name, args))
    }

    fn schema_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(label(self.name, args))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        exec_err!("a sequence was left in the plan")
    }
}

fn label(function: &str, args: &[Expr]) -> String {
    let Some(call) = parse_call(function, args) else { return function.to_owned() };
    match call.count {
        0 => format!("CURRENT VALUE FOR {}", call.name),
        1 => format!("NEXT VALUE FOR {}", call.name),
        count => format!("NEXT {count} VALUES FOR {}", call.name),
    }
}

fn parse_call(function: &str, args: &[Expr]) -> Option<Call> {
    let [Expr::Literal(schema, _), Expr::Literal(name, _), Expr::Literal(count, _)] = args else {
        return None;
    };
    let text = |value: &ScalarValue| value.try_as_str().flatten().map(str::to_owned);
    let ScalarValue::Int64(Some(count)) = count else { return None };
    let count = if function == CURRENT_VALUE { 0 } else { u32::try_from(*count).ok()? };
    // No schema is an empty text, which is NULL.
    let schema = text(schema).unwrap_or_default();
    Some(Call { name: SequenceName { schema, name: text(name)? }, count })
}

/// The sequence that this expression itself mentions.
pub(crate) fn call_of(expr: &Expr) -> Option<Call> {
    let Expr::ScalarFunction(function) = expr else { return None };
    let name = function.func.name();
    if name == NEXT_VALUE || name == CURRENT_VALUE { parse_call(name, &function.args) } else { None }
}

fn mentions(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(call_of(expr).is_some())).unwrap_or(true)
}

/// Replaces the mentions in select lists and refuses all others.
pub(crate) fn place(
    plan: LogicalPlan,
    dealer: &Arc<Dealer>,
    currents: &Currents,
) -> Result<LogicalPlan, SqlError> {
    if !plan_mentions(&plan)? {
        return Ok(plan);
    }
    let placed = plan.transform_down_with_subqueries(|plan| match plan {
        plan @ (LogicalPlan::Limit(_) | LogicalPlan::Sort(_)) => match above(&plan, dealer, currents)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None if plan.expressions().iter().any(mentions) => Err(misplaced()),
            None => Ok(Transformed::no(plan)),
        },
        LogicalPlan::Projection(projection) if projection.expr.iter().any(mentions) => {
            let input = Arc::clone(&projection.input);
            Ok(Transformed::yes(place_in(&projection.expr, input, false, dealer, currents)?))
        }
        LogicalPlan::Distinct(Distinct::All(ref input)) if takes_values(input) => Err(misplaced()),
        plan if plan.expressions().iter().any(mentions) => Err(misplaced()),
        plan => Ok(Transformed::no(plan)),
    });
    placed.map(|placed| placed.data).map_err(SqlError::from)
}

fn plan_mentions(plan: &LogicalPlan) -> Result<bool, SqlError> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        found |= plan.expressions().iter().any(mentions);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn misplaced() -> DataFusionError {
    SqlError::coded(
        code::SEQUENCE_PLACE,
        "NEXT VALUE FOR and CURRENT VALUE FOR may only stand in the list of a SELECT or in the VALUES of an UPSERT, \
         not in WHERE, GROUP BY, HAVING, ORDER BY, DISTINCT or within an aggregate",
    )
    .into()
}

fn takes_values(plan: &LogicalPlan) -> bool {
    let takes = |expr: &Expr| Ok(call_of(expr).is_some_and(|call| call.count > 0));
    let LogicalPlan::Projection(projection) = plan else { return false };
    projection.expr.iter().any(|expr| expr.exists(takes).unwrap_or(true))
}

/// The plan of a select list that is sorted or limited and mentions sequences, with the values taken behind that: in the order of the
/// answer, and for no other rows. `None` if there is no mention, or if the rows are sorted by the values themselves.
fn above(plan: &LogicalPlan, dealer: &Arc<Dealer>, currents: &Currents) -> PlanResult<Option<LogicalPlan>> {
    let (limit, input) = match plan {
        LogicalPlan::Limit(limit) => (Some(limit), limit.input.as_ref()),
        other => (None, other),
    };
    let (sort, input) = match input {
        LogicalPlan::Sort(sort) => (Some(sort), sort.input.as_ref()),
        other => (None, other),
    };
    let LogicalPlan::Projection(projection) = input else { return Ok(None) };
    let of_sequences: Vec<bool> = projection.expr.iter().map(mentions).collect();
    let names = projection.schema.columns();
    let by_values = |column: &Column| {
        let at = projection.schema.maybe_index_of_column(column);
        at.is_none_or(|at| of_sequences[at])
    };
    let mut sorted_by = sort.iter().flat_map(|sort| &sort.expr).flat_map(|by| by.expr.column_refs());
    if !of_sequences.contains(&true) || sorted_by.any(by_values) {
        return Ok(None);
    }
    // Below: what needs no sequence, and the columns that the rest is computed from.
    let mut below = vec![];
    let mut kept: Vec<(Column, Column)> = vec![];
    for (expr, takes) in projection.expr.iter().zip(&of_sequences) {
        if !takes {
            below.push(expr.clone());
            continue;
        }
        for column in expr.column_refs() {
            if kept.iter().all(|(known, _)| known != column) {
                let name = format!("$kept_{}", kept.len());
                below.push(Expr::Column(column.clone()).alias(name.clone()));
                kept.push((column.clone(), Column::new_unqualified(name)));
            }
        }
    }
    let preserver = NamePreserver::new_for_projection();
    let mut above = vec![];
    for ((expr, takes), name) in projection.expr.iter().zip(&of_sequences).zip(names) {
        above.push(if *takes {
            let shown = preserver.save(expr);
            let renamed = expr.clone().transform_up(|expr| match &expr {
                Expr::Column(column) => {
                    let new = kept.iter().find(|(known, _)| known == column);
                    Ok(new.map_or(Transformed::no(expr.clone()), |(_, new)| {
                        Transformed::yes(Expr::Column(new.clone()))
                    }))
                }
                _ => Ok(Transformed::no(expr)),
            })?;
            shown.restore(renamed.data)
        } else {
            Expr::Column(name)
        });
    }
    let mut input = Projection::try_new(below, Arc::clone(&projection.input)).map(LogicalPlan::Projection)?;
    if let Some(sort) = sort {
        input = LogicalPlan::Sort(Sort { input: Arc::new(input), ..sort.clone() });
    }
    if let Some(limit) = limit {
        input = LogicalPlan::Limit(Limit { input: Arc::new(input), ..limit.clone() });
    }
    place_in(&above, Arc::new(input), sort.is_some(), dealer, currents).map(Some)
}

/// A projection over `input` whose expressions mention sequences; `ordered` rows take their values in their order.
fn place_in(
    projected: &[Expr],
    input: Arc<LogicalPlan>,
    ordered: bool,
    dealer: &Arc<Dealer>,
    currents: &Currents,
) -> PlanResult<LogicalPlan> {
    let mut columns: Vec<SequenceColumn> = vec![];
    for expr in projected {
        expr.apply(|expr| {
            if let Some(call) = call_of(expr).filter(|call| call.count > 0) {
                add_column(&mut columns, call);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    let preserver = NamePreserver::new_for_projection();
    let mut exprs = Vec::with_capacity(projected.len());
    for expr in projected {
        let name = preserver.save(expr);
        let replaced = expr.clone().transform_up(|expr| match call_of(&expr) {
            Some(call) => Ok(Transformed::yes(replacement(&call, &columns, dealer, currents)?)),
            None => Ok(Transformed::no(expr)),
        })?;
        exprs.push(name.restore(replaced.data));
    }
    let mut input = input;
    if !columns.is_empty() {
        let (dealer, currents) = (Arc::clone(dealer), Arc::clone(currents));
        let node = SequenceNode::try_new(input.as_ref().clone(), columns, ordered, dealer, currents)?;
        input = Arc::new(LogicalPlan::Extension(Extension { node: Arc::new(node) }));
    }
    Projection::try_new(exprs, input).map(LogicalPlan::Projection)
}

fn add_column(columns: &mut Vec<SequenceColumn>, call: Call) {
    if !columns.iter().any(|column| column.name == call.name && column.count == call.count) {
        let label = format!("$seq_{}", columns.len());
        columns.push(SequenceColumn { name: call.name, count: call.count, label });
    }
}

/// CURRENT VALUE is the value of this row if the row takes one, else the last that the session got.
fn replacement(
    call: &Call,
    columns: &[SequenceColumn],
    dealer: &Dealer,
    currents: &Currents,
) -> PlanResult<Expr> {
    let column = columns
        .iter()
        .find(|column| column.name == call.name && (call.count == 0 || column.count == call.count));
    if let Some(column) = column {
        return Ok(Expr::Column(Column::new_unqualified(column.label.clone())));
    }
    Ok(lit(current(&call.name, dealer, currents)?))
}

/// The last value that the session got.
pub(crate) fn current(name: &SequenceName, dealer: &Dealer, currents: &Currents) -> Result<i64, SqlError> {
    if let Some(value) = currents.lock().get(name) {
        return Ok(*value);
    }
    dealer.check(name)?;
    Err(SqlError::coded(
        code::SEQUENCE_NO_CURRENT,
        format!("CURRENT VALUE FOR {name} is not known before NEXT VALUE FOR {name} in the same session"),
    ))
}
