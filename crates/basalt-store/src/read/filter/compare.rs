// SPDX-License-Identifier: Apache-2.0
//! Comparators, and the filters that compare one part of every cell.

use std::borrow::Cow;
use std::cmp::Ordering;

use basalt_model::filter::{BitOp, Comparator, CompareOp};
use basalt_model::{CellRef, java_pattern};
use regex::{Regex, RegexBuilder};

use super::decimal::Decimal;
use super::{CellFilter, FilterFault, Seen, Verdict, WholeRow};
use crate::{Error, Result};

/// Memory that a compiled pattern may take, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// An operator and what it compares with, ready to use.
pub(super) struct Comparison {
    op: CompareOp,
    comparator: Comparator,
    /// Of a regular expression, or of a substring in lower case.
    pattern: Option<Regex>,
    lower_case: String,
    decimal: Option<Decimal>,
}

impl Comparison {
    pub(super) fn new(op: CompareOp, comparator: &Comparator) -> Result<Self> {
        let mut compiled = Self {
            op,
            comparator: comparator.clone(),
            pattern: None,
            lower_case: String::new(),
            decimal: None,
        };
        match comparator {
            Comparator::Regex(pattern) => compiled.pattern = Some(compile(pattern)?),
            Comparator::Decimal(given) => {
                compiled.decimal = Some(Decimal::decode(given).ok_or_else(|| not_a_decimal(given))?);
            }
            Comparator::Substring(text) => compiled.lower_case = text.to_lowercase(),
            _ => {}
        }
        Ok(compiled)
    }

    /// True if it can judge whatever it meets. One that cannot says so of the cell that comes first, which is for the long way to find out.
    pub(super) fn judges_all(&self) -> bool {
        !matches!(self.comparator, Comparator::Long(_) | Comparator::Decimal(_))
    }

    /// True if the value of a cell is kept.
    pub(super) fn keeps_value(&self, cell: &Seen<'_>) -> Result<bool> {
        if matches!(self.comparator, Comparator::Long(_)) && cell.in_memory {
            return self.keeps(&long_in_memory(cell.value));
        }
        self.keeps(cell.value)
    }

    /// True if stored bytes are kept.
    pub(super) fn keeps(&self, stored: &[u8]) -> Result<bool> {
        Ok(self.op != CompareOp::NoOp && self.op.keeps(self.order(stored)?))
    }

    /// Stored value to given one. What has no order is less when it is not equal.
    fn order(&self, stored: &[u8]) -> Result<Ordering> {
        let equal_if = |equal| if equal { Ordering::Equal } else { Ordering::Less };
        Ok(match &self.comparator {
            Comparator::Binary(given) => stored.cmp(given),
            Comparator::BinaryPrefix(given) => stored[..stored.len().min(given.len())].cmp(given),
            Comparator::BinaryComponent { value, offset } => {
                let start = (*offset as usize).min(stored.len());
                let end = (start + value.len()).min(stored.len());
                stored[start..end].cmp(value)
            }
            Comparator::Bit { value, op } => equal_if(bits_meet(stored, value, *op)),
            Comparator::Long(given) => {
                let bytes = stored.try_into().map_err(|_| FilterFault::NotALong { found: stored.len() });
                i64::from_be_bytes(bytes.map_err(Error::Filter)?).cmp(given)
            }
            Comparator::Decimal(_) => {
                let given = self.decimal.as_ref().expect("decoded by new");
                Decimal::decode(stored).ok_or_else(|| not_a_decimal(stored))?.compare(given)
            }
            Comparator::Null => Ordering::Less,
            Comparator::Substring(_) => equal_if(text(stored).to_lowercase().contains(&self.lower_case)),
            Comparator::Regex(_) => {
                let pattern = self.pattern.as_ref().expect("compiled by new");
                equal_if(pattern.is_match(&text(stored)))
            }
        })
    }
}

/// The eight bytes that HBase compares of a value that is not flushed yet: it takes what follows a shorter one, the
/// lengths of the next cell's key and value.
fn long_in_memory(value: &[u8]) -> [u8; 8] {
    let mut bytes = [0; 8];
    let next_cell = [0, 0, 0, 24, 0, 0, 0, 8];
    for (byte, from) in bytes.iter_mut().zip(value.iter().chain(&next_cell)) {
        *byte = *from;
    }
    bytes
}

fn not_a_decimal(value: &[u8]) -> Error {
    Error::Filter(FilterFault::NotADecimal { found: value.len() })
}

fn text(stored: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(stored)
}

fn compile(pattern: &str) -> Result<Regex> {
    let refuse = |why| Error::Filter(FilterFault::Pattern { pattern: pattern.to_owned(), why });
    let translated = java_pattern::translated(pattern, true).map_err(refuse)?;
    let mut builder = RegexBuilder::new(&translated);
    let built = builder.dot_matches_new_line(true).size_limit(PATTERN_BYTES_MAX).build();
    built.map_err(|error| refuse(error.to_string()))
}

fn bits_meet(stored: &[u8], given: &[u8], op: BitOp) -> bool {
    let combine = |(&a, &b): (&u8, &u8)| match op {
        BitOp::And => a & b,
        BitOp::Or => a | b,
        BitOp::Xor => a ^ b,
    };
    stored.len() == given.len() && stored.iter().zip(given).map(combine).any(|bits| bits != 0)
}

/// Rows by their key.
pub(super) struct ByRow {
    comparison: Comparison,
    dropped: bool,
}

impl ByRow {
    pub(super) fn new(op: CompareOp, comparator: &Comparator) -> Result<Self> {
        Ok(Self { comparison: Comparison::new(op, comparator)?, dropped: false })
    }
}

impl CellFilter for ByRow {
    fn reset(&mut self) {
        self.dropped = false;
    }

    fn drops_row_key(&mut self, first: &CellRef<'_>) -> Result<bool> {
        if !self.comparison.keeps(first.row)? {
            self.dropped = true;
        }
        Ok(self.dropped)
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        Ok(if self.dropped { Verdict::NextRow } else { Verdict::Include })
    }

    fn drops_row(&mut self) -> bool {
        self.dropped
    }

    fn forgets_rows(&self) -> bool {
        self.comparison.judges_all()
    }

    fn leaves_out(&self, row: &WholeRow<'_>) -> Result<bool> {
        Ok(!self.comparison.keeps(row.key())?)
    }

    fn hides_cells(&self) -> bool {
        false
    }
}

/// Cells by one of their parts.
macro_rules! by_part {
    ($(#[$doc:meta])* $name:ident, $keeps:ident $(of $part:ident)?, $otherwise:expr) => {
        $(#[$doc])*
        pub(super) struct $name(Comparison);

        impl $name {
            pub(super) fn new(op: CompareOp, comparator: &Comparator) -> Result<Self> {
                Ok(Self(Comparison::new(op, comparator)?))
            }
        }

        impl CellFilter for $name {
            fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
                Ok(if self.0.$keeps(cell$(.$part)?)? { Verdict::Include } else { $otherwise })
            }

            fn forgets_rows(&self) -> bool {
                self.0.judges_all()
            }

            fn leaves_out(&self, row: &WholeRow<'_>) -> Result<bool> {
                for cell in row.cells() {
                    if self.0.$keeps(&cell$(.$part)?)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    };
}
by_part!(
    /// Cells by their family.
    ByFamily, keeps of family, Verdict::NextRow);
by_part!(
    /// Cells by their qualifier.
    ByQualifier, keeps of qualifier, Verdict::Skip);
by_part!(
    /// Cells by their value.
    ByValue, keeps_value, Verdict::Skip);
