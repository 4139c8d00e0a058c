// SPDX-License-Identifier: Apache-2.0
mod lookups;
mod predicates;

use std::ops::Bound as End;
use std::path::Path;
use std::sync::Mutex;

use arrow::array::{Array, Int32Array, StringViewArray};
use arrow::compute::concat_batches;
use basalt_hfile::predicate::{NumberSet, Operand, ValueRange};
use basalt_hfile::typed::{RowEncoder, arrow_schema, projected_schema};
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
use basalt_model::table::DeleteRule;
use basalt_model::{FamilyDescriptor, KeyRange, SqlType, TableDescriptor, TableId, TableName, WriteBatch};

use super::*;
use crate::read::CellColumns;
use crate::read::row_batches::RowBatches;
use crate::read::testing::memory_env;
use crate::{Database, Durability, OpenOptions};

/// K INTEGER, A.V VARCHAR, B.W INTEGER
fn schema() -> TableSchema {
    let columns = vec![
        ColumnDefinition::new("K", SqlType::Integer),
        ColumnDefinition::new("V", SqlType::Varchar(None)).in_family("A"),
        ColumnDefinition::new("W", SqlType::Integer).in_family("B"),
    ];
    TableSchema::try_new(SchemaDefinition::new(columns, vec![KeyPart::asc("K")]))
        .expect("the schema is valid")
}

struct Bench {
    database: Database,
    table: TableId,
    schema: TableSchema,
}

impl Bench {
    fn new() -> Self {
        let schema = schema();
        let options = OpenOptions { env: memory_env(), background: false, ..OpenOptions::create() };
        let database = Database::open(Path::new("/db"), options).expect("memory does not fail");
        let family = |name: &&str| FamilyDescriptor {
            delete_rule: DeleteRule::BySequence,
            block_bytes: 512,
            ..FamilyDescriptor::new(*name)
        };
        let descriptor = TableDescriptor {
            name: TableName::in_default("T"),
            families: schema.families().iter().map(family).collect(),
            schema: Some(schema.clone()),
            attributes: Default::default(),
            index: None,
        };
        let table = database.create_table(descriptor).expect("the table is valid");
        Self { database, table, schema }
    }

    /// UPSERT of (key, V, W).
    fn upsert(&self, rows: &[(i32, Option<&str>, Option<i32>)]) {
        let batch = RecordBatch::try_new(
            Arc::new(arrow_schema(&self.schema)),
            vec![
                Arc::new(Int32Array::from_iter(rows.iter().map(|row| Some(row.0)))),
                Arc::new(StringViewArray::from_iter(rows.iter().map(|row| row.1))),
                Arc::new(Int32Array::from_iter(rows.iter().map(|row| row.2))),
            ],
        );
        let batch = batch.expect("the arrays fit the schema");
        let mut out = WriteBatch::new();
        let mut encoder =
            RowEncoder::try_new(&self.schema, self.schema.declared_order()).expect("all columns");
        encoder.encode(&batch, self.table, i64::MAX, false, &mut out).expect("the rows are valid");
        self.database.write(out, Durability::Sync).expect("memory does not fail");
    }

    fn rows(&self, columns: &[&str], ranges: Vec<KeyRange>) -> RowBatches {
        let columns: Vec<ColumnRef> =
            columns.iter().map(|name| self.schema.find(None, name).expect("it is there")).collect();
        let snapshot = self.database.snapshot();
        let (schema, request) = (Arc::new(self.schema.clone()), RowRequest::of_columns(&columns, 100));
        snapshot.rows(self.table, &schema, request, ranges).expect("the ranges are valid")
    }

    fn read(&self, columns: &[&str], ranges: Vec<KeyRange>) -> RecordBatch {
        together(self.rows(columns, ranges))
    }
}

fn together(scan: RowBatches) -> RecordBatch {
    let batches = scan.map(|batch| batch.map(|batch| batch.batch));
    let batches: Vec<RecordBatch> = batches.collect::<Result<_>>().expect("the rows are sound");
    concat_batches(&batches[0].schema(), &batches).expect("they share their schema")
}

fn key(value: i32) -> Vec<u8> {
    (value ^ i32::MIN).to_be_bytes().to_vec()
}

fn ints(batch: &RecordBatch, column: usize) -> Vec<Option<i32>> {
    let array = batch.column(column).as_any().downcast_ref::<Int32Array>().expect("it is INTEGER");
    array.iter().collect()
}

#[test]
fn rows_come_from_memory_and_files_alike() {
    let bench = Bench::new();
    let rows: Vec<_> = (0..1000).map(|i| (i, Some("old"), (i % 3 > 0).then_some(i))).collect();
    bench.upsert(&rows);
    bench.database.flush(None).expect("memory does not fail");
    let newer: Vec<_> = (0..1000).step_by(10).map(|i| (i, None, Some(-i))).collect();
    bench.upsert(&newer);
    for flushed in [false, true] {
        let batch = bench.read(&["W", "V", "K"], vec![KeyRange::all()]);
        assert_eq!(batch.num_rows(), 1000, "flushed: {flushed}");
        let expected = |i: i32| if i % 10 == 0 { Some(-i) } else { (i % 3 > 0).then_some(i) };
        assert_eq!(ints(&batch, 0), (0..1000).map(expected).collect::<Vec<_>>());
        assert_eq!(batch.column(1).null_count(), 100);
        assert_eq!(ints(&batch, 2), (0..1000).map(Some).collect::<Vec<_>>());
        bench.database.flush(None).expect("memory does not fail");
    }
}

#[test]
fn ranges_columns_and_counts() {
    let bench = Bench::new();
    bench.upsert(&(0..500).map(|i| (i, Some("v"), None)).collect::<Vec<_>>());
    bench.database.flush(None).expect("memory does not fail");
    let range = |from, to| KeyRange { start: key(from).into(), end: Some(key(to).into()) };
    let batch = bench.read(&["K"], vec![range(3, 5), range(5, 6), range(400, 402)]);
    assert_eq!(ints(&batch, 0), [3, 4, 5, 400, 401].map(Some));
    let scan = bench.rows(&[], vec![KeyRange::all()]);
    let counters = Arc::clone(scan.counters());
    let counted: usize = scan.map(|batch| batch.expect("the rows are sound").batch.num_rows()).sum();
    assert_eq!((counted, counters.rows.load(Relaxed)), (500, 500));
}

/// One family in COLUMNAR: K INTEGER, V VARCHAR, W INTEGER, D DECIMAL(9,2)
fn columnar(rows_per_block: bool) -> (Database, TableId, TableSchema) {
    let columns = vec![
        ColumnDefinition::new("K", SqlType::Integer),
        ColumnDefinition::new("V", SqlType::Varchar(None)),
        ColumnDefinition::new("W", SqlType::Integer),
        ColumnDefinition::new("D", SqlType::Decimal(Some((9, 2)))),
    ];
    let schema = TableSchema::try_new(SchemaDefinition::new(columns, vec![KeyPart::asc("K")]));
    let schema = schema.expect("the schema is valid");
    let options = OpenOptions { env: memory_env(), background: false, ..OpenOptions::create() };
    let database = Database::open(Path::new("/db"), options).expect("memory does not fail");
    let family = |name: &&str| FamilyDescriptor {
        delete_rule: DeleteRule::BySequence,
        encoding: "COLUMNAR".into(),
        block_bytes: if rows_per_block { 64 } else { 65_536 },
        ..FamilyDescriptor::new(*name)
    };
    let descriptor = TableDescriptor {
        name: TableName::in_default("T"),
        families: schema.families().iter().map(family).collect(),
        schema: Some(schema.clone()),
        attributes: Default::default(),
        index: None,
    };
    let table = database.create_table(descriptor).expect("the table is valid");
    (database, table, schema)
}

/// Rows of a table by the cells that a scan shows: the plain way.
fn by_cells(database: &Database, table: TableId, schema: &TableSchema, ranges: Vec<KeyRange>) -> RecordBatch {
    let options = crate::ScanOptions { ranges, ..crate::ScanOptions::default() };
    let mut cells = database.snapshot().scan(table, &options).expect("the ranges are valid");
    let mut decoder = RowDecoder::of_columns(schema, schema.declared_order());
    while let Some(runs) = cells.next_runs().expect("memory does not fail") {
        runs.iter().for_each(|run| decoder.push(run).expect("the rows are sound"));
    }
    decoder.end().expect("the rows are sound");
    decoder.finish_batch().expect("the rows are sound")
}

fn straight(database: &Database, table: TableId, schema: &TableSchema, ranges: Vec<KeyRange>) -> RecordBatch {
    let request = RowRequest::of_columns(schema.declared_order(), 100);
    scanned(database, table, schema, request, ranges)
}

fn scanned(
    database: &Database,
    table: TableId,
    schema: &TableSchema,
    request: RowRequest,
    ranges: Vec<KeyRange>,
) -> RecordBatch {
    let snapshot = database.snapshot();
    let of_columns = Arc::new(projected_schema(schema, &request.columns));
    let scan =
        snapshot.rows(table, &Arc::new(schema.clone()), request, ranges).expect("the ranges are valid");
    let batches = scan.map(|batch| batch.map(|batch| batch.batch));
    let batches: Vec<RecordBatch> = batches.collect::<Result<_>>().expect("the rows are sound");
    concat_batches(&of_columns, &batches).expect("they share their schema")
}

/// The same rows by an INTEGER column, ascending.
fn in_order(batch: &RecordBatch, column: usize) -> RecordBatch {
    let order = arrow::compute::sort_to_indices(batch.column(column), None, None);
    arrow::compute::take_record_batch(batch, &order.expect("integers have an order")).expect("they are there")
}

/// W and K of the rows that satisfy a predicate on any column, by a scan that is told of it.
fn filtered(
    database: &Database,
    table: TableId,
    schema: &TableSchema,
    ranges: Vec<KeyRange>,
    predicate: &Predicate,
    (grows, any_order): (bool, bool),
) -> RecordBatch {
    let declared = schema.declared_order();
    let known = Arc::new(predicate.clone());
    let condition = Condition {
        predicate: Box::new(move || Arc::clone(&known)),
        grows,
        is_exact: true,
        columns: vec![declared[1], declared[3]],
    };
    let columns = vec![declared[2], declared[0]];
    let request =
        RowRequest { condition: Some(condition), any_order, ..RowRequest::of_columns(&columns, 100) };
    let snapshot = database.snapshot();
    let scan =
        snapshot.rows(table, &Arc::new(schema.clone()), request, ranges).expect("the ranges are valid");
    let narrow = Arc::new(arrow_schema(schema).project(&[2, 0]).expect("the columns are there"));
    let batches = scan.map(|rows| {
        let RowBatch { batch, passed } = rows.expect("the rows are sound");
        if passed {
            return batch;
        }
        let declared = batch.project(&[1, 2, 0, 3]).expect("all columns are there");
        predicates::filter(predicate, &declared)
    });
    let batches: Vec<RecordBatch> = batches.collect();
    let batch = concat_batches(&narrow, &batches).expect("they share their schema");
    if any_order { in_order(&batch, 1) } else { batch }
}

/// Splits or merges regions, compacts one of them, or does nothing.
fn change_regions(database: &Database, table: TableId, random: &mut impl FnMut(u64) -> u64) {
    let regions = database.regions(table).expect("the table is there");
    let at = random(regions.len() as u64) as usize;
    let region = regions[at].id;
    match random(4) {
        // A row outside of the region, or its first one.
        0 | 1 => drop(database.split_region(table, region, Some(&key(random(4000) as i32)))),
        2 => database.compact_region(table, region, true).expect("memory does not fail"),
        _ if at > 0 => {
            database.merge_regions(table, [regions[at - 1].id, region]).expect("they are neighbours");
        }
        _ => {}
    }
}

#[test]
fn row_groups_and_cells_give_the_same_rows() {
    for small_blocks in [false, true] {
        let (database, table, schema) = columnar(small_blocks);
        let mut chance = 7u64;
        let mut random = |below: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % below
        };
        let range = |from, to| KeyRange { start: key(from).into(), end: Some(key(to).into()) };
        for round in 0..12 {
            // The first flush is of rows that nothing overlaps, later ones overwrite and delete some.
            let mut out = WriteBatch::new();
            let count = if round == 0 { 3000 } else { random(400) + 1 };
            for at in 0..count {
                let number = if round == 0 { at as i32 } else { random(4000) as i32 };
                let mut row = out.row(table, &key(number)).expect("the row is valid");
                let (family, empty) = (schema.empty_family.as_bytes(), &schema.empty_qualifier);
                if round > 0 && random(9) == 0 {
                    row.delete(family, b"", i64::MAX, basalt_model::CellType::DeleteFamily)
                        .expect("it is valid");
                    row.finish();
                    continue;
                }
                row.put(family, empty, i64::MAX, b"x").expect("it is valid");
                let text = format!("text {}", random(50));
                if random(5) > 0 {
                    row.put(family, &schema.columns[0].qualifier, i64::MAX, text.as_bytes())
                        .expect("it is valid");
                }
                row.put(family, &schema.columns[1].qualifier, i64::MAX, &key(random(1000) as i32))
                    .expect("it is valid");
                if random(3) > 0 {
                    let value = basalt_model::Value::Decimal(basalt_model::types::Decimal::new(
                        random(9999).into(),
                        2,
                    ));
                    let mut bytes = vec![];
                    schema.columns[2]
                        .sql_type
                        .encode(Default::default(), &value, &mut bytes)
                        .expect("it fits");
                    row.put(family, &schema.columns[2].qualifier, i64::MAX, &bytes).expect("it is valid");
                }
                row.finish();
            }
            database.write(out, Durability::Sync).expect("memory does not fail");
            if round % 3 != 1 {
                database.flush(None).expect("memory does not fail");
            }
            if round % 4 == 3 {
                database.compact(Some(table), true).expect("memory does not fail");
            }
            change_regions(&database, table, &mut random);
            let (from, to) = (random(3000) as i32, random(3000) as i32);
            let ranges = vec![range(from.min(to), from.max(to) + 1), range(3500, 3600)];
            for ranges in [vec![KeyRange::all()], ranges, vec![range(5, 6)]] {
                let expected = by_cells(&database, table, &schema, ranges.clone());
                assert_eq!(straight(&database, table, &schema, ranges.clone()), expected, "round {round}");
                let some: Vec<usize> = [0].into_iter().chain(1 + random(4) as usize..4).collect();
                let columns: Vec<_> = some.iter().map(|&at| schema.declared_order()[at]).collect();
                let request = RowRequest { any_order: true, ..RowRequest::of_columns(&columns, 100) };
                let found = scanned(&database, table, &schema, request, ranges.clone());
                let wanted = expected.project(&some).expect("the columns are there");
                assert_eq!(in_order(&found, 0), wanted, "round {round}, columns {some:?}");
                for _ in 0..4 {
                    let predicate = predicates::any(&mut random, 3);
                    let wanted = predicates::filter(&predicate, &expected);
                    let how = (random(2) == 0, random(2) == 0);
                    let found = filtered(&database, table, &schema, ranges.clone(), &predicate, how);
                    assert_eq!(found, wanted, "round {round}, {predicate:?}, {how:?}");
                }
                let skip = random(expected.num_rows() as u64 + 2);
                let request = RowRequest { skip, ..RowRequest::of_columns(schema.declared_order(), 100) };
                let skip = expected.num_rows().min(skip as usize);
                let rest = expected.slice(skip, expected.num_rows() - skip);
                assert_eq!(scanned(&database, table, &schema, request, ranges), rest, "round {round}");
            }
        }
    }
}

/// Writes V of some rows, and W with it of those that are not there yet.
fn put_rows(database: &Database, table: TableId, schema: &TableSchema, rows: &[i32], is_new: bool) {
    let mut out = WriteBatch::new();
    let family = schema.empty_family.as_bytes();
    for number in rows {
        let mut row = out.row(table, &key(*number)).expect("the row is valid");
        row.put(family, &schema.empty_qualifier, i64::MAX, b"x").expect("it is valid");
        let text = format!("text {}", number % 7);
        row.put(family, &schema.columns[0].qualifier, i64::MAX, text.as_bytes()).expect("it is valid");
        if is_new {
            row.put(family, &schema.columns[1].qualifier, i64::MAX, &key(*number)).expect("it is valid");
        }
        row.finish();
    }
    database.write(out, Durability::Sync).expect("memory does not fail");
}

#[test]
fn rows_of_files_that_overlap_pass_as_columns_but_for_those_that_several_have() {
    let (database, table, schema) = columnar(false);
    let every = |step: usize, from: i32| (from..120_000).step_by(step).collect::<Vec<i32>>();
    // Two files with every other row each, and a third with few rows of both.
    for (rows, is_new) in [(every(2, 0), true), (every(2, 1), true), (every(101, 50), false)] {
        put_rows(&database, table, &schema, &rows, is_new);
        database.flush(None).expect("memory does not fail");
    }
    // A file with deletes, and a memtable with a row between and one behind all others.
    let mut out = WriteBatch::new();
    for number in every(997, 10) {
        let mut row = out.row(table, &key(number)).expect("the row is valid");
        let family = schema.empty_family.as_bytes();
        row.delete(family, b"", i64::MAX, basalt_model::CellType::DeleteFamily).expect("it is valid");
        row.finish();
    }
    database.write(out, Durability::Sync).expect("memory does not fail");
    database.flush(None).expect("memory does not fail");
    put_rows(&database, table, &schema, &[77, 200_000], true);

    let all = || vec![KeyRange::all()];
    let expected = by_cells(&database, table, &schema, all());
    assert_eq!(expected.num_rows(), 120_000 - every(997, 10).len() + 1);
    let asked = |any_order: bool, columns: &[ColumnRef]| {
        let request = RowRequest { any_order, ..RowRequest::of_columns(columns, 1000) };
        let schema = Arc::new(schema.clone());
        let scan = database.snapshot().rows(table, &schema, request, all()).expect("the ranges are valid");
        let counters = Arc::clone(scan.counters());
        (together(scan), counters.cells.load(Relaxed))
    };
    for any_order in [false, true] {
        let (found, cells) = asked(any_order, schema.declared_order());
        let found = if any_order { in_order(&found, 0) } else { found };
        assert_eq!(found, expected, "any order: {any_order}");
        // Rows of the third file and of the memtable, of three cells each, and what the deletes left of theirs, which is nothing.
        let most = 3 * (every(101, 50).len() + 2) as u64;
        assert!(cells > 0 && cells <= most, "{cells} cells, {most} are shared, any order: {any_order}");
    }
    assert_eq!(asked(false, &[]).0.num_rows(), expected.num_rows());
}

#[test]
fn a_condition_that_grows_ends_a_scan_amid_a_row_group() {
    let (database, table, schema) = columnar(false);
    let mut out = WriteBatch::new();
    for number in 0..20_000 {
        let mut row = out.row(table, &key(number)).expect("the row is valid");
        let (family, empty) = (schema.empty_family.as_bytes(), &schema.empty_qualifier);
        row.put(family, empty, i64::MAX, b"x").expect("the cell is valid");
        row.finish();
    }
    database.write(out, Durability::Sync).expect("memory does not fail");
    database.flush(None).expect("memory does not fail");
    for grows in [false, true] {
        let declared = schema.declared_order();
        let least = |value| {
            let low = End::Included(Operand::Integer(value));
            let wanted = vec![ValueRange { low, high: End::Unbounded }];
            Arc::new(Predicate::Within(declared[0], wanted))
        };
        let stated = Arc::new(Mutex::new(least(5)));
        let asked = Arc::clone(&stated);
        let condition = Condition {
            predicate: Box::new(move || Arc::clone(&asked.lock().expect("nobody panics"))),
            grows,
            is_exact: true,
            columns: Vec::new(),
        };
        let request =
            RowRequest { condition: Some(condition), ..RowRequest::of_columns(&declared[..1], 8192) };
        let all = vec![KeyRange::all()];
        let mut scan = database
            .snapshot()
            .rows(table, &Arc::new(schema.clone()), request, all)
            .expect("the ranges are valid");
        let counters = Arc::clone(scan.counters());
        let mut keys = || {
            let batch = scan.next()?.expect("the rows are sound").batch;
            Some(ints(&batch, 0).into_iter().flatten().collect::<Vec<i32>>())
        };
        let first = keys().expect("there are rows");
        *stated.lock().expect("nobody panics") = least(19_990);
        let rest: Vec<i32> = std::iter::from_fn(keys).flatten().collect();
        if grows {
            assert_eq!(first, (5..VECTOR as i32).collect::<Vec<_>>());
            assert_eq!(rest, (19_990..20_000).collect::<Vec<_>>());
            assert_eq!(counters.rows_skipped.load(Relaxed), 5 + 19_990 - VECTOR as u64);
        } else {
            // It is asked again only where a row group begins, and there is one.
            assert!(first.len() >= 8192, "{} rows", first.len());
            assert_eq!(first.len() + rest.len(), 20_000 - 5);
        }
    }
}

#[test]
fn a_count_reads_only_the_family_that_every_row_has() {
    let schema = schema();
    assert_eq!(families_of(&schema, &[]), ["A"]);
    assert_eq!(families_of(&schema, schema.declared_order()), ["A", "B"]);
}

#[test]
fn a_row_that_cannot_be_read_names_table_row_and_column() {
    let bench = Bench::new();
    bench.upsert(&[(1, Some("v"), Some(1))]);
    let mut damaged = WriteBatch::new();
    let mut row = damaged.row(bench.table, &key(2)).expect("the row is valid");
    row.put(b"B", &bench.schema.columns[1].qualifier, i64::MAX, b"no integer").expect("it is valid");
    row.finish();
    bench.database.write(damaged, Durability::Sync).expect("memory does not fail");
    let mut scan = bench.rows(&["W"], vec![KeyRange::all()]);
    let error = scan.next().expect("there is an error").expect_err("the value is too long");
    assert_eq!(error.to_string(), "table T holds a row that cannot be read");
    let source = std::error::Error::source(&error).expect("it says more").to_string();
    assert!(source.starts_with("column W of row \\x80\\x00\\x00\\x02: "), "{source}");
    assert!(scan.next().is_none());
}
