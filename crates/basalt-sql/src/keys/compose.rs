// SPDX-License-Identifier: Apache-2.0
//! Domains of key columns to byte ranges of row keys.
//!
//! A [`Prefix`] holds two forms of the key bytes of the columns fixed so far, because a row key drops its
//! trailing NULL columns together with their separators:
//!
//! ```text
//!            column            full (more columns follow)     bare (all following columns are NULL)
//! fixed      01                P 01                           P 01
//! VARCHAR    'x'               P 78 00                        P 78
//! VARCHAR    'x' DESC          P 87 ff                        P 87 ff
//! VARCHAR    NULL              P 00                           bare of the columns before
//! ```
//! All rows with that prefix lie from `bare` to before the end of the keys that begin with `full`.

use basalt_model::range::after_prefix;
use basalt_model::types::value::invert;
use basalt_model::{KeyColumn, KeyRange, SortOrder};
use bytes::Bytes;

use super::domain::{Domain, Interval, Limit};
use super::value::KeyValue;
use super::{Access, KeyAccess, RANGES_MAX};

/// Key bytes of the leading columns.
#[derive(Debug, Clone, Default)]
struct Prefix {
    full: Vec<u8>,
    bare: Vec<u8>,
    text: Vec<String>,
}

impl Prefix {
    fn with(&self, column: &KeyColumn, value: &KeyValue) -> Self {
        let mut full = self.full.clone();
        push_value(&mut full, column, value);
        let mut bare = full.clone();
        if column.sql_type.fixed_width().is_none() {
            match column.order {
                SortOrder::Asc => full.push(0x00),
                SortOrder::Desc => {
                    full.push(0xff);
                    bare.push(0xff);
                }
            }
        }
        Self { full, bare, text: self.text_with(&value.text) }
    }

    fn with_null(&self) -> Self {
        let mut full = self.full.clone();
        full.push(0x00);
        Self { full, bare: self.bare.clone(), text: self.text_with("NULL") }
    }

    fn text_with(&self, text: &str) -> Vec<String> {
        self.text.iter().cloned().chain([text.to_owned()]).collect()
    }

    /// Every row that begins with these columns.
    fn range(&self) -> KeyRange {
        KeyRange { start: self.bare.clone().into(), end: after_prefix(&self.full) }
    }
}

fn push_value(key: &mut Vec<u8>, column: &KeyColumn, value: &KeyValue) {
    let start = key.len();
    key.extend_from_slice(&value.bytes);
    if column.order == SortOrder::Desc {
        invert(column.sql_type, &mut key[start..]);
    }
}

/// What the domains leave: whole keys, or ranges.
#[derive(Debug, Clone)]
pub(super) struct Composed {
    /// Sorted and disjoint.
    ranges: Vec<KeyRange>,
    /// The whole keys, when every column is fixed.
    keys: Option<Vec<Bytes>>,
    first: String,
    last: String,
}

impl Composed {
    /// Multiplies the domains out; `domains[i]` belongs to `key[i]`, `None` for no condition.
    pub(super) fn new(key: &[KeyColumn], domains: &[Option<Domain>]) -> Self {
        let mut prefixes = vec![Prefix::default()];
        for (index, (column, domain)) in key.iter().zip(domains).enumerate() {
            let Some(domain) = domain else { return Self::from_prefixes(&prefixes, index == 0) };
            let is_last = index + 1 == key.len();
            if !domain.is_points() || prefixes.len().saturating_mul(domain.len()) > RANGES_MAX {
                return Self::from_intervals(&prefixes, column, domain, is_last);
            }
            prefixes = prefixes.iter().flat_map(|prefix| extend(prefix, column, domain)).collect();
        }
        Self::from_keys(prefixes)
    }

    fn from_keys(prefixes: Vec<Prefix>) -> Self {
        let first = prefixes.first().map(|prefix| bound(&prefix.text, None)).unwrap_or_default();
        let last = prefixes.last().map(|prefix| bound(&prefix.text, None)).unwrap_or_default();
        let mut keys: Vec<Bytes> = prefixes
            .into_iter()
            .filter(|prefix| !prefix.bare.is_empty())
            .map(|prefix| prefix.bare.into())
            .collect();
        keys.sort();
        keys.dedup();
        let ranges = keys.iter().cloned().map(KeyRange::point).collect();
        Self { ranges, keys: Some(keys), first, last }
    }

    fn from_prefixes(prefixes: &[Prefix], all: bool) -> Self {
        if all {
            return Self {
                ranges: vec![KeyRange::all()],
                keys: None,
                first: String::new(),
                last: String::new(),
            };
        }
        let text =
            |prefix: Option<&Prefix>| prefix.map(|prefix| bound(&prefix.text, None)).unwrap_or_default();
        let ranges = normalize(prefixes.iter().map(Prefix::range).collect());
        Self { ranges, keys: None, first: text(prefixes.first()), last: text(prefixes.last()) }
    }

    fn from_intervals(prefixes: &[Prefix], column: &KeyColumn, domain: &Domain, is_last: bool) -> Self {
        let envelope;
        let domain = if prefixes.len().saturating_mul(domain.len()) > RANGES_MAX {
            envelope = domain.envelope();
            &envelope
        } else {
            domain
        };
        let mut ranges = vec![];
        for prefix in prefixes {
            if domain.null {
                ranges.push(prefix.with_null().range());
            }
            ranges.extend(
                domain.intervals.iter().map(|interval| interval_range(prefix, column, interval, is_last)),
            );
        }
        let (first, last) = interval_bounds(prefixes, column, domain);
        Self { ranges: normalize(ranges), keys: None, first, last }
    }

    /// Both conditions hold.
    pub(super) fn intersect(self, other: Self) -> Self {
        if other.keys.is_some() && self.keys.is_none() {
            return other.intersect(self);
        }
        let mut ranges = vec![];
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            let both = left.intersect(right);
            if !both.is_empty() {
                ranges.push(both);
            }
            let left_ends_first = match (&left.end, &right.end) {
                (Some(left), Some(right)) => left <= right,
                (Some(_), None) => true,
                (None, _) => false,
            };
            if left_ends_first {
                a.next();
            } else {
                b.next();
            }
        }
        let keys = self.keys.map(|keys| {
            keys.into_iter().filter(|key| other.ranges.iter().any(|range| range.contains(key))).collect()
        });
        let full = self.first.is_empty();
        let (first, last) = if full { (other.first, other.last) } else { (self.first, self.last) };
        Self { ranges, keys, first, last }
    }

    /// One of the conditions holds.
    pub(super) fn union(self, other: Self) -> Self {
        let keys = match (self.keys, other.keys) {
            (Some(mut keys), Some(more)) => {
                keys.extend(more);
                keys.sort();
                keys.dedup();
                Some(keys)
            }
            _ => None,
        };
        let starts_first =
            self.ranges.first().map(|range| &range.start) <= other.ranges.first().map(|range| &range.start);
        let ends_last =
            match (self.ranges.last().map(|range| &range.end), other.ranges.last().map(|range| &range.end)) {
                (Some(None), _) => true,
                (_, Some(None)) => false,
                (mine, theirs) => mine >= theirs,
            };
        let first = if starts_first { self.first } else { other.first };
        let last = if ends_last { self.last } else { other.last };
        let mut ranges = self.ranges;
        ranges.extend(other.ranges);
        // Whole keys stay apart, so that they are looked up one by one.
        let ranges = if let Some(keys) = &keys {
            keys.iter().cloned().map(KeyRange::point).collect()
        } else {
            normalize(ranges)
        };
        Self { ranges, keys, first, last }
    }

    /// No condition at all.
    pub(super) fn is_full(&self) -> bool {
        self.ranges.len() == 1 && self.ranges[0] == KeyRange::all()
    }

    pub(super) fn into_access(self) -> KeyAccess {
        let bounds = if self.first == self.last {
            self.first.clone()
        } else {
            format!("{} - {}", self.first, self.last)
        };
        let access = match self.keys {
            _ if self.ranges.is_empty() => Access::Nothing,
            Some(keys) if keys.len() <= RANGES_MAX => Access::Points(keys),
            _ if self.is_full() => return KeyAccess::full(),
            _ => Access::Ranges(self.ranges),
        };
        KeyAccess { access, bounds }
    }
}

/// The prefix with each member of the domain, in key order.
fn extend(prefix: &Prefix, column: &KeyColumn, domain: &Domain) -> Vec<Prefix> {
    let mut longer: Vec<_> =
        domain.intervals.iter().filter_map(Interval::point).map(|value| prefix.with(column, value)).collect();
    if column.order == SortOrder::Desc {
        longer.reverse();
    }
    if domain.null {
        longer.insert(0, prefix.with_null());
    }
    longer
}

/// The rows whose next column lies in the interval.
fn interval_range(prefix: &Prefix, column: &KeyColumn, interval: &Interval, is_last: bool) -> KeyRange {
    let edge = |value: &KeyValue| edge_keys(prefix, column, value, is_last);
    let all_end = after_prefix(&prefix.full);
    let (near, far) = match column.order {
        SortOrder::Asc => (&interval.low, &interval.high),
        SortOrder::Desc => (&interval.high, &interval.low),
    };
    let start = match near {
        Limit::None => Some(prefix.full.clone().into()),
        Limit::Inclusive(value) => Some(edge(value).0),
        Limit::Exclusive(value) => edge(value).1,
    };
    let end = match far {
        Limit::None => all_end,
        Limit::Inclusive(value) => edge(value).1.or(all_end),
        Limit::Exclusive(value) => Some(edge(value).0),
    };
    match start {
        Some(start) => KeyRange { start, end },
        // The value is the last of all keys: nothing follows it.
        None => KeyRange { start: prefix.full.clone().into(), end: Some(prefix.full.clone().into()) },
    }
}

/// First key whose column has the value, and the first key behind all that have it.
fn edge_keys(prefix: &Prefix, column: &KeyColumn, value: &KeyValue, is_last: bool) -> (Bytes, Option<Bytes>) {
    let mut first = prefix.full.clone();
    push_value(&mut first, column, value);
    let behind = match (column.sql_type.fixed_width(), column.order) {
        (Some(_), _) => after_prefix(&first),
        (None, SortOrder::Desc) => {
            first.push(0xff);
            after_prefix(&first)
        }
        (None, SortOrder::Asc) => {
            // The value ends the key, or its separator 00 follows; as last column only the former.
            let mut behind = first.clone();
            behind.push(if is_last { 0x00 } else { 0x01 });
            Some(behind.into())
        }
    };
    (first.into(), behind)
}

/// Sorts, and unites what overlaps or touches.
pub(super) fn normalize(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by(|a, b| a.start.cmp(&b.start));
    let mut united: Vec<KeyRange> = vec![];
    for range in ranges {
        match united.last_mut() {
            Some(last) if last.end.as_ref().is_none_or(|end| range.start <= *end) => {
                if last.end.is_some() && (range.end.is_none() || range.end > last.end) {
                    last.end = range.end;
                }
            }
            _ => united.push(range),
        }
    }
    united
}

fn interval_bounds(prefixes: &[Prefix], column: &KeyColumn, domain: &Domain) -> (String, String) {
    let text = |limit: Option<&Limit>| match limit {
        Some(Limit::Inclusive(value)) => value.text.clone(),
        Some(Limit::Exclusive(value)) => format!("{} excluded", value.text),
        _ => "*".to_owned(),
    };
    let (mut near, mut far) = (
        text(domain.intervals.first().map(|interval| &interval.low)),
        text(domain.intervals.last().map(|interval| &interval.high)),
    );
    if column.order == SortOrder::Desc {
        std::mem::swap(&mut near, &mut far);
    }
    if domain.null {
        near = "NULL".to_owned();
        if domain.intervals.is_empty() {
            far.clone_from(&near);
        }
    }
    let of = |prefix: Option<&Prefix>, last: String| {
        prefix.map(|prefix| bound(&prefix.text, Some(last))).unwrap_or_default()
    };
    (of(prefixes.first(), near), of(prefixes.last(), far))
}

fn bound(columns: &[String], last: Option<String>) -> String {
    let all: Vec<_> = columns.iter().cloned().chain(last).collect();
    format!("[{}]", all.join(","))
}
