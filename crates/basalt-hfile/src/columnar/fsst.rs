// SPDX-License-Identifier: Apache-2.0
//! FSST: strings as codes of one byte, each for up to eight bytes that occur often ("FSST: Fast Random Access String
//! Compression", Boncz, Neumann, Leis, VLDB 2020). All strings of a vector are compressed as one, since they are
//! decoded together: symbols reach from one into the next.
//!
//! ```text
//! table    u8 symbols | u8 length of each, 1 to 8 | their bytes
//! codes    0..254 the symbol; 255: the next byte as it is
//! ```
//!
//! Table and compressor are the crate's; the decoder is this one, which trusts nothing.

use super::input::Input;
use crate::error::Damage;

const ESCAPE: u8 = 255;
/// Bytes of the longest symbol.
const SYMBOL: usize = 8;
/// The table is trained on about this much; the trainer itself takes a part of it.
const TRAINING_BYTES: usize = 1 << 16;

/// Symbols by code.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SymbolTable {
    symbols: Vec<([u8; SYMBOL], u8)>,
}

impl std::fmt::Debug for SymbolTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} symbols", self.symbols.len())
    }
}

/// Compresses with the table that it was trained to.
pub(super) struct Encoder(fsst::Compressor);

impl Encoder {
    /// Trains a table on some of these strings.
    pub(super) fn train<'a>(strings: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut budget = TRAINING_BYTES;
        let sample: Vec<&[u8]> = strings
            .take_while(|string| {
                let goes_on = budget > 0;
                budget = budget.saturating_sub(string.len().max(1));
                goes_on
            })
            .collect();
        Self(fsst::Compressor::train(&sample))
    }

    pub(super) fn table(&self) -> SymbolTable {
        let symbols = self.0.symbol_table().iter().zip(self.0.symbol_lengths());
        SymbolTable { symbols: symbols.map(|(symbol, &len)| (symbol.to_u64().to_le_bytes(), len)).collect() }
    }

    /// Appends the codes of `plain`.
    pub(super) fn encode(&self, plain: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.compress(plain));
    }
}

impl SymbolTable {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.symbols.len() as u8);
        out.extend(self.symbols.iter().map(|(_, len)| len));
        for (symbol, len) in &self.symbols {
            out.extend_from_slice(&symbol[..usize::from(*len)]);
        }
    }

    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, Damage> {
        let count = usize::from(input.u8()?);
        let lengths = input.take(count)?;
        let mut symbols = Vec::with_capacity(count);
        for &len in lengths {
            if !(1..=SYMBOL as u8).contains(&len) {
                return Err(input.damage(format!("a symbol of {len} bytes")));
            }
            let mut symbol = [0; SYMBOL];
            symbol[..usize::from(len)].copy_from_slice(input.take(len.into())?);
            symbols.push((symbol, len));
        }
        Ok(Self { symbols })
    }

    /// The `len` bytes that some codes stand for.
    pub(super) fn decode(&self, codes: &[u8], len: usize) -> Result<Vec<u8>, Damage> {
        // Whole symbols are copied, and what is too long written over: the last one needs room.
        if len > codes.len().saturating_mul(SYMBOL) {
            return Err(Damage::new(0, format!("{} codes cannot stand for {len} bytes", codes.len())));
        }
        let mut out = vec![0; len + SYMBOL];
        let mut at = 0;
        let mut codes_left = codes.iter();
        let wrong = || Damage::new(0, format!("the codes do not stand for {len} bytes"));
        while let Some(&code) = codes_left.next() {
            let room = out[at..].first_chunk_mut::<SYMBOL>().ok_or_else(wrong)?;
            at += if code == ESCAPE {
                room[0] = *codes_left.next().ok_or_else(wrong)?;
                1
            } else {
                let (symbol, len) = self.symbols.get(usize::from(code)).ok_or_else(wrong)?;
                *room = *symbol;
                usize::from(*len)
            };
        }
        if at != len {
            return Err(wrong());
        }
        out.truncate(len);
        Ok(out)
    }
}
