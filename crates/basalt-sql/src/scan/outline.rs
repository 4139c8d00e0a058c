// SPDX-License-Identifier: Apache-2.0
//! Plans without their moment: what is left of one when its scan's snapshot is taken out, and the same plan again at another
//! snapshot.
//!
//! A plan that is kept for later may keep no files alive, and must not show later what it saw. So its scan becomes a [`ScanOutline`]: the table, the
//! columns, the conditions. When the plan is wanted again the scan is made anew of these, as the planner would, and takes its place
//! if it lies as the one before did: in as many partitions, in the same order. Nodes above are asked for copies, so that nothing of
//! an earlier run (metrics, what is left of a deal) is in a later one.

use std::fmt;
use std::sync::Arc;

use basalt_model::schema::ColumnRef;
use basalt_model::{TableDescriptor, TableId};
use basalt_store::{Database, Snapshot};
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};

use super::deal::Work;
use super::known_rows::KnownRows;
use super::shared::SharedWork;
use super::totals::ScanTotals;
use super::{BasaltScan, BasaltTable};
use crate::catalog::Relation;
use crate::error::SqlError;
use crate::progress::Progress;

/// Definitions that a plan was made for: of a table and its indexes.
#[derive(Debug)]
struct Definitions {
    table: Arc<TableDescriptor>,
    indexes: Vec<(TableId, Arc<TableDescriptor>)>,
}

impl Definitions {
    fn of(snapshot: &Snapshot, table: &TableDescriptor, id: TableId) -> Option<Self> {
        let (found, table) = snapshot.table(&table.name).ok()?;
        (found == id).then(|| Self { table, indexes: snapshot.indexes(id) })
    }

    /// True if nothing was defined anew in between.
    fn are(&self, now: &Self) -> bool {
        let mut indexes = self.indexes.iter().zip(&now.indexes);
        Arc::ptr_eq(&self.table, &now.table)
            && self.indexes.len() == now.indexes.len()
            && indexes.all(|(before, now)| before.0 == now.0 && Arc::ptr_eq(&before.1, &now.1))
    }
}

/// A scan without a snapshot.
#[derive(Debug)]
struct ScanOutline {
    id: TableId,
    /// With the columns of a view, or those that a statement adds.
    descriptor: Arc<TableDescriptor>,
    definitions: Definitions,
    columns: Vec<ColumnRef>,
    conditions: Vec<Expr>,
    limit: Option<usize>,
    note: Option<String>,
    deal: Option<usize>,
    in_any_order: bool,
    /// The number of its rows was known, which makes other plans.
    is_counted: bool,
    /// Rows of the table, about.
    table_rows: u64,
    properties: Arc<PlanProperties>,
}

/// Who asks for a plan again.
pub(crate) struct Asking<'a> {
    pub(crate) database: &'a Database,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) state: &'a dyn Session,
    pub(crate) progress: &'a Arc<Progress>,
}

impl ScanOutline {
    /// `None` of a scan that is more than these, or whose properties depend on the rows.
    fn of(scan: &BasaltScan) -> Option<Self> {
        let spec = scan.spec();
        let is_plain = scan.hints().is_empty()
            && !scan.is_backwards()
            && !scan.is_reversed()
            && spec.skip == 0
            && spec.as_of_ms.is_none()
            && !matches!(scan.properties().partitioning, Partitioning::Range(_));
        if !is_plain {
            return None;
        }
        Some(Self {
            id: spec.id,
            descriptor: Arc::clone(&spec.descriptor),
            definitions: Definitions::of(&spec.snapshot, &spec.descriptor, spec.id)?,
            columns: spec.columns.clone(),
            conditions: spec.conditions.clone(),
            limit: spec.limit,
            note: spec.note.clone(),
            deal: scan.deal(),
            in_any_order: scan.is_in_any_order(),
            is_counted: scan.rows_exact().is_some(),
            table_rows: spec.rows_estimate,
            properties: Arc::clone(scan.properties()),
        })
    }

    /// The scan at another snapshot; `None` if a plan that was made now would be another, or might be.
    fn scan(&self, asking: &Asking<'_>) -> Result<Option<BasaltScan>> {
        let now = Definitions::of(asking.snapshot, &self.descriptor, self.id);
        if !now.is_some_and(|now| self.definitions.are(&now)) {
            return Ok(None);
        }
        let (id, descriptor) = (self.id, Arc::clone(&self.descriptor));
        let relation = Relation { id, descriptor, view: None };
        let (snapshot, progress) = (asking.snapshot.clone(), Arc::clone(asking.progress));
        let Some(table) = BasaltTable::new(asking.database, snapshot, relation, progress) else {
            return Ok(None);
        };
        let declared = &table.table_schema().declared;
        let place = |column| declared.iter().position(|declared| *declared == column);
        let Some(projection) = self.columns.iter().map(|column| place(*column)).collect::<Option<Vec<_>>>()
        else {
            return Ok(None);
        };
        let access = table.access(&self.conditions);
        let (conditions, note) = (&self.conditions, self.note.clone());
        let spec = table.spec(asking.state, Some(&projection), conditions, self.limit, access, note)?;
        let scan = BasaltScan::try_new(spec).map_err(SqlError::from)?;
        let scan = match self.deal {
            Some(number) => scan.dealt(number),
            None if self.in_any_order => scan.in_any_order(),
            None => Some(scan),
        };
        let is_alike = |scan: &BasaltScan| {
            scan.rows_exact().is_some() == self.is_counted
                && are_alike(scan.spec().rows_estimate, self.table_rows)
                && lie_alike(scan.properties(), &self.properties)
        };
        Ok(scan.filter(is_alike))
    }
}

/// Tables of fewer rows are alike.
const FEW_ROWS: u64 = 1 << 10;

/// True if tables of so many rows are read in the same way: neither has twice as many as the other. An index may be worth its while for the
/// larger one where it was not for the smaller.
fn are_alike(one: u64, other: u64) -> bool {
    let (one, other) = (one.max(FEW_ROWS), other.max(FEW_ROWS));
    one <= other.saturating_mul(2) && other <= one.saturating_mul(2)
}

/// True if the nodes above cannot tell the two apart.
fn lie_alike(one: &PlanProperties, other: &PlanProperties) -> bool {
    let partitions = |properties: &PlanProperties| match properties.partitioning {
        Partitioning::UnknownPartitioning(count) => Some(count),
        _ => None,
    };
    partitions(one).is_some()
        && partitions(one) == partitions(other)
        && one.output_ordering() == other.output_ordering()
}

/// The plan without its moment; `None` of a plan that cannot be had again so: of another node than those of one table that have nothing of a run
/// in them.
pub(crate) fn outlined(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<BasaltScan>() {
        return ScanOutline::of(scan).map(|outline| Arc::new(outline) as _);
    }
    if let Some(known) = plan.downcast_ref::<KnownRows>() {
        return known.of(outlined(known.scan())?).map(|known| Arc::new(known) as _);
    }
    if !can_be_copied(plan) {
        return None;
    }
    let inputs = plan.children().into_iter().map(outlined).collect::<Option<_>>()?;
    match plan.downcast_ref::<SharedWork>() {
        Some(_) => Some(Arc::new(SharedWork::of(inputs, vec![]))),
        None => above(plan, inputs).ok(),
    }
}

/// The plan of an outline at the snapshot of who asks; `None` if it has to be planned anew.
pub(crate) fn at_moment(
    plan: &Arc<dyn ExecutionPlan>,
    asking: &Asking<'_>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    at(plan, asking, &mut vec![])
}

/// What is dealt out of the scans below is added to `work`.
fn at(
    plan: &Arc<dyn ExecutionPlan>,
    asking: &Asking<'_>,
    work: &mut Vec<Work>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(outline) = plan.downcast_ref::<ScanOutline>() {
        let Some(scan) = outline.scan(asking)? else { return Ok(None) };
        if outline.deal.is_some() {
            work.push(scan.work());
        }
        return Ok(Some(Arc::new(scan)));
    }
    if let Some(known) = plan.downcast_ref::<KnownRows>() {
        let scan = at(known.scan(), asking, work)?;
        return Ok(scan.and_then(|scan| known.of(scan)).map(|known| Arc::new(known) as _));
    }
    let mut inputs = vec![];
    for input in plan.children() {
        let Some(input) = at(input, asking, work)? else { return Ok(None) };
        inputs.push(input);
    }
    match plan.downcast_ref::<SharedWork>() {
        Some(_) => Ok(Some(Arc::new(SharedWork::of(inputs, std::mem::take(work))))),
        None => above(plan, inputs).map(Some),
    }
}

/// A copy of the node above others that have the properties of its inputs.
fn above(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    Arc::clone(plan).replace_children(inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))
}

/// True of nodes with one input, a copy of which has nothing of a run in it, and which tell their inputs nothing while they run.
fn can_be_copied(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_known = plan.is::<AggregateExec>()
        || plan.is::<ScanTotals>()
        || basalt_sql_operators::is_number_aggregate(plan.as_ref())
        || plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SharedWork>();
    is_known && plan.fetch().is_none()
}

impl DisplayAs for ScanOutline {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ScanOutline: {}", self.descriptor.name)
    }
}

impl ExecutionPlan for ScanOutline {
    fn name(&self) -> &str {
        "ScanOutline"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a plan without its moment was run")
    }
}
