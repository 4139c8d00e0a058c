// SPDX-License-Identifier: Apache-2.0
//! Which way to the rows of a table: the table itself, or one of its indexes.
//!
//! Every way gets a cost, in rows that a scan reads:
//!
//! | way | cost |
//! |---|---|
//! | table | rows that its key ranges leave |
//! | index that has all columns asked for | rows that its key ranges leave |
//! | index, then the table's rows by key | [`LOOK_UP_COST`] for each row that its key ranges leave |
//!
//! How many rows ranges leave is the share of bytes that the block index says, and not more than [`EQUAL_SHARE`] where a
//! condition says what an indexed value is. An index is of use only if its key is restricted, or a hint names it.

use std::sync::Arc;

use basalt_model::ColumnRef;
use datafusion::catalog::Session;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::physical_plan::ExecutionPlan;

use super::lookup::IndexLookup;
use super::{BasaltTable, index_only::IndexOnlyScan};
use crate::error::SqlError;
use crate::index::{Usable, unqualified};
use crate::keys::{self, Access, KeyAccess};

/// What it costs to read one row by its key, in rows that a scan reads in the same time.
const LOOK_UP_COST: u64 = 100;
/// Of so many rows one is expected to have a given value.
const EQUAL_SHARE: u64 = 200;

/// What was chosen.
pub(super) enum Chosen {
    /// An index.
    Index(Arc<dyn ExecutionPlan>),
    /// The table; why no index, if there are some.
    Table(Option<String>),
}

/// One index and what it would do.
struct Candidate<'a> {
    index: &'a Usable,
    /// Conditions in terms of the index.
    filters: Vec<Expr>,
    /// Nothing restricts its key.
    is_full: bool,
    covers: bool,
    rows: u64,
    cost: u64,
}

/// What a query asks of a table.
pub(super) struct Wish<'a> {
    pub(super) table: &'a BasaltTable,
    pub(super) projection: Option<&'a Vec<usize>>,
    pub(super) filters: &'a [Expr],
    pub(super) limit: Option<usize>,
}

impl Wish<'_> {
    /// Chooses, and plans the index's way if it is one.
    pub(super) fn choose(&self, state: &dyn Session) -> Result<Chosen> {
        let BasaltTable { indexes, hints, .. } = self.table;
        if indexes.is_empty() {
            return Ok(Chosen::Table(None));
        }
        if hints.none {
            return Ok(Chosen::Table(Some("none, by hint".to_owned())));
        }
        let filters: Vec<Expr> =
            self.filters.iter().cloned().flat_map(split_conjunction_owned).map(unqualified).collect();
        let (mut candidates, mut reasons) = (vec![], vec![]);
        for index in indexes {
            match self.candidate(index, &filters) {
                Ok(candidate) => candidates.push(candidate),
                Err(reason) => reasons.push(format!("{}: {reason}", index.name())),
            }
        }
        let mut preferred = hints.preferred(&self.table.relation_name().name);
        let named = |name: &str| candidates.iter().position(|candidate| candidate.index.name() == name);
        let hinted = preferred.find_map(named);
        let own = self.table.access(self.filters);
        let own_cost = rows_in(self.table, &own);
        let best = hinted.or_else(|| {
            let useful = |(_, candidate): &(usize, &Candidate<'_>)| candidate.is_restricted();
            let cheapest =
                candidates.iter().enumerate().filter(useful).min_by_key(|(_, candidate)| candidate.cost);
            let is_better = |cost: u64| cost < own_cost && !matches!(own.access, Access::Points(_));
            cheapest.filter(|(_, candidate)| is_better(candidate.cost)).map(|(position, _)| position)
        });
        let Some(best) = best else {
            reasons.extend(candidates.iter().map(|candidate| candidate.why_not(own_cost)));
            return Ok(Chosen::Table(Some(format!("none ({})", reasons.join("; ")))));
        };
        let best = candidates.remove(best);
        reasons.extend(candidates.iter().map(|candidate| candidate.why_not(best.cost)));
        self.plan(&best, state, &reasons).map(Chosen::Index)
    }

    fn candidate<'a>(
        &self,
        index: &'a Usable,
        filters: &[Expr],
    ) -> std::result::Result<Candidate<'a>, &'static str> {
        if let Some(reason) = index.unreadable {
            return Err(reason);
        }
        if !index.has_all(filters) {
            return Err("the query does not say its WHERE");
        }
        let said: Vec<Option<Expr>> = filters.iter().map(|filter| index.condition(filter)).collect();
        let columns = self.table.columns(self.projection);
        let has =
            |&column: &ColumnRef| index.place(&self.table.table_schema().display_name(column)).is_some();
        let covers = !index.is_loose && said.iter().all(Option::is_some) && columns.iter().all(has);
        let filters: Vec<Expr> = said.into_iter().flatten().collect();
        let access = keys::access(index.table.table_schema(), &filters);
        let mut rows = rows_in(&index.table, &access);
        if keys::fixes_values(index.table.table_schema(), &filters, index.leading()) {
            rows = rows.min(index.table.rows_estimate / EQUAL_SHARE + 1);
        }
        let cost = if covers { rows } else { rows.saturating_mul(LOOK_UP_COST) };
        let cost =
            if matches!(access.access, Access::Full) { cost.max(index.table.rows_estimate) } else { cost };
        Ok(Candidate { index, is_full: matches!(access.access, Access::Full), filters, covers, rows, cost })
    }

    fn plan(
        &self,
        chosen: &Candidate<'_>,
        state: &dyn Session,
        reasons: &[String],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let note = if reasons.is_empty() { String::new() } else { format!(", not {}", reasons.join("; ")) };
        if chosen.covers {
            return IndexOnlyScan::plan(self, chosen.index, &chosen.filters, state, note);
        }
        IndexLookup::plan(self, chosen.index, &chosen.filters, state, note)
    }
}

impl Candidate<'_> {
    fn is_restricted(&self) -> bool {
        !self.is_full
    }

    fn why_not(&self, cost: u64) -> String {
        let name = self.index.name();
        let rows = self.rows;
        if self.is_full {
            format!("{name}: no condition on its first value")
        } else if self.covers {
            format!("{name}: about {rows} rows of it, instead of {cost}")
        } else {
            format!("{name}: about {rows} rows by key, which cost {}, instead of {cost}", self.cost)
        }
    }
}

/// About how many rows an access reads.
fn rows_in(table: &BasaltTable, access: &KeyAccess) -> u64 {
    let ranges = match &access.access {
        Access::Nothing => return 0,
        Access::Points(keys) => return keys.len() as u64,
        Access::Full => return table.rows_estimate,
        Access::Ranges(ranges) => ranges,
    };
    let bytes = |ranges: &[basalt_model::KeyRange]| {
        let segments = table.snapshot.segments(table.id, ranges, 1);
        // What cannot be told now will be said by the scan.
        segments.map_or(0, |segments| segments.iter().map(|segment| segment.bytes_estimate).sum::<u64>())
    };
    let all = bytes(&[basalt_model::KeyRange::all()]).max(1);
    let share = u128::from(bytes(ranges).min(all)) * u128::from(table.rows_estimate) / u128::from(all);
    u64::try_from(share).unwrap_or(u64::MAX).max(ranges.len() as u64)
}

/// The error of a plan that lost a column.
pub(super) fn lost(column: &str) -> datafusion::error::DataFusionError {
    SqlError::internal(format!("an index was chosen that has no column {column}")).into()
}
