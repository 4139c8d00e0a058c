// SPDX-License-Identifier: Apache-2.0
//! The values that a predicate leaves to one key column: sorted, disjoint intervals of encoded values, and
//! whether NULL is among them.
//!
//! Values are compared by their ascending encoded bytes, whose order is the order of the values; a DESC column
//! turns the intervals round only when key ranges are composed.

use std::cmp::Ordering;

use super::value::KeyValue;

/// One end of an interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Limit {
    /// No limit on this side.
    None,
    /// The value itself belongs to the interval.
    Inclusive(KeyValue),
    /// The value itself does not.
    Exclusive(KeyValue),
}

impl Limit {
    fn value(&self) -> Option<&KeyValue> {
        match self {
            Limit::None => None,
            Limit::Inclusive(value) | Limit::Exclusive(value) => Some(value),
        }
    }
}

/// A non-empty interval of values; NULL is never in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Interval {
    /// Lower end.
    pub(crate) low: Limit,
    /// Upper end.
    pub(crate) high: Limit,
}

impl Interval {
    /// Every value but NULL.
    pub(crate) fn all() -> Self {
        Self { low: Limit::None, high: Limit::None }
    }

    /// The value if there is only one.
    pub(crate) fn point(&self) -> Option<&KeyValue> {
        match (&self.low, &self.high) {
            (Limit::Inclusive(low), Limit::Inclusive(high)) if low.bytes == high.bytes => Some(low),
            _ => None,
        }
    }

    fn intersect(&self, other: &Self) -> Option<Self> {
        let low = if compare_low(&self.low, &other.low).is_ge() { &self.low } else { &other.low };
        let high = if compare_high(&self.high, &other.high).is_le() { &self.high } else { &other.high };
        let interval = Self { low: low.clone(), high: high.clone() };
        (!interval.is_empty()).then_some(interval)
    }

    fn is_empty(&self) -> bool {
        let (Some(low), Some(high)) = (self.low.value(), self.high.value()) else { return false };
        match low.bytes.cmp(&high.bytes) {
            Ordering::Less => false,
            Ordering::Equal => !matches!((&self.low, &self.high), (Limit::Inclusive(_), Limit::Inclusive(_))),
            Ordering::Greater => true,
        }
    }

    /// True if `next`, which does not begin before this one, overlaps it or begins where it ends.
    fn touches(&self, next: &Self) -> bool {
        let (Some(high), Some(low)) = (self.high.value(), next.low.value()) else { return true };
        match low.bytes.cmp(&high.bytes) {
            Ordering::Less => true,
            Ordering::Equal => !matches!((&self.high, &next.low), (Limit::Exclusive(_), Limit::Exclusive(_))),
            Ordering::Greater => false,
        }
    }
}

fn compare_low(a: &Limit, b: &Limit) -> Ordering {
    let key = |limit: &Limit| match limit {
        Limit::None => None,
        Limit::Inclusive(value) => Some((value.bytes.clone(), 0)),
        Limit::Exclusive(value) => Some((value.bytes.clone(), 1)),
    };
    key(a).cmp(&key(b))
}

fn compare_high(a: &Limit, b: &Limit) -> Ordering {
    match (a, b) {
        (Limit::None, Limit::None) => Ordering::Equal,
        (Limit::None, _) => Ordering::Greater,
        (_, Limit::None) => Ordering::Less,
        (Limit::Inclusive(a), Limit::Exclusive(b)) if a.bytes == b.bytes => Ordering::Greater,
        (Limit::Exclusive(a), Limit::Inclusive(b)) if a.bytes == b.bytes => Ordering::Less,
        (Limit::Inclusive(a) | Limit::Exclusive(a), Limit::Inclusive(b) | Limit::Exclusive(b)) => {
            a.bytes.cmp(&b.bytes)
        }
    }
}

/// A set of values of one key column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Domain {
    /// NULL belongs to the set.
    pub(crate) null: bool,
    /// Sorted, disjoint, non-empty.
    pub(crate) intervals: Vec<Interval>,
}

impl Domain {
    /// No value at all.
    pub(crate) fn empty() -> Self {
        Self { null: false, intervals: vec![] }
    }

    /// NULL alone.
    pub(crate) fn only_null() -> Self {
        Self { null: true, intervals: vec![] }
    }

    /// One interval.
    pub(crate) fn of(low: Limit, high: Limit) -> Self {
        let interval = Interval { low, high };
        if interval.is_empty() { Self::empty() } else { Self { null: false, intervals: vec![interval] } }
    }

    /// One value.
    pub(crate) fn point(value: KeyValue) -> Self {
        Self::of(Limit::Inclusive(value.clone()), Limit::Inclusive(value))
    }

    /// Some values.
    pub(crate) fn points(values: impl IntoIterator<Item = KeyValue>) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by(|a, b| a.bytes.cmp(&b.bytes));
        values.dedup_by(|a, b| a.bytes == b.bytes);
        let interval = |value: KeyValue| Interval {
            low: Limit::Inclusive(value.clone()),
            high: Limit::Inclusive(value),
        };
        Self { null: false, intervals: values.into_iter().map(interval).collect() }
    }

    /// True if nothing belongs to the set.
    pub(crate) fn is_empty(&self) -> bool {
        !self.null && self.intervals.is_empty()
    }

    /// What belongs to both.
    pub(crate) fn intersect(&self, other: &Self) -> Self {
        let mut intervals = vec![];
        let (mut a, mut b) = (self.intervals.iter().peekable(), other.intervals.iter().peekable());
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            intervals.extend(left.intersect(right));
            if compare_high(&left.high, &right.high).is_le() {
                a.next();
            } else {
                b.next();
            }
        }
        Self { null: self.null && other.null, intervals }
    }

    /// What belongs to one of them.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut all: Vec<_> = self.intervals.iter().chain(&other.intervals).cloned().collect();
        all.sort_by(|a, b| compare_low(&a.low, &b.low));
        let mut intervals: Vec<Interval> = vec![];
        for next in all {
            match intervals.last_mut() {
                Some(last) if last.touches(&next) => {
                    if compare_high(&next.high, &last.high).is_gt() {
                        last.high = next.high;
                    }
                }
                _ => intervals.push(next),
            }
        }
        Self { null: self.null || other.null, intervals }
    }

    /// One interval from the first to the last value.
    pub(crate) fn envelope(&self) -> Self {
        let intervals = match (self.intervals.first(), self.intervals.last()) {
            (Some(first), Some(last)) => vec![Interval { low: first.low.clone(), high: last.high.clone() }],
            _ => vec![],
        };
        Self { null: self.null, intervals }
    }

    /// True if every member is a single value (or NULL).
    pub(crate) fn is_points(&self) -> bool {
        self.intervals.iter().all(|interval| interval.point().is_some())
    }

    /// Number of members when [`Self::is_points`].
    pub(crate) fn len(&self) -> usize {
        self.intervals.len() + usize::from(self.null)
    }
}
