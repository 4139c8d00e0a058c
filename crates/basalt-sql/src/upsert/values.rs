// SPDX-License-Identifier: Apache-2.0
//! UPSERT VALUES without the planner: a statement of a thousand rows is mostly literals, and a literal becomes a
//! value directly. Other expressions are planned once per distinct text and evaluated row by row.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_model::schema::ColumnRef;
use datafusion::arrow::array::{ArrayRef, new_null_array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, lit};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, UnaryOperator, Value};

use super::duplicate::Duplicates;
use super::{fixed, place_of_last};
use crate::coerce::coerce;
use crate::constant::one_row;
use crate::dialect::place_of;
use crate::error::{SqlError, code};
use crate::ingest::{RowAssembler, RowRefusal, RowWriter, fill, find_column};
use crate::plan::Planning;
use crate::returning::Changed;
use crate::scan::BasaltTable;
use crate::sequence::{self, Call};

/// Writes the rows as one atomic batch.
pub(super) fn upsert_values(
    planning: &Planning,
    table: &Arc<BasaltTable>,
    columns: Vec<ColumnRef>,
    rows: Vec<Vec<SqlExpr>>,
    duplicates: Option<Duplicates<'_>>,
) -> Result<Changed, SqlError> {
    let width = columns.len();
    if let Some((index, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != width) {
        let message = format!("row {} has {} values; the first row has {width}", index + 1, row.len());
        return Err(SqlError::coded(code::VALUE_COUNT, message).at(place_of_last(Some(row))));
    }
    check_fixed(table, &columns, &rows)?;
    planning.progress.enter("writing");
    let mut evaluator = Evaluator::new(planning, table, width)?;
    let count = rows.len();
    // Of many rows the message says which one is meant.
    let places: Vec<_> = match &rows[..] {
        [row] => row.iter().map(place_of).collect(),
        _ => vec![None; width],
    };
    let mut values: Vec<Vec<ScalarValue>> = (0..width).map(|_| Vec::with_capacity(count)).collect();
    for (index, row) in rows.into_iter().enumerate() {
        evaluator.next_row();
        for (column, expr) in row.into_iter().enumerate() {
            let value = evaluator.value(column, expr).map_err(|error| {
                let schema = table.table_schema();
                let place = format!("row {}, column {}", index + 1, schema.name(columns[column]));
                if count == 1 { error.at(places[column]) } else { error.within(place) }
            })?;
            values[column].push(value);
        }
    }
    let schema = table.table_schema();
    let mut arrays = Vec::with_capacity(width);
    let named: Vec<_> = columns.iter().map(|&column| schema.name(column).to_owned()).zip(places).collect();
    let refused = |refusal: RowRefusal| {
        let known = named.iter().find(|(name, _)| refusal.column.as_ref() == Some(name));
        refusal.into_error(0, count == 1).at(known.and_then(|(_, place)| *place))
    };
    for (&column, values) in columns.iter().zip(values) {
        let array = array_of(values, schema.sql_type(column)).map_err(|(row, error)| {
            refused(RowRefusal { row: Some(row), column: Some(schema.name(column).to_owned()), error })
        })?;
        arrays.push(array);
    }
    let constants = fill(planning, table, &columns)?;
    let descriptor = Arc::clone(&table.descriptor);
    let mut assembler = RowAssembler::try_new(table.id, descriptor, columns, constants, false)?;
    if let Some(duplicates) = duplicates {
        return duplicates.write(planning, table, &mut assembler, &arrays, count);
    }
    let mut writer = RowWriter::of(planning, table.id);
    let added = writer.add(&mut assembler, &arrays, count);
    added.map_err(refused)?;
    Ok(Changed { rows: writer.finish()?, returned: None })
}

/// A column that a view fixes may be written as it is.
fn check_fixed(table: &BasaltTable, columns: &[ColumnRef], rows: &[Vec<SqlExpr>]) -> Result<(), SqlError> {
    let schema = table.table_schema();
    for (name, value) in table.fixed_columns()? {
        let column = find_column(schema, name.schema.as_deref(), &name.name)?;
        if let Some(at) = columns.iter().position(|written| *written == column)
            && rows.iter().any(|row| row[at].to_string() != value.to_string())
        {
            return Err(fixed(name, value));
        }
    }
    Ok(())
}

/// The values of one column. Literals of one column are of one type as a rule; if not, each is coerced alone.
fn array_of(values: Vec<ScalarValue>, target: basalt_model::SqlType) -> Result<ArrayRef, (usize, SqlError)> {
    let first = values.iter().map(ScalarValue::data_type).find(|data_type| *data_type != DataType::Null);
    let Some(first) = first else { return Ok(new_null_array(&DataType::Null, values.len())) };
    let uniform = values.iter().all(|value| value.is_null() || value.data_type() == first);
    let internal = |error: datafusion::error::DataFusionError| (0, SqlError::from(error));
    if uniform {
        let null = ScalarValue::try_new_null(&first).map_err(internal)?;
        let typed = values.into_iter().map(|value| if value.is_null() { null.clone() } else { value });
        return ScalarValue::iter_to_array(typed).map_err(internal);
    }
    let mut parts = Vec::with_capacity(values.len());
    for (row, value) in values.into_iter().enumerate() {
        let array = value.to_array().map_err(|error| (row, SqlError::from(error)))?;
        parts.push(coerce(&array, target).map_err(|refusal| (row, refusal.error))?);
    }
    let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
    concat(&parts).map_err(|error| internal(error.into()))
}

/// Computes the values of a row.
struct Evaluator<'a> {
    planning: &'a Planning,
    table: &'a BasaltTable,
    empty: DFSchema,
    row: RecordBatch,
    /// By column: each has its own random numbers.
    compiled: Vec<HashMap<SqlExpr, Arc<dyn PhysicalExpr>>>,
    /// What this row has taken from sequences.
    taken: Vec<(Call, i64)>,
}

impl<'a> Evaluator<'a> {
    fn new(planning: &'a Planning, table: &'a BasaltTable, width: usize) -> Result<Self, SqlError> {
        let (row, compiled) = (one_row()?, vec![HashMap::new(); width]);
        Ok(Self { planning, table, empty: DFSchema::empty(), row, compiled, taken: vec![] })
    }

    fn next_row(&mut self) {
        self.taken.clear();
    }

    fn value(&mut self, column: usize, expr: SqlExpr) -> Result<ScalarValue, SqlError> {
        if let Some(value) = literal(&expr, false) {
            return Ok(value);
        }
        if let Some(compiled) = self.compiled[column].get(&expr) {
            return self.evaluate(&Arc::clone(compiled));
        }
        let planned = self.planning.expression(expr.clone(), &self.empty);
        let planned = planned.map_err(|error| self.of_columns(&expr, error))?;
        if let Some(call) = sequence::call_of(&planned) {
            return Ok(ScalarValue::Int64(Some(self.take(&call)?)));
        }
        let before = self.taken.len();
        let mut mentions = false;
        let planned = planned
            .transform_up(|expr| match sequence::call_of(&expr) {
                Some(call) => {
                    mentions = true;
                    Ok(Transformed::yes(lit(self.take(&call)?)))
                }
                None => Ok(Transformed::no(expr)),
            })
            .map_err(|error| self.planning.error(error))?
            .data;
        debug_assert!(mentions || self.taken.len() == before, "only mentions take values");
        let compiled = self.compile(planned)?;
        if !mentions {
            self.compiled[column].insert(expr, Arc::clone(&compiled));
        }
        self.evaluate(&compiled)
    }

    /// What is wrong with an expression that has no meaning without columns: perhaps it has one with them.
    fn of_columns(&self, expr: &SqlExpr, error: SqlError) -> SqlError {
        let name = self.table.relation_name().name.as_str();
        let columns = DFSchema::try_from_qualified_schema(name, self.table.arrow_schema());
        let planned = columns.map(|columns| self.planning.expression(expr.clone(), &columns));
        if error.code() != Some(code::COLUMN_NOT_FOUND) || !matches!(planned, Ok(Ok(_))) {
            return error;
        }
        let message = format!(
            "the values of an UPSERT are constants, and {expr} has the value of a column; use UPSERT .. SELECT or UPDATE"
        );
        SqlError::coded(code::VALUE_NOT_CONSTANT, message).at(error.position())
    }

    fn compile(&self, planned: Expr) -> Result<Arc<dyn PhysicalExpr>, SqlError> {
        self.planning.compile(planned, &self.empty)
    }

    fn evaluate(&self, compiled: &Arc<dyn PhysicalExpr>) -> Result<ScalarValue, SqlError> {
        let value = compiled.evaluate(&self.row).and_then(|value| value.into_array(1));
        value
            .and_then(|array| ScalarValue::try_from_array(&array, 0))
            .map_err(|error| self.planning.error(error))
    }

    /// All mentions of a sequence in one row give the same value.
    fn take(&mut self, call: &Call) -> Result<i64, SqlError> {
        let same = |(taken, _): &&(Call, i64)| {
            taken.name == call.name && (call.count == 0 || taken.count == call.count)
        };
        if let Some((_, value)) = self.taken.iter().find(same) {
            return Ok(*value);
        }
        let dealer = self.planning.engine.dealer();
        let runs = match call.count {
            0 => return sequence::current(&call.name, dealer, &self.planning.currents),
            1 => dealer.next(&call.name, 1)?,
            count => dealer.next_many(&call.name, u64::from(count), 1)?,
        };
        let value = runs[0].first;
        self.planning.currents.lock().insert(call.name.clone(), value);
        self.taken.push((call.clone(), value));
        Ok(value)
    }
}

/// The value of a literal, `None` for anything else.
fn literal(expr: &SqlExpr, negative: bool) -> Option<ScalarValue> {
    match expr {
        SqlExpr::Value(value) => match &value.value {
            Value::Number(digits, _) => number(digits, negative),
            Value::SingleQuotedString(text) if !negative => Some(ScalarValue::Utf8View(Some(text.clone()))),
            Value::Boolean(value) if !negative => Some(ScalarValue::Boolean(Some(*value))),
            Value::Null => Some(ScalarValue::Null),
            _ => None,
        },
        SqlExpr::UnaryOp { op: UnaryOperator::Minus, expr } if !negative => literal(expr, true),
        SqlExpr::UnaryOp { op: UnaryOperator::Plus, expr } => literal(expr, negative),
        _ => None,
    }
}

/// A whole number (`1e18` too), a DECIMAL (`1.5`) or a DOUBLE (`1.5e-3`), as Phoenix reads them.
fn number(digits: &str, negative: bool) -> Option<ScalarValue> {
    let sign = if negative { "-" } else { "" };
    if digits.contains(['e', 'E']) {
        let value: f64 = format!("{sign}{digits}").parse().ok()?;
        let is_whole = value.fract() == 0.0 && value.abs() < i64::MAX as f64;
        return Some(if is_whole {
            ScalarValue::Int64(Some(value as i64))
        } else {
            ScalarValue::Float64(Some(value))
        });
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unscaled = format!("{sign}{whole}{fraction}");
    if fraction.is_empty()
        && let Ok(value) = unscaled.parse()
    {
        return Some(ScalarValue::Int64(Some(value)));
    }
    let significant = whole.trim_start_matches('0').len() + fraction.len();
    let (precision, scale) = (u8::try_from(significant.max(1)).ok()?, i8::try_from(fraction.len()).ok()?);
    if precision > 38 {
        return None;
    }
    Some(ScalarValue::Decimal128(Some(unscaled.parse().ok()?), precision.max(scale.unsigned_abs()), scale))
}
