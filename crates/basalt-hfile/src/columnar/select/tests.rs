// SPDX-License-Identifier: Apache-2.0
use basalt_model::types::Decimal;

use super::*;

fn from(low: End<Operand>, high: End<Operand>) -> ValueRange {
    ValueRange { low, high }
}

fn decimal(unscaled: i128, scale: i32) -> Operand {
    Operand::Decimal(Decimal::new(unscaled, scale))
}

/// What became of a range of numbers of 64 bits.
fn int_range(form: Form, range: &ValueRange) -> Option<Option<(i64, i64)>> {
    number_range(form, range).map(in_64_bits)
}

#[test]
fn bounds_between_two_stored_numbers_are_moved_to_the_next() {
    use End::*;
    let cents = Form::Decimal(2);
    let range = |low, high| int_range(cents, &from(low, high)).expect("they can be compared");
    // 1.005 lies between 100 and 101 hundredths.
    assert_eq!(range(Included(decimal(1005, 3)), Unbounded), Some((101, i64::MAX)));
    assert_eq!(range(Excluded(decimal(1005, 3)), Unbounded), Some((101, i64::MAX)));
    assert_eq!(range(Unbounded, Included(decimal(1005, 3))), Some((i64::MIN, 100)));
    assert_eq!(range(Unbounded, Excluded(decimal(1005, 3))), Some((i64::MIN, 100)));
    assert_eq!(range(Unbounded, Excluded(decimal(-1005, 3))), Some((i64::MIN, -101)));
    // 24 is 2,400 hundredths.
    assert_eq!(range(Unbounded, Excluded(decimal(24, 0))), Some((i64::MIN, 2399)));
    assert_eq!(range(Excluded(Operand::Integer(24)), Included(decimal(25, 0))), Some((2401, 2500)));
    assert_eq!(range(Excluded(decimal(1001, 3)), Excluded(decimal(1009, 3))), None);
    assert_eq!(range(Included(decimal(1, -30)), Unbounded), None);
    assert_eq!(range(Included(decimal(-1, -38)), Unbounded), Some((i64::MIN, i64::MAX)));
    assert_eq!(range(Excluded(decimal(1, 60)), Included(decimal(1, 0))), Some((1, 100)));
    assert_eq!(int_range(cents, &from(Included(Operand::Text(vec![])), Unbounded)), None);
    assert_eq!(
        int_range(Form::Signed(4), &from(Included(decimal(25, 1)), Unbounded)),
        Some(Some((3, i64::MAX)))
    );
}

#[test]
fn floats_are_compared_in_their_own_width_only() {
    let at = |form, value| int_range(form, &ValueRange::point(Operand::Float(value)));
    let sortable = i64::from(super::super::alp::sortable_32(0.5f32.to_bits()) as i32);
    assert_eq!(at(Form::Float(4), 0.5), Some(Some((sortable, sortable))));
    assert_eq!(at(Form::Float(4), 0.1), None, "no FLOAT is as near to a tenth");
    let ends = (at(Form::Float(8), -0.0), at(Form::Float(8), 0.0));
    assert_eq!(ends, (Some(Some((-1, -1))), Some(Some((0, 0)))));
}

/// What the bounds of strings say is never more than what a look at them says.
#[test]
fn verdicts_on_texts_hold_for_every_text() {
    let long = |end: &str| format!("sixteen letters.{end}").into_bytes();
    let texts = [
        vec![b'a'],
        long(""),
        long("a"),
        long("b"),
        long("bc"),
        b"t".to_vec(),
        b"tu".to_vec(),
        vec![0xff; 20],
    ];
    let mut sorted = texts.clone();
    sorted.sort();
    let mut ends = vec![End::Unbounded];
    ends.extend(texts.iter().flat_map(|text| [End::Included(text.clone()), End::Excluded(text.clone())]));
    let mut decided = 0;
    for first in 0..sorted.len() {
        for last in first..sorted.len() {
            let some = &sorted[first..=last];
            let bounds = Bounds::of_texts(&sorted[first], &sorted[last]);
            for range in ends.iter().flat_map(|low| ends.iter().map(move |high| (low.clone(), high.clone())))
            {
                let test = Test::of_texts(vec![range.clone()]);
                let facts = Facts { rows: some.len(), values: some.len(), bounds: Some(bounds) };
                let passing =
                    some.iter().filter(|text| std::ops::RangeBounds::<Vec<u8>>::contains(&range, *text));
                let passing = passing.count();
                let verdict = test.verdict(&facts);
                decided += usize::from(verdict != Verdict::Some);
                match verdict {
                    Verdict::None => assert_eq!(passing, 0, "{range:?} of {some:?}"),
                    Verdict::All => assert_eq!(passing, some.len(), "{range:?} of {some:?}"),
                    Verdict::Some => {}
                }
            }
        }
    }
    assert!(decided > 1000, "{decided} verdicts are more than perhaps");
}
