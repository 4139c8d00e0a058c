// SPDX-License-Identifier: Apache-2.0
//! Rows of a row group straight into columns, without making cells of them.

use std::ops::Range;

use basalt_model::rowkey::KeyError;

use super::{Column, KeyPlace, Place, RowDecoder, stored_error};
use crate::columnar::{ColumnarBlock, KeyPart, KeyRows};
use crate::error::Result as FileResult;
use crate::typed::column::{ReadError, ValueSource};
use crate::typed::error::TypedError;

impl RowDecoder {
    /// Reads what [`Self::push_vector`] will need of a row group, neighbouring sections at once.
    pub fn load(&self, block: &ColumnarBlock) -> FileResult<()> {
        let key = self.columns.iter().any(|column| matches!(column.place, Place::Key(_)));
        let columns = self.columns.iter().filter_map(|column| match &column.place {
            Place::Key(_) => None,
            Place::Cell(place) => block.column(&place.name[usize::from(place.family_len)..]),
        });
        block.load(key, &columns.collect::<Vec<_>>())
    }

    /// Takes some rows of a vector of a row group, which must be plain ([`ColumnarBlock::is_plain`]) and hold all
    /// cells of these rows that the decoder's columns need. No cell of them may have been or be pushed otherwise.
    pub fn push_vector(
        &mut self,
        block: &ColumnarBlock,
        vector: usize,
        rows: Range<usize>,
    ) -> Result<(), TypedError> {
        self.end()?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut keys: Option<KeyRows<'_>> = None;
        for Column { name, place, builder } in &mut self.columns {
            let result = match place {
                Place::Key(place) if place.is_part_of(block.key_parts()) => {
                    let values = block.key_vector(place.index, vector, &mut self.spare)?;
                    let result = builder.extend_vector(&values, rows.clone(), None);
                    self.spare.take_back(values);
                    result
                }
                Place::Key(place) => {
                    if keys.is_none() {
                        keys = Some(block.key_rows(vector)?);
                    }
                    let keys = keys.as_ref().expect("made above");
                    builder.extend(&mut RowValues::try_new(keys, rows.clone(), place)?)
                }
                Place::Cell(place) => match block.column(&place.name[usize::from(place.family_len)..]) {
                    Some(column) => {
                        let values = block.column_vector(column, vector, &mut self.spare)?;
                        let result = builder.extend_vector(&values, rows.clone(), place.default.as_deref());
                        self.spare.take_back(values);
                        result
                    }
                    None => {
                        builder.extend(&mut NoValues { rows: rows.len(), default: place.default.as_deref() })
                    }
                },
            };
            if let Err((row, error)) = result {
                return Err(error_of_row(block, vector, rows.start + row, name, error));
            }
        }
        self.rows_ready += rows.len();
        Ok(())
    }
}

#[cold]
fn error_of_row(
    block: &ColumnarBlock,
    vector: usize,
    row: usize,
    column: &str,
    error: ReadError,
) -> TypedError {
    let mut key = Vec::new();
    match block.key_rows(vector).and_then(|keys| keys.append(row, &mut key)) {
        Ok(()) => stored_error(column, &key, error),
        Err(error) => error.into(),
    }
}

impl KeyPlace {
    /// True if the parts of a block's row keys are the columns of the table's.
    fn is_part_of(&self, parts: &[KeyPart]) -> bool {
        parts.len() == self.count && parts[self.index].is_of(&self.column)
    }
}

/// A key column of rows whose keys are not stored by column.
struct RowValues<'a> {
    rows: Vec<Vec<u8>>,
    place: &'a KeyPlace,
}

impl<'a> RowValues<'a> {
    fn try_new(keys: &KeyRows<'_>, rows: Range<usize>, place: &'a KeyPlace) -> FileResult<Self> {
        let row = |index| {
            let mut row = Vec::new();
            keys.append(index, &mut row)?;
            Ok(row)
        };
        Ok(Self { rows: rows.map(row).collect::<FileResult<_>>()?, place })
    }
}

impl ValueSource for RowValues<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn value(&mut self, row: usize) -> Result<Option<&[u8]>, KeyError> {
        self.place.value(&self.rows[row]).map(Some)
    }
}

/// A column that no cell of the block belongs to.
struct NoValues<'a> {
    rows: usize,
    default: Option<&'a [u8]>,
}

impl ValueSource for NoValues<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn value(&mut self, _row: usize) -> Result<Option<&[u8]>, KeyError> {
        Ok(self.default)
    }
}
