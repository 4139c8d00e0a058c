// SPDX-License-Identifier: Apache-2.0
//! Strings of one width that have the same byte in some places, as records have in fields that are hardly used, or texts that are
//! filled up with blanks. Only what differs is stored.

use std::ops::Range;

use super::super::input::Input;
use super::super::strings::{StringList, Strings};
use crate::error::Damage;

/// Most pieces that differ; each is copied by itself.
const PIECES_MAX: usize = 8;
/// Pieces with less between them are one.
const GAP_MIN: usize = 4;

/// A string whose bytes all strings have, but for some pieces.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Pattern {
    /// What is in the pieces does not matter; it is zero.
    template: Vec<u8>,
    /// In ascending order, apart from each other, none of them empty.
    pieces: Vec<Range<usize>>,
}

impl Pattern {
    /// For vectors of strings that are all `width` bytes long, if a sixteenth of them need not be stored.
    pub(super) fn try_of(vectors: &[&StringList], width: usize) -> Option<Self> {
        let mut template = vectors.iter().find_map(|vector| vector.iter().next())?.to_vec();
        let mut differs = vec![0; width];
        for string in vectors.iter().flat_map(|vector| vector.iter()) {
            let pairs = string.iter().zip(&template);
            differs.iter_mut().zip(pairs).for_each(|(differs, (byte, first))| *differs |= byte ^ first);
        }
        let mut pieces: Vec<Range<usize>> = vec![];
        for at in (0..width).filter(|&at| differs[at] != 0) {
            match pieces.last_mut() {
                Some(last) if at < last.end + GAP_MIN => last.end = at + 1,
                _ => pieces.push(at..at + 1),
            }
        }
        let stored: usize = pieces.iter().map(Range::len).sum();
        pieces.iter().for_each(|piece| template[piece.clone()].fill(0));
        (pieces.len() <= PIECES_MAX && stored * 16 <= width * 15).then_some(Self { template, pieces })
    }

    pub(super) fn write_params(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.template.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.template);
        out.push(self.pieces.len() as u8);
        for piece in &self.pieces {
            out.extend_from_slice(&(piece.start as u32).to_le_bytes());
            out.extend_from_slice(&(piece.end as u32).to_le_bytes());
        }
    }

    pub(super) fn read_params(input: &mut Input<'_>) -> Result<Self, Damage> {
        let width = input.u32()? as usize;
        let template = input.take(width)?.to_vec();
        let mut pieces: Vec<Range<usize>> = vec![];
        for _ in 0..input.u8()? {
            let piece = input.u32()? as usize..input.u32()? as usize;
            let before = pieces.last().map_or(0, |last| last.end);
            if piece.start < before || piece.is_empty() || piece.end > width {
                return Err(input.damage(format!("bytes {piece:?} behind {before} of a string of {width}")));
            }
            pieces.push(piece);
        }
        Ok(Self { template, pieces })
    }

    /// Bytes of a string that are stored.
    fn stored(&self) -> usize {
        self.pieces.iter().map(Range::len).sum()
    }

    /// Appends a vector.
    pub(super) fn encode(&self, strings: &StringList, out: &mut Vec<u8>) {
        let pieces = |string: &[u8], out: &mut Vec<u8>| {
            self.pieces.iter().for_each(|piece| out.extend_from_slice(&string[piece.clone()]));
        };
        strings.iter().for_each(|string| pieces(string, out));
    }

    /// Decodes a vector of `count` strings, which `bytes` is all of; they may come to `bytes_max`.
    pub(super) fn decode(&self, bytes: &[u8], count: usize, bytes_max: usize) -> Result<Strings, Damage> {
        let (width, stored) = (self.template.len(), self.stored());
        if bytes.len() != stored.saturating_mul(count) {
            return Err(Damage::new(0, format!("{} bytes of {count} strings of {stored}", bytes.len())));
        }
        if width.saturating_mul(count) > bytes_max {
            let what = format!("{count} strings of {width} bytes, {bytes_max} bytes are the most");
            return Err(Damage::new(0, what));
        }
        let mut plain = self.template.repeat(count);
        let mut from = 0;
        for piece in &self.pieces {
            let strings = plain.chunks_exact_mut(width).zip(bytes.chunks_exact(stored));
            let pieces = strings
                .map(|(string, stored)| (&mut string[piece.clone()], &stored[from..from + piece.len()]));
            copy_each(pieces, piece.len());
            from += piece.len();
        }
        Ok(Strings::of_width(plain.into(), width, count))
    }
}

/// Copies pieces that are all `len` bytes long. Short ones are copied as two of a length that is known here, which overlap.
fn copy_each<'a>(pieces: impl Iterator<Item = (&'a mut [u8], &'a [u8])>, len: usize) {
    match len {
        8..16 => copy_halves::<8>(pieces),
        16..32 => copy_halves::<16>(pieces),
        32..64 => copy_halves::<32>(pieces),
        _ => pieces.for_each(|(to, from)| to.copy_from_slice(from)),
    }
}

#[inline(always)]
fn copy_halves<'a, const HALF: usize>(pieces: impl Iterator<Item = (&'a mut [u8], &'a [u8])>) {
    for (to, from) in pieces {
        *to.first_chunk_mut::<HALF>().expect("at least as long") = *from.first_chunk().expect("as long");
        *to.last_chunk_mut::<HALF>().expect("at least as long") = *from.last_chunk().expect("as long");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(strings: &[&str]) -> Option<(String, String)> {
        let list: StringList = strings.iter().map(|string| string.as_bytes()).collect();
        let pattern = Pattern::try_of(&[&list], strings[0].len())?;
        let template = String::from_utf8(pattern.template).unwrap().replace('\0', "?");
        Some((template, format!("{:?}", pattern.pieces)))
    }

    #[test]
    fn what_differs_is_cut_out() {
        assert_eq!(
            of(&["id=17;state=new     ", "id=42;state=done    "]),
            Some(("id=??;state=????    ".into(), "[3..5, 12..16]".into()))
        );
        assert_eq!(of(&["ab______ba", "cb______bc"]), Some(("?b______b?".into(), "[0..1, 9..10]".into())));
        // Two places near each other are one piece.
        assert_eq!(of(&["a__a______", "b__b______"]), Some(("????______".into(), "[0..4]".into())));
    }

    #[test]
    fn a_pattern_that_saves_little_is_none() {
        assert_eq!(of(&["0123456789abcdef", "fedcba9876543210"]), None);
        let many: Vec<String> =
            ["x", "y"].iter().map(|differs| format!("{differs}.....").repeat(9)).collect();
        assert_eq!(of(&many.iter().map(String::as_str).collect::<Vec<_>>()), None, "nine pieces");
    }
}
