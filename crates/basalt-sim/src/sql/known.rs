// SPDX-License-Identifier: Apache-2.0
//! Differences from Phoenix that are known, each with its reason.
//!
//! A line of the list is `FILE:NUMBERS  REASON`; numbers are statements, counted from 1, as `3,7,10-12`. A line that
//! starts with `#` is a comment. A reason that begins with `not run` is that of a statement which Phoenix refuses and which
//! would change here what the rest of its file stands on.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use anyhow::{Context, Result, ensure};

/// How the reason of a statement begins that is passed over.
pub(super) const NOT_RUN: &str = "not run";

/// The list.
#[derive(Debug, Default)]
pub struct Known {
    reasons: HashMap<String, Vec<(RangeInclusive<usize>, String)>>,
}

impl Known {
    /// Reads a list.
    pub fn parse(text: &str) -> Result<Self> {
        let mut known = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = || format!("line {} of the known differences: {line}", index + 1);
            let (address, reason) = line.split_once(char::is_whitespace).with_context(place)?;
            let (file, numbers) = address.split_once(':').with_context(place)?;
            ensure!(!reason.trim().is_empty(), "{}: a reason is missing", place());
            let entries = known.reasons.entry(file.to_owned()).or_default();
            for numbers in numbers.split(',') {
                let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
                let range = first.parse().with_context(place)?..=last.parse().with_context(place)?;
                entries.push((range, reason.trim().to_owned()));
            }
        }
        Ok(known)
    }

    /// Why statement `number` of `file` differs.
    pub fn reason(&self, file: &str, number: usize) -> Option<&str> {
        let entries = self.reasons.get(file)?;
        entries.iter().find(|(range, _)| range.contains(&number)).map(|(_, reason)| reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_covers_its_statements_and_no_others() -> Result<()> {
        let known = Known::parse("# comment\nexprs:3,7-8  NULL is no key\n\nkeys:1 other")?;
        let found: Vec<_> = (1..10).filter(|&number| known.reason("exprs", number).is_some()).collect();
        assert_eq!(found, [3, 7, 8]);
        assert_eq!(known.reason("keys", 1), Some("other"));
        assert_eq!(known.reason("dml", 1), None);
        assert!(Known::parse("exprs:1").is_err());
        assert!(Known::parse("exprs:x reason").is_err());
        Ok(())
    }
}
