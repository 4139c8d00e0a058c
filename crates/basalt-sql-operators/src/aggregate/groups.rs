// SPDX-License-Identifier: Apache-2.0
//! Which group each row belongs to. DataFusion's table of groups has the last word; in front of it lies a small table of
//! the groups seen last, in which a row of a query with few groups is found by one comparison.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, DictionaryArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal64Type, Int8Type, Int16Type, Int32Type, Int64Type, SchemaRef, TimeUnit,
    TimestampMillisecondType, UInt32Type,
};
use datafusion::common::Result;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

/// Longest text whose view is the text itself.
const INLINE_MAX: u32 = 12;
/// Places of the small table.
const RECENT: usize = 256;
/// Rows of a batch that are looked up one by one in the large table before the whole batch is.
const MISSES_MAX: usize = 32;
/// Combinations of the entries of dictionaries that are told apart by a table of all of them.
const COMBINATIONS_MAX: usize = 1 << 14;
/// A combination without a group.
const UNKNOWN: u32 = u32::MAX;
/// Stands for NULL: neither a number of 64 bits nor a view of a short text.
const NULL: u128 = u128::MAX;

/// Groups, numbered from 0 as they come.
pub(super) struct Groups {
    schema: SchemaRef,
    known: Box<dyn GroupValues>,
    recent: Recent,
    /// Of each row of the batch in hand.
    numbers: Vec<u32>,
    scratch: Vec<usize>,
}

impl Groups {
    /// `schema` has a field for each column by which rows are grouped; at least one.
    pub(super) fn try_new(schema: SchemaRef) -> Result<Self> {
        let known = new_group_values(SchemaRef::clone(&schema), &GroupOrdering::None)?;
        Ok(Self { schema, known, recent: Recent::default(), numbers: Vec::new(), scratch: Vec::new() })
    }

    /// Finds the groups of rows whose columns are all numbers in dictionaries: each combination is looked up once. False if
    /// there are too many combinations.
    fn of_dictionaries(&mut self, columns: &[ArrayRef]) -> Result<bool> {
        let coded: Option<Vec<&DictionaryArray<UInt32Type>>> =
            columns.iter().map(|column| column.as_dictionary_opt::<UInt32Type>()).collect();
        let Some(coded) = coded else { return Ok(false) };
        // NULL is a value like any other, behind those of the dictionary.
        let sizes: Vec<usize> = coded.iter().map(|column| column.values().len() + 1).collect();
        let Some(size) = sizes.iter().try_fold(1usize, |size, next| size.checked_mul(*next)) else {
            return Ok(false);
        };
        if size > COMBINATIONS_MAX {
            return Ok(false);
        }
        let rows = columns[0].len();
        self.numbers.resize(rows, 0);
        for (column, &size) in coded.iter().zip(&sizes) {
            let codes = column.keys().values();
            let nulls = column.keys().nulls().filter(|nulls| nulls.null_count() > 0);
            match nulls {
                None => self
                    .numbers
                    .iter_mut()
                    .zip(codes.iter())
                    .for_each(|(n, &code)| *n = *n * size as u32 + code),
                Some(nulls) => {
                    for (row, number) in self.numbers.iter_mut().enumerate() {
                        let code = if nulls.is_null(row) { size as u32 - 1 } else { codes[row] };
                        *number = *number * size as u32 + code;
                    }
                }
            }
        }
        let mut groups = vec![UNKNOWN; size];
        let (mut known, all) = (0, self.combinations(size));
        for row in 0..rows {
            if known == all {
                break;
            }
            let combination = self.numbers[row] as usize;
            if groups[combination] == UNKNOWN {
                let one: Vec<ArrayRef> = columns.iter().map(|column| column.slice(row, 1)).collect();
                self.intern(&one)?;
                groups[combination] = self.scratch[0] as u32;
                known += 1;
            }
        }
        self.numbers.iter_mut().for_each(|number| *number = groups[*number as usize]);
        Ok(true)
    }

    /// How many combinations the batch in hand has, if that can be told by a look at a few bits: most queries have few.
    fn combinations(&self, size: usize) -> usize {
        if size > u64::BITS as usize {
            return size;
        }
        self.numbers.iter().fold(0, |seen, &number| seen | 1u64 << (number % u64::BITS)).count_ones() as usize
    }

    /// Finds the group of each row of a batch. The columns are one per field of the schema.
    pub(super) fn assign(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.numbers.clear();
        if self.of_dictionaries(columns)? {
            return Ok(());
        }
        let codes: Option<Vec<Cow<'_, [u128]>>> = columns.iter().map(codes).collect();
        let found_all = match codes {
            Some(codes) => self.look_up(columns, &codes)?,
            None => false,
        };
        if !found_all {
            self.intern(columns)?;
            self.numbers.clear();
            self.numbers.extend(self.scratch.iter().map(|&group| group as u32));
        }
        Ok(())
    }

    /// The group of each row of the batch in hand.
    pub(super) fn of_rows(&self) -> &[u32] {
        &self.numbers
    }

    /// False if the small table does not help with this batch.
    fn look_up(&mut self, columns: &[ArrayRef], codes: &[Cow<'_, [u128]>]) -> Result<bool> {
        let rows = columns[0].len();
        let mut misses = 0;
        self.recent.of_columns(codes.len());
        self.numbers.reserve(rows);
        for row in 0..rows {
            let place = self.recent.place(codes, row);
            if !self.recent.holds(place, codes, row) {
                misses += 1;
                if misses > MISSES_MAX {
                    return Ok(false);
                }
                let one: Vec<ArrayRef> = columns.iter().map(|column| column.slice(row, 1)).collect();
                self.intern(&one)?;
                self.recent.put(place, codes, row, self.scratch[0] as u32);
            }
            self.numbers.push(self.recent.groups[place]);
        }
        Ok(true)
    }

    /// Finds rows in the large table, which has all DECIMALs in 128 bits.
    fn intern(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let fields = self.schema.fields().iter();
        let columns = columns.iter().zip(fields).map(|(column, field)| match field.data_type() {
            same if column.data_type() == same => Ok(Arc::clone(column)),
            other => cast(column, other),
        });
        self.known.intern(&columns.collect::<Result<Vec<_>, _>>()?, &mut self.scratch)
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Memory held, in bytes.
    pub(super) fn size(&self) -> usize {
        self.known.size() + self.recent.codes.len() * size_of::<u128>() + self.numbers.capacity() * 12
    }

    /// The columns of all groups, by their numbers; there are none afterwards.
    pub(super) fn take(&mut self) -> Result<Vec<ArrayRef>> {
        let columns = self.known.emit(EmitTo::All)?;
        self.known = new_group_values(SchemaRef::clone(&self.schema), &GroupOrdering::None)?;
        self.recent = Recent::default();
        Ok(columns)
    }
}

/// Some groups by the codes of their columns, each at the one place that its codes give.
#[derive(Default)]
struct Recent {
    columns: usize,
    /// For each place the code of each column.
    codes: Vec<u128>,
    groups: Vec<u32>,
    used: Vec<bool>,
}

impl Recent {
    fn of_columns(&mut self, columns: usize) {
        if self.columns != columns {
            let (codes, groups, used) = (vec![0; RECENT * columns], vec![0; RECENT], vec![false; RECENT]);
            *self = Self { columns, codes, groups, used };
        }
    }

    #[inline]
    fn place(&self, codes: &[Cow<'_, [u128]>], row: usize) -> usize {
        let hash = codes.iter().fold(0u64, |hash, codes| {
            let code = codes[row];
            let mixed = (code as u64 ^ (code >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (hash.rotate_left(5) ^ mixed).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        });
        (hash >> 56) as usize % RECENT
    }

    #[inline]
    fn holds(&self, place: usize, codes: &[Cow<'_, [u128]>], row: usize) -> bool {
        let own = &self.codes[place * self.columns..];
        self.used[place] && codes.iter().zip(own).all(|(codes, own)| codes[row] == *own)
    }

    fn put(&mut self, place: usize, codes: &[Cow<'_, [u128]>], row: usize, group: u32) {
        let own = &mut self.codes[place * self.columns..];
        codes.iter().zip(own).for_each(|(codes, own)| *own = codes[row]);
        (self.groups[place], self.used[place]) = (group, true);
    }
}

/// A number per row that is equal for equal values; `None` if the column has none of that size.
fn codes(array: &ArrayRef) -> Option<Cow<'_, [u128]>> {
    let of = |numbers: &mut dyn Iterator<Item = i64>| -> Vec<u128> {
        numbers.map(|number| u128::from(number as u64)).collect()
    };
    let mut codes: Cow<'_, [u128]> = match array.data_type() {
        DataType::Utf8View => {
            let views = &**array.as_string_view().views();
            let longest = views.iter().fold(0, |longest, &view| longest.max(view as u32));
            if longest > INLINE_MAX {
                return None;
            }
            views.into()
        }
        DataType::Dictionary(..) => {
            let coded = array.as_dictionary_opt::<UInt32Type>()?;
            let views = coded.values().as_string_view_opt()?.views();
            if views.iter().any(|&view| view as u32 > INLINE_MAX) {
                return None;
            }
            let view = |&code: &u32| views.get(code as usize).copied().unwrap_or(NULL);
            coded.keys().values().iter().map(view).collect::<Vec<u128>>().into()
        }
        DataType::Int8 => of(&mut array.as_primitive::<Int8Type>().values().iter().map(|&n| n.into())).into(),
        DataType::Int16 => {
            of(&mut array.as_primitive::<Int16Type>().values().iter().map(|&n| n.into())).into()
        }
        DataType::Int32 => {
            of(&mut array.as_primitive::<Int32Type>().values().iter().map(|&n| n.into())).into()
        }
        DataType::Int64 => of(&mut array.as_primitive::<Int64Type>().values().iter().copied()).into(),
        DataType::Decimal64(..) => {
            of(&mut array.as_primitive::<Decimal64Type>().values().iter().copied()).into()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            of(&mut array.as_primitive::<TimestampMillisecondType>().values().iter().copied()).into()
        }
        _ => return None,
    };
    if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
        let codes = codes.to_mut();
        (0..codes.len()).filter(|&row| nulls.is_null(row)).for_each(|row| codes[row] = NULL);
    }
    Some(codes)
}
