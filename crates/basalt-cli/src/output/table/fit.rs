// SPDX-License-Identifier: Apache-2.0
//! Which columns of a table are drawn, and how wide, so that the box fits the terminal.
//!
//! 1. If everything fits, everything is drawn as it is.
//! 2. Else the widest columns are narrowed, the widest first, but none below [`NARROW`].
//! 3. If that is not enough, columns in the middle give way to one `…`; first and last columns alternate in being kept,
//!    because keys stand first and what was computed stands last.

/// No column is narrowed below this to make room for others.
const NARROW: usize = 12;
/// Width of the column that stands for the ones left out.
const GAP: usize = 1;

/// The columns drawn, from left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    slots: Vec<Slot>,
    /// True if cells are cut to the width of their column.
    cuts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Column { index: usize, width: usize },
    Gap,
}

impl Slot {
    fn width(self) -> usize {
        match self {
            Self::Column { width, .. } => width,
            Self::Gap => GAP,
        }
    }
}

/// Fits columns of these natural widths into `total`.
pub(super) fn fit(natural: &[usize], total: Option<usize>) -> Plan {
    let whole = |widths: &[usize]| {
        widths.iter().enumerate().map(|(index, &width)| Slot::Column { index, width: width.max(1) }).collect()
    };
    let Some(total) = total else { return Plan { slots: whole(natural), cuts: false } };
    let mut widths = natural.to_vec();
    narrow(&mut widths, total);
    let slots = if box_width(&widths) <= total { whole(&widths) } else { leave_out(&widths, total) };
    Plan { slots, cuts: true }
}

/// Columns of the terminal that a box takes: borders, and a space on both sides of each cell.
fn box_width(widths: &[usize]) -> usize {
    1 + widths.iter().map(|width| width + 3).sum::<usize>()
}

fn narrow(widths: &mut [usize], total: usize) {
    while let excess @ 1.. = box_width(widths).saturating_sub(total) {
        let Some(&widest) = widths.iter().max() else { return };
        if widest <= NARROW {
            return;
        }
        // All of the widest go down together, at most to the next one, so that equals stay equal.
        let next = widths.iter().copied().filter(|&width| width < widest).max().unwrap_or(0).max(NARROW);
        let many = widths.iter().filter(|&&width| width == widest).count();
        let target = next.max(widest.saturating_sub(excess.div_ceil(many)));
        widths.iter_mut().filter(|width| **width == widest).for_each(|width| *width = target);
    }
}

fn leave_out(widths: &[usize], total: usize) -> Vec<Slot> {
    let column = |index: usize| Slot::Column { index, width: widths[index] };
    let (mut left, mut right) = (1, 0);
    let mut room = total.saturating_sub(box_width(&[widths[0].min(total.saturating_sub(8)), GAP]));
    while left + right < widths.len() {
        let from_right = right < left;
        let index = if from_right { widths.len() - 1 - right } else { left };
        let Some(rest) = room.checked_sub(widths[index] + 3) else { break };
        room = rest;
        if from_right { right += 1 } else { left += 1 }
    }
    let first = Slot::Column { index: 0, width: widths[0].min(total.saturating_sub(8)).max(1) };
    let mut slots = vec![first];
    slots.extend((1..left).map(column));
    slots.push(Slot::Gap);
    slots.extend((widths.len() - right..widths.len()).map(column));
    slots
}

impl Plan {
    /// Number of columns that are drawn.
    pub(super) fn shown_columns(&self) -> usize {
        self.slots.iter().filter(|slot| matches!(slot, Slot::Column { .. })).count()
    }

    /// A horizontal line with these corners.
    pub(super) fn rule(&self, left: char, middle: char, right: char) -> String {
        let parts: Vec<String> = self.slots.iter().map(|slot| "─".repeat(slot.width() + 2)).collect();
        format!("{left}{}{right}\n", parts.join(&middle.to_string()))
    }

    /// Appends a line of cells; `cell` gives the text of a column, padded to the width that it is given.
    pub(super) fn row(&self, out: &mut String, cell: impl Fn(usize, usize) -> String) {
        for slot in &self.slots {
            out.push_str("│ ");
            match slot {
                Slot::Column { index, width } => out.push_str(&cell(*index, *width)),
                Slot::Gap => out.push('…'),
            }
            out.push(' ');
        }
        out.push_str("│\n");
    }

    /// True if cells wider than their column are cut.
    pub(super) fn cuts(&self) -> bool {
        self.cuts
    }
}

#[cfg(test)]
mod tests;
