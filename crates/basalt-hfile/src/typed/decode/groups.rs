// SPDX-License-Identifier: Apache-2.0
//! Rows of a row group straight into columns, without making cells of them.

use std::ops::Range;

use basalt_model::rowkey::KeyError;

use super::{Column, KeyPlace, Place, RowDecoder, stored_error};
use crate::columnar::{BoundPredicate, ColumnarBlock, KeyPart, KeyRows, Mask, Stored, VECTOR, Verdict};
use crate::error::Result as FileResult;
use crate::typed::column::{ReadError, ValueSource};
use crate::typed::error::TypedError;

/// Some rows of a vector, ascending.
#[derive(Debug, Clone)]
pub(in crate::typed) enum Selected {
    Range(Range<usize>),
    Rows(Vec<u16>),
}

impl Selected {
    pub(super) fn of(mask: &Mask) -> Self {
        if mask.is_none() {
            return Self::Range(0..0);
        }
        mask.as_range().map_or_else(|| Self::Rows(mask.row_numbers()), Self::Range)
    }

    pub(in crate::typed) fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Rows(rows) => rows.len(),
        }
    }

    /// The row at a position.
    #[inline]
    pub(in crate::typed) fn row(&self, at: usize) -> usize {
        match self {
            Self::Range(range) => range.start + at,
            Self::Rows(rows) => rows[at].into(),
        }
    }
}

impl RowDecoder {
    /// Reads what [`Self::push_vector`] or [`Self::add_up`] will need of a row group, neighbouring sections at once.
    pub fn load(&self, block: &ColumnarBlock) -> FileResult<()> {
        let open = self.columns.iter().enumerate().filter(|(at, _)| !self.is_known(*at));
        let (mut key, mut columns) = (false, Vec::new());
        for (_, column) in open {
            match &column.place {
                Place::Key(_) => key = true,
                Place::Cell(place) => {
                    columns.extend(block.column(&place.name[usize::from(place.family_len)..]))
                }
            }
        }
        block.load(key, &columns)
    }

    /// The rows of a vector that satisfy a predicate. What is decoded for it is kept until [`Self::push_vector`], which
    /// must come next for the same vector, or [`Self::pass_over`].
    pub fn select(
        &mut self,
        predicate: &BoundPredicate,
        block: &ColumnarBlock,
        vector: usize,
    ) -> FileResult<Mask> {
        predicate.select(block, vector, &mut self.held)
    }

    /// How many of some rows of a row group satisfy a predicate.
    pub fn count(
        &mut self,
        predicate: &BoundPredicate,
        block: &ColumnarBlock,
        rows: Range<usize>,
    ) -> FileResult<usize> {
        let mut count = 0;
        for vector in rows.start / VECTOR..rows.end.div_ceil(VECTOR) {
            let start = vector * VECTOR;
            let of_vector = rows.start.max(start) - start..rows.end.min(start + VECTOR) - start;
            count += match predicate.of_vector(block, vector)? {
                Verdict::None => 0,
                Verdict::All => of_vector.len(),
                Verdict::Some => {
                    let selected = predicate.select(block, vector, &mut self.held)?;
                    self.held.release();
                    selected.and(Mask::of_range(of_vector)).count()
                }
            };
        }
        Ok(count)
    }

    /// Nothing of the vector is wanted that rows were selected of.
    pub fn pass_over(&mut self) {
        self.held.release();
    }

    /// True if rows are only counted.
    pub fn has_no_columns(&self) -> bool {
        self.columns.is_empty()
    }

    /// Takes rows of which nothing is wanted but their number; the decoder must have no columns.
    pub fn push_count(&mut self, rows: usize) -> Result<(), TypedError> {
        debug_assert!(self.has_no_columns());
        self.end()?;
        self.rows_ready += rows;
        Ok(())
    }

    /// Takes some rows of a vector of a row group, which must be plain ([`ColumnarBlock::is_plain`]) and hold all
    /// cells of these rows that the decoder's columns need. No cell of them may have been or be pushed otherwise.
    pub fn push_vector(
        &mut self,
        block: &ColumnarBlock,
        vector: usize,
        rows: &Mask,
    ) -> Result<(), TypedError> {
        self.end()?;
        if !self.columns.is_empty() && !rows.is_none() {
            self.push_selected(block, vector, &Selected::of(rows))?;
        }
        self.held.release();
        self.rows_ready += rows.count();
        Ok(())
    }

    fn push_selected(
        &mut self,
        block: &ColumnarBlock,
        vector: usize,
        rows: &Selected,
    ) -> Result<(), TypedError> {
        let mut keys: Option<KeyRows<'_>> = None;
        // Memory that goes from column to column stays in the processor's first cache.
        let one_by_one = self.held.is_empty();
        for Column { name, place, builder } in &mut self.columns {
            let stored = match place {
                Place::Key(place) => place.is_part_of(block.key_parts()).then_some(Stored::Part(place.index)),
                Place::Cell(place) => {
                    block.column(&place.name[usize::from(place.family_len)..]).map(Stored::Column)
                }
            };
            let result = match (stored, place) {
                (Some(stored), place) => {
                    let default = match place {
                        Place::Cell(place) => place.default.as_deref(),
                        Place::Key(_) => None,
                    };
                    let values = self.held.vector(block, stored, vector)?;
                    let result = builder.extend_vector(values, rows, default);
                    if one_by_one {
                        self.held.release();
                    }
                    result
                }
                (None, Place::Key(place)) => {
                    if keys.is_none() {
                        keys = Some(block.key_rows(vector)?);
                    }
                    let keys = keys.as_ref().expect("made above");
                    builder.extend(&mut RowValues::try_new(keys, rows, place)?)
                }
                (None, Place::Cell(place)) => {
                    builder.extend(&mut NoValues { rows: rows.len(), default: place.default.as_deref() })
                }
            };
            if let Err((at, error)) = result {
                return Err(error_of_row(block, vector, rows.row(at), name, error));
            }
        }
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
    pub(super) fn is_part_of(&self, parts: &[KeyPart]) -> bool {
        parts.len() == self.count && parts[self.index].is_of(&self.column)
    }
}

/// A key column of rows whose keys are not stored by column.
struct RowValues<'a> {
    rows: Vec<Vec<u8>>,
    place: &'a KeyPlace,
}

impl<'a> RowValues<'a> {
    fn try_new(keys: &KeyRows<'_>, rows: &Selected, place: &'a KeyPlace) -> FileResult<Self> {
        let row = |at| {
            let mut row = Vec::new();
            keys.append(rows.row(at), &mut row)?;
            Ok(row)
        };
        Ok(Self { rows: (0..rows.len()).map(row).collect::<FileResult<_>>()?, place })
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
