// SPDX-License-Identifier: Apache-2.0
//! Arrays as Phoenix stores them (`PArrayDataType`, serialization version 1).
//!
//! Elements of fixed width stand one behind the other; their number is what the length says, and none is NULL.
//! Elements of variable width are separated, so that arrays sort like their elements, and found by offsets:
//!
//! ```text
//! per element    its bytes, 00
//! k NULLs        in front of an element: 00, k / 255 bytes 01, and the byte 255 - (k % 255 - 1) unless k % 255 is 0
//! end            00 00
//! offsets        one per element: 2 bytes, less 32767 as a signed number; 4 bytes if one is above 65534
//! i32            where the offsets begin
//! i32            number of elements, negative if offsets have 4 bytes
//! 01             version
//!
//! ['a','bc',NULL,NULL,'d']   6100 626300 00fe 6400 0000 | 8001 8003 8006 8006 8008 | 0000000b | 00000005 | 01
//! ['x',NULL]                 7800 0000 | 8001 8003 | 00000004 | 00000002 | 01
//! ```
//!
//! The offset of a NULL is where the NULLs begin; NULLs at the end have no bytes but offsets. An array without elements
//! is no bytes, which is NULL.

use super::{ElementType, SqlType, TypeError};

const SEPARATOR: u8 = 0;
const END: [u8; 2] = [SEPARATOR; 2];
const VERSION: u8 = 1;
/// Two numbers and the version.
const TRAILER_LEN: usize = 9;
/// Offsets up to this one fit into two bytes.
const SHORT_OFFSET_MAX: usize = 65_534;
const SHORT_OFFSET_BIAS: i32 = 32_767;
const NULL_RUN: usize = 255;

/// Writes the elements of one array at the end of a buffer.
#[derive(Debug)]
pub struct ArrayWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    element: ElementType,
    fixed: bool,
    offsets: Vec<usize>,
    /// NULLs since the last element.
    nulls: usize,
}

impl<'a> ArrayWriter<'a> {
    /// Starts an array at the end of `out`.
    pub fn new(element: ElementType, out: &'a mut Vec<u8>) -> Self {
        let (start, fixed) = (out.len(), SqlType::from(element).fixed_width().is_some());
        Self { out, start, element, fixed, offsets: Vec::new(), nulls: 0 }
    }

    /// Adds an element: `write` appends its ascending bytes, nothing for NULL.
    pub fn push(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), TypeError>,
    ) -> Result<(), TypeError> {
        let from = self.out.len();
        write(self.out)?;
        let sql_type = SqlType::Array(self.element);
        if self.fixed {
            return if self.out.len() > from { Ok(()) } else { Err(TypeError::NullElement { sql_type }) };
        }
        if self.out.len() == from {
            self.offsets.push(from - self.start);
            self.nulls += 1;
            return Ok(());
        }
        if self.out[from] == SEPARATOR {
            return Err(TypeError::ElementSeparator { sql_type });
        }
        if self.nulls > 0 {
            let element = self.out.split_off(from);
            self.put_nulls();
            self.offsets.push(self.out.len() - self.start);
            self.out.extend_from_slice(&element);
        } else {
            self.offsets.push(from - self.start);
        }
        self.out.push(SEPARATOR);
        Ok(())
    }

    fn put_nulls(&mut self) {
        let nulls = std::mem::take(&mut self.nulls);
        self.out.push(SEPARATOR);
        self.out.resize(self.out.len() + nulls / NULL_RUN, 1);
        if let rest @ 1.. = nulls % NULL_RUN {
            self.out.push(!(rest as u8 - 1));
        }
    }

    /// Ends the array.
    pub fn finish(self) -> Result<(), TypeError> {
        if self.fixed || self.offsets.is_empty() {
            return Ok(());
        }
        self.out.extend_from_slice(&END);
        let table = self.out.len() - self.start;
        let too_long =
            |found| TypeError::TooLong { sql_type: SqlType::Array(self.element), found, unit: "bytes" };
        let position = i32::try_from(table).map_err(|_| too_long(table))?;
        let count = i32::try_from(self.offsets.len()).map_err(|_| too_long(table))?;
        let short = self.offsets.last().is_none_or(|&last| last <= SHORT_OFFSET_MAX);
        for &offset in &self.offsets {
            // Below `position`, which fits.
            let offset = offset as i32;
            match short {
                true => self.out.extend_from_slice(&((offset - SHORT_OFFSET_BIAS) as i16).to_be_bytes()),
                false => self.out.extend_from_slice(&offset.to_be_bytes()),
            }
        }
        self.out.extend_from_slice(&position.to_be_bytes());
        self.out.extend_from_slice(&(if short { count } else { -count }).to_be_bytes());
        self.out.push(VERSION);
        Ok(())
    }
}

/// Finds the elements of a stored array.
#[derive(Debug)]
pub struct ArrayReader<'a> {
    bytes: &'a [u8],
    count: usize,
    layout: Layout,
    sql_type: SqlType,
}

#[derive(Debug)]
enum Layout {
    Fixed(usize),
    Offsets { table: usize, size: usize },
}

impl<'a> ArrayReader<'a> {
    /// Reads the frame of an array; `bytes` are not empty, for that is NULL.
    pub fn try_new(element: ElementType, bytes: &'a [u8]) -> Result<Self, TypeError> {
        let sql_type = SqlType::Array(element);
        let damaged = |what| TypeError::Bytes { sql_type, what };
        if let Some(width) = SqlType::from(element).fixed_width() {
            if width == 0 || !bytes.len().is_multiple_of(width) {
                return Err(damaged("the length is no multiple of an element's"));
            }
            return Ok(Self { bytes, count: bytes.len() / width, layout: Layout::Fixed(width), sql_type });
        }
        let frame = bytes.len().checked_sub(TRAILER_LEN).ok_or(damaged("the array is too short"))?;
        let trailer = &bytes[frame..];
        let number = |at: usize| i32::from_be_bytes([0, 1, 2, 3].map(|i| trailer[at + i]));
        if trailer[TRAILER_LEN - 1] != VERSION {
            return Err(damaged("the version of the array is not 1"));
        }
        let (table, count) = (number(0), number(4));
        let size = if count < 0 { 4 } else { 2 };
        let (table, count) = (table as usize, count.unsigned_abs() as usize);
        let fits = table >= END.len() && frame.checked_sub(table).is_some_and(|len| len == count * size);
        if !fits {
            return Err(damaged("the offsets of the array are not where they should be"));
        }
        Ok(Self { bytes, count, layout: Layout::Offsets { table, size }, sql_type })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The ascending bytes of element `index`, counted from 0; `None` for NULL and behind the last.
    pub fn get(&self, index: usize) -> Result<Option<&'a [u8]>, TypeError> {
        if index >= self.count {
            return Ok(None);
        }
        let (table, size) = match self.layout {
            Layout::Fixed(width) => return Ok(Some(&self.bytes[index * width..(index + 1) * width])),
            Layout::Offsets { table, size } => (table, size),
        };
        let end = table - END.len();
        let from = self.offset(table, size, index);
        let to = if index + 1 < self.count { self.offset(table, size, index + 1) } else { Some(end) };
        let span = from.zip(to).filter(|(from, to)| from <= to && *to <= end);
        let (from, to) = span.ok_or(TypeError::Bytes {
            sql_type: self.sql_type,
            what: "an offset of the array points outside of it",
        })?;
        // A NULL has no bytes of its own, or those that stand for the NULLs from here on.
        let is_null = from == to || self.bytes[from] == SEPARATOR;
        Ok((!is_null).then(|| &self.bytes[from..to - 1]))
    }

    fn offset(&self, table: usize, size: usize, index: usize) -> Option<usize> {
        let at = &self.bytes[table + index * size..][..size];
        usize::try_from(match *at {
            [a, b] => i32::from(i16::from_be_bytes([a, b])) + SHORT_OFFSET_BIAS,
            [a, b, c, d] => i32::from_be_bytes([a, b, c, d]),
            _ => return None,
        })
        .ok()
    }
}

#[cfg(test)]
mod tests;
