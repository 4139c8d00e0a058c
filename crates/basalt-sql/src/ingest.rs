// SPDX-License-Identifier: Apache-2.0
//! Writing rows from batches, few or many.
//!
//! A [`RowWriter`] collects mutations. If they stay few they are one batch through the write-ahead log; if they
//! become many it goes over to a bulk ingest, whose files become visible together at the end. Either way nothing
//! is visible before [`RowWriter::finish`], and nothing happened if the writer is dropped.

use std::sync::Arc;

use basalt_hfile::typed::{RowEncoder, TypedError, arrow_field, arrow_type};
use basalt_model::rowkey::KeyError;
use basalt_model::schema::{ColumnRef, LookupError};
use basalt_model::{LATEST_TIMESTAMP, TableDescriptor, TableId, TableName, TableSchema, WriteBatch};
use basalt_store::{Durability, Ingest};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;

use crate::catalog;
use crate::coerce::coerce;
use crate::constant;
use crate::dialect::{self, TokenMap};
use crate::engine::Engine;
use crate::error::{SqlError, code, nearest};
use crate::index;
use crate::panics;
use crate::plan::Planning;
use crate::progress::Progress;
use crate::scan::BasaltTable;
use crate::sequence::Currents;
use crate::uncommitted::Uncommitted;

/// Most rows that go through the log as one batch.
pub(crate) const BATCH_ROWS_MAX: u64 = 65_536;
/// Most bytes that go through the log as one batch, or half of what a batch may have.
const BATCH_BYTES_MAX: u64 = 32 << 20;

/// Collects mutations of one table.
pub(crate) struct RowWriter {
    engine: Engine,
    table: TableId,
    durability: Durability,
    pending: WriteBatch,
    bulk: Option<Ingest>,
    /// All rows have to go through the log, for an index that allows or refuses each.
    checked: bool,
    rows: u64,
    progress: Arc<Progress>,
    /// Where rows wait for the commit of their session.
    uncommitted: Option<Arc<Uncommitted>>,
}

impl RowWriter {
    /// For a statement that changes rows.
    pub(crate) fn of(planning: &Planning, table: TableId) -> Self {
        let writer = Self::new(planning.engine.clone(), table, Arc::clone(&planning.progress));
        Self { uncommitted: planning.uncommitted.clone(), ..writer }
    }

    pub(crate) fn new(engine: Engine, table: TableId, progress: Arc<Progress>) -> Self {
        let unique = |index: &TableDescriptor| index.index.as_ref().is_some_and(|index| index.unique);
        let checked = engine.database().indexes(table).iter().any(|(_, index)| unique(index));
        // A table that is gone is missed when the rows are written.
        let durability = engine
            .database()
            .table_by_id(table)
            .map_or_else(|_| Durability::default(), |table| table.durability());
        Self {
            engine,
            table,
            durability,
            pending: WriteBatch::new(),
            bulk: None,
            checked,
            rows: 0,
            progress,
            uncommitted: None,
        }
    }

    /// Goes over to bulk ingest at once.
    pub(crate) fn in_bulk(mut self) -> Result<Self, SqlError> {
        self.bulk = Some(self.engine.database().ingest(self.table)?);
        Ok(self)
    }

    /// Where mutations are put; call [`Self::added`] afterwards.
    pub(crate) fn batch(&mut self) -> &mut WriteBatch {
        &mut self.pending
    }

    /// What was added and waits for the log; `None` once it is so much that it goes past it.
    pub(crate) fn waiting(&self) -> Option<&WriteBatch> {
        self.bulk.is_none().then_some(&self.pending)
    }

    /// `rows` mutations were put into the batch.
    pub(crate) fn added(&mut self, rows: u64) -> Result<(), SqlError> {
        self.rows += rows;
        self.progress.add_written(rows);
        if let Some(uncommitted) = &self.uncommitted {
            return uncommitted.check(self.engine.database(), &self.pending);
        }
        let bytes_max = BATCH_BYTES_MAX.min(self.engine.database().batch_bytes_max() / 2);
        let many = self.pending.len() as u64 > BATCH_ROWS_MAX || self.pending.size_bytes() as u64 > bytes_max;
        if self.bulk.is_none() && many && !self.checked {
            self.bulk = Some(self.engine.database().ingest(self.table)?);
        }
        if let Some(bulk) = &mut self.bulk
            && !self.pending.is_empty()
        {
            bulk.add(std::mem::take(&mut self.pending))?;
        }
        Ok(())
    }

    /// Adds the rows that an assembler makes of these columns: by column where a bulk ingest is under way and they are fit for it,
    /// else as mutations. On refusal the rows before the one at fault have been added.
    pub(crate) fn add(
        &mut self,
        assembler: &mut RowAssembler,
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<(), RowRefusal> {
        let stored = |error| RowRefusal { row: None, column: None, error };
        let before = self.pending.len();
        let result = match (&mut self.bulk, assembler.coerce(columns, rows)) {
            (Some(bulk), Ok(batch)) => match assembler.encoder.encode_columns(&batch, LATEST_TIMESTAMP) {
                Some(batch) => {
                    bulk.add_columns(batch).map_err(|error| stored(error.into()))?;
                    return self.added(rows as u64).map_err(stored);
                }
                None => assembler.encode(&batch, &mut self.pending),
            },
            (None, Ok(batch)) => assembler.encode(&batch, &mut self.pending),
            (_, Err(refusal)) => assembler.add_before(refusal, columns, rows, &mut self.pending),
        };
        let added = self.pending.len() - before;
        self.added(added as u64).map_err(stored)?;
        result
    }

    /// Rows added so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// As [`Self::finish`], without holding up other statements while indexes are built.
    pub(crate) async fn end(self) -> Result<u64, SqlError> {
        if self.bulk.is_none() || self.engine.database().indexes(self.table).is_empty() {
            return self.finish();
        }
        let ended = tokio::task::spawn_blocking(move || self.finish()).await;
        ended.unwrap_or_else(|error| Err(panics::of_task(error)))
    }

    /// Makes everything durable and visible, or gives it to those that wait for the commit; returns the number of rows.
    pub(crate) fn finish(self) -> Result<u64, SqlError> {
        match self.bulk {
            Some(bulk) => {
                self.progress.enter("finishing");
                bulk.finish()?;
                let rebuilt = index::rebuild_outdated(&self.engine, self.table, &self.progress);
                rebuilt.map_err(SqlError::after_writing)?;
            }
            None if self.pending.is_empty() => {}
            None => match self.uncommitted {
                Some(uncommitted) => {
                    uncommitted.add(self.engine.database(), &self.pending, self.durability)?;
                }
                None => {
                    self.engine.database().write(self.pending, self.durability)?;
                }
            },
        }
        Ok(self.rows)
    }
}

/// Turns batches of expressions into mutations of a table's columns.
pub(crate) struct RowAssembler {
    table: TableId,
    descriptor: Arc<TableDescriptor>,
    columns: Vec<ColumnRef>,
    /// Values of the last columns, the same in all rows.
    constants: Vec<ScalarValue>,
    schema: SchemaRef,
    encoder: RowEncoder,
    fresh: bool,
}

/// Why rows could not be written: the rows before `row` (counted in the batch) have been added.
#[derive(Debug)]
pub struct RowRefusal {
    /// The row at fault; `None` if it is none in particular.
    pub row: Option<usize>,
    /// The column at fault, where it is one.
    pub column: Option<String>,
    /// What is wrong, without naming row and column.
    pub error: SqlError,
}

impl RowRefusal {
    /// As the error of a statement; `first` is the number of the batch's first row, `rows` how many there are.
    pub(crate) fn into_error(self, first: u64, single: bool) -> SqlError {
        let column = self.column.map(|column| format!("column {column}"));
        let row = self.row.filter(|_| !single).map(|row| format!("row {}", first + row as u64 + 1));
        match (row, column) {
            (Some(row), Some(column)) => self.error.within(format!("{row}, {column}")),
            (Some(place), None) | (None, Some(place)) => self.error.within(place),
            (None, None) => self.error,
        }
    }
}

impl RowAssembler {
    /// For batches with these columns; each row gets `constants` besides. `fresh` promises that the table has none of
    /// the rows.
    pub(crate) fn try_new(
        table: TableId,
        descriptor: Arc<TableDescriptor>,
        mut columns: Vec<ColumnRef>,
        constants: Vec<(ColumnRef, ScalarValue)>,
        fresh: bool,
    ) -> Result<Self, SqlError> {
        columns.extend(constants.iter().map(|(column, _)| *column));
        let constants = constants.into_iter().map(|(_, value)| value).collect();
        let table_schema = schema_of(&descriptor)?;
        let encoder =
            RowEncoder::try_new(table_schema, &columns).map_err(|error| typed(error).into_error(0, true))?;
        // NULLs are refused by the encoder, which knows the row.
        let fields = columns.iter().map(|&column| arrow_field(table_schema, column).with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        Ok(Self { table, descriptor, columns, constants, schema, encoder, fresh })
    }

    /// Adds the rows; on refusal, those before the row at fault.
    pub(crate) fn add(
        &mut self,
        values: &[ArrayRef],
        rows: usize,
        out: &mut WriteBatch,
    ) -> Result<(), RowRefusal> {
        match self.coerce(values, rows) {
            Ok(batch) => self.encode(&batch, out),
            Err(refusal) => self.add_before(refusal, values, rows, out),
        }
    }

    /// Adds the rows before the one that was refused, and gives the refusal back.
    fn add_before(
        &mut self,
        refusal: RowRefusal,
        values: &[ArrayRef],
        rows: usize,
        out: &mut WriteBatch,
    ) -> Result<(), RowRefusal> {
        if let Some(row) = refusal.row.filter(|&row| row > 0 && row < rows) {
            let before: Vec<_> = values.iter().map(|values| values.slice(0, row)).collect();
            self.add(&before, row, out)?;
        }
        Err(refusal)
    }

    fn coerce(&self, values: &[ArrayRef], rows: usize) -> Result<RecordBatch, RowRefusal> {
        let schema = self.descriptor.schema.as_ref().expect("checked in try_new");
        let mut refusal: Option<RowRefusal> = None;
        let mut arrays = Vec::with_capacity(self.columns.len());
        let stored = |error: DataFusionError| RowRefusal { row: None, column: None, error: error.into() };
        let constants = self.constants.iter().map(|value| value.to_array_of_size(rows));
        let constants = constants.collect::<Result<Vec<_>, _>>().map_err(stored)?;
        for (&column, values) in self.columns.iter().zip(values.iter().chain(&constants)) {
            match coerce(values, schema.sql_type(column)) {
                Ok(array) => arrays.push(array),
                Err(found) => {
                    // The first row at fault is reported, whichever its column.
                    let earlier =
                        refusal.as_ref().is_none_or(|known| found.row.unwrap_or(0) < known.row.unwrap_or(0));
                    if earlier {
                        let column = Some(schema.name(column).to_owned());
                        refusal = Some(RowRefusal { row: found.row, column, error: found.error });
                    }
                }
            }
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(|error| RowRefusal {
            row: None,
            column: None,
            error: SqlError::internal(format!("the columns of a batch do not fit: {error}")),
        })
    }

    fn encode(&mut self, batch: &RecordBatch, out: &mut WriteBatch) -> Result<(), RowRefusal> {
        self.encoder.encode(batch, self.table, LATEST_TIMESTAMP, self.fresh, out).map_err(typed)
    }
}

fn schema_of(descriptor: &TableDescriptor) -> Result<&TableSchema, SqlError> {
    descriptor.schema.as_ref().ok_or_else(|| catalog::without_columns(&descriptor.name))
}

/// An encoder's error, taken apart.
pub(crate) fn typed(error: TypedError) -> RowRefusal {
    let code = error.phoenix_code().and_then(code::by_number);
    let (row, column) = (error.row_index(), error.column().map(str::to_owned));
    let (message, column) = match error {
        TypedError::Value { source, .. } => (source.to_string(), column),
        TypedError::Null { .. } | TypedError::Key { source: KeyError::Null { .. }, .. } => {
            ("the column may not be NULL".to_owned(), column)
        }
        TypedError::MissingColumn { .. } => {
            ("the column may not be NULL and has no value".to_owned(), column)
        }
        TypedError::RepeatedColumn { .. } => ("the column is listed twice".to_owned(), column),
        TypedError::Key { source: KeyError::Value { source, .. }, .. } => (source.to_string(), column),
        TypedError::Key { source, .. } => (source.to_string(), None),
        TypedError::Mutation { source, .. } => (source.to_string(), None),
        other => (other.to_string(), None),
    };
    let error = match code {
        Some(code) => SqlError::coded(code, message),
        None => SqlError::statement(message),
    };
    RowRefusal { row, column, error }
}

/// The column of this name, or an error with the nearest.
pub(crate) fn find_column(
    schema: &TableSchema,
    family: Option<&str>,
    name: &str,
) -> Result<ColumnRef, SqlError> {
    schema.find(family, name).map_err(|error| match error {
        LookupError::NotFound { name: written } => {
            let known = schema.declared_order().iter().map(|&column| schema.name(column));
            SqlError::coded(code::COLUMN_NOT_FOUND, format!("column {written} does not exist"))
                .suggest(nearest(name, known))
        }
        other => SqlError::coded(code::AMBIGUOUS_COLUMN, other.to_string()),
    })
}

/// The values of columns that are not among those written: DEFAULTs of key columns, the time of the statement for a
/// ROW_TIMESTAMP, and what a view fixes.
pub(crate) fn fill(
    planning: &Planning,
    table: &BasaltTable,
    written: &[ColumnRef],
) -> Result<Vec<(ColumnRef, ScalarValue)>, SqlError> {
    let schema = table.table_schema();
    let mut filled: Vec<(ColumnRef, ScalarValue)> = vec![];
    for (name, value) in table.fixed_columns()? {
        let column = find_column(schema, name.schema.as_deref(), &name.name)?;
        if !written.contains(&column) && filled.iter().all(|(known, _)| *known != column) {
            filled.push((column, constant::evaluate(planning, value.clone())?));
        }
    }
    for (index, key) in schema.key.iter().enumerate() {
        let column = ColumnRef::Key(index);
        if let Some(default) = schema.key_defaults.get(&key.name)
            && !written.contains(&column)
            && filled.iter().all(|(known, _)| *known != column)
        {
            filled.push((column, constant::evaluate(planning, dialect::parse_condition(default)?)?));
        }
        if schema.row_timestamp == Some(index)
            && !written.contains(&column)
            && filled.iter().all(|(known, _)| *known != column)
        {
            let now = ScalarValue::TimestampMillisecond(Some(planning.engine.now_ms()), None);
            filled.push((column, now.cast_to(&arrow_type(key.sql_type))?));
        }
    }
    Ok(filled)
}

/// Loads many rows into a table, without the write-ahead log. Nothing is visible before [`BulkLoad::finish`].
pub struct BulkLoad {
    assembler: RowAssembler,
    writer: RowWriter,
}

impl BulkLoad {
    pub(crate) fn open(
        engine: &Engine,
        table: &TableName,
        columns: Option<&[String]>,
        progress: Arc<Progress>,
    ) -> Result<Self, SqlError> {
        let planning = Planning::new(engine, TokenMap::default(), Arc::clone(&progress), Currents::default());
        let table = planning.table(table)?;
        let schema = table.table_schema();
        let columns = match columns {
            Some(names) => {
                names.iter().map(|name| find_column(schema, None, name)).collect::<Result<_, _>>()?
            }
            None => schema.declared_order().to_vec(),
        };
        let constants = fill(&planning, &table, &columns)?;
        let descriptor = Arc::clone(&table.descriptor);
        let assembler = RowAssembler::try_new(table.id, descriptor, columns, constants, false)?;
        let writer = RowWriter::new(engine.clone(), table.id, progress).in_bulk()?;
        Ok(Self { assembler, writer })
    }

    /// Adds the rows of a batch whose columns are those of [`Engine::bulk_load`], in that order. On refusal the
    /// rows before the one at fault have been added; go on with the rows behind it, or drop the load.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), RowRefusal> {
        self.writer.add(&mut self.assembler, batch.columns(), batch.num_rows())
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.writer.rows()
    }

    /// Makes all rows durable and visible at once; returns how many they are.
    pub fn finish(self) -> Result<u64, SqlError> {
        self.writer.finish()
    }
}

impl Engine {
    /// Opens a bulk load into `columns` of a table (all of them in declared order if `None`). A row whose key
    /// exists is overwritten, as by UPSERT.
    pub fn bulk_load(
        &self,
        table: &TableName,
        columns: Option<&[String]>,
        progress: Arc<Progress>,
    ) -> Result<BulkLoad, SqlError> {
        BulkLoad::open(self, table, columns, progress)
    }
}
