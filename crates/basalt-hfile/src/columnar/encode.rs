// SPDX-License-Identifier: Apache-2.0
//! A group of rows into the payload of a block.

use std::ops::Range;

use basalt_model::{FamilyLayout, SqlType};

use super::VECTOR;
use super::beside::{self, Distances};
use super::form::{Form, decimal_scale, long_digits};
use super::gathered::Gathered;
use super::group::{Column, Group, Stamp};
use super::head::{ALL_CELLS, ColumnHead, Head, Kind};
use super::ints::Nature;
use super::key;
use super::place::Seal;
use super::section::{SectionWriter, seal_sections};
use super::sketch::Sketches;
use super::strings::StringList;
use crate::compression::Compressor;

/// A group of rows as a block, but for the checksums, which bind it to its place in a file.
#[derive(Debug)]
pub(crate) struct EncodedGroup {
    head: Head,
    sections: Vec<u8>,
    sketches: Sketches,
}

/// Encodes a group.
pub(crate) fn encode(
    group: &Group,
    layout: Option<&FamilyLayout>,
    codec: &mut Option<Compressor>,
) -> EncodedGroup {
    let mut sections = SectionWriter::new(codec);
    let mut key_parts = Vec::new();
    for (number, values) in
        key::split(&group.rows, layout.map_or(&[], |layout| &layout.key)).into_iter().enumerate()
    {
        let mut part = values.part;
        part.form = sections.strings_and_gaps(
            (Kind::KeyFilled, Kind::KeyValues, number as u16),
            values.vectors,
            values.hint,
        );
        key_parts.push(part);
    }
    let firsts = (0..group.rows.len()).step_by(VECTOR).map(|row| group.rows.get(row));
    let index: StringList = firsts.chain(group.rows.last()).collect();
    sections.texts(Kind::KeyIndex, 0, &[index], Form::Bytes);
    if let Some(stamps) = &group.row_stamps {
        let vectors: Vec<&[Stamp]> = stamps.chunks(VECTOR).collect();
        sections.stamps(ALL_CELLS, &vectors);
    }
    let hint = |qualifier: &[u8]| layout.and_then(|layout| layout.sql_type(qualifier));
    let beside = beside::choose(&group.columns, group.rows.len(), hint);
    let mut columns = Vec::new();
    for (number, (column, beside)) in group.columns.iter().zip(&beside).enumerate() {
        let form = sections.column(number as u16, column, group, (hint(&column.qualifier), beside.as_ref()));
        columns.push(ColumnHead {
            qualifier: column.qualifier.clone(),
            form,
            cells: column.rows.len() as u32,
            values: column.values.filled() as u32,
        });
    }
    let mut sketches = Sketches::default();
    for ((kind, subject), sketch) in &sections.sketches {
        match kind {
            Kind::KeyValues => sketches.add_key_part(usize::from(*subject), sketch),
            _ => sketches.add_column(&columns[usize::from(*subject)].qualifier, sketch),
        }
    }
    let counts = (group.rows.len() as u32, group.cells as u32);
    let head = Head::new(counts, group.family.clone(), key_parts, columns, sections.entries);
    EncodedGroup { head, sections: sections.out, sketches }
}

impl EncodedGroup {
    /// Bytes of the block, about.
    pub(crate) fn size_bytes(&self) -> usize {
        self.sections.len()
    }

    /// Which values it has, about.
    pub(crate) fn sketches(&self) -> &Sketches {
        &self.sketches
    }

    /// Appends the block's payload, of which [`seal`] still has to make the head's checksum. `file` is the seal of the file, `offset`
    /// where the block will lie.
    pub(crate) fn write(mut self, (file, offset): (Seal, u64), out: &mut Vec<u8>) {
        seal_sections(&mut self.head.sections, &mut self.sections, file.of_block(offset));
        self.head.write(out);
        out.extend_from_slice(&self.sections);
    }
}

/// Puts the checksum of its head into a finished block at `offset`.
pub(crate) fn seal(block: &mut [u8], file: Seal, offset: u64) {
    Head::seal(block, file.of_block(offset));
}

impl SectionWriter<'_> {
    /// Writes the sections of a column, whose values may be kept beside another's; returns their form.
    fn column(
        &mut self,
        number: u16,
        column: &Column,
        group: &Group,
        (hint, beside): (Option<SqlType>, Option<&Distances>),
    ) -> Form {
        let rows = group.rows.len();
        let cells = match column.is_dense(rows) {
            true => (0..rows).step_by(VECTOR).map(|first| first..rows.min(first + VECTOR)).collect(),
            false => self.presence(number, &column.rows, rows),
        };
        if group.row_stamps.is_none() {
            let of = |range: &Range<usize>| column.stamps.get(range.clone()).unwrap_or_default();
            let vectors: Vec<&[Stamp]> = cells.iter().map(of).collect();
            self.stamps(number, &vectors);
        }
        if let Some(Distances { from, form, numbers, distances }) = beside {
            let (numbers, distances): (Vec<&[i64]>, Vec<&[i64]>) =
                numbers.chunks(VECTOR).zip(distances.chunks(VECTOR)).unzip();
            self.distances(number, *from, &numbers, &distances);
            return *form;
        }
        match &column.values {
            Gathered::Numbers(form, numbers) if hint.map(|hint| Form::of(hint, || 0)) == Some(*form) => {
                let vectors: Vec<&[i64]> = cells.iter().map(|range| &numbers[range.clone()]).collect();
                self.ints(Kind::Values, number, &vectors, form.nature());
                *form
            }
            Gathered::Numbers(..) => {
                let mut values = column.values.clone();
                self.texts_of(number, values.as_bytes(), cells, hint)
            }
            Gathered::Bytes(values) => self.texts_of(number, values, cells, hint),
        }
    }

    fn texts_of(
        &mut self,
        number: u16,
        values: &StringList,
        vectors: Vec<Range<usize>>,
        hint: Option<SqlType>,
    ) -> Form {
        let vectors = vectors.into_iter().map(|range| values.slice(range)).collect();
        self.strings_and_gaps((Kind::Filled, Kind::Values, number), vectors, hint)
    }

    /// Writes how many cells each row has, if they have not one each; returns the cells of each vector.
    fn presence(&mut self, number: u16, cell_rows: &[u32], rows: usize) -> Vec<Range<usize>> {
        let (mut presence, mut ranges) = (Vec::new(), Vec::new());
        let mut cells = 0..0;
        for first in (0..rows).step_by(VECTOR) {
            let mut counts = vec![0; VECTOR.min(rows - first)];
            cells = cells.end..cells.end;
            while let Some(&row) = cell_rows.get(cells.end).filter(|&&row| (row as usize) < first + VECTOR) {
                counts[row as usize - first] += 1;
                cells.end += 1;
            }
            presence.push(counts);
            ranges.push(cells.clone());
        }
        self.ints(Kind::Presence, number, &presence, Nature::Integer);
        ranges
    }

    fn stamps(&mut self, subject: u16, vectors: &[&[Stamp]]) {
        let column = |of: fn(&Stamp) -> i64| -> Vec<Vec<i64>> {
            vectors.iter().map(|vector| vector.iter().map(of).collect()).collect()
        };
        self.ints(Kind::Timestamps, subject, &column(|stamp| stamp.timestamp), Nature::Integer);
        self.ints(Kind::Types, subject, &column(|stamp| stamp.cell_type.code().into()), Nature::Integer);
        self.ints(Kind::Seqs, subject, &column(|stamp| stamp.seq.0 as i64), Nature::Integer);
    }

    /// Writes the values that are not empty, and which those are if some are not; returns their form.
    fn strings_and_gaps(
        &mut self,
        (filled, values, subject): (Kind, Kind, u16),
        mut vectors: Vec<StringList>,
        hint: Option<SqlType>,
    ) -> Form {
        if vectors.iter().any(StringList::has_empty) {
            let is_filled =
                |vector: &StringList| vector.iter().map(|value| i64::from(!value.is_empty())).collect();
            let gaps: Vec<Vec<i64>> = vectors.iter().map(is_filled).collect();
            self.ints(filled, subject, &gaps, Nature::Integer);
            for vector in &mut vectors {
                *vector = vector.iter().filter(|value| !value.is_empty()).collect();
            }
        }
        self.values(values, subject, &vectors, hint)
    }

    /// Writes strings in the form that their type has, or in the smaller of the two that they may have without one.
    fn values(&mut self, kind: Kind, subject: u16, vectors: &[StringList], hint: Option<SqlType>) -> Form {
        let all = || vectors.iter().flat_map(StringList::iter);
        if let Some(sql_type) = hint {
            let form = Form::of(sql_type, || decimal_scale(all()));
            if let Some(integers) = integers(form, vectors) {
                self.ints(kind, subject, &integers, form.nature());
                return form;
            }
            let long = Form::LongDecimal;
            let form = match form {
                Form::Decimal(scale) if all().all(|value| long_digits(value, scale).is_some()) => long(scale),
                _ => form,
            };
            if form.is_text() {
                self.texts(kind, subject, vectors, form);
                return form;
            }
        }
        let before = (self.out.len(), self.entries.len());
        self.texts(kind, subject, vectors, Form::Bytes);
        let Some(first) = all().next() else { return Form::Bytes };
        let form = Form::Unsigned(first.len().min(8) as u8);
        let Some(integers) = integers(form, vectors) else { return Form::Bytes };
        let text_bytes = self.out.len() - before.0;
        self.out.truncate(before.0);
        self.entries.truncate(before.1);
        self.ints(kind, subject, &integers, form.nature());
        if self.out.len() - before.0 <= text_bytes {
            return form;
        }
        self.out.truncate(before.0);
        self.entries.truncate(before.1);
        self.texts(kind, subject, vectors, Form::Bytes);
        Form::Bytes
    }
}

/// The integers of all strings, if each has one.
fn integers(form: Form, vectors: &[StringList]) -> Option<Vec<Vec<i64>>> {
    if form.is_text() {
        return None;
    }
    let of = |vector: &StringList| vector.iter().map(|value| form.to_integer(value)).collect();
    vectors.iter().map(of).collect()
}
