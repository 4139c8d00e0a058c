// SPDX-License-Identifier: Apache-2.0
use basalt_model::{CellType, FamilyDescriptor};
use proptest::prelude::*;

use super::*;
use crate::read::source::RunList;
use crate::read::testing::{Cell, access, cells_of, memory_env, runs, sorted, store_file};
use crate::read::{BoxedSource, Rules, get_row};

fn rules() -> Rules {
    Rules::new(&FamilyDescriptor::new("f"), 1_000)
}

fn scan_all(mut scan: CellScan) -> Vec<Cell> {
    let mut seen = Vec::new();
    while let Some(runs) = scan.next_runs().expect("memory does not fail") {
        assert!(!runs.is_empty());
        seen.extend(cells_of(&runs));
    }
    seen
}

/// A family whose writes, in commit order, lie in up to three files and a memtable.
struct Family {
    writes: Vec<Cell>,
    files: Vec<Arc<crate::read::StoreFile>>,
}

impl Family {
    fn new(env: &crate::Env, name: &'static str, first_id: u64, writes: Vec<Cell>) -> Self {
        let writes: Vec<Cell> = writes.into_iter().map(|cell| Cell { family: name.into(), ..cell }).collect();
        let flushed = writes.len() / 4 * 3;
        let pieces = writes[..flushed].chunks((flushed / 3).max(1)).enumerate();
        let files =
            pieces.map(|(i, cells)| store_file(env, first_id + i as u64, &sorted(cells.to_vec()))).collect();
        Self { writes, files }
    }

    fn input(&self, seq_max: Seq) -> FamilyInput {
        let visible = |cell: &&Cell| cell.seq <= seq_max.0;
        let unflushed = self.writes[self.writes.len() / 4 * 3..].iter().filter(visible).cloned();
        let memtable = RunList::new(runs(&sorted(unflushed.collect()), 5));
        let source = move || -> BoxedSource { Box::new(memtable.clone()) };
        FamilyInput { rules: rules(), memtables: vec![Arc::new(source)], files: self.files.clone() }
    }

    /// Newest visible put per column, by the plain way of the resolver's own tests.
    fn expected(&self, seq_max: Seq) -> Vec<Cell> {
        let seen = self.writes.iter().filter(|cell| cell.seq <= seq_max.0).cloned().collect();
        crate::read::resolve::tests::oracle(&sorted(seen), &rules())
    }
}

fn write() -> impl Strategy<Value = (u8, u8, i64, bool)> {
    (0..30u8, 0..3u8, 0..6i64, prop::bool::weighted(0.2))
}

fn to_cells(writes: Vec<(u8, u8, i64, bool)>) -> Vec<Cell> {
    let cell = |(i, (row, qualifier, timestamp, delete))| {
        let (row, qualifier) = (format!("row{row:02}"), format!("q{qualifier}"));
        let seq = i as u64 + 1;
        if delete {
            Cell::marker(&row, &qualifier, timestamp, CellType::DeleteColumn, seq)
        } else {
            Cell::put(&row, &qualifier, timestamp, seq)
        }
    };
    writes.into_iter().enumerate().map(cell).collect()
}

fn ranges() -> impl Strategy<Value = Vec<KeyRange>> {
    prop::collection::btree_set(0..31u8, 0..6).prop_map(|bounds| {
        let row = |bound: u8| bytes::Bytes::from(format!("row{bound:02}"));
        let bounds: Vec<u8> = bounds.into_iter().collect();
        let range = |pair: &[u8]| KeyRange { start: row(pair[0]), end: pair.get(1).map(|&end| row(end)) };
        bounds.chunks(2).map(range).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scans_and_lookups_agree_with_the_oracle(
        a in prop::collection::vec(write(), 0..120), b in prop::collection::vec(write(), 0..60),
        ranges in ranges(), snapshot in 0..130u64, two in any::<bool>(), split in 0..31u8,
    ) {
        let env = memory_env();
        let mut families = vec![Family::new(&env, "a", 1, to_cells(a))];
        if two {
            families.push(Family::new(&env, "b", 11, to_cells(b)));
        }
        let seq_max = Seq(snapshot);
        let expected: Vec<Cell> = sorted(families.iter().flat_map(|family| family.expected(seq_max)).collect());
        let inputs = || families.iter().map(|family| family.input(seq_max)).collect::<Vec<_>>();

        let middle = bytes::Bytes::from(format!("row{split:02}"));
        let regions = || vec![
            RegionInput { range: KeyRange { start: "".into(), end: Some(middle.clone()) }, families: inputs() },
            RegionInput { range: KeyRange { start: middle.clone(), end: None }, families: inputs() },
        ];
        let all = scan_all(CellScan::new(regions(), vec![KeyRange::all()], access(), seq_max));
        prop_assert_eq!(&all, &expected);

        let some = scan_all(CellScan::new(regions(), ranges.clone(), access(), seq_max));
        let wanted = |cell: &&Cell| ranges.iter().any(|range| range.contains(&cell.row));
        prop_assert_eq!(some, expected.iter().filter(wanted).cloned().collect::<Vec<_>>());

        let access = access();
        for row in 0..31u8 {
            let row = format!("row{row:02}");
            let found = cells_of(&get_row(inputs(), row.as_bytes(), &access, seq_max).expect("memory does not fail"));
            let of_row: Vec<Cell> = expected.iter().filter(|cell| cell.row == row.as_bytes()).cloned().collect();
            prop_assert_eq!(found, of_row);
        }
    }
}

#[test]
fn a_lone_source_is_handed_on_block_by_block() {
    let env = memory_env();
    let cells: Vec<Cell> = (0..1000).map(|i| Cell::put(&format!("row{i:05}"), "q", 1, i)).collect();
    let file = store_file(&env, 1, &cells);
    let blocks = file.reader().expect("it is sound").block_count().expect("it is sound");
    let input = FamilyInput { rules: rules(), memtables: Vec::new(), files: vec![file] };
    let region = RegionInput { range: KeyRange::all(), families: vec![input] };
    let mut scan = CellScan::new(vec![region], vec![KeyRange::all()], access(), Seq(u64::MAX));
    let runs = scan.next_runs().expect("memory does not fail").expect("there are cells");
    assert_eq!(runs.len(), blocks);
    assert!(runs.iter().all(|run| run.cells == (0..run.block.len())));
    assert!(scan.next_runs().expect("memory does not fail").is_none());
}
