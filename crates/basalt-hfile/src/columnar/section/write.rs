// SPDX-License-Identifier: Apache-2.0
//! Sections in the making: the scheme is chosen, the vectors are encoded and cut into pages, the checksums come last.

use std::collections::BTreeMap;

use super::super::bound::Bounds;
use super::super::form::Form;
use super::super::head::{Entry, Kind};
use super::super::ints::{IntScheme, Nature};
use super::super::place::Seal;
use super::super::sketch::Sketch;
use super::super::strings::StringList;
use super::super::texts::{TextEncoder, TextScheme};
use super::ONE_STRING;
use crate::compression::Compressor;

/// Uncompressed bytes of a page, about, in a section with a codec.
const PAGE_BYTES: usize = 1 << 16;

/// Sections in the making.
pub(in crate::columnar) struct SectionWriter<'a> {
    pub(in crate::columnar) codec: &'a mut Option<Compressor>,
    /// All sections so far.
    pub(in crate::columnar) out: Vec<u8>,
    pub(in crate::columnar) entries: Vec<Entry>,
    /// Of the values of key parts and columns.
    pub(in crate::columnar) sketches: BTreeMap<(Kind, u16), Sketch>,
}

/// Vectors of one section, encoded.
struct Encoded {
    scheme: u8,
    params: Vec<u8>,
    bytes: Vec<u8>,
    vectors: Vec<(usize, u32, Bounds)>,
}

impl<'a> SectionWriter<'a> {
    /// Of a block without sections so far.
    pub(in crate::columnar) fn new(codec: &'a mut Option<Compressor>) -> Self {
        Self { codec, out: Vec::new(), entries: Vec::new(), sketches: BTreeMap::new() }
    }

    /// Remembers which values there are, if others will want to know that. What was written before in another form is forgotten.
    fn sketch(&mut self, kind: Kind, subject: u16, fill: impl FnOnce(&mut Sketch)) {
        if matches!(kind, Kind::KeyValues | Kind::Values) {
            let mut sketch = Sketch::default();
            fill(&mut sketch);
            self.sketches.insert((kind, subject), sketch);
        }
    }

    /// Writes a section of integers.
    pub(in crate::columnar) fn ints(
        &mut self,
        kind: Kind,
        subject: u16,
        vectors: &[impl AsRef<[i64]>],
        nature: Nature,
    ) {
        let slices: Vec<&[i64]> = vectors.iter().map(AsRef::as_ref).collect();
        self.stored(kind, subject, &slices, &slices, nature);
    }

    /// Writes the values of a column as their distances from those of another, both vector by vector.
    pub(in crate::columnar) fn distances(
        &mut self,
        subject: u16,
        from: u16,
        slices: &[&[i64]],
        distances: &[&[i64]],
    ) {
        let sections = self.entries.len();
        self.stored(Kind::Values, subject, slices, distances, Nature::Integer);
        if self.entries[sections..].iter().any(|entry| entry.len > 0) {
            let other = Bounds::of_ints([&i64::from(from)]).expect("it is of one number");
            self.entries.push(Entry::without_bytes(Kind::Beside, subject, 1, other));
        }
    }

    /// Writes a section of integers, in place of which others are stored.
    fn stored(&mut self, kind: Kind, subject: u16, slices: &[&[i64]], stored: &[&[i64]], nature: Nature) {
        let values: usize = slices.iter().map(|vector| vector.len()).sum();
        let Some(bounds) = Bounds::of_ints(slices.iter().copied().flatten()) else { return };
        if bounds.is_one_value() {
            self.sketch(kind, subject, |sketch| {
                slices.iter().copied().flatten().take(1).for_each(|n| sketch.add_number(*n))
            });
            return self.entries.push(Entry::without_bytes(kind, subject, values as u32, bounds));
        }
        self.sketch(kind, subject, |sketch| {
            slices.iter().copied().flatten().for_each(|n| sketch.add_number(*n))
        });
        let scheme = IntScheme::choose(stored, nature);
        let mut encoded = Encoded { scheme: scheme.number(), params: vec![], bytes: vec![], vectors: vec![] };
        scheme.write_params(&mut encoded.params);
        for (vector, stored) in slices.iter().zip(stored) {
            scheme.encode(stored, &mut encoded.bytes);
            let bounds = Bounds::of_ints(*vector).unwrap_or(Bounds::NO_INTS);
            encoded.vectors.push((encoded.bytes.len(), vector.len() as u32, bounds));
        }
        self.section(kind, subject, values, bounds, encoded);
    }

    /// Writes a section of strings, which are values of this form.
    pub(in crate::columnar) fn texts(
        &mut self,
        kind: Kind,
        subject: u16,
        vectors: &[StringList],
        form: Form,
    ) {
        let values: usize = vectors.iter().map(StringList::len).sum();
        let extremes: Vec<_> = vectors.iter().map(StringList::extremes).collect();
        let known = || extremes.iter().flatten();
        let (Some(min), Some(max)) = (known().map(|(min, _)| min).min(), known().map(|(_, max)| max).max())
        else {
            return;
        };
        let bounds = Bounds::of_texts(min, max);
        if min == max {
            self.sketch(kind, subject, |sketch| sketch.add_text(min));
            if bounds.is_one_value() {
                return self.entries.push(Entry::without_bytes(kind, subject, values as u32, bounds));
            }
            let mut params = (min.len() as u32).to_le_bytes().to_vec();
            params.extend_from_slice(min);
            let encoded = Encoded { scheme: ONE_STRING, params, bytes: vec![], vectors: vec![] };
            return self.section(kind, subject, values, bounds, encoded);
        }
        let (encoder, _) = TextEncoder::choose(vectors, form, self.codec);
        self.sketch(kind, subject, |sketch| match &encoder.scheme {
            TextScheme::Dictionary(dictionary) => {
                (0..dictionary.len()).for_each(|number| sketch.add_text(dictionary.get(number)))
            }
            _ => vectors.iter().flat_map(StringList::iter).for_each(|text| sketch.add_text(text)),
        });
        let mut encoded =
            Encoded { scheme: encoder.scheme.number(), params: vec![], bytes: vec![], vectors: vec![] };
        encoder.scheme.write_params(&mut encoded.params);
        for (vector, extremes) in vectors.iter().zip(&extremes) {
            encoder.encode(vector, &mut encoded.bytes);
            let bounds = extremes.map_or(Bounds::NO_TEXTS, |(min, max)| Bounds::of_texts(min, max));
            encoded.vectors.push((encoded.bytes.len(), vector.len() as u32, bounds));
        }
        self.section(kind, subject, values, bounds, encoded);
    }

    fn section(&mut self, kind: Kind, subject: u16, values: usize, bounds: Bounds, encoded: Encoded) {
        let Encoded { scheme, params, bytes, vectors } = encoded;
        let (codec, per_page, pages) = self.pages(&bytes, &vectors);
        let start = self.out.len();
        let mut header = vec![scheme, codec, per_page, 0];
        header.extend_from_slice(&(vectors.len() as u16).to_le_bytes());
        header.extend_from_slice(&params);
        for (end, count, bounds) in &vectors {
            header.extend_from_slice(&(*end as u32).to_le_bytes());
            header.extend_from_slice(&count.to_le_bytes());
            bounds.write(&mut header);
        }
        let header_len = header.len() + 8 * pages.len();
        let mut end = 0;
        for page in &pages {
            end += page.len();
            header.extend_from_slice(&(end as u32).to_le_bytes());
            header.extend_from_slice(&[0; 4]);
        }
        self.out.extend_from_slice(&header);
        pages.iter().for_each(|page| self.out.extend_from_slice(page));
        self.entries.push(Entry {
            kind,
            subject,
            values: values as u32,
            bounds,
            offset: start as u32,
            len: (self.out.len() - start) as u32,
            header_len: header_len as u32,
            checksum: 0,
        });
    }

    /// Cuts encoded vectors into pages: with the codec's number if it saves enough, else one vector a page.
    fn pages(&mut self, bytes: &[u8], vectors: &[(usize, u32, Bounds)]) -> (u8, u8, Vec<Vec<u8>>) {
        let cut = |per_page: usize| {
            let ends = vectors.chunks(per_page).filter_map(|page| Some(page.last()?.0));
            let mut start = 0;
            ends.map(move |end| bytes[std::mem::replace(&mut start, end)..end].to_vec())
        };
        if let Some(codec) = self.codec
            && !vectors.is_empty()
        {
            let per_page = (PAGE_BYTES * vectors.len() / bytes.len().max(1)).clamp(1, 255);
            let packed: Vec<Vec<u8>> = cut(per_page)
                .map(|page| {
                    let mut packed = Vec::new();
                    codec.compress(&page, &mut packed);
                    packed
                })
                .collect();
            if packed.iter().map(Vec::len).sum::<usize>() <= bytes.len() / 16 * 15 {
                return (codec.compression().ordinal() as u8, per_page as u8, packed);
            }
        }
        (0, 1, cut(1).collect())
    }
}

/// Makes the checksums of all sections those of their place: of the pages, and of the headers that say so.
pub(in crate::columnar) fn seal_sections(entries: &mut [Entry], sections: &mut [u8], seal: Seal) {
    // A section without bytes has no header, whatever its entry says.
    for entry in entries.iter_mut().filter(|entry| entry.len > 0) {
        let at = entry.offset as usize;
        let (header, pages) = sections[at..at + entry.len as usize].split_at_mut(entry.header_len as usize);
        seal_pages(header, pages, entry.offset + entry.header_len, seal);
        entry.checksum = seal.checksum(entry.offset, header);
    }
}

/// Makes the checksums of a section's pages, which are the end of its header, as far as there are such pages: fuzzers make headers
/// that say otherwise.
fn seal_pages(header: &mut [u8], pages: &[u8], position: u32, seal: Seal) {
    let &[_, _, per_page, _, low, high, ..] = &*header else { return };
    if per_page == 0 {
        return;
    }
    let count = usize::from(u16::from_le_bytes([low, high])).div_ceil(per_page.into());
    let Some(from) = header.len().checked_sub(8 * count) else { return };
    let mut start = 0;
    for page in header[from..].as_chunks_mut::<8>().0 {
        let end = u32::from_le_bytes([page[0], page[1], page[2], page[3]]) as usize;
        let Some(bytes) = pages.get(start..end) else { return };
        let checksum = seal.checksum(position + start as u32, bytes);
        page[4..].copy_from_slice(&checksum.to_le_bytes());
        start = end;
    }
}
