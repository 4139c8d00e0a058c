// SPDX-License-Identifier: Apache-2.0
//! Hints of a statement that are followed. Others give a warning.

use crate::error::nearest;

/// What the hints of a statement say.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Hints {
    /// USE_SORT_MERGE_JOIN.
    pub(crate) sort_merge_join: bool,
    /// SERIAL: one partition, so one thread as a rule.
    pub(crate) serial: bool,
    /// NO_CHILD_PARENT_JOIN_OPTIMIZATION: what a join finds on one side does not narrow the scan of the other.
    pub(crate) no_join_hints: bool,
    /// NO_CACHE: what scans read does not enter the block cache.
    pub(crate) no_cache: bool,
    /// Which indexes to read.
    pub(crate) indexes: IndexHints,
}

/// What the hints say of indexes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct IndexHints {
    /// NO_INDEX: none.
    pub(crate) none: bool,
    /// INDEX(table index ..): the first of these that can be used, for each table.
    preferred: Vec<(String, Vec<String>)>,
}

impl IndexHints {
    /// True if nothing is said of indexes.
    pub(crate) fn are_none(&self) -> bool {
        !self.none && self.preferred.is_empty()
    }

    /// The tables that are named.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.preferred.iter().map(|(table, _)| table.as_str())
    }

    /// The same with other names of tables, where `own` knows any.
    pub(crate) fn renamed(&self, own: impl Fn(&str) -> Option<String>) -> Self {
        let renamed = |(table, indexes): &(String, Vec<String>)| {
            (own(table).unwrap_or_else(|| table.clone()), indexes.clone())
        };
        Self { none: self.none, preferred: self.preferred.iter().map(renamed).collect() }
    }

    /// The indexes to prefer for a table, by name.
    pub(crate) fn preferred<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a str> {
        let of_table = self.preferred.iter().filter(move |(name, _)| name == table);
        of_table.flat_map(|(_, indexes)| indexes.iter().map(String::as_str))
    }
}

/// Hints that ask for what is done in any case: keys are skipped to, scans read no more than they need, joins come one after the other,
/// and nothing is sorted in order to be grouped.
const ALWAYS_SO: [&str; 4] = ["SKIP_SCAN", "SMALL", "NO_STAR_JOIN", "HASH_AGGREGATE"];

/// Phoenix's other hints, which name ways that there are none of here.
const OF_PHOENIX: [&str; 9] = [
    "RANGE_SCAN",
    "FORWARD_SCAN",
    "SEEK_TO_COLUMN",
    "NO_SEEK_TO_COLUMN",
    "NO_INTRA_REGION_PARALLELIZATION",
    "USE_DATA_OVER_INDEX_TABLE",
    "USE_INDEX_OVER_DATA_TABLE",
    "USE_PERSISTENT_CACHE",
    "CDC_INCLUDE",
];

/// The warning about a hint that is not followed.
pub(crate) fn not_followed(hint: &str) -> String {
    let word = hint.split('(').next().unwrap_or(hint);
    let followed = [
        "USE_SORT_MERGE_JOIN",
        "NO_INDEX",
        "SERIAL",
        "NO_CACHE",
        "NO_CHILD_PARENT_JOIN_OPTIMIZATION",
        "INDEX",
    ];
    let known = followed.into_iter().chain(ALWAYS_SO);
    match nearest(word, known) {
        Some(meant) if meant != word && !OF_PHOENIX.contains(&word) => {
            format!("there is no hint {hint}; did you mean {meant}?")
        }
        _ => format!("hint {hint} is not followed; the planner decides"),
    }
}

/// Of a session whose statement has NO_CACHE.
#[derive(Debug)]
pub(crate) struct Uncached;

impl Hints {
    /// Reads hints as written, in upper case; those that mean nothing here go to `ignored`.
    pub(crate) fn read(hints: &[String], ignored: &mut Vec<String>) -> Self {
        let mut read = Self::default();
        for hint in hints {
            match hint.as_str() {
                "USE_SORT_MERGE_JOIN" => read.sort_merge_join = true,
                "NO_INDEX" => read.indexes.none = true,
                "SERIAL" => read.serial = true,
                "NO_CACHE" => read.no_cache = true,
                "NO_CHILD_PARENT_JOIN_OPTIMIZATION" => read.no_join_hints = true,
                always if ALWAYS_SO.contains(&always) => {}
                _ => match index_hint(hint) {
                    Some(preferred) => read.indexes.preferred.push(preferred),
                    None => ignored.push(hint.clone()),
                },
            }
        }
        read
    }
}

/// `INDEX(T I J)` or `INDEX(S.T "I")`; the schema says nothing more than the statement does.
fn index_hint(hint: &str) -> Option<(String, Vec<String>)> {
    let inner = hint.strip_prefix("INDEX")?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    let name = |word: &str| word.rsplit('.').next().unwrap_or(word).trim_matches('"').to_owned();
    let words = inner.split(|ch: char| ch.is_whitespace() || ch == ',').filter(|word| !word.is_empty());
    let mut words = words.map(name);
    let table = words.next()?;
    let indexes: Vec<String> = words.collect();
    (!indexes.is_empty()).then_some((table, indexes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_a_table_and_its_indexes_in_order_of_preference() {
        let mut ignored = vec![];
        let read = |hint: &str, ignored: &mut Vec<String>| Hints::read(&[hint.to_owned()], ignored);
        let hints = read("INDEX(S.T I \"J\")", &mut ignored);
        assert_eq!(hints.indexes.preferred("T").collect::<Vec<_>>(), ["I", "J"]);
        assert_eq!(hints.indexes.preferred("U").count(), 0);
        assert!(read("NO_INDEX", &mut ignored).indexes.none);
        assert!(ignored.is_empty());
        assert!(read("SERIAL", &mut ignored).serial);
        read("SKIP_SCAN", &mut ignored);
        assert!(ignored.is_empty());
        assert_eq!(not_followed("RANGE_SCAN"), "hint RANGE_SCAN is not followed; the planner decides");
        assert_eq!(
            not_followed("USE_SORT_MREGE_JOIN"),
            "there is no hint USE_SORT_MREGE_JOIN; did you mean USE_SORT_MERGE_JOIN?"
        );
        assert_eq!(not_followed("NOINDEX"), "there is no hint NOINDEX; did you mean NO_INDEX?");
        read("INDEX(T)", &mut ignored);
        read("RANGE_SCAN", &mut ignored);
        assert_eq!(ignored, ["INDEX(T)", "RANGE_SCAN"]);
    }
}
