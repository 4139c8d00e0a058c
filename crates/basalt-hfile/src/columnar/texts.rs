// SPDX-License-Identifier: Apache-2.0
//! Vectors of byte strings: which scheme a section takes, and its vectors to bytes and back.
//!
//! | scheme | parameters | vector |
//! |---|---|---|
//! | 17 fixed | `u32 width` | the strings |
//! | 18 plain | | a frame of their lengths, the strings |
//! | 19 dictionary | `u32 count`, a frame of lengths, the distinct strings in ascending order | a frame of positions |
//! | 20 FSST | a symbol table ([`super::fsst`]) | a frame of their lengths, the codes of all of them |
//! | 21 prefix | | a frame of the lengths shared with the string before, one of the lengths of the rest, the rests |
//! | 22 digits | `u8 digits`, `u8 scheme`, `u32 length`, the front of all strings, parameters of the [scheme](super::ints) | the numbers behind the front |
//! | 23 pattern | `u32 width`, what all strings have, `u8 pieces`, of each `u32 start`, `u32 end` | the pieces, string by string |
//! | 24 words | a table of words ([`words`]) | a frame of the words of each string, `u32` bytes of all strings, the codes of the words |
//! | 25 decimals | `i8 scale` | `i128` base, two frames: what the digits at that scale are more than the base, without the lower 64 bits, and these |
//!
//! Frames are those of [`super::frame`]. A scheme of 16 is a section of one string, which has no vectors.

mod decimals;
mod digits;
mod pattern;
mod words;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::FixedState;

use super::form::Form;
use super::frame;
use super::fsst::{Encoder, SymbolTable};
use super::input::Input;
use super::strings::{Span, StringList, Strings};
use crate::compression::Compressor;
use crate::error::Damage;
use decimals::Decimals;
use digits::Digits;
use pattern::Pattern;
use words::{WordNumbers, Words};

const DICTIONARY_STRINGS_MAX: usize = 1 << 14;
const DICTIONARY_BYTES_MAX: usize = 1 << 18;
/// Vectors of a section that are encoded in every way to choose.
const SAMPLE_VECTORS: usize = 3;
/// Longest string of a section.
const STRING_MAX: usize = i32::MAX as usize / 2;

/// How the strings of a section are stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextScheme {
    /// All of one width.
    Fixed(usize),
    /// With their lengths.
    Plain,
    /// By number.
    Dictionary(Arc<Dictionary>),
    /// As codes.
    Fsst(SymbolTable),
    /// Without what the string before has in front.
    Prefix,
    /// As numbers.
    Digits(Digits),
    /// Of one width, without what they have in common.
    Pattern(Pattern),
    /// As words.
    Words(Words),
    /// DECIMALs, as numbers.
    Decimals(Decimals),
}

/// Distinct strings in ascending order, back to back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dictionary {
    bytes: Bytes,
    spans: Vec<Span>,
}

impl Dictionary {
    /// The strings.
    pub(crate) fn strings(&self) -> Strings {
        Strings { bytes: self.bytes.clone(), spans: self.spans.clone() }
    }

    /// How many strings there are.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.spans.len() * size_of::<Span>()
    }

    /// The strings of these numbers.
    pub(crate) fn strings_of(&self, codes: &[u32]) -> Strings {
        let spans = codes.iter().map(|&code| self.spans[code as usize]).collect();
        Strings { bytes: self.bytes.clone(), spans }
    }

    /// Fills `out` with the numbers of the strings of a vector, which `bytes` is all of.
    pub(super) fn codes_into(&self, bytes: &[u8], out: &mut [u32]) -> Result<(), Damage> {
        let mut input = Input::new(bytes);
        frame::decode(&mut input, 1, 0, out)?;
        let count = self.spans.len() as u32;
        if out.iter().fold(false, |beyond, &code| beyond | (code >= count)) {
            return Err(input.damage(format!("a string behind the {count} of the dictionary")));
        }
        input.finish()
    }
}

/// A scheme at work, with what only the writer needs.
pub(super) struct TextEncoder {
    pub(super) scheme: TextScheme,
    lookup: Lookup,
}

/// How a writer finds the codes of what it writes.
enum Lookup {
    /// It needs none.
    Nothing,
    Strings(Numbers),
    Symbols(Box<Encoder>),
    Words(WordNumbers),
}

/// The number of each string of a dictionary.
type Numbers = HashMap<Bytes, u32, FixedState>;

impl TextScheme {
    pub(super) fn number(&self) -> u8 {
        match self {
            Self::Fixed(_) => 17,
            Self::Plain => 18,
            Self::Dictionary(_) => 19,
            Self::Fsst(_) => 20,
            Self::Prefix => 21,
            Self::Digits(_) => 22,
            Self::Pattern(_) => 23,
            Self::Words(_) => 24,
            Self::Decimals(_) => 25,
        }
    }

    /// Name, for people.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Plain => "plain",
            Self::Dictionary(_) => "dictionary",
            Self::Fsst(_) => "fsst",
            Self::Prefix => "prefix",
            Self::Digits(_) => "digits",
            Self::Pattern(_) => "pattern",
            Self::Words(_) => "words",
            Self::Decimals(_) => "decimals",
        }
    }

    /// What decoding costs, in percent of the plain size: a scheme must save that much to be taken.
    fn toll(&self) -> usize {
        match self {
            // Others are decoded to strings first, and then digit by digit.
            Self::Decimals(_) => 80,
            Self::Fixed(_) | Self::Plain | Self::Dictionary(_) | Self::Pattern(_) => 100,
            Self::Fsst(_) | Self::Prefix => 105,
            Self::Digits(_) | Self::Words(_) => 102,
        }
    }

    /// Memory held by a table of the scheme, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Dictionary(dictionary) => dictionary.memory_bytes(),
            Self::Words(words) => words.memory_bytes(),
            // A few kilobytes.
            Self::Fixed(_)
            | Self::Plain
            | Self::Fsst(_)
            | Self::Prefix
            | Self::Digits(_)
            | Self::Pattern(_)
            | Self::Decimals(_) => 0,
        }
    }

    pub(super) fn write_params(&self, out: &mut Vec<u8>) {
        match self {
            Self::Fixed(width) => out.extend_from_slice(&(*width as u32).to_le_bytes()),
            Self::Plain | Self::Prefix => {}
            Self::Dictionary(dictionary) => {
                out.extend_from_slice(&(dictionary.spans.len() as u32).to_le_bytes());
                let lengths: Vec<i64> = dictionary.spans.iter().map(|span| span.len.into()).collect();
                frame::encode(&lengths, out);
                out.extend_from_slice(&dictionary.bytes);
            }
            Self::Fsst(table) => table.write(out),
            Self::Digits(digits) => digits.write_params(out),
            Self::Pattern(pattern) => pattern.write_params(out),
            Self::Words(words) => words.write_params(out),
            Self::Decimals(decimals) => decimals.write_params(out),
        }
    }

    pub(super) fn read_params(number: u8, input: &mut Input<'_>) -> Result<Self, Damage> {
        Ok(match number {
            17 => Self::Fixed(input.u32()? as usize),
            18 => Self::Plain,
            19 => {
                let count = input.u32()? as usize;
                if !(1..=DICTIONARY_STRINGS_MAX).contains(&count) {
                    return Err(input.damage(format!("a dictionary of {count} strings")));
                }
                let lengths = frame::decode_bounded(input, count, DICTIONARY_BYTES_MAX)?;
                let bytes = Bytes::copy_from_slice(input.take(lengths.iter().sum())?);
                let strings = Strings::back_to_back(bytes, 0, &lengths).expect("as many bytes were taken");
                Self::Dictionary(Arc::new(Dictionary { bytes: strings.bytes, spans: strings.spans }))
            }
            20 => Self::Fsst(SymbolTable::read(input)?),
            21 => Self::Prefix,
            22 => Self::Digits(Digits::read_params(input)?),
            23 => Self::Pattern(Pattern::read_params(input)?),
            24 => Self::Words(Words::read_params(input)?),
            25 => Self::Decimals(Decimals::read_params(input)?),
            other => return Err(input.damage(format!("no scheme of strings has the number {other}"))),
        })
    }

    /// Decodes a vector of `count` strings, which `bytes` is all of; they may come to `bytes_max`.
    pub(super) fn decode(&self, bytes: &Bytes, count: usize, bytes_max: usize) -> Result<Strings, Damage> {
        let mut input = Input::new(bytes);
        match self {
            Self::Fixed(width) => {
                let lengths = vec![*width; count];
                Strings::back_to_back(bytes.clone(), 0, &lengths).ok_or_else(|| {
                    input.damage(format!("{} bytes of {count} strings of {width}", bytes.len()))
                })
            }
            Self::Plain => {
                let lengths = frame::decode_bounded(&mut input, count, STRING_MAX)?;
                Strings::back_to_back(bytes.clone(), input.at(), &lengths)
                    .ok_or_else(|| input.damage("the strings do not end with the vector"))
            }
            Self::Dictionary(dictionary) => {
                let mut codes = vec![0; count];
                dictionary.codes_into(bytes, &mut codes)?;
                Ok(dictionary.strings_of(&codes))
            }
            Self::Fsst(table) => {
                let lengths = frame::decode_bounded(&mut input, count, STRING_MAX)?;
                let plain = table.decode(input.rest(), bounded_sum(&lengths, bytes_max, &input)?)?;
                Ok(Strings::back_to_back(plain.into(), 0, &lengths)
                    .expect("decoded to the sum of the lengths"))
            }
            Self::Prefix => decode_prefixed(&mut input, count, bytes_max),
            Self::Digits(digits) => digits.decode(bytes, count, bytes_max),
            Self::Pattern(pattern) => pattern.decode(bytes, count, bytes_max),
            Self::Words(words) => words.decode(&mut input, count, bytes_max),
            Self::Decimals(decimals) => decimals.decode(bytes, count, bytes_max),
        }
    }
}

fn bounded_sum(lengths: &[usize], max: usize, input: &Input<'_>) -> Result<usize, Damage> {
    // Every length is below 2^31, and there are fewer than 2^32.
    bounded(lengths.iter().sum(), max, input)
}

fn bounded(sum: usize, max: usize, input: &Input<'_>) -> Result<usize, Damage> {
    if sum > max {
        return Err(input.damage(format!("strings of {sum} bytes, {max} are the most")));
    }
    Ok(sum)
}

fn decode_prefixed(input: &mut Input<'_>, count: usize, bytes_max: usize) -> Result<Strings, Damage> {
    let shared = frame::decode_bounded(input, count, STRING_MAX)?;
    let rests = frame::decode_bounded(input, count, STRING_MAX)?;
    let total = bounded_sum(&shared, bytes_max, input)? + bounded_sum(&rests, bytes_max, input)?;
    let mut plain: Vec<u8> = Vec::with_capacity(total.min(bytes_max));
    let mut spans = Vec::with_capacity(count);
    let mut last = 0..0;
    for (shared, rest) in shared.into_iter().zip(rests) {
        if shared > last.len() {
            return Err(input.damage(format!("{shared} bytes of a string of {}", last.len())));
        }
        let start = plain.len();
        plain.extend_from_within(last.start..last.start + shared);
        plain.extend_from_slice(input.take(rest)?);
        last = start..plain.len();
        let span = |at: usize| u32::try_from(at).map_err(|_| input.damage("strings of 4 GiB"));
        spans.push(Span { start: span(start)?, len: span(last.len())? });
    }
    input.finish()?;
    Ok(Strings { bytes: plain.into(), spans })
}

impl TextEncoder {
    /// The scheme for these vectors of values of a form, and about how many bytes they come to with it. With a codec, sizes are those
    /// behind it.
    pub(super) fn choose(
        vectors: &[StringList],
        form: Form,
        codec: &mut Option<Compressor>,
    ) -> (Self, usize) {
        let full: Vec<&StringList> = vectors.iter().filter(|vector| vector.len() > 0).collect();
        let step = full.len().div_ceil(SAMPLE_VECTORS).max(1);
        let sample: Vec<&StringList> = full.iter().copied().step_by(step).collect();
        let sampled: usize = sample.iter().map(|vector| vector.len()).sum();
        let total: usize = full.iter().map(|vector| vector.len()).sum();
        let cost = |encoder: &Self, codec: &mut Option<Compressor>| {
            let (mut bytes, mut params) = (Vec::new(), Vec::new());
            sample.iter().for_each(|vector| encoder.encode(vector, &mut bytes));
            encoder.scheme.write_params(&mut params);
            let mut len = bytes.len();
            if let Some(codec) = codec {
                let mut packed = Vec::new();
                codec.compress(&bytes, &mut packed);
                len = len.min(packed.len());
            }
            len * total.max(1) / sampled.max(1) + params.len()
        };
        let mut best: Option<(usize, usize, Self)> = None;
        for encoder in candidates(&full, &sample, form) {
            let bytes = cost(&encoder, codec);
            let weighed = bytes * encoder.scheme.toll();
            if best.as_ref().is_none_or(|(least, ..)| weighed < *least) {
                best = Some((weighed, bytes, encoder));
            }
        }
        let (_, bytes, encoder) = best.expect("plain is always a candidate");
        (encoder, bytes)
    }

    /// Appends a vector.
    pub(super) fn encode(&self, strings: &StringList, out: &mut Vec<u8>) {
        match (&self.scheme, &self.lookup) {
            (TextScheme::Fixed(_), _) => strings.iter().for_each(|string| out.extend_from_slice(string)),
            (TextScheme::Plain, _) => {
                encode_lengths(strings, out);
                strings.iter().for_each(|string| out.extend_from_slice(string));
            }
            (TextScheme::Prefix, _) => encode_prefixed(strings, out),
            (TextScheme::Digits(digits), _) => digits.encode(strings, out),
            (TextScheme::Pattern(pattern), _) => pattern.encode(strings, out),
            (TextScheme::Decimals(decimals), _) => decimals.encode(strings, out),
            (TextScheme::Dictionary(_), Lookup::Strings(numbers)) => {
                let codes: Vec<i64> = strings.iter().map(|string| numbers[string].into()).collect();
                frame::encode(&codes, out);
            }
            (TextScheme::Fsst(_), Lookup::Symbols(symbols)) => {
                encode_lengths(strings, out);
                symbols.encode(strings.plain(), out);
            }
            (TextScheme::Words(words), Lookup::Words(numbers)) => words.encode(numbers, strings, out),
            (TextScheme::Dictionary(_) | TextScheme::Fsst(_) | TextScheme::Words(_), _) => {
                unreachable!("a scheme of codes is made with what finds them")
            }
        }
    }
}

/// Bytes of strings that are a front and a number in decimal digits each, as numbers; `None` if they are anything else.
pub(super) fn bytes_as_digits(vectors: &[StringList]) -> Option<usize> {
    let digits = Digits::try_of(&vectors.iter().collect::<Vec<_>>())?;
    let mut bytes = Vec::new();
    digits.write_params(&mut bytes);
    vectors.iter().for_each(|vector| digits.encode(vector, &mut bytes));
    Some(bytes.len())
}

fn encode_lengths(strings: &StringList, out: &mut Vec<u8>) {
    let lengths: Vec<i64> = strings.iter().map(|string| string.len() as i64).collect();
    frame::encode(&lengths, out);
}

fn encode_prefixed(strings: &StringList, out: &mut Vec<u8>) {
    let (mut shared, mut rests, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let mut last: &[u8] = b"";
    for string in strings.iter() {
        let common = last.iter().zip(string).take_while(|(a, b)| a == b).count();
        shared.push(common as i64);
        rests.push((string.len() - common) as i64);
        bytes.extend_from_slice(&string[common..]);
        last = string;
    }
    frame::encode(&shared, out);
    frame::encode(&rests, out);
    out.extend_from_slice(&bytes);
}

/// The schemes worth trying.
fn candidates(full: &[&StringList], sample: &[&StringList], form: Form) -> Vec<TextEncoder> {
    let without_table = |scheme| TextEncoder { scheme, lookup: Lookup::Nothing };
    let mut strings = full.iter().flat_map(|vector| vector.iter());
    let width = strings.next().map_or(0, <[u8]>::len);
    let is_fixed = strings.all(|string| string.len() == width);
    let mut encoders = vec![match is_fixed {
        true => without_table(TextScheme::Fixed(width)),
        false => without_table(TextScheme::Plain),
    }];
    if is_fixed
        && width > 0
        && let Some(pattern) = Pattern::try_of(full, width)
    {
        encoders.push(without_table(TextScheme::Pattern(pattern)));
    }
    let sorted = |vector: &&StringList| vector.iter().zip(vector.iter().skip(1)).all(|(a, b)| a <= b);
    if sample.iter().all(sorted) {
        encoders.push(without_table(TextScheme::Prefix));
    }
    let bytes: usize = sample.iter().map(|vector| vector.size_bytes()).sum();
    if bytes > 512 {
        let fsst = Encoder::train(sample.iter().flat_map(|vector| vector.iter()));
        let scheme = TextScheme::Fsst(fsst.table());
        encoders.push(TextEncoder { scheme, lookup: Lookup::Symbols(Box::new(fsst)) });
    }
    if let Some(dictionary) = Dictionary::try_of(full, sample) {
        let numbers = dictionary.numbers();
        let scheme = TextScheme::Dictionary(Arc::new(dictionary));
        encoders.push(TextEncoder { scheme, lookup: Lookup::Strings(numbers) });
        // It is left in its place: its positions are grouped and compared without the strings.
        return encoders;
    }
    if let Form::LongDecimal(scale) = form {
        encoders.push(without_table(TextScheme::Decimals(Decimals::of(full, scale))));
    } else if let Some(digits) = Digits::try_of(full) {
        encoders.push(without_table(TextScheme::Digits(digits)));
    } else if let Some((words, numbers)) = Words::try_of(full, sample) {
        encoders.push(TextEncoder { scheme: TextScheme::Words(words), lookup: Lookup::Words(numbers) });
    }
    encoders
}

impl Dictionary {
    /// The distinct strings, if the sample says that they are few and they are.
    fn try_of(full: &[&StringList], sample: &[&StringList]) -> Option<Self> {
        let mut known: HashSet<&[u8], FixedState> = sample.iter().flat_map(|vector| vector.iter()).collect();
        let sampled: usize = sample.iter().map(|vector| vector.len()).sum();
        if known.is_empty() || known.len() * 2 > sampled {
            return None;
        }
        let mut bytes: usize = known.iter().map(|string| string.len()).sum();
        for string in full.iter().flat_map(|vector| vector.iter()) {
            if known.insert(string) {
                bytes += string.len();
            }
            if known.len() > DICTIONARY_STRINGS_MAX || bytes > DICTIONARY_BYTES_MAX {
                return None;
            }
        }
        let mut distinct: Vec<&[u8]> = known.into_iter().collect();
        distinct.sort_unstable();
        let lengths: Vec<usize> = distinct.iter().map(|string| string.len()).collect();
        let strings = Strings::back_to_back(distinct.concat().into(), 0, &lengths)?;
        Some(Self { bytes: strings.bytes, spans: strings.spans })
    }

    /// A string by its number.
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let Span { start, len } = self.spans[index];
        &self.bytes[start as usize..(start + len) as usize]
    }

    /// The number of each string.
    fn numbers(&self) -> Numbers {
        let bytes = |span: &Span| self.bytes.slice(span.start as usize..(span.start + span.len) as usize);
        self.spans.iter().map(bytes).zip(0..).collect()
    }
}

#[cfg(test)]
mod tests;
