// SPDX-License-Identifier: Apache-2.0
//! Sums and extremes of numbers in cells.
//!
//! How bytes are numbers says an *interpreter*, a Java class that the client names: [`Kind`] has those for longs and doubles. The
//! numbers of an answer are messages of the interpreter, counts are eight bytes, big-endian:
//!
//! | method | first part | second part |
//! |---|---|---|
//! | GetMax, GetMin, GetSum | number | |
//! | GetRowNum | count of rows | |
//! | GetAvg | sum | count of rows |
//! | GetStd | sum, sum of squares | count of rows |
//! | GetMedian | sum of values, sum of weights | |
//!
//! Where no cell has a number the answer is empty.

use std::cmp::Ordering;

use basalt_model::CellRef;
use basalt_store::{Row, Rows};
use basalt_wire::{Exception, pb};
use bytes::Bytes;
use prost::Message;

use super::scan;
use crate::failure;
use crate::regions::Region;

const LONG: &str = "org.apache.hadoop.hbase.client.coprocessor.LongColumnInterpreter";
const DOUBLE: &str = "org.apache.hadoop.hbase.client.coprocessor.DoubleColumnInterpreter";

/// What the bytes of values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Long,
    Double,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Long(i64),
    Double(f64),
}

impl Kind {
    fn of_class(class: &str) -> Result<Self, Exception> {
        match class {
            LONG => Ok(Self::Long),
            DOUBLE => Ok(Self::Double),
            class => Err(Exception::refused(format!(
                "column interpreter {class} is not known; expected {LONG} or {DOUBLE}"
            ))),
        }
    }

    /// The number in a cell; `None` if its value has another length.
    fn number(self, cell: &CellRef<'_>) -> Option<Number> {
        let bytes = <[u8; 8]>::try_from(cell.value).ok()?;
        Some(match self {
            Self::Long => Number::Long(i64::from_be_bytes(bytes)),
            Self::Double => Number::Double(f64::from_be_bytes(bytes)),
        })
    }

    /// What stands for a sum of weights where there are none.
    fn least(self) -> Number {
        match self {
            Self::Long => Number::Long(i64::MIN),
            // Java's smallest double above zero.
            Self::Double => Number::Double(f64::from_bits(1)),
        }
    }
}

impl Number {
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Long(a), Self::Long(b)) => Self::Long(a.wrapping_add(b)),
            (a, b) => Self::Double(a.double() + b.double()),
        }
    }

    fn squared(self) -> Self {
        match self {
            Self::Long(a) => Self::Long(a.wrapping_mul(a)),
            Self::Double(a) => Self::Double(a * a),
        }
    }

    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Long(a), Self::Long(b)) => a.cmp(&b),
            (a, b) => a.double().total_cmp(&b.double()),
        }
    }

    fn double(self) -> f64 {
        match self {
            Self::Long(a) => a as f64,
            Self::Double(a) => a,
        }
    }

    fn message(self) -> Bytes {
        match self {
            Self::Long(long_msg) => pb::LongMsg { long_msg }.encode_to_vec().into(),
            Self::Double(double_msg) => pb::DoubleMsg { double_msg }.encode_to_vec().into(),
        }
    }
}

/// The sum of two numbers that may be missing.
fn sum(a: Option<Number>, b: Option<Number>) -> Option<Number> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.plus(b)),
        (a, b) => a.or(b),
    }
}

/// The answer; `None` if there is no such method.
pub(super) fn call(
    region: &Region,
    method: &str,
    request: pb::AggregateRequest,
) -> Result<Option<pb::AggregateResponse>, Exception> {
    let kind = Kind::of_class(&request.interpreter_class_name)?;
    let columns: Vec<Bytes> =
        request.scan.column.first().map_or(Vec::new(), |family| family.qualifier.clone());
    let rows = Aggregate { kind, rows: scan(region, request.scan)? };
    Ok(Some(match method {
        "GetMax" => rows.extreme(Ordering::Greater)?,
        "GetMin" => rows.extreme(Ordering::Less)?,
        "GetSum" => {
            let sums = rows.sums()?;
            answer(sums.sum.into_iter().collect(), None)
        }
        "GetRowNum" => rows.count()?,
        "GetAvg" => {
            let sums = rows.sums()?;
            sums.sum.map_or_else(Default::default, |sum| answer(vec![sum], Some(sums.rows)))
        }
        "GetStd" => {
            let sums = rows.sums()?;
            let parts = sums.sum.zip(sums.squares).map(|(sum, squares)| vec![sum, squares]);
            parts.map_or_else(Default::default, |parts| answer(parts, Some(sums.rows)))
        }
        "GetMedian" => rows.weights(&columns)?,
        _ => return Ok(None),
    }))
}

fn answer(first: Vec<Number>, rows: Option<u64>) -> pb::AggregateResponse {
    pb::AggregateResponse {
        first_part: first.into_iter().map(Number::message).collect(),
        second_part: rows.map(count_bytes),
    }
}

fn count_bytes(count: u64) -> Bytes {
    Bytes::copy_from_slice(&count.to_be_bytes())
}

struct Aggregate {
    kind: Kind,
    rows: Rows,
}

#[derive(Default)]
struct Sums {
    sum: Option<Number>,
    /// Of the sums of rows.
    squares: Option<Number>,
    rows: u64,
}

impl Aggregate {
    fn each(self, mut look: impl FnMut(&Row)) -> Result<(), Exception> {
        for row in self.rows {
            look(&row.map_err(failure::of_store)?);
        }
        Ok(())
    }

    /// The number that has this order to all others.
    fn extreme(self, order: Ordering) -> Result<pb::AggregateResponse, Exception> {
        let (kind, mut found) = (self.kind, None::<Number>);
        self.each(|row| {
            for number in row.cells().filter_map(|cell| kind.number(&cell)) {
                if found.is_none_or(|found| number.compare(found) == order) {
                    found = Some(number);
                }
            }
        })?;
        Ok(answer(found.into_iter().collect(), None))
    }

    fn count(self) -> Result<pb::AggregateResponse, Exception> {
        let mut rows = 0;
        self.each(|_| rows += 1)?;
        Ok(pb::AggregateResponse { first_part: vec![count_bytes(rows)], second_part: None })
    }

    fn sums(self) -> Result<Sums, Exception> {
        let (kind, mut sums) = (self.kind, Sums::default());
        self.each(|row| {
            let of_row = row.cells().fold(None, |so_far, cell| sum(so_far, kind.number(&cell)));
            sums.sum = sum(sums.sum, of_row);
            sums.squares = sum(sums.squares, of_row.map(Number::squared));
            sums.rows += 1;
        })?;
        Ok(sums)
    }

    /// Sums of the first column and, if a second is named, of the last: values and their weights.
    fn weights(self, columns: &[Bytes]) -> Result<pb::AggregateResponse, Exception> {
        let kind = self.kind;
        let value_column = columns.iter().min().cloned();
        let weight_column = columns.iter().max().filter(|_| columns.len() > 1).cloned();
        let (mut values, mut weights) = (None, None);
        self.each(|row| {
            for cell in row.cells() {
                let is = |column: &Bytes| cell.qualifier == &column[..];
                if value_column.as_ref().is_none_or(is) {
                    values = sum(values, kind.number(&cell));
                } else if weight_column.as_ref().is_some_and(is) {
                    weights = sum(weights, kind.number(&cell));
                }
            }
        })?;
        let Some(values) = values else { return Ok(pb::AggregateResponse::default()) };
        Ok(answer(vec![values, weights.unwrap_or(kind.least())], None))
    }
}
