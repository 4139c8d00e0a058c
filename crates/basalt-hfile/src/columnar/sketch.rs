// SPDX-License-Identifier: Apache-2.0
//! About how many different values a column has: a HyperLogLog of 256 registers for each column of a file (Flajolet, Fusy,
//! Gandouet, Meunier 2007; for few values the linear counting that they give, too). The estimate is off by 6.5 % (one standard
//! deviation), and sketches of several files merge into that of all of them.
//!
//! A value is hashed as eight bytes at a time go through the finalizer of SplitMix64 (Steele, Lea, Flood 2014); a number as its
//! 64 bits. The first eight bits of the hash are the register, the zeros that follow, and one more, what it keeps the most of.
//!
//! ```text
//! u8 1, the version | u8 key parts | u16 columns, of which each is    u16 length, qualifier
//! 256 registers of each key part, and of each column
//! ```

use std::collections::BTreeMap;

use super::input::Input;
use crate::error::Damage;

const REGISTER_BITS: u32 = 8;
const REGISTERS: usize = 1 << REGISTER_BITS;
const VERSION: u8 = 1;
/// Columns of a file of which there are sketches, at most. Wide rows of a table without a schema have no use for them.
const COLUMNS_MAX: usize = 1024;

/// What is remembered of the values of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch([u8; REGISTERS]);

impl Default for Sketch {
    fn default() -> Self {
        Self([0; REGISTERS])
    }
}

impl Sketch {
    /// Takes a number in.
    #[inline]
    pub(super) fn add_number(&mut self, number: i64) {
        self.add(mix(number as u64));
    }

    /// Takes a string in.
    pub(super) fn add_text(&mut self, text: &[u8]) {
        let (words, rest) = text.as_chunks::<8>();
        let mut hash = text.len() as u64;
        for word in words {
            hash = mix(hash ^ u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(mix(hash ^ u64::from_le_bytes(last)));
    }

    #[inline]
    fn add(&mut self, hash: u64) {
        let register = &mut self.0[(hash >> (64 - REGISTER_BITS)) as usize];
        let zeros = (hash << REGISTER_BITS).leading_zeros().min(64 - REGISTER_BITS);
        *register = (*register).max(zeros as u8 + 1);
    }

    /// Takes in what another one has seen.
    pub fn merge(&mut self, other: &Self) {
        for (register, other) in self.0.iter_mut().zip(&other.0) {
            *register = (*register).max(*other);
        }
    }

    /// How many different values it has seen, about.
    pub fn estimate(&self) -> f64 {
        let count = REGISTERS as f64;
        let sum: f64 = self.0.iter().map(|&register| 0.5f64.powi(register.into())).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty = self.0.iter().filter(|&&register| register == 0).count();
        match empty {
            1.. if raw <= 2.5 * count => count * (count / empty as f64).ln(),
            _ => raw,
        }
    }
}

/// The finalizer of SplitMix64, with its increment in front so that 0 is no fixed point.
#[inline]
fn mix(word: u64) -> u64 {
    let mut word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The sketches of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sketches {
    key: Vec<Sketch>,
    columns: BTreeMap<Vec<u8>, Sketch>,
}

impl Sketches {
    /// Of a part of the key.
    pub fn of_key_part(&self, part: usize) -> Option<&Sketch> {
        self.key.get(part)
    }

    /// Of a column, by its qualifier.
    pub fn of_column(&self, qualifier: &[u8]) -> Option<&Sketch> {
        self.columns.get(qualifier)
    }

    /// Takes in those of another row group or file.
    pub fn merge(&mut self, other: &Self) {
        for (part, sketch) in other.key.iter().enumerate() {
            self.add_key_part(part, sketch);
        }
        for (qualifier, sketch) in &other.columns {
            self.add_column(qualifier, sketch);
        }
    }

    pub(super) fn add_key_part(&mut self, part: usize, sketch: &Sketch) {
        if self.key.len() <= part {
            self.key.resize_with(part + 1, Sketch::default);
        }
        self.key[part].merge(sketch);
    }

    pub(super) fn add_column(&mut self, qualifier: &[u8], sketch: &Sketch) {
        match self.columns.get_mut(qualifier) {
            Some(known) => known.merge(sketch),
            None => drop(self.columns.insert(qualifier.to_vec(), sketch.clone())),
        }
    }

    /// As an entry of the file info; `None` if there is nothing to say, or too much.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let (parts, columns) = (u8::try_from(self.key.len()).ok()?, self.columns.len());
        if columns > COLUMNS_MAX || parts == 0 && columns == 0 {
            return None;
        }
        let mut out = vec![VERSION, parts];
        out.extend_from_slice(&(columns as u16).to_le_bytes());
        for qualifier in self.columns.keys() {
            out.extend_from_slice(&u16::try_from(qualifier.len()).ok()?.to_le_bytes());
            out.extend_from_slice(qualifier);
        }
        let sketches = self.key.iter().chain(self.columns.values());
        sketches.for_each(|sketch| out.extend_from_slice(&sketch.0));
        Some(out)
    }

    /// From an entry of the file info. One of a later version is as good as none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damage> {
        let mut input = Input::new(bytes);
        if input.u8()? != VERSION {
            return Ok(Self::default());
        }
        let (parts, columns) = (input.u8()?, input.u16()?);
        let qualifier = |input: &mut Input<'_>| {
            let len = input.u16()?;
            Ok(input.take(len.into())?.to_vec())
        };
        let names: Vec<Vec<u8>> =
            (0..columns).map(|_| qualifier(&mut input)).collect::<Result<_, Damage>>()?;
        let mut sketch = || {
            let registers = input.take(REGISTERS)?;
            let most = (64 - REGISTER_BITS + 1) as u8;
            match registers.iter().find(|register| **register > most) {
                Some(register) => Err(input.damage(format!("a register of {register}, {most} is the most"))),
                None => Ok(Sketch(registers.try_into().expect("as many as were taken"))),
            }
        };
        let key = (0..parts).map(|_| sketch()).collect::<Result<_, _>>()?;
        let columns = names.into_iter().map(|name| Ok((name, sketch()?)));
        let columns = columns.collect::<Result<_, Damage>>()?;
        input.finish()?;
        Ok(Self { key, columns })
    }
}

#[cfg(test)]
mod tests;
