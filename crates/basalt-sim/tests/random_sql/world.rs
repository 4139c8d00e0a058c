// SPDX-License-Identifier: Apache-2.0
//! Random tables with random rows, the same for both databases.

mod small;

use std::collections::BTreeSet;

use crate::chance::Chance;

/// What values of a column are compared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    /// DECIMAL or DOUBLE; all values are quarters, so that sums and products are exact in both.
    Exact,
    Text,
    Date,
    Bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Quarters(i64),
    Text(String),
    Day(i64),
    Bool(bool),
}

impl Value {
    pub(crate) fn random(kind: Kind, chance: &mut Chance) -> Self {
        match kind {
            Kind::Int => Self::Int(chance.between(-4, 12)),
            Kind::Exact => Self::Quarters(chance.between(-12, 30)),
            Kind::Text => {
                const TEXTS: [&str; 12] =
                    ["a", "b", "B", "ab", "aB", "abc", "ba", "bab", "c", "ca", "a'b", "a_c"];
                Self::Text((*chance.of(&TEXTS)).to_owned())
            }
            Kind::Date => Self::Day(chance.between(1, 20)),
            Kind::Bool => Self::Bool(chance.one_in(2)),
        }
    }

    /// As Basalt reads it.
    pub(crate) fn ours(&self) -> String {
        match self {
            Self::Day(_) => format!("DATE {}", self.theirs()),
            Self::Bool(value) => if *value { "TRUE" } else { "FALSE" }.to_owned(),
            _ => self.theirs(),
        }
    }

    /// As SQLite reads it.
    pub(crate) fn theirs(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Int(value) => value.to_string(),
            Self::Quarters(value) => format!("{:.2}", *value as f64 / 4.0),
            Self::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Self::Day(day) => format!("'2024-02-{day:02}'"),
            Self::Bool(value) => i32::from(*value).to_string(),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    sql_type: &'static str,
    nullable: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// Those of the key first.
    pub(crate) columns: Vec<Column>,
    pub(crate) keys: usize,
    descending: Vec<bool>,
    pub(crate) rows: Vec<Vec<Value>>,
}

/// Tables and rows of one seed.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) tables: Vec<Table>,
    pub(crate) views: Vec<View>,
    pub(crate) indexes: Vec<Index>,
    /// Tables of few rows and few values, whose columns share their names.
    pub(crate) is_small: bool,
}

/// The rows of a table for which a condition is true.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) name: String,
    /// The place of its table among the world's.
    pub(crate) table: usize,
    condition: [String; 2],
}

/// An index, which is Basalt's alone.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) table: String,
    columns: String,
}

const KEY_TYPES: [(Kind, &str); 9] = [
    (Kind::Int, "INTEGER"),
    (Kind::Int, "BIGINT"),
    (Kind::Int, "SMALLINT"),
    (Kind::Int, "TINYINT"),
    (Kind::Text, "VARCHAR"),
    (Kind::Text, "VARCHAR(8)"),
    (Kind::Text, "CHAR(3)"),
    (Kind::Date, "DATE"),
    (Kind::Exact, "DECIMAL(9,2)"),
];
const TYPES: [(Kind, &str); 12] = [
    (Kind::Int, "INTEGER"),
    (Kind::Int, "BIGINT"),
    (Kind::Int, "TINYINT"),
    (Kind::Exact, "DECIMAL(9,2)"),
    (Kind::Exact, "DECIMAL"),
    (Kind::Exact, "DOUBLE"),
    (Kind::Exact, "FLOAT"),
    (Kind::Text, "VARCHAR"),
    (Kind::Text, "CHAR(3)"),
    (Kind::Date, "DATE"),
    (Kind::Date, "DATE"),
    (Kind::Bool, "BOOLEAN"),
];

impl World {
    pub(crate) fn random(chance: &mut Chance) -> Self {
        let tables = (0..3).map(|index| Table::random(index, chance)).collect();
        Self { tables, views: vec![], indexes: vec![], is_small: false }
    }

    /// A value that columns of this kind may have.
    pub(crate) fn value(&self, kind: Kind, chance: &mut Chance) -> Value {
        if self.is_small { Value::of_few(kind, chance) } else { Value::random(kind, chance) }
    }
}

impl Table {
    fn random(index: usize, chance: &mut Chance) -> Self {
        let keys = 1 + chance.below(3);
        let mut columns = vec![];
        for at in 0..keys + 2 + chance.below(4) {
            let (kind, sql_type) = *if at < keys { chance.of(&KEY_TYPES) } else { chance.of(&TYPES) };
            let name = format!("{}{at}", if at < keys { "K" } else { "C" });
            columns.push(Column { name, kind, sql_type, nullable: at >= keys });
        }
        let count = if chance.one_in(8) { 300 } else { chance.below(40) };
        let mut seen = BTreeSet::new();
        let mut rows = vec![];
        for _ in 0..count {
            let value = |(at, column): (usize, &Column), chance: &mut Chance| {
                let null = at >= keys && chance.one_in(5);
                if null { Value::Null } else { Value::random(column.kind, chance) }
            };
            let row: Vec<_> = columns.iter().enumerate().map(|column| value(column, chance)).collect();
            if seen.insert(row[..keys].to_vec()) {
                rows.push(row);
            }
        }
        let descending = (0..keys).map(|_| chance.one_in(3)).collect();
        Self { name: format!("T{index}"), columns, keys, descending, rows }
    }

    /// CREATE TABLE for Basalt; `turned` gives every key column the other order.
    pub(crate) fn create(&self, options: &str, turned: bool) -> String {
        let mut parts: Vec<_> = self
            .columns
            .iter()
            .map(|column| {
                let null = if column.nullable { "" } else { " NOT NULL" };
                format!("{} {}{null}", column.name, column.sql_type)
            })
            .collect();
        let key = self.columns[..self.keys].iter().zip(&self.descending).map(|(column, descending)| {
            format!("{}{}", column.name, if descending ^ turned { " DESC" } else { "" })
        });
        parts.push(format!("CONSTRAINT PK PRIMARY KEY ({})", key.collect::<Vec<_>>().join(", ")));
        format!("CREATE TABLE {} ({}) {options}", self.name, parts.join(", "))
    }

    /// CREATE TABLE for SQLite.
    pub(crate) fn create_theirs(&self) -> String {
        let columns = self.columns.iter().map(|column| {
            let affinity = match column.kind {
                Kind::Int | Kind::Bool => "INTEGER",
                Kind::Exact => "REAL",
                Kind::Text | Kind::Date => "TEXT",
            };
            format!("{} {affinity}", column.name)
        });
        format!("CREATE TABLE {} ({})", self.name, columns.collect::<Vec<_>>().join(", "))
    }

    /// Rows behind VALUES.
    pub(crate) fn values<'a>(
        rows: impl IntoIterator<Item = &'a Vec<Value>>,
        text: fn(&Value) -> String,
    ) -> String {
        let row = |row: &Vec<Value>| format!("({})", row.iter().map(text).collect::<Vec<_>>().join(", "));
        rows.into_iter().map(row).collect::<Vec<_>>().join(", ")
    }
}
