// SPDX-License-Identifier: Apache-2.0
//! Which way to the rows of a table: the table itself, or one of its indexes.
//!
//! Every way gets a cost, in rows that a scan reads:
//!
//! | way | cost |
//! |---|---|
//! | table | rows that its key ranges leave, and what beginning a scan costs |
//! | index that has all columns asked for | rows that its key ranges leave |
//! | index, then the table's rows by key | the same, and what a lookup costs ([`Cost`]) for each row that the index's conditions leave |
//! | any of these, where its rows must be sorted | the same number of rows on top, unless a limit leaves few |
//!
//! How many rows ranges leave is the share of bytes that the block index says, and not more than [`EQUAL_SHARE`] where a
//! condition says what an indexed value is. How many conditions leave is told by what is known of the columns' values. A way that has the wanted order reads so many rows as it takes to
//! find those that are wanted. An index is of use only if its key is restricted, if it has the wanted order, if it has all columns asked for and is
//! [`SMALL_SHARE`] times smaller than the table, or if a hint names it.

use std::borrow::Cow;
use std::sync::Arc;

use basalt_model::{ColumnRef, FamilyDescriptor, KeyRange};
use datafusion::catalog::Session;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::physical_plan::ExecutionPlan;

use super::cost::Cost;
use super::facts::share_of_all;
use super::lookup::IndexLookup;
use super::order::{IndexEnd, WantedOrder};
use super::{BasaltTable, index_only::IndexOnlyScan};
use crate::error::SqlError;
use crate::index::{Usable, unqualified};
use crate::keys::{self, Access, KeyAccess};

/// Of so many rows one is expected to have a given value.
const EQUAL_SHARE: u64 = 200;
/// An index that is so many times smaller than its table is read in its place. By column a table is read as an index is.
const SMALL_SHARE: u64 = 4;
/// How many times as many rows as are wanted may have to be read to find them, where conditions of the index leave some out, and where others do.
const MARGIN: u64 = 2;
const MARGIN_BY_ROW: u64 = 16;
/// Tables below this are read as they are.
const TABLE_BYTES_MIN: u64 = 1 << 20;

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
    /// It has the order that is wanted, from this end.
    order: Option<IndexEnd>,
    /// It would have it with ASC and DESC the other way round.
    is_turned: bool,
    /// It has all columns and is much smaller than the table.
    is_small: bool,
    /// Rows of it that are read.
    rows: u64,
    /// Rows of the table that are read by their keys, if it does not have all columns.
    named: u64,
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
        for index in indexes.iter() {
            match self.candidate(index, &filters) {
                Ok(candidate) => candidates.push(candidate),
                Err(reason) => reasons.push(format!("{}: {reason}", index.name())),
            }
        }
        let mut preferred = hints.preferred(&self.table.relation_name().name);
        let named = |name: &str| candidates.iter().position(|candidate| candidate.index.name() == name);
        let hinted = preferred.find_map(named);
        let own = self.table.access(self.filters);
        let own_cost = self.own_cost(&own);
        let best = hinted.or_else(|| {
            let useful = |(_, candidate): &(usize, &Candidate<'_>)| candidate.is_useful();
            let cheapest =
                candidates.iter().enumerate().filter(useful).min_by_key(|(_, candidate)| candidate.cost);
            let is_better = |cost: u64| cost < own_cost && !matches!(own.access, Access::Points(_));
            cheapest.filter(|(_, candidate)| is_better(candidate.cost)).map(|(position, _)| position)
        });
        let Some(best) = best else {
            reasons.extend(candidates.iter().map(|candidate| candidate.why_not(own_cost)));
            return Ok(Chosen::Table(Some(format!("none ({})", listed(&reasons)))));
        };
        let best = candidates.remove(best);
        reasons.extend(candidates.iter().map(|candidate| candidate.why_not(best.cost)));
        self.plan(&best, state, &best.note(own_cost, &reasons)).map(Chosen::Index)
    }

    /// What it costs to read the table itself.
    fn own_cost(&self, own: &KeyAccess) -> u64 {
        let rows = rows_in(self.table, own);
        let scanned = rows.saturating_add(self.cost().begin);
        let Some(order) = &self.table.order else { return scanned };
        match order.is_of_table(self.table, self.filters) {
            true if self.filters.is_empty() => rows.min(fetched(order)),
            true => rows,
            false => with_sort(scanned, rows, order),
        }
    }

    fn cost(&self) -> Cost {
        Cost::of(&self.table.snapshot, self.table.id, &self.table.descriptor)
    }

    /// About how many rows of the table conditions on its columns leave.
    fn rows_left<'f>(&self, filters: impl IntoIterator<Item = &'f Expr>) -> u64 {
        let share = share_of_all(filters, &|column| self.table.facts(&column.name));
        (self.table.rows_estimate() as f64 * share).ceil() as u64
    }

    fn candidate<'a>(
        &self,
        index: &'a Usable,
        filters: &[Expr],
    ) -> std::result::Result<Candidate<'a>, Cow<'a, str>> {
        if let Some(reason) = &index.unreadable {
            return Err(Cow::Borrowed(reason));
        }
        if !index.has_all(filters) {
            return Err("the query does not say its WHERE".into());
        }
        let (implied, filters): (Vec<&Expr>, Vec<&Expr>) =
            filters.iter().partition(|filter| index.implies(filter));
        let filters_count = filters.len();
        let said: Vec<Option<Expr>> = filters.iter().map(|filter| index.condition(filter)).collect();
        let are_said =
            filters.iter().zip(&said).filter(|(_, said)| said.is_some()).map(|(filter, _)| *filter);
        let named = self.rows_left(implied.into_iter().chain(are_said));
        let columns = self.table.columns(self.projection);
        let has =
            |&column: &ColumnRef| index.place(&self.table.table_schema().display_name(column)).is_some();
        let covers = !index.is_loose && said.iter().all(Option::is_some) && columns.iter().all(has);
        let filters: Vec<Expr> = said.into_iter().flatten().collect();
        let said_count = filters.len();
        let access = keys::access(index.table.table_schema(), &filters);
        let mut rows = rows_in(&index.table, &access);
        if keys::fixes_values(index.table.table_schema(), &filters, index.leading()) {
            rows = rows.min(index.table.rows_estimate / EQUAL_SHARE + 1);
        }
        let is_full = matches!(access.access, Access::Full);
        let order = self.table.order.as_ref();
        let end = order.and_then(|order| order.of_index(index, &filters));
        let is_turned = order.is_some_and(|order| order.is_of_turned_index(index, &filters));
        let is_small = is_full && covers && self.is_small(index);
        let mut named = named.min(rows);
        if let (Some(order), Some(_)) = (order, &end) {
            let margin = match (filters_count, said_count) {
                (0, _) => 1,
                (all, said) if said < all => MARGIN_BY_ROW,
                _ => MARGIN,
            };
            let found = Found { rows: self.rows_left(self.filters), margin };
            (rows, named) = (found.part_of(rows, order), found.part_of(named, order));
        }
        let looked_up = named.saturating_mul(self.cost().look_up);
        let mut cost = if covers { rows } else { rows.saturating_add(looked_up) };
        if is_small {
            cost /= SMALL_SHARE;
        } else if is_full && end.is_none() {
            cost = cost.max(index.table.rows_estimate);
        }
        if let Some(order) = order
            && end.is_none()
        {
            cost = with_sort(cost, rows, order);
        }
        Ok(Candidate { index, is_full, filters, covers, order: end, is_turned, is_small, rows, named, cost })
    }

    /// True if an index takes so much less to read than the table that it is better.
    fn is_small(&self, index: &Usable) -> bool {
        let by_column = |family: &FamilyDescriptor| family.encoding == "COLUMNAR";
        let counted = self.table.rows_exact.is_some() && self.projection.is_some_and(Vec::is_empty);
        if counted || self.table.descriptor.families.iter().any(by_column) {
            return false;
        }
        let table_bytes = bytes_of(self.table, &[KeyRange::all()]);
        let index_bytes = bytes_of(&index.table, &[KeyRange::all()]);
        table_bytes >= TABLE_BYTES_MIN && index_bytes.saturating_mul(SMALL_SHARE) <= table_bytes
    }

    fn plan(
        &self,
        chosen: &Candidate<'_>,
        state: &dyn Session,
        note: &str,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if chosen.covers {
            let end = chosen.order.clone().unwrap_or(IndexEnd::First);
            return IndexOnlyScan::plan(self, chosen.index, &chosen.filters, state, note.to_owned(), end);
        }
        let order = self.table.order.as_ref().zip(chosen.order.clone());
        IndexLookup::plan(self, chosen.index, &chosen.filters, state, note.to_owned(), order)
    }
}

/// Indexes that are named together if the same speaks against them.
const NAMED_TOGETHER: usize = 4;
/// Those of them that are named; the others are counted.
const NAMED_MOST: usize = 3;

/// Reasons, each behind the name of an index; many that are the same as one.
fn listed(reasons: &[String]) -> String {
    let parts = |reason: &String| -> Option<(String, String)> {
        let (name, why) = reason.split_once(": ")?;
        Some((name.to_owned(), why.to_owned()))
    };
    let mut groups: Vec<(String, Vec<String>)> = vec![];
    for (name, why) in reasons.iter().filter_map(parts) {
        match groups.iter_mut().find(|group| group.0 == why) {
            Some(group) => group.1.push(name),
            None => groups.push((why, vec![name])),
        }
    }
    let group = |(why, names): (String, Vec<String>)| match names.len() {
        ..NAMED_TOGETHER => names.iter().map(|name| format!("{name}: {why}")).collect::<Vec<_>>().join("; "),
        all => format!("{} and {} others: {why}", names[..NAMED_MOST].join(", "), all - NAMED_MOST),
    };
    groups.into_iter().map(group).collect::<Vec<_>>().join("; ")
}

impl Candidate<'_> {
    fn is_useful(&self) -> bool {
        !self.is_full || self.order.is_some() || self.is_small
    }

    /// What is said of it when it is chosen: why, unless it is a condition, and why not others.
    fn note(&self, own_cost: u64, reasons: &[String]) -> String {
        let why = match self {
            Self { is_full: true, order: Some(end), rows, cost, .. } => {
                let order =
                    if *end == IndexEnd::First { "in its order" } else { "in its order from the end" };
                format!(", {order}: about {rows} rows of it, which cost {cost}, instead of {own_cost}")
            }
            Self { is_small: true, .. } => ", smaller than the table".to_owned(),
            _ => String::new(),
        };
        if reasons.is_empty() { why } else { format!("{why}, not {}", listed(reasons)) }
    }

    fn why_not(&self, cost: u64) -> String {
        let name = self.index.name();
        let (rows, named) = (self.rows, self.named);
        if self.is_full && !self.is_useful() && self.is_turned {
            format!(
                "{name}: its rows come in the opposite order but for NULLs; one with DESC for ASC has the one that is wanted, or NULLS LAST"
            )
        } else if self.is_full && !self.is_useful() {
            format!("{name}: no condition on its first value")
        } else if self.covers {
            format!("{name}: about {rows} rows of it, instead of {cost}")
        } else {
            format!("{name}: about {named} rows by key, which cost {}, instead of {cost}", self.cost)
        }
    }
}

/// About how many rows satisfy all conditions of a query, and how many times as many as are wanted may have to be read to find those.
struct Found {
    rows: u64,
    margin: u64,
}

impl Found {
    /// What of rows in the wanted order is read until as many are found as are wanted, if those that are found lie about evenly among them.
    fn part_of(&self, all: u64, order: &WantedOrder) -> u64 {
        let wanted = fetched(order).saturating_mul(self.margin);
        let found = self.rows.max(1);
        let part = u128::from(all) * u128::from(wanted.min(found)) / u128::from(found);
        u64::try_from(part).unwrap_or(all).max(all.min(wanted))
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
    let all = bytes_of(table, &[KeyRange::all()]).max(1);
    let share =
        u128::from(bytes_of(table, ranges).min(all)) * u128::from(table.rows_estimate) / u128::from(all);
    u64::try_from(share).unwrap_or(u64::MAX).max(ranges.len() as u64)
}

/// About how many bytes a scan of the ranges reads.
fn bytes_of(table: &BasaltTable, ranges: &[KeyRange]) -> u64 {
    let segments = table.snapshot.segments(table.id, ranges, 1);
    // What cannot be told now will be said by the scan.
    segments.map_or(0, |segments| segments.iter().map(|segment| segment.bytes_estimate).sum::<u64>())
}

/// The cost of a way whose rows have to be sorted. With a limit few are kept, whatever comes.
fn with_sort(cost: u64, rows: u64, order: &WantedOrder) -> u64 {
    if order.fetch.is_some() { cost } else { cost.saturating_add(rows) }
}

/// How many rows are wanted.
fn fetched(order: &WantedOrder) -> u64 {
    order.fetch.map_or(u64::MAX, |fetch| fetch as u64)
}

/// The error of a plan that lost a column.
pub(super) fn lost(column: &str) -> datafusion::error::DataFusionError {
    SqlError::internal(format!("an index was chosen that has no column {column}")).into()
}
