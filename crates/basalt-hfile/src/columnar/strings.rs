// SPDX-License-Identifier: Apache-2.0
//! Byte strings in bulk: back to back while a block is built, as spans of shared bytes once decoded.

use std::ops::Range;

use bytes::Bytes;

/// Strings back to back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StringList {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl StringList {
    /// An empty list with room.
    pub(crate) fn with_room(strings: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(strings) }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, string: &[u8]) {
        self.push_with(|bytes| bytes.extend_from_slice(string));
    }

    /// All strings, back to back.
    pub(super) fn plain(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds what `put` appends.
    #[inline]
    pub(crate) fn push_with<T>(&mut self, put: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let done = put(&mut self.bytes);
        self.ends.push(self.bytes.len() as u32);
        done
    }

    /// Adds some strings of another list.
    pub(super) fn extend(&mut self, others: &Self, range: Range<usize>) {
        let (start, base) = (others.start(range.start), self.bytes.len() as u32);
        self.bytes.extend_from_slice(&others.bytes[start as usize..others.start(range.end) as usize]);
        self.ends.extend(others.ends[range].iter().map(|end| end - start + base));
    }

    /// Some of the strings.
    pub(super) fn slice(&self, range: Range<usize>) -> Self {
        let mut list = Self::default();
        list.extend(self, range);
        list
    }

    /// The first eight bytes of a string as a number that sorts as they do, zeros behind a shorter one.
    #[inline]
    pub(super) fn front(&self, index: usize) -> u64 {
        let (start, len) = (self.start(index) as usize, self.len_of(index).min(8));
        let front = match self.bytes.get(start..start + 8) {
            Some(bytes) => u64::from_be_bytes(*bytes.first_chunk().expect("eight bytes")),
            None => {
                let mut bytes = [0; 8];
                bytes[..len].copy_from_slice(&self.bytes[start..start + len]);
                u64::from_be_bytes(bytes)
            }
        };
        // What follows a short string is another one's.
        front & (u64::MAX << (64 - 8 * len as u32).min(63) << u32::from(len == 0))
    }

    /// The smallest and the largest string.
    pub(super) fn extremes(&self) -> Option<(&[u8], &[u8])> {
        let (mut min, mut max) = (0, 0);
        let (mut low, mut high) = (u64::MAX, 0);
        for index in 0..self.len() {
            let front = self.front(index);
            if front <= low && (front < low || self.get(index) < self.get(min)) {
                (min, low) = (index, front);
            }
            if front >= high && (front > high || self.get(index) > self.get(max)) {
                (max, high) = (index, front);
            }
        }
        (self.len() > 0).then(|| (self.get(min), self.get(max)))
    }

    /// True if a string has no bytes.
    pub(super) fn has_empty(&self) -> bool {
        self.ends.first() == Some(&0) || self.ends.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Where a string begins, or, behind the last, where that ends.
    #[inline]
    fn start(&self, index: usize) -> u32 {
        index.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// Length of a string in bytes.
    #[inline]
    pub(super) fn len_of(&self, index: usize) -> usize {
        (self.ends[index] - self.start(index)) as usize
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.start(index) as usize..self.ends[index] as usize]
    }

    pub(crate) fn last(&self) -> Option<&[u8]> {
        Some(self.get(self.len().checked_sub(1)?))
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl<'a> FromIterator<&'a [u8]> for StringList {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(strings: I) -> Self {
        let mut list = Self::default();
        strings.into_iter().for_each(|string| list.push(string));
        list
    }
}

/// Where a string lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(super) start: u32,
    pub(super) len: u32,
}

/// Decoded strings: several may share their bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Strings {
    pub(super) bytes: Bytes,
    pub(super) spans: Vec<Span>,
}

impl Strings {
    /// Strings of these lengths, back to back from `start` on; `None` if they do not end with the bytes.
    pub(super) fn back_to_back(bytes: Bytes, start: usize, lengths: &[usize]) -> Option<Self> {
        let mut spans = Vec::with_capacity(lengths.len());
        let mut at = start;
        for &len in lengths {
            spans.push(Span { start: u32::try_from(at).ok()?, len: u32::try_from(len).ok()? });
            at = at.checked_add(len)?;
        }
        (at == bytes.len()).then_some(Self { bytes, spans })
    }

    /// Strings of one width, back to back.
    ///
    /// # Panics
    ///
    /// If the bytes are not as many as that.
    pub(super) fn of_width(bytes: Bytes, width: usize, count: usize) -> Self {
        assert_eq!(bytes.len(), width * count, "strings of one width");
        let (width, _) = (width as u32, u32::try_from(bytes.len()).expect("strings of less than 4 GiB"));
        let spans = (0..count as u32).map(|at| Span { start: at * width, len: width }).collect();
        Self { bytes, spans }
    }

    /// These strings, for tests.
    #[cfg(test)]
    pub(crate) fn of(strings: &[String]) -> Self {
        let lengths: Vec<usize> = strings.iter().map(String::len).collect();
        Self::back_to_back(strings.concat().into(), 0, &lengths).expect("as many bytes as the strings have")
    }

    /// What all strings lie in.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Bytes of some of the strings, each for itself.
    pub(super) fn size_of(&self, ranges: &[Range<usize>]) -> usize {
        let spans = ranges.iter().flat_map(|range| &self.spans[range.clone()]);
        spans.map(|span| span.len as usize).sum()
    }

    /// Where a string begins in [`Self::bytes`].
    #[inline]
    pub(crate) fn start(&self, index: usize) -> u32 {
        self.spans[index].start
    }

    /// Length of the shortest and of the longest string; of none, 0 and 0.
    pub(crate) fn lengths(&self) -> (usize, usize) {
        let lengths = || self.spans.iter().map(|span| span.len as usize);
        (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
    }

    /// The strings, if every one is UTF-8.
    pub(crate) fn utf8(&self) -> Option<Utf8Strings<'_>> {
        self.is_utf8().then_some(Utf8Strings(self))
    }

    fn is_utf8(&self) -> bool {
        let ends = || self.spans.iter().map(|span| (span.start as usize, (span.start + span.len) as usize));
        let first = ends().map(|(start, _)| start).min().unwrap_or(0);
        let last = ends().map(|(_, end)| end).max().unwrap_or(0);
        let all = &self.bytes[first..last];
        if all.is_ascii() {
            return true;
        }
        std::str::from_utf8(all).is_ok_and(|all| {
            ends()
                .all(|(start, end)| all.is_char_boundary(start - first) && all.is_char_boundary(end - first))
        })
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let Span { start, len } = self.spans[index];
        &self.bytes[start as usize..start as usize + len as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }
}

/// Strings each of which is UTF-8, and none of which changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Utf8Strings<'a>(&'a Strings);

impl<'a> Utf8Strings<'a> {
    /// What all strings lie in.
    pub(crate) fn bytes(self) -> &'a Bytes {
        &self.0.bytes
    }

    /// Where a string begins in [`Self::bytes`].
    #[inline]
    pub(crate) fn start(self, index: usize) -> u32 {
        self.0.start(index)
    }

    #[inline]
    pub(crate) fn get(self, index: usize) -> &'a [u8] {
        self.0.get(index)
    }
}
