// SPDX-License-Identifier: Apache-2.0
//! Filters by the value of one column.

use std::collections::BTreeSet;

use basalt_model::filter::{Comparator, CompareOp, SingleColumnValue};
use bytes::Bytes;

use super::compare::Comparison;
use super::{CellFilter, Row, Seen, Verdict, WholeRow};
use crate::Result;

/// Whole rows by the value of one column.
pub(super) struct SingleColumn {
    family: Bytes,
    qualifier: Bytes,
    comparison: Comparison,
    if_missing: bool,
    latest_only: bool,
    exclude: bool,
    found: bool,
    matched: bool,
}

impl SingleColumn {
    pub(super) fn new(of: &SingleColumnValue) -> Result<Self> {
        Ok(Self {
            family: of.family.clone(),
            qualifier: of.qualifier.clone(),
            comparison: Comparison::new(of.op, &of.comparator)?,
            if_missing: of.filter_if_missing,
            latest_only: of.latest_version_only,
            exclude: of.exclude,
            found: false,
            matched: false,
        })
    }
}

impl CellFilter for SingleColumn {
    fn reset(&mut self) {
        (self.found, self.matched) = (false, false);
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        if self.matched {
            return Ok(Verdict::Include);
        }
        if self.latest_only && self.found {
            return Ok(Verdict::NextRow);
        }
        if cell.family != self.family || cell.qualifier != self.qualifier {
            return Ok(Verdict::Include);
        }
        self.found = true;
        if !self.comparison.keeps_value(cell)? {
            return Ok(if self.latest_only { Verdict::NextRow } else { Verdict::Include });
        }
        self.matched = true;
        Ok(Verdict::Include)
    }

    fn edit_row(&mut self, row: &mut Row) {
        if self.exclude {
            row.retain(|cell| cell.family != self.family || cell.qualifier != self.qualifier);
        }
    }

    fn drops_row(&mut self) -> bool {
        if self.found { !self.matched } else { self.if_missing }
    }

    fn needs_whole_rows(&self) -> bool {
        true
    }

    fn needs_family(&self, family: &[u8]) -> bool {
        !self.if_missing || family == self.family
    }

    fn forgets_rows(&self) -> bool {
        self.comparison.judges_all()
    }

    fn leaves_out(&self, row: &WholeRow<'_>) -> Result<bool> {
        match row.cell(&self.family, &self.qualifier) {
            Some(cell) => Ok(!self.comparison.keeps_value(&cell)?),
            None => Ok(self.if_missing),
        }
    }

    fn hides_cells(&self) -> bool {
        false
    }
}

/// Cells of one column only, by value.
pub(super) struct OneColumn {
    family: Bytes,
    qualifier: Bytes,
    comparison: Comparison,
    found: bool,
}

impl OneColumn {
    pub(super) fn new(
        family: Bytes,
        qualifier: Bytes,
        op: CompareOp,
        comparator: &Comparator,
    ) -> Result<Self> {
        Ok(Self { family, qualifier, comparison: Comparison::new(op, comparator)?, found: false })
    }
}

impl CellFilter for OneColumn {
    fn reset(&mut self) {
        self.found = false;
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        if cell.family != self.family || cell.qualifier != self.qualifier {
            return Ok(if self.found { Verdict::NextRow } else { Verdict::NextColumn });
        }
        self.found = true;
        Ok(if self.comparison.keeps_value(cell)? { Verdict::Include } else { Verdict::Skip })
    }

    fn needs_family(&self, family: &[u8]) -> bool {
        family == self.family
    }

    fn forgets_rows(&self) -> bool {
        self.comparison.judges_all()
    }

    fn leaves_out(&self, row: &WholeRow<'_>) -> Result<bool> {
        match row.cell(&self.family, &self.qualifier) {
            Some(cell) => Ok(!self.comparison.keeps_value(&cell)?),
            None => Ok(true),
        }
    }
}

/// Cells with the timestamp of a cell of a reference column.
pub(super) struct Dependent {
    family: Bytes,
    qualifier: Bytes,
    drop: bool,
    test: Option<Comparison>,
    timestamps: BTreeSet<i64>,
}

impl Dependent {
    pub(super) fn new(
        family: Bytes,
        qualifier: Bytes,
        drop: bool,
        test: Option<&(CompareOp, Comparator)>,
    ) -> Result<Self> {
        let test = test.map(|(op, comparator)| Comparison::new(*op, comparator)).transpose()?;
        Ok(Self { family, qualifier, drop, test, timestamps: BTreeSet::new() })
    }
}

impl CellFilter for Dependent {
    fn reset(&mut self) {
        self.timestamps.clear();
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        if cell.family != self.family || cell.qualifier != self.qualifier {
            return Ok(Verdict::Include);
        }
        if let Some(test) = &self.test
            && !test.keeps_value(cell)?
        {
            return Ok(Verdict::Skip);
        }
        self.timestamps.insert(cell.timestamp);
        Ok(if self.drop { Verdict::Skip } else { Verdict::Include })
    }

    fn edit_row(&mut self, row: &mut Row) {
        row.retain(|cell| self.timestamps.contains(&cell.timestamp));
    }

    fn needs_whole_rows(&self) -> bool {
        true
    }
}
