// SPDX-License-Identifier: Apache-2.0
//! Texts as the words that they are made of, by number: prose, names, paths, what people and programs write.
//!
//! A *word* here is up to fifteen bytes: anything that is no letter, and behind it letters, digits and bytes of other
//! alphabets. A section has a table of the words that occur in it more than once or twice, the
//! most frequent first, so that these have codes of one byte and the others of two; what is rare is spelled out. A
//! codec does better on such codes than on the text, since there are fewer of them and what repeats is aligned (word replacing transforms: Skibinski, Grabowski, Deorowicz, "Revisiting dictionary-based
//! compression", 2005).
//!
//! ```text
//! table    u16 words | u8 length of each, 1 to 15 | their bytes
//! vector   a frame of the words of each string | u32 bytes of all strings | codes
//! code     0 to 254 - k        that word
//!          255 - k to 254, u8  word 255 - k and 256 times what the first is above that, and the second, more
//!          255, u8 length, 1 to 15 | the bytes: a word that is not in the table
//! ```
//!
//! There are as many codes of two bytes as the number of words needs: k is (words - 255) / 255, rounded up, and 0 for fewer.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::super::frame;
use super::super::input::Input;
use super::super::strings::{Span, StringList, Strings};
use super::{STRING_MAX, bounded};
use crate::error::Damage;

/// Bytes of the longest word.
const WORD_BYTES: usize = 15;
/// Bytes that are copied for each word.
const COPIED: usize = 16;
/// Words of the largest table.
const WORDS_MAX: usize = 1 << 14;
/// Bits of a span that are a length.
const LEN_BITS: u32 = 4;
const LEN: u32 = (1 << LEN_BITS) - 1;
/// The code before a word that is spelled out.
const SPELLED: u8 = 255;
/// Bytes that the table is made from, at most about.
const TRAINING_BYTES: usize = 1 << 20;

/// Up to fifteen bytes, the first of them the lowest, and their number on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Word(u128);

impl Word {
    /// Some of the first bytes.
    #[inline]
    fn new(bytes: u128, len: usize) -> Self {
        Self(bytes & (u128::MAX >> (8 * (COPIED - len))) | (len as u128) << (8 * WORD_BYTES))
    }

    #[inline]
    fn len(self) -> usize {
        (self.0 >> (8 * WORD_BYTES)) as usize
    }

    #[inline]
    fn append_to(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes()[..self.len()]);
    }
}

/// Words by number.
#[derive(Clone, PartialEq, Eq)]
pub(in super::super) struct Words {
    /// All words back to back, and so much more that sixteen bytes can be copied from where each begins.
    bytes: Vec<u8>,
    /// Of each word 16 times where it begins, and its length.
    spans: Vec<u32>,
    /// Codes of one byte.
    short: usize,
}

impl std::fmt::Debug for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} words", self.spans.len())
    }
}

/// Finds the number of a word.
pub(super) struct WordNumbers(HashMap<Word, u16, FixedState>);

impl Words {
    /// Words of these bytes back to back, of which there must be as many as the lengths say, each at most 15.
    fn new(bytes: &[u8], lengths: &[u8]) -> Self {
        let long = lengths.len().saturating_sub(usize::from(SPELLED)).div_ceil(255);
        let mut start = 0;
        let span = |len: &u8| {
            let span = start << LEN_BITS | u32::from(*len);
            start += u32::from(*len);
            span
        };
        let spans = lengths.iter().map(span).collect();
        Self { bytes: [bytes, &[0; COPIED]].concat(), spans, short: usize::from(SPELLED) - long }
    }

    /// The words of these vectors, if a sample of them says that they are words and repeat.
    pub(super) fn try_of(full: &[&StringList], sample: &[&StringList]) -> Option<(Self, WordNumbers)> {
        let (mut sampled, mut bytes) = (HashMap::<Word, u32, FixedState>::default(), 0);
        for string in sample.iter().flat_map(|vector| vector.iter()) {
            words_of(string, |word| *sampled.entry(word).or_default() += 1);
            bytes += string.len();
        }
        let words: usize = sampled.values().map(|times| *times as usize).sum();
        if sampled.is_empty() || sampled.len() * 2 > words || words * 3 > bytes {
            return None;
        }
        let all: usize = full.iter().map(|vector| vector.size_bytes()).sum();
        let step = all.div_ceil(TRAINING_BYTES).max(1);
        let mut known = HashMap::<Word, u32, FixedState>::default();
        for string in full.iter().flat_map(|vector| vector.iter()).step_by(step) {
            words_of(string, |word| *known.entry(word).or_default() += 1);
        }
        // Spelled out, a word takes its length more each time than by a code of two bytes; in the table, its length and one once.
        let pays = |word: &Word, times: u32| times as usize * word.len() > word.len() + 1;
        let mut known: Vec<(Word, u32)> =
            known.into_iter().filter(|(word, times)| pays(word, *times)).collect();
        known.sort_unstable_by_key(|(word, times)| (std::cmp::Reverse(*times), word.0));
        known.truncate(WORDS_MAX);
        let lengths: Vec<u8> = known.iter().map(|(word, _)| word.len() as u8).collect();
        let mut bytes = Vec::new();
        known.iter().for_each(|(word, _)| word.append_to(&mut bytes));
        let numbers = known.iter().map(|(word, _)| *word).zip(0..).collect();
        Some((Self::new(&bytes, &lengths), WordNumbers(numbers)))
    }

    pub(super) fn write_params(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.spans.len() as u16).to_le_bytes());
        out.extend(self.spans.iter().map(|span| (span & LEN) as u8));
        out.extend_from_slice(&self.bytes[..self.bytes.len() - COPIED]);
    }

    pub(super) fn read_params(input: &mut Input<'_>) -> Result<Self, Damage> {
        let count = usize::from(input.u16()?);
        if count > WORDS_MAX {
            return Err(input.damage(format!("{count} words, {WORDS_MAX} are the most")));
        }
        let lengths = input.take(count)?;
        if let Some(len) = lengths.iter().find(|len| !(1..=WORD_BYTES as u8).contains(len)) {
            return Err(input.damage(format!("a word of {len} bytes")));
        }
        let bytes = input.take(lengths.iter().map(|len| usize::from(*len)).sum())?;
        Ok(Self::new(bytes, lengths))
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.spans)
    }

    /// Appends a vector.
    pub(super) fn encode(&self, numbers: &WordNumbers, strings: &StringList, out: &mut Vec<u8>) {
        let mut counts = Vec::with_capacity(strings.len());
        let mut codes = Vec::with_capacity(strings.size_bytes() / 2);
        for string in strings.iter() {
            let mut count = 0;
            words_of(string, |word| {
                count += 1;
                match numbers.0.get(&word) {
                    Some(&number) if usize::from(number) < self.short => codes.push(number as u8),
                    Some(&number) => {
                        let beyond = usize::from(number) - self.short;
                        codes.extend_from_slice(&[(self.short + (beyond >> 8)) as u8, beyond as u8]);
                    }
                    None => {
                        codes.extend_from_slice(&[SPELLED, word.len() as u8]);
                        word.append_to(&mut codes);
                    }
                }
            });
            counts.push(count);
        }
        frame::encode(&counts, out);
        out.extend_from_slice(&(strings.size_bytes() as u32).to_le_bytes());
        out.extend_from_slice(&codes);
    }

    /// Decodes a vector of `count` strings; they may come to `bytes_max`.
    pub(super) fn decode(
        &self,
        input: &mut Input<'_>,
        count: usize,
        bytes_max: usize,
    ) -> Result<Strings, Damage> {
        let counts = frame::decode_bounded(input, count, STRING_MAX)?;
        let len = bounded(input.u32()? as usize, bytes_max, input)?;
        let words: usize = counts.iter().sum();
        let codes = input.rest();
        if words > codes.len() || len > codes.len().saturating_mul(WORD_BYTES) {
            return Err(
                input.damage(format!("{} codes cannot stand for {words} words of {len} bytes", codes.len()))
            );
        }
        // Whole words are copied, and what is too long written over: the last one needs room. And each code is read with the byte behind it.
        let (mut plain, codes) = (vec![0; len + COPIED], [codes, &[0]].concat());
        let mut ends = Vec::with_capacity(words + 1);
        ends.push(0);
        let (mut at, mut from) = (0, 0);
        let wrong = || input.damage(format!("the codes do not stand for {words} words of {len} bytes"));
        for _ in 0..words {
            let room = plain[at..].first_chunk_mut::<COPIED>().ok_or_else(wrong)?;
            let &[code, next] = codes[from..].first_chunk().ok_or_else(wrong)?;
            if code == SPELLED {
                let spelled = codes.get(from + 2..from + 2 + usize::from(next)).ok_or_else(wrong)?;
                room[..WORD_BYTES].get_mut(..spelled.len()).ok_or_else(wrong)?.copy_from_slice(spelled);
                from += 2 + spelled.len();
                at += spelled.len();
            } else {
                // Without a branch: nobody can tell which it will be.
                let (code, beyond) = (usize::from(code), usize::from(code).wrapping_sub(self.short));
                let is_long = code >= self.short;
                let number = if is_long { self.short + beyond * 256 + usize::from(next) } else { code };
                let span = *self.spans.get(number).ok_or_else(wrong)?;
                let word = self.bytes[(span >> LEN_BITS) as usize..].first_chunk();
                *room = *word.expect("there is more behind words");
                from += 1 + usize::from(is_long);
                at += (span & LEN) as usize;
            }
            ends.push(at as u32);
        }
        if at != len || from + 1 != codes.len() {
            return Err(wrong());
        }
        plain.truncate(len);
        let mut before = 0;
        let spans = counts.into_iter().map(|words| {
            let start = ends[before];
            before += words;
            Span { start, len: ends[before] - start }
        });
        let spans = spans.collect();
        Ok(Strings { bytes: plain.into(), spans })
    }
}

/// Of eight bytes, the first of them the lowest: the highest bit of each that is a letter, a digit or of another alphabet.
#[inline]
fn letters(bytes: u64) -> u64 {
    const EACH: u64 = u64::MAX / 255;
    // Below 0x80, what is added sets the highest bit from the limit on, and never carries.
    let from = |bytes: u64, limit: u8| (bytes & (0x7f * EACH)) + (0x80 - u64::from(limit)) * EACH;
    let between = |bytes: u64, first: u8, last: u8| from(bytes, first) & !from(bytes, last + 1);
    (between(bytes | (0x20 * EACH), b'a', b'z') | between(bytes, b'0', b'9') | bytes) & (0x80 * EACH)
}

/// Calls `each` with the words of a string, one behind the other.
#[inline]
fn words_of(string: &[u8], mut each: impl FnMut(Word)) {
    let last = match string.last_chunk::<COPIED>() {
        Some(last) => u128::from_le_bytes(*last),
        None => {
            let mut last = [0; COPIED];
            last[COPIED - string.len()..].copy_from_slice(string);
            u128::from_le_bytes(last)
        }
    };
    let mut rest = string;
    while !rest.is_empty() {
        let bytes = match rest.first_chunk::<COPIED>() {
            Some(bytes) => u128::from_le_bytes(*bytes),
            // What is left is the end of the last sixteen bytes.
            None => last >> (8 * (COPIED - rest.len())),
        };
        let len = first_word(bytes, rest.len().min(COPIED));
        each(Word::new(bytes, len));
        rest = &rest[len..];
    }
}

/// Length of the word that these `len` bytes begin with, zeros behind them.
#[inline]
fn first_word(bytes: u128, len: usize) -> usize {
    let is_letter = u128::from(letters(bytes as u64)) | u128::from(letters((bytes >> 64) as u64)) << 64;
    let is_other = !is_letter & (u128::MAX / 255 * 0x80);
    // The highest bit of a byte is set or not: so there are eight for each before the first.
    let end = match is_letter {
        0 => len,
        _ => (is_other & (u128::MAX << is_letter.trailing_zeros())).trailing_zeros() as usize / 8,
    };
    end.min(len).min(WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn split(string: &str) -> Vec<String> {
        let mut words = vec![];
        words_of(string.as_bytes(), |word| {
            let mut bytes = vec![];
            word.append_to(&mut bytes);
            words.push(String::from_utf8(bytes).unwrap());
        });
        words
    }

    #[test]
    fn words_have_what_stands_before_them() {
        assert_eq!(
            split("even deposits, ideas--boldly. "),
            ["even", " deposits", ", ideas", "--boldly", ". "]
        );
        assert_eq!(split("/usr/lib/x_1"), ["/usr", "/lib", "/x", "_1"]);
        assert_eq!(split("x"), ["x"]);
        assert_eq!(split("?"), ["?"]);
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("größer als"), ["größer", " als"]);
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(split("abcdefghijklmnopqrstuvwxyz"), ["abcdefghijklmno", "pqrstuvwxyz"]);
        assert_eq!(split(" abcdefghijklmnopq"), [" abcdefghijklmn", "opq"]);
        let dashes = |count| "-".repeat(count);
        assert_eq!(split(&dashes(31)), [dashes(15), dashes(15), dashes(1)]);
        assert_eq!(split(&(dashes(17) + "a")), [dashes(15), "--a".into()]);
        assert_eq!(split(&(dashes(15) + "a")), [dashes(15), "a".into()]);
        assert_eq!(split(&(dashes(14) + "ab")), [dashes(14) + "a", "b".into()]);
    }

    /// Texts of `words` different words, some of which come once.
    fn texts(words: usize) -> Vec<StringList> {
        let vector = |vector: usize| {
            let text =
                |at: usize| format!("w{} w{} x{at}x{vector}", at * 7 % words, (at * 31 + vector) % words);
            let texts: Vec<String> = (0..1024).map(text).collect();
            texts.iter().map(String::as_bytes).collect()
        };
        (0..20).map(vector).collect()
    }

    #[test]
    fn tables_of_every_size_come_back() {
        for words in [1, 2, 253, 254, 255, 256, 257, 509, 510, 511, 766, 4000] {
            let vectors = texts(words);
            let full: Vec<&StringList> = vectors.iter().collect();
            let (table, numbers) = Words::try_of(&full, &full).expect("they are words and repeat");
            // The first of a text has no blank before it.
            assert!((words..=2 * words).contains(&table.spans.len()), "{} of {words}", table.spans.len());
            let mut params = vec![];
            table.write_params(&mut params);
            let read = Words::read_params(&mut Input::new(&params)).unwrap();
            assert_eq!(read, table);
            for vector in &vectors {
                let mut bytes = vec![];
                table.encode(&numbers, vector, &mut bytes);
                let strings = read.decode(&mut Input::new(&bytes), vector.len(), 1 << 20).unwrap();
                assert!((0..vector.len()).all(|at| strings.get(at) == vector.get(at)), "{words} words");
            }
        }
    }

    #[test]
    fn what_does_not_repeat_is_no_text() {
        let numbers: Vec<String> =
            (0..1024u64).map(|at| format!("{:x}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let list: StringList = numbers.iter().map(String::as_bytes).collect();
        assert!(Words::try_of(&[&list], &[&list]).is_none());
        let bits: Vec<String> =
            (0..1024u64).map(|at| format!("{},{},{}", at & 1, at >> 1 & 1, at >> 2 & 1)).collect();
        let list: StringList = bits.iter().map(String::as_bytes).collect();
        assert!(
            Words::try_of(&[&list], &[&list]).is_none(),
            "words of two bytes are hardly longer than their codes"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

        #[test]
        fn words_are_all_of_a_string(string in vec(any::<u8>(), 0..80)) {
            let mut joined = vec![];
            words_of(&string, |word| {
                assert!((1..=WORD_BYTES).contains(&word.len()));
                word.append_to(&mut joined);
            });
            prop_assert_eq!(joined, string);
        }

        #[test]
        fn damaged_vectors_are_errors_or_strings(at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<prop::sample::Index>()) {
            let vectors = texts(300);
            let full: Vec<&StringList> = vectors.iter().collect();
            let (table, numbers) = Words::try_of(&full, &full).unwrap();
            let mut bytes = vec![];
            table.encode(&numbers, &vectors[0], &mut bytes);
            prop_assert!(table.decode(&mut Input::new(&bytes), 1024, vectors[0].size_bytes() - 1).is_err());
            prop_assert!(table.decode(&mut Input::new(&bytes[..cut.index(bytes.len())]), 1024, 1 << 20).is_err());
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(strings) = table.decode(&mut Input::new(&bytes), 1024, 1 << 20) {
                prop_assert_eq!(strings.len(), 1024);
                (0..1024).for_each(|at| drop(strings.get(at).to_vec()));
            }
        }
    }
}
