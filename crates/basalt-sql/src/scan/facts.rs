// SPDX-License-Identifier: Apache-2.0
//! What planning knows of a table's values, and what share of the rows a condition leaves by that. Of integers and dates the
//! least and the greatest are known from the heads of row groups, of every column about how many values it has from the sketches
//! of the files; of what is in neither the share is guessed from the condition's form.

use std::sync::{Arc, OnceLock};

use basalt_model::{ColumnRef, SqlType, TableDescriptor, TableId};
use basalt_store::Snapshot;
use basalt_store::read::KnownValues;
use datafusion::common::{Column, ScalarValue};
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

const DAY_MS: i64 = 86_400_000;
/// Integers between the least and the greatest, for each row, up to which about all of them are taken to be there.
const SPREAD_MAX: f64 = 8.0;

/// What is known of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ValueFacts {
    /// Number of different values, at most and about.
    pub(crate) values: Option<f64>,
    /// The least and the greatest of integers and dates, in milliseconds for dates.
    pub(crate) bounds: Option<(i64, i64)>,
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
        let (bounds, distinct) = match column {
            ColumnRef::Key(part) => (known.bounds_of_key_part(part), known.distinct_of_key_part(part)),
            ColumnRef::Column(index) => {
                let qualifier = &schema.columns[index].qualifier;
                (known.bounds_of_column(qualifier), known.distinct_of_column(qualifier))
            }
        };
        let of_bounds = bounds.and_then(|bounds| self.spread(schema.sql_type(column), bounds));
        let fewest = |a: f64, b: f64| a.min(b);
        let values = [distinct, of_bounds].into_iter().flatten().reduce(fewest);
        let values = values.map(|values| values.min(self.rows as f64).max(1.0));
        (bounds.is_some() || values.is_some()).then_some(ValueFacts { values, bounds })
    }

    /// How many different integers there can be between two, if that is not beyond what rows can have.
    fn spread(&self, sql_type: SqlType, (min, max): (i64, i64)) -> Option<f64> {
        let whole_days = sql_type == SqlType::Date && min % DAY_MS == 0 && max % DAY_MS == 0;
        let unit = if whole_days { DAY_MS as f64 } else { 1.0 };
        let all = (max as f64 - min as f64) / unit + 1.0;
        (all <= self.rows as f64 * SPREAD_MAX).then_some(all)
    }
}

/// The share of the rows that a condition leaves. `facts` says what is known of a column.
pub(crate) fn share(condition: &Expr, facts: &impl Fn(&Column) -> Option<ValueFacts>) -> f64 {
    let one_of = |column: &Expr| {
        let values = column.try_as_col().and_then(facts).and_then(|facts| facts.values);
        values.map_or(EQUAL, |values| 1.0 / values.max(1.0))
    };
    let share = match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => share(left, facts) * share(right, facts),
            Operator::Or => share(left, facts) + share(right, facts),
            Operator::Eq if matches!(**right, Expr::Literal(..)) => one_of(left),
            Operator::Eq if matches!(**left, Expr::Literal(..)) => one_of(right),
            Operator::NotEq => 1.0 - EQUAL,
            Operator::Lt | Operator::LtEq => below(left, right, facts).unwrap_or(COMPARED),
            Operator::Gt | Operator::GtEq => below(right, left, facts).unwrap_or(COMPARED),
            _ => COMPARED,
        },
        Expr::InList(list) => {
            let share = (one_of(&list.expr) * list.list.len() as f64).min(LISTED_MAX);
            if list.negated { 1.0 - share } else { share }
        }
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let parts = (below(low, expr, facts), below(expr, high, facts));
            parts.0.unwrap_or(COMPARED) * parts.1.unwrap_or(COMPARED)
        }
        Expr::Like(like) if !like.negated => LIKE,
        Expr::Like(_) | Expr::IsNotNull(_) => 1.0 - LIKE,
        Expr::Not(inner) => 1.0 - share(inner, facts),
        _ => OTHER,
    };
    share.clamp(0.0, 1.0)
}

/// The share of rows in which one side is below the other, if one is a column with bounds and the other a value.
fn below(less: &Expr, more: &Expr, facts: &impl Fn(&Column) -> Option<ValueFacts>) -> Option<f64> {
    let (column, value, column_is_less) = match (less, more) {
        (Expr::Column(column), Expr::Literal(value, _)) => (column, value, true),
        (Expr::Literal(value, _), Expr::Column(column)) => (column, value, false),
        _ => return None,
    };
    let (min, max) = facts(column)?.bounds?;
    let share = (number(value)? - min as f64) / (max as f64 - min as f64).max(1.0);
    let share = share.clamp(0.0, 1.0);
    Some(if column_is_less { share } else { 1.0 - share })
}

fn number(value: &ScalarValue) -> Option<f64> {
    Some(match value {
        ScalarValue::Int8(Some(value)) => f64::from(*value),
        ScalarValue::Int16(Some(value)) => f64::from(*value),
        ScalarValue::Int32(Some(value)) => f64::from(*value),
        ScalarValue::Int64(Some(value)) | ScalarValue::TimestampMillisecond(Some(value), _) => *value as f64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
