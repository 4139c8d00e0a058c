// SPDX-License-Identifier: Apache-2.0
//! Smallest and largest value of a vector, a section, a column.
//!
//! ```text
//! integers   i64 smallest | i64 largest
//! strings    u8 length | that many bytes, twice; the length's high bit says that the string goes on
//! ```
//!
//! Of a string the first 16 bytes are kept. Without values the smallest integer is `i64::MAX` and the largest
//! `i64::MIN`, and the strings' lengths are 7f.

use super::input::Input;
use crate::error::Damage;

/// Bytes of a string that are kept.
const PREFIX: usize = 16;
const GOES_ON: u8 = 0x80;
const NOTHING: u8 = 0x7f;

/// The front of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextBound {
    bytes: [u8; PREFIX],
    /// As stored.
    len: u8,
}

impl TextBound {
    const NOTHING: Self = Self { bytes: [0; PREFIX], len: NOTHING };

    fn of(text: &[u8]) -> Self {
        let kept = text.len().min(PREFIX);
        let mut bytes = [0; PREFIX];
        bytes[..kept].copy_from_slice(&text[..kept]);
        Self { bytes, len: kept as u8 | if text.len() > PREFIX { GOES_ON } else { 0 } }
    }

    /// The first bytes of the string.
    pub fn prefix(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len & !GOES_ON).min(PREFIX)]
    }

    /// True if they are all of it.
    pub fn is_whole(&self) -> bool {
        self.len & GOES_ON == 0
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.len);
        if self.len != NOTHING {
            out.extend_from_slice(self.prefix());
        }
    }

    fn read(input: &mut Input<'_>) -> Result<Self, Damage> {
        let len = input.u8()?;
        if len == NOTHING {
            return Ok(Self::NOTHING);
        }
        let kept = usize::from(len & !GOES_ON);
        if kept > PREFIX || len & GOES_ON != 0 && kept != PREFIX {
            return Err(input.damage(format!("a bound of {kept} bytes")));
        }
        let mut bytes = [0; PREFIX];
        bytes[..kept].copy_from_slice(input.take(kept)?);
        Ok(Self { bytes, len })
    }
}

/// One end of a range of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Of integers.
    Int(i64),
    /// Of strings.
    Text(TextBound),
}

/// Smallest and largest of some values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest.
    pub min: Bound,
    /// The largest.
    pub max: Bound,
}

impl Bounds {
    pub(super) const NO_INTS: Self = Self { min: Bound::Int(i64::MAX), max: Bound::Int(i64::MIN) };
    pub(super) const NO_TEXTS: Self =
        Self { min: Bound::Text(TextBound::NOTHING), max: Bound::Text(TextBound::NOTHING) };

    /// Of integers, if there are any.
    pub(super) fn of_ints<'a>(values: impl IntoIterator<Item = &'a i64>) -> Option<Self> {
        let mut values = values.into_iter();
        let first = *values.next()?;
        let (min, max) = values.fold((first, first), |(min, max), &value| (min.min(value), max.max(value)));
        Some(Self { min: Bound::Int(min), max: Bound::Int(max) })
    }

    /// Of strings, if there are any.
    pub(super) fn of_texts(min: &[u8], max: &[u8]) -> Self {
        Self { min: Bound::Text(TextBound::of(min)), max: Bound::Text(TextBound::of(max)) }
    }

    /// True if there is one value only, and it can be told from the bounds.
    pub(super) fn is_one_value(&self) -> bool {
        match self.min {
            Bound::Int(_) => self.min == self.max,
            Bound::Text(min) => self.min == self.max && min.is_whole(),
        }
    }

    /// True if there are no values.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::NO_INTS || *self == Self::NO_TEXTS
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for bound in [&self.min, &self.max] {
            match bound {
                Bound::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
                Bound::Text(text) => text.write(out),
            }
        }
    }

    pub(super) fn read(input: &mut Input<'_>, is_text: bool) -> Result<Self, Damage> {
        let mut one = || {
            Ok(match is_text {
                true => Bound::Text(TextBound::read(input)?),
                false => Bound::Int(input.i64()?),
            })
        };
        Ok(Self { min: one()?, max: one()? })
    }
}
