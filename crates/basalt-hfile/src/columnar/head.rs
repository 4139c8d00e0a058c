// SPDX-License-Identifier: Apache-2.0
//! The head of a block: what there is and where it lies.
//!
//! ```text
//! u16 4243, big-endian: the encoding's number | u8 1, the version | u8 0 | u32 bytes of the head, all of it
//! u32 rows | u32 cells | u8 length, family
//! u8 key parts      per part     u8 flags | u8 form | u8 argument
//! u16 columns       per column   u16 length, qualifier | u8 form | u8 argument | u32 cells | u32 values
//! u16 sections      per section  u8 kind | u8 0 numbers, 1 strings | u16 subject | u32 values | its bounds
//!                                u32 offset | u32 length | u32 of it header | u32 checksum of the header
//! u32 checksum of the container's block header and all of the above
//! ```
//!
//! Sections lie back to back behind the head, in the order of their entries, up to the end of the payload; offsets
//! count from the end of the head. The subject is the number of a key part or a column, or ffff for all cells of
//! each row. Forms are those of [`super::form`], flags those of [`super::key`], bounds those of [`super::bound`].
//! Column names ascend.

use super::bound::{Bound, Bounds};
use super::form::Form;
use super::input::Input;
use super::key::KeyPart;
use super::place::{HEAD, Seal};
use super::{COLUMNS_MAX, KEY_PARTS_MAX, ROWS_MAX, VECTOR};
use crate::block::HEADER_LEN;
use crate::error::Damage;

/// The encoding's number, and the number of this form of it.
const START: [u8; 4] = [0x42, 0x43, 1, 0];
/// Start and length.
const START_LEN: usize = 8;
/// The subject of sections with one value per row for all of its cells.
pub(super) const ALL_CELLS: u16 = u16::MAX;
/// Bytes that a head may claim.
const HEAD_MAX: usize = 1 << 24;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// First row of every vector, and the last row: strings, in one vector.
    KeyIndex = 1,
    /// Values of a key part that are not empty.
    KeyValues = 2,
    /// Per row: 1 if the key part is not empty. Without the section none is.
    KeyFilled = 3,
    /// Cells per row of a column. Without the section it is one.
    Presence = 4,
    /// Per cell of a column: 1 if its value is not empty. Without the section none is.
    Filled = 5,
    /// Values of a column's cells that are not empty.
    Values = 6,
    /// Timestamps.
    Timestamps = 7,
    /// Type codes.
    Types = 8,
    /// Sequence numbers.
    Seqs = 9,
    /// The number of the column from whose values those of a column are kept as distances: see [`super::beside`]. Without the section they are
    /// kept as they are. It has no bytes.
    Beside = 10,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::KeyIndex,
        Self::KeyValues,
        Self::KeyFilled,
        Self::Presence,
        Self::Filled,
        Self::Values,
        Self::Timestamps,
        Self::Types,
        Self::Seqs,
        Self::Beside,
    ];
}

/// A section in the head.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) subject: u16,
    pub(super) values: u32,
    pub(super) bounds: Bounds,
    pub(super) offset: u32,
    pub(super) len: u32,
    pub(super) header_len: u32,
    pub(super) checksum: u32,
}

impl Entry {
    /// A section of one value.
    pub(super) fn without_bytes(kind: Kind, subject: u16, values: u32, bounds: Bounds) -> Self {
        Self { kind, subject, values, bounds, offset: 0, len: 0, header_len: 0, checksum: 0 }
    }
}

/// A column in the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnHead {
    pub(super) qualifier: Vec<u8>,
    pub(super) form: Form,
    pub(super) cells: u32,
    /// Cells whose value is not empty.
    pub(super) values: u32,
}

/// The head, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    pub(super) rows: u32,
    pub(super) cells: u32,
    pub(super) family: Vec<u8>,
    pub(super) key: Vec<KeyPart>,
    pub(super) columns: Vec<ColumnHead>,
    pub(super) sections: Vec<Entry>,
    places: Places,
}

/// The number of each section by its kind and subject.
#[derive(Debug, Clone, PartialEq)]
struct Places {
    /// Subjects of a kind; the last one stands for all cells.
    stride: usize,
    /// One more than the number; 0 where there is none.
    numbers: Vec<u16>,
}

impl Places {
    /// Of sections that are not about anything else than so many columns or key parts.
    fn of(sections: &[Entry], subjects: usize) -> Self {
        let stride = subjects + 1;
        let mut places = Self { stride, numbers: vec![0; (Kind::ALL.len() + 1) * stride] };
        for (number, entry) in sections.iter().enumerate() {
            if let Some(at) = places.at(entry.kind, entry.subject) {
                places.numbers[at] = number as u16 + 1;
            }
        }
        places
    }

    fn at(&self, kind: Kind, subject: u16) -> Option<usize> {
        let all = self.stride - 1;
        let subject =
            if subject == ALL_CELLS { all } else { Some(usize::from(subject)).filter(|s| *s < all)? };
        Some(kind as usize * self.stride + subject)
    }
}

impl Head {
    pub(super) fn new(
        (rows, cells): (u32, u32),
        family: Vec<u8>,
        key: Vec<KeyPart>,
        columns: Vec<ColumnHead>,
        sections: Vec<Entry>,
    ) -> Self {
        let places = Places::of(&sections, columns.len().max(key.len()));
        Self { rows, cells, family, key, columns, sections, places }
    }

    /// Appends the head to `out`, with zeros for its checksum, and the length of all of it.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&START);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&self.cells.to_le_bytes());
        out.push(self.family.len() as u8);
        out.extend_from_slice(&self.family);
        out.push(self.key.len() as u8);
        self.key.iter().for_each(|part| part.write(out));
        out.extend_from_slice(&(self.columns.len() as u16).to_le_bytes());
        for column in &self.columns {
            out.extend_from_slice(&(column.qualifier.len() as u16).to_le_bytes());
            out.extend_from_slice(&column.qualifier);
            column.form.write(out);
            out.extend_from_slice(&column.cells.to_le_bytes());
            out.extend_from_slice(&column.values.to_le_bytes());
        }
        out.extend_from_slice(&(self.sections.len() as u16).to_le_bytes());
        for entry in &self.sections {
            out.push(entry.kind as u8);
            out.push(u8::from(matches!(entry.bounds.min, Bound::Text(_))));
            out.extend_from_slice(&entry.subject.to_le_bytes());
            out.extend_from_slice(&entry.values.to_le_bytes());
            entry.bounds.write(out);
            for number in [entry.offset, entry.len, entry.header_len, entry.checksum] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        out.extend_from_slice(&[0; 4]);
        let len = (out.len() - start) as u32;
        out[start + 4..start + START_LEN].copy_from_slice(&len.to_le_bytes());
    }

    /// Puts the checksum into a finished block, which begins with its container header.
    pub(super) fn seal(block: &mut [u8], seal: Seal) {
        let len = head_len(&block[HEADER_LEN..]).expect("the head is its own");
        let at = HEADER_LEN + len - 4;
        let checksum = seal.checksum(HEAD, &block[..at]);
        block[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Takes the head off a block, of which at least the head is there. `seal` is the block's, `sections_len` the
    /// bytes behind the head.
    pub(super) fn read(
        block: &[u8],
        head_len: usize,
        sections_len: usize,
        seal: Seal,
    ) -> Result<Self, Damage> {
        let at = HEADER_LEN + head_len - 4;
        let (found, stored) = (seal.checksum(HEAD, &block[..at]), Input::new(&block[at..]).u32()?);
        if found != stored {
            let what = format!("checksum mismatch in the head: expected {stored:#010x}, found {found:#010x}");
            return Err(Damage::new(0, what));
        }
        let mut input = Input::new(&block[HEADER_LEN..at]);
        input.take(START_LEN)?;
        let head = Self::parse(&mut input)?;
        input.finish()?;
        head.check_sections(sections_len).map_err(|what| Damage::new(0, what))?;
        Ok(head)
    }

    fn parse(input: &mut Input<'_>) -> Result<Self, Damage> {
        let (rows, cells) = (input.u32()?, input.u32()?);
        let family_len = usize::from(input.u8()?);
        let family = input.take(family_len)?.to_vec();
        let parts = usize::from(input.u8()?);
        if !(1..=ROWS_MAX as u32).contains(&rows) || !(1..=KEY_PARTS_MAX).contains(&parts) {
            return Err(input.damage(format!("{rows} rows of {parts} key parts")));
        }
        let key = (0..parts).map(|_| KeyPart::read(input)).collect::<Result<_, _>>()?;
        let count = usize::from(input.u16()?);
        if count > COLUMNS_MAX {
            return Err(input.damage(format!("{count} columns, {COLUMNS_MAX} are the most")));
        }
        let mut columns: Vec<ColumnHead> = Vec::with_capacity(count);
        for _ in 0..count {
            let len = usize::from(input.u16()?);
            let qualifier = input.take(len)?.to_vec();
            let form = Form::read(input)?;
            let column = ColumnHead { qualifier, form, cells: input.u32()?, values: input.u32()? };
            let ascends = columns.last().is_none_or(|last| last.qualifier < column.qualifier);
            if !ascends || column.values > column.cells {
                return Err(input.damage("columns out of order, or with more values than cells"));
            }
            columns.push(column);
        }
        let count = usize::from(input.u16()?);
        let sections = (0..count).map(|_| read_entry(input)).collect::<Result<_, _>>()?;
        Ok(Self::new((rows, cells), family, key, columns, sections))
    }

    /// Sections follow each other and fill the payload; no two have the same purpose.
    fn check_sections(&self, sections_len: usize) -> Result<(), String> {
        let mut at = 0;
        let mut seen: Vec<(Kind, u16)> = Vec::new();
        for entry in &self.sections {
            if entry.len > 0 {
                if entry.offset as usize != at || entry.header_len > entry.len || entry.header_len == 0 {
                    return Err(format!("a section at {} where {at} is expected", entry.offset));
                }
                at += entry.len as usize;
            } else if !entry.bounds.is_one_value() {
                return Err("a section of several values and no bytes".to_owned());
            }
            seen.push((entry.kind, entry.subject));
        }
        seen.sort_unstable();
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("two sections of one purpose".to_owned());
        }
        for entry in self.sections.iter().filter(|entry| entry.kind == Kind::Beside) {
            self.check_beside(entry)?;
        }
        let cells: u64 = self.columns.iter().map(|column| u64::from(column.cells)).sum();
        if at != sections_len || cells != u64::from(self.cells) {
            return Err(format!("sections of {at} bytes in {sections_len}, columns of {cells} cells"));
        }
        Ok(())
    }

    /// A column is kept beside another only if both have one number in each row, and that one is kept as it is.
    fn check_beside(&self, entry: &Entry) -> Result<(), String> {
        let other = self.beside(entry.subject);
        let has_numbers = |subject: u16| {
            let values = self.entry(Kind::Values, subject).filter(|entry| entry.values == self.rows);
            values.is_some_and(|entry| matches!(entry.bounds.min, Bound::Int(_)))
                && [Kind::Presence, Kind::Filled].iter().all(|kind| self.entry(*kind, subject).is_none())
        };
        let is_sound = other.is_some_and(|other| {
            self.beside(other).is_none() && has_numbers(other) && has_numbers(entry.subject)
        });
        match is_sound && entry.len == 0 {
            true => Ok(()),
            false => Err(format!("column {} is kept beside {other:?}, which cannot be", entry.subject)),
        }
    }

    /// The column from whose values those of a column are kept as distances.
    #[inline]
    pub(super) fn beside(&self, subject: u16) -> Option<u16> {
        match self.entry(Kind::Beside, subject)?.bounds.min {
            Bound::Int(other) => u16::try_from(other).ok(),
            Bound::Text(_) => None,
        }
    }

    /// Vectors of rows.
    pub(super) fn vectors(&self) -> usize {
        (self.rows as usize).div_ceil(VECTOR)
    }

    /// Rows of a vector.
    pub(super) fn rows_of(&self, vector: usize) -> usize {
        (self.rows as usize - vector * VECTOR).min(VECTOR)
    }

    /// The number of a section.
    #[inline]
    pub(super) fn number(&self, kind: Kind, subject: u16) -> Option<usize> {
        let number = self.places.numbers[self.places.at(kind, subject)?];
        usize::from(number).checked_sub(1)
    }

    /// The entry of a section.
    pub(super) fn entry(&self, kind: Kind, subject: u16) -> Option<&Entry> {
        self.number(kind, subject).map(|number| &self.sections[number])
    }
}

fn read_entry(input: &mut Input<'_>) -> Result<Entry, Damage> {
    let (number, is_text) = (input.u8()?, input.u8()?);
    let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == number);
    let kind = kind.filter(|_| is_text <= 1);
    let kind = kind.ok_or_else(|| input.damage(format!("no section has the number {number}")))?;
    let (subject, values) = (input.u16()?, input.u32()?);
    let bounds = Bounds::read(input, is_text == 1)?;
    let (offset, len, header_len, checksum) = (input.u32()?, input.u32()?, input.u32()?, input.u32()?);
    Ok(Entry { kind, subject, values, bounds, offset, len, header_len, checksum })
}

/// Length of the head that a payload begins with, checksum included, whether or not all of it is there.
pub(super) fn head_len(payload: &[u8]) -> Result<usize, Damage> {
    let mut input = Input::new(payload);
    let start = input.take(START.len())?;
    if start[..2] != START[..2] {
        return Err(Damage::new(0, "a columnar block without its encoding's number"));
    }
    if start != START {
        return Err(Damage::new(2, format!("version {} of the columnar form is not known", start[2])));
    }
    let len = input.u32()? as usize;
    if !(START_LEN + 4..=HEAD_MAX).contains(&len) {
        return Err(Damage::new(4, format!("a head of {len} bytes")));
    }
    Ok(len)
}
