// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn what_is_fixed_must_be_equal_and_what_is_free_need_not() {
    for len in [8, 9, 16, 17, 25, 31, 32, 40, 64, 96, 100, 129, 160, 161, 300] {
        let mut form = RowForm::default();
        assert!(form.reset(len));
        let free = len / 3..len / 2;
        form.free(free.clone());
        let model: Vec<u8> = (0..len).map(|at| (at as u8).wrapping_mul(7)).collect();
        form.fix(&model);
        assert!(form.fits(&model));
        for at in 0..len {
            let mut row = model.clone();
            row[at] ^= 0x10;
            assert_eq!(form.fits(&row), free.contains(&at), "byte {at} of {len}");
            let rows = [&model[..], &row, &model].into_iter();
            assert_eq!(form.count(rows), if free.contains(&at) { 3 } else { 1 }, "byte {at} of {len}");
        }
    }
    assert!(!RowForm::default().reset(BYTES_MAX + 1) && !RowForm::default().reset(BYTES_MIN - 1));
}

#[test]
fn a_sequence_number_keeps_its_length() {
    for (a, b, fits) in [
        (0, 127, true),
        (5, 128, false),
        (128, 255, true),
        (128, 256, false),
        (300, 400, true),
        (300, 700, false),
    ] {
        let bytes = |number| {
            let mut out = Vec::new();
            crate::varint::write_vlong(&mut out, number);
            out
        };
        let (model, row) = ([vec![9; 20], bytes(a)].concat(), [vec![9; 20], bytes(b)].concat());
        let mut form = RowForm::default();
        form.reset(model.len());
        form.free_vlong(model.len() - 1, model.len() - 20);
        form.fix(&model);
        assert_eq!(model.len() == row.len() && form.fits(&row), fits, "{a} and {b}");
    }
}

#[test]
fn forms_that_are_of_no_use_are_learned_less_and_less_often() {
    let mut patience = Patience::default();
    let mut learned = 0;
    for _ in 0..1000 {
        if patience.is_ready() {
            learned += 1;
            patience.note(false);
        }
    }
    assert!((10..40).contains(&learned), "{learned}");
    patience.note(true);
    assert!(patience.is_ready());
}
