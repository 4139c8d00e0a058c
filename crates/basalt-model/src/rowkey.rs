// SPDX-License-Identifier: Apache-2.0
//! Row keys: the primary-key columns of a row as one byte string that sorts like the columns do.
//!
//! 1. A fixed-width column is its bytes. A variable-width one is its bytes and a separator, `00` for ASC and
//!    `ff` for DESC.
//! 2. NULL (of a variable-width column; fixed-width ones are never NULL) is the separator `00` alone, for
//!    ASC and for DESC.
//! 3. At the end, NULLs leave with their separators, and so does the separator of a last ASC column; that of
//!    a last DESC column stays, so that longer values sort before shorter ones.
//! 4. The separator may not occur inside a value, which only VARBINARY and arrays could do without harm, since
//!    they are always the last column.
//!
//! ```text
//! (A VARCHAR, B INTEGER, C VARCHAR)     'x', 1, 'y'    78 00 80000001 79
//!                                       'x', 1, NULL   78 00 80000001
//! (A VARCHAR DESC, B VARCHAR DESC)      'x', 'y'       87 ff 86 ff
//!                                       'x', NULL      87 ff
//! ```

use crate::ROW_LEN_MAX;
use crate::range::{KeyRange, after_prefix};
use crate::schema::{KeyColumn, SortOrder};
use crate::types::{SqlType, TypeError, Value};

/// Separator behind an ASC column, and in place of a NULL one.
pub const SEPARATOR_ASC: u8 = 0x00;
/// Separator behind a DESC column.
pub const SEPARATOR_DESC: u8 = 0xff;

/// Why values make no row key, or bytes are no row key of a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// NULL for a column that has none.
    #[error("primary key column {column} may not be null")]
    Null {
        /// Column name.
        column: String,
    },
    /// Every column is NULL.
    #[error("a primary key may not consist of nulls only")]
    AllNull,
    /// A byte that would end the column early.
    #[error("primary key column {column} may not contain the byte 00")]
    Separator {
        /// Column name.
        column: String,
    },
    /// A key longer than a row can have.
    #[error("row key is {found} bytes long; at most {ROW_LEN_MAX} are possible")]
    TooLong {
        /// Length in bytes.
        found: usize,
    },
    /// More or fewer values than key columns.
    #[error("primary key has {expected} columns; found {found} values")]
    Count {
        /// Key columns.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A value that its type cannot hold, or bytes that are no value of it.
    #[error("primary key column {column}: {source}")]
    Value {
        /// Column name.
        column: String,
        /// What is wrong.
        source: TypeError,
    },
    /// Stored bytes that end inside of a column or go on behind the last one.
    #[error("row key does not fit the primary key: {what}")]
    Bytes {
        /// What does not fit.
        what: &'static str,
    },
}

impl KeyError {
    /// Phoenix's error code for the caller's mistakes.
    pub fn phoenix_code(&self) -> Option<u16> {
        match self {
            Self::Null { .. } | Self::AllNull => Some(218),
            Self::Separator { .. } => Some(201),
            Self::TooLong { .. } => Some(206),
            Self::Value { source, .. } => source.phoenix_code(),
            Self::Count { .. } | Self::Bytes { .. } => None,
        }
    }
}

/// Builds row keys column by column at the end of a buffer. Feed every column in key order, with its bytes
/// already in the form of its order; [`KeyWriter::finish`] drops what rule 3 drops.
#[derive(Debug)]
pub struct KeyWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    keep: usize,
}

impl<'a> KeyWriter<'a> {
    /// Starts a key at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start, keep: start }
    }

    /// Where the column's bytes go; call [`KeyWriter::close`] with the length of `out` before that.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Ends a column whose bytes were appended since the buffer was `from` long.
    #[inline]
    pub fn close(&mut self, column: &KeyColumn, from: usize) -> Result<(), KeyError> {
        if self.out.len() == from {
            if !column.nullable || column.sql_type.fixed_width().is_some() {
                return Err(KeyError::Null { column: column.name.clone() });
            }
            self.out.push(SEPARATOR_ASC);
            return Ok(());
        }
        if column.sql_type.fixed_width().is_some() {
            self.keep = self.out.len();
            return Ok(());
        }
        let separator = separator(column.order);
        if !matches!(column.sql_type, SqlType::Varbinary(_) | SqlType::Array(_))
            && self.out[from..].contains(&separator)
        {
            return Err(KeyError::Separator { column: column.name.clone() });
        }
        self.keep = self.out.len();
        self.out.push(separator);
        if column.order == SortOrder::Desc {
            self.keep += 1;
        }
        Ok(())
    }

    /// Ends the key and drops what does not belong to it.
    #[inline]
    pub fn finish(self) -> Result<(), KeyError> {
        self.out.truncate(self.keep);
        match self.keep - self.start {
            0 => Err(KeyError::AllNull),
            found if found > ROW_LEN_MAX => Err(KeyError::TooLong { found }),
            _ => Ok(()),
        }
    }
}

/// Appends the row key of `values`, one per key column. On error `out` is as it was.
pub fn encode_row_key(key: &[KeyColumn], values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), KeyError> {
    if values.len() != key.len() {
        return Err(KeyError::Count { expected: key.len(), found: values.len() });
    }
    let start = out.len();
    let mut writer = KeyWriter::new(out);
    let result = write_columns(&mut writer, key, values).and_then(|()| writer.finish());
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn write_columns(
    writer: &mut KeyWriter<'_>,
    key: &[KeyColumn],
    values: &[Value<'_>],
) -> Result<(), KeyError> {
    for (column, value) in key.iter().zip(values) {
        let from = writer.out.len();
        column
            .sql_type
            .encode(column.order, value, writer.out)
            .map_err(|source| value_error(column, source))?;
        writer.close(column, from)?;
    }
    Ok(())
}

/// The rows whose first key columns have exactly these values. NULL is a value here.
///
/// The range begins without the last separator, because a row whose further columns are all NULL has none.
pub fn prefix_range(key: &[KeyColumn], values: &[Value<'_>]) -> Result<KeyRange, KeyError> {
    if values.len() > key.len() {
        return Err(KeyError::Count { expected: key.len(), found: values.len() });
    }
    let mut bytes = Vec::new();
    let mut writer = KeyWriter::new(&mut bytes);
    write_columns(&mut writer, key, values)?;
    let keep = writer.keep;
    if values.len() == key.len() {
        bytes.truncate(keep);
        return Ok(KeyRange::point(bytes));
    }
    let end = after_prefix(&bytes);
    bytes.truncate(keep);
    Ok(KeyRange { start: bytes.into(), end })
}

/// The values of a row key, one per key column.
pub fn decode_row_key<'a>(key: &[KeyColumn], row: &'a [u8]) -> Result<Vec<Value<'a>>, KeyError> {
    let mut values = Vec::with_capacity(key.len());
    let mut rest = row;
    for (i, column) in key.iter().enumerate() {
        let (bytes, behind) = split_column(column, i + 1 == key.len(), rest)?;
        let value = column.sql_type.decode(column.order, bytes);
        values.push(value.map_err(|source| value_error(column, source))?);
        rest = behind;
    }
    if !rest.is_empty() {
        return Err(KeyError::Bytes { what: "bytes follow the last column" });
    }
    Ok(values)
}

/// The bytes of one column at the front of `rest` (none for NULL, in the form of the column's order) and
/// what follows its separator.
#[inline]
pub fn split_column<'a>(
    column: &KeyColumn,
    is_last: bool,
    rest: &'a [u8],
) -> Result<(&'a [u8], &'a [u8]), KeyError> {
    if rest.is_empty() {
        return match column.nullable {
            true => Ok((rest, rest)),
            false => Err(KeyError::Bytes { what: "it ends before a column that is never null" }),
        };
    }
    if let Some(width) = column.sql_type.fixed_width() {
        return rest.split_at_checked(width).ok_or(KeyError::Bytes { what: "it ends inside of a column" });
    }
    let none: &[u8] = &[];
    let (bytes, behind) = match (column.order, is_last) {
        (SortOrder::Asc, true) => (rest, none),
        // Phoenix before 4.8 wrote no last separator.
        (SortOrder::Desc, true) => (rest.strip_suffix(&[SEPARATOR_DESC]).unwrap_or(rest), none),
        (SortOrder::Desc, false) if rest[0] == SEPARATOR_ASC => (none, &rest[1..]),
        (order, false) => {
            let separator = separator(order);
            let end = rest.iter().position(|&byte| byte == separator).unwrap_or(rest.len());
            (&rest[..end], rest.get(end + 1..).unwrap_or(none))
        }
    };
    if bytes.is_empty() && !column.nullable {
        return Err(KeyError::Bytes { what: "a column that is never null is" });
    }
    Ok((bytes, behind))
}

/// The separator behind a value of this order.
#[inline]
pub fn separator(order: SortOrder) -> u8 {
    match order {
        SortOrder::Asc => SEPARATOR_ASC,
        SortOrder::Desc => SEPARATOR_DESC,
    }
}

#[cold]
fn value_error(column: &KeyColumn, source: TypeError) -> KeyError {
    KeyError::Value { column: column.name.clone(), source }
}

/// The salt byte of a key (its bytes behind the salt) in a table of `buckets` buckets, 1 to 256:
/// the 31-hash of the bytes as signed numbers, as in Phoenix. `("abc", 16)` is 1.
pub fn salt_byte(key: &[u8], buckets: u16) -> u8 {
    let hash = key.iter().fold(1i32, |hash, &byte| hash.wrapping_mul(31).wrapping_add(byte as i8 as i32));
    (hash % i32::from(buckets.clamp(1, 256))).unsigned_abs() as u8
}

#[cfg(test)]
mod tests;
