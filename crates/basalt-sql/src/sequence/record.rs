// SPDX-License-Identifier: Apache-2.0
//! One sequence and how blocks of values are taken from it. No I/O.

use crate::error::{SqlError, code};

/// The columns of a row of SYSTEM.SEQUENCE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// START_WITH.
    pub(crate) start: i64,
    /// CURRENT_VALUE: the next value to be given out.
    pub(crate) current: i64,
    /// INCREMENT_BY, never 0.
    pub(crate) increment: i64,
    /// CACHE_SIZE, at least 1.
    pub(crate) cache: i64,
    /// MIN_VALUE.
    pub(crate) min: i64,
    /// MAX_VALUE.
    pub(crate) max: i64,
    /// CYCLE_FLAG.
    pub(crate) cycle: bool,
    /// LIMIT_REACHED_FLAG: the next value would pass MAX_VALUE (or MIN_VALUE).
    pub(crate) limit_reached: bool,
}

/// Values `first, first + increment, …`, `count` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) first: i64,
    pub(crate) count: u64,
    pub(crate) increment: i64,
}

impl Block {
    /// The value behind the last one, which may be outside of 64 bits.
    fn end(&self) -> i128 {
        i128::from(self.first) + i128::from(self.increment) * i128::from(self.count)
    }

    /// Takes up to `count` values from the front.
    pub(crate) fn split(&mut self, count: u64) -> Block {
        let taken = Block { count: count.min(self.count), ..*self };
        self.count -= taken.count;
        if self.count > 0 {
            self.first = i64::try_from(taken.end()).expect("a value that is left lies within the limits");
        }
        taken
    }
}

impl Record {
    /// Values taken at once where CACHE does not say.
    pub(crate) const CACHE_DEFAULT: i64 = 100;

    /// Takes up to `wanted` values: fewer at the limit, and none only as an error.
    pub(crate) fn take(&mut self, wanted: u64) -> Result<Block, SqlError> {
        if self.limit_reached {
            if !self.cycle {
                return Err(self.exhausted());
            }
            self.current = if self.increment > 0 { self.min } else { self.max };
            self.limit_reached = false;
        }
        let room = if self.increment > 0 {
            i128::from(self.max) - i128::from(self.current)
        } else {
            i128::from(self.current) - i128::from(self.min)
        };
        let possible = room / i128::from(self.increment).abs() + 1;
        let count = i128::from(wanted.max(1)).min(possible) as u64;
        let block = Block { first: self.current, count, increment: self.increment };
        let end = block.end();
        self.limit_reached = end > i128::from(self.max) || end < i128::from(self.min);
        // At the limit the exact value behind the block may not fit; the flag says what counts.
        self.current = i64::try_from(end).unwrap_or(self.current);
        Ok(block)
    }

    /// Takes exactly `count` consecutive values.
    pub(crate) fn take_all(&mut self, count: u64) -> Result<Block, SqlError> {
        if self.cycle {
            return Err(SqlError::coded(
                code::SEQUENCE_BULK_CYCLE,
                "NEXT n VALUES FOR cannot be used with a sequence that cycles",
            ));
        }
        let block = self.take(count)?;
        if block.count < count { Err(self.exhausted()) } else { Ok(block) }
    }

    /// Gives the rest of a block back, if no other block was taken after it.
    pub(crate) fn give_back(&mut self, rest: &Block) -> bool {
        let is_last = i64::try_from(rest.end()).is_ok_and(|end| end == self.current);
        if is_last {
            self.current = rest.first;
            self.limit_reached = false;
        }
        is_last
    }

    fn exhausted(&self) -> SqlError {
        if self.increment > 0 {
            SqlError::coded(
                code::SEQUENCE_MAX_REACHED,
                format!("the sequence has reached its MAXVALUE {}", self.max),
            )
        } else {
            SqlError::coded(
                code::SEQUENCE_MIN_REACHED,
                format!("the sequence has reached its MINVALUE {}", self.min),
            )
        }
    }
}
