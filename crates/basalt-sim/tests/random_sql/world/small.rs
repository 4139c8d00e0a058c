// SPDX-License-Identifier: Apache-2.0
//! Small tables: few rows of few values, many of them NULL, in columns that have the same names in several tables, with views over them
//! and indexes. Most pairs of rows meet in some join, and what is said of one table's column is wrong of another's.

use std::collections::BTreeSet;

use super::{Column, Index, Kind, TYPES, Table, Value, View, World};
use crate::chance::Chance;

/// Names of columns, of which each table has some, and what most tables have under them.
const NAMES: [(&str, Kind); 8] = [
    ("K", Kind::Int),
    ("J", Kind::Int),
    ("V", Kind::Int),
    ("W", Kind::Int),
    ("X", Kind::Exact),
    ("S", Kind::Text),
    ("D", Kind::Date),
    ("B", Kind::Bool),
];

impl World {
    /// Three to five tables.
    pub(crate) fn small(chance: &mut Chance) -> Self {
        let tables: Vec<_> = (0..3 + chance.below(3)).map(|index| Table::small(index, chance)).collect();
        let mut world = Self { tables, views: vec![], indexes: vec![], is_small: true };
        for at in 0..1 + chance.below(2) {
            let view = world.random_view(at, chance);
            world.views.push(view);
        }
        for at in 0..chance.below(4) {
            let index = world.random_index(at, chance);
            world.indexes.push(index);
        }
        world
    }

    /// What a query of Basalt's is told; nothing, as a rule.
    pub(crate) fn hints(&self, chance: &mut Chance) -> String {
        if !self.is_small {
            return String::new();
        }
        let mut hints = vec![];
        for hint in ["USE_SORT_MERGE_JOIN", "NO_INDEX", "SERIAL", "NO_CHILD_PARENT_JOIN_OPTIMIZATION"] {
            if chance.one_in(8) {
                hints.push(hint.to_owned());
            }
        }
        for index in &self.indexes {
            if chance.one_in(3) {
                hints.push(format!("INDEX({} {})", index.table, index.name));
            }
        }
        hints.join(" ")
    }

    fn random_view(&self, at: usize, chance: &mut Chance) -> View {
        let table = chance.below(self.tables.len());
        let column = chance.of(&self.tables[table].columns);
        let name = &column.name;
        let condition = match chance.below(3) {
            0 => [format!("{name} IS NOT NULL"), format!("{name} IS NOT NULL")],
            1 if column.kind != Kind::Bool => {
                let operator = chance.of(&["<", ">=", "<>"]);
                let value = self.value(column.kind, chance);
                [value.ours(), value.theirs()].map(|value| format!("{name} {operator} {value}"))
            }
            _ => {
                let value = self.value(column.kind, chance);
                [value.ours(), value.theirs()].map(|value| format!("{name} = {value}"))
            }
        };
        View { name: format!("V{at}"), table, condition }
    }

    fn random_index(&self, at: usize, chance: &mut Chance) -> Index {
        let table = chance.of(&self.tables);
        let mut names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        for at in (1..names.len()).rev() {
            names.swap(at, chance.below(at + 1));
        }
        let (indexed, others) = names.split_at(1 + chance.below(2));
        let mut terms = vec![];
        for name in indexed {
            terms.push(format!("{name}{}", chance.of(&["", " DESC"])));
        }
        let mut columns = format!("({})", terms.join(", "));
        let of_key = |name: &&&str| table.columns[..table.keys].iter().any(|column| column.name == **name);
        let values: Vec<_> = others.iter().filter(|name| !of_key(name)).copied().collect();
        if !values.is_empty() && chance.one_in(2) {
            columns.push_str(&format!(" INCLUDE ({})", values.join(", ")));
        }
        Index { name: format!("I{at}"), table: table.name.clone(), columns }
    }
}

impl View {
    /// CREATE VIEW for Basalt.
    pub(crate) fn create(&self, world: &World) -> String {
        self.create_with(world, &self.condition[0])
    }

    /// CREATE VIEW for SQLite.
    pub(crate) fn create_theirs(&self, world: &World) -> String {
        self.create_with(world, &self.condition[1])
    }

    fn create_with(&self, world: &World, condition: &str) -> String {
        format!(
            "CREATE VIEW {} AS SELECT * FROM {} WHERE {condition}",
            self.name, world.tables[self.table].name
        )
    }
}

impl Index {
    pub(crate) fn create(&self) -> String {
        format!("CREATE INDEX {} ON {} {}", self.name, self.table, self.columns)
    }
}

impl Value {
    /// One of four values or so.
    pub(super) fn of_few(kind: Kind, chance: &mut Chance) -> Self {
        match kind {
            Kind::Int => Self::Int(chance.between(0, 3)),
            // Whole numbers, as a rule, so that they meet integers.
            Kind::Exact => Self::Quarters(chance.between(0, 3) * 4 + i64::from(chance.one_in(5))),
            Kind::Text => Self::Text((*chance.of(&["a", "b", "ab", "B"])).to_owned()),
            Kind::Date => Self::Day(chance.between(1, 4)),
            Kind::Bool => Self::Bool(chance.one_in(2)),
        }
    }
}

impl Table {
    fn small(index: usize, chance: &mut Chance) -> Self {
        let mut names = NAMES.to_vec();
        let keys = 1 + chance.below(2);
        let mut columns = vec![];
        for at in 0..keys + 1 + chance.below(3) {
            // The first names more often than the others.
            let place = chance.below(names.len()).min(chance.below(names.len()));
            let (name, kind) = names.remove(place);
            let kind =
                if chance.one_in(6) { *chance.of(&[Kind::Int, Kind::Exact, Kind::Text]) } else { kind };
            let kind = if at < keys && kind == Kind::Bool { Kind::Int } else { kind };
            columns.push(Column::small(name, kind, at, keys, chance));
        }
        let count = if chance.one_in(6) { 12 } else { chance.below(7) };
        let mut seen = BTreeSet::new();
        let mut rows = vec![];
        for _ in 0..count {
            let value = |column: &Column, chance: &mut Chance| {
                let null = column.nullable && chance.one_in(3);
                if null { Value::Null } else { Value::of_few(column.kind, chance) }
            };
            let row: Vec<_> = columns.iter().map(|column| value(column, chance)).collect();
            if seen.insert(row[..keys].to_vec()) {
                rows.push(row);
            }
        }
        let descending = (0..keys).map(|_| chance.one_in(3)).collect();
        Self { name: format!("T{index}"), columns, keys, descending, rows }
    }
}

impl Column {
    fn small(name: &str, kind: Kind, at: usize, keys: usize, chance: &mut Chance) -> Self {
        // Columns of one type, as a rule: others are cast where they meet.
        let types: Vec<_> =
            TYPES.iter().filter(|(of, _)| *of == kind).map(|(_, sql_type)| *sql_type).collect();
        let of_key = |sql_type: &&&str| at >= keys || !matches!(**sql_type, "DOUBLE" | "FLOAT");
        let types: Vec<_> = types.iter().filter(of_key).copied().collect();
        let sql_type = if chance.one_in(3) { *chance.of(&types) } else { types[0] };
        // Bytes cannot tell NULL from other values in a key, but for texts.
        let nullable = at >= keys || at > 0 && sql_type == "VARCHAR" && chance.one_in(2);
        Self { name: name.to_owned(), kind, sql_type, nullable }
    }
}
