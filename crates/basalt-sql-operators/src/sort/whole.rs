// SPDX-License-Identifier: Apache-2.0
//! How the planner sorts all rows into one sequence.

use std::sync::Arc;

use datafusion::physical_expr::LexOrdering;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

/// A sort without a limit whose answer is one sequence: of one partition, or of each of several, which are merged.
pub(crate) struct WholeSort<'a> {
    pub(crate) sort: &'a SortExec,
    /// Between the sort of each partition and the merge.
    pub(crate) projection: Option<&'a Arc<dyn ExecutionPlan>>,
    pub(crate) merge: Option<&'a SortPreservingMergeExec>,
}

impl<'a> WholeSort<'a> {
    /// The sort that ends with this node.
    pub(crate) fn ending_with(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() else {
            let sort = plan.downcast_ref::<SortExec>()?;
            let is_one = !sort.preserve_partitioning()
                && sort.properties().partitioning.partition_count() == 1
                && sort.fetch().is_none();
            return is_one.then_some(Self { sort, projection: None, merge: None });
        };
        let below = merge.input();
        let projection = below.downcast_ref::<ProjectionExec>();
        let sort = projection.map_or(below, |projection| projection.input()).downcast_ref::<SortExec>()?;
        let is_same = match projection {
            Some(projection) => is_projected(sort.expr(), projection, merge.expr()),
            None => sort.expr() == merge.expr(),
        };
        let is_whole = sort.preserve_partitioning() && sort.fetch().is_none() && merge.fetch().is_none();
        let projection = projection.map(|_| below);
        (is_same && is_whole).then_some(Self { sort, projection, merge: Some(merge) })
    }

    /// By what the rows of the answer are in order.
    pub(crate) fn order(&self) -> &'a LexOrdering {
        self.merge.map_or(self.sort.expr(), |merge| merge.expr())
    }
}

/// True if `above` names the columns by which `below` sorts as a projection hands them on.
fn is_projected(below: &LexOrdering, projection: &ProjectionExec, above: &LexOrdering) -> bool {
    let is_column = |at: usize| {
        let column = above[at].expr.downcast_ref::<Column>();
        let source = column.map(|column| &projection.expr()[column.index()].expr);
        source == Some(&below[at].expr) && above[at].options == below[at].options
    };
    below.len() == above.len() && (0..below.len()).all(is_column)
}
