// SPDX-License-Identifier: Apache-2.0
//! Expressions that have one value: DEFAULT and the literals that a view fixes.

use std::sync::Arc;

use basalt_hfile::typed::encode_key_value;
use basalt_model::{SortOrder, SqlType};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::{Expr, Volatility};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;

use crate::coerce::coerce;
use crate::error::SqlError;
use crate::ingest::typed;
use crate::plan::Planning;

/// A batch of one row and no columns.
pub(crate) fn one_row() -> Result<RecordBatch, SqlError> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
        .map_err(|error| SqlError::internal(error.to_string()))
}

/// The value of an expression that has the same one each time.
pub(crate) fn evaluate(planning: &Planning, expr: SqlExpr) -> Result<ScalarValue, SqlError> {
    let empty = DFSchema::empty();
    let planned = planning.expression(expr, &empty)?;
    let varies = |expr: &Expr| {
        Ok(
            matches!(expr, Expr::ScalarFunction(function) if function.func.signature().volatility != Volatility::Immutable),
        )
    };
    if planned.exists(varies).unwrap_or(true) {
        return Err(SqlError::statement("the value must be a constant, the same for each row and moment"));
    }
    value_of(planning, planned)
}

/// The value that an expression without columns has in this statement.
pub(crate) fn evaluate_now(planning: &Planning, expr: SqlExpr) -> Result<ScalarValue, SqlError> {
    let planned = planning.expression(expr, &DFSchema::empty())?;
    value_of(planning, planned)
}

fn value_of(planning: &Planning, planned: Expr) -> Result<ScalarValue, SqlError> {
    let compiled = planning.compile(planned, &DFSchema::empty())?;
    let value = compiled.evaluate(&one_row()?).and_then(|value| value.into_array(1));
    value.and_then(|value| ScalarValue::try_from_array(&value, 0)).map_err(|error| planning.error(error))
}

/// The bytes of a value as a column of this type has them.
pub(crate) fn encode(value: &ScalarValue, sql_type: SqlType) -> Result<Vec<u8>, SqlError> {
    let array = value.to_array()?;
    let array = coerce(&array, sql_type).map_err(|refusal| refusal.error)?;
    let mut bytes = vec![];
    encode_key_value(sql_type, SortOrder::Asc, array.as_ref(), 0, &mut bytes)
        .map_err(|error| typed(error).error)?;
    Ok(bytes)
}
