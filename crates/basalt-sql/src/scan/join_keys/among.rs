// SPDX-License-Identifier: Apache-2.0
//! The condition that a column is among the keys of a join.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use basalt_hfile::predicate::NumberSet;
use datafusion::arrow::array::{AsArray, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

/// The condition. NULL is not among them.
#[derive(Debug)]
pub(in crate::scan) struct AmongKeys {
    column: Arc<dyn PhysicalExpr>,
    keys: Arc<NumberSet>,
}

impl AmongKeys {
    /// Of a column of integers.
    pub(super) fn new(column: Arc<dyn PhysicalExpr>, keys: Arc<NumberSet>) -> Self {
        Self { column, keys }
    }

    /// What is looked up.
    pub(in crate::scan) fn column(&self) -> &Arc<dyn PhysicalExpr> {
        &self.column
    }

    /// The keys.
    pub(in crate::scan) fn keys(&self) -> &Arc<NumberSet> {
        &self.keys
    }
}

impl PhysicalExpr for AmongKeys {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _schema: &Schema) -> Result<bool> {
        Ok(false)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let values = self.column.evaluate(batch)?.into_array(batch.num_rows())?;
        let values = cast(&values, &DataType::Int64)?;
        let has = |value: Option<i64>| value.is_some_and(|value| self.keys.has(value));
        let found: Vec<bool> = values.as_primitive::<Int64Type>().iter().map(has).collect();
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(found))))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.column]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self::new(Arc::clone(&children[0]), Arc::clone(&self.keys))))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AmongKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} among {} keys", self.column, self.keys.count())
    }
}

impl PartialEq for AmongKeys {
    fn eq(&self, other: &Self) -> bool {
        self.column.eq(&other.column) && Arc::ptr_eq(&self.keys, &other.keys)
    }
}

impl Eq for AmongKeys {}

impl Hash for AmongKeys {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.column.hash(state);
        Arc::as_ptr(&self.keys).hash(state);
    }
}
