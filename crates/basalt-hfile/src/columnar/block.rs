// SPDX-License-Identifier: Apache-2.0
//! An open columnar block: its head is read and verified, sections are read as they are asked for.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use basalt_model::Seq;
use bytes::Bytes;

use super::VECTOR;
use super::form::Form;
use super::head::{ColumnHead, Head, Kind, head_len};
use super::place::{Seal, Source};
use super::processor::ask_for;
use super::section::Section;
use super::strings::Strings;
use super::vectors::Stored;
use crate::block::HEADER_LEN;
use crate::compression::Compression;
use crate::encoding::DecodeContext;
use crate::error::{Damage, Result};
use crate::file::FileRead;

/// Read of a block that is not read as a whole: enough for most heads and their smaller sections.
pub(crate) const FIRST_READ: usize = 16 << 10;
/// Bytes of the smallest cell in raw form: lengths, key overhead, and a byte each of row and family.
const RAW_CELL_MIN: usize = 22;
/// Bytes of checksums behind the payload: the container's, which are zero.
const CONTAINER_CHECKSUM: usize = 4;

/// A row group of a store file.
#[derive(Debug)]
pub struct ColumnarBlock {
    pub(super) source: Arc<Source>,
    pub(super) head: Arc<Head>,
    sections: Vec<OnceLock<Arc<Section>>>,
    shelf: Option<Box<dyn SectionShelf>>,
    key_index: OnceLock<Strings>,
    pub(super) seq_override: Option<Seq>,
}

/// Where the sections of one block are kept for those who read it next.
pub trait SectionShelf: fmt::Debug + Send + Sync {
    /// The section of this number, if it is there.
    fn get(&self, number: usize) -> Option<Arc<Section>>;
    /// Takes a section; it may go at any time.
    fn put(&self, number: usize, section: &Arc<Section>);
}

/// One column of a block, for people and planners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionFacts {
    /// What it holds, and of which key part or column.
    pub what: String,
    /// Scheme of its vectors.
    pub scheme: &'static str,
    /// Codec of its pages.
    pub compression: Compression,
    /// Values.
    pub values: u32,
    /// Bytes in the file, without the entry in the head.
    pub bytes: u32,
}

/// Where values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSource<'a> {
    /// In this part of the row key.
    KeyPart(usize),
    /// In the column of this qualifier.
    Column(&'a [u8]),
}

/// The least and the greatest of numbers as they are counted: moments in milliseconds since 1970, all others as they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberRange {
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// All of them are integers.
    pub whole: bool,
}

impl ColumnarBlock {
    /// Opens a block of `len` bytes, of which `front` are the first, perhaps all.
    pub(crate) fn open(
        file: Arc<dyn FileRead>,
        offset: u64,
        len: usize,
        front: Bytes,
        seal: Seal,
        context: &DecodeContext,
    ) -> Result<Self> {
        let seal = seal.of_block(offset);
        let mut source = Source {
            file,
            offset,
            seal,
            bytes_max: context.block_raw_bytes_max,
            sections_at: 0,
            sections_len: 0,
            loaded: Mutex::new(Vec::new()),
        };
        let payload = front.get(HEADER_LEN..).unwrap_or_default();
        let head_len = head_len(payload).map_err(|damage| source.corrupt(damage))?;
        source.sections_at = HEADER_LEN + head_len;
        let Some(sections_len) = len.checked_sub(source.sections_at + CONTAINER_CHECKSUM) else {
            let what = format!("a head of {head_len} bytes in a block of {len}");
            return Err(source.corrupt(Damage::new(4, what)));
        };
        source.sections_len = sections_len;
        let mut front = front;
        if front.len() < source.sections_at {
            front = source.file.read_at(offset, source.sections_at).map_err(|error| crate::Error::Io {
                file: source.file.name().to_owned(),
                offset,
                source: error,
            })?;
        }
        let head =
            Head::read(&front, head_len, sections_len, seal).map_err(|damage| source.corrupt(damage))?;
        if (head.cells as usize).saturating_mul(RAW_CELL_MIN) > context.block_raw_bytes_max {
            let (cells, max) = (head.cells, context.block_raw_bytes_max);
            let what = format!("{cells} cells do not fit into the {max} bytes that a block may have");
            return Err(source.corrupt(Damage::new(0, what)));
        }
        let read = (front.len() - source.sections_at).min(sections_len);
        if read > 0 {
            let bytes = front.slice(source.sections_at..source.sections_at + read);
            source.loaded = Mutex::new(vec![(0..read, bytes)]);
        }
        let sections = head.sections.iter().map(|_| OnceLock::new()).collect();
        let (source, seq_override) = (Arc::new(source), context.seq_override);
        let (head, key_index) = (Arc::new(head), OnceLock::new());
        Ok(Self { source, head, sections, shelf: None, key_index, seq_override })
    }

    /// The same block for a reader of its own: what [`Self::load`] loads goes with it, and onto the shelf if there is one.
    pub fn reopened(&self, shelf: Option<Box<dyn SectionShelf>>) -> Self {
        self.reopened_from(Arc::clone(&self.source.file), shelf)
    }

    /// As [`Self::reopened`], and what is not in memory is read through `file`: another way to the same file.
    pub fn reopened_from(&self, file: Arc<dyn FileRead>, shelf: Option<Box<dyn SectionShelf>>) -> Self {
        let loaded = self.source.loaded.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        Self {
            source: Arc::new(Source { file, ..self.source.with_loaded(loaded) }),
            head: Arc::clone(&self.head),
            sections: self.head.sections.iter().map(|_| OnceLock::new()).collect(),
            shelf,
            key_index: OnceLock::new(),
            seq_override: self.seq_override,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.head.rows as usize
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.head.cells as usize
    }

    /// Number of sections, those without bytes included: the numbers on a [`SectionShelf`] are below it.
    pub fn sections(&self) -> usize {
        self.head.sections.len()
    }

    /// Number of vectors of rows.
    pub fn vectors(&self) -> usize {
        self.head.vectors()
    }

    /// Rows of a vector: 1,024, but for the last.
    pub fn rows_of(&self, vector: usize) -> usize {
        self.head.rows_of(vector)
    }

    /// Qualifiers and forms of the columns, ascending.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&[u8], Form)> {
        self.head.columns.iter().map(|column| (column.qualifier.as_slice(), column.form))
    }

    /// The number of the column of this name.
    pub fn column(&self, qualifier: &[u8]) -> Option<usize> {
        self.head.columns.binary_search_by(|column| column.qualifier.as_slice().cmp(qualifier)).ok()
    }

    /// Of each key part, and of each column by its qualifier: how many rows have a value, and between which numbers they lie, if they are
    /// numbers. For plain blocks; answered by the head.
    pub fn known_values(&self) -> impl Iterator<Item = (ValueSource<'_>, usize, Option<NumberRange>)> {
        let parts = (0..self.key_parts().len()).map(|at| (ValueSource::KeyPart(at), Stored::Part(at)));
        let columns = self.head.columns.iter().enumerate();
        let columns =
            columns.map(|(at, column)| (ValueSource::Column(&column.qualifier), Stored::Column(at)));
        parts.chain(columns).map(|(source, stored)| {
            let (facts, form) = (self.facts_of(stored), self.form_of(stored));
            let range = facts.extremes().and_then(|(min, max)| {
                let (min, max) = (form.as_number(min)?, form.as_number(max)?);
                Some(NumberRange { min, max, whole: matches!(form, Form::Signed(_) | Form::Unsigned(_)) })
            });
            (source, facts.values, range)
        })
    }

    pub(super) fn column_head(&self, column: usize) -> &ColumnHead {
        &self.head.columns[column]
    }

    /// Reads the bytes of some columns' sections that are not yet in memory, neighbours in one read.
    pub fn load(&self, key: bool, columns: &[usize]) -> Result<()> {
        let others: Vec<u16> = columns.iter().filter_map(|&column| self.head.beside(column as u16)).collect();
        let wanted = |kind: Kind, subject: u16| match kind {
            Kind::KeyIndex | Kind::KeyValues | Kind::KeyFilled => key,
            Kind::Values if others.contains(&subject) => true,
            Kind::Presence | Kind::Filled | Kind::Values => columns.contains(&subject.into()),
            Kind::Timestamps | Kind::Types | Kind::Seqs | Kind::Beside => false,
        };
        self.load_where(wanted).map(|_| ())
    }

    /// Reads the bytes of all sections that are not yet in memory; false if there were none to read.
    pub fn load_all(&self) -> Result<bool> {
        self.load_where(|_, _| true)
    }

    /// Reads the sections that are `wanted` and not yet here; false if there are none.
    fn load_where(&self, wanted: impl Fn(Kind, u16) -> bool) -> Result<bool> {
        let mut loaded = Vec::new();
        let mut pending: Option<Range<usize>> = None;
        for (number, entry) in self.head.sections.iter().enumerate() {
            if entry.len == 0 || !wanted(entry.kind, entry.subject) || self.has(number) {
                continue;
            }
            loaded.push(number);
            if self.shelf.is_some() && Section::is_read_apart(entry) {
                continue;
            }
            let range = entry.offset as usize..(entry.offset + entry.len) as usize;
            match &mut pending {
                Some(before) if before.end == range.start => before.end = range.end,
                Some(before) => {
                    self.source.load(std::mem::replace(before, range))?;
                }
                None => pending = Some(range),
            }
        }
        pending.map_or(Ok(()), |range| self.source.load(range))?;
        let any = !loaded.is_empty();
        let Some(shelf) = &self.shelf else { return Ok(any) };
        for number in loaded {
            let section = Arc::new(Section::held(&self.source, &self.head.sections[number], self.vectors())?);
            shelf.put(number, &section);
            let _ = self.sections[number].set(section);
        }
        Ok(any)
    }

    /// True if a section is here, or on the shelf, from which it is taken.
    fn has(&self, number: usize) -> bool {
        let slot = &self.sections[number];
        let shelved = || self.shelf.as_ref().and_then(|shelf| shelf.get(number));
        slot.get().is_some() || shelved().is_some_and(|section| slot.set(section).is_ok())
    }

    /// A section, its header read; `None` if the block has no such section.
    #[inline]
    pub(super) fn section(&self, kind: Kind, subject: u16) -> Result<Option<&Section>> {
        let Some(number) = self.head.number(kind, subject) else { return Ok(None) };
        match self.sections[number].get() {
            Some(section) => Ok(Some(section)),
            None => self.open_section(number).map(Some),
        }
    }

    fn open_section(&self, number: usize) -> Result<&Section> {
        let section = Section::open(&self.source, &self.head.sections[number], self.vectors())?;
        Ok(self.sections[number].get_or_init(|| Arc::new(section)))
    }

    /// Asks memory for a quarter, of four, of the bytes of a vector in the sections that are in memory as they are stored: for who reads it soon.
    pub(super) fn ask_for(&self, vector: Option<usize>, quarter: usize) {
        let Some(vector) = vector else { return };
        for section in self.sections.iter().filter_map(OnceLock::get) {
            let bytes = section.packed(vector);
            ask_for(&bytes[bytes.len() * quarter / 4..bytes.len() * (quarter + 1) / 4]);
        }
    }

    /// First row of every vector, and the last row.
    pub(super) fn key_index(&self) -> Result<&Strings> {
        if let Some(index) = self.key_index.get() {
            return Ok(index);
        }
        let section = self.section(Kind::KeyIndex, 0)?;
        let section = section.ok_or_else(|| self.corrupt("the block has no key index"))?;
        let index = section.texts(0, self.vectors() + 1)?;
        Ok(self.key_index.get_or_init(|| index))
    }

    /// The vector in which `row` is, if it is in the block; else that of the next lower row, or the first.
    pub fn vector_of_row(&self, row: &[u8]) -> Result<usize> {
        let index = self.key_index()?;
        let (mut low, mut high) = (0, self.vectors());
        while low < high {
            let middle = (low + high) / 2;
            if index.get(middle).cmp(row) == Ordering::Greater { high = middle } else { low = middle + 1 }
        }
        Ok(low.saturating_sub(1))
    }

    /// The number of the first row that is not below `row`, counted from the start of the block.
    pub fn lower_bound(&self, row: &[u8]) -> Result<usize> {
        let vector = self.vector_of_row(row)?;
        Ok(vector * VECTOR + self.key_rows(vector)?.lower_bound(row)?)
    }

    /// [`Self::lower_bound`] of two rows. The keys of a vector are decoded once if both are in it.
    pub fn lower_bounds(&self, first: &[u8], second: &[u8]) -> Result<(usize, usize)> {
        let vector = self.vector_of_row(first)?;
        if self.vector_of_row(second)? != vector {
            return Ok((self.lower_bound(first)?, self.lower_bound(second)?));
        }
        let keys = self.key_rows(vector)?;
        let number = |row| Ok::<_, crate::Error>(vector * VECTOR + keys.lower_bound(row)?);
        Ok((number(first)?, number(second)?))
    }

    /// The first row of a vector.
    pub fn first_row_of(&self, vector: usize) -> Result<Vec<u8>> {
        Ok(self.key_index()?.get(vector).to_vec())
    }

    /// What each section is and how large.
    pub fn facts(&self) -> Result<Vec<SectionFacts>> {
        let facts = self.head.sections.iter().map(|entry| {
            let section = self.section(entry.kind, entry.subject)?;
            let (scheme, compression) = section.map_or(("", Compression::None), Section::scheme_name);
            let subject = match self.head.columns.get(usize::from(entry.subject)) {
                Some(column) if entry.kind >= Kind::Presence => {
                    basalt_model::escape::Escaped(&column.qualifier).to_string()
                }
                _ if entry.kind >= Kind::Presence => "all cells".to_owned(),
                _ => format!("part {}", entry.subject),
            };
            let what = format!("{:?} of {subject}", entry.kind);
            Ok(SectionFacts { what, scheme, compression, values: entry.values, bytes: entry.len })
        });
        facts.collect()
    }

    /// Memory held once the headers of all sections were read, in bytes, without what [`Self::load`] loads.
    pub fn memory_bytes_max(&self) -> usize {
        let headers: usize = self.head.sections.iter().map(|entry| 2 * entry.header_len as usize).sum();
        self.memory_bytes() + headers
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let loaded = self.source.loaded.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.head.sections.len() * 160 + loaded.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    #[cold]
    pub(super) fn corrupt(&self, what: impl Into<String>) -> crate::Error {
        self.source.corrupt(Damage::new(0, what))
    }
}
