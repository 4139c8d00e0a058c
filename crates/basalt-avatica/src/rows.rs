// SPDX-License-Identifier: Apache-2.0
//! Rows of a statement that is being read, a frame at a time.

use arrow::datatypes::SchemaRef;
use basalt_sql::RowStream;
use basalt_wire::avatica::pb;
use futures::StreamExt;

use crate::columns::Type;
use crate::failure::Failure;
use crate::values::Column;

/// Rows of a frame where the client does not say how many.
const ROWS_DEFAULT: usize = 100;
/// Rows of a frame, at most: who wants all of them asks again.
const ROWS_MAX: usize = 10_000;
/// Values of a frame, about.
const BYTES_MAX: usize = 8 << 20;

/// See the module.
pub(crate) struct OpenRows {
    stream: RowStream,
    types: Vec<Type>,
    /// The batch in hand, and its next row.
    columns: Vec<Column>,
    at: usize,
    rows: usize,
    /// Rows that were sent.
    offset: u64,
    /// Rows that may be sent.
    left: u64,
    done: bool,
}

impl OpenRows {
    /// The first `most` rows.
    pub(crate) fn new(stream: RowStream, most: Option<u64>) -> Self {
        let types = stream.schema().fields().iter().map(|field| Type::of_field(field)).collect();
        let left = most.unwrap_or(u64::MAX);
        Self { stream, types, columns: vec![], at: 0, rows: 0, offset: 0, left, done: left == 0 }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }

    /// Rows that were sent.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next rows: so many at most, as the client says (0 for whatever the server likes, less for all). A frame without rows is the
    /// last one.
    pub(crate) async fn frame(&mut self, wanted: i32) -> Result<pb::Frame, Failure> {
        let wanted = match usize::try_from(wanted) {
            Ok(0) => ROWS_DEFAULT,
            Ok(wanted) => wanted.min(ROWS_MAX),
            Err(_) => ROWS_MAX,
        };
        let mut frame = pb::Frame { offset: self.offset, done: false, rows: vec![] };
        let mut bytes = 0;
        while !self.done && frame.rows.len() < wanted && bytes < BYTES_MAX {
            if self.at == self.rows {
                self.done = !self.next_batch().await?;
                continue;
            }
            let value: Vec<_> = self.columns.iter().map(|column| column.value(self.at)).collect();
            bytes += value.iter().map(size).sum::<usize>();
            frame.rows.push(pb::Row { value });
            self.at += 1;
            self.offset += 1;
            self.left -= 1;
            self.done = self.left == 0;
        }
        frame.done = self.done;
        Ok(frame)
    }

    /// Passes over so many rows, which count as sent.
    pub(crate) async fn skip(&mut self, rows: u64) -> Result<(), Failure> {
        while self.offset < rows && self.has_rows().await? {
            let passed = ((self.rows - self.at) as u64).min(rows - self.offset);
            self.at += passed as usize;
            self.offset += passed;
        }
        Ok(())
    }

    /// True if there are more rows.
    pub(crate) async fn has_rows(&mut self) -> Result<bool, Failure> {
        while !self.done && self.at == self.rows {
            self.done = !self.next_batch().await?;
        }
        Ok(!self.done)
    }

    /// False if there are no more rows.
    async fn next_batch(&mut self) -> Result<bool, Failure> {
        let Some(batch) = self.stream.next().await else { return Ok(false) };
        let batch = batch?;
        let columns = self.types.iter().zip(batch.columns()).map(|(of, array)| Column::new(of, array));
        let refused = |error| Failure::protocol(format!("a column cannot be sent: {error}"));
        self.columns = columns.collect::<Result<_, _>>().map_err(refused)?;
        (self.at, self.rows) = (0, batch.num_rows());
        Ok(true)
    }
}

/// Bytes of a value on the wire, about.
fn size(value: &pb::ColumnValue) -> usize {
    let of_scalar = |value: &pb::TypedValue| 8 + value.string_value.len() + value.bytes_value.len();
    let of_array = value.array_value.iter().map(of_scalar).sum::<usize>();
    4 + of_array + value.scalar_value.as_ref().map_or(0, of_scalar)
}
