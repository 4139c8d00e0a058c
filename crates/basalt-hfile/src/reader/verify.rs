// SPDX-License-Identifier: Apache-2.0
//! Checking a whole file: every block, every cell, and what the parts say about each other.

use std::fmt;

use super::HFileReader;
use crate::cells::CellBlock;
use crate::error::Error;
use crate::key::FlatKey;
use crate::trailer::KeyOrder;

/// Something wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyFinding {
    /// The file.
    pub file: String,
    /// Where, if it is one place.
    pub offset: Option<u64>,
    /// What.
    pub what: String,
}

impl fmt::Display for VerifyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at offset {offset}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

impl From<Error> for VerifyFinding {
    fn from(error: Error) -> Self {
        match error {
            Error::Corrupt { file, offset, what } => Self { file, offset: Some(offset), what },
            Error::Io { file, offset, source } => {
                Self { file, offset: Some(offset), what: source.to_string() }
            }
            Error::Unsupported { file, what } => {
                Self { file, offset: None, what: format!("{what} is not supported") }
            }
            other => Self { file: String::new(), offset: None, what: other.to_string() },
        }
    }
}

impl HFileReader {
    /// Reads every block and reports everything wrong; goes on behind a damaged block.
    pub fn verify(&self, report: &mut dyn FnMut(VerifyFinding)) {
        let blocks = match self.block_count() {
            Ok(blocks) => blocks,
            Err(error) => return report(error.into()),
        };
        let mut cells = 0;
        let mut damaged = false;
        let mut last_key: Option<Vec<u8>> = None;
        for index in 0..blocks {
            match self.read_block(index) {
                Ok(block) => {
                    cells += block.len() as u64;
                    if self.trailer().order == KeyOrder::Cells {
                        self.verify_order(index, &block, last_key.as_deref(), report);
                    }
                    if let Some(last) = block.len().checked_sub(1) {
                        last_key = Some(FlatKey::of(&block.cell(last)).to_vec());
                    }
                }
                Err(error) => {
                    damaged = true;
                    report(error.into());
                }
            }
        }
        if !damaged && cells != self.cells() {
            report(self.finding(
                None,
                format!("the trailer counts {} cells, the blocks hold {cells}", self.cells()),
            ));
        }
    }

    fn finding(&self, offset: Option<u64>, what: String) -> VerifyFinding {
        VerifyFinding { file: self.name().to_owned(), offset, what }
    }

    fn verify_order(
        &self,
        index: usize,
        block: &CellBlock,
        last_key: Option<&[u8]>,
        report: &mut dyn FnMut(VerifyFinding),
    ) {
        let offset = self.block_extent(index).ok().map(|extent| extent.offset);
        if block.is_empty() {
            return report(self.finding(offset, "a data block without cells".into()));
        }
        let first = block.cell(0);
        let index_key = self.block_first_key(index).ok().and_then(|key| FlatKey::parse(key));
        if index_key.is_some_and(|key| key.compare(&FlatKey::of(&first)).is_gt()) {
            report(self.finding(offset, "the index key is above the first cell of the block".into()));
        }
        let last = last_key.and_then(FlatKey::parse);
        if last.is_some_and(|last| last.compare(&FlatKey::of(&first)).is_gt()) {
            report(self.finding(offset, "the first cell sorts before the block before".into()));
        }
        for at in 1..block.len() {
            let (before, cell) = (block.cell(at - 1), block.cell(at));
            if before.compare_without_seq(&cell).is_gt() {
                let what = format!("{} comes after {}", FlatKey::of(&cell), FlatKey::of(&before));
                return report(self.finding(offset, what));
            }
        }
    }
}
