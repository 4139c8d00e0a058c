// SPDX-License-Identifier: Apache-2.0
//! Rows of a row group into an array: numbers that are stored as SQL sees them are copied, all else takes the way
//! over its bytes.

use arrow::array::NullBufferBuilder;
use basalt_model::SqlType;
use basalt_model::rowkey::KeyError;
use basalt_model::types::decimal;

use super::super::decode::Selected;
use super::texts::{INLINE_MAX, Texts};
use super::{ColumnBuilder, Extended, ValueSource, Values};
use crate::columnar::{ColumnVector, Form, Place, Strings, VectorValues, float_32, float_64};

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
        if Form::of(*sql_type, || 0) != vector.form && !matches!(vector.form, Form::Decimal(_)) {
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
            (Values::F32(to), VectorValues::Narrow(from), Form::Float(4)) => {
                copy(to, from, gaps, rows, nulls, float_32);
            }
            (Values::F64(to), VectorValues::Wide(from), Form::Float(8)) => {
                copy(to, from, gaps, rows, nulls, float_64);
            }
            (
                Values::Decimal { values: to, precision, scale },
                VectorValues::Wide(from),
                Form::Decimal(stored),
            ) => {
                let power = |exponent: i8| u32::try_from(exponent).ok().and_then(decimal::power_of_ten);
                let (factor, limit) = (power(scale.saturating_sub(stored)), power(*precision as i8));
                let Some((factor, limit)) = factor.zip(limit) else { return false };
                // Digits are at most 18, so that only a large factor can make them too many.
                let most = from.iter().map(|&digits| (digits as i64).unsigned_abs()).max().unwrap_or(0);
                if i128::from(most).checked_mul(factor).is_none_or(|most| most >= limit) {
                    return false;
                }
                copy(to, from, gaps, rows, nulls, |digits| i128::from(digits as i64) * factor);
            }
            (Values::Text(to), VectorValues::Texts(from), Form::Bytes) => {
                return copy_texts(*sql_type, to, from, gaps, rows, nulls);
            }
            _ => return false,
        }
        true
    }
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
    if !from.is_utf8() || width.is_some_and(|width| (shortest, longest) != (width, width)) {
        return false;
    }
    let shares = longest > INLINE_MAX && rows.len() * SHARED_MIN > from.len();
    let block = shares.then(|| to.share(from.bytes()));
    to.reserve(rows.len());
    let mut push = |at: Option<usize>| {
        let Some(at) = at else { return to.push(b"") };
        let text = from.get(at);
        let blanks = || text.iter().rev().take_while(|&&byte| byte == b' ').count();
        let text = if width.is_some() { &text[..text.len() - blanks()] } else { text };
        match block {
            Some(block) => to.push_shared(text, block, from.start(at)),
            None => to.push(text),
        }
    };
    match gaps {
        None => {
            (0..rows.len()).for_each(|at| push(Some(rows.row(at))));
            nulls.append_n_non_nulls(rows.len());
        }
        Some(gaps) => {
            for at in 0..rows.len() {
                let place = gaps[rows.row(at)];
                match place {
                    Place::Value(value) => push(Some(value as usize)),
                    Place::Empty | Place::Missing => push(None),
                }
                nulls.append(matches!(place, Place::Value(_)));
            }
        }
    }
    true
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
            Selected::Rows(rows) => to.extend(rows.iter().map(|&row| make(from[usize::from(row)]))),
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
