// SPDX-License-Identifier: Apache-2.0
//! Rows of both databases in one form, and how they are compared.

use arrow::array::{Array, ArrayRef};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use rusqlite::types::ValueRef;

use crate::query::Query;
use crate::world::Kind;

/// A value by its kind; `None` is NULL.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(crate) enum Field {
    Number(f64),
    Text(String),
}

pub(crate) type Row = Vec<Option<Field>>;

/// AVG of integers has four digits behind the point.
const ROUNDING: f64 = 1e-3;

pub(crate) fn of_sqlite(
    connection: &rusqlite::Connection,
    query: &Query,
) -> Result<Vec<Row>, rusqlite::Error> {
    let mut statement = connection.prepare(&query.text.theirs)?;
    let mut rows = statement.query([])?;
    let mut answer = vec![];
    while let Some(row) = rows.next()? {
        let field = |at| {
            Ok::<_, rusqlite::Error>(match row.get_ref(at)? {
                ValueRef::Null => None,
                ValueRef::Integer(value) => Some(Field::Number(value as f64)),
                ValueRef::Real(value) => Some(Field::Number(value)),
                ValueRef::Text(text) => Some(Field::Text(String::from_utf8_lossy(text).into_owned())),
                ValueRef::Blob(_) => panic!("no query gives bytes: {}", query.text.theirs),
            })
        };
        answer.push((0..query.kinds.len()).map(field).collect::<Result<Row, _>>()?);
    }
    Ok(answer)
}

pub(crate) fn add(batch: &RecordBatch, kinds: &[Kind], answer: &mut Vec<Row>) {
    assert_eq!(batch.num_columns(), kinds.len(), "columns");
    let columns: Vec<_> =
        batch.columns().iter().zip(kinds).map(|(column, kind)| fields(column, *kind)).collect();
    answer
        .extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
}

fn fields(column: &ArrayRef, kind: Kind) -> Vec<Option<Field>> {
    let options = FormatOptions::new();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).expect("printable");
    let nulls = column.logical_nulls();
    let field = |row: usize| {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let text = formatter.value(row).to_string();
        Some(match kind {
            Kind::Text => Field::Text(text),
            Kind::Date => Field::Text(text.chars().take(10).collect()),
            Kind::Bool => Field::Number(f64::from(u8::from(text == "true"))),
            Kind::Int | Kind::Exact => match text.parse() {
                Ok(number) => Field::Number(number),
                Err(_) => Field::Text(format!("no number: {text}")),
            },
        })
    };
    (0..column.len()).map(field).collect()
}

/// What differs, if anything does.
pub(crate) fn difference(query: &Query, mut expected: Vec<Row>, mut found: Vec<Row>) -> Option<String> {
    if !query.ordered {
        let order = |a: &Row, b: &Row| a.partial_cmp(b).expect("no NaN");
        expected.sort_by(order);
        found.sort_by(order);
    }
    if expected.len() != found.len() {
        return Some(format!(
            "{} rows, SQLite has {}\n{}",
            found.len(),
            expected.len(),
            both(&expected, &found)
        ));
    }
    let at = expected.iter().zip(&found).position(|(expected, found)| !same(query, expected, found))?;
    let from = at.saturating_sub(2);
    Some(format!("row {at} differs\n{}", both(&expected[from..], &found[from..])))
}

fn same(query: &Query, expected: &Row, found: &Row) -> bool {
    expected.iter().zip(found).zip(&query.rounded).all(|((expected, found), rounded)| {
        match (expected, found) {
            (Some(Field::Number(expected)), Some(Field::Number(found))) if *rounded => {
                (expected - found).abs() < ROUNDING
            }
            _ => expected == found,
        }
    })
}

fn both(expected: &[Row], found: &[Row]) -> String {
    const SHOWN_MAX: usize = 12;
    let shown = |rows: &[Row]| {
        let field = |field: &Option<Field>| match field {
            None => "NULL".to_owned(),
            Some(Field::Number(number)) => number.to_string(),
            Some(Field::Text(text)) => text.clone(),
        };
        let rows =
            rows.iter().take(SHOWN_MAX).map(|row| row.iter().map(field).collect::<Vec<_>>().join(", "));
        rows.map(|row| format!("({row})")).collect::<Vec<_>>().join(" ")
    };
    format!("    SQLite: {}\n    Basalt: {}", shown(expected), shown(found))
}
