// SPDX-License-Identifier: Apache-2.0
//! Row keys as parts that are stored like columns, and back.
//!
//! With a layout the parts are the primary-key columns. Without one, rows of one width up to 64 bytes are cut
//! into numbers of eight bytes, the last one of what is left, but for decimal numbers that take less as they are;
//! others are one part of bytes.
//!
//! ```text
//! flags  1  variable width: a separator follows (00, or ff if descending); an empty value is the byte 00 alone
//!        2  descending: bytes are inverted     4  …as BOOLEAN is: only the lowest bit
//!        8  the part is a primary-key column
//! ```
//!
//! A row is its parts one behind the other; separators behind the last part that is not empty are cut off, but for
//! that of a descending part: rule 3 of `basalt_model::rowkey`. A row of a block that does not come back in this
//! way (an old writer's, another program's) makes all of the block's rows one part of bytes.

use basalt_model::rowkey::{SEPARATOR_ASC, SEPARATOR_DESC, split_column};
use basalt_model::types::value::invert;
use basalt_model::{KeyColumn, SortOrder, SqlType};

use super::form::Form;
use super::input::Input;
use super::strings::StringList;
use super::texts::bytes_as_digits;
use super::{KEY_PARTS_MAX, VECTOR};
use crate::error::Damage;

const VARIABLE: u8 = 1;
const DESC: u8 = 2;
const BOOLEAN: u8 = 4;
const COLUMN: u8 = 8;
/// Rows of one width are cut into numbers up to this width.
const SPLIT_MAX: usize = 64;
/// Bytes of a part of such rows.
const CUT_WIDTH: usize = 8;
/// What decoding of long numbers costs, in percent of their size: they must be so much smaller than cut ones.
const WHOLE_TOLL: usize = 102;
/// Vectors of rows that are written both cut and whole to choose.
const SAMPLE_VECTORS: usize = 3;

/// A part of all row keys of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyPart {
    flags: u8,
    pub(super) form: Form,
}

/// Rows cut into parts.
pub(super) struct KeyValues {
    /// The part; its form is still to be found.
    pub(super) part: KeyPart,
    pub(super) hint: Option<SqlType>,
    /// Per vector, one value per row; empty for NULL.
    pub(super) vectors: Vec<StringList>,
}

impl KeyPart {
    fn new(flags: u8) -> Self {
        Self { flags, form: Form::Bytes }
    }

    /// The part of a primary-key column, its form still to be found.
    fn of(column: &KeyColumn) -> Self {
        let mut flags = COLUMN;
        if column.sql_type.fixed_width().is_none() {
            flags |= VARIABLE;
        }
        if column.order == SortOrder::Desc {
            flags |= if column.sql_type == SqlType::Boolean { DESC | BOOLEAN } else { DESC };
        }
        Self::new(flags)
    }

    /// True if the part is a primary-key column as a layout has it.
    pub(crate) fn is_of(self, column: &KeyColumn) -> bool {
        let usual = match self.form {
            Form::Decimal(_) | Form::LongDecimal(_) => {
                matches!(column.sql_type, SqlType::Decimal(_)).then_some(self.form)
            }
            _ => Some(Form::of(column.sql_type, || 0)),
        };
        self.flags == Self::of(column).flags && usual == Some(self.form)
    }

    /// True if all values have the same number of bytes, and no separator.
    pub(super) fn is_fixed(self) -> bool {
        self.flags & (VARIABLE | BOOLEAN) == 0
    }

    /// True if values are stored inverted.
    pub(super) fn is_desc(self) -> bool {
        self.flags & DESC != 0
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.push(self.flags);
        self.form.write(out);
    }

    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, Damage> {
        let flags = input.u8()?;
        if flags & !(VARIABLE | DESC | BOOLEAN | COLUMN) != 0 {
            return Err(input.damage(format!("key flags {flags:#04x}")));
        }
        Ok(Self { flags, form: Form::read(input)? })
    }

    /// Turns a value's bytes from ascending to stored form or back.
    pub(super) fn invert(self, bytes: &mut [u8]) {
        if self.is_desc() {
            let sql_type = if self.flags & BOOLEAN != 0 { SqlType::Boolean } else { SqlType::BigInt };
            invert(sql_type, bytes);
        }
    }
}

/// A row key being put together at the end of a buffer.
pub(super) struct RowBuilder<'a> {
    out: &'a mut Vec<u8>,
    keep: usize,
}

impl<'a> RowBuilder<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        let keep = out.len();
        Self { out, keep }
    }

    /// Where the ascending bytes of the next part go; [`Self::close`] with the length before.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Ends a part whose bytes were appended since the buffer was `from` long.
    #[inline]
    pub(super) fn close(&mut self, part: KeyPart, from: usize) {
        if self.out.len() == from {
            return self.out.push(SEPARATOR_ASC);
        }
        part.invert(&mut self.out[from..]);
        self.keep = self.out.len();
        if part.flags & VARIABLE != 0 {
            self.out.push(if part.is_desc() { SEPARATOR_DESC } else { SEPARATOR_ASC });
            self.keep += usize::from(part.is_desc());
        }
    }

    pub(super) fn finish(self) {
        self.out.truncate(self.keep);
    }
}

/// Cuts rows into parts.
pub(super) fn split(rows: &StringList, columns: &[KeyColumn]) -> Vec<KeyValues> {
    if let Some(parts) = split_typed(rows, columns) {
        return parts;
    }
    let width = rows.iter().next().map_or(0, <[u8]>::len);
    let one_width = rows.iter().all(|row| row.len() == width);
    let is_cut = one_width && (1..=SPLIT_MAX).contains(&width) && !are_smaller_whole(rows, width);
    let part_width = if is_cut { CUT_WIDTH } else { usize::MAX };
    let count = width.div_ceil(part_width).max(1);
    let part = |number: usize| KeyValues {
        part: KeyPart::new(0),
        hint: None,
        vectors: by_vector(rows.iter().map(|row| {
            let from = number * part_width.min(row.len());
            &row[from..row.len().min(from.saturating_add(part_width))]
        })),
    };
    (0..count).map(part).collect()
}

/// True if rows of this width are a front and a decimal number each, and take less as such than cut, as far as a sample tells: a cut number
/// begins anew in each part wherever that before it changes.
fn are_smaller_whole(rows: &StringList, width: usize) -> bool {
    let starts = (0..rows.len()).step_by(VECTOR);
    let step = starts.len().div_ceil(SAMPLE_VECTORS).max(1);
    let sampled = starts.step_by(step).map(|first| first..rows.len().min(first + VECTOR));
    let sample: Vec<StringList> = sampled.map(|range| rows.slice(range)).collect();
    let bytes = |from: usize, to: usize| {
        let part = |vector: &StringList| vector.iter().map(|row| &row[from..to]).collect();
        bytes_as_digits(&sample.iter().map(part).collect::<Vec<_>>())
    };
    let Some(whole) = bytes(0, width).filter(|_| width > CUT_WIDTH) else { return false };
    // A part that is no number is the front, or some of it.
    let cut: usize =
        (0..width).step_by(CUT_WIDTH).filter_map(|from| bytes(from, width.min(from + CUT_WIDTH))).sum();
    whole * WHOLE_TOLL < cut * 100
}

fn by_vector<'a>(mut values: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<StringList> {
    let mut vectors = Vec::with_capacity(values.len().div_ceil(VECTOR));
    while values.len() > 0 {
        vectors.push(values.by_ref().take(VECTOR).collect());
    }
    vectors
}

/// The primary-key columns of all rows, if all rows come back.
fn split_typed(rows: &StringList, columns: &[KeyColumn]) -> Option<Vec<KeyValues>> {
    if columns.is_empty() || columns.len() > KEY_PARTS_MAX {
        return None;
    }
    let mut parts: Vec<KeyValues> = columns
        .iter()
        .map(|column| KeyValues {
            part: KeyPart::of(column),
            hint: Some(column.sql_type),
            vectors: Vec::new(),
        })
        .collect();
    let (mut again, mut value) = (Vec::new(), Vec::new());
    for (index, row) in rows.iter().enumerate() {
        let mut rest = row;
        again.clear();
        let mut builder = RowBuilder::new(&mut again);
        for (number, (column, values)) in columns.iter().zip(&mut parts).enumerate() {
            if index % VECTOR == 0 {
                values.vectors.push(StringList::default());
            }
            let (bytes, behind) = split_column(column, number + 1 == columns.len(), rest).ok()?;
            rest = behind;
            value.clear();
            value.extend_from_slice(bytes);
            values.part.invert(&mut value);
            let from = builder.buffer().len();
            builder.buffer().extend_from_slice(&value);
            builder.close(values.part, from);
            values.vectors.last_mut().expect("pushed above").push(&value);
        }
        builder.finish();
        if again != row {
            return None;
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests;
