// SPDX-License-Identifier: Apache-2.0
//! Numbers of row groups added up as they are decoded: what SUM, AVG, MIN, MAX and COUNT need, without arrays.
//!
//! What the head of a row group, or of a section, says of all rows that are wanted is taken from there, and their values
//! are not read.

use basalt_model::{ColumnRef, SqlType, TableSchema};

use super::text_extremes::TextExtremes;
use super::{Column, Place, RowDecoder, Selected};
use crate::columnar::{
    ColumnVector, ColumnarBlock, Facts, Form, Held, Mask, Numbers, Place as ValuePlace, Stored, Strings,
    VectorValues, float_32, float_64,
};
use crate::error::Result as FileResult;

/// What is to be known of the values of a column, beside how many are not NULL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Their sum.
    pub sum: bool,
    /// The least and the greatest.
    pub extremes: bool,
}

/// A number of a column: integers, the digits of DECIMALs, milliseconds of DATEs and nanoseconds of TIMESTAMPs as integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Of any type but those of floats.
    Integer(i64),
    /// Of FLOAT, DOUBLE and their unsigned forms.
    Float(f64),
}

/// What is known of the values of a column that are not NULL.
#[derive(Debug, Clone)]
pub struct Total {
    form: Form,
    wanted: Wanted,
    /// How many there are.
    pub count: u64,
    /// The sum of integers, or of the digits of DECIMALs; if it was wanted.
    pub sum: i128,
    /// The sum of floats, if it was wanted.
    pub float_sum: f64,
    least: i64,
    most: i64,
    texts: TextExtremes,
    /// The row group in hand has been taken into account by its head.
    is_answered: bool,
    /// No number of the row group in hand is below 0: the sortable form of a float is its bits.
    is_positive: bool,
}

/// Totals of the columns of a decoder.
#[derive(Debug, Default)]
pub struct Totals {
    /// Rows that were added up.
    pub rows: u64,
    /// A total for each of the decoder's columns.
    pub columns: Vec<Total>,
    /// Whether the row group in hand can be added up; `None`: not looked at.
    fits: Option<bool>,
    /// The numbers of a vector that are wanted.
    narrow: Vec<u32>,
    wide: Vec<u64>,
}

impl Totals {
    /// True if what is wanted of the column can be had of its values as they are stored: the number of values of any type, the least and the greatest of
    /// numbers, moments, VARCHAR and VARBINARY, the sum of numbers. Not of columns with a DEFAULT, which are not all stored.
    pub fn can_have(table: &TableSchema, column: ColumnRef, wanted: Wanted) -> bool {
        use SqlType::*;
        let has_default =
            matches!(column, ColumnRef::Column(index) if table.columns[index].default_value.is_some());
        let is_number = !matches!(
            table.sql_type(column),
            Decimal(None) | Boolean | Char(_) | Varchar(_) | Json | Binary(_) | Varbinary(_) | Array(_)
        );
        let is_text = matches!(table.sql_type(column), Varchar(_) | Varbinary(_) | Json);
        (is_number || wanted.is_count() || is_text && !wanted.sum) && !has_default
    }
}

impl Wanted {
    /// True if only the number of values is wanted.
    fn is_count(self) -> bool {
        self == Self::default()
    }
}

impl Total {
    fn new(sql_type: SqlType, wanted: Wanted) -> Self {
        Self {
            form: Form::of(sql_type, || 0),
            wanted,
            count: 0,
            sum: 0,
            float_sum: 0.0,
            least: i64::MAX,
            most: i64::MIN,
            texts: TextExtremes::default(),
            is_answered: false,
            is_positive: false,
        }
    }

    /// The least number, if that was wanted and there is one.
    pub fn least(&self) -> Option<Number> {
        self.has_extremes().then(|| self.number(self.least))
    }

    /// The greatest number, if that was wanted and there is one.
    pub fn most(&self) -> Option<Number> {
        self.has_extremes().then(|| self.number(self.most))
    }

    fn has_extremes(&self) -> bool {
        self.wanted.extremes && self.count > 0 && self.form != Form::Bytes
    }

    /// The least text, if that was wanted and there is one.
    pub fn least_text(&self) -> Option<&[u8]> {
        self.texts.least()
    }

    /// The greatest text, if that was wanted and there is one.
    pub fn most_text(&self) -> Option<&[u8]> {
        self.texts.most()
    }

    fn number(&self, stored: i64) -> Number {
        match self.form {
            Form::Float(4) | Form::RawFloat(4) => Number::Float(float_32(stored as u32).into()),
            Form::Float(_) | Form::RawFloat(_) => Number::Float(float_64(stored as u64)),
            _ => Number::Integer(stored),
        }
    }

    /// Takes values into account of which only this is known; false if more is wanted.
    fn answer(&mut self, facts: &Facts) -> bool {
        if self.wanted.sum {
            return false;
        }
        if self.wanted.extremes && facts.values > 0 {
            if let Some((least, most)) = facts.extremes() {
                (self.least, self.most) = (self.least.min(least), self.most.max(most));
            } else if !facts.text_extremes().is_some_and(|(min, max)| self.texts.answer(min, max)) {
                return false;
            }
        }
        self.count += facts.values as u64;
        true
    }

    fn add(&mut self, numbers: Numbers<'_>) {
        match numbers {
            Numbers::Narrow(numbers) => self.add_narrow(numbers),
            Numbers::Wide(numbers) => self.add_wide(numbers),
            Numbers::One { number, count } => {
                self.count += count as u64;
                match self.number(number) {
                    _ if !self.wanted.sum => {}
                    Number::Integer(number) => self.sum += i128::from(number) * count as i128,
                    Number::Float(number) => self.float_sum += number * count as f64,
                }
                if self.wanted.extremes && count > 0 {
                    (self.least, self.most) = (self.least.min(number), self.most.max(number));
                }
            }
        }
    }

    fn add_narrow(&mut self, numbers: &[u32]) {
        self.count += numbers.len() as u64;
        if self.wanted.sum {
            match self.form {
                Form::Float(_) | Form::RawFloat(_) if self.is_positive => {
                    self.float_sum += sum_of_floats(numbers, |number| f32::from_bits(number).into());
                }
                Form::Float(_) | Form::RawFloat(_) => {
                    self.float_sum += sum_of_floats(numbers, |number| float_32(number).into());
                }
                _ => {
                    self.sum +=
                        i128::from(numbers.iter().map(|&number| i64::from(number as i32)).sum::<i64>())
                }
            }
        }
        if self.wanted.extremes {
            let least = numbers.iter().fold(i32::MAX, |least, &number| least.min(number as i32));
            let most = numbers.iter().fold(i32::MIN, |most, &number| most.max(number as i32));
            if !numbers.is_empty() {
                (self.least, self.most) = (self.least.min(least.into()), self.most.max(most.into()));
            }
        }
    }

    fn add_wide(&mut self, numbers: &[u64]) {
        self.count += numbers.len() as u64;
        if self.wanted.sum {
            match self.form {
                Form::Float(_) | Form::RawFloat(_) if self.is_positive => {
                    self.float_sum += sum_of_floats(numbers, f64::from_bits);
                }
                Form::Float(_) | Form::RawFloat(_) => self.float_sum += sum_of_floats(numbers, float_64),
                _ => self.sum += sum_of_wide(numbers),
            }
        }
        if self.wanted.extremes {
            let least = numbers.iter().fold(i64::MAX, |least, &number| least.min(number as i64));
            let most = numbers.iter().fold(i64::MIN, |most, &number| most.max(number as i64));
            (self.least, self.most) = (self.least.min(least), self.most.max(most));
        }
    }
}

impl Total {
    /// Adds the texts of some rows of a vector, of which only the extremes can be wanted.
    fn add_texts(&mut self, texts: &Strings, vector: &ColumnVector, rows: &Mask) {
        let selected = Selected::of(rows);
        for at in 0..selected.len() {
            let row = selected.row(at);
            let index = match &vector.places {
                None => row,
                Some(places) => match places[row] {
                    ValuePlace::Value(index) => index as usize,
                    ValuePlace::Empty | ValuePlace::Missing => continue,
                },
            };
            self.texts.add(texts.get(index));
            self.count += 1;
        }
    }

    /// Adds all texts of a row group, of which those vectors are decoded that may have the least or the greatest.
    fn add_text_group(&mut self, block: &ColumnarBlock, stored: Stored, held: &mut Held) -> FileResult<()> {
        for vector in 0..block.vectors() {
            if block.facts_of_vector(stored, vector)?.is_some_and(|facts| self.answer(&facts)) {
                continue;
            }
            let rows = Mask::of_range(0..block.rows_of(vector));
            self.add_vector(held.vector(block, stored, vector)?, &rows);
            held.release();
        }
        Ok(())
    }

    fn add_vector(&mut self, vector: &ColumnVector, rows: &Mask) {
        match &vector.values {
            VectorValues::Texts(texts) => self.add_texts(texts, vector, rows),
            VectorValues::Codes(dictionary, codes) => {
                self.add_texts(&dictionary.strings_of(codes), vector, rows);
            }
            VectorValues::Narrow(_) | VectorValues::Wide(_) | VectorValues::Digits(_) => {}
        }
    }
}

/// Floats that are added up side by side, each to a sum of its own.
const LANES: usize = 32;

/// The sum of floats in 64 bits.
#[inline]
fn sum_of_floats<T: Copy>(numbers: &[T], float: impl Fn(T) -> f64 + Copy) -> f64 {
    let (rows, rest) = numbers.as_chunks::<LANES>();
    let sums = sums_of_lanes(rows, float);
    // In pairs: one after the other each would wait for the one before.
    let sums: [f64; LANES / 2] = std::array::from_fn(|lane| sums[lane] + sums[lane + LANES / 2]);
    let sums: [f64; LANES / 4] = std::array::from_fn(|lane| sums[lane] + sums[lane + LANES / 4]);
    sums.iter().sum::<f64>() + rest.iter().map(|&number| float(number)).sum::<f64>()
}

/// For itself, so that how its result is used does not decide how the compiler lays out its lanes.
#[inline(never)]
fn sums_of_lanes<T: Copy>(rows: &[[T; LANES]], float: impl Fn(T) -> f64) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for row in rows {
        for (sum, &number) in sums.iter_mut().zip(row) {
            *sum += float(number);
        }
    }
    sums
}

/// The sum of integers of 64 bits, of which there are fewer than 2^31.
fn sum_of_wide(numbers: &[u64]) -> i128 {
    // Halves apart, neither of which leaves 64 bits.
    let low: u64 = numbers.iter().map(|&number| number & 0xffff_ffff).sum();
    let high: i64 = numbers.iter().map(|&number| i64::from((number >> 32) as i32)).sum();
    (i128::from(high) << 32) + i128::from(low)
}

impl RowDecoder {
    /// From now on [`Self::add_up`] is of use: `wanted` of each column, of which [`Totals::can_have`] must hold.
    pub fn set_totals(&mut self, table: &TableSchema, projection: &[ColumnRef], wanted: &[Wanted]) {
        let columns = projection.iter().zip(wanted);
        let columns = columns.map(|(&column, &wanted)| Total::new(table.sql_type(column), wanted)).collect();
        self.totals = Some(Totals { columns, ..Totals::default() });
    }

    /// What was added up so far.
    pub fn totals(&self) -> Option<&Totals> {
        self.totals.as_ref()
    }

    /// True if rows are added up and no value of a column is looked at for that: the head of the row group in hand has told all, or values
    /// are only counted.
    pub(super) fn is_known(&self, column: usize) -> bool {
        let of_column = self.totals.as_ref().map(|totals| &totals.columns[column]);
        of_column.is_some_and(|total| total.is_answered || total.wanted.is_count())
    }

    /// The next row group begins.
    pub fn begin_totals(&mut self) {
        if let Some(totals) = &mut self.totals {
            totals.fits = None;
            totals.columns.iter_mut().for_each(|total| total.is_answered = false);
        }
    }

    /// Adds up all rows of a plain row group, which has just begun: what its head knows is taken from there, the rest is read.
    /// False, and nothing done, if its rows can only be pushed.
    pub fn add_up_group(&mut self, block: &ColumnarBlock) -> FileResult<bool> {
        let Self { columns, totals: Some(totals), .. } = self else { return Ok(false) };
        if !totals.fits(columns, block) {
            return Ok(false);
        }
        for (column, total) in columns.iter().zip(&mut totals.columns) {
            total.is_answered =
                stored(column, block).is_none_or(|stored| total.answer(&block.facts_of(stored)));
        }
        totals.rows += block.rows() as u64;
        if totals.columns.iter().all(|total| total.is_answered) {
            return Ok(true);
        }
        self.load(block)?;
        let Self { columns, totals: Some(totals), held, .. } = self else { return Ok(false) };
        for (column, total) in columns.iter().zip(&mut totals.columns) {
            let Some(stored) = stored(column, block).filter(|_| !total.is_answered) else { continue };
            match total.form {
                Form::Bytes => total.add_text_group(block, stored, held)?,
                _ => held.each_number(block, stored, |numbers| total.add(numbers))?,
            }
        }
        Ok(true)
    }

    /// Adds up some rows of a vector of a plain row group; false, and nothing done, if they can only be pushed. Whatever
    /// [`Self::select`] decoded of the vector is used and released.
    pub fn add_up(&mut self, block: &ColumnarBlock, vector: usize, rows: &Mask) -> FileResult<bool> {
        let Self { columns, totals: Some(totals), held, .. } = self else { return Ok(false) };
        if !totals.fits(columns, block) {
            return Ok(false);
        }
        let all = rows.count() == block.rows_of(vector);
        // Memory that goes from column to column stays in the processor's first cache.
        let one_by_one = held.is_empty();
        for (column, total) in columns.iter().zip(&mut totals.columns) {
            let Some(stored) = stored(column, block).filter(|_| !total.is_answered) else { continue };
            if all && block.facts_of_vector(stored, vector)?.is_some_and(|facts| total.answer(&facts)) {
                continue;
            }
            if total.wanted.is_count() {
                total.count += block.rows_with_value(stored, vector)?.and(*rows).count() as u64;
                continue;
            }
            let values = held.vector(block, stored, vector)?;
            match (&values.values, all) {
                (VectorValues::Narrow(numbers), true) => total.add_narrow(numbers),
                (VectorValues::Wide(numbers), true) => total.add_wide(numbers),
                (VectorValues::Narrow(numbers), false) => {
                    total.add_narrow(choose(numbers, values, rows, &mut totals.narrow));
                }
                (VectorValues::Wide(numbers), false) => {
                    total.add_wide(choose(numbers, values, rows, &mut totals.wide));
                }
                (VectorValues::Texts(_) | VectorValues::Codes(..) | VectorValues::Digits(_), _) => {
                    total.add_vector(values, rows);
                }
            }
            if one_by_one {
                held.release();
            }
        }
        held.release();
        totals.rows += rows.count() as u64;
        Ok(true)
    }
}

impl Totals {
    /// True if all columns of the row group in hand are stored as they are added up. Finds out, too, whether their numbers can be negative.
    fn fits(&mut self, columns: &[Column], block: &ColumnarBlock) -> bool {
        let is_as_wanted = |total: &mut Total, at| {
            total.is_positive = block.facts_of(at).extremes().is_some_and(|(least, _)| least >= 0);
            total.wanted.is_count() || block.form_of(at) == total.form
        };
        *self.fits.get_or_insert_with(|| {
            columns.iter().zip(&mut self.columns).all(|(column, total)| match &column.place {
                Place::Key(place) => {
                    place.is_part_of(block.key_parts()) && is_as_wanted(total, Stored::Part(place.index))
                }
                Place::Cell(_) => match stored(column, block) {
                    Some(stored) => is_as_wanted(total, stored),
                    None => true,
                },
            })
        })
    }
}

/// Where a row group has a column; `None` if it has no value of it.
fn stored(column: &Column, block: &ColumnarBlock) -> Option<Stored> {
    match &column.place {
        Place::Key(place) => Some(Stored::Part(place.index)),
        Place::Cell(place) => block.column(&place.name[usize::from(place.family_len)..]).map(Stored::Column),
    }
}

/// The numbers of some rows.
fn choose<'a, T: Copy>(
    numbers: &'a [T],
    vector: &ColumnVector,
    rows: &Mask,
    chosen: &'a mut Vec<T>,
) -> &'a [T] {
    let selected = Selected::of(rows);
    let Some(places) = &vector.places else {
        if let Selected::Range(range) = selected {
            return &numbers[range];
        }
        chosen.clear();
        chosen.extend((0..selected.len()).map(|at| numbers[selected.row(at)]));
        return chosen;
    };
    let place = |at| match places[selected.row(at)] {
        ValuePlace::Value(value) => Some(numbers[value as usize]),
        ValuePlace::Empty | ValuePlace::Missing => None,
    };
    chosen.clear();
    chosen.extend((0..selected.len()).filter_map(place));
    chosen
}
