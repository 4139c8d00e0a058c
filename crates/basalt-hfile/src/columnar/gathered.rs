// SPDX-License-Identifier: Apache-2.0
//! The values of a column that is being written: as bytes, or as numbers where who brings them knows their form.

use std::ops::Range;

use basalt_model::types::decimal;

use super::form::Form;
use super::strings::StringList;

/// Values in the order of their cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Gathered {
    /// As cells have them.
    Bytes(StringList),
    /// Numbers of which a form makes the bytes; none of them is of no bytes.
    Numbers(Form, Vec<i64>),
}

impl Default for Gathered {
    fn default() -> Self {
        Self::Bytes(StringList::default())
    }
}

impl Gathered {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Bytes(list) => list.len(),
            Self::Numbers(_, numbers) => numbers.len(),
        }
    }

    /// Length of a value's bytes.
    #[inline]
    pub(super) fn len_of(&self, index: usize) -> usize {
        match self {
            Self::Bytes(list) => list.len_of(index),
            Self::Numbers(Form::Decimal(scale), digits) => {
                decimal::encoded_len(digits[index], (*scale).into())
            }
            Self::Numbers(form, _) => form.width().unwrap_or_default(),
        }
    }

    /// Values that are not of no bytes.
    pub(super) fn filled(&self) -> usize {
        match self {
            Self::Bytes(list) => list.iter().filter(|value| !value.is_empty()).count(),
            Self::Numbers(_, numbers) => numbers.len(),
        }
    }

    /// Adds a value. Numbers become bytes.
    #[inline]
    pub(super) fn push(&mut self, value: &[u8]) {
        self.as_bytes().push(value);
    }

    /// Adds some values of others. They stay numbers if all are of one form.
    pub(super) fn extend(&mut self, others: &Self, range: Range<usize>) {
        match (&mut *self, others) {
            (Self::Numbers(form, numbers), Self::Numbers(other, more)) if form == other => {
                numbers.extend_from_slice(&more[range]);
            }
            (Self::Bytes(list), Self::Numbers(form, more)) if list.len() == 0 => {
                *self = Self::Numbers(*form, more[range].to_vec());
            }
            (_, Self::Bytes(more)) => self.as_bytes().extend(more, range),
            (_, Self::Numbers(form, more)) => {
                let list = self.as_bytes();
                more[range].iter().for_each(|&number| list.push_with(|out| put(*form, number, out)));
            }
        }
    }

    /// Appends the bytes of a value.
    pub(super) fn append(&self, index: usize, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(list) => out.extend_from_slice(list.get(index)),
            Self::Numbers(form, numbers) => put(*form, numbers[index], out),
        }
    }

    /// The values as bytes, which they are from now on.
    #[inline]
    pub(super) fn as_bytes(&mut self) -> &mut StringList {
        if let Self::Numbers(form, numbers) = self {
            let mut list = StringList::default();
            numbers.iter().for_each(|&number| list.push_with(|out| put(*form, number, out)));
            *self = Self::Bytes(list);
        }
        let Self::Bytes(list) = self else { unreachable!("made above") };
        list
    }
}

fn put(form: Form, number: i64, out: &mut Vec<u8>) {
    form.append(number, out).expect("a number that its form has");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &Gathered) -> Vec<Vec<u8>> {
        let value = |index| {
            let mut out = Vec::new();
            values.append(index, &mut out);
            out
        };
        (0..values.len()).map(value).collect()
    }

    #[test]
    fn numbers_stay_numbers_among_their_like_and_become_bytes_among_others() {
        let integers = Gathered::Numbers(Form::Signed(4), vec![-1, 0, 7]);
        let texts = Gathered::Bytes([&b"ab"[..], b"", b"c"].into_iter().collect());
        let mut values = Gathered::default();
        values.extend(&integers, 0..2);
        values.extend(&integers, 2..3);
        assert_eq!((&values, values.filled()), (&integers, 3));
        let numbers = [b"\x7f\xff\xff\xff".to_vec(), b"\x80\0\0\0".to_vec(), b"\x80\0\0\x07".to_vec()];
        assert_eq!(bytes(&values), numbers);
        values.extend(&texts, 0..2);
        values.extend(&Gathered::Numbers(Form::Unsigned(1), vec![5]), 0..1);
        values.push(b"z");
        let all = [&numbers[..], &[b"ab".to_vec(), vec![], vec![5], b"z".to_vec()]].concat();
        assert_eq!((bytes(&values), values.filled()), (all, 6));
    }
}
