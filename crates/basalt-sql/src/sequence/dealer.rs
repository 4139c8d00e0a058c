// SPDX-License-Identifier: Apache-2.0
//! Deals blocks of sequence values out to statements.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_store::Database;
use parking_lot::Mutex;

use super::record::{Block, Record};
use super::table::{self, SequenceName};
use crate::error::SqlError;

/// The last value of each sequence that a session got.
pub(crate) type Currents = Arc<Mutex<HashMap<SequenceName, i64>>>;

/// Consecutive values for consecutive rows: `first, first + step, …`, `count` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: i64,
    pub(crate) step: i64,
    pub(crate) count: u64,
}

/// The blocks that an engine has taken and not used up.
#[derive(Debug)]
pub(crate) struct Dealer {
    database: Database,
    blocks: Mutex<HashMap<SequenceName, Block>>,
    /// Size of the last block of each sequence.
    sizes: Mutex<HashMap<SequenceName, u64>>,
}

/// Rows that make a statement a large one.
const BATCH_MIN: u64 = 4_096;
/// Most values in one block: what a crash can lose.
const BLOCK_MAX: u64 = 1 << 18;

impl Dealer {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, blocks: Mutex::default(), sizes: Mutex::default() }
    }

    /// One value for each of `rows` rows. A large batch takes one block of its own size instead of many of the
    /// size of the CACHE.
    pub(crate) fn next(&self, name: &SequenceName, rows: u64) -> Result<Vec<Run>, SqlError> {
        let mut blocks = self.blocks.lock();
        let mut runs = vec![];
        let mut missing = rows;
        while missing > 0 {
            let block = match blocks.get_mut(name) {
                Some(block) if block.count > 0 => block,
                _ => {
                    let taken = table::update(&self.database, name, |record| {
                        record.take(self.wanted(name, missing, record))
                    })?;
                    blocks.entry(name.clone()).insert_entry(taken).into_mut()
                }
            };
            let part = block.split(missing);
            missing -= part.count;
            runs.push(Run { first: part.first, step: part.increment, count: part.count });
        }
        Ok(runs)
    }

    /// How many values to take at once: the CACHE, or as many as are missing. A statement that comes back for
    /// more, batch after batch, gets twice as many each time: every block is a durable write.
    fn wanted(&self, name: &SequenceName, missing: u64, record: &Record) -> u64 {
        let mut sizes = self.sizes.lock();
        let size = if missing < BATCH_MIN { 0 } else { sizes.get(name).map_or(missing, |size| size * 2) };
        let size = size.min(BLOCK_MAX);
        sizes.insert(name.clone(), size.max(1));
        size.max(missing).max(record.cache as u64)
    }

    /// `count` consecutive values for each of `rows` rows; returns the first one of each row.
    pub(crate) fn next_many(&self, name: &SequenceName, count: u64, rows: u64) -> Result<Vec<Run>, SqlError> {
        let mut runs = vec![];
        for _ in 0..rows {
            let mut blocks = self.blocks.lock();
            let rest = blocks.get_mut(name).filter(|block| block.count >= count);
            let block = match rest {
                Some(block) => {
                    // The check for CYCLE belongs to the row.
                    table::update(&self.database, name, |record| record.clone().take_all(1))?;
                    block.split(count)
                }
                None => {
                    let rest = blocks.remove(name);
                    table::update(&self.database, name, |record| {
                        rest.as_ref().map(|rest| record.give_back(rest));
                        record.take_all(count)
                    })?
                }
            };
            runs.push(Run { first: block.first, step: block.increment, count: 1 });
        }
        Ok(runs)
    }

    /// True if the sequence exists; else the error that says so.
    pub(crate) fn check(&self, name: &SequenceName) -> Result<(), SqlError> {
        table::update(&self.database, name, |_| Ok(()))
    }

    /// Forgets the block of a sequence that was dropped.
    pub(crate) fn forget(&self, name: &SequenceName) {
        self.blocks.lock().remove(name);
    }
}

impl Drop for Dealer {
    /// Gives back what is left, so that opening and closing a database leaves no gaps. A failure leaves a gap.
    fn drop(&mut self) {
        for (name, rest) in self.blocks.lock().drain().filter(|(_, rest)| rest.count > 0) {
            let _gap = table::update(&self.database, &name, |record| Ok(record.give_back(&rest)));
        }
    }
}
