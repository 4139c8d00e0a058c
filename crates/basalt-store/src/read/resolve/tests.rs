// SPDX-License-Identifier: Apache-2.0
use basalt_model::{CellType, KeyRange};
use proptest::prelude::*;

use super::*;
use crate::read::merge::Merge;
use crate::read::source::RunList;
use crate::read::testing::{Cell, cells_of, runs, sorted};

fn rules() -> Rules {
    Rules::new(&FamilyDescriptor::new("f"), 1_000)
}

fn by_sequence() -> Rules {
    Rules { delete_rule: DeleteRule::BySequence, ..rules() }
}

/// Merges sources, newest first, cut into blocks of `block_cells`, and resolves them.
fn resolve(sources: &[Vec<Cell>], block_cells: usize, rules: &Rules, purpose: Purpose) -> Vec<Cell> {
    let lists = sources.iter().map(|cells| RunList::new(runs(&sorted(cells.clone()), block_cells))).collect();
    let mut merge = Merge::new(lists);
    merge.seek(&KeyRange::all());
    let mut resolver = Resolver::new(rules.clone(), purpose);
    let mut out = Vec::new();
    while let Some(stretch) = merge.next().expect("memory does not fail") {
        resolver.push(&stretch, &mut out);
    }
    cells_of(&out)
}

/// True if a marker names the version of a put, whenever it was written.
fn covers(marker: &Cell, put: &Cell) -> bool {
    let column = marker.qualifier == put.qualifier;
    marker.row == put.row
        && match marker.cell_type {
            CellType::DeleteFamily => put.timestamp <= marker.timestamp,
            CellType::DeleteFamilyVersion => put.timestamp == marker.timestamp,
            CellType::DeleteColumn => column && put.timestamp <= marker.timestamp,
            CellType::Delete => column && put.timestamp == marker.timestamp,
            CellType::Put => false,
        }
}

fn same_column(a: &Cell, b: &Cell) -> bool {
    a.row == b.row && a.qualifier == b.qualifier
}

/// By timestamp: the puts that no marker names, the last of each timestamp.
fn puts_by_timestamp<'a>(all: &[&'a Cell]) -> Vec<&'a Cell> {
    let named = |put: &Cell| all.iter().any(|marker| covers(marker, put));
    let puts: Vec<&Cell> =
        all.iter().filter(|cell| !cell.cell_type.is_delete() && !named(cell)).copied().collect();
    let overwritten = |put: &Cell| {
        puts.iter().any(|o| same_column(o, put) && o.timestamp == put.timestamp && o.seq > put.seq)
    };
    puts.iter().filter(|put| !overwritten(put)).copied().collect()
}

/// By sequence: one write after the other, each followed by a compaction of everything.
fn puts_by_sequence<'a>(all: &[&'a Cell], versions_kept: u32) -> Vec<&'a Cell> {
    let mut writes = all.to_vec();
    writes.sort_by_key(|cell| cell.seq);
    let mut there: Vec<&Cell> = Vec::new();
    for write in writes {
        there.retain(|put| !covers(write, put));
        if write.cell_type.is_delete() {
            continue;
        }
        there.retain(|put| !(same_column(put, write) && put.timestamp == write.timestamp));
        there.push(write);
        let mut column: Vec<i64> =
            there.iter().filter(|put| same_column(put, write)).map(|put| put.timestamp).collect();
        column.sort_unstable();
        if let Some(oldest) = column.len().checked_sub(versions_kept as usize).map(|at| column[at]) {
            there.retain(|put| !same_column(put, write) || put.timestamp >= oldest);
        }
    }
    there
}

/// What a reader sees, stated per put over all cells of its row: no order of evaluation, no early end.
pub(crate) fn oracle(all: &[Cell], rules: &Rules) -> Vec<Cell> {
    let alive = |cell: &&Cell| rules.versions_min > 0 || cell.timestamp >= rules.timestamp_min;
    let all: Vec<&Cell> = all.iter().filter(alive).collect();
    let there = match rules.delete_rule {
        DeleteRule::ByTimestamp => puts_by_timestamp(&all),
        DeleteRule::BySequence => puts_by_sequence(&all, rules.versions_kept),
    };
    let rank = |put: &Cell| {
        1 + there.iter().filter(|o| same_column(o, put) && o.timestamp > put.timestamp).count() as u32
    };
    let kept = there.iter().filter(|put| {
        let rank = rank(put);
        rank <= rules.versions_max && (rank <= rules.versions_min || put.timestamp >= rules.timestamp_min)
    });
    sorted(kept.map(|&put| put.clone()).collect())
}

#[test]
fn the_newest_version_is_visible() {
    let cells = vec![Cell::put("r", "q", 1, 1), Cell::put("r", "q", 3, 2), Cell::put("r", "q", 2, 3)];
    assert_eq!(resolve(&[cells], 8, &rules(), Purpose::Read), [Cell::put("r", "q", 3, 2)]);
}

#[test]
fn of_equal_timestamps_the_later_write_is_visible() {
    let sources = [vec![Cell::put("r", "q", 1, 2)], vec![Cell::put("r", "q", 1, 1)]];
    assert_eq!(resolve(&sources, 8, &rules(), Purpose::Read), [Cell::put("r", "q", 1, 2)]);
}

#[test]
fn by_timestamp_a_marker_hides_a_later_put() {
    let sources =
        [vec![Cell::put("r", "q", 1, 9)], vec![Cell::marker("r", "q", 5, CellType::DeleteColumn, 1)]];
    assert_eq!(resolve(&sources, 8, &rules(), Purpose::Read), []);
    assert_eq!(resolve(&sources, 8, &by_sequence(), Purpose::Read), [Cell::put("r", "q", 1, 9)]);
}

#[test]
fn a_row_goes_on_over_blocks() {
    // The second block is plain by itself, but its first cell is an older version of the first block's last.
    let cells = vec![Cell::put("r", "a", 2, 2), Cell::put("r", "a", 1, 1), Cell::put("s", "a", 1, 1)];
    let expected = [Cell::put("r", "a", 2, 2), Cell::put("s", "a", 1, 1)];
    assert_eq!(resolve(&[cells], 1, &rules(), Purpose::Read), expected);
    let family = Cell::marker("r", "", 9, CellType::DeleteFamily, 5);
    let cells = vec![family, Cell::put("r", "a", 2, 2), Cell::put("r", "b", 1, 1), Cell::put("s", "a", 1, 1)];
    assert_eq!(resolve(&[cells], 2, &rules(), Purpose::Read), [Cell::put("s", "a", 1, 1)]);
}

#[test]
fn a_ttl_ends_versions_beyond_the_minimum() {
    let cells: Vec<Cell> = (1..=4).map(|t| Cell::put("r", "q", t * 100, t as u64)).collect();
    let rules = Rules { timestamp_min: 350, versions_max: 5, versions_min: 2, ..rules() };
    let expected = [Cell::put("r", "q", 400, 4), Cell::put("r", "q", 300, 3)];
    assert_eq!(resolve(std::slice::from_ref(&cells), 8, &rules, Purpose::Read), expected);
    let rules = Rules { versions_min: 0, ..rules };
    assert_eq!(resolve(&[cells], 8, &rules, Purpose::Read), expected[..1]);
}

#[test]
fn a_cell_with_a_ttl_tag_goes_alone() {
    let mut run = runs(&[Cell::put("r", "a", 900, 1), Cell::put("r", "b", 900, 1)], 2).remove(0);
    let block = Arc::make_mut(&mut run.block);
    block.tags = crate::tags::of_ttl(99).into();
    block.slots[0].tags_len = 11;
    let mut out = Vec::new();
    let stretch = Stretch { run, lone: true, timestamp_min: 900, in_memory: false };
    Resolver::new(rules(), Purpose::Read).push(&stretch, &mut out);
    assert_eq!(cells_of(&out), [Cell::put("r", "b", 900, 1)]);
}

#[test]
fn a_partial_compaction_keeps_markers_and_a_full_one_does_not() {
    let marker = Cell::marker("r", "q", 2, CellType::DeleteColumn, 5);
    let cells = vec![Cell::put("r", "q", 3, 3), marker.clone(), Cell::put("r", "q", 1, 1)];
    let put = Cell::put("r", "q", 3, 3);
    assert_eq!(
        resolve(std::slice::from_ref(&cells), 8, &rules(), Purpose::CompactSome),
        [put.clone(), marker]
    );
    assert_eq!(resolve(&[cells], 8, &rules(), Purpose::CompactAll), [put]);
}

#[test]
fn keep_deleted_cells_keeps_what_a_marker_hides() {
    let marker = Cell::marker("r", "q", 2, CellType::DeleteColumn, 5);
    let cells = vec![marker.clone(), Cell::put("r", "q", 1, 1)];
    let rules = Rules { keep_deleted_cells: KeepDeletedCells::True, ..rules() };
    assert_eq!(resolve(std::slice::from_ref(&cells), 8, &rules, Purpose::CompactAll), cells);
    assert_eq!(resolve(&[cells], 8, &rules, Purpose::Read), []);
}

#[test]
fn by_sequence_a_version_that_was_displaced_stays_so_when_the_one_above_is_deleted() {
    let cells = vec![
        Cell::put("r", "q", 1, 1),
        Cell::put("r", "q", 2, 2),
        Cell::marker("r", "q", 2, CellType::Delete, 3),
        Cell::put("r", "p", 1, 5),
        Cell::put("r", "p", 2, 2),
        Cell::marker("r", "p", 2, CellType::Delete, 3),
    ];
    let later = Cell::put("r", "p", 1, 5);
    let read = resolve(std::slice::from_ref(&cells), 8, &by_sequence(), Purpose::Read);
    assert_eq!(read, std::slice::from_ref(&later));
    // The deleted version stays, to displace what lies in other files.
    let some = resolve(&[cells[..1].to_vec(), cells[1..3].to_vec()], 8, &by_sequence(), Purpose::CompactSome);
    assert_eq!(some, sorted(cells[1..3].to_vec()));
    let two = Rules { versions_kept: 2, ..by_sequence() };
    let bared = Cell::put("r", "q", 1, 1);
    assert_eq!(resolve(&[cells], 8, &two, Purpose::Read), [later, bared]);
}

#[test]
fn a_partial_compaction_by_sequence_keeps_a_version_that_a_marker_elsewhere_may_bare() {
    // A marker of sequence 11 and timestamp 3, in another file, hides the put of 3 but not that of 2.
    let inputs = vec![Cell::put("r", "q", 3, 10), Cell::put("r", "q", 2, 12)];
    assert_eq!(resolve(std::slice::from_ref(&inputs), 8, &by_sequence(), Purpose::CompactSome), inputs);
    let dominated = vec![Cell::put("r", "q", 3, 10), Cell::put("r", "q", 2, 9)];
    assert_eq!(resolve(&[dominated], 8, &by_sequence(), Purpose::CompactSome), [Cell::put("r", "q", 3, 10)]);
}

/// Writes in commit order; the index in the list is the sequence number.
fn writes(markers: &'static [CellType]) -> impl Strategy<Value = Vec<Cell>> {
    let cell_type = prop_oneof![6 => Just(CellType::Put), 2 => prop::sample::select(markers)];
    let write = (0..5u8, 0..4u8, 0..6i64, cell_type);
    prop::collection::vec(write, 0..60).prop_map(|writes| {
        let cell = |(i, (row, qualifier, timestamp, cell_type)): (usize, (u8, u8, i64, CellType))| {
            let row = char::from(b'a' + row).to_string();
            let qualifier = ["", "x", "xy", "z"][qualifier as usize];
            match cell_type {
                CellType::Put => Cell::put(&row, qualifier, timestamp, i as u64),
                marker => Cell::marker(&row, qualifier, timestamp, marker, i as u64),
            }
        };
        writes.into_iter().enumerate().map(cell).collect()
    })
}

const ALL_MARKERS: &[CellType] =
    &[CellType::Delete, CellType::DeleteColumn, CellType::DeleteFamily, CellType::DeleteFamilyVersion];
const RANGE_MARKERS: &[CellType] = &[CellType::DeleteColumn, CellType::DeleteFamily];

fn any_rules() -> impl Strategy<Value = Rules> {
    let delete_rule = prop_oneof![Just(DeleteRule::ByTimestamp), Just(DeleteRule::BySequence)];
    (1..4u32, 0..3u32, prop_oneof![2 => Just(i64::MIN), 1 => 0..7i64], delete_rule).prop_map(
        |(versions_max, versions_min, timestamp_min, delete_rule)| Rules {
            versions_max,
            versions_kept: versions_max,
            versions_min: versions_min.min(versions_max),
            timestamp_min,
            delete_rule,
            ..rules()
        },
    )
}

/// Cuts writes into `count` sources, the newest first.
fn split(writes: &[Cell], count: usize) -> Vec<Vec<Cell>> {
    writes.chunks(writes.len().div_ceil(count).max(1)).rev().map(<[Cell]>::to_vec).collect()
}

proptest! {
    #[test]
    fn reading_agrees_with_the_oracle(
        writes in writes(ALL_MARKERS), rules in any_rules(), sources in 1..5usize, block_cells in 1..9usize,
        snapshot in 0..60usize, versions_wanted in 1..4u32,
    ) {
        let rules = Rules { versions_max: versions_wanted.min(rules.versions_kept), ..rules };
        let seen = &writes[..snapshot.min(writes.len())];
        let read = resolve(&split(seen, sources), block_cells, &rules, Purpose::Read);
        prop_assert_eq!(read, oracle(seen, &rules));
    }

    #[test]
    fn compacting_everything_changes_no_answer(
        writes in writes(ALL_MARKERS), rules in any_rules(), sources in 1..5usize, block_cells in 1..9usize,
    ) {
        let sources = split(&writes, sources);
        let compacted = resolve(&sources, block_cells, &rules, Purpose::CompactAll);
        prop_assert!(compacted.iter().all(|cell| !cell.cell_type.is_delete()));
        prop_assert_eq!(&compacted, &oracle(&writes, &rules));
        prop_assert_eq!(resolve(&[compacted], block_cells, &rules, Purpose::Read), oracle(&writes, &rules));
    }

    #[test]
    fn compacting_some_changes_no_answer(
        writes in writes(RANGE_MARKERS), rules in any_rules(), sources in 2..6usize, block_cells in 1..9usize,
        chosen in prop::collection::vec(any::<bool>(), 6),
    ) {
        let (mut inputs, mut rest) = (Vec::new(), Vec::new());
        for (i, source) in split(&writes, sources).into_iter().enumerate() {
            if chosen[i] { inputs.push(source) } else { rest.push(source) }
        }
        rest.push(resolve(&inputs, block_cells, &rules, Purpose::CompactSome));
        let read = resolve(&rest, block_cells, &rules, Purpose::Read);
        prop_assert_eq!(read, oracle(&writes, &rules));
    }

    #[test]
    fn compacting_some_keeps_single_version_deletes_right_by_sequence_or_while_no_version_is_too_many(
        writes in writes(ALL_MARKERS), rules in any_rules(), sources in 2..6usize, block_cells in 1..9usize,
        chosen in prop::collection::vec(any::<bool>(), 6),
    ) {
        let rules = match rules.delete_rule {
            DeleteRule::ByTimestamp => Rules { versions_max: 100, versions_kept: 100, versions_min: 0, ..rules },
            DeleteRule::BySequence => rules,
        };
        let (mut inputs, mut rest) = (Vec::new(), Vec::new());
        for (i, source) in split(&writes, sources).into_iter().enumerate() {
            if chosen[i] { inputs.push(source) } else { rest.push(source) }
        }
        rest.push(resolve(&inputs, block_cells, &rules, Purpose::CompactSome));
        let read = resolve(&rest, block_cells, &rules, Purpose::Read);
        prop_assert_eq!(read, oracle(&writes, &rules));
    }
}
