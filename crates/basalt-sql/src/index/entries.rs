// SPDX-License-Identifier: Apache-2.0
//! From rows of a table to rows of its index, in batches. Builds, writes and checks all come through here, so that they
//! cannot differ.

use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_hfile::typed::{RowDecoder, RowEncoder, arrow_field, projected_schema};
use basalt_model::index::{IndexDescriptor, IndexSource};
use basalt_model::{ColumnRef, SqlType, TableDescriptor, TableSchema};
use basalt_store::read::families_of;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Scalar};
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{cast, filter_record_batch, is_not_null, prep_null_mask_filter};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::scalar::ScalarValue;

use crate::coerce::coerce;
use crate::dialect;
use crate::error::SqlError;
use crate::ingest::typed;
use crate::plan::Planning;
use crate::scan::BasaltTable;

/// Makes index rows.
#[derive(Debug, Clone)]
pub(super) struct Entries {
    base: Arc<TableSchema>,
    /// Columns of the base table that are read, in the order of batches.
    needed: Vec<ColumnRef>,
    /// Families in which a row of the base table has a cell if it is one.
    families: Option<Vec<String>>,
    condition: Option<Arc<dyn PhysicalExpr>>,
    values: Vec<Value>,
    /// The index's columns in declared order.
    columns: Vec<Column>,
    index: Arc<TableSchema>,
    schema: SchemaRef,
}

/// A value of a base row that the index holds.
#[derive(Debug, Clone)]
enum Value {
    /// The column at this position of the batch.
    Column(usize),
    Expression(Arc<dyn PhysicalExpr>, SqlType),
}

/// What a column of the index gets.
#[derive(Debug, Clone, Copy)]
enum Column {
    /// A value.
    Value(usize),
    /// A value, and zeros where it is NULL.
    Filled(usize),
    /// 1 where a value is, 0 where it is NULL.
    Presence(usize),
}

impl Entries {
    pub(super) fn try_new(planning: &Planning, descriptor: &TableDescriptor) -> Result<Self, SqlError> {
        let (Some(index), Some(schema)) = (&descriptor.index, &descriptor.schema) else {
            return Err(SqlError::internal(format!("{} is no index", descriptor.name)));
        };
        let table = planning.table(&index.on)?;
        let base = table.table_schema();
        let mut gathered =
            Gathered { planning, table: &table, declared: base.declared_order(), needed: vec![] };
        let condition = index.condition.as_deref().map(|text| gathered.expression(text)).transpose()?;
        let (values, names) = gathered.values(index, schema)?;
        let needed = gathered.needed;
        let arrow = projected_schema(base, &needed);
        let bound = |expr: Arc<dyn PhysicalExpr>| reassign_expr_columns(expr, &arrow).map_err(SqlError::from);
        let values = values.into_iter().map(|value| match value {
            Value::Expression(expr, sql_type) => Ok(Value::Expression(bound(expr)?, sql_type)),
            column => Ok(column),
        });
        let values = values.collect::<Result<Vec<_>, SqlError>>()?;
        let columns = columns(schema, &names)?;
        let fields = schema.declared_order().iter().map(|&column| arrow_field(schema, column));
        let fields: Vec<Field> = fields.map(|field| field.with_nullable(true)).collect();
        Ok(Self {
            families: base.has_empty_cell().then(|| families_of(base, &needed)),
            base: Arc::new(base.clone()),
            needed,
            condition: condition.map(bound).transpose()?,
            values,
            columns,
            index: Arc::new(schema.clone()),
            schema: Arc::new(Schema::new(fields)),
        })
    }

    /// The base table's columns that [`Self::make`] wants, in this order.
    pub(super) fn needed(&self) -> &[ColumnRef] {
        &self.needed
    }

    /// How the base table's columns lie.
    pub(super) fn base(&self) -> &Arc<TableSchema> {
        &self.base
    }

    /// The index's own columns.
    pub(super) fn index(&self) -> &TableSchema {
        &self.index
    }

    /// An encoder for what [`Self::make`] returns.
    pub(super) fn encoder(&self) -> Result<RowEncoder, SqlError> {
        RowEncoder::try_new(&self.index, self.index.declared_order()).map_err(|error| typed(error).error)
    }

    /// The index rows for rows of the base table, and which of these have one if not all do.
    pub(super) fn make(&self, rows: &RecordBatch) -> Result<(RecordBatch, Option<BooleanArray>), SqlError> {
        let kept = match &self.condition {
            None => None,
            Some(condition) => {
                let kept = condition.evaluate(rows)?.into_array(rows.num_rows())?;
                let kept = kept.as_boolean();
                Some(if kept.null_count() > 0 { prep_null_mask_filter(kept) } else { kept.clone() })
            }
        };
        let filtered;
        let rows = match &kept {
            Some(kept) => {
                filtered = filter_record_batch(rows, kept).map_err(arrow_error)?;
                &filtered
            }
            None => rows,
        };
        let values = self.values.iter().map(|value| self.value(value, rows));
        let values = values.collect::<Result<Vec<ArrayRef>, _>>()?;
        let columns =
            self.columns.iter().zip(self.index.declared_order()).map(|(column, &place)| match column {
                Column::Value(at) => Ok(Arc::clone(&values[*at])),
                Column::Presence(at) => {
                    let present = is_not_null(&values[*at]).map_err(arrow_error)?;
                    cast(&present, &DataType::Int8).map_err(arrow_error)
                }
                Column::Filled(at) => filled(&values[*at], self.index.sql_type(place)),
            });
        let columns = columns.collect::<Result<Vec<_>, SqlError>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(arrow_error)?;
        Ok((batch, kept))
    }

    fn value(&self, value: &Value, rows: &RecordBatch) -> Result<ArrayRef, SqlError> {
        match value {
            Value::Column(at) => Ok(Arc::clone(rows.column(*at))),
            Value::Expression(expr, sql_type) => {
                let array = expr.evaluate(rows)?.into_array(rows.num_rows())?;
                coerce(&array, *sql_type).map_err(|refusal| refusal.error)
            }
        }
    }

    /// The base rows that are there among some, given by their cells, as a batch; and which they are.
    pub(super) fn decode(&self, rows: &[Vec<CellRun>]) -> Result<(RecordBatch, Vec<usize>), SqlError> {
        let mut decoder = RowDecoder::of_columns(&self.base, &self.needed);
        let mut found = vec![];
        // Rows that follow each other in a block are decoded column by column, if they come as one run.
        let mut ahead: Option<CellRun> = None;
        for (position, runs) in rows.iter().enumerate() {
            if !self.is_row(runs) {
                continue;
            }
            found.push(position);
            for run in runs {
                match &mut ahead {
                    Some(last) if goes_on(last, run) => last.cells.end = run.cells.end,
                    _ => {
                        let last = ahead.replace(run.clone());
                        last.iter().try_for_each(|run| decoder.push(run))?;
                    }
                }
            }
        }
        ahead.iter().try_for_each(|run| decoder.push(run))?;
        decoder.end()?;
        Ok((decoder.finish_batch()?, found))
    }

    /// True if a scan of the needed columns would find the row.
    fn is_row(&self, runs: &[CellRun]) -> bool {
        let Some(families) = &self.families else { return !runs.is_empty() };
        let wanted = |family: &[u8]| families.iter().any(|wanted| wanted.as_bytes() == family);
        runs.iter().any(|run| run.cells.clone().any(|cell| wanted(run.block.cell(cell).family)))
    }
}

/// True if one run continues the other in its block.
fn goes_on(last: &CellRun, run: &CellRun) -> bool {
    Arc::ptr_eq(&last.block, &run.block) && last.cells.end == run.cells.start
}

fn arrow_error(error: datafusion::arrow::error::ArrowError) -> SqlError {
    datafusion::error::DataFusionError::from(error).into()
}

/// The values, with something of the type in place of NULL.
fn filled(values: &ArrayRef, sql_type: SqlType) -> Result<ArrayRef, SqlError> {
    if values.null_count() == 0 {
        return Ok(Arc::clone(values));
    }
    let filler = match (sql_type, values.data_type()) {
        // Texts and bytes of no length would be NULL again.
        (SqlType::Char(_), _) => ScalarValue::Utf8View(Some("0".to_owned())),
        (SqlType::Binary(width), _) => ScalarValue::Binary(Some(vec![0; width as usize])),
        (_, data_type) => ScalarValue::new_default(data_type)?,
    };
    let present = is_not_null(values).map_err(arrow_error)?;
    zip(&present, values, &Scalar::new(filler.to_array()?)).map_err(arrow_error)
}

/// What an index needs of its table.
struct Gathered<'a> {
    planning: &'a Planning,
    table: &'a Arc<BasaltTable>,
    declared: &'a [ColumnRef],
    needed: Vec<ColumnRef>,
}

/// Which of the values a column of the index shows.
type Names = Vec<(String, Column)>;

impl Gathered<'_> {
    fn need(&mut self, column: ColumnRef) -> usize {
        match self.needed.iter().position(|known| *known == column) {
            Some(position) => position,
            None => {
                self.needed.push(column);
                self.needed.len() - 1
            }
        }
    }

    fn expression(&mut self, text: &str) -> Result<Arc<dyn PhysicalExpr>, SqlError> {
        let expr = self.planning.row_expression(dialect::parse_condition(text)?, self.table)?;
        for column in collect_columns(&expr) {
            self.need(self.declared[column.index()]);
        }
        Ok(expr)
    }

    fn column(&mut self, family: Option<&str>, name: &str) -> Result<usize, SqlError> {
        let schema = self.table.table_schema();
        let missing = || SqlError::internal(format!("an index is of column {name}, which its table has not"));
        let column = match family {
            None => {
                schema.key.iter().position(|key| key.name == name).map(ColumnRef::Key).ok_or_else(missing)?
            }
            Some(family) => schema.find(Some(family), name).map_err(|_| missing())?,
        };
        Ok(self.need(column))
    }

    fn values(
        &mut self,
        index: &IndexDescriptor,
        schema: &TableSchema,
    ) -> Result<(Vec<Value>, Names), SqlError> {
        let (mut values, mut names) = (vec![], vec![]);
        for part in &index.parts {
            let at = values.len();
            values.push(match &part.source {
                IndexSource::Column(family, name) => Value::Column(self.column(family.as_deref(), name)?),
                IndexSource::Expression(text) => {
                    let column = schema.find(None, &part.column).map_err(|error| {
                        SqlError::internal(format!("an index lacks one of its columns: {error}"))
                    })?;
                    Value::Expression(self.expression(text)?, schema.sql_type(column))
                }
            });
            match &part.presence {
                None => names.push((part.column.clone(), Column::Value(at))),
                Some(presence) => {
                    names.push((presence.clone(), Column::Presence(at)));
                    names.push((part.column.clone(), Column::Filled(at)));
                }
            }
        }
        for copy in &index.copies {
            names.push((copy.column.clone(), Column::Value(values.len())));
            values.push(Value::Column(self.column(copy.family.as_deref(), &copy.name)?));
        }
        Ok((values, names))
    }
}

/// What each column of the index gets.
fn columns(schema: &TableSchema, names: &Names) -> Result<Vec<Column>, SqlError> {
    let of = |&column: &ColumnRef| {
        let name = schema.name(column);
        let found = names.iter().find(|(known, _)| known == name);
        found.map(|(_, column)| *column).ok_or_else(|| {
            SqlError::internal(format!("an index has a column {name} that nothing is written to"))
        })
    };
    schema.declared_order().iter().map(of).collect()
}
