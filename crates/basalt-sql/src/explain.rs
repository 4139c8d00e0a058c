// SPDX-License-Identifier: Apache-2.0
//! Plans as text, a line per operator, and as JSON, for programs:
//!
//! ```text
//! {"operator": "BasaltScan", "details": "table=T, access=..", "rows_estimate": 7, "blocks_estimate": 1, "metrics": {"output_rows": 7}, "inputs": []}
//! ```
//!
//! EXPLAIN WITH REGIONS adds a line behind each scan, and a member `regions` to it, of the regions in which it reads.

use std::sync::Arc;

use basalt_model::escape::Escaped;
use basalt_store::{Database, RegionStats};
use datafusion::common::stats::Precision;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use serde_json::{Map, Value, json};

use crate::scan::BasaltScan;

/// Metadata of the column of an EXPLAIN's answer, if that is JSON: then its value is `json`.
pub const PLAN_FORMAT: &str = "basalt.format";

/// How a plan is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// The plan has run: with what its operators counted.
    pub(crate) analyzed: bool,
    /// With more details.
    pub(crate) verbose: bool,
    /// As JSON.
    pub(crate) json: bool,
    /// With the regions of scans.
    pub(crate) regions: bool,
}

/// The regions in which an operator reads, as texts; `None` if it is no scan.
pub(crate) type Regions<'a> = &'a dyn Fn(&Arc<dyn ExecutionPlan>) -> Option<Vec<String>>;

/// The regions in which a scan reads: number and rows, from the first one to before the last one.
pub(crate) fn regions(database: &Database, operator: &Arc<dyn ExecutionPlan>) -> Option<Vec<String>> {
    let scan = operator.downcast_ref::<BasaltScan>()?;
    let all = database.regions(scan.table_id()).ok()?;
    let read = all.iter().filter(|region| scan.reads(&region.range));
    let text = |region: &RegionStats| {
        let end = region.range.end.as_deref().map(|end| Escaped(end).to_string()).unwrap_or_default();
        format!("[region={}, rows='{}' to '{end}']", region.id.0, Escaped(&region.range.start))
    };
    Some(read.map(text).collect())
}

/// The lines of a plan; `title` says what is done with its rows.
pub(crate) fn lines(
    plan: Option<&Arc<dyn ExecutionPlan>>,
    title: Option<String>,
    form: Form,
    regions: Option<Regions<'_>>,
) -> Vec<String> {
    if form.json {
        let plan = plan.map_or(Value::Null, |plan| operator(plan, form.analyzed, regions));
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
        // A line per operator, inputs behind the operator that reads them.
        let mut operators = vec![plan];
        for line in text.lines() {
            let Some(operator) = operators.pop() else {
                lines.push(format!("{indent}{line}"));
                continue;
            };
            lines.push(format!("{indent}{}", estimated(line, operator)));
            operators.extend(operator.children().into_iter().rev());
            if let Some(regions) = regions.and_then(|regions| regions(operator)) {
                let blanks = line.len() - line.trim_start().len() + indent.len();
                let regions = regions.join(", ");
                lines.push(format!("{:blanks$}  (region locations = [{regions}])", ""));
            }
        }
    }
    lines
}

/// The line of an operator with how many rows it is expected to give, if that is known and the line does not say so itself.
fn estimated(line: &str, operator: &Arc<dyn ExecutionPlan>) -> String {
    let rows = rows_estimate(operator).filter(|_| !operator.is::<BasaltScan>());
    let Some(rows) = rows else { return line.to_owned() };
    let (front, metrics) = line.split_at(line.rfind(", metrics=[").unwrap_or(line.len()));
    let joint = if front.contains(": ") { "," } else { ":" };
    format!("{front}{joint} rows=~{rows}{metrics}")
}

/// How many rows an operator is expected to give, if something is known of that.
fn rows_estimate(operator: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(operator.as_ref(), &StatisticsArgs::new()).ok()?;
    match statistics.num_rows {
        Precision::Exact(rows) | Precision::Inexact(rows) => Some(rows),
        Precision::Absent => None,
    }
}

/// The lines of plans that are run one after the other, each for a clause of the statement.
pub(crate) fn lines_of_several(
    plans: &[(&str, Arc<dyn ExecutionPlan>)],
    title: String,
    form: Form,
    regions: Option<Regions<'_>>,
) -> Vec<String> {
    if form.json {
        let plans = plans.iter().map(
            |(clause, plan)| json!({ "clause": clause, "plan": operator(plan, form.analyzed, regions) }),
        );
        return vec![json!({ "statement": title, "plans": plans.collect::<Vec<_>>() }).to_string()];
    }
    let of_clause = |(clause, plan): &(&str, Arc<dyn ExecutionPlan>)| {
        let lines = lines(Some(plan), Some((*clause).to_owned()), form, regions);
        lines.into_iter().map(|line| format!("  {line}"))
    };
    std::iter::once(title).chain(plans.iter().flat_map(of_clause)).collect()
}

fn operator(plan: &Arc<dyn ExecutionPlan>, analyzed: bool, regions: Option<Regions<'_>>) -> Value {
    let text = DisplayableExecutionPlan::new(plan.as_ref()).one_line().to_string();
    let details = text.trim().strip_prefix(plan.name()).unwrap_or(text.trim());
    let mut shown = Map::new();
    shown.insert("operator".into(), plan.name().into());
    shown.insert("details".into(), details.trim_start_matches(':').trim().into());
    if let Some(rows) = rows_estimate(plan) {
        shown.insert("rows_estimate".into(), rows.into());
    }
    if let Some(blocks) = plan.downcast_ref::<BasaltScan>().and_then(BasaltScan::blocks_estimate) {
        shown.insert("blocks_estimate".into(), blocks.into());
    }
    if analyzed && let Some(metrics) = plan.metrics() {
        let counted = metrics.aggregate_by_name();
        let counted =
            counted.iter().map(|metric| (metric.value().name().to_owned(), metric.value().as_usize().into()));
        shown.insert("metrics".into(), Value::Object(counted.collect()));
    }
    if let Some(regions) = regions.and_then(|regions| regions(plan)) {
        shown.insert("regions".into(), regions.into());
    }
    let inputs = plan.children().into_iter().map(|child| operator(child, analyzed, regions));
    shown.insert("inputs".into(), inputs.collect());
    Value::Object(shown)
}
