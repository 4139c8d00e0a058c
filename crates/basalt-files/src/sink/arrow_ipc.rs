// SPDX-License-Identifier: Apache-2.0
//! An Arrow IPC stream, batch by batch as the engine makes them.

use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;

use super::Sink;

pub(super) struct ArrowSink<W: Write> {
    writer: StreamWriter<W>,
}

impl<W: Write> ArrowSink<W> {
    /// Writes the schema.
    pub(super) fn try_new(schema: &SchemaRef, out: W) -> io::Result<Self> {
        Ok(Self { writer: StreamWriter::try_new(out, schema).map_err(into_io)? })
    }
}

impl<W: Write> Sink for ArrowSink<W> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.writer.write(batch).map_err(into_io)
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        self.writer.finish().map_err(into_io)?;
        self.writer.get_mut().flush()
    }
}

/// Keeps the kind of an I/O error, so that a closed pipe is still known as one.
fn into_io(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}
