// SPDX-License-Identifier: Apache-2.0
//! The rules that make a plan better, and which of them a plan is put through: short statements are planned for longer than they run.
//!
//! A query of one table needs no rule about joins, unions and subqueries, and its logical plan does not have to be looked at a second
//! time to see that nothing is left to do. A physical plan is put through a rule only if it has what the rule is about.

mod above_totals;
mod correlation;
mod counted_rows;
mod dependencies;
mod distinct_totals;
mod empty_branches;
mod gate;
mod index_orders;
mod null_joins;
mod outer_types;
mod product_types;
mod sortable_keys;
mod whole_sums;
mod window_keys;

use std::sync::Arc;

use basalt_sql_operators::{
    AggregateNumbers, FencedFilters, FencedProjections, FirstRowsAtOnce, JoinsTakeTurns, KeptOrders,
    LongSorts, NullableJoinFilters, SortRows, UnorderedInputs, WindowsAskForMemory,
};
use chrono::{DateTime, Utc};
use datafusion::common::Result;
use datafusion::common::alias::AliasGenerator;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

use crate::joins::JoinOrder;
use crate::scan::{
    self, ColumnsLate, CountsKnown, JoinKeysInScan, KeysFromTheEnd, LastRowsFirst, OffsetInScan,
    ScansShareWork, TotalsInScan,
};
use above_totals::AboveTotals;
use correlation::Correlation;
pub(crate) use correlation::is_equality;
pub(crate) use counted_rows::CountedRows;
pub(crate) use dependencies::DerivedTables;
use dependencies::Forget;
use distinct_totals::DistinctTotals;
use empty_branches::EmptyBranches;
use gate::gated;
use index_orders::IndexOrders;
use null_joins::NullJoins;
pub(crate) use outer_types::OuterTypes;
use product_types::ProductTypes;
use sortable_keys::SortableKeys;
pub(crate) use whole_sums::WholeSums;
use window_keys::WindowKeys;

/// DataFusion's rules for logical plans, and the order of joins once conditions are where they belong.
pub(crate) fn logical() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    let pushed = rules.iter().position(|rule| rule.name() == "push_down_filter");
    if let Some(at) = pushed {
        rules[at] = Arc::new(AboveTotals(Arc::clone(&rules[at])));
    }
    for rule in &mut rules {
        match rule.name() {
            "eliminate_cross_join" => *rule = Arc::new(NullJoins(Arc::clone(rule))),
            "propagate_empty_relation" => *rule = Arc::new(EmptyBranches(Arc::clone(rule))),
            "simplify_expressions" => *rule = Arc::new(ProductTypes(Arc::clone(rule))),
            _ => (),
        }
    }
    rules.insert(pushed.map_or(rules.len(), |at| at + 1), Arc::new(JoinOrder));
    let joined = rules.iter().position(|rule| rule.name() == "decorrelate_predicate_subquery");
    rules.insert(joined.unwrap_or(0), Arc::new(Correlation));
    let alone = rules.iter().position(|rule| rule.name() == "single_distinct_aggregation_to_group_by");
    rules.insert(alone.unwrap_or(rules.len()), Arc::new(DistinctTotals));
    for (user, forget) in FORGET {
        if let Some(at) = rules.iter().position(|rule| rule.name() == user) {
            rules.insert(at, Arc::new(Forget(forget)));
        }
    }
    rules.insert(0, Arc::new(WindowKeys));
    rules.push(Arc::new(SortableKeys));
    rules.push(Arc::new(IndexOrders));
    rules
}

/// Rules that make use of what columns say of others, and the names of those before them that let joins forget it.
const FORGET: [(&str, &str); 2] =
    [("eliminate_duplicated_expr", "forget_before_sorts"), ("optimize_projections", "forget_before_groups")];

/// Rules for physical plans, each asked only where a plan has something for it.
pub(crate) fn physical() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    all_physical().into_iter().map(gated).collect()
}

/// DataFusion's rules for physical plans, and ours.
fn all_physical() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    let sides = rules.iter().position(|rule| rule.name() == "join_selection");
    rules.insert(sides.map_or(0, |at| at + 1), Arc::new(UnorderedInputs));
    for rule in rules.iter_mut().filter(|rule| rule.name().starts_with("FilterPushdown")) {
        *rule = Arc::new(FencedFilters(Arc::clone(rule)));
    }
    for rule in rules.iter_mut().filter(|rule| rule.name() == "ProjectionPushdown") {
        *rule = Arc::new(FencedProjections(Arc::clone(rule)));
    }
    let statistics = rules.iter().position(|rule| rule.name() == "aggregate_statistics");
    rules.insert(statistics.unwrap_or(0), Arc::new(CountsKnown));
    let hints = rules.iter().position(|rule| rule.name() == "FilterPushdown(Post)");
    let hints = hints.unwrap_or(rules.len());
    rules.insert(hints, Arc::new(LongSorts));
    rules.insert(hints + 1, Arc::new(KeysFromTheEnd));
    rules.insert(hints + 2, Arc::new(FirstRowsAtOnce::new(scan::is_whole_scan)));
    rules.insert(hints + 3, Arc::new(ColumnsLate));
    let checked = rules.iter().position(|rule| rule.name() == "SanityCheckPlan");
    rules.insert(checked.unwrap_or(rules.len()), Arc::new(KeptOrders));
    rules.push(Arc::new(NullableJoinFilters));
    rules.push(Arc::new(OffsetInScan));
    rules.push(Arc::new(LastRowsFirst));
    rules.push(Arc::new(ScansShareWork));
    rules.push(Arc::new(TotalsInScan));
    rules.push(Arc::new(AggregateNumbers::new(scan::in_short_form)));
    rules.push(Arc::new(SortRows));
    rules.push(Arc::new(JoinKeysInScan));
    rules.push(Arc::new(WindowsAskForMemory));
    rules.push(Arc::new(JoinsTakeTurns));
    rules
}

/// Logical rules that change joins, unions and subqueries, and nothing else.
const OF_SEVERAL_INPUTS: [&str; 16] = [
    "rewrite_set_comparison",
    "optimize_unions",
    "unions_to_filter",
    "eliminate_join",
    "correlation",
    "decorrelate_predicate_subquery",
    "scalar_subquery_to_join",
    "decorrelate_lateral_join",
    "extract_equijoin_predicate",
    "eliminate_cross_join",
    "filter_null_join_keys",
    "eliminate_outer_join",
    "join_order",
    "forget_before_sorts",
    "forget_before_groups",
    "sortable_keys",
];

/// The optimizer of logical plans of one table.
#[derive(Debug)]
pub(crate) struct OneTable {
    optimizer: Optimizer,
    options: Arc<ConfigOptions>,
}

impl OneTable {
    /// With the options of the others, but for the number of passes.
    pub(crate) fn new(options: &ConfigOptions) -> Self {
        let mut rules = logical();
        rules.retain(|rule| !OF_SEVERAL_INPUTS.contains(&rule.name()));
        let mut options = options.clone();
        options.optimizer.max_passes = 1;
        Self { optimizer: Optimizer::with_rules(rules), options: Arc::new(options) }
    }

    /// As [`SessionState::optimize`] does, with fewer rules if the plan is of one table.
    pub(crate) fn optimize(&self, plan: &LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
        // What a plan that spills has in the place of others is not among these rules.
        if !is_of_one_table(plan) || !state.config_options().optimizer.prefer_hash_join {
            return state.optimize(plan);
        }
        let analyzed = state.analyzer().execute_and_check(plan.clone(), state.config_options(), |_, _| {})?;
        self.optimizer.optimize(analyzed, &OnePass { state, options: &self.options }, |_, _| {})
    }
}

/// A session whose optimizer looks at a plan once.
struct OnePass<'a> {
    state: &'a SessionState,
    options: &'a Arc<ConfigOptions>,
}

impl OptimizerConfig for OnePass<'_> {
    fn query_execution_start_time(&self) -> Option<DateTime<Utc>> {
        self.state.query_execution_start_time()
    }

    fn alias_generator(&self) -> &Arc<AliasGenerator> {
        self.state.alias_generator()
    }

    fn options(&self) -> Arc<ConfigOptions> {
        Arc::clone(self.options)
    }

    fn function_registry(&self) -> Option<&dyn FunctionRegistry> {
        OptimizerConfig::function_registry(self.state)
    }
}

/// True if a plan is one table, at most one step of each kind above it, and no subquery. Limits are not among them: they move when conditions have
/// moved, which takes a second pass.
pub(crate) fn is_of_one_table(plan: &LogicalPlan) -> bool {
    let (mut node, mut seen) = (plan, [false; 5]);
    loop {
        let (kind, input) = match node {
            LogicalPlan::Projection(projection) => (0, &projection.input),
            LogicalPlan::Filter(filter) => (FILTER, &filter.input),
            LogicalPlan::Aggregate(aggregate) if !seen[FILTER] && !has_sets(aggregate) => {
                (2, &aggregate.input)
            }
            LogicalPlan::Sort(sort) => (3, &sort.input),
            LogicalPlan::SubqueryAlias(alias) => (4, &alias.input),
            LogicalPlan::TableScan(_) => return true,
            _ => return false,
        };
        if std::mem::replace(&mut seen[kind], true) || has_subquery(node) {
            return false;
        }
        node = input;
    }
}

/// The place of filters among the kinds of steps. One above an aggregation may move below it, which takes a second pass.
const FILTER: usize = 1;

/// True for GROUPING SETS, CUBE and ROLLUP.
fn has_sets(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)))
}

/// True if an expression of this step has a query of its own.
fn has_subquery(node: &LogicalPlan) -> bool {
    let mut found = false;
    let look = |expr: &Expr| {
        found |= expr.exists(|expr| Ok(is_subquery(expr)))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    };
    node.apply_expressions(look).expect("the closure does not fail");
    found
}

/// True of an expression that is a query.
pub(crate) fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_))
}

#[cfg(test)]
mod tests;
