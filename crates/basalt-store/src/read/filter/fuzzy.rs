// SPDX-License-Identifier: Apache-2.0
//! Rows that equal a key in some positions, seeking from match to match.

use basalt_model::CellRef;
use basalt_model::filter::FuzzyKey;

use super::{CellFilter, SeekKey, Seen, Verdict};
use crate::Result;

/// See the module.
pub(super) struct Fuzzy {
    keys: Vec<FuzzyKey>,
    reversed: bool,
    /// The key that fitted last is tried first.
    last_found: usize,
    /// Next rows that may fit, each with its key, once they were asked for.
    next: Option<Vec<(Vec<u8>, usize)>>,
    dropped: bool,
    done: bool,
}

impl Fuzzy {
    pub(super) fn new(keys: &[FuzzyKey], reversed: bool) -> Self {
        let keys = keys.to_vec();
        Self { keys, reversed, last_found: 0, next: None, dropped: false, done: false }
    }

    fn ahead(&self, candidate: &[u8], row: &[u8]) -> bool {
        if self.reversed { candidate < row } else { candidate > row }
    }

    /// Brings the next rows behind `row`.
    fn update(&mut self, row: &[u8]) {
        let stale: Vec<usize> = match &mut self.next {
            None => (0..self.keys.len()).collect(),
            Some(next) => {
                let mut next = std::mem::take(next);
                let keep = |(candidate, _): &(Vec<u8>, usize)| self.ahead(candidate, row);
                let stale = next.iter().filter(|entry| !keep(entry)).map(|(_, key)| *key).collect();
                next.retain(keep);
                self.next = Some(next);
                stale
            }
        };
        let candidates = stale.into_iter().filter_map(|key| {
            next_match(&self.keys[key], row, self.reversed).map(|candidate| (candidate, key))
        });
        let candidates: Vec<_> = candidates.collect();
        self.next.get_or_insert_default().extend(candidates);
    }
}

impl CellFilter for Fuzzy {
    fn reset(&mut self) {
        self.dropped = false;
    }

    fn all_remaining(&self) -> bool {
        self.done
    }

    fn drops_row_key(&mut self, _: &CellRef<'_>) -> Result<bool> {
        Ok(self.done)
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        for i in 0..self.keys.len() {
            let at = (self.last_found + i) % self.keys.len();
            if fits(&self.keys[at], cell.row) {
                self.last_found = at;
                return Ok(Verdict::Include);
            }
        }
        self.last_found = 0;
        self.dropped = true;
        Ok(Verdict::Seek)
    }

    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        self.update(cell.row);
        let rows = self.next.iter().flatten().map(|(row, _)| row);
        let next = if self.reversed { rows.max() } else { rows.min() };
        self.done |= next.is_none();
        Ok(next.map(|row| SeekKey::before_row(row.clone())))
    }

    fn drops_row(&mut self) -> bool {
        self.dropped
    }

    fn may_seek(&self) -> bool {
        true
    }
}

/// True if the row has the key's bytes in all positions that count; positions that one of them lacks do not.
fn fits(fuzzy: &FuzzyKey, row: &[u8]) -> bool {
    let positions = fuzzy.key.iter().zip(&fuzzy.any).zip(row);
    positions.into_iter().all(|((key, any), byte)| *any || key == byte)
}

/// The row nearest to `row`, in the direction of the scan, that may fit the key; `row` itself does not.
fn next_match(fuzzy: &FuzzyKey, row: &[u8], reversed: bool) -> Option<Vec<u8>> {
    let (key, any) = (&fuzzy.key, &fuzzy.any);
    let (first, last) = if reversed { (0xff, 0) } else { (0, 0xff) };
    let len = row.len().max(key.len());
    let free = |i: usize| any.get(i).copied().unwrap_or(true);
    let mut found: Vec<u8> = key.iter().zip(any).map(|(&byte, &any)| if any { 0 } else { byte }).collect();
    found.resize(len, if reversed { 0xff } else { 0 });
    let mut step_at = None;
    let mut moved = false;
    for i in 0..len {
        // A row that ends here is before every longer one with these bytes.
        let Some(&byte) = row.get(i) else { break };
        if free(i) {
            found[i] = byte;
            if byte != last {
                step_at = Some(i);
            }
        } else if byte != key[i] {
            moved = (byte < key[i]) != reversed;
            break;
        }
    }
    if !moved {
        let at = step_at?;
        found[at] = if reversed { found[at] - 1 } else { found[at] + 1 };
        (at + 1..len).filter(|&i| free(i)).for_each(|i| found[i] = first);
    }
    if !reversed {
        let fixed_end = (0..any.len().min(len)).rev().find(|&i| !any[i]).map_or(0, |i| i + 1);
        found.truncate(fixed_end.max(step_at.map_or(0, |at| at + 1)));
    }
    Some(found)
}
