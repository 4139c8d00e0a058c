// SPDX-License-Identifier: Apache-2.0
//! What fuzzers need of the columnar form: blocks whose checksums are made right again, so that damage reaches the decoders,
//! some of their rows and columns, and the vectors of sections by themselves.

use std::sync::Arc;

use basalt_model::CellType;
use basalt_model::types::{Decimal, decimal};
use bytes::Bytes;

use super::VECTOR;
use super::block::ColumnarBlock;
use super::form::Form;
use super::head::{Head, head_len};
use super::input::Input;
use super::ints::{IntScheme, Nature};
use super::mask::Mask;
use super::place::Seal;
use super::section::seal_sections;
use super::strings::StringList;
use super::texts::{TextEncoder, TextScheme};
use crate::block::HEADER_LEN;
use crate::cells::CellBlock;
use crate::encoding::DecodeContext;
use crate::error::{Damage, Result};
use crate::file::MemoryFile;

/// The seal of blocks that fuzzers make.
const SEAL: Seal = Seal::NOTHING;
/// Schemes of strings are numbered from here on.
const TEXTS: u8 = 17;
/// Vectors of a block of which parts are read.
const VECTORS_MAX: usize = 3;
/// Words that symbols of eight bytes take longer for.
const LONG_WORDS: [&str; 6] =
    ["metamorphic", "sedimentary", "hornblendite", "conglomerate", "granodiorite", "anorthosite"];

/// A block of these bytes, all of its checksums made right as far as what they cover can be found.
pub(crate) fn open(mut bytes: Vec<u8>, context: &DecodeContext) -> Result<ColumnarBlock> {
    reseal(&mut bytes);
    let (len, bytes) = (bytes.len(), Bytes::from(bytes));
    let file = Arc::new(MemoryFile::new("fuzz", bytes.clone()));
    ColumnarBlock::open(file, 0, len, bytes, SEAL, context)
}

fn reseal(block: &mut [u8]) {
    let Some(Ok(len)) = block.get(HEADER_LEN..).map(head_len) else { return };
    let sections_at = HEADER_LEN + len;
    if sections_at > block.len() {
        return;
    }
    let seal = SEAL.of_block(0);
    Head::seal(block, seal);
    let sections_len = block.len().saturating_sub(sections_at + 4);
    let Ok(mut head) = Head::read(&block[..sections_at], len, sections_len, seal) else { return };
    seal_sections(&mut head.sections, &mut block[sections_at..], seal);
    let mut again = Vec::new();
    head.write(&mut again);
    if again.len() == len {
        block[HEADER_LEN..sections_at].copy_from_slice(&again);
        Head::seal(block, seal);
    }
}

/// Which rows and columns are read, drawn from all bytes of a block. A fuzzer that wants others of the same block changes its last four
/// bytes: they are in the place of the container's checksums, at which nobody looks here.
struct Choice(u64);

impl Choice {
    fn of(block: &[u8]) -> Self {
        Self(crc32c::crc32c(block).into())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 27
    }

    /// Some of so many rows, few or many, alone or beside each other; now and then rows that there are not.
    fn rows(&mut self, count: usize) -> Mask {
        let (share, from) = (1 + self.next() % 40, self.next() as usize % (count + 1));
        match self.next() % 4 {
            0 => Mask::of_range(from..VECTOR),
            1 => Mask::of_range(0..from),
            _ => {
                let mut rows = Mask::NONE;
                (0..VECTOR).for_each(|row| rows.set(row, self.next().is_multiple_of(share)));
                rows
            }
        }
    }

    /// All columns, or some, and one that there is not.
    fn names(&mut self, block: &ColumnarBlock) -> Option<Vec<Vec<u8>>> {
        let share = self.next() % 4;
        if share == 0 {
            return None;
        }
        let mut names: Vec<Vec<u8>> = block.columns().map(|(name, _)| name.to_vec()).collect();
        names.retain(|_| self.next().is_multiple_of(share));
        names.push(vec![0xff; super::QUALIFIER_MAX + 1]);
        names.sort_unstable();
        Some(names)
    }
}

/// Some rows of a block's vectors, and single ones by their keys, with some columns: of a vector that is read as a whole they are what is
/// left of it without the others.
pub(crate) fn parts(block: &ColumnarBlock, bytes: &[u8]) {
    let mut choice = Choice::of(bytes);
    let is_sorted = block.decode(0..block.vectors()).is_ok() && is_sorted(block).unwrap_or(false);
    for vector in 0..block.vectors().min(VECTORS_MAX) {
        let (rows, names) = (choice.rows(block.rows_of(vector)), choice.names(block));
        let found = block.decode_rows(vector, &rows, names.as_deref());
        let one = choice.next() as usize % block.rows_of(vector);
        let mut key = Vec::new();
        let key_found = block.key_rows(vector).and_then(|keys| keys.append(one, &mut key));
        let by_key = block.decode_row(&key, names.as_deref());
        let Ok(all) = block.decode(vector..vector + 1) else { continue };
        let names = names.as_deref();
        check_part(block, (vector, &all), (&rows, names), &found.expect("of rows that are read"));
        if is_sorted {
            key_found.expect("it was read");
            let one = Mask::of_range(one..one + 1);
            check_part(block, (vector, &all), (&one, names), &by_key.expect("of rows that are read"));
        }
    }
}

/// True if the row keys of a block ascend, so that a row is found by its key.
fn is_sorted(block: &ColumnarBlock) -> Result<bool> {
    let (mut last, mut key) = (Vec::new(), Vec::new());
    for vector in 0..block.vectors() {
        let keys = block.key_rows(vector)?;
        for row in 0..keys.len() {
            key.clear();
            keys.append(row, &mut key)?;
            if key <= last {
                return Ok(false);
            }
            std::mem::swap(&mut key, &mut last);
        }
    }
    Ok(true)
}

/// `found` must be those of a vector's cells that are in some rows and columns.
fn check_part(
    block: &ColumnarBlock,
    (vector, all): (usize, &CellBlock),
    (rows, names): (&Mask, Option<&[Vec<u8>]>),
    found: &CellBlock,
) {
    let columns = block.columns().zip(0..).map(|((name, _), column)| {
        let is_wanted = names.is_none_or(|names| names.iter().any(|wanted| wanted == name));
        (is_wanted, block.counts(column, vector).expect("of cells that were read"))
    });
    let columns: Vec<_> = columns.collect();
    let (mut at, mut next, mut starts, mut is_plain) = (0, 0, Vec::new(), true);
    for row in 0..block.rows_of(vector) {
        let first = next;
        for (is_wanted, counts) in &columns {
            let count = counts.as_ref().map_or(1, |counts| counts[row]);
            for cell in (0..count as usize).map(|index| all.cell(at + index)) {
                if *is_wanted && rows.has(row) {
                    assert_eq!(found.cell(next), cell, "cell {next} of some rows of vector {vector}");
                    is_plain &= count == 1 && cell.cell_type == CellType::Put;
                    next += 1;
                }
            }
            at += count as usize;
        }
        starts.extend((next > first).then_some(first as u32));
    }
    assert_eq!((at, next), (all.len(), found.len()), "cells of all rows and of some of vector {vector}");
    assert_eq!((&starts, is_plain), (&found.row_starts, found.plain));
}

/// A vector of a section: `u8 scheme | u16 values`, the parameters of the scheme, the vector.
pub(crate) fn vector(data: &[u8], bytes_max: usize) -> Result<(), Damage> {
    let mut input = Input::new(data);
    let (scheme, count) = (input.u8()?, usize::from(input.u16()?) % (VECTOR + 1));
    if scheme >= TEXTS {
        let scheme = TextScheme::read_params(scheme, &mut input)?;
        let strings = scheme.decode(&Bytes::copy_from_slice(input.rest()), count, bytes_max)?;
        assert_eq!(strings.len(), count);
        let bytes: usize = (0..count).map(|index| strings.get(index).len()).sum();
        std::hint::black_box(bytes);
        return Ok(());
    }
    let scheme = IntScheme::read_params(scheme, &mut input)?;
    let (mut wide, mut narrow) = (vec![0u64; count], vec![0u32; count]);
    let decoded = scheme.decode(input.rest(), &mut wide);
    // A narrow lane is for values that fit it; where one does not, they need not agree.
    let decoded_narrow = scheme.decode(input.rest(), &mut narrow);
    assert_eq!(decoded.is_ok(), decoded_narrow.is_ok());
    decoded
}

/// Sound inputs for [`vector`], one of each scheme: its name and the bytes.
pub(crate) fn vectors() -> Vec<(&'static str, Vec<u8>)> {
    let spread = |number: i64| (number.wrapping_mul(0x5851_f42d_4c95_7f2d) as u64 >> 33) as i64;
    let sortable = |float: f64| super::alp::sortable_64(float.to_bits()) as i64;
    // Five sizes of numbers, all digits of them random.
    let exponent = |at: i64| 100 + 400 * (at % 5) as u64;
    let mantissa = |at: i64| (spread(at) as u64) << 21 ^ spread(at + 1000) as u64;
    let numbers: [(Vec<i64>, Nature); 7] = [
        ((0..200).map(|at| spread(at) % 1000).collect(), Nature::Integer),
        ((0..200).map(|at| 5_000_000 + at * 1000 + spread(at) % 7).collect(), Nature::Integer),
        ((0..200).map(|at| at / 40 * 1001 - 7).collect(), Nature::Integer),
        ((0..200).map(|at| spread(at % 5 * 77)).collect(), Nature::Integer),
        ((0..200).map(|at| sortable((spread(at) % 10_000) as f64 / 100.0)).collect(), Nature::Float(64)),
        (
            (0..200).map(|at| sortable(f64::from_bits(exponent(at) << 52 | mantissa(at)))).collect(),
            Nature::Float(64),
        ),
        ((0..200).map(|at: i64| at.pow(6)).collect(), Nature::Integer),
    ];
    let mut seeds = Vec::new();
    for (values, nature) in &numbers {
        let scheme = IntScheme::choose(&[values], *nature);
        let mut bytes = vec![scheme.number()];
        bytes.extend_from_slice(&(values.len() as u16).to_le_bytes());
        scheme.write_params(&mut bytes);
        scheme.encode(values, &mut bytes);
        seeds.push((scheme.name(), bytes));
    }
    let noise: Vec<u8> = (0..100).map(|at| (spread(at) >> 7) as u8).collect();
    let words = ["basalt", "granite", "gneiss", "a slate", ""];
    let decimals = (0..60).map(|at| {
        let mut bytes = Vec::new();
        let digits = (i128::from(spread(at)) << 50 ^ i128::from(spread(at + 99))) - (1 << 30);
        decimal::encode(Decimal::new(digits, 2), &mut bytes).expect("a DECIMAL");
        bytes
    });
    let decimals = decimals.collect::<Vec<_>>().iter().map(Vec::as_slice).collect::<StringList>();
    let texts: [StringList; 8] = [
        collect((0..60).map(|at| format!("{:x}", spread(at) % 0xf000 + 0x1000))),
        (0..90)
            .map(|at| noise[at..at + spread(at as i64) as usize % 9].to_vec())
            .collect::<Vec<_>>()
            .iter()
            .map(Vec::as_slice)
            .collect(),
        collect((0..60).map(|at| words[spread(at) as usize % words.len()].repeat(2))),
        collect((0..60).map(|at| format!("httpsexampleorg{}x{}", spread(at) % 100, spread(at + 99)))),
        collect((0..60).map(|at| format!("customer/{:05}/{}", at * 3, "y".repeat(at as usize % 3)))),
        collect((0..60).map(|at| format!("order-{:06}", spread(at) % 1_000_000))),
        collect(
            (0..60).map(|at| format!("{:04x}/state={:04x}", spread(at) % 65_536, spread(at + 99) % 65_536)),
        ),
        collect((0..90).map(|at| {
            let word = |at: i64| LONG_WORDS[spread(at) as usize % LONG_WORDS.len()];
            let rare = if at % 30 == 7 { " once" } else { "" };
            format!("{} {} {}{rare}", word(at), word(at * 99), word(at * 777))
        })),
    ];
    let texts = texts.into_iter().map(|strings| (strings, Form::Bytes));
    for (strings, form) in texts.chain([(decimals, Form::LongDecimal(2))]) {
        let count = strings.len() as u16;
        let (encoder, _) = TextEncoder::choose(std::slice::from_ref(&strings), form, &mut None);
        let mut bytes = vec![encoder.scheme.number()];
        bytes.extend_from_slice(&count.to_le_bytes());
        encoder.scheme.write_params(&mut bytes);
        encoder.encode(&strings, &mut bytes);
        seeds.push((encoder.scheme.name(), bytes));
    }
    seeds
}

fn collect(strings: impl Iterator<Item = String>) -> StringList {
    let strings: Vec<String> = strings.collect();
    strings.iter().map(String::as_bytes).collect()
}
