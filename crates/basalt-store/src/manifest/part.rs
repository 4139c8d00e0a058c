// SPDX-License-Identifier: Apache-2.0
//! Files that several regions list, each for its own rows.
//!
//! A split rewrites nothing: both daughters list the files of their parent. A file with rows on both sides is a
//! *part* in either listing: first and last row are those of the part, counts and sizes are its share, and the
//! *bound* says which rows count.
//!
//! ```text
//! before:  region [a, z)   file 7: rows b..y
//! after:   region [a, m)   file 7: rows b..l, bound [a, m)     region [m, z)   file 7: rows n..y, bound [m, z)
//! ```
//!
//! A bound may be wider than the region that lists the part, never narrower than what the region has of the file. A merge
//! puts parts together whose bounds meet; where something lies between them, that part was rewritten, and the
//! file still holds what the rewriting let go: such parts cannot be one.

use basalt_model::KeyRange;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{FileMeta, range_json};

/// Which rows of a file count, and what the whole file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePart {
    /// Rows that count.
    #[serde(with = "range_json")]
    pub bound: KeyRange,
    /// What the manifest said of the file before it was first cut.
    pub whole: Box<FileMeta>,
}

impl FileMeta {
    /// The directory of the file, relative to the database, when a region at `own` lists it.
    pub(crate) fn dir_in<'a>(&'a self, own: &'a str) -> &'a str {
        self.dir.as_deref().unwrap_or(own)
    }

    /// The same listing for a region in another directory than `own`.
    pub(crate) fn listed_from(&self, own: &str) -> Self {
        Self { dir: Some(self.dir_in(own).to_owned()), ..self.clone() }
    }

    /// What the file itself is.
    pub(crate) fn whole(&self) -> &FileMeta {
        self.part.as_ref().map_or(self, |part| &part.whole)
    }

    /// The rows that count; `None` for all of the file.
    pub(crate) fn bound(&self) -> Option<&KeyRange> {
        self.part.as_ref().map(|part| &part.bound)
    }

    /// The part of the file that lies in `range`: from `first` to `last` row, about `size_bytes` long.
    pub(crate) fn cut(&self, range: &KeyRange, first: Bytes, last: Bytes, size_bytes: u64) -> Self {
        let whole = self.whole();
        let size_bytes = size_bytes.clamp(1, whole.size_bytes.max(1));
        let share = |count: u64| {
            let part = u128::from(count) * u128::from(size_bytes);
            u64::try_from(part.div_ceil(u128::from(whole.size_bytes.max(1)))).unwrap_or(count)
        };
        let bound = self.bound().map_or_else(|| range.clone(), |bound| bound.intersect(range));
        Self {
            size_bytes,
            cells: share(whole.cells),
            rows: share(whole.rows),
            deletes: share(whole.deletes),
            raw_bytes: share(whole.raw_bytes),
            first_row: first,
            last_row: last,
            part: Some(FilePart { bound, whole: Box::new(whole.clone()) }),
            ..self.clone()
        }
    }

    /// This part and the one that follows it as one listing; `None` if their bounds do not meet.
    pub(crate) fn joined(&self, next: &Self) -> Option<Self> {
        let (before, behind) = (self.bound()?, next.bound()?);
        if before.end.as_ref() != Some(&behind.start) {
            return None;
        }
        let whole = self.whole();
        let bound = KeyRange { start: before.start.clone(), end: behind.end.clone() };
        if bound.contains(&whole.first_row) && bound.contains(&whole.last_row) {
            return Some(Self { dir: self.dir.clone(), ..whole.clone() });
        }
        let size_bytes = self.size_bytes + next.size_bytes;
        let uncut = Self { part: None, dir: self.dir.clone(), ..whole.clone() };
        Some(uncut.cut(&bound, self.first_row.clone(), next.last_row.clone(), size_bytes))
    }
}
