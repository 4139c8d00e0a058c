// SPDX-License-Identifier: Apache-2.0
//! Filters of filters.

use basalt_model::CellRef;

use super::{CellFilter, FilterFault, Row, SeekKey, Seen, ValueForm, Verdict, WholeRow};
use crate::{Error, Result};

type Member = Box<dyn CellFilter>;

/// Cells that pass every member. A member sees only the cells that those before it let pass; seeking ones see
/// all of them, so that the farthest seek wins.
pub(super) struct All {
    members: Vec<Member>,
    seeking: Vec<usize>,
    reversed: bool,
}

impl All {
    pub(super) fn new(members: Vec<Member>, reversed: bool) -> Self {
        Self { members, seeking: Vec::new(), reversed }
    }
}

/// The verdict of a list that had `so_far` when its next member says `next`: what goes farther.
fn both(so_far: Verdict, next: Verdict) -> Verdict {
    use Verdict::*;
    let step = |verdict| match verdict {
        Include | Skip => 0,
        IncludeNextColumn | NextColumn => 1,
        IncludeNextRow | NextRow => 2,
        Seek => 3,
    };
    let included = so_far.includes() && next.includes();
    match (step(so_far).max(step(next)), included) {
        (0, true) => Include,
        (0, false) => Skip,
        (1, true) => IncludeNextColumn,
        (1, false) => NextColumn,
        (2, true) => IncludeNextRow,
        (2, false) => NextRow,
        _ => Seek,
    }
}

impl CellFilter for All {
    fn reset(&mut self) {
        self.members.iter_mut().for_each(|member| member.reset());
        self.seeking.clear();
    }

    fn all_remaining(&self) -> bool {
        self.members.iter().any(|member| member.all_remaining())
    }

    fn drops_row_key(&mut self, first: &CellRef<'_>) -> Result<bool> {
        let (mut dropped, mut seeker_passed) = (false, false);
        for member in &mut self.members {
            if member.all_remaining() {
                return Ok(true);
            }
            if member.drops_row_key(first)? {
                dropped = true;
            } else if member.may_seek() {
                seeker_passed = true;
            }
        }
        // A member that can say where to go on must get the chance to.
        Ok(dropped && !seeker_passed)
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        self.seeking.clear();
        let mut verdict = Verdict::Include;
        let mut at = 0;
        while at < self.members.len() {
            let member = &mut self.members[at];
            if member.all_remaining() {
                verdict = Verdict::NextRow;
                break;
            }
            let next = member.check(cell)?;
            if next == Verdict::Seek {
                self.seeking.push(at);
            }
            verdict = both(verdict, next);
            if !verdict.includes() {
                break;
            }
            at += 1;
        }
        for later in at + 1..self.members.len() {
            let member = &mut self.members[later];
            if member.may_seek() && member.check(cell)? == Verdict::Seek {
                self.seeking.push(later);
            }
        }
        Ok(if self.seeking.is_empty() { verdict } else { Verdict::Seek })
    }

    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        let mut farthest: Option<SeekKey> = None;
        for &at in &self.seeking {
            if self.members[at].all_remaining() {
                continue;
            }
            let hint = self.members[at].hint(cell)?;
            farthest = match (farthest, hint) {
                (Some(_), None) => return Err(Error::Filter(FilterFault::NoFurtherRow)),
                (Some(farthest), Some(hint)) if self.reversed => Some(farthest.min(hint)),
                (Some(farthest), Some(hint)) => Some(farthest.max(hint)),
                (None, hint) => hint,
            };
        }
        Ok(farthest)
    }

    fn value_form(&self, form: ValueForm) -> ValueForm {
        self.members.iter().fold(form, |form, member| member.value_form(form))
    }

    fn edit_row(&mut self, row: &mut Row) {
        self.members.iter_mut().for_each(|member| member.edit_row(row));
    }

    fn drops_row(&mut self) -> bool {
        self.members.iter_mut().any(|member| member.drops_row())
    }

    fn needs_whole_rows(&self) -> bool {
        self.members.iter().any(|member| member.needs_whole_rows())
    }

    fn forgets_rows(&self) -> bool {
        self.members.iter().all(|member| member.forgets_rows())
    }

    /// Members behind one that hides cells do not see the row as it is.
    fn leaves_out(&self, row: &WholeRow<'_>) -> Result<bool> {
        for member in &self.members {
            if member.leaves_out(row)? {
                return Ok(true);
            }
            if member.hides_cells() {
                break;
            }
        }
        Ok(false)
    }

    fn hides_cells(&self) -> bool {
        self.members.iter().any(|member| member.hides_cells())
    }

    fn needs_family(&self, family: &[u8]) -> bool {
        self.members.is_empty() || self.members.iter().any(|member| member.needs_family(family))
    }
}

/// Cells that pass at least one member. The members are alternatives: one that is done with a column or
/// family is not asked about it again.
pub(super) struct Any {
    members: Vec<Alternative>,
    reversed: bool,
}

struct Alternative {
    filter: Member,
    /// What it said last, and of which cell.
    last: Option<(Verdict, OwnedCell)>,
    included: bool,
}

/// Everything of a cell but its value.
struct OwnedCell {
    row: Vec<u8>,
    family: Vec<u8>,
    qualifier: Vec<u8>,
    timestamp: i64,
    cell_type: basalt_model::CellType,
}

impl OwnedCell {
    fn new(cell: &CellRef<'_>) -> Self {
        Self {
            row: cell.row.to_vec(),
            family: cell.family.to_vec(),
            qualifier: cell.qualifier.to_vec(),
            timestamp: cell.timestamp,
            cell_type: cell.cell_type,
        }
    }

    fn borrow(&self) -> CellRef<'_> {
        CellRef {
            row: &self.row,
            family: &self.family,
            qualifier: &self.qualifier,
            timestamp: self.timestamp,
            cell_type: self.cell_type,
            value: b"",
            seq: basalt_model::Seq(0),
            tags: b"",
        }
    }
}

impl Alternative {
    /// The verdict, from what was said of an earlier cell if that still holds.
    fn check(&mut self, cell: &Seen<'_>, reversed: bool) -> Result<Verdict> {
        let verdict = match self.still_holds(cell, reversed)? {
            Some(verdict) => verdict,
            None => self.filter.check(cell)?,
        };
        self.included = verdict.includes();
        self.last = match verdict {
            Verdict::Include | Verdict::Skip => None,
            _ => Some((verdict, OwnedCell::new(cell))),
        };
        Ok(verdict)
    }

    fn still_holds(&mut self, cell: &CellRef<'_>, reversed: bool) -> Result<Option<Verdict>> {
        let Some((verdict, before)) = &self.last else { return Ok(None) };
        let same_family = before.family == cell.family;
        Ok(match verdict {
            Verdict::Include | Verdict::Skip => None,
            Verdict::Seek => {
                let hint = self.filter.hint(&before.borrow())?;
                let ahead = hint.is_some_and(|hint| {
                    let order = hint.compare_to(cell);
                    if reversed { order.is_lt() } else { order.is_gt() }
                });
                ahead.then_some(Verdict::Seek)
            }
            Verdict::NextColumn | Verdict::IncludeNextColumn => {
                (same_family && before.qualifier == cell.qualifier).then_some(Verdict::NextColumn)
            }
            Verdict::NextRow | Verdict::IncludeNextRow => same_family.then_some(Verdict::NextRow),
        })
    }
}

impl Any {
    pub(super) fn new(members: Vec<Member>, reversed: bool) -> Self {
        let alternative = |filter| Alternative { filter, last: None, included: false };
        Self { members: members.into_iter().map(alternative).collect(), reversed }
    }
}

/// The verdict of a list that had `so_far` when its next member says `next`: what goes least far.
fn either(so_far: Verdict, next: Verdict) -> Verdict {
    use Verdict::*;
    match next {
        Include => Include,
        IncludeNextColumn => match so_far {
            Include | Skip | Seek => Include,
            _ => IncludeNextColumn,
        },
        IncludeNextRow => match so_far {
            Include | Skip | Seek => Include,
            IncludeNextColumn | NextColumn => IncludeNextColumn,
            IncludeNextRow | NextRow => IncludeNextRow,
        },
        Skip => {
            if so_far.includes() {
                Include
            } else {
                Skip
            }
        }
        NextColumn => match so_far {
            Include => Include,
            NextColumn | NextRow => NextColumn,
            IncludeNextColumn | IncludeNextRow => IncludeNextColumn,
            Skip | Seek => Skip,
        },
        NextRow => match so_far {
            Skip | Seek => Skip,
            other => other,
        },
        Seek => match so_far {
            Seek => Seek,
            other if other.includes() => Include,
            _ => Skip,
        },
    }
}

impl CellFilter for Any {
    fn reset(&mut self) {
        for member in &mut self.members {
            member.filter.reset();
            (member.last, member.included) = (None, false);
        }
    }

    fn all_remaining(&self) -> bool {
        !self.members.is_empty() && self.members.iter().all(|member| member.filter.all_remaining())
    }

    fn drops_row_key(&mut self, first: &CellRef<'_>) -> Result<bool> {
        let mut dropped = !self.members.is_empty();
        // All are asked, because some take note of the row.
        for member in &mut self.members {
            if !member.filter.all_remaining() && !member.filter.drops_row_key(first)? {
                dropped = false;
            }
        }
        Ok(dropped)
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        if self.members.is_empty() {
            return Ok(Verdict::Include);
        }
        let mut verdict = None;
        for member in &mut self.members {
            member.included = false;
            if member.filter.all_remaining() {
                continue;
            }
            let next = member.check(cell, self.reversed)?;
            verdict = Some(verdict.map_or(next, |so_far| either(so_far, next)));
        }
        Ok(verdict.unwrap_or(Verdict::Skip))
    }

    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        let mut nearest: Option<SeekKey> = None;
        for member in self.members.iter_mut().filter(|member| !member.filter.all_remaining()) {
            let Some(hint) = member.filter.hint(cell)? else { return Ok(None) };
            nearest = Some(match nearest {
                None => hint,
                Some(nearest) if self.reversed => nearest.max(hint),
                Some(nearest) => nearest.min(hint),
            });
        }
        Ok(nearest)
    }

    fn value_form(&self, form: ValueForm) -> ValueForm {
        let included = self.members.iter().filter(|member| member.included);
        included.fold(form, |form, member| member.filter.value_form(form))
    }

    fn edit_row(&mut self, row: &mut Row) {
        self.members.iter_mut().for_each(|member| member.filter.edit_row(row));
    }

    fn drops_row(&mut self) -> bool {
        !self.members.is_empty() && self.members.iter_mut().all(|member| member.filter.drops_row())
    }

    fn needs_whole_rows(&self) -> bool {
        self.members.iter().any(|member| member.filter.needs_whole_rows())
    }

    fn needs_family(&self, family: &[u8]) -> bool {
        self.members.is_empty() || self.members.iter().any(|member| member.filter.needs_family(family))
    }
}

/// Leaves out a row if the filter leaves out any of its cells.
pub(super) struct Skip {
    filter: Member,
    dropped: bool,
}

impl Skip {
    pub(super) fn new(filter: Member) -> Self {
        Self { filter, dropped: false }
    }
}

impl CellFilter for Skip {
    fn reset(&mut self) {
        self.filter.reset();
        self.dropped = false;
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        let verdict = self.filter.check(cell)?;
        self.dropped |= verdict != Verdict::Include;
        Ok(verdict)
    }

    fn value_form(&self, form: ValueForm) -> ValueForm {
        self.filter.value_form(form)
    }

    fn drops_row(&mut self) -> bool {
        self.dropped
    }

    fn needs_whole_rows(&self) -> bool {
        true
    }

    fn needs_family(&self, family: &[u8]) -> bool {
        self.filter.needs_family(family)
    }
}

/// Ends the scan as soon as the filter leaves something out.
pub(super) struct WhileMatch {
    filter: Member,
    done: bool,
}

impl WhileMatch {
    pub(super) fn new(filter: Member) -> Self {
        Self { filter, done: false }
    }
}

impl CellFilter for WhileMatch {
    fn reset(&mut self) {
        self.filter.reset();
    }

    fn all_remaining(&self) -> bool {
        self.done || self.filter.all_remaining()
    }

    fn drops_row_key(&mut self, first: &CellRef<'_>) -> Result<bool> {
        if self.all_remaining() {
            return Ok(true);
        }
        let dropped = self.filter.drops_row_key(first)?;
        self.done |= dropped;
        Ok(dropped)
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        let verdict = self.filter.check(cell)?;
        self.done |= verdict != Verdict::Include;
        Ok(verdict)
    }

    fn value_form(&self, form: ValueForm) -> ValueForm {
        self.filter.value_form(form)
    }

    fn drops_row(&mut self) -> bool {
        let dropped = self.filter.drops_row();
        self.done |= dropped;
        dropped
    }

    fn needs_whole_rows(&self) -> bool {
        true
    }

    fn needs_family(&self, family: &[u8]) -> bool {
        self.filter.needs_family(family)
    }
}
