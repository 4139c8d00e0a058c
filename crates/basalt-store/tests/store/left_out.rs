// SPDX-License-Identifier: Apache-2.0
//! Rows that a filter leaves out many at a time are those that it leaves out one by one: beside a page filter without end, which has to be told
//! of every row, the same filter looks at each.

use basalt_model::filter::{Comparator, CompareOp, Filter, SingleColumnValue};
use basalt_model::{Delete, FamilyDescriptor, Put, Scan, TableDescriptor, TableName};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Table};
use bytes::Bytes;

use crate::support::*;

const QUALIFIERS: [&str; 3] = ["a", "b", "c"];
const ROWS: u64 = 3_000;

impl Dice {
    fn row(&mut self) -> Bytes {
        Bytes::from(key(self.roll(ROWS)))
    }

    fn op(&mut self) -> CompareOp {
        use CompareOp::*;
        self.one_of(&[Less, LessOrEqual, Equal, NotEqual, GreaterOrEqual, Greater])
    }

    fn value(&mut self) -> Bytes {
        Bytes::from(format!("value {}", self.roll(40)))
    }

    fn comparator(&mut self) -> Comparator {
        match self.roll(3) {
            0 => Comparator::BinaryPrefix(self.value().slice(..7)),
            _ => Comparator::Binary(self.value()),
        }
    }

    fn filter(&mut self, depth: u32) -> Filter {
        let (family, qualifier) = (Bytes::from("f"), Bytes::from(self.one_of(&["a", "b", "c", "d"])));
        match self.roll(if depth == 0 { 6 } else { 5 }) {
            0 => Filter::Row { op: self.op(), comparator: Comparator::Binary(self.row()) },
            1 => Filter::Qualifier { op: self.op(), comparator: Comparator::Binary(qualifier) },
            2 => Filter::Value { op: self.op(), comparator: self.comparator() },
            3 => Filter::ColumnValue { family, qualifier, op: self.op(), comparator: self.comparator() },
            4 => Filter::SingleColumnValue(SingleColumnValue {
                family,
                qualifier,
                op: self.op(),
                comparator: self.comparator(),
                filter_if_missing: self.roll(2) == 0,
                latest_version_only: self.roll(4) > 0,
                exclude: self.roll(4) == 0,
            }),
            _ => Filter::All((0..1 + self.roll(3)).map(|_| self.filter(depth + 1)).collect()),
        }
    }

    /// A scan of whatever range, as far as it goes. A page filter needs whole rows, so they are not cut.
    fn scan(&mut self) -> Scan {
        let mut scan = Scan::new();
        if self.roll(3) == 0 {
            scan = scan.reversed();
        }
        if self.roll(2) == 0 {
            let (one, other) = (self.row(), self.row());
            let (low, high) = if one < other { (one, other) } else { (other, one) };
            scan = if scan.is_reversed() {
                scan.start(high).stop(low)
            } else {
                scan.start(low).stop_inclusive(high)
            };
        }
        match self.roll(4) {
            0 => scan.limit(1 + self.roll(50)),
            1 => scan.column("f", self.one_of(&QUALIFIERS)),
            2 => scan.versions(2).time_range(self.roll(3) as i64, 2 + self.roll(4) as i64),
            _ => scan,
        }
    }
}

fn key(row: u64) -> String {
    format!("row {row:05}")
}

/// Rows with all columns in files, of which few were changed in later files and in memory.
fn table(dice: &mut Dice, db: &Database) -> Table {
    let name = TableName::in_default("T");
    let encoding = dice.one_of(&["NONE", "FAST_DIFF", "ROW_INDEX_V1", "COLUMNAR"]).to_owned();
    let block_bytes = dice.one_of(&[512, 4_096, 65_536]);
    let versions_max = 1 + dice.roll(2) as u32;
    let family = FamilyDescriptor { encoding, block_bytes, versions_max, ..FamilyDescriptor::new("f") };
    db.create_table(TableDescriptor::new(name.clone()).family(family)).unwrap();
    let table = db.open_table(&name).unwrap();
    for row in 0..ROWS {
        let mut put = Put::new(key(row));
        for qualifier in QUALIFIERS {
            put = put.add_at("f", qualifier, 1, format!("value {}", dice.roll(40)));
        }
        table.put(put).unwrap();
    }
    table.flush().unwrap();
    table.major_compact().unwrap();
    for _ in 0..dice.roll(3) {
        for _ in 0..dice.roll(60) {
            let (row, qualifier) = (dice.row(), dice.one_of(&QUALIFIERS));
            match dice.roll(4) {
                0 => table.delete(Delete::new(row)).unwrap(),
                // It has expired by the time that it is read.
                1 => table.put(Put::new(row).add_at("f", qualifier, 2, "expired").ttl_ms(1)).unwrap(),
                _ => table.put(Put::new(row).add_at("f", qualifier, 3, dice.value())).unwrap(),
            }
        }
        if dice.roll(2) == 0 {
            table.flush().unwrap();
        }
    }
    if dice.roll(3) == 0 {
        let only = db.regions(table.id()).unwrap()[0].id;
        db.split_region(table.id(), only, Some(&dice.row())).unwrap();
    }
    table
}

#[test]
fn rows_that_are_left_out_together_are_those_that_are_left_out_alone() {
    let (mut kept, mut left_out) = (0, 0);
    for seed in 1..60 {
        let mut dice = Dice(seed);
        let storage = SimStorage::new(seed);
        let db = open(&storage).unwrap();
        let table = table(&mut dice, &db);
        for _ in 0..25 {
            let (filter, scan) = (dice.filter(0), dice.scan());
            let found = |filter: Filter| -> Vec<String> {
                let rows = table.scan(&scan.clone().filter(filter)).unwrap();
                let text = |row: basalt_store::Row| {
                    let cells = row.cells().map(|cell| {
                        let (qualifier, value) = (cell.qualifier.escape_ascii(), cell.value.escape_ascii());
                        format!("{qualifier}@{}={value}", cell.timestamp)
                    });
                    format!(
                        "{} {:?} {}",
                        row.key().escape_ascii(),
                        cells.collect::<Vec<_>>(),
                        row.is_partial()
                    )
                };
                rows.map(|row| text(row.unwrap())).collect()
            };
            let alone = found(Filter::All(vec![filter.clone(), Filter::Page { rows: u64::MAX }]));
            assert_eq!(found(filter.clone()), alone, "seed {seed}: {filter:?} of {scan:?}");
            kept += alone.len();
            left_out += usize::from(alone.len() < 100);
        }
    }
    assert!(kept > 100_000 && left_out > 300, "{kept} rows, {left_out} scans of few");
}
