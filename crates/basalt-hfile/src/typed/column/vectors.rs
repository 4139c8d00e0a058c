// SPDX-License-Identifier: Apache-2.0
//! Rows of a row group into an array: numbers that are stored as SQL sees them are copied, all else takes the way
//! over its bytes.

mod decimals;

use std::sync::Arc;

use arrow::array::NullBufferBuilder;
use basalt_model::SqlType;
use basalt_model::rowkey::KeyError;

use self::decimals::copies_decimals;
use super::super::decode::Selected;
use super::texts::Texts;
use super::views::{INLINE_MAX, Manner};
use super::{ColumnBuilder, Extended, ValueSource, Values};
use crate::columnar::{
    ColumnVector, Dictionary, Form, Place, Strings, VECTOR, VectorValues, float_32, float_64,
};

impl ColumnBuilder {
    /// Appends some rows of a vector; a missing cell stands for `default`. On error, returns the row at fault.
    pub(in crate::typed) fn extend_vector(
        &mut self,
        vector: &ColumnVector,
        rows: &Selected,
        default: Option<&[u8]>,
    ) -> Extended {
        if default.is_none() && self.copies(vector, rows) {
            return Ok(());
        }
        self.extend(&mut VectorSource { vector, rows, default, scratch: Vec::new() })
    }

    /// Copies numbers, if these are such; false if nothing was done.
    fn copies(&mut self, vector: &ColumnVector, rows: &Selected) -> bool {
        let Self { sql_type, nullable, nulls, values, .. } = self;
        if Form::of(*sql_type, || 0) != vector.form
            && !matches!(vector.form, Form::Decimal(_) | Form::LongDecimal(_))
        {
            return false;
        }
        let gaps = vector.places.as_deref();
        let is_gap = |gaps: &[Place], at| !matches!(gaps[rows.row(at)], Place::Value(_));
        if !*nullable && gaps.is_some_and(|gaps| (0..rows.len()).any(|at| is_gap(gaps, at))) {
            return false;
        }
        match (values, &vector.values, vector.form) {
            (Values::I8(to), VectorValues::Narrow(from), Form::Signed(1)) => {
                copy(to, from, gaps, rows, nulls, |number| number as i8);
            }
            (Values::I16(to), VectorValues::Narrow(from), Form::Signed(2)) => {
                copy(to, from, gaps, rows, nulls, |number| number as i16);
            }
            (Values::I32(to), VectorValues::Narrow(from), Form::Signed(4)) => {
                copy(to, from, gaps, rows, nulls, |number| number as i32);
            }
            (Values::I64(to) | Values::Millis(to), VectorValues::Wide(from), Form::Signed(8)) => {
                copy(to, from, gaps, rows, nulls, |number| number as i64);
            }
            (Values::Nanos(to), VectorValues::Wide(from), Form::Timestamp) => {
                copy(to, from, gaps, rows, nulls, |number| number as i64);
            }
            (Values::I64(to) | Values::Millis(to), VectorValues::Narrow(from), Form::Signed(8)) => {
                copy(to, from, gaps, rows, nulls, widened);
            }
            (Values::Nanos(to), VectorValues::Narrow(from), Form::Timestamp) => {
                copy(to, from, gaps, rows, nulls, widened);
            }
            (Values::F32(to), VectorValues::Narrow(from), Form::Float(4)) => {
                copy(to, from, gaps, rows, nulls, float_32);
            }
            (Values::F64(to), VectorValues::Wide(from), Form::Float(8)) => {
                copy(to, from, gaps, rows, nulls, float_64);
            }
            (
                values @ (Values::Decimal { .. } | Values::ShortDecimal { .. } | Values::WideDecimal(_)),
                from,
                form,
            ) => {
                return copies_decimals(values, (from, form), gaps, rows, nulls);
            }
            (Values::Text(to), VectorValues::Texts(from), Form::Bytes) => {
                return copy_texts(*sql_type, to, from, gaps, rows, nulls);
            }
            (Values::Text(to), VectorValues::Codes(dictionary, codes), Form::Bytes) => {
                return copy_codes(*sql_type, to, (dictionary, codes), gaps, rows, nulls);
            }
            _ => return false,
        }
        true
    }
}

/// A number of a narrow vector.
fn widened(number: u32) -> i64 {
    i64::from(number as i32)
}

/// Texts are copied out of a vector of which at most one in so many is wanted, so that it need not stay in memory.
const SHARED_MIN: usize = 4;

/// Appends the texts of some rows; false, and nothing done, if one of them is none of its type.
fn copy_texts(
    sql_type: SqlType,
    to: &mut Texts,
    from: &Strings,
    gaps: Option<&[Place]>,
    rows: &Selected,
    nulls: &mut NullBufferBuilder,
) -> bool {
    let width = sql_type.fixed_width();
    let (shortest, longest) = from.lengths();
    let Some(strings) = from.utf8() else { return false };
    if width.is_some_and(|width| (shortest, longest) != (width, width)) {
        return false;
    }
    let shares = longest > INLINE_MAX && rows.len() * SHARED_MIN > from.len();
    let manner = Manner { shares, trims: width.is_some() };
    let views = to.views();
    views.reserve(rows.len());
    match gaps {
        None => {
            views.extend(strings, manner, (0..rows.len()).map(|at| Some(rows.row(at))));
            nulls.append_n_non_nulls(rows.len());
        }
        Some(gaps) => {
            let value = |at| match gaps[rows.row(at)] {
                Place::Value(value) => Some(value as usize),
                Place::Empty | Place::Missing => None,
            };
            views.extend(strings, manner, (0..rows.len()).map(value));
            (0..rows.len()).for_each(|at| nulls.append(value(at).is_some()));
        }
    }
    true
}

/// Rows of a vector for each of which a dictionary may have so many texts, to be looked at as a whole.
const ENTRIES_PER_ROW: usize = 4;

/// Appends the texts of some rows; false, and nothing done, if the dictionary has texts that are none of the type, or more
/// than are worth it.
fn copy_codes(
    sql_type: SqlType,
    to: &mut Texts,
    (dictionary, from): (&Arc<Dictionary>, &[u32]),
    gaps: Option<&[Place]>,
    rows: &Selected,
    nulls: &mut NullBufferBuilder,
) -> bool {
    if dictionary.len() > rows.len() * ENTRIES_PER_ROW {
        return copy_texts(sql_type, to, &dictionary.strings_of(from), gaps, rows, nulls);
    }
    let Some(gaps) = gaps else {
        let done = match rows {
            Selected::Range(range) => {
                to.push_codes(dictionary, from[range.clone()].iter().copied(), sql_type)
            }
            Selected::Rows(rows) => {
                to.push_codes(dictionary, rows.iter().map(|&row| from[usize::from(row)]), sql_type)
            }
        };
        if done {
            nulls.append_n_non_nulls(rows.len());
        }
        return done;
    };
    let places = (0..rows.len()).map(|at| gaps[rows.row(at)]);
    let code = |place| match place {
        Place::Value(at) => from[at as usize],
        Place::Empty | Place::Missing => 0,
    };
    let done = to.push_codes(dictionary, places.clone().map(code), sql_type);
    if done {
        places.for_each(|place| nulls.append(matches!(place, Place::Value(_))));
    }
    done
}

/// Appends the numbers of some rows.
#[inline]
fn copy<T: Default, S: Copy>(
    to: &mut Vec<T>,
    from: &[S],
    gaps: Option<&[Place]>,
    rows: &Selected,
    nulls: &mut NullBufferBuilder,
    make: impl Fn(S) -> T,
) {
    let Some(gaps) = gaps else {
        nulls.append_n_non_nulls(rows.len());
        return match rows {
            Selected::Range(range) => to.extend(from[range.clone()].iter().map(|&number| make(number))),
            Selected::Rows(rows) => match <&[S; VECTOR]>::try_from(from) {
                // No row is looked at whether it is one of the vector.
                Ok(from) => to.extend(rows.iter().map(|&row| make(from[usize::from(row) % VECTOR]))),
                Err(_) => to.extend(rows.iter().map(|&row| make(from[usize::from(row)]))),
            },
        };
    };
    let places = (0..rows.len()).map(|at| gaps[rows.row(at)]);
    to.extend(places.clone().map(|place| match place {
        Place::Value(at) => make(from[at as usize]),
        Place::Empty | Place::Missing => T::default(),
    }));
    places.for_each(|place| nulls.append(matches!(place, Place::Value(_))));
}

/// The values of some rows as bytes.
struct VectorSource<'a> {
    vector: &'a ColumnVector,
    rows: &'a Selected,
    default: Option<&'a [u8]>,
    scratch: Vec<u8>,
}

impl ValueSource for VectorSource<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn value(&mut self, row: usize) -> Result<Option<&[u8]>, KeyError> {
        let row = self.rows.row(row);
        let place = match &self.vector.places {
            None => Place::Value(row as u32),
            Some(places) => places[row],
        };
        match place {
            Place::Missing => Ok(self.default),
            Place::Empty => Ok(None),
            Place::Value(index) => {
                self.scratch.clear();
                let appended = self.vector.append(index, &mut self.scratch);
                appended.map_err(|_| KeyError::Bytes { what: "a stored number is none of its type" })?;
                Ok(Some(&self.scratch))
            }
        }
    }
}
