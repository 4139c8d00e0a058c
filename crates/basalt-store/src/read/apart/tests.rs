// SPDX-License-Identifier: Apache-2.0
//! Tables of random columns, keys and families, filled, overwritten, deleted from, flushed, compacted and split at random: the rows that
//! scans give are those that the visible cells make, one by one.

use std::borrow::Cow;
use std::ops::Bound;
use std::path::Path;

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::{
    SortColumn, cast, concat_batches, filter_record_batch, lexsort_to_indices, take_record_batch,
};
use arrow::datatypes::{DataType, Int64Type};
use basalt_hfile::predicate::{Operand, Predicate, ValueRange};
use basalt_hfile::typed::RowDecoder;
use basalt_model::rowkey::encode_row_key;
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
use basalt_model::table::DeleteRule;
use basalt_model::types::Decimal;
use basalt_model::{CellType, FamilyDescriptor, TableId, TableName, Value, WriteBatch};

use super::*;
use crate::read::row_batches::RowBatches;
use crate::read::rows::families_of;
use crate::read::testing::memory_env;
use crate::{Database, Durability, OpenOptions, ScanOptions};

const SCHEMAS: u64 = 40;
const ROUNDS: usize = 8;
const FAMILIES: [&str; 3] = ["A", "B", "C"];
const KEY_TYPES: [SqlType; 8] = [
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::UnsignedSmallInt,
    SqlType::Varchar(None),
    SqlType::Char(3),
    SqlType::Decimal(Some((9, 2))),
    SqlType::Date,
    SqlType::Double,
];
const COLUMN_TYPES: [SqlType; 14] = [
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::TinyInt,
    SqlType::UnsignedInt,
    SqlType::UnsignedLong,
    SqlType::Float,
    SqlType::Double,
    SqlType::Decimal(Some((9, 2))),
    SqlType::Decimal(None),
    SqlType::Boolean,
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::Varchar(None),
    SqlType::Varbinary(None),
];

/// Numbers that one seed gives again and again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A value of few, so that keys come again and dictionaries pay.
    fn value(&mut self, sql_type: SqlType) -> Value<'static> {
        let number = self.below(40) as i64;
        let signed = number - 20;
        match sql_type {
            SqlType::UnsignedSmallInt | SqlType::UnsignedInt | SqlType::UnsignedLong => Value::Int(number),
            SqlType::Float => Value::Float(signed as f32 / 3.0),
            SqlType::Double => Value::Double(signed as f64 / 3.0),
            SqlType::Decimal(_) => Value::Decimal(Decimal::new(signed.into(), 1)),
            SqlType::Boolean => Value::Boolean(number % 2 == 0),
            SqlType::Date => Value::Millis(signed * 86_400_000),
            SqlType::Timestamp => Value::Timestamp { millis: signed * 1000, nanos: number as u32 },
            SqlType::Varchar(_) => {
                Value::Text(Cow::Owned("ab".repeat(number as usize % 4) + &number.to_string()))
            }
            SqlType::Char(_) => Value::Text(Cow::Owned(number.to_string())),
            SqlType::Varbinary(_) => Value::Bytes(Cow::Owned(vec![number as u8; number as usize % 5])),
            _ => Value::Int(signed),
        }
    }
}

struct World {
    database: Database,
    table: TableId,
    schema: Arc<TableSchema>,
    chance: Chance,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let (mut columns, mut key) = (vec![], vec![]);
        for at in 0..1 + chance.below(3) {
            let name = format!("K{at}");
            let sql_type = chance.one_of(&KEY_TYPES);
            columns.push(ColumnDefinition::new(&name, sql_type).not_null());
            key.push(if chance.below(2) == 0 { KeyPart::asc(name) } else { KeyPart::desc(name) });
        }
        for at in 0..1 + chance.below(7) {
            let column = ColumnDefinition::new(format!("C{at}"), chance.one_of(&COLUMN_TYPES));
            columns.push(column.in_family(chance.one_of(&FAMILIES)));
        }
        let schema = TableSchema::try_new(SchemaDefinition::new(columns, key)).expect("the schema is valid");
        let delete_rule = chance.one_of(&[DeleteRule::BySequence, DeleteRule::ByTimestamp]);
        let all_columnar = chance.below(4) > 0;
        let mut family = |name: &&str| FamilyDescriptor {
            delete_rule,
            versions_max: 1 + chance.below(3) as u32,
            encoding: if all_columnar { "COLUMNAR" } else { chance.one_of(&["COLUMNAR", "FAST_DIFF"]) }
                .into(),
            compression: chance.one_of(&["NONE", "LZ4", "ZSTD"]).into(),
            block_bytes: chance.one_of(&[256, 4096, 65_536]),
            ..FamilyDescriptor::new(*name)
        };
        let descriptor = TableDescriptor {
            name: TableName::in_default("T"),
            families: schema.families().iter().map(&mut family).collect(),
            schema: Some(schema.clone()),
            attributes: Default::default(),
            index: None,
        };
        let options = OpenOptions { env: memory_env(), background: false, ..OpenOptions::create() };
        let database = Database::open(Path::new("/db"), options).expect("memory does not fail");
        let table = database.create_table(descriptor).expect("the table is valid");
        Self { database, table, schema: Arc::new(schema), chance }
    }

    fn key(&mut self) -> Vec<u8> {
        let values: Vec<_> = self.schema.key.iter().map(|part| self.chance.value(part.sql_type)).collect();
        let mut key = vec![];
        encode_row_key(&self.schema.key, &values, &mut key).expect("the values are of the types");
        key
    }

    /// Puts and deletes of one row in some of its families.
    fn change_row(&mut self, out: &mut WriteBatch, deletes: bool) {
        let key = self.key();
        let (schema, chance) = (Arc::clone(&self.schema), &mut self.chance);
        let timestamp = if chance.below(3) == 0 { chance.below(30) as i64 } else { i64::MAX };
        let mut row = out.row(self.table, &key).expect("the row is valid");
        if deletes && chance.below(5) == 0 {
            let kind = chance.one_of(&[CellType::DeleteFamily, CellType::DeleteFamilyVersion]);
            let families = schema.families();
            let all = chance.below(2) == 0;
            let chosen = chance.one_of(&families);
            for family in families.iter().filter(|family| all || **family == chosen) {
                row.delete(family.as_bytes(), b"", timestamp, kind).expect("the marker is valid");
            }
            return row.finish();
        }
        // Rows of other writers have no empty cell, and perhaps no cell in its family.
        if chance.below(6) > 0 {
            let (family, qualifier) = (schema.empty_family.as_bytes(), &schema.empty_qualifier);
            row.put(family, qualifier, timestamp, b"x").expect("the cell is valid");
        }
        for column in &schema.columns {
            let (family, qualifier) = (column.family.as_bytes(), &column.qualifier);
            match chance.below(8) {
                0 => {}
                1 if deletes => {
                    let kind = chance.one_of(&[CellType::Delete, CellType::DeleteColumn]);
                    row.delete(family, qualifier, timestamp, kind).expect("the marker is valid");
                }
                _ => {
                    let (mut bytes, value) = (vec![], chance.value(column.sql_type));
                    column.sql_type.encode(SortOrder::Asc, &value, &mut bytes).expect("it is of the type");
                    row.put(family, qualifier, timestamp, &bytes).expect("the cell is valid");
                }
            }
        }
        row.finish();
    }

    fn change(&mut self, round: usize) {
        let rows = if round == 0 { 3000 } else { 1 + self.chance.below(200) };
        let mut out = WriteBatch::new();
        for _ in 0..rows {
            self.change_row(&mut out, round > 0);
        }
        self.database.write(out, Durability::Sync).expect("memory does not fail");
        if self.chance.below(3) > 0 {
            self.database.flush(None).expect("memory does not fail");
        }
        if self.chance.below(4) == 0 {
            self.database.compact(Some(self.table), self.chance.below(2) == 0).expect("memory does not fail");
        }
        if self.chance.below(4) == 0 {
            let regions = self.database.regions(self.table).expect("the table is there");
            let (region, key) = (regions[self.chance.below(regions.len() as u64) as usize].id, self.key());
            // The key may lie in another region, or be its first.
            let _ = self.database.split_region(self.table, region, Some(&key));
        }
    }

    fn columns(&mut self) -> Vec<ColumnRef> {
        let declared = self.schema.declared.clone();
        match self.chance.below(3) {
            0 => declared,
            _ => (0..self.chance.below(4)).map(|_| self.chance.one_of(&declared)).collect(),
        }
    }

    fn ranges(&mut self) -> Vec<KeyRange> {
        if self.chance.below(2) == 0 {
            return vec![KeyRange::all()];
        }
        let (a, b) = (self.key(), self.key());
        vec![KeyRange { start: a.clone().min(b.clone()).into(), end: Some(a.max(b).into()) }]
    }

    /// Rows as the visible cells of the same families make them.
    fn by_cells(&self, columns: &[ColumnRef], read: &[ColumnRef], ranges: Vec<KeyRange>) -> RecordBatch {
        let families = Some(families_of(&self.schema, read));
        let options = ScanOptions { ranges, families, ..ScanOptions::default() };
        let mut cells = self.database.snapshot().scan(self.table, &options).expect("the ranges are valid");
        let mut decoder = RowDecoder::of_columns(&self.schema, columns);
        while let Some(runs) = cells.next_runs().expect("memory does not fail") {
            runs.iter().for_each(|run| decoder.push(run).expect("the rows are sound"));
        }
        decoder.end().expect("the rows are sound");
        decoder.finish_batch().expect("the rows are sound")
    }

    fn scanned(&self, request: RowRequest, ranges: Vec<KeyRange>, parts: bool) -> RowBatches {
        let snapshot = self.database.snapshot();
        let scan = match parts {
            false => snapshot.rows(self.table, &self.schema, request, ranges),
            true => {
                let mut left = std::collections::VecDeque::from(ranges.clone());
                let next = move || left.pop_front().map(|range| vec![range]);
                snapshot.rows_in_parts(self.table, &self.schema, request, &ranges, next)
            }
        };
        scan.expect("the ranges are valid")
    }

    fn predicate(&mut self, depth: u32) -> Predicate {
        if depth > 0 && self.chance.below(2) == 0 {
            let parts = (0..self.chance.below(4)).map(|_| self.predicate(depth - 1)).collect();
            return if self.chance.below(3) > 0 { Predicate::All(parts) } else { Predicate::Any(parts) };
        }
        let column = self.chance.one_of(&self.schema.declared.clone());
        let (low, high) = match self.schema.sql_type(column) {
            SqlType::Integer
            | SqlType::BigInt
            | SqlType::TinyInt
            | SqlType::UnsignedInt
            | SqlType::UnsignedLong => {
                let mut number = || Operand::Integer(self.chance.below(40) as i64 - 20);
                (number(), number())
            }
            _ if self.chance.below(2) == 0 => return Predicate::Null(column),
            _ => return Predicate::not_null(column),
        };
        let mut end = |operand| match self.chance.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(operand),
            _ => Bound::Excluded(operand),
        };
        Predicate::Within(column, vec![ValueRange { low: end(low), high: end(high) }])
    }

    /// Whether a row of all columns in declared order satisfies a predicate.
    fn holds(&self, predicate: &Predicate, batch: &RecordBatch, row: usize) -> bool {
        let array = |column: &ColumnRef| {
            let at = self.schema.declared.iter().position(|declared| declared == column);
            batch.column(at.expect("all columns are there"))
        };
        match predicate {
            Predicate::All(parts) => parts.iter().all(|part| self.holds(part, batch, row)),
            Predicate::Any(parts) => parts.iter().any(|part| self.holds(part, batch, row)),
            Predicate::Null(column) => array(column).is_null(row),
            Predicate::Among(..) => unreachable!("no test makes one"),
            Predicate::Within(column, ranges) => {
                let array = array(column);
                !array.is_null(row) && (*ranges == [ValueRange::ALL] || is_inside(&ranges[0], array, row))
            }
        }
    }

    fn filtered(&self, predicate: &Predicate, batch: &RecordBatch) -> RecordBatch {
        let keep = (0..batch.num_rows()).map(|row| Some(self.holds(predicate, batch, row)));
        filter_record_batch(batch, &keep.collect::<BooleanArray>()).expect("as many rows")
    }
}

fn is_inside(range: &ValueRange, array: &ArrayRef, row: usize) -> bool {
    let numbers = cast(array, &DataType::Int64).expect("it is of integers");
    let value = numbers.as_primitive::<Int64Type>().value(row);
    let of = |end: &Bound<Operand>| {
        end.clone().map(|operand| match operand {
            Operand::Integer(number) => number,
            other => panic!("{other:?} is no integer"),
        })
    };
    std::ops::RangeBounds::contains(&(of(&range.low), of(&range.high)), &value)
}

/// The same rows in an order of their values.
fn sorted(batch: &RecordBatch) -> RecordBatch {
    let columns: Vec<SortColumn> = batch
        .columns()
        .iter()
        .map(|values| SortColumn { values: Arc::clone(values), options: None })
        .collect();
    if columns.is_empty() {
        return batch.clone();
    }
    let order = lexsort_to_indices(&columns, None).expect("all types have an order");
    take_record_batch(batch, &order).expect("they are there")
}

fn together(schema: SchemaRef, batches: impl Iterator<Item = RecordBatch>) -> RecordBatch {
    concat_batches(&schema, &batches.collect::<Vec<_>>()).expect("they share their schema")
}

#[test]
fn scans_of_random_tables_give_the_rows_that_their_cells_make() {
    let mut apart = 0;
    for seed in 0..SCHEMAS {
        let mut world = World::new(seed);
        for round in 0..ROUNDS {
            world.change(round);
            let (columns, ranges) = (world.columns(), world.ranges());
            let expected = world.by_cells(&columns, &columns, ranges.clone());
            let parts = world.chance.below(2) == 0;
            let skip = if parts { 0 } else { world.chance.below(expected.num_rows() as u64 + 2) };
            let batch_rows = world.chance.one_of(&[1, 100, 8192]);
            let request = RowRequest { skip, ..RowRequest::of_columns(&columns, batch_rows) };
            let scan = world.scanned(request, ranges.clone(), parts);
            apart += usize::from(matches!(scan, RowBatches::Apart(_)));
            let counters = Arc::clone(scan.counters());
            let schema = Arc::new(projected_schema(&world.schema, &columns));
            let found = together(schema, scan.map(|rows| rows.expect("the rows are sound").batch));
            let skip = expected.num_rows().min(skip as usize);
            let wanted = expected.slice(skip, expected.num_rows() - skip);
            assert_eq!(found, wanted, "schema {seed}, round {round}: {columns:?} in {ranges:?}");
            assert_eq!(counters.rows.load(Relaxed), wanted.num_rows() as u64, "schema {seed}, round {round}");
            let request = RowRequest { any_order: true, ..RowRequest::of_columns(&columns, batch_rows) };
            let scan = world.scanned(request, ranges.clone(), parts);
            let found = together(found.schema(), scan.map(|rows| rows.expect("the rows are sound").batch));
            assert_eq!(sorted(&found), sorted(&expected), "schema {seed}, round {round}, in any order");

            let (predicate, declared) = (world.predicate(2), world.schema.declared.clone());
            let expected = world.by_cells(&declared, &declared, ranges.clone());
            let known = Arc::new(predicate.clone());
            let condition = Condition {
                predicate: Box::new(move || Arc::clone(&known)),
                grows: world.chance.below(2) == 0,
                is_exact: true,
                columns: vec![],
            };
            let request = RowRequest { condition: Some(condition), ..RowRequest::of_columns(&declared, 100) };
            let scan = world.scanned(request, ranges.clone(), parts);
            let passed = scan.map(|rows| {
                let RowBatch { batch, passed } = rows.expect("the rows are sound");
                if passed { batch } else { world.filtered(&predicate, &batch) }
            });
            let found = together(Arc::new(projected_schema(&world.schema, &declared)), passed);
            let wanted = world.filtered(&predicate, &expected);
            assert_eq!(found, wanted, "schema {seed}, round {round}: {predicate:?} in {ranges:?}");
        }
    }
    assert!(apart > 50, "{apart} scans read families apart");
}
