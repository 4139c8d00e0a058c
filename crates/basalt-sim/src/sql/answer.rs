// SPDX-License-Identifier: Apache-2.0
//! Answers as texts, recorded and given, and how they differ.

use anyhow::{Context, Result, bail};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use basalt_sql::SqlError;
use serde_json::Value;

use super::cells::Cell;

/// What a statement answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Rows(Rows),
    /// Rows changed, if that was counted.
    Changed(Option<u64>),
    Refused {
        /// Phoenix's error number; `None` if it let a foreign exception through.
        code: Option<i64>,
        text: String,
    },
    Endless,
    /// What the HBase client found.
    Cells(Vec<Cell>),
}

/// Rows as texts; `None` is NULL.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    pub(super) titles: Vec<String>,
    /// Their order is part of the answer.
    pub(super) ordered: bool,
    pub(super) rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    pub(super) fn recorded(line: &Value) -> Result<Self> {
        match line["kind"].as_str().context("kind is missing")? {
            "query" => Ok(Self::Rows(Rows::recorded(line)?)),
            "update" => Ok(Self::Changed(line["update_count"].as_u64())),
            "error" => {
                let text = line["error"]["class"].as_str().unwrap_or_default().to_owned();
                Ok(Self::Refused { code: line["error"]["code"].as_i64(), text })
            }
            "hbase" => Ok(Self::Cells(recorded_cells(&line["cells"])?)),
            other => bail!("no such kind: {other}"),
        }
    }

    pub(super) fn refused(error: &SqlError) -> Self {
        let code = error.code().map(|code| i64::from(code.number));
        Self::Refused { code, text: error.message().to_owned() }
    }

    /// A sentence if the two differ.
    pub(super) fn difference(&self, found: &Self) -> Option<String> {
        match (self, found) {
            (Self::Rows(expected), Self::Rows(found)) => expected.difference(found),
            // A definition answers with a number of rows in Phoenix, without one here.
            (Self::Changed(_), Self::Changed(None)) => None,
            (Self::Changed(expected), Self::Changed(found)) if expected == found => None,
            (Self::Cells(expected), Self::Cells(found)) if expected == found => None,
            // A foreign exception has no number to compare.
            (Self::Refused { code: None, .. }, Self::Refused { .. }) => None,
            // An error without a number has the number 0 in JDBC.
            (Self::Refused { code: Some(code), .. }, Self::Refused { code: found, .. })
                if *code == found.unwrap_or(0) =>
            {
                None
            }
            _ => Some(format!("Phoenix: {}\n    Basalt:  {}", self.shown(), found.shown())),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Rows(rows) => rows.shown(),
            Self::Changed(Some(rows)) => format!("{rows} rows changed"),
            Self::Changed(None) => "done".to_owned(),
            Self::Refused { code, text } => match code {
                Some(code) => format!("error {code}: {text}"),
                None => format!("error without a number: {text}"),
            },
            Self::Endless => "no end".to_owned(),
            Self::Cells(cells) => {
                let cells: Vec<_> = cells.iter().map(|cell| cell.join("/")).collect();
                format!("{} cells: {}", cells.len(), cells.join(" "))
            }
        }
    }
}

impl Rows {
    fn recorded(line: &Value) -> Result<Self> {
        let columns = line["columns"].as_array().context("columns are missing")?;
        let titles = columns.iter().map(|column| column["name"].as_str().unwrap_or_default().to_owned());
        let rows = line["rows"].as_array().context("rows are missing")?.iter().map(|row| {
            let values = row.as_array().context("a row is no list")?;
            Ok(values.iter().map(recorded_value).collect())
        });
        let ordered = line["ordered"].as_bool().unwrap_or(false);
        Ok(Self { titles: titles.collect(), ordered, rows: rows.collect::<Result<_>>()? })
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) {
        let columns: Vec<Vec<Option<String>>> = batch.columns().iter().map(texts).collect();
        let rows =
            (0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect());
        self.rows.extend(rows);
    }

    fn difference(&self, found: &Self) -> Option<String> {
        let both = |what: &str| {
            Some(format!("{what}\n    Phoenix: {}\n    Basalt:  {}", self.shown(), found.shown()))
        };
        if self.titles.len() != found.titles.len() {
            return both("other columns");
        }
        if self.rows.len() != found.rows.len() {
            return both("other number of rows");
        }
        let (mut expected, mut given) = (self.rows.clone(), found.rows.clone());
        if !self.ordered {
            expected.sort();
            given.sort();
        }
        let same = expected.iter().zip(&given).all(|(a, b)| a.iter().zip(b).all(|(a, b)| same_value(a, b)));
        if same { None } else { both("other values") }
    }

    fn shown(&self) -> String {
        const SHOWN_MAX: usize = 8;
        let row = |row: &Vec<Option<String>>| {
            let values: Vec<_> = row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
            format!("({})", values.join(", "))
        };
        let rows: Vec<_> = self.rows.iter().take(SHOWN_MAX).map(row).collect();
        let more = if self.rows.len() > SHOWN_MAX { " …" } else { "" };
        format!("{} rows: {}{more}", self.rows.len(), rows.join(" "))
    }
}

fn recorded_cells(cells: &Value) -> Result<Vec<Cell>> {
    let cell = |cell: &Value| {
        let text =
            |at: usize| cell[at].as_str().map(str::to_owned).context("a cell is no list of four texts");
        Ok([text(0)?, text(1)?, text(2)?, text(3)?])
    };
    cells.as_array().into_iter().flatten().map(cell).collect()
}

fn recorded_value(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Equal as texts, or as numbers: Java writes floating-point numbers in its own way.
fn same_value(a: &Option<String>, b: &Option<String>) -> bool {
    if a == b {
        return true;
    }
    let (Some(a), Some(b)) = (a, b) else { return false };
    let is_float =
        |text: &str| text.contains(['.', 'E']) || text.ends_with("NaN") || text.ends_with("Infinity");
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a_number), Ok(b_number)) if is_float(a) || is_float(b) => {
            a_number == b_number || a_number as f32 == b_number as f32 && a.len() < 12
        }
        _ => false,
    }
}

/// The values of a column in the recorded form.
fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    if let Some(lists) = column.as_list_opt::<i32>() {
        let elements = texts(lists.values());
        let list = |row: usize| {
            let offsets = lists.value_offsets();
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            lists.is_valid(row).then(|| Value::from(elements[range].to_vec()).to_string())
        };
        return (0..lists.len()).map(list).collect();
    }
    let options = FormatOptions::new().with_timestamp_format(Some(match column.data_type() {
        DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, _) => "%Y-%m-%dT%H:%M:%S%.9f",
        _ => "%Y-%m-%dT%H:%M:%S%.3f",
    }));
    let formatter = match ArrayFormatter::try_new(column.as_ref(), &options) {
        Ok(formatter) => formatter,
        Err(error) => return vec![Some(error.to_string()); column.len()],
    };
    let is_decimal = matches!(column.data_type(), DataType::Decimal128(..) | DataType::Decimal256(..));
    let text = |row: usize| {
        let text = formatter.value(row).to_string();
        if is_decimal { plain(&text) } else { text }
    };
    let nulls = column.logical_nulls();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    (0..column.len()).map(|row| (!is_null(row)).then(|| text(row))).collect()
}

/// Without the zeros behind the last digit of a fraction.
fn plain(decimal: &str) -> String {
    if !decimal.contains('.') {
        return decimal.to_owned();
    }
    decimal.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_texts_as_texts() {
        assert!(same_value(&value("1.0E10"), &value("10000000000")));
        assert!(same_value(&value("0.1"), &value("0.1")));
        assert!(!same_value(&value("10"), &value("11")));
        assert!(!same_value(&value("010"), &value("10")), "a text of digits");
        assert!(!same_value(&None, &value("0.0")));
    }

    #[test]
    fn decimals_lose_their_last_zeros() {
        assert_eq!(plain("12.500"), "12.5");
        assert_eq!(plain("100"), "100");
        assert_eq!(plain("3.00"), "3");
    }

    #[test]
    fn order_counts_only_where_it_was_asked_for() {
        let rows = |ordered, values: [&str; 2]| Rows {
            titles: vec!["A".into()],
            ordered,
            rows: values.iter().map(|text| vec![value(text)]).collect(),
        };
        assert_eq!(rows(false, ["a", "b"]).difference(&rows(false, ["b", "a"])), None);
        assert!(rows(true, ["a", "b"]).difference(&rows(false, ["b", "a"])).is_some());
        assert!(rows(false, ["a", "b"]).difference(&rows(false, ["a", "a"])).is_some());
    }
}
