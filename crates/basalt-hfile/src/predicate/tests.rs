// SPDX-License-Identifier: Apache-2.0
use super::*;

const A: ColumnRef = ColumnRef::Column(0);
const B: ColumnRef = ColumnRef::Column(1);

fn at_least(column: ColumnRef, value: i64) -> Predicate {
    let low = Bound::Included(Operand::Integer(value));
    Predicate::Within(column, vec![ValueRange { low, high: Bound::Unbounded }])
}

fn below(column: ColumnRef, value: i64) -> Predicate {
    let high = Bound::Excluded(Operand::Integer(value));
    Predicate::Within(column, vec![ValueRange { low: Bound::Unbounded, high }])
}

fn between(column: ColumnRef, low: i64, high: i64) -> Predicate {
    let (low, high) = (Bound::Included(Operand::Integer(low)), Bound::Excluded(Operand::Integer(high)));
    Predicate::Within(column, vec![ValueRange { low, high }])
}

#[test]
fn two_bounds_of_a_column_are_one_range() {
    assert_eq!(at_least(A, 1).and(below(A, 9)), between(A, 1, 9));
    assert_eq!(below(A, 9).and(at_least(A, 1)), between(A, 1, 9));
    let both = Predicate::ALWAYS.and(at_least(A, 1)).and(below(B, 3)).and(below(A, 9)).and(at_least(B, 2));
    assert_eq!(both, Predicate::All(vec![between(A, 1, 9), between(B, 2, 3)]));
    assert_eq!(Predicate::not_null(A).and(below(A, 9)), below(A, 9));
    assert_eq!(below(A, 9).and(Predicate::not_null(A)), below(A, 9));
}

#[test]
fn bounds_of_the_same_kind_and_lists_stay_as_they_are() {
    for (one, other) in [
        (below(A, 9), below(A, 5)),
        (between(A, 1, 9), below(A, 5)),
        (below(A, 9), at_least(B, 1)),
        (below(A, 3).or(at_least(A, 9)), at_least(A, 1)),
        (below(A, 3), Predicate::Null(A)),
    ] {
        assert_eq!(one.clone().and(other.clone()), Predicate::All(vec![one, other]));
    }
    assert_eq!(Predicate::ALWAYS.and(Predicate::ALWAYS), Predicate::ALWAYS);
}

#[test]
fn ranges_of_a_column_are_one_list() {
    let Predicate::Within(column, ranges) = below(A, 3).or(between(A, 5, 6)).or(at_least(A, 9)) else {
        panic!("they are of one column")
    };
    assert_eq!((column, ranges.len()), (A, 3));
    let parts = below(A, 3).or(below(B, 3)).or(Predicate::Null(A)).or(at_least(B, 9));
    let expected = Predicate::Any(vec![below(A, 3), below(B, 3).or(at_least(B, 9)), Predicate::Null(A)]);
    assert_eq!(parts, expected);
    assert_eq!(Predicate::Any(vec![]).or(below(A, 3)), below(A, 3));
    let always = Predicate::ALWAYS.or(below(A, 3));
    assert_eq!(always, Predicate::Any(vec![Predicate::ALWAYS, below(A, 3)]));
}
