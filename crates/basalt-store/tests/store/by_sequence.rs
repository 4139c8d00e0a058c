// SPDX-License-Identifier: Apache-2.0
//! NEW_VERSION_BEHAVIOR: no flush and no compaction changes an answer. The same random changes go to a table that stays in memory and to one that
//! is flushed and compacted all the time, and random reads of both must be alike.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use basalt_model::operation::DeletePart;
use basalt_model::table::DeleteRule;
use basalt_model::{Delete, FamilyDescriptor, Get, Put, TableDescriptor, TableName};
use basalt_store::env::Clock;
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Row, Table};

use crate::support::*;

const ROWS: [&str; 2] = ["a", "b"];
const QUALIFIERS: [&str; 3] = ["", "p", "q"];
/// Timestamps before that are past a TTL, if there is one.
const TTL_SECS: u64 = 1_000_000;
/// The time all along, so that no cell expires between two reads that are compared.
const NOW_MS: i64 = 1_700_000_000_000;

#[derive(Debug)]
struct StoppedClock;

impl Clock for StoppedClock {
    fn now_ms(&self) -> i64 {
        NOW_MS
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) {}
}

fn tables(family: &FamilyDescriptor, seed: u64) -> [Table; 2] {
    let mut options = options(&SimStorage::new(seed));
    options.env.clock = Arc::new(StoppedClock);
    let db = Database::open(Path::new(ROOT), options).unwrap();
    ["MEMORY", "FILES"].map(|name| {
        let name = TableName::in_default(name);
        db.create_table(TableDescriptor::new(name.clone()).family(family.clone())).unwrap();
        db.open_table(&name).unwrap()
    })
}

fn change(dice: &mut Dice, tables: &[Table; 2], base: i64, step: u64) {
    let (row, qualifier) = (dice.one_of(&ROWS), dice.one_of(&QUALIFIERS));
    let timestamp = base + dice.roll(8) as i64;
    let (family, column) = ("f".into(), qualifier.into());
    let delete = match dice.roll(12) {
        0 => DeletePart::Version { family, qualifier: column, timestamp: Some(timestamp) },
        1 => DeletePart::Column { family, qualifier: column, timestamp: Some(timestamp) },
        2 => DeletePart::Family { family, timestamp: Some(timestamp) },
        3 => DeletePart::FamilyVersion { family, timestamp },
        _ => {
            for table in tables {
                table.put(Put::new(row).add_at("f", qualifier, timestamp, step.to_string())).unwrap();
            }
            return;
        }
    };
    for table in tables {
        table.delete(Delete::new(row).part(delete.clone())).unwrap();
    }
}

fn cells(row: &Row) -> Vec<(Vec<u8>, i64, Vec<u8>)> {
    row.cells().map(|cell| (cell.qualifier.to_vec(), cell.timestamp, cell.value.to_vec())).collect()
}

fn read_both(dice: &mut Dice, tables: &[Table; 2], base: i64, what: &str) {
    let mut get = Get::new(dice.one_of(&ROWS)).versions(1 + dice.roll(4) as u32);
    if dice.roll(2) == 0 {
        let from = base + dice.roll(8) as i64;
        get = get.time_range(from, from + 1 + dice.roll(8) as i64);
    }
    if dice.roll(3) == 0 {
        get = get.column("f", dice.one_of(&QUALIFIERS));
    }
    let [memory, files] = [0, 1].map(|at: usize| cells(&tables[at].get(&get).unwrap()));
    assert_eq!(memory, files, "in memory and of files, {what}: {get:?}");
}

#[test]
fn no_flush_and_no_compaction_changes_an_answer() {
    let mut reads = 0;
    for seed in 1..=120 {
        let mut dice = Dice(seed);
        let mut family =
            FamilyDescriptor { delete_rule: DeleteRule::BySequence, ..FamilyDescriptor::new("f") };
        family.versions_max = 1 + dice.roll(3) as u32;
        let has_ttl = dice.roll(2) == 0;
        if has_ttl {
            family.ttl_secs = Some(TTL_SECS);
            family.versions_min = dice.roll(u64::from(family.versions_max) + 1) as u32;
        }
        let tables = tables(&family, seed);
        // Half of the timestamps are past the TTL.
        let base = NOW_MS - TTL_SECS as i64 * 1_000 - 4 + 3_600_000 * i64::from(!has_ttl);
        for step in 0..80 {
            match dice.roll(8) {
                0 | 1 => tables[1].flush().unwrap(),
                // What MIN_VERSIONS keeps depends on the versions that are there when all files become one.
                2 if !has_ttl || family.versions_min == 0 => {
                    tables[1].flush().unwrap();
                    let major = dice.roll(2) == 0;
                    tables[1].database().compact(Some(tables[1].id()), major).unwrap();
                }
                3..=5 => change(&mut dice, &tables, base, step),
                _ => {
                    read_both(&mut dice, &tables, base, &format!("seed {seed}, step {step}, {family:?}"));
                    reads += 1;
                }
            }
        }
    }
    assert!(reads > 1_000, "{reads} reads");
}
