// SPDX-License-Identifier: Apache-2.0
//! Plans as text, a line per operator, and as JSON, for programs:
//!
//! ```text
//! {"operator": "BasaltScan", "details": "table=T, access=..", "rows_estimate": 7, "metrics": {"output_rows": 7}, "inputs": []}
//! ```

use std::sync::Arc;

use datafusion::common::stats::Precision;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use serde_json::{Map, Value, json};

/// How a plan is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// The plan has run: with what its operators counted.
    pub(crate) analyzed: bool,
    /// With more details.
    pub(crate) verbose: bool,
    /// As JSON.
    pub(crate) json: bool,
}

/// The lines of a plan; `title` says what is done with its rows.
pub(crate) fn lines(plan: Option<&Arc<dyn ExecutionPlan>>, title: Option<String>, form: Form) -> Vec<String> {
    if form.json {
        let plan = plan.map_or(Value::Null, |plan| operator(plan, form.analyzed));
        let whole = match title {
            Some(statement) => json!({ "statement": statement, "plan": plan }),
            None => json!({ "plan": plan }),
        };
        return vec![whole.to_string()];
    }
    let indent = if title.is_some() { "  " } else { "" };
    let mut lines: Vec<String> = title.into_iter().collect();
    if let Some(plan) = plan {
        let display = match form.analyzed {
            true => DisplayableExecutionPlan::with_metrics(plan.as_ref()),
            false => DisplayableExecutionPlan::new(plan.as_ref()),
        };
        let text = display.indent(form.verbose).to_string();
        lines.extend(text.lines().map(|line| format!("{indent}{line}")));
    }
    lines
}

fn operator(plan: &Arc<dyn ExecutionPlan>, analyzed: bool) -> Value {
    let text = DisplayableExecutionPlan::new(plan.as_ref()).one_line().to_string();
    let details = text.trim().strip_prefix(plan.name()).unwrap_or(text.trim());
    let mut shown = Map::new();
    shown.insert("operator".into(), plan.name().into());
    shown.insert("details".into(), details.trim_start_matches(':').trim().into());
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
    if let Some(rows) = statistics.ok().and_then(|found| match found.num_rows {
        Precision::Exact(rows) | Precision::Inexact(rows) => Some(rows),
        Precision::Absent => None,
    }) {
        shown.insert("rows_estimate".into(), rows.into());
    }
    if analyzed && let Some(metrics) = plan.metrics() {
        let counted = metrics.aggregate_by_name();
        let counted =
            counted.iter().map(|metric| (metric.value().name().to_owned(), metric.value().as_usize().into()));
        shown.insert("metrics".into(), Value::Object(counted.collect()));
    }
    let inputs = plan.children().into_iter().map(|child| operator(child, analyzed));
    shown.insert("inputs".into(), inputs.collect());
    Value::Object(shown)
}
