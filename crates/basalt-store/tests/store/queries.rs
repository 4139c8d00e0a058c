// SPDX-License-Identifier: Apache-2.0
//! Random gets and scans against a model that looks at every cell ever written, before and after flushes,
//! compactions and reopenings.
//!
//! The model: a put shows unless a marker covers it, of cells with one key the last counts, then the wanted times,
//! columns, the filter, the wanted versions, in this order.

use basalt_model::filter::{Comparator, CompareOp, Filter};
use basalt_model::operation::DeletePart;
use basalt_model::{Delete, FamilyDescriptor, Get, Put, Scan, TableDescriptor, TableName};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Row, Table};

use crate::support::*;

const ROWS: [&str; 6] = ["a", "ab", "b", "ba", "c", "d"];
const FAMILIES: [&str; 2] = ["f", "g"];
const QUALIFIERS: [&str; 4] = ["p", "q", "qa", "r"];

/// A cell by value: row, family, qualifier, timestamp, value.
type Cell = (&'static str, &'static str, &'static str, i64, String);

#[derive(Debug, Clone)]
enum Written {
    Put(Cell),
    /// Row, family, qualifier (`None`: all), timestamp, and whether older ones go as well.
    Marker(&'static str, &'static str, Option<&'static str>, i64, bool),
}

/// What a reader wants.
#[derive(Debug, Clone)]
struct Wanted {
    low: Option<(&'static str, bool)>,
    high: Option<(&'static str, bool)>,
    reversed: bool,
    limit: Option<u64>,
    versions: u32,
    times: (i64, i64),
    column: Option<(&'static str, &'static str)>,
    filter: Option<Filter>,
    family_limit: Option<u32>,
    family_offset: u32,
}

#[derive(Default)]
struct Model(Vec<Written>);

impl Model {
    fn hides(&self, (row, family, qualifier, timestamp, _): &Cell) -> bool {
        self.0.iter().any(|written| match written {
            Written::Marker(at, of, column, up_to, range) => {
                at == row
                    && of == family
                    && column.is_none_or(|column| column == *qualifier)
                    && (timestamp == up_to || *range && timestamp < up_to)
            }
            Written::Put(_) => false,
        })
    }

    /// Visible cells in key order.
    fn visible(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for written in self.0.iter().rev() {
            if let Written::Put(cell) = written
                && !self.hides(cell)
                && !cells
                    .iter()
                    .any(|seen| (seen.0, seen.1, seen.2, seen.3) == (cell.0, cell.1, cell.2, cell.3))
            {
                cells.push(cell.clone());
            }
        }
        cells.sort_by(|a, b| (a.0, a.1, a.2, -a.3).cmp(&(b.0, b.1, b.2, -b.3)));
        cells
    }

    /// A major compaction: what is hidden goes, and the markers with it.
    fn compact(&mut self) {
        let visible = self.visible();
        self.0 = visible.into_iter().map(Written::Put).collect();
    }

    fn read(&self, wanted: &Wanted) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        for row in ROWS.iter().copied().filter(|row| wanted.has_row(row)) {
            let mut cells = Vec::new();
            for family in FAMILIES {
                let passing = wanted.passing(self.visible(), row, family);
                let limit = wanted.family_limit.map_or(usize::MAX, |limit| limit as usize);
                cells.extend(passing.into_iter().skip(wanted.family_offset as usize).take(limit));
            }
            if !cells.is_empty() {
                rows.push(cells);
            }
        }
        if wanted.reversed {
            rows.reverse();
        }
        rows.truncate(wanted.limit.map_or(usize::MAX, |limit| limit as usize));
        rows
    }
}

impl Wanted {
    fn random(dice: &mut Dice) -> Self {
        let (a, b) = (dice.one_of(&ROWS), dice.one_of(&ROWS));
        let min = dice.roll(6) as i64;
        let reversed = dice.roll(3) == 0;
        Self {
            low: (dice.roll(2) == 0).then(|| (a.min(b), dice.roll(2) == 0)),
            high: (dice.roll(2) == 0).then(|| (a.max(b), dice.roll(2) == 0)),
            reversed,
            limit: (dice.roll(4) == 0).then(|| 1 + dice.roll(3)),
            versions: 1 + dice.roll(3) as u32,
            times: if dice.roll(3) == 0 { (min, min + 1 + dice.roll(4) as i64) } else { (0, i64::MAX) },
            column: (dice.roll(3) == 0).then(|| (dice.one_of(&FAMILIES), dice.one_of(&QUALIFIERS))),
            filter: (dice.roll(2) == 0).then(|| filter(dice, reversed)),
            family_limit: (dice.roll(8) == 0).then(|| 1 + dice.roll(2) as u32),
            family_offset: if dice.roll(8) == 0 { 1 } else { 0 },
        }
    }

    fn has_row(&self, row: &str) -> bool {
        let above = self.low.is_none_or(|(low, inclusive)| row > low || inclusive && row == low);
        above && self.high.is_none_or(|(high, inclusive)| row < high || inclusive && row == high)
    }

    fn passing(&self, visible: Vec<Cell>, row: &str, family: &str) -> Vec<Cell> {
        let mut passing: Vec<Cell> = Vec::new();
        for cell in visible {
            let here = cell.0 == row && cell.1 == family;
            let in_time = self.times.0 <= cell.3 && cell.3 < self.times.1;
            let column = self.column.is_none_or(|column| column == (cell.1, cell.2));
            let passes = self.filter.as_ref().is_none_or(|filter| passes(filter, &cell));
            let same = passing.iter().filter(|seen| seen.2 == cell.2).count();
            if here && in_time && column && passes && same < self.versions as usize {
                passing.push(cell);
            }
        }
        passing
    }

    fn scan(&self) -> Scan {
        let mut scan = Scan::new().versions(self.versions).time_range(self.times.0, self.times.1);
        let bound = |bound: Option<(&'static str, bool)>| bound.map_or(("", true), |bound| bound);
        let (low, high) = (bound(self.low), bound(self.high));
        let (start, stop) = if self.reversed { (high, low) } else { (low, high) };
        (scan.start, scan.start_inclusive) = (start.0.into(), start.1);
        (scan.stop, scan.stop_inclusive) = (stop.0.into(), stop.1);
        (scan.reversed, scan.limit) = (self.reversed, self.limit);
        if let Some((family, qualifier)) = self.column {
            scan = scan.column(family, qualifier);
        }
        scan.options.filter = self.filter.clone();
        (scan.options.family_limit, scan.options.family_offset) = (self.family_limit, self.family_offset);
        scan
    }
}

/// Filters that judge cells one by one, so that the model can, too. Not alternatives in a reversed scan: as in HBase,
/// one that seeks inside a row then misses what it sought.
fn filter(dice: &mut Dice, reversed: bool) -> Filter {
    let op =
        dice.one_of(&[CompareOp::Less, CompareOp::Equal, CompareOp::NotEqual, CompareOp::GreaterOrEqual]);
    let binary = |text: &'static str| Comparator::Binary(text.into());
    match dice.roll(if reversed { 8 } else { 9 }) {
        0 => Filter::Row { op, comparator: binary(dice.one_of(&ROWS)) },
        1 => Filter::Qualifier { op, comparator: binary(dice.one_of(&QUALIFIERS)) },
        2 => Filter::Value { op, comparator: binary(dice.one_of(&["1", "5", "9"])) },
        3 => Filter::Family { op, comparator: binary(dice.one_of(&FAMILIES)) },
        4 => Filter::ColumnPrefix { prefix: "q".into() },
        5 => Filter::ColumnRange {
            min: Some(dice.one_of(&QUALIFIERS).into()),
            min_inclusive: dice.roll(2) == 0,
            max: None,
            max_inclusive: false,
        },
        6 => Filter::Timestamps { timestamps: vec![dice.roll(6) as i64, 3], can_hint: dice.roll(2) == 0 },
        7 => Filter::all([filter(dice, reversed), filter(dice, reversed)]),
        _ => Filter::any([filter(dice, reversed), filter(dice, reversed)]),
    }
}

fn passes(filter: &Filter, (row, family, qualifier, timestamp, value): &Cell) -> bool {
    let compare = |op: &CompareOp, comparator: &Comparator, stored: &str| match comparator {
        Comparator::Binary(given) => op.keeps(stored.as_bytes().cmp(given)),
        _ => unreachable!("the test makes binary ones only"),
    };
    let cell = (*row, *family, *qualifier, *timestamp, value.clone());
    match filter {
        Filter::All(filters) => filters.iter().all(|filter| passes(filter, &cell)),
        Filter::Any(filters) => filters.iter().any(|filter| passes(filter, &cell)),
        Filter::Row { op, comparator } => compare(op, comparator, row),
        Filter::Family { op, comparator } => compare(op, comparator, family),
        Filter::Qualifier { op, comparator } => compare(op, comparator, qualifier),
        Filter::Value { op, comparator } => compare(op, comparator, value),
        Filter::ColumnPrefix { prefix } => qualifier.as_bytes().starts_with(prefix),
        Filter::ColumnRange { min: Some(min), min_inclusive, .. } => {
            qualifier.as_bytes() > &min[..] || *min_inclusive && qualifier.as_bytes() == &min[..]
        }
        Filter::Timestamps { timestamps, .. } => timestamps.contains(timestamp),
        other => unreachable!("the test does not make {other:?}"),
    }
}

fn by_value(row: &Row) -> Vec<(String, String, String, i64, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    row.cells()
        .map(|cell| {
            (text(cell.row), text(cell.family), text(cell.qualifier), cell.timestamp, text(cell.value))
        })
        .collect()
}

fn owned(cell: &Cell) -> (String, String, String, i64, String) {
    (cell.0.into(), cell.1.into(), cell.2.into(), cell.3, cell.4.clone())
}

fn open_table(storage: &SimStorage, block_bytes: u32) -> Table {
    let db = open(storage).unwrap();
    let name = TableName::in_default("T");
    if db.open_table(&name).is_err() {
        let family =
            |name: &str| FamilyDescriptor { versions_max: 1_000, block_bytes, ..FamilyDescriptor::new(name) };
        let table = FAMILIES
            .iter()
            .fold(TableDescriptor::new(name.clone()), |table, name| table.family(family(name)));
        db.create_table(table).unwrap();
    }
    db.open_table(&name).unwrap()
}

fn write(dice: &mut Dice, table: &Table, model: &mut Model) {
    let (row, family, qualifier) = (dice.one_of(&ROWS), dice.one_of(&FAMILIES), dice.one_of(&QUALIFIERS));
    let timestamp = 1 + dice.roll(6) as i64;
    if dice.roll(4) > 0 {
        let value = dice.roll(10).to_string();
        table.put(Put::new(row).add_at(family, qualifier, timestamp, value.clone())).unwrap();
        model.0.push(Written::Put((row, family, qualifier, timestamp, value)));
        return;
    }
    let (of, column) = (family.into(), qualifier.into());
    let (part, marker) = match dice.roll(4) {
        0 => (
            DeletePart::Version { family: of, qualifier: column, timestamp: Some(timestamp) },
            Written::Marker(row, family, Some(qualifier), timestamp, false),
        ),
        1 => (
            DeletePart::Column { family: of, qualifier: column, timestamp: Some(timestamp) },
            Written::Marker(row, family, Some(qualifier), timestamp, true),
        ),
        2 => (
            DeletePart::Family { family: of, timestamp: Some(timestamp) },
            Written::Marker(row, family, None, timestamp, true),
        ),
        _ => (
            DeletePart::FamilyVersion { family: of, timestamp },
            Written::Marker(row, family, None, timestamp, false),
        ),
    };
    table.delete(Delete::new(row).part(part)).unwrap();
    model.0.push(marker);
}

#[test]
fn random_reads_show_what_a_model_of_all_cells_shows() {
    let mut reads = 0;
    for seed in 1..=40 {
        let mut dice = Dice(seed);
        let storage = SimStorage::new(seed);
        let block_bytes = dice.one_of(&[64, 1_024, 65_536]);
        let (mut table, mut model) = (open_table(&storage, block_bytes), Model::default());
        for step in 0..250 {
            match dice.roll(12) {
                0 => table.flush().unwrap(),
                1 if dice.roll(3) == 0 => {
                    table.flush().unwrap();
                    table.major_compact().unwrap();
                    model.compact();
                }
                2 if dice.roll(4) == 0 => {
                    table.database().clone().close().unwrap();
                    drop(table);
                    table = open_table(&storage, block_bytes);
                }
                3..=6 => write(&mut dice, &table, &mut model),
                _ => {
                    let wanted = Wanted::random(&mut dice);
                    let found: Vec<_> =
                        table.scan(&wanted.scan()).unwrap().map(|row| by_value(&row.unwrap())).collect();
                    let rows = model.read(&wanted);
                    let expected: Vec<Vec<_>> =
                        rows.iter().map(|row| row.iter().map(owned).collect()).collect();
                    assert_eq!(found, expected, "seed {seed}, step {step}: {wanted:?}");
                    if let Some(row) = rows.first() {
                        let mut get = Get::new(row[0].0);
                        get.options = wanted.scan().options;
                        assert_eq!(
                            by_value(&table.get(&get).unwrap()),
                            expected[0],
                            "seed {seed}, step {step}"
                        );
                    }
                    reads += 1;
                }
            }
        }
    }
    assert!(reads > 3_000, "{reads} reads");
}

/// Rows that come as they lie, many at once, are those that come one by one: over files that overlap and memory, with deleted and overwritten
/// rows, small and large blocks, limits of rows and bytes, in stretches of any length.
#[test]
fn rows_that_come_as_they_lie_are_those_that_come_one_by_one() {
    let mut lain = 0;
    for seed in 1..40 {
        let mut dice = Dice(seed);
        let storage = SimStorage::new(seed);
        let db = open(&storage).unwrap();
        let name = TableName::in_default("T");
        let block_bytes = dice.one_of(&[64, 1_024, 65_536]);
        let family = FamilyDescriptor { block_bytes, ..FamilyDescriptor::new("f") };
        db.create_table(TableDescriptor::new(name.clone()).family(family)).unwrap();
        let table = db.open_table(&name).unwrap();
        for _ in 0..dice.roll(4) {
            let (from, rows) = (dice.roll(400), dice.roll(300));
            for row in from..from + rows {
                let put = |put: Put, i| put.add("f", format!("q{i}"), format!("{seed}-{row}"));
                let cells = 1 + dice.roll(3);
                table.put((0..cells).fold(Put::new(format!("r{row:04}")), put)).unwrap();
            }
            if dice.roll(2) == 0 {
                table.delete(Delete::new(format!("r{:04}", from + dice.roll(300)))).unwrap();
            }
            match dice.roll(4) {
                0 => {}
                1 => table.major_compact().unwrap(),
                _ => table.flush().unwrap(),
            }
        }
        for _ in 0..12 {
            let mut scan = Scan::new();
            scan.limit = (dice.roll(3) == 0).then(|| 1 + dice.roll(300));
            scan.result_bytes_max = dice.one_of(&[None, Some(40), Some(2_000), Some(1 << 20)]);
            scan.batch = (dice.roll(6) == 0).then_some(2);
            if dice.roll(3) == 0 {
                scan = scan.start_exclusive(format!("r{:04}", dice.roll(500)));
            }
            let text = |cell: basalt_model::CellRef<'_>| {
                let part = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                [part(cell.row), part(cell.qualifier), cell.timestamp.to_string(), part(cell.value)]
            };
            let one_by_one: Vec<_> = table
                .scan(&scan)
                .unwrap()
                .flat_map(|row| row.unwrap().cells().map(text).collect::<Vec<_>>())
                .collect();
            let (mut rows, mut found) = (table.scan(&scan).unwrap(), Vec::new());
            loop {
                let most = 1 + dice.roll(100) as usize;
                if let Some(run) = rows.next_rows(most).unwrap() {
                    assert!((1..=most).contains(&run.rows()), "seed {seed}");
                    found.extend(run.cells.map(|i| text(run.block.cell(i))));
                    lain += 1;
                    continue;
                }
                let Some(row) = rows.next() else { break };
                found.extend(row.unwrap().cells().map(text));
            }
            assert_eq!(found, one_by_one, "seed {seed}, {scan:?}");
        }
    }
    assert!(lain > 100, "the short way was taken {lain} times");
}

/// Gets of many rows, which are looked up together, find what each finds alone: rows that are there and that are not, twice the same,
/// deleted and overwritten, in files that overlap and in memory, of every block in the cache or of none.
#[test]
fn many_gets_find_what_each_finds_alone() {
    let mut found = 0;
    for seed in 1..40 {
        let mut dice = Dice(seed);
        let storage = SimStorage::new(seed);
        let db = open(&storage).unwrap();
        let name = TableName::in_default("T");
        let families = 1 + usize::from(dice.roll(4) == 0);
        let table = FAMILIES[..families].iter().fold(TableDescriptor::new(name.clone()), |table, family| {
            let encoding = dice.one_of(&["NONE", "FAST_DIFF", "COLUMNAR"]).to_owned();
            let block_bytes = dice.one_of(&[64, 1_024, 65_536]);
            table.family(FamilyDescriptor { block_bytes, encoding, ..FamilyDescriptor::new(*family) })
        });
        db.create_table(table).unwrap();
        let table = db.open_table(&name).unwrap();
        for _ in 0..1 + dice.roll(4) {
            let (from, rows) = (dice.roll(200), dice.roll(600));
            for row in from..from + rows {
                let family = dice.one_of(&FAMILIES[..families]);
                table
                    .put(Put::new(format!("row{row:05}")).add(family, "q", format!("{seed}-{row}")))
                    .unwrap();
            }
            if dice.roll(3) == 0 {
                table.delete(Delete::new(format!("row{:05}", from + dice.roll(300)))).unwrap();
            }
            match dice.roll(4) {
                0 => {}
                1 => table.flush().unwrap(),
                _ => table.major_compact().unwrap(),
            }
        }
        for _ in 0..4 {
            let gets: Vec<_> =
                (0..dice.roll(200)).map(|_| Get::new(format!("row{:05}", dice.roll(900)))).collect();
            let together: Vec<_> = table.get_all(&gets).unwrap().iter().map(by_value).collect();
            let alone: Vec<_> = gets.iter().map(|get| by_value(&table.get(get).unwrap())).collect();
            assert_eq!(together, alone, "seed {seed}");
            found += together.iter().filter(|row| !row.is_empty()).count();
        }
    }
    assert!(found > 5_000, "{found} rows were there");
    let (storage, name) = (SimStorage::new(1), TableName::in_default("T"));
    let db = open(&storage).unwrap();
    db.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"))).unwrap();
    assert!(
        db.open_table(&name).unwrap().get_all(&[Get::new("a"), Get::new("")]).is_err(),
        "no row has no key"
    );
}
