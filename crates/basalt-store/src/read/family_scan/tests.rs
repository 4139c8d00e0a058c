// SPDX-License-Identifier: Apache-2.0
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::FamilyDescriptor;
use basalt_model::filter::{Comparator, CompareOp, Filter, SingleColumnValue};
use basalt_model::operation::TimeRange;
use proptest::prelude::*;

use super::*;
use crate::read::access::ReadCounters;
use crate::read::filter::compile;
use crate::read::region_scan::{Next, RegionScan};
use crate::read::resolve::Rules;
use crate::read::source::RunList;
use crate::read::testing::{Cell, runs, sorted};

/// Those of a reader who has a filter and nothing else.
fn wishes() -> Wishes {
    Wishes {
        rules: Rules::new(&FamilyDescriptor::new("f"), 1_000),
        columns: Vec::new(),
        time_range: TimeRange::default(),
        versions: 1,
        raw: false,
        has_filter: true,
        limit: None,
        offset: 0,
    }
}

/// The rows that pass, and how many did not.
fn scan(cells: &[Cell], block_cells: usize, filter: &Filter, one_by_one: bool) -> (Vec<Vec<String>>, u64) {
    let source: BoxedSource = Box::new(RunList::new(runs(cells, block_cells)));
    let mut family = FamilyScan::new(vec![source], wishes(), KeyRange::all(), false);
    family.always_plain = one_by_one;
    let counters = Arc::new(ReadCounters::default());
    let filter = compile(filter, false, &|| 7).expect("the filter is valid");
    let (families, limits) = (vec![family], Limits::default());
    let mut region = RegionScan::new(families, vec![], Some(filter), Arc::clone(&counters), false, limits);
    let mut rows = Vec::new();
    loop {
        let Next::Result(row, more) = region.next(&mut || false).expect("memory does not fail") else {
            panic!("nobody asked for a pause");
        };
        if !row.is_empty() {
            rows.push(row.cells().map(|cell| format!("{cell:?}")).collect());
        }
        if !more {
            return (rows, counters.rows_filtered.load(Relaxed));
        }
    }
}

fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let cell = (0u8..30, "[abc]", 0u8..4).prop_map(|(row, qualifier, value)| Cell {
        value: vec![b'0' + value],
        ..Cell::put(&format!("r{row:02}"), &qualifier, 5, 1)
    });
    proptest::collection::vec(cell, 1..80).prop_map(|cells| {
        let mut cells = sorted(cells);
        cells.dedup_by(|a, b| (&a.row, &a.qualifier) == (&b.row, &b.qualifier));
        cells
    })
}

fn filters() -> impl Strategy<Value = Filter> {
    let op = prop_oneof![
        Just(CompareOp::Less),
        Just(CompareOp::Equal),
        Just(CompareOp::NotEqual),
        Just(CompareOp::NoOp)
    ];
    let value = (0u8..4).prop_map(|value| Comparator::Binary(vec![b'0' + value].into()));
    let single =
        (op.clone(), value.clone(), any::<(bool, bool, bool)>()).prop_map(|(op, comparator, flags)| {
            Filter::SingleColumnValue(SingleColumnValue {
                family: "f".into(),
                qualifier: "b".into(),
                op,
                comparator,
                filter_if_missing: flags.0,
                latest_version_only: flags.1,
                exclude: flags.2,
            })
        });
    let one = (op.clone(), value.clone()).prop_map(|(op, comparator)| Filter::ColumnValue {
        family: "f".into(),
        qualifier: "a".into(),
        op,
        comparator,
    });
    let by_value = (op.clone(), value).prop_map(|(op, comparator)| Filter::Value { op, comparator });
    let by_qualifier = (op.clone(), "[abcd]")
        .prop_map(|(op, name)| Filter::Qualifier { op, comparator: Comparator::Binary(name.into()) });
    let by_row = (op, 0u8..30).prop_map(|(op, row)| Filter::Row {
        op,
        comparator: Comparator::Binary(format!("r{row:02}").into()),
    });
    let others = prop_oneof![
        Just(Filter::FirstKeyOnly),
        Just(Filter::KeyOnly { length_as_value: true }),
        Just(Filter::Page { rows: 3 }),
        Just(Filter::Prefix { prefix: "r1".into() }),
        Just(Filter::ColumnPrefix { prefix: "b".into() }),
        Just(Filter::InclusiveStop { row: "r20".into() }),
        Just(Filter::ColumnCountGet { limit: 2 }),
    ];
    let leaf = prop_oneof![3 => single, 1 => one, 2 => by_value, 1 => by_qualifier, 2 => by_row, 2 => others];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let members = proptest::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => members.clone().prop_map(Filter::All),
            1 => members.prop_map(Filter::Any),
            1 => inner.prop_map(|filter| Filter::Skip(Box::new(filter))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn rows_left_out_many_at_once_are_those_left_out_one_by_one(
        cells in cells(),
        block_cells in 1usize..40,
        filter in filters(),
    ) {
        let expected = scan(&cells, block_cells, &filter, true);
        prop_assert_eq!(scan(&cells, block_cells, &filter, false), expected, "{:?}", filter);
    }
}

#[test]
fn rows_of_a_block_are_left_out_at_once() {
    let cells: Vec<Cell> = (0..50).map(|row| Cell::put(&format!("r{row:02}"), "b", 5, row + 1)).collect();
    let source: BoxedSource = Box::new(RunList::new(runs(&cells, 50)));
    let mut family = FamilyScan::new(vec![source], wishes(), KeyRange::all(), false);
    let comparator = Comparator::Binary("r40".into());
    let filter = compile(&Filter::Row { op: CompareOp::GreaterOrEqual, comparator }, false, &|| 7);
    let filter = filter.expect("the filter is valid");
    assert_eq!(family.skip_left_out(&*filter).expect("memory does not fail"), 40);
    assert_eq!(family.front().row, b"r40");
    assert_eq!(family.skip_left_out(&*filter).expect("memory does not fail"), 0);
}
