// SPDX-License-Identifier: Apache-2.0
//! A section: one attribute of the rows of a block (a key part, a column's values, its timestamps, …), in vectors
//! that can each be decoded alone.
//!
//! ```text
//! header   u8 scheme | u8 codec | u8 vectors of a page | u8 0 | u16 vectors | parameters of the scheme
//!          per vector  u32 where its bytes end | u32 values | its smallest and largest value
//!          per page    u32 where it ends, as stored | u32 checksum
//! pages    the bytes of their vectors, compressed together if there is a codec
//! ```
//!
//! A vector's bytes end at a position among the uncompressed bytes of all vectors, a page at one among the stored
//! bytes behind the header. Schemes are those of [`super::ints`] and [`super::texts`]; a codec is the number that
//! the trailer has for it, 0 for none, and a section has one only if that saves a sixteenth. A section whose values
//! are all equal is an entry in the head and no more, or for a long string (scheme 16) a header with `u32 length |
//! bytes` and no vectors.

mod write;

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::bound::{Bound, Bounds};
use super::frame::Lane;
use super::head::Entry;
use super::held::HeldPages;
use super::input::Input;
use super::ints::IntScheme;
use super::mask::Mask;
use super::place::Source;
use super::room::{MAPPED_BYTES_MIN, Room};
use super::strings::Strings;
use super::texts::{Dictionary, TextScheme};
use crate::compression::{Compression, decompress};
use crate::error::{Damage, Result};

pub(super) use write::{SectionWriter, seal_sections};

/// Scheme number of a section of one string.
const ONE_STRING: u8 = 16;

/// How a section's values are stored.
#[derive(Debug)]
enum Scheme {
    OneInt(i64),
    OneText(Bytes),
    Ints(IntScheme),
    Texts(TextScheme),
}

#[derive(Debug)]
struct Vector {
    end: usize,
    values: usize,
    bounds: Bounds,
}

#[derive(Debug)]
struct Page {
    end: usize,
    checksum: u32,
}

/// A section, its header read and verified. With or without its pages: see [`Section::held`].
#[derive(Debug)]
pub struct Section {
    source: Arc<Source>,
    scheme: Scheme,
    codec: Compression,
    per_page: usize,
    vectors: Vec<Vector>,
    pages: Vec<Page>,
    /// Where the pages begin and end among the sections' bytes.
    data: Range<usize>,
    values: usize,
    /// The page that was decompressed last, so that its vectors cost that once.
    last_page: Mutex<Option<(usize, Bytes)>>,
    held: Option<HeldPages>,
}

/// The uncompressed bytes of a vector.
enum VectorBytes<'a> {
    /// Some of the held pages.
    Held(&'a Bytes, Range<usize>),
    Read(Bytes),
}

impl VectorBytes<'_> {
    fn into_bytes(self) -> Bytes {
        match self {
            Self::Held(pages, range) => pages.slice(range),
            Self::Read(bytes) => bytes,
        }
    }
}

impl std::ops::Deref for VectorBytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Held(pages, range) => &pages[range.clone()],
            Self::Read(bytes) => bytes,
        }
    }
}

/// Memory of a section beside its pages and their index.
const SECTION_BYTES: usize = 512;
/// Memory of what is known of a vector and its page.
const VECTOR_BYTES: usize = 128;

impl Section {
    /// Reads the header of a section of a block of `vectors` vectors.
    pub(super) fn open(source: &Arc<Source>, entry: &Entry, vectors: usize) -> Result<Self> {
        let at = entry.offset as usize;
        let (header_len, len) = (entry.header_len as usize, entry.len as usize);
        let mut section = Self {
            source: Arc::clone(source),
            scheme: Scheme::OneInt(0),
            codec: Compression::None,
            per_page: 1,
            vectors: Vec::new(),
            pages: Vec::new(),
            data: at + header_len..at + len,
            values: entry.values as usize,
            last_page: Mutex::new(None),
            held: None,
        };
        if len == 0 {
            section.scheme = match &entry.bounds.min {
                Bound::Int(value) => Scheme::OneInt(*value),
                Bound::Text(bound) => Scheme::OneText(Bytes::copy_from_slice(bound.prefix())),
            };
            return Ok(section);
        }
        let header = source.verified(at..at + header_len, entry.checksum)?;
        let is_text = matches!(entry.bounds.min, Bound::Text(_));
        let parsed = section.parse(&header, is_text, vectors);
        parsed.map_err(|damage| source.corrupt(Damage::new(at + damage.at, damage.what)))?;
        Ok(section)
    }

    /// True if the pages of a section are read into the memory that holds them: where they are large and there are no numbers in them that would be
    /// read where they lie.
    pub(super) fn is_read_apart(entry: &Entry) -> bool {
        entry.len as usize >= MAPPED_BYTES_MIN && matches!(entry.bounds.min, Bound::Text(_))
    }

    /// The same section with its pages, which the block has loaded if they are not read apart, in memory of its own: for readers to come.
    pub(super) fn held(source: &Arc<Source>, entry: &Entry, vectors: usize) -> Result<Self> {
        let mut section = Self::open(source, entry, vectors)?;
        let ends = section.pages.iter().map(|page| page.end);
        section.held = Some(if Self::is_read_apart(entry) {
            let mut room = Room::new(section.data.len());
            source.read_into(section.data.clone(), room.bytes())?;
            HeldPages::as_read(room.into_bytes(section.data.len()), ends)
        } else {
            HeldPages::new(&source.read(section.data.clone())?, ends)
        });
        // What else the block has loaded must not be kept by it.
        section.source = Arc::new(source.with_loaded(Vec::new()));
        Ok(section)
    }

    /// Memory that a held section takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let pages = self.held.as_ref().map_or(0, |held| held.bytes.len());
        let table = match &self.scheme {
            Scheme::Texts(scheme) => scheme.memory_bytes(),
            Scheme::OneInt(_) | Scheme::OneText(_) | Scheme::Ints(_) => 0,
        };
        SECTION_BYTES + self.vectors.len() * VECTOR_BYTES + pages + table
    }

    fn parse(&mut self, header: &[u8], is_text: bool, vectors: usize) -> Result<(), Damage> {
        let mut input = Input::new(header);
        let (scheme, codec, per_page, zero) = (input.u8()?, input.u8()?, input.u8()?, input.u8()?);
        let count = usize::from(input.u16()?);
        if codec != 0 {
            let known = Compression::from_ordinal(codec.into());
            self.codec = known.ok_or_else(|| input.damage(format!("unknown codec {codec}")))?;
        }
        if is_text && scheme == ONE_STRING {
            let len = input.u32()? as usize;
            self.scheme = Scheme::OneText(Bytes::copy_from_slice(input.take(len)?));
            return input.finish();
        }
        self.scheme = match is_text {
            true => Scheme::Texts(TextScheme::read_params(scheme, &mut input)?),
            false => Scheme::Ints(IntScheme::read_params(scheme, &mut input)?),
        };
        // The section of each vector's first row has one vector for all of them.
        if count == 0 || count > vectors || per_page == 0 || zero != 0 {
            return Err(input.damage(format!("{count} vectors of {vectors}, {per_page} a page")));
        }
        self.per_page = per_page.into();
        let (mut end, mut sum) = (0, 0);
        for _ in 0..count {
            let vector = Vector {
                end: input.u32()? as usize,
                values: input.u32()? as usize,
                bounds: Bounds::read(&mut input, is_text)?,
            };
            if vector.end < end {
                return Err(input.damage(format!("a vector that ends at {} behind one at {end}", vector.end)));
            }
            (end, sum) = (vector.end, sum + vector.values);
            self.vectors.push(vector);
        }
        if sum != self.values {
            return Err(input.damage(format!("vectors of {sum} values in a section of {}", self.values)));
        }
        let mut end = 0;
        for _ in 0..count.div_ceil(self.per_page) {
            let page = Page { end: input.u32()? as usize, checksum: input.u32()? };
            if page.end < end {
                return Err(input.damage(format!("a page that ends at {} behind one at {end}", page.end)));
            }
            end = page.end;
            self.pages.push(page);
        }
        if end != self.data.len() {
            return Err(input.damage(format!("pages of {end} bytes in a section of {}", self.data.len())));
        }
        input.finish()
    }

    /// Smallest and largest value of a vector.
    pub(super) fn bounds(&self, vector: usize) -> Option<&Bounds> {
        self.vectors.get(vector).map(|vector| &vector.bounds).filter(|bounds| !bounds.is_empty())
    }

    /// How many values a vector has, and the smallest and largest of them; `None` in a section of one value.
    pub(super) fn facts_of(&self, vector: usize) -> Option<(usize, &Bounds)> {
        self.vectors.get(vector).map(|vector| (vector.values, &vector.bounds))
    }

    /// The one value of a section of integers that has but one.
    pub(super) fn one_int(&self) -> Option<i64> {
        match self.scheme {
            Scheme::OneInt(value) => Some(value),
            _ => None,
        }
    }

    /// True if all values are equal.
    pub(super) fn is_one_value(&self) -> bool {
        matches!(self.scheme, Scheme::OneInt(_) | Scheme::OneText(_))
    }

    /// Name of the scheme and the codec.
    pub(super) fn scheme_name(&self) -> (&'static str, Compression) {
        let name = match &self.scheme {
            Scheme::OneInt(_) | Scheme::OneText(_) => "one value",
            Scheme::Ints(scheme) => scheme.name(),
            Scheme::Texts(scheme) => scheme.name(),
        };
        (name, self.codec)
    }

    /// Fills `out` with the integers of a vector as they are stored, of which there must be as many: see [`super::beside`].
    pub(super) fn stored_into<T: Lane>(&self, vector: usize, out: &mut [T]) -> Result<()> {
        match &self.scheme {
            Scheme::OneInt(value) => {
                out.fill(T::of(*value));
                Ok(())
            }
            Scheme::Ints(scheme) => {
                let bytes = self.vector_bytes(vector, out.len())?;
                scheme.decode(&bytes, out).map_err(|damage| self.damage(damage))
            }
            Scheme::OneText(_) | Scheme::Texts(_) => {
                Err(self.damage(Damage::new(0, "strings where numbers must be")))
            }
        }
    }

    /// Of a vector of `count` integers as they are stored those within one of some ranges, both ends inclusive; `None` if the vector has to be
    /// decoded for that.
    pub(super) fn within(&self, vector: usize, count: usize, ranges: &[(i64, i64)]) -> Result<Option<Mask>> {
        let Scheme::Ints(scheme) = &self.scheme else { return Ok(None) };
        let bytes = self.vector_bytes(vector, count)?;
        scheme.within(&bytes, count, ranges).map_err(|damage| self.damage(damage))
    }

    /// The strings of a vector of `count` values.
    pub(super) fn texts(&self, vector: usize, count: usize) -> Result<Strings> {
        match &self.scheme {
            Scheme::OneText(value) => {
                let span = super::strings::Span { start: 0, len: value.len() as u32 };
                Ok(Strings { bytes: value.clone(), spans: vec![span; count] })
            }
            Scheme::Texts(scheme) => {
                let bytes = self.vector_bytes(vector, count)?.into_bytes();
                let strings = scheme.decode(&bytes, count, self.source.bytes_max);
                strings.map_err(|damage| self.damage(damage))
            }
            Scheme::OneInt(_) | Scheme::Ints(_) => {
                Err(self.damage(Damage::new(0, "numbers where strings must be")))
            }
        }
    }

    /// The DECIMALs of a vector of `count` values as digits at `scale`; `None` if they are not stored as numbers.
    pub(super) fn decimals(&self, vector: usize, count: usize, scale: i8) -> Result<Option<Vec<i128>>> {
        let Scheme::Texts(TextScheme::Decimals(scheme)) = &self.scheme else { return Ok(None) };
        let bytes = self.vector_bytes(vector, count)?;
        scheme.digits_at(scale, &bytes, count).map(Some).map_err(|damage| self.damage(damage))
    }

    /// The dictionary of a section of strings that has one.
    pub(super) fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        match &self.scheme {
            Scheme::Texts(TextScheme::Dictionary(dictionary)) => Some(dictionary),
            _ => None,
        }
    }

    /// Fills `out` with the numbers of a vector's strings in the dictionary.
    pub(super) fn codes_into(&self, dictionary: &Dictionary, vector: usize, out: &mut [u32]) -> Result<()> {
        let bytes = self.vector_bytes(vector, out.len())?;
        dictionary.codes_into(&bytes, out).map_err(|damage| self.damage(damage))
    }

    /// Where a vector lies in memory as it is stored: nothing if it does not, or there is no such vector.
    #[inline]
    pub(super) fn packed(&self, vector: usize) -> &[u8] {
        match &self.held {
            Some(held) if self.per_page == 1 && vector < self.pages.len() => {
                &held.bytes[self.held_range(held, vector)]
            }
            _ => &[],
        }
    }

    /// The bytes of a vector, which must have `count` values.
    #[inline]
    fn vector_bytes(&self, index: usize, count: usize) -> Result<VectorBytes<'_>> {
        let Some(vector) = self.vectors.get(index).filter(|vector| vector.values == count) else {
            let what = format!("vector {index} does not have the {count} values that it must have");
            return Err(self.damage(Damage::new(0, what)));
        };
        let start_of = |vector: usize| vector.checked_sub(1).map_or(0, |before| self.vectors[before].end);
        if let (Some(held), Compression::None, 1) = (&self.held, self.codec, self.per_page) {
            let page = self.held_page(held, index)?;
            if page.len() == vector.end - start_of(index) {
                return Ok(VectorBytes::Held(&held.bytes, page));
            }
        }
        let page = index / self.per_page;
        let page_start = start_of(page * self.per_page);
        let bytes = self.page(page, page_start)?;
        Ok(VectorBytes::Read(bytes.slice(start_of(index) - page_start..vector.end - page_start)))
    }

    /// Where a page in memory lies among the others, verified the first time.
    #[inline]
    fn held_page(&self, held: &HeldPages, index: usize) -> Result<Range<usize>> {
        let range = self.held_range(held, index);
        if !held.verified[index].load(Relaxed) {
            let at = self.data.start + self.page_range(index).start;
            let bytes = &held.bytes[range.clone()];
            self.source.check(at, bytes, self.pages[index].checksum)?;
            held.verified[index].store(true, Relaxed);
        }
        Ok(range)
    }

    #[inline]
    fn held_range(&self, held: &HeldPages, index: usize) -> Range<usize> {
        let start = held.starts[index] as usize;
        start..start + self.page_range(index).len()
    }

    /// Where a page lies among the pages.
    #[inline]
    fn page_range(&self, index: usize) -> Range<usize> {
        index.checked_sub(1).map_or(0, |before| self.pages[before].end)..self.pages[index].end
    }

    /// The uncompressed bytes of a page, whose vectors begin at `start`.
    fn page(&self, index: usize, start: usize) -> Result<Bytes> {
        if let Some((_, bytes)) = self.remembered().as_ref().filter(|(last, _)| *last == index) {
            return Ok(bytes.clone());
        }
        let stored = match &self.held {
            Some(held) => held.bytes.slice(self.held_page(held, index)?),
            None => {
                let page = self.page_range(index);
                let range = self.data.start + page.start..self.data.start + page.end;
                self.source.verified(range, self.pages[index].checksum)?
            }
        };
        let last = self.vectors.len().min((index + 1) * self.per_page) - 1;
        let raw_len = self.vectors[last].end - start;
        if raw_len > self.source.bytes_max {
            let what = format!("a page of {raw_len} bytes, {} are the most", self.source.bytes_max);
            return Err(self.damage(Damage::new(0, what)));
        }
        let bytes = decompress(self.codec, &stored, raw_len).map_err(|damage| self.damage(damage))?;
        if self.per_page > 1 {
            *self.remembered() = Some((index, bytes.clone()));
        }
        Ok(bytes)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Option<(usize, Bytes)>> {
        self.last_page.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn damage(&self, damage: Damage) -> crate::Error {
        self.source.corrupt(Damage::new(self.data.start + damage.at, damage.what))
    }
}
