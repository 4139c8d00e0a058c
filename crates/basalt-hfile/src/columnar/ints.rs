// SPDX-License-Identifier: Apache-2.0
//! Vectors of integers: which scheme a section takes, and its vectors to bytes and back.
//!
//! | scheme | vector |
//! |---|---|
//! | 1 frame | a [`super::frame`] |
//! | 2 delta | `i64 start`, a frame of differences; value n is `start` and the first n + 1 differences |
//! | 3 runs | `u16 runs`, a frame of their values, a frame of their lengths less one |
//! | 4 dictionary | a frame of positions in the section's dictionary |
//! | 5 ALP, 6 split | see [`super::alp`] |
//! | 7 ascending | see [`super::ascending`] |
//!
//! Behind the scheme's number a section keeps its parameters: `i64 unit`, `i64 rest` (every value is `unit` times
//! the stored number and `rest` more), for a dictionary `u32 count` and a frame of its values in ascending order,
//! for ALP and split theirs. A scheme of 0 is a section of one value, which has no vectors.

use super::alp::{Alp, Split};
use super::ascending;
use super::frame::{self, Lane};
use super::input::Input;
use super::mask::Mask;
use crate::error::Damage;

/// Most entries of a dictionary; more would not be looked up from the processor's cache.
const DICTIONARY_MAX: usize = 1 << 12;
/// Values of a run that are written at once.
const SHORT_RUN: usize = 8;
/// Runs of so many values and more, on average, are compared run by run.
const LONG_RUN: usize = 16;
/// Vectors of a section that are encoded in every way to choose.
const SAMPLE_VECTORS: usize = 3;

/// What the integers of a section stand for, as far as it decides which schemes are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// Numbers.
    Integer,
    /// Sortable forms of floats of this many bits.
    Float(u32),
}

/// How the integers of a section are stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IntScheme {
    kind: Kind,
    unit: i64,
    rest: i64,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Frame,
    Delta,
    Runs,
    Dictionary(Vec<i64>),
    Alp(Alp),
    Split(Split),
    Ascending,
}

impl Kind {
    fn number(&self) -> u8 {
        match self {
            Self::Frame => 1,
            Self::Delta => 2,
            Self::Runs => 3,
            Self::Dictionary(_) => 4,
            Self::Alp(_) => 5,
            Self::Split(_) => 6,
            Self::Ascending => 7,
        }
    }

    /// What decoding costs, in percent of a frame's size: a scheme must save that much to be taken.
    fn toll(&self) -> usize {
        match self {
            Self::Frame | Self::Runs => 100,
            Self::Delta | Self::Ascending => 102,
            Self::Dictionary(_) | Self::Alp(_) | Self::Split(_) => 105,
        }
    }
}

impl IntScheme {
    /// The scheme for these vectors.
    pub(super) fn choose(vectors: &[&[i64]], nature: Nature) -> Self {
        let (unit, rest) = match nature {
            Nature::Integer => common_divisor(vectors),
            Nature::Float(_) => (1, 0),
        };
        let full: Vec<&[i64]> = vectors.iter().copied().filter(|vector| !vector.is_empty()).collect();
        let step = full.len().div_ceil(SAMPLE_VECTORS).max(1);
        let sample: Vec<&[i64]> = full.iter().copied().step_by(step).collect();
        let sampled: usize = sample.iter().map(|vector| vector.len()).sum();
        let total: usize = full.iter().map(|vector| vector.len()).sum();
        let candidates = candidates(&full, &sample, nature, unit, rest);
        let cost = |scheme: &Self| {
            let (mut bytes, mut params) = (Vec::new(), Vec::new());
            sample.iter().for_each(|vector| scheme.encode(vector, &mut bytes));
            scheme.write_params(&mut params);
            (bytes.len() + params.len() * sampled / total.max(1)) * scheme.kind.toll()
        };
        let schemes = candidates.into_iter().map(|kind| Self { kind, unit, rest });
        schemes.min_by_key(cost).expect("a frame is always a candidate")
    }

    /// The scheme's number.
    pub(super) fn number(&self) -> u8 {
        self.kind.number()
    }

    /// Name, for people.
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Frame => "frame",
            Kind::Delta => "delta",
            Kind::Runs => "runs",
            Kind::Dictionary(_) => "dictionary",
            Kind::Alp(_) => "alp",
            Kind::Split(_) => "split",
            Kind::Ascending => "ascending",
        }
    }

    pub(super) fn write_params(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.unit.to_le_bytes());
        out.extend_from_slice(&self.rest.to_le_bytes());
        match &self.kind {
            Kind::Frame | Kind::Delta | Kind::Runs | Kind::Ascending => {}
            Kind::Dictionary(values) => {
                out.extend_from_slice(&(values.len() as u32).to_le_bytes());
                frame::encode(values, out);
            }
            Kind::Alp(alp) => alp.write(out),
            Kind::Split(split) => split.write(out),
        }
    }

    pub(super) fn read_params(number: u8, input: &mut Input<'_>) -> Result<Self, Damage> {
        let (unit, rest) = (input.i64()?, input.i64()?);
        let kind = match number {
            1 => Kind::Frame,
            2 => Kind::Delta,
            3 => Kind::Runs,
            4 => {
                let count = input.u32()? as usize;
                if !(1..=DICTIONARY_MAX).contains(&count) {
                    return Err(input.damage(format!("a dictionary of {count} numbers")));
                }
                let mut values = vec![0u64; count];
                frame::decode(input, 1, 0, &mut values)?;
                Kind::Dictionary(values.into_iter().map(Lane::to_i64).collect())
            }
            5 => Kind::Alp(Alp::read(input)?),
            6 => Kind::Split(Split::read(input)?),
            7 => Kind::Ascending,
            other => return Err(input.damage(format!("no scheme of integers has the number {other}"))),
        };
        Ok(Self { kind, unit, rest })
    }

    /// Appends a vector.
    pub(super) fn encode(&self, values: &[i64], out: &mut Vec<u8>) {
        let stored: Vec<i64>;
        let values = match self.unit {
            1 if self.rest == 0 => values,
            unit => {
                stored = values.iter().map(|value| value.div_euclid(unit)).collect();
                &stored
            }
        };
        match &self.kind {
            Kind::Frame => frame::encode(values, out),
            Kind::Delta => encode_delta(values, out),
            Kind::Runs => encode_runs(values, out),
            Kind::Dictionary(dictionary) => {
                let position =
                    |value| dictionary.binary_search(value).expect("the dictionary has every value");
                let codes: Vec<i64> = values.iter().map(|value| position(value) as i64).collect();
                frame::encode(&codes, out);
            }
            Kind::Alp(alp) => alp.encode(values, out),
            Kind::Split(split) => split.encode(values, out),
            Kind::Ascending => ascending::encode(values, out),
        }
    }

    /// Decodes a vector of `out.len()` values, which `bytes` is all of.
    pub(super) fn decode<T: Lane>(&self, bytes: &[u8], out: &mut [T]) -> Result<(), Damage> {
        let mut input = Input::new(bytes);
        match &self.kind {
            Kind::Frame => frame::decode(&mut input, self.unit, self.rest, out)?,
            Kind::Delta => self.decode_delta(&mut input, out)?,
            Kind::Runs => self.decode_runs(&mut input, out)?,
            Kind::Dictionary(values) => self.look_up(values, &mut input, out)?,
            Kind::Alp(alp) => alp.decode(&mut input, out)?,
            Kind::Split(split) => split.decode(&mut input, out)?,
            Kind::Ascending => ascending::decode(&mut input, (self.unit, self.rest), out)?,
        }
        input.finish()
    }

    /// Of a vector of `count` values, which `bytes` is all of, those within one of some ranges of numbers, both ends inclusive;
    /// `None` if it has to be decoded for that.
    pub(super) fn within(
        &self,
        bytes: &[u8],
        count: usize,
        ranges: &[(i64, i64)],
    ) -> Result<Option<Mask>, Damage> {
        let mut input = Input::new(bytes);
        let mask = match &self.kind {
            Kind::Frame => frame::within(&mut input, (self.unit, self.rest), count, ranges)?,
            Kind::Dictionary(values) => {
                let number = |stored: &i64| stored.wrapping_mul(self.unit).wrapping_add(self.rest);
                let codes = ranges.iter().map(|&(low, high)| {
                    let from = values.partition_point(|stored| number(stored) < low);
                    let to = values.partition_point(|stored| number(stored) <= high);
                    (from as i64, to as i64 - 1)
                });
                frame::within(&mut input, (1, 0), count, &codes.collect::<Vec<_>>())?
            }
            Kind::Runs => self.runs_within(&mut input, count, ranges)?,
            Kind::Alp(alp) => alp.within(&mut input, count, ranges)?,
            Kind::Delta | Kind::Split(_) | Kind::Ascending => None,
        };
        if mask.is_some() {
            input.finish()?;
        }
        Ok(mask)
    }

    fn decode_delta<T: Lane>(&self, input: &mut Input<'_>, out: &mut [T]) -> Result<(), Damage> {
        let unit = T::of(self.unit);
        let mut sum = T::of(input.i64()?).times(unit).plus(T::of(self.rest));
        frame::decode(input, 1, 0, out)?;
        for value in out {
            sum = sum.plus(value.times(unit));
            *value = sum;
        }
        Ok(())
    }

    /// The values and the lengths less one of the runs of `count` values.
    fn runs<T: Lane>(&self, input: &mut Input<'_>, count: usize) -> Result<(Vec<T>, Vec<u32>), Damage> {
        let runs = usize::from(input.u16()?);
        if runs > count {
            return Err(input.damage(format!("{runs} runs of {count} values")));
        }
        let mut values = vec![T::default(); runs];
        frame::decode(input, self.unit, self.rest, &mut values)?;
        let mut lengths = vec![0u32; runs];
        frame::decode(input, 1, 0, &mut lengths)?;
        Ok((values, lengths))
    }

    /// Each run is asked once; short ones are decoded sooner.
    fn runs_within(
        &self,
        input: &mut Input<'_>,
        count: usize,
        ranges: &[(i64, i64)],
    ) -> Result<Option<Mask>, Damage> {
        if input
            .rest()
            .first_chunk()
            .is_none_or(|runs| usize::from(u16::from_le_bytes(*runs)) > count / LONG_RUN)
        {
            return Ok(None);
        }
        let (values, lengths) = self.runs::<u64>(input, count)?;
        let (mut mask, mut start) = (Mask::NONE, 0);
        for (value, length) in values.into_iter().map(Lane::to_i64).zip(lengths) {
            let end = start + length as usize + 1;
            if end > count {
                return Err(input.damage("the runs are longer than the vector"));
            }
            if ranges.iter().any(|&(low, high)| (low..=high).contains(&value)) {
                mask.insert_range(start..end);
            }
            start = end;
        }
        if start == count {
            Ok(Some(mask))
        } else {
            Err(input.damage("the runs are shorter than the vector"))
        }
    }

    fn decode_runs<T: Lane>(&self, input: &mut Input<'_>, out: &mut [T]) -> Result<(), Damage> {
        let (values, lengths) = self.runs(input, out.len())?;
        let mut rest = out;
        for (value, length) in values.into_iter().zip(lengths) {
            // Most runs are short, and what is written behind one is overwritten by the next.
            if let Some(short) = rest.first_chunk_mut::<SHORT_RUN>() {
                *short = [value; SHORT_RUN];
            }
            let Some((run, behind)) = rest.split_at_mut_checked(length as usize + 1) else {
                return Err(input.damage("the runs are longer than the vector"));
            };
            if run.len() > SHORT_RUN || behind.len() + run.len() < SHORT_RUN {
                run.fill(value);
            }
            rest = behind;
        }
        if rest.is_empty() { Ok(()) } else { Err(input.damage("the runs are shorter than the vector")) }
    }

    fn look_up<T: Lane>(&self, values: &[i64], input: &mut Input<'_>, out: &mut [T]) -> Result<(), Damage> {
        let table: Vec<T> = values
            .iter()
            .map(|&value| T::of(value.wrapping_mul(self.unit).wrapping_add(self.rest)))
            .collect();
        let mut codes = vec![0u32; out.len()];
        frame::decode(input, 1, 0, &mut codes)?;
        if codes.iter().any(|&code| code as usize >= table.len()) {
            return Err(input.damage("a code is behind the end of the dictionary"));
        }
        for (to, code) in out.iter_mut().zip(codes) {
            *to = table[code as usize];
        }
        Ok(())
    }
}

/// The kinds worth trying.
fn candidates(full: &[&[i64]], sample: &[&[i64]], nature: Nature, unit: i64, rest: i64) -> Vec<Kind> {
    let mut kinds = vec![Kind::Frame];
    let together: Vec<i64> = sample.concat();
    let equal = together.windows(2).filter(|pair| pair[0] == pair[1]).count();
    if equal * 2 > together.len() {
        kinds.push(Kind::Runs);
    }
    if nature == Nature::Integer {
        kinds.push(Kind::Delta);
        if full.iter().all(|vector| ascending::is_ascending(vector)) {
            kinds.push(Kind::Ascending);
        }
    }
    if let Nature::Float(bits) = nature {
        kinds.extend(Alp::choose(&together, bits == 32).map(Kind::Alp));
        kinds.extend(Split::choose(&together, bits).map(Kind::Split));
    } else if unit == 1 && rest == 0 {
        kinds.extend(Split::choose(&together, 64).filter(|_| is_wide(&together)).map(Kind::Split));
    }
    kinds.extend(dictionary(full, &together, unit).map(Kind::Dictionary));
    kinds
}

/// Numbers that a frame would need more than four bytes for.
fn is_wide(values: &[i64]) -> bool {
    let (min, max) = (values.iter().min(), values.iter().max());
    min.zip(max).is_some_and(|(min, max)| max.abs_diff(*min) > u64::from(u32::MAX))
}

/// The distinct stored numbers in ascending order, if the sample says that they are few and they are.
fn dictionary(full: &[&[i64]], sample: &[i64], unit: i64) -> Option<Vec<i64>> {
    let mut distinct = sample.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let range = distinct.last()?.abs_diff(*distinct.first()?) / unit.unsigned_abs();
    // A frame of a dense range is as small and has no table.
    if distinct.len() * 4 > sample.len() || range < 4 * distinct.len() as u64 {
        return None;
    }
    for vector in full {
        let fresh = vector.iter().filter(|value| distinct.binary_search(value).is_err());
        let mut fresh: Vec<i64> = fresh.copied().collect();
        fresh.sort_unstable();
        fresh.dedup();
        distinct.extend(fresh);
        distinct.sort_unstable();
        if distinct.len() > DICTIONARY_MAX {
            return None;
        }
    }
    Some(distinct.into_iter().map(|value| value.div_euclid(unit)).collect())
}

/// The largest number that divides all differences, and what is left of every value.
fn common_divisor(vectors: &[&[i64]]) -> (i64, i64) {
    let mut values = vectors.iter().copied().flatten().copied();
    let Some(first) = values.next() else { return (1, 0) };
    let mut divisor = 0u64;
    for value in values {
        let (mut a, mut b) = (value.abs_diff(first), divisor);
        if b != 0 && a % b == 0 {
            continue;
        }
        while a != 0 {
            (a, b) = (b % a, a);
        }
        divisor = b;
        if divisor == 1 {
            return (1, 0);
        }
    }
    match i64::try_from(divisor) {
        Ok(unit) if unit > 1 => (unit, first.rem_euclid(unit)),
        _ => (1, 0),
    }
}

fn encode_delta(values: &[i64], out: &mut Vec<u8>) {
    let mut deltas: Vec<i64> = Vec::with_capacity(values.len());
    // The first difference repeats the second, so that it never widens the frame.
    deltas.push(values.get(1).map_or(0, |second| second.wrapping_sub(values[0])));
    deltas.extend(values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])));
    deltas.truncate(values.len());
    let start = values.first().map_or(0, |first| first.wrapping_sub(deltas[0]));
    out.extend_from_slice(&start.to_le_bytes());
    frame::encode(&deltas, out);
}

fn encode_runs(values: &[i64], out: &mut Vec<u8>) {
    let mut runs: Vec<i64> = Vec::new();
    let mut lengths: Vec<i64> = Vec::new();
    for &value in values {
        match (runs.last(), lengths.last_mut()) {
            (Some(last), Some(length)) if *last == value => *length += 1,
            _ => {
                runs.push(value);
                lengths.push(0);
            }
        }
    }
    // A vector of more runs than the count can say is written as one scheme down the list would: never chosen.
    debug_assert!(runs.len() <= usize::from(u16::MAX));
    out.extend_from_slice(&(runs.len() as u16).to_le_bytes());
    frame::encode(&runs, out);
    frame::encode(&lengths, out);
}

#[cfg(test)]
mod tests;
