// SPDX-License-Identifier: Apache-2.0
use basalt_model::{CellType, FamilyDescriptor};

use super::*;
use crate::Env;
use crate::new_file::FileFactory;
use crate::read::testing::{Cell, access, cells_of, memory_env, sorted, store_file};

struct Bench {
    env: Env,
    target: FamilyTarget,
    rules: Rules,
}

impl Bench {
    fn new() -> Self {
        let env = memory_env();
        env.storage.create_dir("/".as_ref()).expect("memory does not fail");
        let family = FamilyDescriptor { block_bytes: 256, ..FamilyDescriptor::of_hbase("f") };
        let factory = Arc::new(FileFactory::new(env.clone(), "/db".into(), 1000));
        let target = factory.target("data/r", &family, None, false).expect("the family is valid");
        let rules = Rules::new(&family, 1_000);
        Self { env, target, rules }
    }

    fn spec(&self, inputs: Vec<Arc<StoreFile>>, purpose: Purpose) -> CompactionSpec {
        let (range, rules, target) = (KeyRange::all(), self.rules.clone(), self.target.clone());
        CompactionSpec { inputs, range, rules, purpose, target, file_bytes_max: FILE_BYTES }
    }

    fn run(&self, spec: &CompactionSpec) -> Vec<FinishedFile> {
        run(spec, &access(), &Control::default(), None).expect("memory does not fail")
    }

    fn cells(&self, file: &FinishedFile) -> Vec<Cell> {
        let file = StoreFile::new(self.env.clone(), file.path().to_owned(), "T".into(), file.meta.clone());
        let mut source = file_sources(&[Arc::new(file)], &access(), Seq(u64::MAX)).remove(0);
        let runs: Vec<_> = std::iter::from_fn(|| source.next_run(None).expect("it is sound")).collect();
        cells_of(&runs)
    }
}

const FILE_BYTES: u64 = 8 << 10;

fn rows(count: u64, step: usize, seq: u64) -> Vec<Cell> {
    (0..count).step_by(step).map(|i| Cell::put(&format!("row{i:05}"), "q", 1, seq + i)).collect()
}

#[test]
fn outputs_are_one_run_of_bounded_files() {
    let bench = Bench::new();
    let older = rows(1000, 1, 1);
    let newer: Vec<Cell> = rows(1000, 3, 5000);
    let inputs = vec![store_file(&bench.env, 1, &older), store_file(&bench.env, 2, &newer)];
    let outputs = bench.run(&bench.spec(inputs, Purpose::CompactSome));
    assert!(outputs.len() > 2);
    for pair in outputs.windows(2) {
        assert!(pair[0].meta.last_row < pair[1].meta.first_row);
    }
    for output in &outputs {
        assert!(output.meta.size_bytes < 3 * FILE_BYTES, "{} bytes", output.meta.size_bytes);
        assert_eq!((output.meta.seq_min, output.meta.seq_max), (Seq(1), Seq(5999)));
    }
    let kept: Vec<Cell> = outputs.iter().flat_map(|file| bench.cells(file)).collect();
    let newest = |old: Cell| newer.iter().find(|new| new.row == old.row).cloned().unwrap_or(old);
    assert_eq!(kept, older.into_iter().map(newest).collect::<Vec<_>>());
}

#[test]
fn a_row_is_never_cut_between_files() {
    let bench = Bench::new();
    let cells: Vec<Cell> = (0..2000).map(|i| Cell::put("one", &format!("q{i:05}"), 1, i)).collect();
    let outputs = bench.run(&bench.spec(vec![store_file(&bench.env, 1, &cells)], Purpose::CompactSome));
    assert_eq!(outputs.len(), 1);
    assert!(outputs[0].meta.size_bytes > 2 * FILE_BYTES);
    assert_eq!(bench.cells(&outputs[0]), cells);
}

#[test]
fn a_full_compaction_forgets_markers_and_sequence_numbers() {
    let bench = Bench::new();
    let cells = sorted(vec![
        Cell::put("a", "q", 1, 1),
        Cell::marker("a", "q", 1, CellType::DeleteColumn, 2),
        Cell::put("b", "q", 1, 3),
    ]);
    let outputs = bench.run(&bench.spec(vec![store_file(&bench.env, 1, &cells)], Purpose::CompactAll));
    assert_eq!(outputs[0].meta.deletes, 0);
    assert_eq!(bench.cells(&outputs[0]), [Cell { seq: 0, ..Cell::put("b", "q", 1, 3) }]);
}

#[test]
fn nothing_left_is_no_file() {
    let bench = Bench::new();
    let cells = vec![Cell::marker("a", "q", 1, CellType::DeleteColumn, 2), Cell::put("a", "q", 1, 1)];
    let outputs = bench.run(&bench.spec(vec![store_file(&bench.env, 1, &cells)], Purpose::CompactAll));
    assert!(outputs.is_empty());
}

#[test]
fn files_past_their_ttl_are_not_read() {
    let mut bench = Bench::new();
    bench.rules.timestamp_min = 5;
    let expired = store_file(&bench.env, 1, &rows(10, 1, 1));
    bench.env.storage.remove(expired.path()).expect("it is there");
    assert!(bench.run(&bench.spec(vec![expired], Purpose::CompactSome)).is_empty());
}

#[test]
fn a_cancelled_compaction_leaves_nothing_behind() {
    let bench = Bench::new();
    let control = Control::default();
    control.cancel();
    let spec = bench.spec(vec![store_file(&bench.env, 1, &rows(100, 1, 1))], Purpose::CompactSome);
    assert!(matches!(run(&spec, &access(), &control, None), Err(Error::Closed)));
    let left = bench.env.storage.list("/db/data/r/f".as_ref()).expect("the folder was made");
    assert_eq!(left, []);
}

#[test]
fn only_the_rows_of_the_region_are_rewritten() {
    let bench = Bench::new();
    let mut spec = bench.spec(vec![store_file(&bench.env, 1, &rows(100, 1, 1))], Purpose::CompactSome);
    spec.range = KeyRange { start: "row00010".into(), end: Some("row00020".into()) };
    let outputs = bench.run(&spec);
    assert_eq!(outputs.iter().map(|output| output.meta.rows).sum::<u64>(), 10);
}
