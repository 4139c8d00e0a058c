// SPDX-License-Identifier: Apache-2.0
//! Entries in order: by row and, for one row, from the newest to the oldest.
//!
//! ```text
//! chunks    [a c d]  [f g g k]  [m]  [p q s]      up to CHUNK_MAX entries each, none empty
//! ```
//!
//! A run of new entries finds its chunk once and goes into it as far as it belongs there: rows that come in order are appended to the
//! last chunk, which is then full and not half empty as a tree's nodes would be. An entry takes 56 bytes, its bytes stay where
//! its batch has them.

use std::cmp::Ordering;

use basalt_model::{RowMutation, Seq};

/// Entries of a chunk, at most: moving half of them aside for a new one costs about as much as finding the place.
const CHUNK_MAX: usize = 128;
/// Entries of a chunk that is made because others are full: room for those that come in between.
const CHUNK_FILLED: usize = CHUNK_MAX / 4 * 3;
/// Bytes at the front of all rows that are left out of the heads, at most: with each that is not shared any more all heads are made anew.
const SHARED_MAX: usize = 32;
/// So many entries are put in their places in a chunk one by one; more are merged with those that are there.
const FEW: usize = 8;
/// So many places are looked for together: the processor waits for the memory of all of them at the same time.
const TOGETHER: usize = 8;
const SAME_PLACE: &str = "two mutations of one row share a sequence number";

/// A row's mutation and its commit.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    head: Head,
    pub(super) seq: Seq,
    pub(super) mutation: RowMutation,
}

const _: () = assert!(size_of::<Entry>() == 56, "the overhead of an entry rests on it");

/// Where an entry belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    head: Head,
    row: &'a [u8],
    seq: Seq,
}

/// The first bytes of a row behind those that all rows share, filled up with zeros, as a number in two halves: most comparisons end here, without
/// a look at the row, which lies somewhere else. Of a row of an index they have the value and most of the key, mostly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Head(u64, u64);

impl Head {
    const LEAST: Self = Self(0, 0);
    const GREATEST: Self = Self(u64::MAX, u64::MAX);

    fn of(row: &[u8], shared: usize) -> Self {
        let rest = &row[shared..];
        let mut bytes = [0; 16];
        match rest.first_chunk() {
            Some(first) => bytes = *first,
            None => bytes[..rest.len()].copy_from_slice(rest),
        }
        let head = u128::from_be_bytes(bytes);
        Self((head >> 64) as u64, head as u64)
    }
}

/// Length of what two rows have in common at their front, as far as it counts.
fn shared_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take(SHARED_MAX).take_while(|(a, b)| a == b).count()
}

impl Entry {
    pub(super) fn new(seq: Seq, mutation: RowMutation) -> Self {
        Self { head: Head::of(mutation.borrow().row(), 0), seq, mutation }
    }

    pub(super) fn row(&self) -> &[u8] {
        self.mutation.borrow().row()
    }

    fn place(&self) -> Place<'_> {
        Place { head: self.head, row: self.row(), seq: self.seq }
    }

    /// Of entries whose heads begin at the same byte.
    fn compare(&self, other: &Self) -> Ordering {
        self.head.cmp(&other.head).then_with(|| self.compare_rows(other.row(), other.seq))
    }

    fn compare_to(&self, place: &Place<'_>) -> Ordering {
        self.head.cmp(&place.head).then_with(|| self.compare_rows(place.row, place.seq))
    }

    fn compare_rows(&self, row: &[u8], seq: Seq) -> Ordering {
        self.row().cmp(row).then_with(|| seq.cmp(&self.seq))
    }
}

/// Brings entries in order; they must differ in row or number.
pub(super) fn sort(entries: &mut [Entry]) {
    if !in_order(entries) {
        align(entries);
        entries.sort_unstable_by(Entry::compare);
        assert!(in_order(entries), "{SAME_PLACE}");
    }
}

/// The same for entries of several runs that are in order.
pub(super) fn merge_runs(entries: &mut [Entry]) {
    align(entries);
    // The stable sort finds the runs and merges them.
    entries.sort_by(Entry::compare);
    assert!(in_order(entries), "{SAME_PLACE}");
}

/// Lets all heads begin behind what the rows share.
fn align(entries: &mut [Entry]) {
    let Some((first, others)) = entries.split_first() else { return };
    let longest = first.row().len().min(SHARED_MAX);
    let shared =
        others.iter().fold(longest, |shared, entry| shared.min(shared_len(first.row(), entry.row())));
    set_heads(entries, shared);
}

fn set_heads(entries: &mut [Entry], shared: usize) {
    entries.iter_mut().for_each(|entry| entry.head = Head::of(entry.row(), shared));
}

fn in_order(entries: &[Entry]) -> bool {
    entries.is_sorted_by(|a, b| a.compare_rows(b.row(), b.seq).is_lt())
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Entries {
    chunks: Vec<Chunk>,
    len: usize,
    /// What all rows have at their front, or would if there were any more; the heads begin behind it.
    shared: Vec<u8>,
}

#[derive(Debug)]
struct Chunk {
    /// The head of the first entry.
    head: Head,
    entries: Vec<Entry>,
}

impl Chunk {
    fn new(entries: Vec<Entry>) -> Self {
        Self { head: entries[0].head, entries }
    }

    fn begins_behind(&self, place: &Place<'_>) -> bool {
        match self.head.cmp(&place.head) {
            Ordering::Equal => self.entries[0].compare_to(place).is_gt(),
            unequal => unequal.is_gt(),
        }
    }

    fn ends_before(&self, place: &Place<'_>) -> bool {
        self.entries.last().is_some_and(|last| last.compare_to(place).is_lt())
    }

    /// Number of the first entry that is not before the place.
    fn position(&self, place: &Place<'_>) -> usize {
        self.entries.partition_point(|entry| entry.compare_to(place).is_lt())
    }

    /// Makes room for entries, which the chunk may take.
    fn reserve(&mut self, more: usize) {
        let needed = self.entries.len() + more;
        debug_assert!(needed <= CHUNK_MAX);
        if needed > self.entries.capacity() {
            self.entries.reserve_exact(needed.next_power_of_two() - self.entries.len());
        }
    }
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds entries that are in order and not there yet. They are taken from the last to the first: where those before belong does not change by
    /// that.
    pub(super) fn insert(&mut self, mut new: Vec<Entry>) {
        self.len += new.len();
        self.share(&new);
        set_heads(&mut new, self.shared.len());
        if self.chunks.is_empty() {
            self.chunks = pieces(new, CHUNK_MAX);
            return;
        }
        let mut waiting = Vec::with_capacity(TOGETHER);
        for (at, start) in self.runs(&new).into_iter().rev() {
            let run = new.len() - waiting.len() - start;
            // The end of a chunk amid others is not looked at for the sake of a few.
            let may_follow = run > FEW || at + 1 == self.chunks.len();
            let follows = may_follow && self.chunks[at].ends_before(&new[start].place());
            if run <= FEW && !follows {
                for _ in 0..run {
                    waiting.push(at);
                    if waiting.len() == TOGETHER {
                        self.add_few(&mut new, &mut waiting);
                    }
                }
                continue;
            }
            self.add_few(&mut new, &mut waiting);
            let run = new.drain(start..);
            if follows {
                self.append(at, run);
            } else {
                self.merge(at, run);
            }
        }
        self.add_few(&mut new, &mut waiting);
    }

    /// The chunks into which entries in order belong, each with the number of the first entry that does.
    fn runs(&self, new: &[Entry]) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::with_capacity(new.len().min(self.chunks.len()));
        let mut start = 0;
        while let Some(first) = new.get(start) {
            let place = first.place();
            let at = match runs.last() {
                None => self.chunk_of(&place),
                Some((last, _)) => self.chunk_from(*last, &place),
            };
            runs.push((at, start));
            let Some(next) = self.chunks.get(at + 1) else { break };
            start += 1;
            start += new[start..].iter().take_while(|entry| next.begins_behind(&entry.place())).count();
        }
        runs
    }

    /// Adds the last of some entries, the last one first, to the chunks that wait for them.
    fn add_few(&mut self, new: &mut Vec<Entry>, waiting: &mut Vec<usize>) {
        let first = new.len() - waiting.len();
        let places: Vec<Place<'_>> = new[first..].iter().rev().map(Entry::place).collect();
        let positions = self.positions(waiting, &places);
        for (&at, i) in waiting.iter().zip(positions) {
            let entry = new.pop().expect("as many as wait");
            self.add(at, i, entry);
        }
        waiting.clear();
    }

    /// Sees to it that `shared` holds for entries that are to come. It gets shorter [`SHARED_MAX`] times at most.
    fn share(&mut self, new: &[Entry]) {
        let (Some(first), Some(last)) = (new.first(), new.last()) else { return };
        if self.chunks.is_empty() {
            self.shared = first.row()[..shared_len(first.row(), last.row())].to_vec();
            return;
        }
        let shared = shared_len(&self.shared, first.row()).min(shared_len(&self.shared, last.row()));
        if shared < self.shared.len() {
            self.shared.truncate(shared);
            for chunk in &mut self.chunks {
                set_heads(&mut chunk.entries, shared);
                chunk.head = chunk.entries[0].head;
            }
        }
    }

    /// Where entries of the row with this number belong.
    pub(super) fn place<'a>(&self, row: &'a [u8], seq: Seq) -> Place<'a> {
        let head = match row.strip_prefix(&self.shared[..]) {
            Some(_) => Head::of(row, self.shared.len()),
            // Before or behind all that are there.
            None if row < &self.shared[..] => Head::LEAST,
            None => Head::GREATEST,
        };
        Place { head, row, seq }
    }

    /// Before all entries of the row.
    pub(super) fn before<'a>(&self, row: &'a [u8]) -> Place<'a> {
        self.place(row, Seq(u64::MAX))
    }

    /// The last chunk that does not begin behind the place, or the first of all.
    fn chunk_of(&self, place: &Place<'_>) -> usize {
        self.chunks.partition_point(|chunk| !chunk.begins_behind(place)).saturating_sub(1)
    }

    /// The same from a chunk on that does not begin behind the place: it is near, where places come in order.
    fn chunk_from(&self, from: usize, place: &Place<'_>) -> usize {
        let (mut low, mut step) = (from, 1);
        while let Some(chunk) = self.chunks.get(low + step)
            && !chunk.begins_behind(place)
        {
            low += step;
            step *= 2;
        }
        let behind = &self.chunks[low + 1..(low + step).min(self.chunks.len())];
        low + behind.partition_point(|chunk| !chunk.begins_behind(place))
    }

    /// Adds entries that belong between two chunks.
    fn append(&mut self, at: usize, mut new: impl ExactSizeIterator<Item = Entry>) {
        let chunk = &mut self.chunks[at];
        let fitting = new.len().min(CHUNK_MAX - chunk.entries.len());
        chunk.reserve(fitting);
        chunk.entries.extend(new.by_ref().take(fitting));
        if new.len() > 0 {
            self.chunks.splice(at + 1..at + 1, pieces_of(new, CHUNK_MAX));
        }
    }

    /// Adds an entry that belongs into a chunk, before the entry of this number. Entries before it may still be added to where they belonged before.
    fn add(&mut self, at: usize, i: usize, entry: Entry) {
        let chunk = &mut self.chunks[at];
        let next = chunk.entries.get(i);
        assert!(next.is_none_or(|next| next.compare(&entry).is_ne()), "{SAME_PLACE}");
        if chunk.entries.len() < CHUNK_MAX {
            chunk.reserve(1);
            chunk.entries.insert(i, entry);
            chunk.head = chunk.entries[0].head;
            return;
        }
        // What comes before it stays in this chunk.
        let mut behind = chunk.entries.split_off(i.max(CHUNK_MAX / 2));
        if i >= CHUNK_MAX / 2 {
            behind.insert(0, entry);
        } else {
            chunk.entries.insert(i, entry);
            chunk.head = chunk.entries[0].head;
        }
        self.chunks.insert(at + 1, Chunk::new(behind));
    }

    /// Adds entries that belong among those of a chunk.
    fn merge(&mut self, at: usize, new: impl ExactSizeIterator<Item = Entry>) {
        let old = std::mem::take(&mut self.chunks[at].entries);
        let merged = merged(old, new);
        let filled = if merged.len() > CHUNK_MAX { CHUNK_FILLED } else { CHUNK_MAX };
        self.chunks.splice(at..=at, pieces(merged, filled));
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, row: &[u8], seq: Seq) -> Option<Entry> {
        let place = &self.place(row, seq);
        let (at, i) = self.find(place);
        let chunk = self.chunks.get_mut(at)?;
        if chunk.entries.get(i)?.compare_to(place).is_ne() {
            return None;
        }
        let removed = chunk.entries.remove(i);
        match chunk.entries.first() {
            Some(first) => chunk.head = first.head,
            None => drop(self.chunks.remove(at)),
        }
        self.len -= 1;
        Some(removed)
    }

    /// The numbers of the first entries that are not before up to [`TOGETHER`] places, each in its chunk.
    fn positions(&self, chunks: &[usize], places: &[Place<'_>]) -> [usize; TOGETHER] {
        let (mut positions, mut left) = ([0; TOGETHER], [0; TOGETHER]);
        for (left, &at) in left.iter_mut().zip(chunks) {
            *left = self.chunks[at].entries.len();
        }
        // The first entry whose head is not below that of the place: half of what is left goes at each step, without a branch.
        while left.iter().any(|left| *left > 0) {
            for (n, (&at, place)) in chunks.iter().zip(places).enumerate() {
                let half = left[n].div_ceil(2);
                let probe = positions[n] + half.saturating_sub(1);
                let is_below =
                    self.chunks[at].entries.get(probe).is_some_and(|entry| entry.head < place.head);
                positions[n] += half * usize::from(is_below && left[n] > 0);
                left[n] -= half;
            }
        }
        for (n, (&at, place)) in chunks.iter().zip(places).enumerate() {
            let rest = &self.chunks[at].entries[positions[n]..];
            if rest.first().is_some_and(|entry| entry.head == place.head) {
                positions[n] += rest.partition_point(|entry| entry.compare_to(place).is_lt());
            }
        }
        positions
    }

    /// Chunk and number in there of the first entry that is not before the place; it may be one behind the chunk's last.
    fn find(&self, place: &Place<'_>) -> (usize, usize) {
        let at = self.chunk_of(place);
        let i = self.chunks.get(at).map_or(0, |chunk| chunk.position(place));
        match self.chunks.get(at) {
            // The place lies between two chunks.
            Some(chunk) if i == chunk.entries.len() => (at + 1, 0),
            _ => (at, i),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flat_map(|chunk| &chunk.entries)
    }

    /// Hands over the entries of some rows, which ascend.
    pub(super) fn each_of_rows(&self, rows: &[&[u8]], mut each: impl FnMut(&Entry)) {
        if self.chunks.is_empty() {
            return;
        }
        let mut last = None;
        for rows in rows.chunks(TOGETHER) {
            let places: Vec<Place<'_>> = rows.iter().map(|row| self.before(row)).collect();
            let mut chunk_of = |place: &Place<'_>| {
                let at = last.map_or_else(|| self.chunk_of(place), |last| self.chunk_from(last, place));
                last = Some(at);
                at
            };
            let chunks: Vec<usize> = places.iter().map(&mut chunk_of).collect();
            for ((row, &at), i) in rows.iter().zip(&chunks).zip(self.positions(&chunks, &places)) {
                self.starting_at(at, i).take_while(|entry| entry.row() == *row).for_each(&mut each);
            }
        }
    }

    /// The entries that are not before the place.
    pub(super) fn from(&self, place: &Place<'_>) -> impl Iterator<Item = &Entry> {
        let (at, i) = self.find(place);
        self.starting_at(at, i)
    }

    /// The entries from one of a chunk on, or from the next chunk on.
    fn starting_at(&self, at: usize, i: usize) -> impl Iterator<Item = &Entry> {
        let chunks = self.chunks.get(at..).unwrap_or_default();
        chunks.iter().enumerate().flat_map(move |(n, chunk)| &chunk.entries[if n == 0 { i } else { 0 }..])
    }

    /// The entries before the place, or all of them, the last one first.
    pub(super) fn back_from(&self, place: Option<&Place<'_>>) -> impl Iterator<Item = &Entry> {
        let (at, i) = place.map_or((self.chunks.len(), 0), |place| self.find(place));
        let part = self.chunks.get(at).map_or(&[][..], |chunk| &chunk.entries[..i]);
        let before = self.chunks[..at].iter().rev().flat_map(|chunk| chunk.entries.iter().rev());
        part.iter().rev().chain(before)
    }
}

/// Chunks of entries in order, of `filled` entries each but for the last.
fn pieces(entries: Vec<Entry>, filled: usize) -> Vec<Chunk> {
    match entries.len() {
        0 => Vec::new(),
        len if len <= filled => vec![Chunk::new(entries)],
        _ => pieces_of(entries.into_iter(), filled),
    }
}

/// The same, with room for more in each.
fn pieces_of(mut entries: impl ExactSizeIterator<Item = Entry>, filled: usize) -> Vec<Chunk> {
    let mut pieces = Vec::with_capacity(entries.len().div_ceil(filled));
    while entries.len() > 0 {
        let mut piece = Vec::with_capacity(CHUNK_MAX);
        piece.extend(entries.by_ref().take(filled));
        pieces.push(Chunk::new(piece));
    }
    pieces
}

fn merged(old: Vec<Entry>, new: impl ExactSizeIterator<Item = Entry>) -> Vec<Entry> {
    let mut merged = Vec::with_capacity(old.len() + new.len());
    let mut old = old.into_iter().peekable();
    for entry in new {
        while let Some(before) = old.next_if(|old| old.compare(&entry).is_lt()) {
            merged.push(before);
        }
        assert!(old.peek().is_none_or(|next| next.compare(&entry).is_ne()), "{SAME_PLACE}");
        merged.push(entry);
    }
    merged.extend(old);
    merged
}

#[cfg(test)]
mod tests;
