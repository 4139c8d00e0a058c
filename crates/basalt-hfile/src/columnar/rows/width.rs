// SPDX-License-Identifier: Apache-2.0
//! Row keys of one width, put together part by part for all rows of a vector.

use basalt_model::ROW_LEN_MAX;

use super::{KeyRows, Part};
use crate::columnar::cells::Values;
use crate::columnar::form::Form;

impl KeyRows<'_> {
    /// Bytes of a row, if each part of every row lies where it lies in all others.
    pub(in super::super) fn width(&self) -> Option<usize> {
        let width_of = |Part { part, places, values }: &Part| {
            if places.is_some() || !part.is_fixed() {
                return None;
            }
            match (part.form, values) {
                (Form::Signed(width) | Form::Unsigned(width), Values::Ints(_)) => Some(usize::from(width)),
                (_, Values::Texts(strings)) => {
                    let (shortest, longest) = strings.lengths();
                    (shortest == longest && shortest > 0).then_some(longest)
                }
                _ => None,
            }
        };
        let width = self.parts.iter().map(width_of).sum::<Option<usize>>();
        width.filter(|width| (1..=ROW_LEN_MAX).contains(width))
    }

    /// Writes all rows, which have a [`Self::width`]: each `at` bytes behind where it begins in `out`, in which one begins every `stride` bytes.
    pub(in super::super) fn write_all(&self, out: &mut [u8], stride: usize, mut at: usize) {
        for Part { part, values, .. } in &self.parts {
            let width = match (part.form, values) {
                (Form::Signed(width) | Form::Unsigned(width), Values::Ints(values)) => {
                    let sign = if matches!(part.form, Form::Signed(_)) { 1 << (8 * width - 1) } else { 0u64 };
                    let numbers = values.iter().map(|value| value ^ sign);
                    write_numbers(numbers, usize::from(width), out, stride, at);
                    usize::from(width)
                }
                (_, Values::Texts(strings)) => {
                    let width = strings.lengths().1;
                    let texts = (0..strings.len()).map(|index| strings.get(index));
                    match width {
                        4 => write_of::<4>(texts, out, stride, at),
                        8 => write_of::<8>(texts, out, stride, at),
                        16 => write_of::<16>(texts, out, stride, at),
                        _ => each_of(out, stride, at, width, texts, |to, text| to.copy_from_slice(text)),
                    }
                    width
                }
                (_, Values::Ints(_)) => unreachable!("such a part has no width"),
            };
            if part.is_desc() {
                out.chunks_exact_mut(stride).for_each(|row| part.invert(&mut row[at..at + width]));
            }
            at += width;
        }
    }
}

/// Calls `write` for the place of each value.
#[inline(always)]
fn each_of<T>(
    out: &mut [u8],
    stride: usize,
    at: usize,
    width: usize,
    values: impl Iterator<Item = T>,
    write: impl Fn(&mut [u8], T),
) {
    out.chunks_exact_mut(stride).zip(values).for_each(|(row, value)| write(&mut row[at..at + width], value));
}

fn write_of<'a, const WIDTH: usize>(
    texts: impl Iterator<Item = &'a [u8]>,
    out: &mut [u8],
    stride: usize,
    at: usize,
) {
    each_of(out, stride, at, WIDTH, texts, |to, text: &[u8]| {
        to.copy_from_slice(text.first_chunk::<WIDTH>().expect("all are as long"));
    });
}

fn write_numbers(numbers: impl Iterator<Item = u64>, width: usize, out: &mut [u8], stride: usize, at: usize) {
    match width {
        8 => {
            each_of(out, stride, at, 8, numbers, |to, number: u64| to.copy_from_slice(&number.to_be_bytes()))
        }
        4 => each_of(out, stride, at, 4, numbers, |to, number: u64| {
            to.copy_from_slice(&(number as u32).to_be_bytes());
        }),
        _ => each_of(out, stride, at, width, numbers, |to, number: u64| {
            to.copy_from_slice(&number.to_be_bytes()[8 - width..]);
        }),
    }
}
