// SPDX-License-Identifier: Apache-2.0
use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_model::{CellType, FamilyDescriptor, KeyRange, TableName};
use proptest::prelude::*;

use super::*;
use crate::new_file::FileFactory;
use crate::read::testing::{Cell, access, cells_of, memory_env};
use crate::read::{CellScan, FamilyInput, RegionInput, Rules, StoreFile};

const TABLE: TableId = TableId(7);

fn family(name: &str) -> FamilyDescriptor {
    FamilyDescriptor { block_bytes: 256, versions_max: 100, ..FamilyDescriptor::new(name) }
}

fn start(env: &Env, memory_bytes: usize, file_bytes_max: u64) -> IngestWriter {
    start_with(env, memory_bytes, file_bytes_max, "NONE", Arc::default())
}

fn start_with(
    env: &Env,
    memory_bytes: usize,
    file_bytes_max: u64,
    encoding: &str,
    bounds: Arc<[Bytes]>,
) -> IngestWriter {
    start_by(env, memory_bytes, file_bytes_max, encoding, bounds, DeleteRule::ByTimestamp)
}

fn start_by(
    env: &Env,
    memory_bytes: usize,
    file_bytes_max: u64,
    encoding: &str,
    bounds: Arc<[Bytes]>,
    rule: DeleteRule,
) -> IngestWriter {
    let described = |name: &str| FamilyDescriptor { encoding: encoding.to_owned(), ..family(name) };
    env.storage.create_dir("/".as_ref()).expect("memory does not fail");
    let factory = Arc::new(FileFactory::new(env.clone(), "/db".into(), 1));
    let target = |name: &str| {
        (
            name.to_owned(),
            factory.target("data/r", &described(name), None, false).expect("the family is valid"),
            rule,
        )
    };
    let families = vec![target("a"), target("b")];
    let (env, table_name) = (env.clone(), TableName::in_default("T"));
    let spec = IngestSpec {
        env,
        table: TABLE,
        table_name,
        cell_bytes_max: 10 << 20,
        families,
        timestamp_min: 0,
        timestamp_fixed: None,
        memory_bytes,
        file_bytes_max,
        bounds,
    };
    IngestWriter::start(spec).expect("a thread can be started")
}

/// What a reader sees once run `i` is visible as commit `100 + i`.
fn read(env: &Env, ingested: &Ingested) -> Vec<Cell> {
    let mut families: BTreeMap<String, Vec<Arc<StoreFile>>> = BTreeMap::new();
    for (i, run) in ingested.runs.iter().enumerate() {
        for (family, file) in run {
            let seq = Seq(100 + i as u64);
            let meta =
                crate::FileMeta { seq_min: seq, seq_max: seq, seq_override: Some(seq), ..file.meta.clone() };
            let file = StoreFile::new(env.clone(), file.path().to_owned(), "T".into(), meta);
            families.entry(family.clone()).or_default().push(Arc::new(file));
        }
    }
    let input = |(name, files): (String, _)| FamilyInput {
        rules: Rules::new(&family(&name), 1_000),
        memtables: Vec::new(),
        files,
    };
    let region = RegionInput { range: KeyRange::all(), families: families.into_iter().map(input).collect() };
    let mut scan = CellScan::new(vec![region], vec![KeyRange::all()], access(), Seq(u64::MAX));
    let mut cells = Vec::new();
    while let Some(runs) = scan.next_runs().expect("the files are sound") {
        cells.extend(cells_of(&runs).into_iter().map(|cell| Cell { seq: 0, ..cell }));
    }
    cells
}

fn batch(rows: &[(&str, &str, &str, i64, &str)]) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for (row, family, qualifier, timestamp, value) in rows {
        let mut builder = batch.row(TABLE, row.as_bytes()).expect("the row is valid");
        builder
            .put(family.as_bytes(), qualifier.as_bytes(), *timestamp, value.as_bytes())
            .expect("it is valid");
        builder.finish();
    }
    batch
}

fn files_of(env: &Env) -> usize {
    let list =
        |name: &str| env.storage.list(format!("/db/data/r/{name}").as_ref()).map_or(0, |files| files.len());
    list("a") + list("b")
}

#[test]
fn sorted_rows_become_one_run_of_bounded_files() {
    let env = memory_env();
    let mut ingest = start(&env, 1 << 20, 4 << 10);
    for i in 0..20 {
        let rows: Vec<String> = (0..100).map(|j| format!("{:06}", i * 100 + j)).collect();
        let cells: Vec<_> = rows.iter().map(|row| (&row[..], "a", "q", 5, "value")).collect();
        ingest.add(batch(&cells)).expect("memory does not fail");
    }
    let ingested = ingest.finish().expect("memory does not fail");
    assert_eq!((ingested.runs.len(), ingested.rows, ingested.cells), (1, 2000, 2000));
    let run = &ingested.runs[0];
    assert!(run.len() > 5);
    assert!(run.windows(2).all(|pair| pair[0].1.meta.last_row < pair[1].1.meta.first_row));
    assert_eq!(read(&env, &ingested).len(), 2000);
}

#[test]
fn rows_that_ascend_by_chance_at_the_beginning_make_no_run_of_their_own() {
    let env = memory_env();
    let mut ingest = start(&env, 1 << 20, 1 << 20);
    for rows in [["a", "c", "e"], ["b", "d", "f"]] {
        ingest.add(batch(&rows.map(|row| (row, "a", "q", 5, "v")))).expect("memory does not fail");
    }
    let ingested = ingest.finish().expect("memory does not fail");
    assert_eq!(ingested.runs.len(), 1);
    assert_eq!(read(&env, &ingested).len(), 6);
}

#[test]
fn rows_by_column_are_rows_like_others() {
    let env = memory_env();
    let mut ingest = start_with(
        &env,
        8 << 20,
        64 << 20,
        "COLUMNAR",
        Arc::from([Bytes::from("000450"), Bytes::from("0007")]),
    );
    let value = "v".repeat(20_000);
    let by_column = |rows: &[String], value: &str| {
        let rows: Vec<&[u8]> = rows.iter().map(|row| row.as_bytes()).collect();
        let values = vec![value.as_bytes(); rows.len()];
        ColumnBatch::of_bytes(b"a", LATEST_TIMESTAMP, &rows, &[(b"p", values.clone()), (b"q", values)])
            .expect("rows ascend")
    };
    let rows = |numbers: std::ops::Range<usize>| numbers.map(|i| format!("{i:06}")).collect::<Vec<_>>();
    // Enough to begin a run, then behind it, over the end of a region, by cell, before all, and behind again.
    for first in (0..400).step_by(50) {
        ingest.add_columns(by_column(&rows(first..first + 50), &value)).expect("memory does not fail");
    }
    ingest.add_columns(by_column(&rows(400..440), "short")).expect("memory does not fail");
    ingest.add_columns(by_column(&rows(440..460), "short")).expect("memory does not fail");
    ingest
        .add(batch(&[("000460", "a", "q", 5, "v"), ("000461", "b", "q", 5, "v")]))
        .expect("memory does not fail");
    ingest.add_columns(by_column(&rows(470..480), "short")).expect("memory does not fail");
    ingest.add_columns(by_column(&rows(0..1), "again")).expect("memory does not fail");
    ingest.add_columns(by_column(&rows(480..490), "short")).expect("memory does not fail");
    let unknown = ColumnBatch::of_bytes(b"z", 1, &[b"999999"], &[]).expect("a row");
    assert_eq!(unknown.cells(), 0);
    let ingested = ingest.finish().expect("memory does not fail");
    assert_eq!((ingested.rows, ingested.cells), (483, 2 * 481 + 2));
    for (_, file) in ingested.runs.iter().flatten() {
        let same_region = |bound: &str| {
            (&file.meta.first_row[..] < bound.as_bytes()) == (&file.meta.last_row[..] < bound.as_bytes())
        };
        assert!(same_region("000450") && same_region("0007"));
    }
    let cells = read(&env, &ingested);
    assert_eq!(cells.len(), 2 * 480 + 2);
    let newest = cells.iter().filter(|cell| cell.row == b"000000").map(|cell| cell.value.clone());
    assert!(newest.take(1).eq([b"again".to_vec()]));
    assert!(cells.iter().all(|cell| cell.timestamp != LATEST_TIMESTAMP));
}

#[test]
fn sorted_rows_are_written_as_they_come() {
    let env = memory_env();
    let mut ingest = start(&env, 64 << 20, 64 << 20);
    let value = "v".repeat(10_000);
    for i in 0..1000 {
        ingest.add(batch(&[(&format!("{i:06}"), "a", "q", 5, &value)])).expect("memory does not fail");
    }
    // Ten megabytes are above the probe and far below the memory: only writing as they come explains a file.
    assert_eq!(files_of(&env), 1);
    assert_eq!(ingest.finish().expect("memory does not fail").runs.len(), 1);
}

#[test]
fn the_later_of_equal_cells_stays() {
    let env = memory_env();
    let mut ingest = start(&env, 1 << 20, 1 << 20);
    ingest.add(batch(&[("b", "a", "q", 5, "first"), ("a", "a", "q", 5, "x")])).expect("memory does not fail");
    ingest
        .add(batch(&[("b", "a", "q", 5, "second"), ("b", "a", "q", 5, "third")]))
        .expect("memory does not fail");
    let cells = read(&env, &ingest.finish().expect("memory does not fail"));
    let values: Vec<_> = cells.iter().map(|cell| String::from_utf8_lossy(&cell.value).into_owned()).collect();
    assert_eq!(values, ["x", "third"]);
}

/// A delete of a version and a put of it have one timestamp and one sequence number: the one that came last stays, by sequence.
#[test]
fn the_last_of_a_put_and_a_delete_stays_by_sequence() {
    let env = memory_env();
    for (rule, expected) in
        [(DeleteRule::BySequence, ["b put", "c put"].as_slice()), (DeleteRule::ByTimestamp, &["c put"])]
    {
        let mut ingest = start_by(&env, 1 << 20, 1 << 20, "NONE", Arc::default(), rule);
        let mut batch = WriteBatch::new();
        for (row, cell_type) in [
            ("a", CellType::Put),
            ("a", CellType::DeleteColumn),
            ("b", CellType::DeleteColumn),
            ("b", CellType::Put),
            ("c", CellType::Put),
        ] {
            let mut builder = batch.row(TABLE, row.as_bytes()).expect("the row is valid");
            let value: &[u8] = if cell_type.is_delete() { b"" } else { b"put" };
            builder.cell(b"a", b"q", 5, cell_type, value, b"").expect("it is valid");
            builder.finish();
        }
        ingest.add(batch).expect("memory does not fail");
        let ingested = ingest.finish().expect("memory does not fail");
        let cells = read(&env, &ingested);
        let found: Vec<String> = cells
            .iter()
            .map(|cell| {
                format!("{} {}", String::from_utf8_lossy(&cell.row), String::from_utf8_lossy(&cell.value))
            })
            .collect();
        assert_eq!(found, expected, "{rule:?}");
    }
}

#[test]
fn cells_without_a_timestamp_get_one() {
    let env = memory_env();
    let before = env.now_ms();
    let mut ingest = start(&env, 1 << 20, 1 << 20);
    let mut rows = WriteBatch::new();
    let mut row = rows.row(TABLE, b"r").expect("the row is valid");
    // The explicit version is newer than the clock, so stamping the other one changes their order.
    row.put(b"a", b"q", LATEST_TIMESTAMP, b"now").expect("it is valid");
    row.put(b"a", b"q", i64::MAX / 2, b"then").expect("it is valid");
    row.finish();
    ingest.add(rows).expect("memory does not fail");
    ingest.add(batch(&[("s", "b", "q", LATEST_TIMESTAMP, "now")])).expect("memory does not fail");
    let cells = read(&env, &ingest.finish().expect("memory does not fail"));
    let values: Vec<_> = cells.iter().map(|cell| &cell.value[..]).collect();
    assert_eq!(values, [&b"then"[..], b"now", b"now"]);
    for cell in &cells[1..] {
        assert!((before..=env.now_ms()).contains(&cell.timestamp));
    }
}

#[test]
fn tags_are_kept_and_begin_a_file() {
    let env = memory_env();
    // So little memory that the first row is in a file before tags appear.
    let mut ingest = start(&env, 1, 1 << 20);
    ingest.add(batch(&[("a", "a", "q", 5, "v")])).expect("memory does not fail");
    let tags = [0, 9, 8, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    let mut rows = WriteBatch::new();
    let mut row = rows.row(TABLE, b"b").expect("the row is valid");
    row.cell(b"a", b"q", 5, CellType::Put, b"v", &tags).expect("it is valid");
    row.finish();
    ingest.add(rows).expect("memory does not fail");
    let ingested = ingest.finish().expect("memory does not fail");
    let [(_, without), (_, with)] = &ingested.runs[0][..] else { panic!("the tags begin a file") };
    let open = |file: &FinishedFile| {
        StoreFile::new(env.clone(), file.path().to_owned(), "T".into(), file.meta.clone())
    };
    assert!(!open(without).reader().expect("it is sound").has_tags());
    let block = open(with).reader().expect("it is sound").read_block(0).expect("it is sound");
    assert_eq!(block.cell(0).tags, tags);
}

#[test]
fn a_dropped_ingest_leaves_nothing_behind() {
    let env = memory_env();
    let mut ingest = start(&env, 1 << 20, 1 << 20);
    ingest.add(batch(&[("a", "a", "q", 5, "v")])).expect("memory does not fail");
    drop(ingest);
    assert_eq!(files_of(&env), 0);
    let mut ingest = start(&env, 1 << 20, 1 << 20);
    ingest.add(batch(&[("a", "a", "q", 5, "v"), ("b", "b", "q", 5, "v")])).expect("memory does not fail");
    let ingested = ingest.finish().expect("memory does not fail");
    assert_eq!(files_of(&env), 2);
    drop(ingested);
    assert_eq!(files_of(&env), 0);
}

#[test]
fn an_unknown_family_and_a_foreign_table_are_refused_by_name() {
    let env = memory_env();
    let mut ingest = start(&env, 1 << 20, 1 << 20);
    ingest.add(batch(&[("a", "nope", "q", 5, "v")])).expect("the thread finds out");
    let error = ingest.finish().err().expect("there is no such family");
    assert_eq!(error.to_string(), "table T has no column family \"nope\"");
    assert_eq!(files_of(&env), 0);

    let mut ingest = start(&env, 1 << 20, 1 << 20);
    let mut rows = WriteBatch::new();
    let mut row = rows.row(TableId(8), b"r").expect("the row is valid");
    row.put(b"a", b"q", 1, b"v").expect("it is valid");
    row.finish();
    ingest.add(rows).expect("the thread finds out");
    let error = ingest.finish().err().expect("the table is another one");
    assert_eq!(error.to_string(), "a row of table 8 was added to an ingest into table 7");
}

#[test]
fn an_error_ends_the_ingest() {
    let env = memory_env();
    let mut ingest = start(&env, 1, 1 << 20);
    let failed = (0..100).map(|_| ingest.add(batch(&[("a", "nope", "q", 5, "v")]))).find(Result::is_err);
    assert!(failed.is_some(), "the queue is bounded, so the failure must show");
    assert!(ingest.finish().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_order_reads_as_if_written_one_by_one(
        rows in prop::collection::vec((0..40u8, prop::bool::ANY, 0..3u8, 0..3i64, prop::bool::weighted(0.1)), 0..200),
        batch_rows in 1..30usize, memory_bytes in 1..4000usize, sorted in any::<bool>(),
    ) {
        let mut rows: Vec<_> = rows.into_iter().enumerate().collect();
        if sorted {
            rows.sort_by_key(|(_, row)| row.0);
        }
        let env = memory_env();
        let mut ingest = start(&env, memory_bytes, 1 << 10);
        let mut model = BTreeMap::new();
        for rows in rows.chunks(batch_rows) {
            let mut batch = WriteBatch::new();
            for (i, (row, in_b, qualifier, timestamp, delete)) in rows {
                let row = format!("row{row:02}");
                let family = if *in_b { "b" } else { "a" };
                let qualifier = format!("q{qualifier}");
                let put = Cell { family: family.into(), value: i.to_string().into(), ..Cell::put(&row, &qualifier, *timestamp, 0) };
                let cell = if *delete { Cell { cell_type: CellType::Delete, ..put } } else { put };
                let mut builder = batch.row(TABLE, row.as_bytes()).expect("the row is valid");
                builder.cell(&cell.family, &cell.qualifier, *timestamp, cell.cell_type, &cell.value, b"").expect("it is valid");
                builder.finish();
                // A delete of one version hides the put of the same timestamp, also one that comes later.
                let key = (row, family, qualifier, std::cmp::Reverse(*timestamp));
                let before: Option<Cell> = model.get(&key).cloned();
                if before.is_none_or(|before| !before.cell_type.is_delete()) {
                    model.insert(key, cell);
                }
            }
            ingest.add(batch).expect("memory does not fail");
        }
        let ingested = ingest.finish().expect("memory does not fail");
        let expected: Vec<Cell> = model.into_values().filter(|cell| !cell.cell_type.is_delete()).collect();
        prop_assert_eq!(read(&env, &ingested), expected);
    }
}
