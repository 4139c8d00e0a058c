// SPDX-License-Identifier: Apache-2.0
//! Random operations on a database and on a map; both must always show the same.
//!
//! Operations are writes of all durabilities, deletes, updates, flushes, compactions, splits and merges of regions, snapshots
//! in memory and by name, reopenings and power losses. After a power loss the database must show everything that was acknowledged as durable; of
//! the batches behind that, a prefix.

use basalt_hfile::CellRun;
use basalt_model::{TableId, WriteBatch};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Durability, OpenOptions, Snapshot};

use crate::support::*;

/// One change of one row: a value, or `None` for a deleted column.
#[derive(Debug, Clone)]
struct Change {
    table: usize,
    row: String,
    column: &'static str,
    value: Option<String>,
}

type State = [Rows; 2];

fn apply(state: &mut State, batch: &[Change]) {
    for change in batch {
        let rows = &mut state[change.table];
        let columns = rows.entry(change.row.clone()).or_default();
        match &change.value {
            Some(value) => columns.insert(change.column.to_owned(), value.clone()),
            None => columns.remove(change.column),
        };
        if columns.is_empty() {
            rows.remove(&change.row);
        }
    }
}

struct Run {
    dice: Dice,
    seed: u64,
    storage: SimStorage,
    db: Option<Database>,
    tables: Vec<TableId>,
    /// What is certain to survive, and the batches acknowledged behind it.
    durable: State,
    loose: Vec<Vec<Change>>,
    snapshots: Vec<(Snapshot, State, Vec<TableId>)>,
    /// What the snapshot by the name of each table keeps.
    kept: [Option<Rows>; 2],
    counter: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let storage = SimStorage::new(seed);
        let mut run = Self {
            dice: Dice(seed | 1),
            seed,
            db: None,
            storage,
            tables: Vec::new(),
            durable: State::default(),
            loose: Vec::new(),
            snapshots: Vec::new(),
            kept: [None, None],
            counter: 0,
        };
        run.open();
        for name in ["A", "B"] {
            let mut descriptor = descriptor(name, &["f", "g"]);
            for family in &mut descriptor.families {
                // A later put is never hidden by an earlier delete, whatever the clock says.
                family.delete_rule = basalt_model::table::DeleteRule::BySequence;
                family.block_bytes = 200;
            }
            let id = run.db().create_table(descriptor).unwrap();
            run.tables.push(id);
        }
        run
    }

    fn open(&mut self) {
        let options =
            OpenOptions { memtable_bytes: Some(20_000), wal_segment_bytes: 4_000, ..options(&self.storage) };
        let seed = self.seed;
        let db = Database::open(std::path::Path::new(ROOT), options);
        self.db = Some(db.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("open between operations")
    }

    fn expected(&self) -> State {
        let mut state = self.durable.clone();
        self.loose.iter().for_each(|batch| apply(&mut state, batch));
        state
    }

    fn shown(&self, snapshot: &Snapshot, tables: &[TableId]) -> State {
        let shown = |table: usize| {
            rows(snapshot, tables[table]).unwrap_or_else(|error| panic!("seed {}: {error}", self.seed))
        };
        [shown(0), shown(1)]
    }

    fn step(&mut self) {
        match self.dice.roll(100) {
            0..60 => self.write(),
            60..64 => self.split(),
            64..67 => self.merge(),
            67..70 => self.keep_or_restore(),
            70..76 => self.check_points(),
            76..82 => self.db().flush(Some(self.tables[(self.counter % 2) as usize])).unwrap(),
            82..86 => self.db().compact(None, self.counter.is_multiple_of(3)).unwrap(),
            86..90 => self.take_snapshot(),
            90..93 => self.reopen(),
            93..96 => self.lose_power(),
            _ => self.check(),
        }
    }

    fn split(&mut self) {
        let table = self.tables[self.dice.roll(2) as usize];
        let row = format!("row{:02}", self.dice.roll(40));
        let regions = self.db().regions(table).unwrap();
        let region = regions.iter().find(|region| region.range.contains(row.as_bytes())).unwrap();
        let split = self.db().split_region(table, region.id, Some(row.as_bytes()));
        assert_eq!(split.is_ok(), region.range.start != row, "seed {}: {split:?}", self.seed);
        // It flushes, and that makes durable what was written before.
        if split.is_ok() {
            self.settle();
        }
    }

    fn merge(&mut self) {
        let table = self.tables[self.dice.roll(2) as usize];
        let regions = self.db().regions(table).unwrap();
        if regions.len() < 2 {
            return;
        }
        let left = self.dice.roll(regions.len() as u64 - 1) as usize;
        self.db().merge_regions(table, [regions[left + 1].id, regions[left].id]).unwrap();
        assert_eq!(self.db().regions(table).unwrap().len(), regions.len() - 1);
        self.settle();
    }

    /// Takes a snapshot of a table if there is none, or goes back to it.
    fn keep_or_restore(&mut self) {
        let at = self.dice.roll(2) as usize;
        let name = basalt_model::TableName::in_default(["A", "B"][at]);
        if let Some(rows) = self.kept[at].take() {
            self.db().flush(None).unwrap();
            self.settle();
            let id = self.db().restore_snapshot(&name.name).unwrap();
            self.db().drop_snapshot(&name.name).unwrap();
            self.tables[at] = id;
            self.durable[at] = rows;
        } else {
            self.db().create_snapshot(&name.name, &name).unwrap();
            self.settle();
            self.kept[at] = Some(self.durable[at].clone());
        }
        self.check();
    }

    fn random_batch(&mut self) -> Vec<Change> {
        let len = 1 + self.dice.roll(8);
        let change = |_| {
            self.counter += 1;
            Change {
                table: self.dice.roll(2) as usize,
                row: format!("row{:02}", self.dice.roll(40)),
                column: ["f:a", "f:b", "g:a"][self.dice.roll(3) as usize],
                value: (self.dice.roll(4) > 0).then(|| format!("value {}", self.counter)),
            }
        };
        (0..len).map(change).collect()
    }

    fn write(&mut self) {
        let changes = self.random_batch();
        let mut batch = WriteBatch::new();
        for Change { table, row, column, value } in &changes {
            match value {
                Some(value) => put(&mut batch, self.tables[*table], row, &[(column, value)]),
                None => delete_column(&mut batch, self.tables[*table], row, column),
            }
        }
        let durability = match self.dice.roll(4) {
            0 => Durability::Async,
            1 => Durability::Fsync,
            _ => Durability::Sync,
        };
        if self.dice.roll(5) == 0 {
            let table = self.tables[changes[0].table];
            let row = changes[0].row.clone();
            let expected = self.expected()[changes[0].table].get(&row).map_or(0, |columns| columns.len());
            let written = self.db().update(table, row.as_bytes(), durability, |cells| {
                assert_eq!(cells.iter().map(|run| run.cells.len()).sum::<usize>(), expected);
                Ok(Some(batch))
            });
            written.unwrap();
        } else {
            self.db().write(batch, durability).unwrap();
        }
        self.loose.push(changes);
        if durability >= Durability::Sync {
            self.settle();
        }
    }

    /// Everything acknowledged so far is durable.
    fn settle(&mut self) {
        self.durable = self.expected();
        self.loose.clear();
    }

    fn check_points(&mut self) {
        let expected = self.expected();
        let snapshot = self.db().snapshot();
        for _ in 0..5 {
            let (table, row) = (self.dice.roll(2) as usize, format!("row{:02}", self.dice.roll(45)));
            let found = snapshot.get_row(self.tables[table], row.as_bytes()).unwrap();
            let cells: usize = found.iter().map(|run| run.cells.len()).sum();
            let columns = expected[table].get(&row).map_or(0, |columns| columns.len());
            assert_eq!(cells, columns, "seed {}: row {row}", self.seed);
        }
        self.check_several(&snapshot);
    }

    /// Rows that are asked for together are what each of them is alone.
    fn check_several(&mut self, snapshot: &Snapshot) {
        let table = self.tables[self.dice.roll(2) as usize];
        let rows: Vec<String> = (0..45).map(|row| format!("row{row:02}")).collect();
        let mut asked: Vec<&[u8]> = rows.iter().map(|row| row.as_bytes()).collect();
        asked.retain(|_| self.dice.roll(3) > 0);
        let together = snapshot.get_rows(table, &asked).unwrap();
        assert_eq!(together.len(), asked.len());
        for (row, together) in asked.iter().zip(together) {
            let alone = snapshot.get_row(table, row).unwrap();
            let cells = |runs: &[CellRun]| {
                let runs = runs.iter().flat_map(|run| run.cells.clone().map(|i| run.block.cell(i)));
                runs.map(|cell| format!("{cell:?}")).collect::<Vec<_>>()
            };
            assert_eq!(cells(&together), cells(&alone), "seed {}: row {row:?}", self.seed);
        }
    }

    fn take_snapshot(&mut self) {
        if self.snapshots.len() == 3 {
            self.snapshots.remove(0);
        }
        self.snapshots.push((self.db().snapshot(), self.expected(), self.tables.clone()));
    }

    fn check(&self) {
        let shown = self.shown(&self.db().snapshot(), &self.tables);
        assert_eq!(shown, self.expected(), "seed {}", self.seed);
        for (snapshot, expected, tables) in &self.snapshots {
            assert_eq!(self.shown(snapshot, tables), *expected, "seed {}: an old snapshot", self.seed);
        }
    }

    fn reopen(&mut self) {
        self.check();
        self.snapshots.clear();
        self.db.take().unwrap().close().unwrap();
        self.settle();
        self.open();
        self.check();
    }

    fn lose_power(&mut self) {
        self.snapshots.clear();
        self.storage = self.storage.power_loss();
        self.db = None;
        self.open();
        let shown = self.shown(&self.db().snapshot(), &self.tables);
        let mut state = self.durable.clone();
        let mut survived = shown == state;
        for batch in std::mem::take(&mut self.loose) {
            if !survived {
                apply(&mut state, &batch);
                survived = shown == state;
            }
        }
        assert!(
            survived,
            "seed {}: after a power loss a batch is half there or missing:\n{shown:?}",
            self.seed
        );
        self.durable = state;
    }
}

#[test]
fn random_operations_show_what_a_map_shows() {
    let mut injected = 0;
    for seed in 1..=25 {
        let mut run = Run::new(seed);
        for _ in 0..300 {
            run.step();
        }
        run.check();
        injected += run.storage.injected();
    }
    assert!(injected > 50, "{injected} power losses");
}
