// SPDX-License-Identifier: Apache-2.0
//! Taking little-endian fields off the front of bytes that may end too early.

use crate::error::Damage;

/// What is left of some bytes, and where it lies in what they are a part of.
#[derive(Debug, Clone)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
    end: usize,
}

impl<'a> Input<'a> {
    /// All of `bytes`.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, end: bytes.len() }
    }

    /// Offset of the next field.
    pub(super) fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Damage at the next field.
    #[cold]
    pub(super) fn damage(&self, what: impl Into<String>) -> Damage {
        Damage::new(self.at(), what)
    }

    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Damage> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.damage(format!("{len} bytes are expected, {} are left", self.rest.len())));
        };
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let taken = self.take(N)?;
        Ok(*taken.first_chunk().expect("as many bytes were taken"))
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Damage> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, Damage> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(super) fn i64(&mut self) -> Result<i64, Damage> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Nothing may be left.
    pub(super) fn finish(&self) -> Result<(), Damage> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(self.damage(format!("{left} bytes are left over"))),
        }
    }
}
