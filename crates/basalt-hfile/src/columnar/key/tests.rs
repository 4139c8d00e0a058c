// SPDX-License-Identifier: Apache-2.0
//! Rows come back from their parts, with a layout that fits, with one that does not, and without.

use basalt_model::rowkey::encode_row_key;
use basalt_model::types::{Decimal, Value};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn column(name: &str, sql_type: SqlType, order: SortOrder) -> KeyColumn {
    KeyColumn { name: name.into(), sql_type, order, nullable: sql_type.fixed_width().is_none() }
}

fn check(rows: &StringList, columns: &[KeyColumn]) -> usize {
    let parts = split(rows, columns);
    for index in 0..rows.len() {
        let mut row = vec![];
        let mut builder = RowBuilder::new(&mut row);
        for values in &parts {
            let from = builder.buffer().len();
            builder.buffer().extend_from_slice(values.vectors[index / VECTOR].get(index % VECTOR));
            builder.close(values.part, from);
        }
        builder.finish();
        assert_eq!(row, rows.get(index));
    }
    parts.len()
}

#[test]
fn typed_rows_become_their_columns() {
    use SortOrder::*;
    let orders = [[Asc, Asc, Asc, Asc], [Desc, Desc, Desc, Desc], [Asc, Desc, Asc, Desc]];
    for order in orders {
        let columns = [
            column("A", SqlType::Integer, order[0]),
            column("B", SqlType::Varchar(None), order[1]),
            column("C", SqlType::Boolean, order[2]),
            column("D", SqlType::Decimal(Some((10, 2))), order[3]),
        ];
        let mut rows = StringList::default();
        for number in 0..3000i64 {
            let name = format!("name{}", number % 11);
            let values = [
                Value::Int(number - 1500),
                if number % 5 == 0 { Value::Null } else { Value::Text(name.into()) },
                Value::Boolean(number % 2 == 0),
                if number % 3 == 0 { Value::Null } else { Value::Decimal(Decimal::new(number.into(), 2)) },
            ];
            let mut row = vec![];
            encode_row_key(&columns, &values, &mut row).unwrap();
            rows.push(&row);
        }
        assert_eq!(check(&rows, &columns), 4, "{order:?}");
        let parts = split(&rows, &columns);
        assert_eq!(parts[1].vectors[1].get(7), b"name8");
    }
}

#[test]
fn a_row_that_does_not_fit_leaves_all_of_them_bytes() {
    let columns =
        [column("A", SqlType::Integer, SortOrder::Asc), column("B", SqlType::Integer, SortOrder::Asc)];
    let rows: StringList = [&b"12345678"[..], b"1234567"].into_iter().collect();
    assert_eq!(check(&rows, &columns), 1);
    let rows: StringList = [&b"12345678"[..], b"abcdefgh"].into_iter().collect();
    assert_eq!(check(&rows, &columns), 2);
}

#[test]
fn rows_of_one_width_are_cut_into_numbers() {
    let rows: StringList = (0..10u8).map(|_| &b"0123456789abcdefghij"[..]).collect();
    assert_eq!(check(&rows, &[]), 3);
}

#[test]
fn a_decimal_number_is_left_whole_where_its_parts_would_take_more() {
    let rows = |row: fn(u64) -> String| (0..2000).map(|at| row(at).into_bytes()).collect::<Vec<_>>();
    let list = |rows: &[Vec<u8>]| rows.iter().map(Vec::as_slice).collect::<StringList>();
    // Gaps without order, which a part of eight bytes carries over into the one before it.
    let chosen = rows(|at| format!("user{:012}", at * 77_777_777 + at * at % 7919 * 9_973));
    assert_eq!(check(&list(&chosen), &[]), 1);
    // A customer and a day: each has a part of its own.
    let dated = rows(|at| format!("{:08}202611{:02}", at / 5 * 7919, at % 5 + 1));
    assert_eq!(check(&list(&dated), &[]), 2);
    let mut odd = chosen;
    odd[1500][9] = b'x';
    assert_eq!(check(&list(&odd), &[]), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_rows_come_back(rows in vec(vec(any::<u8>(), 1..12), 1..50), desc in any::<bool>()) {
        let rows: StringList = rows.iter().map(Vec::as_slice).collect();
        let order = if desc { SortOrder::Desc } else { SortOrder::Asc };
        check(&rows, &[]);
        check(&rows, &[column("A", SqlType::TinyInt, order), column("B", SqlType::Varchar(None), order)]);
        check(&rows, &[column("A", SqlType::Varchar(None), order), column("B", SqlType::Varbinary(None), order)]);
        check(&rows, &[column("A", SqlType::Varchar(None), order), column("B", SqlType::Boolean, order)]);
    }
}
