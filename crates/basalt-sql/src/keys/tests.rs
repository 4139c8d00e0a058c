// SPDX-License-Identifier: Apache-2.0
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
use basalt_model::types::{Decimal, Value};
use basalt_model::{SortOrder, SqlType, rowkey};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ident as col, in_list, lit};
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;

use super::*;

fn schema(key: &[(&str, SqlType, SortOrder)]) -> TableSchema {
    let fixed = |sql_type: SqlType| sql_type.fixed_width().is_some();
    let column = |(name, sql_type, _): &(&str, SqlType, SortOrder)| {
        let column = ColumnDefinition::new(*name, *sql_type);
        if fixed(*sql_type) { column.not_null() } else { column }
    };
    let part =
        |(name, _, order): &(&str, SqlType, SortOrder)| KeyPart { name: (*name).to_owned(), order: *order };
    let columns = key.iter().map(column).chain([ColumnDefinition::new("V", SqlType::Integer)]).collect();
    TableSchema::try_new(SchemaDefinition::new(columns, key.iter().map(part).collect())).expect("valid key")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The access in one line: keys, or ranges with `*` for no end.
fn text(schema: &TableSchema, filter: Expr) -> String {
    match access(schema, &[filter]).access {
        Access::Nothing => "nothing".to_owned(),
        Access::Full => "full".to_owned(),
        Access::Points(keys) => keys.iter().map(|key| hex(key)).collect::<Vec<_>>().join(" "),
        Access::Ranges(ranges) => {
            let range = |range: &KeyRange| {
                format!("{}-{}", hex(&range.start), range.end.as_ref().map_or("*".to_owned(), |end| hex(end)))
            };
            ranges.iter().map(range).collect::<Vec<_>>().join(" ")
        }
    }
}

const ASC: SortOrder = SortOrder::Asc;
const DESC: SortOrder = SortOrder::Desc;

#[test]
fn a_single_integer_key() {
    let schema = schema(&[("K", SqlType::Integer, ASC)]);
    let k = || col("K");
    assert_eq!(text(&schema, k().eq(lit(1_i32))), "80000001");
    assert_eq!(text(&schema, lit(1_i32).lt(k())), "80000002-*");
    assert_eq!(text(&schema, k().lt_eq(lit(-1_i32))), "-80");
    assert_eq!(text(&schema, k().between(lit(1_i32), lit(2_i32))), "80000001-80000003");
    assert_eq!(
        text(&schema, in_list(k(), vec![lit(3_i32), lit(1_i32), lit(3_i32)], false)),
        "80000001 80000003"
    );
    assert_eq!(text(&schema, k().gt(lit(5_i32)).and(k().lt(lit(5_i32)))), "nothing");
    assert_eq!(text(&schema, k().is_null()), "nothing");
    assert_eq!(text(&schema, k().is_not_null()), "full");
    assert_eq!(text(&schema, k().eq(lit(ScalarValue::Int32(None)))), "nothing");
    assert_eq!(text(&schema, k().not_eq(lit(5_i32))), "full");
    assert_eq!(text(&schema, col("V").eq(lit(5_i32))), "full");
}

#[test]
fn a_descending_key_turns_ranges_round() {
    let schema = schema(&[("K", SqlType::Integer, DESC)]);
    assert_eq!(text(&schema, col("K").eq(lit(1_i32))), "7ffffffe");
    assert_eq!(text(&schema, col("K").gt(lit(1_i32))), "-7ffffffe");
    assert_eq!(text(&schema, col("K").lt_eq(lit(1_i32))), "7ffffffe-*");
}

#[test]
fn leading_columns_fix_the_prefix() {
    let schema = schema(&[
        ("A", SqlType::Varchar(None), ASC),
        ("B", SqlType::Integer, ASC),
        ("C", SqlType::Varchar(None), ASC),
    ]);
    let (a, b, c) = (|| col("A"), || col("B"), || col("C"));
    assert_eq!(text(&schema, a().eq(lit("x"))), "78-7801");
    assert_eq!(text(&schema, a().eq(lit("x")).and(b().gt(lit(5_i32)))), "780080000006-7801");
    assert_eq!(
        text(&schema, in_list(a(), vec![lit("a"), lit("c")], false).and(b().lt(lit(0_i32)))),
        "6100-61007fffffff 6300-63007fffffff".replace("7fffffff", "80000000")
    );
    assert_eq!(
        text(&schema, a().eq(lit("x")).and(b().eq(lit(1_i32))).and(c().eq(lit("y")))),
        "78008000000179"
    );
    assert_eq!(text(&schema, a().eq(lit("x")).and(b().eq(lit(1_i32))).and(c().is_null())), "780080000001");
    // Without the leading column the others help nothing.
    assert_eq!(text(&schema, b().eq(lit(1_i32))), "full");
    assert_eq!(text(&schema, a().like(lit("ab%"))), "6162-6163");
    assert_eq!(text(&schema, a().is_null()), "-01");
}

#[test]
fn a_row_comparison_is_one_range() {
    let schema = schema(&[("A", SqlType::Integer, ASC), ("B", SqlType::Integer, ASC)]);
    let after = col("A").gt(lit(1_i32)).or(col("A").eq(lit(1_i32)).and(col("B").gt(lit(2_i32))));
    assert_eq!(text(&schema, after), "8000000180000003-*");
}

#[test]
fn too_many_keys_become_one_range() {
    let schema = schema(&[("K", SqlType::Integer, ASC)]);
    let many = (0..RANGES_MAX as i32 + 1).map(lit).collect();
    assert_eq!(text(&schema, in_list(col("K"), many, false)), "80000000-80004001");
}

/// A few values per type, so that random rows and literals meet often.
fn value(sql_type: SqlType, chance: &mut Chance) -> Value<'static> {
    let texts = ["a", "ab", "abc", "b", "ba", "\u{7f}", "ä"];
    match sql_type {
        SqlType::Integer => {
            Value::Int([i64::from(i32::MIN), -1, 0, 1, 2, i64::from(i32::MAX)][chance.below(6)])
        }
        SqlType::Varchar(_) if chance.below(4) == 0 => Value::Null,
        SqlType::Varchar(_) => Value::Text(texts[chance.below(texts.len())].into()),
        SqlType::Decimal(_) if chance.below(4) == 0 => Value::Null,
        SqlType::Decimal(_) => {
            Value::Decimal(Decimal::new([-150, -1, 0, 1, 10, 100, 15_000][chance.below(7)], 2))
        }
        SqlType::Boolean => Value::Boolean(chance.below(2) == 1),
        other => panic!("no values of {other}"),
    }
}

fn scalar(value: &Value<'_>, sql_type: SqlType) -> ScalarValue {
    match (sql_type, value) {
        (SqlType::Integer, Value::Int(v)) => ScalarValue::Int32(i32::try_from(*v).ok()),
        (SqlType::Varchar(_), Value::Text(v)) => ScalarValue::Utf8View(Some(v.to_string())),
        (SqlType::Varchar(_), _) => ScalarValue::Utf8View(None),
        (SqlType::Decimal(_), Value::Decimal(v)) => ScalarValue::Decimal128(v.rescale(2), 10, 2),
        (SqlType::Decimal(_), _) => ScalarValue::Decimal128(None, 10, 2),
        (_, Value::Boolean(v)) => ScalarValue::Boolean(Some(*v)),
        (sql_type, value) => panic!("{value:?} is no {sql_type}"),
    }
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

type Key = [(&'static str, SqlType, SortOrder)];

fn predicate(key: &Key, depth: usize, chance: &mut Chance) -> Expr {
    if depth > 0 && chance.below(3) > 0 {
        let (left, right) = (predicate(key, depth - 1, chance), predicate(key, depth - 1, chance));
        return if chance.below(5) < 3 { left.and(right) } else { left.or(right) };
    }
    let (name, sql_type, _) = key[chance.below(key.len())];
    let mut literal = || Expr::Literal(scalar(&value(sql_type, chance), sql_type), None);
    let (first, second, third) = (literal(), literal(), literal());
    let column = col(name);
    match chance.below(11) {
        0..=2 => column.eq(first),
        3 => column.lt(first),
        4 => column.lt_eq(first),
        5 => first.lt(column),
        6 => column.gt_eq(first),
        7 => in_list(column, vec![first, second, third], false),
        8 => column.between(first, second),
        9 => column.is_null(),
        _ if matches!(sql_type, SqlType::Varchar(_)) => {
            column.like(lit(["a%", "ab%", "%", "b_"][chance.below(4)]))
        }
        _ => column.is_not_null(),
    }
}

/// Whatever the predicate: every row that it is true for lies in the access.
#[test]
fn no_matching_row_is_left_out() {
    use SqlType::{Boolean, Integer};
    let (text, decimal) = (SqlType::Varchar(None), SqlType::Decimal(Some((10, 2))));
    let keys: [&Key; 6] = [
        &[("A", Integer, ASC), ("B", text, ASC), ("C", Integer, DESC)],
        &[("A", text, ASC), ("B", text, ASC), ("C", text, ASC)],
        &[("A", text, DESC), ("B", Integer, ASC), ("C", text, DESC)],
        &[("A", decimal, ASC), ("B", text, DESC), ("C", decimal, DESC)],
        &[("A", Boolean, DESC), ("B", Integer, DESC)],
        &[("A", text, DESC)],
    ];
    let context = SessionContext::new();
    for (number, key) in keys.into_iter().enumerate() {
        let mut chance = Chance(number as u64 + 17);
        let schema = schema(key);
        let (rows, batch) = rows(key, &schema, &mut chance);
        let df_schema = DFSchema::try_from(batch.schema().as_ref().clone()).expect("distinct names");
        for round in 0..2_000 {
            let filters: Vec<_> = (0..1 + chance.below(2)).map(|_| predicate(key, 3, &mut chance)).collect();
            let access = access(&schema, &filters).access;
            let all = filters.iter().cloned().reduce(Expr::and).expect("at least one");
            let compiled = context.create_physical_expr(all.clone(), &df_schema).expect("valid");
            let matching = compiled
                .evaluate(&batch)
                .and_then(|value| value.into_array(batch.num_rows()))
                .expect("evaluates");
            let matching: &BooleanArray = matching.as_boolean();
            for (row, bytes) in rows.iter().enumerate() {
                if matching.is_valid(row) && matching.value(row) {
                    assert!(
                        contains(&access, bytes),
                        "key {number}, round {round}: {all} leaves out {}",
                        hex(bytes)
                    );
                }
            }
            check_order(&access);
        }
    }
}

fn rows(key: &Key, schema: &TableSchema, chance: &mut Chance) -> (Vec<Vec<u8>>, RecordBatch) {
    let mut rows = vec![];
    let mut columns: Vec<Vec<ScalarValue>> = vec![vec![]; key.len()];
    while rows.len() < 300 {
        let values: Vec<_> = key.iter().map(|(_, sql_type, _)| value(*sql_type, chance)).collect();
        let mut bytes = vec![];
        if rowkey::encode_row_key(&schema.key, &values, &mut bytes).is_err() {
            continue;
        }
        rows.push(bytes);
        for ((column, value), (_, sql_type, _)) in columns.iter_mut().zip(&values).zip(key) {
            column.push(scalar(value, *sql_type));
        }
    }
    let array =
        |column: Vec<ScalarValue>| -> ArrayRef { ScalarValue::iter_to_array(column).expect("one type") };
    let columns = key.iter().zip(columns).map(|((name, ..), column)| (*name, array(column), true));
    (rows, RecordBatch::try_from_iter_with_nullable(columns).expect("equal lengths"))
}

fn contains(access: &Access, key: &[u8]) -> bool {
    match access {
        Access::Nothing => false,
        Access::Full => true,
        Access::Points(keys) => keys.iter().any(|point| **point == *key),
        Access::Ranges(ranges) => ranges.iter().any(|range| range.contains(key)),
    }
}

fn check_order(access: &Access) {
    match access {
        Access::Points(keys) => assert!(keys.is_sorted_by(|a, b| a < b)),
        Access::Ranges(ranges) => {
            assert!(!ranges.is_empty() && ranges.iter().all(|range| !range.is_empty()));
            assert!(
                ranges.windows(2).all(|pair| pair[0].end.as_ref().is_some_and(|end| *end <= pair[1].start))
            );
        }
        Access::Nothing | Access::Full => {}
    }
}
