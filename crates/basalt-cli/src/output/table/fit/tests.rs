// SPDX-License-Identifier: Apache-2.0
use super::*;

fn drawn(natural: &[usize], total: usize) -> Vec<(usize, usize)> {
    let plan = fit(natural, Some(total));
    let width = plan.rule('+', '+', '+').chars().count() - 1;
    assert!(width <= total, "{width} columns drawn into {total}");
    plan.slots
        .iter()
        .map(|slot| match slot {
            Slot::Column { index, width } => (*index, *width),
            Slot::Gap => (usize::MAX, GAP),
        })
        .collect()
}

#[test]
fn what_fits_is_left_alone() {
    assert_eq!(drawn(&[5, 10], 80), [(0, 5), (1, 10)]);
}

#[test]
fn the_widest_columns_are_narrowed_first() {
    assert_eq!(drawn(&[5, 100, 100], 60), [(0, 5), (1, 22), (2, 22)]);
}

#[test]
fn columns_in_the_middle_give_way() {
    let slots = drawn(&[12; 16], 80);
    assert_eq!(slots, [(0, 12), (1, 12), (2, 12), (usize::MAX, GAP), (14, 12), (15, 12)]);
}

#[test]
fn one_column_is_cut_to_a_narrow_terminal() {
    assert_eq!(drawn(&[500], 40), [(0, 36)]);
}

#[test]
fn nothing_is_cut_into_a_pipe() {
    let plan = fit(&[5_000, 3], None);
    assert_eq!((plan.shown_columns(), plan.cuts()), (2, false));
}
