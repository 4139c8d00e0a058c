// SPDX-License-Identifier: Apache-2.0
//! From record batches to row mutations and row keys.
//!
//! The cells of a row are written in key order, which is the same for all rows: columns are sorted by family
//! and qualifier once, and every cell's header is a template. NULL in a column outside of the key is
//!
//! - nothing in a *fresh* row (bulk ingest: no older cell can exist),
//! - a DeleteColumn marker else,
//! - a cell of no bytes if the column has a DEFAULT, because there a missing cell means the default.
//!
//! Where a key column is the ROW_TIMESTAMP all cells of a row, and the markers among them, have its value as their timestamp.

use arrow::array::{Array, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use basalt_model::mutation::MutationError;
use basalt_model::rowkey::{KeyError, KeyWriter};
use basalt_model::schema::EMPTY_CELL_VALUE;
use basalt_model::types::value::invert;
use basalt_model::{
    CellTemplate, CellType, ColumnRef, KeyColumn, LATEST_TIMESTAMP, SortOrder, SqlType, TableId, TableSchema,
    TypeError, WriteBatch,
};

use super::error::TypedError;
use super::source::Source;
use crate::columnar::{ColumnBatch, Gathered, StringList};

/// Writes rows of one table from batches whose columns are `columns`, in that order.
#[derive(Debug)]
pub struct RowEncoder {
    keys: KeyEncoder,
    /// In key order, the empty cell among them.
    cells: Vec<CellColumn>,
    /// The ROW_TIMESTAMP's name and position in the batch.
    row_timestamp: Option<(String, usize)>,
    key_buffer: Vec<u8>,
}

/// One cell of every row.
#[derive(Debug)]
struct CellColumn {
    name: String,
    family: Vec<u8>,
    qualifier: Vec<u8>,
    nullable: bool,
    has_default: bool,
    /// Type, and position in the batch; `None` for the empty cell.
    content: Option<(SqlType, usize)>,
}

/// Templates of one cell for one call, and where its values come from.
struct BoundCell<'a> {
    column: &'a CellColumn,
    source: Option<Source<'a>>,
    put: CellTemplate,
    delete: CellTemplate,
}

impl RowEncoder {
    /// An encoder for batches of the given columns: any subset that has every NOT NULL column (those with a
    /// DEFAULT may be left out), each once.
    pub fn try_new(schema: &TableSchema, columns: &[ColumnRef]) -> Result<Self, TypedError> {
        let keys = KeyEncoder::try_new(schema, columns)?;
        for (index, column) in schema.columns.iter().enumerate() {
            let written = columns.contains(&ColumnRef::Column(index));
            if !written && !column.nullable && column.default_sql.is_none() {
                return Err(TypedError::MissingColumn { column: column.name.clone() });
            }
        }
        let mut cells = vec![CellColumn {
            name: String::new(),
            family: schema.empty_family.clone().into_bytes(),
            qualifier: schema.empty_qualifier.clone(),
            nullable: false,
            has_default: false,
            content: None,
        }];
        for (position, &column) in columns.iter().enumerate() {
            let ColumnRef::Column(index) = column else { continue };
            let column = &schema.columns[index];
            cells.push(CellColumn {
                name: column.name.clone(),
                family: column.family.clone().into_bytes(),
                qualifier: column.qualifier.clone(),
                nullable: column.nullable,
                has_default: column.default_sql.is_some(),
                content: Some((column.sql_type, position)),
            });
        }
        cells.sort_by(|a, b| (&a.family, &a.qualifier).cmp(&(&b.family, &b.qualifier)));
        let row_timestamp = schema.row_timestamp.and_then(|index| {
            let position = columns.iter().position(|&column| column == ColumnRef::Key(index))?;
            Some((schema.key[index].name.clone(), position))
        });
        Ok(Self { keys, cells, row_timestamp, key_buffer: Vec::new() })
    }

    /// Appends one row mutation per row of `batch` to `out`. `fresh` promises that no row has older cells; `timestamp` is for
    /// tables without a ROW_TIMESTAMP.
    ///
    /// On error the rows before [`TypedError::row_index`] have been added; a caller that skips bad rows goes
    /// on with the slice behind it.
    pub fn encode(
        &mut self,
        batch: &RecordBatch,
        table: TableId,
        timestamp: i64,
        fresh: bool,
        out: &mut WriteBatch,
    ) -> Result<(), TypedError> {
        let keys = self.keys.bind(batch)?;
        let mut cells = bind_cells(&self.cells, batch, timestamp)?;
        let timestamps = match &self.row_timestamp {
            Some((name, position)) => Some((name, row_timestamps(batch.column(*position))?)),
            None => None,
        };
        let mut last = None;
        for row_index in 0..batch.num_rows() {
            self.key_buffer.clear();
            keys.append(row_index, &mut self.key_buffer)?;
            if let Some((name, timestamps)) = &timestamps {
                let timestamp = timestamps.value(row_index);
                if last != Some(timestamp) {
                    check_timestamp(name, row_index, timestamp)?;
                    cells.iter_mut().for_each(|cell| cell.set_timestamp(timestamp));
                    last = Some(timestamp);
                }
            }
            let mutation = |source| TypedError::Mutation { row_index, source };
            let mut row = out.row(table, &self.key_buffer).map_err(mutation)?;
            for cell in &cells {
                let Some(source) = &cell.source else {
                    row.templated(&cell.put, put_empty_cell).map_err(mutation)?;
                    continue;
                };
                let has_default = cell.column.has_default;
                let mut is_null = false;
                let put = |out: &mut Vec<u8>| {
                    let from = out.len();
                    source.append(row_index, out)?;
                    is_null = out.len() == from;
                    Ok(!is_null || has_default)
                };
                row.templated(&cell.put, put).map_err(|error: CellError| error.at(row_index, cell.column))?;
                if is_null && !cell.column.nullable {
                    return Err(TypedError::Null { row_index, column: cell.column.name.clone() });
                }
                if is_null && !has_default && !fresh {
                    row.templated(&cell.delete, |_| Ok(true)).map_err(mutation)?;
                }
            }
            row.finish();
        }
        Ok(())
    }

    /// The rows of a batch by column, for a writer of COLUMNAR; `None` if they are not all alike (ascending, without NULL, of one
    /// family and timestamp), or one of them cannot be stored, which [`Self::encode`] then says.
    pub fn encode_columns(&self, batch: &RecordBatch, timestamp: i64) -> Option<ColumnBatch> {
        if self.row_timestamp.is_some() {
            return None;
        }
        let family = &self.cells.first()?.family;
        let rows = batch.num_rows();
        if batch.columns().iter().any(|column| column.null_count() > 0) {
            return None;
        }
        let keys = self.keys.bind(batch).ok()?;
        let mut row_keys = StringList::with_room(rows, 16 * rows);
        for row in 0..rows {
            row_keys.push_with(|out| keys.append(row, out)).ok()?;
        }
        let mut columns = ColumnBatch::of_rows(family, timestamp, row_keys)?;
        for cell in &self.cells {
            if cell.family != *family {
                return None;
            }
            let values = match cell.content {
                None => Gathered::Bytes((0..rows).map(|_| EMPTY_CELL_VALUE).collect()),
                Some((sql_type, position)) => {
                    bind_array(&cell.name, sql_type, batch.column(position)).ok()?.gathered(rows)?
                }
            };
            columns.push_column(&cell.qualifier, values)?;
        }
        Some(columns)
    }

    /// The row key of one row of a batch. For all rows of a batch see [`KeyEncoder`].
    pub fn encode_key(&self, batch: &RecordBatch, row_index: usize) -> Result<Vec<u8>, TypedError> {
        let mut out = Vec::new();
        self.keys.bind(batch)?.append(row_index, &mut out)?;
        Ok(out)
    }
}

impl BoundCell<'_> {
    fn set_timestamp(&mut self, timestamp: i64) {
        self.put.set_timestamp(timestamp);
        self.delete.set_timestamp(timestamp);
    }
}

/// Milliseconds since 1970 of the values of a ROW_TIMESTAMP; an error for types that cannot be one.
pub fn row_timestamps(values: &dyn Array) -> Result<Int64Array, TypedError> {
    let counted = cast(values, &DataType::Int64)?;
    let counted = counted.as_primitive::<Int64Type>();
    Ok(match values.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => counted.unary(|nanos| nanos.div_euclid(1_000_000)),
        _ => counted.clone(),
    })
}

/// What is no timestamp of a cell, or stands for that of the commit.
fn check_timestamp(name: &str, row_index: usize, timestamp: i64) -> Result<(), TypedError> {
    if (0..LATEST_TIMESTAMP).contains(&timestamp) {
        return Ok(());
    }
    let source = TypeError::RowTimestamp { value: timestamp };
    Err(TypedError::Value { row_index, column: name.to_owned(), source })
}

fn put_empty_cell(out: &mut Vec<u8>) -> Result<bool, MutationError> {
    out.extend_from_slice(EMPTY_CELL_VALUE);
    Ok(true)
}

/// What can go wrong inside of a cell, before the row and column are added.
enum CellError {
    Value(TypeError),
    Mutation(MutationError),
}

impl From<TypeError> for CellError {
    fn from(error: TypeError) -> Self {
        Self::Value(error)
    }
}

impl From<MutationError> for CellError {
    fn from(error: MutationError) -> Self {
        Self::Mutation(error)
    }
}

impl CellError {
    #[cold]
    fn at(self, row_index: usize, column: &CellColumn) -> TypedError {
        match self {
            Self::Value(source) => TypedError::Value { row_index, column: column.name.clone(), source },
            Self::Mutation(source) => TypedError::Mutation { row_index, source },
        }
    }
}

fn bind_cells<'a>(
    cells: &'a [CellColumn],
    batch: &'a RecordBatch,
    timestamp: i64,
) -> Result<Vec<BoundCell<'a>>, TypedError> {
    let template = |column: &CellColumn, cell_type| {
        CellTemplate::try_new(&column.family, &column.qualifier, timestamp, cell_type)
            .map_err(|source| TypedError::Mutation { row_index: 0, source })
    };
    let bind = |column: &'a CellColumn| {
        let source = match column.content {
            None => None,
            Some((sql_type, position)) => Some(bind_array(&column.name, sql_type, batch.column(position))?),
        };
        let (put, delete) = (template(column, CellType::Put)?, template(column, CellType::DeleteColumn)?);
        Ok(BoundCell { column, source, put, delete })
    };
    cells.iter().map(bind).collect()
}

fn bind_array<'a>(name: &str, sql_type: SqlType, array: &'a dyn Array) -> Result<Source<'a>, TypedError> {
    Source::bind(sql_type, array).ok_or_else(|| TypedError::ArrowType {
        column: name.to_owned(),
        sql_type,
        found: array.data_type().clone(),
    })
}

/// Makes row keys of batches whose columns are `columns`, in that order.
#[derive(Debug)]
pub struct KeyEncoder {
    /// The key columns in key order, each with its position in the batch.
    columns: Vec<(KeyColumn, Option<usize>)>,
    batch_columns: usize,
}

impl KeyEncoder {
    /// An encoder for batches of the given columns. Key columns that are left out are NULL.
    pub fn try_new(schema: &TableSchema, columns: &[ColumnRef]) -> Result<Self, TypedError> {
        for (position, &column) in columns.iter().enumerate() {
            if columns[..position].contains(&column) {
                return Err(TypedError::RepeatedColumn { column: schema.name(column).to_owned() });
            }
        }
        let mut found = Vec::with_capacity(schema.key.len());
        for (index, column) in schema.key.iter().enumerate() {
            let position = columns.iter().position(|&other| other == ColumnRef::Key(index));
            if position.is_none() && !column.nullable {
                return Err(TypedError::MissingColumn { column: column.name.clone() });
            }
            found.push((column.clone(), position));
        }
        Ok(Self { columns: found, batch_columns: columns.len() })
    }

    /// Calls `each` with the index and the row key of every row.
    pub fn encode<E: From<TypedError>>(
        &self,
        batch: &RecordBatch,
        mut each: impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let keys = self.bind(batch)?;
        let mut buffer = Vec::new();
        for row_index in 0..batch.num_rows() {
            buffer.clear();
            keys.append(row_index, &mut buffer)?;
            each(row_index, &buffer)?;
        }
        Ok(())
    }

    fn bind<'a>(&'a self, batch: &'a RecordBatch) -> Result<BoundKeys<'a>, TypedError> {
        if batch.num_columns() != self.batch_columns {
            let (expected, found) = (self.batch_columns, batch.num_columns());
            return Err(TypedError::ColumnCount { expected, found });
        }
        let bind = |(column, position): &'a (KeyColumn, Option<usize>)| {
            let array =
                position.map(|position| bind_array(&column.name, column.sql_type, batch.column(position)));
            Ok((column, array.transpose()?))
        };
        Ok(BoundKeys { columns: self.columns.iter().map(bind).collect::<Result<_, TypedError>>()? })
    }
}

struct BoundKeys<'a> {
    columns: Vec<(&'a KeyColumn, Option<Source<'a>>)>,
}

impl BoundKeys<'_> {
    #[inline]
    fn append(&self, row_index: usize, out: &mut Vec<u8>) -> Result<(), TypedError> {
        self.try_append(row_index, out).map_err(|source| TypedError::Key { row_index, source })
    }

    #[inline]
    fn try_append(&self, row_index: usize, out: &mut Vec<u8>) -> Result<(), KeyError> {
        let mut writer = KeyWriter::new(out);
        for (column, source) in &self.columns {
            let buffer = writer.buffer();
            let from = buffer.len();
            if let Some(source) = source {
                source
                    .append(row_index, buffer)
                    .map_err(|source| KeyError::Value { column: column.name.clone(), source })?;
                if column.order == SortOrder::Desc {
                    invert(column.sql_type, &mut buffer[from..]);
                }
            }
            writer.close(column, from)?;
        }
        writer.finish()
    }
}

/// Appends the bytes of one value of an array, as a key column of this type and order has them (without
/// separator); nothing for NULL.
pub fn encode_key_value(
    sql_type: SqlType,
    order: SortOrder,
    array: &dyn Array,
    row_index: usize,
    out: &mut Vec<u8>,
) -> Result<(), TypedError> {
    let source = bind_array("value", sql_type, array)?;
    let from = out.len();
    if let Err(source) = source.append(row_index, out) {
        out.truncate(from);
        return Err(TypedError::Value { row_index, column: "value".to_owned(), source });
    }
    if order == SortOrder::Desc {
        invert(sql_type, &mut out[from..]);
    }
    Ok(())
}
