// SPDX-License-Identifier: Apache-2.0
//! Strings that are one front and a number in decimal digits, always as many: `user000000004711`, `Customer#000000001`, `20261123`.
//! They are stored as the numbers.

use bytes::Bytes;

use super::super::input::Input;
use super::super::ints::{IntScheme, Nature};
use super::super::strings::{StringList, Strings};
use crate::error::Damage;

/// Most digits: every such number is an `i64`.
const DIGITS_MAX: usize = 18;

/// What the strings have in common, and how their numbers are stored.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Digits {
    front: Bytes,
    /// How many digits follow the front.
    digits: usize,
    numbers: IntScheme,
}

impl Digits {
    /// For these vectors, if all their strings are like that.
    pub(super) fn try_of(vectors: &[&StringList]) -> Option<Self> {
        let first = vectors.iter().find_map(|vector| vector.iter().next())?;
        let number_at = first.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
        let front_len = number_at.max(first.len().saturating_sub(DIGITS_MAX));
        let (front, digits) = (Bytes::copy_from_slice(&first[..front_len]), first.len() - front_len);
        let number = |string: &[u8]| (digits > 0).then(|| number_behind(&front, digits, string))?;
        let numbers: Option<Vec<Vec<i64>>> =
            vectors.iter().map(|vector| vector.iter().map(number).collect()).collect();
        let numbers = numbers?;
        let slices: Vec<&[i64]> = numbers.iter().map(Vec::as_slice).collect();
        let numbers = IntScheme::choose(&slices, Nature::Integer);
        Some(Self { front, digits, numbers })
    }

    pub(super) fn write_params(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.digits as u8, self.numbers.number()]);
        out.extend_from_slice(&(self.front.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.front);
        self.numbers.write_params(out);
    }

    pub(super) fn read_params(input: &mut Input<'_>) -> Result<Self, Damage> {
        let (digits, scheme) = (usize::from(input.u8()?), input.u8()?);
        if !(1..=DIGITS_MAX).contains(&digits) {
            return Err(input.damage(format!("numbers of {digits} digits")));
        }
        let front_len = input.u32()? as usize;
        let front = Bytes::copy_from_slice(input.take(front_len)?);
        Ok(Self { front, digits, numbers: IntScheme::read_params(scheme, input)? })
    }

    /// Appends a vector.
    pub(super) fn encode(&self, strings: &StringList, out: &mut Vec<u8>) {
        let number = |string| number_behind(&self.front, self.digits, string);
        let numbers: Option<Vec<i64>> = strings.iter().map(number).collect();
        self.numbers.encode(&numbers.expect("chosen for strings like these"), out);
    }

    /// Decodes a vector of `count` strings, which `bytes` is all of; they may come to `bytes_max`.
    pub(super) fn decode(&self, bytes: &[u8], count: usize, bytes_max: usize) -> Result<Strings, Damage> {
        let len = self.front.len() + self.digits;
        let total = len.saturating_mul(count);
        if total > bytes_max {
            return Err(Damage::new(0, format!("strings of {total} bytes, {bytes_max} are the most")));
        }
        let mut numbers = vec![0_u64; count];
        self.numbers.decode(bytes, &mut numbers)?;
        let end = 10_u64.pow(self.digits as u32);
        if let Some(number) = numbers.iter().find(|number| **number >= end) {
            return Err(Damage::new(0, format!("{number} where a number of {} digits must be", self.digits)));
        }
        let plain = match len {
            8 => self.words::<1>(&numbers),
            16 => self.words::<2>(&numbers),
            24 => self.words::<3>(&numbers),
            _ => self.written(&numbers, len),
        };
        Ok(Strings::of_width(plain.into(), len, count))
    }

    /// Strings of eight bytes for each of some words, of which each is made as one number of its bytes.
    fn words<const WORDS: usize>(&self, numbers: &[u64]) -> Vec<u8> {
        let mut front = [0; 8 * WRITTEN_WORDS];
        let (mut digits, front_len) = ([0; 8 * WRITTEN_WORDS], self.front.len());
        front[..front_len].copy_from_slice(&self.front);
        digits[front_len..].fill(0xff);
        let words = |bytes: [u8; 8 * WRITTEN_WORDS]| {
            let words = bytes.as_chunks().0;
            std::array::from_fn::<u64, WORDS, _>(|word| u64::from_le_bytes(words[word]))
        };
        let (front, digits) = (words(front), words(digits));
        let word_of = |word: usize, written: u64| (front[word] | written & digits[word]).to_le_bytes();
        let mut plain = vec![0; 8 * WORDS * numbers.len()];
        // Numbers that are next to each other often have their upper digits in common.
        let (mut known, mut upper) = (None, [[0; 8]; WORDS]);
        let mut write = |out: &mut [[u8; 8]], number: u64, last: u64| {
            let rest = number / E8;
            if known != Some(rest) {
                known = Some(rest);
                let mut rest = rest;
                for word in (0..WORDS - 1).rev() {
                    upper[word] = word_of(word, eight_digits((rest % E8) as u32));
                    rest /= E8;
                }
            }
            upper[WORDS - 1] = word_of(WORDS - 1, last);
            out.copy_from_slice(&upper);
        };
        let words = plain.as_chunks_mut::<8>().0;
        let (lanes, rest) = numbers.as_chunks::<LANES>();
        let (in_lanes, behind) = words.split_at_mut(WORDS * LANES * lanes.len());
        for (out, numbers) in in_lanes.chunks_exact_mut(WORDS * LANES).zip(lanes) {
            let last = last_digits(numbers);
            for ((out, &number), last) in out.chunks_exact_mut(WORDS).zip(numbers).zip(last) {
                write(out, number, last);
            }
        }
        for (out, &number) in behind.chunks_exact_mut(WORDS).zip(rest) {
            write(out, number, eight_digits((number % E8) as u32));
        }
        plain
    }

    fn written(&self, numbers: &[u64], len: usize) -> Vec<u8> {
        let mut plain = Vec::with_capacity(len * numbers.len());
        for &number in numbers {
            plain.extend_from_slice(&self.front);
            plain.extend_from_slice(&written(number)[WRITTEN - self.digits..]);
        }
        plain
    }
}

/// The number behind the front; `None` if the string is anything else.
fn number_behind(front: &[u8], digits: usize, string: &[u8]) -> Option<i64> {
    let number = string.len().checked_sub(digits).filter(|&start| start == front.len())?;
    let (head, number) = string.split_at(number);
    // An empty front lies nowhere, which a comparison by vector instructions takes hundreds of cycles to find harmless.
    if !front.is_empty() && head != front {
        return None;
    }
    let (first, eights) = number.as_rchunks::<8>();
    let first = first
        .iter()
        .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))?;
    eights.iter().try_fold(first, |sum, eight| Some(sum * E8 as i64 + number_of_eight(*eight)?))
}

/// The number of eight digits: lanes of one digit become lanes of two, of four, and one of eight.
fn number_of_eight(digits: [u8; 8]) -> Option<i64> {
    let ones = u64::from_le_bytes(digits).wrapping_sub(0x3030_3030_3030_3030);
    // A byte that is no digit is above nine now, or has borrowed from the next, which is above nine then.
    if (ones | ones.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let twos = (ones & 0x000f_000f_000f_000f) * 10 + (ones >> 8 & 0x000f_000f_000f_000f);
    let fours = (twos & 0x0000_00ff_0000_00ff) * 100 + (twos >> 16 & 0x0000_00ff_0000_00ff);
    Some(((fours & 0xffff) * 10_000 + (fours >> 32)) as i64)
}

/// Parts of eight digits of a number with zeros before it.
const WRITTEN_WORDS: usize = 3;
/// Digits of such a number.
const WRITTEN: usize = 8 * WRITTEN_WORDS;
/// What eight digits count up to.
const E8: u64 = 100_000_000;

/// A number below 10^24 with all of its digits.
fn written(number: u64) -> [u8; WRITTEN] {
    let mut out = [0; WRITTEN];
    let parts = [number / (E8 * E8), number / E8 % E8, number % E8];
    for (out, part) in out.as_chunks_mut::<8>().0.iter_mut().zip(parts) {
        *out = eight_digits(part as u32).to_le_bytes();
    }
    out
}

/// Numbers whose digits are made at once.
const LANES: usize = 8;

/// The last eight digits of each number, as [`eight_digits`].
#[inline]
fn last_digits(numbers: &[u64; LANES]) -> [u64; LANES] {
    let base = numbers[0] / E8 * E8;
    let are_near = numbers.iter().fold(true, |near, number| near & (number.wrapping_sub(base) < E8));
    if are_near {
        return numbers.map(|number| eight_digits((number - base) as u32));
    }
    numbers.map(|number| eight_digits((number % E8) as u32))
}

/// The digits of a number below 10^8, the first of them in the lowest byte.
#[inline(always)]
fn eight_digits(number: u32) -> u64 {
    let upper = number / 10_000;
    u64::from(four_digits(upper)) | u64::from(four_digits(number - 10_000 * upper)) << 32
}

/// The digits of a number below 10^4, all at once: a lane of four digits becomes two of two, and those four of one. Each division
/// is a multiplication whose error is too small to matter for so few digits (Warren, Hacker's Delight, 2nd edition, chapter 10).
#[inline(always)]
fn four_digits(number: u32) -> u32 {
    let hundreds = (number * 10_486) >> 20;
    let twos = hundreds | (number - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f;
    tens | (twos - 10 * tens) << 8 | 0x3030_3030
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_all_digits() {
        for number in 0..10_000 {
            let text = format!("{number:04}");
            assert_eq!(eight_digits(number).to_le_bytes(), *format!("0000{text}").as_bytes());
            assert_eq!(
                eight_digits(number * 10_000 + 9_999 - number).to_le_bytes().first_chunk(),
                text.as_bytes().first_chunk::<4>()
            );
        }
        for number in [0, 9, 10, 99_999_999, 100_000_000, 123_456_789_012_345_678, 999_999_999_999_999_999] {
            assert_eq!(written(number), *format!("{number:024}").as_bytes());
        }
    }

    #[test]
    fn every_byte_in_every_place_is_read_as_a_digit_or_refused() {
        for number in [0, 1, 12_345_678, 99_999_999, 90_807_060] {
            assert_eq!(number_of_eight(eight_digits(number).to_le_bytes()), Some(i64::from(number)));
        }
        for (place, byte) in (0..8).flat_map(|place| (0..=255).map(move |byte| (place, byte))) {
            for other in [*b"00000000", *b"12345678", *b"99999999"] {
                let mut text = other;
                text[place] = byte;
                let slow =
                    std::str::from_utf8(&text).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                assert_eq!(number_of_eight(text), slow.map(|text| text.parse().unwrap()), "{text:?}");
            }
        }
        for digits in 1..=18 {
            let text = format!("front{:0digits$}", 123_456_789_012_345_678 % 10_i64.pow(digits as u32));
            let number = text[5..].parse().ok();
            assert_eq!(number_behind(b"front", digits, text.as_bytes()), number);
            assert_eq!(number_behind(b"", digits, &text.as_bytes()[5..]), number);
            assert_eq!(number_behind(b"fronT", digits, text.as_bytes()), None);
            assert_eq!(number_behind(b"front", digits + 1, text.as_bytes()), None);
        }
    }

    #[test]
    fn fronts_and_digits_of_every_length_come_back() {
        for (front, digits) in (0..26).flat_map(|front| (1..=DIGITS_MAX).map(move |digits| (front, digits))) {
            let front = &"abcdefghijklmnopqrstuvwxyz"[..front];
            let few = [0, 1, 98_765_432_109_876_543, 123_456_789_012_345_678, 999_999_999_999_999_999];
            // Near each other, across the end of eight digits, and apart, so many that lanes are full and some are left.
            let near = (0..21).map(|step| 98_765_432_199_999_991 + step);
            let apart = (0..13).map(|step| step * 76_543_210_987_654_321);
            let numbers = few.into_iter().chain(near).chain(apart);
            let string = |number: u64| format!("{front}{:0digits$}", number % 10_u64.pow(digits as u32));
            let strings: Vec<String> = numbers.map(string).collect();
            let list: StringList = strings.iter().map(|string| string.as_bytes()).collect();
            let scheme = Digits::try_of(&[&list]).unwrap();
            let mut bytes = vec![];
            scheme.encode(&list, &mut bytes);
            let decoded = scheme.decode(&bytes, list.len(), 1 << 20).unwrap();
            assert!(
                (0..list.len()).all(|index| decoded.get(index) == strings[index].as_bytes()),
                "{strings:?}"
            );
        }
    }

    #[test]
    fn what_is_no_number_behind_the_front_is_not_taken() {
        let of = |strings: &[&str]| {
            let list: StringList = strings.iter().map(|string| string.as_bytes()).collect();
            Digits::try_of(&[&list]).map(|digits| (digits.front, digits.digits))
        };
        assert_eq!(of(&["a-01", "a-02"]), Some((Bytes::from("a-"), 2)));
        assert_eq!(of(&["17", "18"]), Some((Bytes::new(), 2)));
        assert_eq!(of(&["012345678901234567890", "012345678901234567899"]), Some((Bytes::from("012"), 18)));
        for others in [&["a-01", "b-02"][..], &["a-01", "a-2"], &["a-01", "a-0x"], &["a", "b"], &[""], &[]] {
            assert_eq!(of(others), None, "{others:?}");
        }
        assert_eq!(of(&["012345678901234567890", "112345678901234567899"]), None);
    }
}
