// SPDX-License-Identifier: Apache-2.0
//! Sets of values that rows are asked for, and which values of a vector are in them.

use std::ops::Bound as End;

use basalt_model::types::{Decimal, decimal};

use super::bound::TextBound;
use super::mask::Mask;
use super::strings::Strings;
use crate::predicate::NumberSet;

/// Ranges that are tried one after the other; of more, the one that matters is looked up.
pub(super) const RANGES_TRIED_MAX: usize = 4;
/// Numbers between the least and the greatest of a set that have a bit each in any case, and for each of its ranges.
const BITS_MAX: u64 = 1 << 18;
const BITS_MAX_OF_RANGE: u64 = 1 << 12;
/// All bits of a set, at most: 4 MiB.
const BITS_MAX_OF_SET: u64 = 1 << 25;

/// Ranges of integers, inclusive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IntSet {
    /// Ascending and apart.
    ranges: Vec<(i64, i64)>,
    /// Of many ranges that lie close together, their numbers.
    members: Option<NumberSet>,
}

impl IntSet {
    /// The numbers of any ranges.
    pub(super) fn new(all: Vec<(i64, i64)>) -> Self {
        let ranges = apart(all, |high| high.saturating_add(1));
        let members = (ranges.len() > RANGES_TRIED_MAX).then(|| members_of(&ranges)).flatten();
        Self { ranges, members }
    }

    /// The ranges, ascending and apart.
    pub(super) fn ranges(&self) -> &[(i64, i64)] {
        &self.ranges
    }

    /// Those of the ranges that have a number from `min` to `max`.
    pub(super) fn overlapping(&self, min: i64, max: i64) -> &[(i64, i64)] {
        overlapping(&self.ranges, min, max)
    }

    /// Which of the values, the low halves of numbers that fit into them, are in the set.
    pub(super) fn of_narrow(&self, values: &[u32]) -> Mask {
        if self.ranges.len() > RANGES_TRIED_MAX {
            return self.of_many(values.len(), |at| i64::from(values[at] as i32));
        }
        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let one = |&(low, high): &(i64, i64)| {
            if high < least || low > most {
                return Mask::NONE;
            }
            let (low, high) = (low.max(least) as u32, high.min(most) as u32);
            let span = high.wrapping_sub(low);
            Mask::of_tests(values.len(), |at| values[at].wrapping_sub(low) <= span)
        };
        self.ranges.iter().map(one).fold(Mask::NONE, Mask::or)
    }

    /// Which of the values are in the set.
    pub(super) fn of_wide(&self, values: &[u64]) -> Mask {
        if self.ranges.len() > RANGES_TRIED_MAX {
            return self.of_many(values.len(), |at| values[at] as i64);
        }
        let one = |&(low, high): &(i64, i64)| {
            let (low, span) = (low as u64, high.wrapping_sub(low) as u64);
            Mask::of_tests(values.len(), |at| values[at].wrapping_sub(low) <= span)
        };
        self.ranges.iter().map(one).fold(Mask::NONE, Mask::or)
    }

    #[inline(always)]
    fn of_many(&self, count: usize, value: impl Fn(usize) -> i64) -> Mask {
        if let Some(members) = &self.members {
            return Mask::of_tests(count, |at| members.has(value(at)));
        }
        let (min, max) = ((0..count).map(&value).min(), (0..count).map(&value).max());
        let (Some(min), Some(max)) = (min, max) else { return Mask::NONE };
        let ranges = self.overlapping(min, max);
        Mask::of_tests(count, |at| {
            let value = value(at);
            let behind = ranges.partition_point(|(_, high)| *high < value);
            ranges.get(behind).is_some_and(|(low, _)| *low <= value)
        })
    }
}

/// `None` if they lie too far apart.
fn members_of(ranges: &[(i64, i64)]) -> Option<NumberSet> {
    let (least, greatest) = (ranges.first()?.0, ranges.last()?.1);
    let bits_max = BITS_MAX.max(BITS_MAX_OF_RANGE * ranges.len() as u64).min(BITS_MAX_OF_SET);
    if greatest.abs_diff(least) >= bits_max {
        return None;
    }
    let mut members = NumberSet::between(least, greatest);
    ranges.iter().for_each(|&(low, high)| members.insert_range(low, high));
    Some(members)
}

/// Inclusive ranges in ascending order, those that overlap or touch as one; `behind`: the next number.
fn apart<T: Copy + Ord>(mut all: Vec<(T, T)>, behind: impl Fn(T) -> T) -> Vec<(T, T)> {
    all.sort_unstable();
    let mut ranges: Vec<(T, T)> = Vec::with_capacity(all.len());
    for (low, high) in all {
        match ranges.last_mut() {
            Some(last) if low <= behind(last.1) => last.1 = last.1.max(high),
            _ => ranges.push((low, high)),
        }
    }
    ranges
}

fn overlapping(ranges: &[(i64, i64)], min: i64, max: i64) -> &[(i64, i64)] {
    let from = ranges.partition_point(|(_, high)| *high < min);
    let to = ranges.partition_point(|(low, _)| *low <= max);
    &ranges[from..to.max(from)]
}

/// Ranges of DECIMALs of one scale, inclusive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DecimalSet {
    /// Their digits, ascending and apart.
    ranges: Vec<(i128, i128)>,
    /// As they are written, which is in the same order.
    texts: TextSet,
}

impl DecimalSet {
    /// The numbers of any ranges, which are of digits at a scale.
    pub(super) fn new(scale: i8, mut all: Vec<(i128, i128)>) -> Self {
        let most = decimal::power_of_ten(decimal::DIGITS_MAX).expect("it has that power") - 1;
        all.retain(|(low, high)| low <= high && *low <= most && *high >= -most);
        let ranges = apart(all, |high| high.saturating_add(1));
        let end = |digits: i128| {
            let mut bytes = Vec::new();
            let number = Decimal::new(digits, scale.into());
            decimal::encode(number, &mut bytes).expect("a DECIMAL has 38 digits at every scale");
            End::Included(bytes)
        };
        let low = |low: i128| if low <= -most { End::Unbounded } else { end(low) };
        let high = |high: i128| if high >= most { End::Unbounded } else { end(high) };
        let texts = TextSet::new(ranges.iter().map(|range| (low(range.0), high(range.1))).collect());
        Self { ranges, texts }
    }

    /// The same set of their bytes.
    pub(super) fn texts(&self) -> &TextSet {
        &self.texts
    }

    /// Which of the numbers are in the set.
    pub(super) fn of(&self, numbers: &[i128]) -> Mask {
        if let [(low, high)] = self.ranges[..] {
            return Mask::of_tests(numbers.len(), |at| low <= numbers[at] && numbers[at] <= high);
        }
        Mask::of_tests(numbers.len(), |at| {
            let behind = self.ranges.partition_point(|(_, high)| *high < numbers[at]);
            self.ranges.get(behind).is_some_and(|(low, _)| *low <= numbers[at])
        })
    }
}

/// Strings between two bounds.
pub(super) type TextRange = (End<Vec<u8>>, End<Vec<u8>>);

/// Ranges of strings.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextSet {
    /// In any order; they may overlap.
    Ranges(Vec<TextRange>),
    /// Single strings, ascending; more than are tried one after the other.
    Points(Vec<Vec<u8>>),
}

impl TextSet {
    pub(super) fn new(ranges: Vec<TextRange>) -> Self {
        if ranges.len() <= RANGES_TRIED_MAX || ranges.iter().any(|range| point(range).is_none()) {
            return Self::Ranges(ranges);
        }
        let mut points: Vec<Vec<u8>> = ranges.iter().filter_map(point).map(<[u8]>::to_vec).collect();
        points.sort_unstable();
        points.dedup();
        Self::Points(points)
    }

    /// True if no string between these bounds is in the set.
    pub(super) fn none_between(&self, min: &TextBound, max: &TextBound) -> bool {
        match self {
            Self::Ranges(ranges) => {
                ranges.iter().all(|(low, high)| is_below(high, min) || is_above(low, max))
            }
            Self::Points(points) => {
                let from = points.partition_point(|point| point.as_slice() < min.prefix());
                points.get(from).is_none_or(|point| is_above_point(point, max))
            }
        }
    }

    /// True if every string between these bounds is in the set, as far as one range says so.
    pub(super) fn all_between(&self, min: &TextBound, max: &TextBound) -> bool {
        match self {
            Self::Ranges(ranges) => {
                ranges.iter().any(|(low, high)| admits_from(low, min) && admits_to(high, max))
            }
            Self::Points(points) => {
                let one = min.is_whole() && max.is_whole() && min.prefix() == max.prefix();
                one && points.binary_search_by(|point| point.as_slice().cmp(min.prefix())).is_ok()
            }
        }
    }

    /// Which of the strings are in the set.
    pub(super) fn of(&self, values: &Strings) -> Mask {
        let ranges = match self {
            Self::Points(points) => {
                let has = |text: &[u8]| points.binary_search_by(|point| point.as_slice().cmp(text)).is_ok();
                return Mask::of_tests(values.len(), |at| has(values.get(at)));
            }
            Self::Ranges(ranges) => ranges,
        };
        if let [range] = &ranges[..]
            && let Some(wanted) = point(range)
        {
            return Mask::of_tests(values.len(), |at| values.get(at) == wanted);
        }
        Mask::of_tests(values.len(), |at| ranges.iter().any(|range| is_inside(values.get(at), range)))
    }
}

fn point((low, high): &TextRange) -> Option<&[u8]> {
    match (low, high) {
        (End::Included(low), End::Included(high)) if low == high => Some(low),
        _ => None,
    }
}

fn is_inside(text: &[u8], (low, high): &TextRange) -> bool {
    let from = match low {
        End::Unbounded => true,
        End::Included(low) => text >= low.as_slice(),
        End::Excluded(low) => text > low.as_slice(),
    };
    from && match high {
        End::Unbounded => true,
        End::Included(high) => text <= high.as_slice(),
        End::Excluded(high) => text < high.as_slice(),
    }
}

/// True if the smallest string lies behind the end of a range.
fn is_below(high: &End<Vec<u8>>, min: &TextBound) -> bool {
    match high {
        End::Unbounded => false,
        End::Included(high) => high.as_slice() < min.prefix(),
        // A string that goes on is larger than its front.
        End::Excluded(high) => high.as_slice() <= min.prefix(),
    }
}

/// True if the largest string lies before the start of a range.
fn is_above(low: &End<Vec<u8>>, max: &TextBound) -> bool {
    let (low, included) = match low {
        End::Unbounded => return false,
        End::Included(low) => (low.as_slice(), true),
        End::Excluded(low) => (low.as_slice(), false),
    };
    match (max.is_whole(), included) {
        (_, true) => is_above_point(low, max),
        (true, false) => low >= max.prefix(),
        (false, false) => low > max.prefix() && !low.starts_with(max.prefix()),
    }
}

/// True if the largest string lies before a string.
fn is_above_point(point: &[u8], max: &TextBound) -> bool {
    point > max.prefix() && (max.is_whole() || !point.starts_with(max.prefix()))
}

/// True if a range that begins so has the smallest string, unless it ends before.
fn admits_from(low: &End<Vec<u8>>, min: &TextBound) -> bool {
    match low {
        End::Unbounded => true,
        End::Included(low) => low.as_slice() <= min.prefix(),
        End::Excluded(low) => low.as_slice() < min.prefix(),
    }
}

/// True if a range that ends so has the largest string, unless it begins behind it.
fn admits_to(high: &End<Vec<u8>>, max: &TextBound) -> bool {
    let (high, included) = match high {
        End::Unbounded => return true,
        End::Included(high) => (high.as_slice(), true),
        End::Excluded(high) => (high.as_slice(), false),
    };
    match (max.is_whole(), included) {
        (true, true) => high >= max.prefix(),
        (true, false) => high > max.prefix(),
        (false, _) => high > max.prefix() && !high.starts_with(max.prefix()),
    }
}

#[cfg(test)]
mod tests;
