// SPDX-License-Identifier: Apache-2.0
//! What planning knows of a table's values, and what share of the rows a condition leaves by that. Of numbers and moments the
//! least and the greatest are known from the heads of row groups, and of every column how many rows have a value; about how many different ones
//! there are is known from the sketches of the files. Of what is in neither the share is guessed from the condition's form.

use std::sync::{Arc, OnceLock};

use basalt_hfile::columnar::NumberRange;
use basalt_model::{ColumnRef, SqlType, TableDescriptor, TableId};
use basalt_store::Snapshot;
use basalt_store::read::KnownValues;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

/// Share of the rows that a comparison with one value leaves.
pub(crate) const EQUAL: f64 = 0.1;
/// The same of `<`, `>=` and their like, and of conditions on two columns.
pub(crate) const COMPARED: f64 = 0.33;
/// The same of LIKE.
const LIKE: f64 = 0.1;
/// The same of anything else, and of a list of values at most.
const OTHER: f64 = 0.25;
const LISTED_MAX: f64 = 0.5;

const DAY_MS: f64 = 86_400_000.0;
/// Integers between the least and the greatest, for each row, up to which about all of them are taken to be there.
const SPREAD_MAX: f64 = 8.0;

/// What is known of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ValueFacts {
    /// Number of different values, at most and about.
    pub(crate) values: Option<f64>,
    /// The least and the greatest of numbers, and of moments, in milliseconds.
    pub(crate) range: Option<NumberRange>,
    /// The share of the rows that have a value.
    pub(crate) filled: f64,
}

impl ValueFacts {
    /// Nothing.
    pub(crate) const UNKNOWN: Self = Self { values: None, range: None, filled: 1.0 };
}

/// A table's facts, found out when somebody asks.
#[derive(Debug)]
pub(crate) struct TableFacts {
    snapshot: Snapshot,
    id: TableId,
    descriptor: Arc<TableDescriptor>,
    rows: u64,
    known: OnceLock<KnownValues>,
}

impl TableFacts {
    pub(super) fn new(snapshot: Snapshot, id: TableId, descriptor: Arc<TableDescriptor>, rows: u64) -> Self {
        Self { snapshot, id, descriptor, rows, known: OnceLock::new() }
    }

    /// Of a column; `None` if nothing is known.
    pub(crate) fn of(&self, column: ColumnRef) -> Option<ValueFacts> {
        // What cannot be read is said by the scan.
        let known = self.known.get_or_init(|| self.snapshot.known_values(self.id).unwrap_or_default());
        let schema = self.descriptor.schema.as_ref()?;
        let (range, distinct, filled) = match column {
            ColumnRef::Key(part) => (known.range_of_key_part(part), known.distinct_of_key_part(part), None),
            ColumnRef::Column(index) => {
                let qualifier = &schema.columns[index].qualifier;
                let filled = known.filled_share(qualifier);
                (known.range_of_column(qualifier), known.distinct_of_column(qualifier), filled)
            }
        };
        let of_range = range.and_then(|range| self.spread(schema.sql_type(column), range));
        let fewest = |a: f64, b: f64| a.min(b);
        let values = [distinct, of_range].into_iter().flatten().reduce(fewest);
        let values = values.map(|values| values.min(self.rows as f64).max(1.0));
        if range.is_none() && values.is_none() && filled.is_none() {
            return None;
        }
        Some(ValueFacts { values, range, filled: filled.unwrap_or(1.0) })
    }

    /// How many different integers there can be between two, if that is not beyond what rows can have.
    fn spread(&self, sql_type: SqlType, range: NumberRange) -> Option<f64> {
        let NumberRange { min, max, whole: true } = range else { return None };
        let whole_days = sql_type == SqlType::Date && min % DAY_MS == 0.0 && max % DAY_MS == 0.0;
        let unit = if whole_days { DAY_MS } else { 1.0 };
        let all = (max - min) / unit + 1.0;
        (all <= self.rows as f64 * SPREAD_MAX).then_some(all)
    }
}

/// The share of the rows that conditions leave together. Two that bound a column on both sides are taken as one.
pub(crate) fn share_of_all<'a>(
    conditions: impl IntoIterator<Item = &'a Expr>,
    facts: &impl Fn(&Column) -> Option<ValueFacts>,
) -> f64 {
    let mut stretches: Vec<(&Column, Stretch)> = vec![];
    let mut others = 1.0;
    for condition in conditions.into_iter().flat_map(split_conjunction) {
        match stretch(condition, facts) {
            Some((column, found)) => match stretches.iter_mut().find(|(of, _)| *of == column) {
                Some((_, known)) => *known = known.and(found),
                None => stretches.push((column, found)),
            },
            None => others *= share(condition, facts),
        }
    }
    stretches.iter().fold(others, |share, (_, stretch)| share * stretch.share())
}

/// Values of a column from one part of its range to another, both between 0 and 1.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    low: f64,
    high: f64,
    /// See [`ValueFacts::filled`].
    filled: f64,
    /// What one value is, if that is known: a stretch has at least one.
    least: f64,
}

impl Stretch {
    fn and(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high), ..self }
    }

    fn share(self) -> f64 {
        // What lies outside of the range has no rows.
        let is_outside = self.low >= 1.0 || self.high <= 0.0;
        let part = if is_outside { 0.0 } else { (self.high - self.low).max(self.least) };
        (part * self.filled).clamp(0.0, 1.0)
    }
}

/// What a condition says of one column, if it bounds it.
fn stretch<'a>(
    condition: &'a Expr,
    facts: &impl Fn(&Column) -> Option<ValueFacts>,
) -> Option<(&'a Column, Stretch)> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::Lt | Operator::LtEq => side(left, right, facts),
            Operator::Gt | Operator::GtEq => side(right, left, facts),
            _ => None,
        },
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let ((column, above), (_, below)) = (side(low, expr, facts)?, side(expr, high, facts)?);
            Some((column, above.and(below)))
        }
        _ => None,
    }
}

/// What is left of a column that is less than a value, or more.
fn side<'a>(
    less: &'a Expr,
    more: &'a Expr,
    facts: &impl Fn(&Column) -> Option<ValueFacts>,
) -> Option<(&'a Column, Stretch)> {
    let (column, value, column_is_less) = match (less, more) {
        (Expr::Column(column), Expr::Literal(value, _)) => (column, value, true),
        (Expr::Literal(value, _), Expr::Column(column)) => (column, value, false),
        _ => return None,
    };
    let ValueFacts { values, range, filled } = facts(column)?;
    let NumberRange { min, max, whole } = range?;
    // Integers fill a place each, so that the greatest lies at the end of its own.
    let width = (max - min + f64::from(u8::from(whole))).max(f64::MIN_POSITIVE);
    let part = ((number(value)? - min) / width).clamp(0.0, 1.0);
    let least = values.map_or(0.0, |values| 1.0 / values.max(1.0));
    let (low, high) = if column_is_less { (0.0, part) } else { (part, 1.0) };
    Some((column, Stretch { low, high, filled, least }))
}

/// The share of the rows that a condition leaves. `facts` says what is known of a column.
pub(crate) fn share(condition: &Expr, facts: &impl Fn(&Column) -> Option<ValueFacts>) -> f64 {
    if let Some((_, stretch)) = stretch(condition, facts) {
        return stretch.share();
    }
    let of = |column: &Expr| column.try_as_col().and_then(facts);
    let one_of = |column: &Expr| match of(column) {
        Some(ValueFacts { values: Some(values), filled, .. }) => filled / values.max(1.0),
        _ => EQUAL,
    };
    let share = match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => share_of_all([condition], facts),
            Operator::Or => share(left, facts) + share(right, facts),
            Operator::Eq if matches!(**right, Expr::Literal(..)) => one_of(left),
            Operator::Eq if matches!(**left, Expr::Literal(..)) => one_of(right),
            Operator::NotEq => 1.0 - EQUAL,
            _ => COMPARED,
        },
        Expr::InList(list) => {
            let share = (one_of(&list.expr) * list.list.len() as f64).min(LISTED_MAX);
            if list.negated { 1.0 - share } else { share }
        }
        Expr::Between(Between { negated: false, .. }) => COMPARED * COMPARED,
        Expr::Like(like) if !like.negated => LIKE,
        Expr::Like(_) => 1.0 - LIKE,
        Expr::IsNull(inner) => of(inner).map_or(OTHER, |facts| 1.0 - facts.filled),
        Expr::IsNotNull(inner) => of(inner).map_or(1.0 - LIKE, |facts| facts.filled),
        Expr::Not(inner) => 1.0 - share(inner, facts),
        _ => OTHER,
    };
    share.clamp(0.0, 1.0)
}

fn number(value: &ScalarValue) -> Option<f64> {
    Some(match value {
        ScalarValue::Int8(Some(value)) => f64::from(*value),
        ScalarValue::Int16(Some(value)) => f64::from(*value),
        ScalarValue::Int32(Some(value)) => f64::from(*value),
        ScalarValue::UInt8(Some(value)) => f64::from(*value),
        ScalarValue::UInt16(Some(value)) => f64::from(*value),
        ScalarValue::UInt32(Some(value)) => f64::from(*value),
        ScalarValue::UInt64(Some(value)) => *value as f64,
        ScalarValue::Int64(Some(value)) | ScalarValue::TimestampMillisecond(Some(value), _) => *value as f64,
        ScalarValue::TimestampNanosecond(Some(value), _) => *value as f64 / 1e6,
        ScalarValue::Float32(Some(value)) => f64::from(*value),
        ScalarValue::Float64(Some(value)) => *value,
        ScalarValue::Decimal64(Some(value), _, scale) => *value as f64 / 10f64.powi(i32::from(*scale)),
        ScalarValue::Decimal128(Some(value), _, scale) => *value as f64 / 10f64.powi(i32::from(*scale)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
