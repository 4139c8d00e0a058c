// SPDX-License-Identifier: Apache-2.0
//! A Parquet file decoded by several threads: each reads some of the columns, and their batches are put side by side again.
//!
//! Threads share out columns and not row groups: a thread that is ahead holds a few batches of its columns, where it would hold a whole
//! row group, of which files often have but one.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};

use super::super::{BATCH_ROWS, file};
use crate::error::{Context, Result};

/// Batches that a thread is ahead, at most.
const BATCHES_AHEAD: usize = 4;

/// Threads that decode some of the columns each. Dropped, it ends them.
pub(super) struct SideBySide {
    schema: SchemaRef,
    parts: Vec<Part>,
}

struct Part {
    /// Where the columns of its batches belong.
    places: Vec<usize>,
    /// `None` at the end.
    batches: Option<Receiver<Result<RecordBatch, ArrowError>>>,
    thread: Option<JoinHandle<()>>,
}

impl SideBySide {
    /// Begins to read `columns` of a file, numbers of fields of its schema in ascending order, by no more than `threads` threads.
    pub(super) fn start(
        path: &Path,
        metadata: &ArrowReaderMetadata,
        columns: &[usize],
        threads: usize,
    ) -> Result<Self> {
        let wrong = || format!("cannot read {}", path.display());
        let schema = metadata.schema().project(columns).with_context(wrong)?;
        let mut parts = Vec::new();
        for places in share_out(&weights(metadata, columns), threads) {
            let roots = places.iter().map(|&place| columns[place]);
            let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
            // A handle of its own: one that is shared has one position.
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file(path)?, metadata.clone());
            let batches =
                builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().with_context(wrong)?;
            let (send, receive) = sync_channel(BATCHES_AHEAD);
            let thread = std::thread::Builder::new()
                .name("basalt-parquet".into())
                .spawn(move || hand_on(batches, &send));
            parts.push(Part { places, batches: Some(receive), thread: Some(thread.with_context(wrong)?) });
        }
        Ok(Self { schema: schema.into(), parts })
    }

    /// The columns of the batches.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.schema.fields().len()];
        let mut rows = None;
        for part in &mut self.parts {
            let batch = part.batches.as_ref().and_then(|batches| batches.recv().ok()).transpose()?;
            let found = batch.as_ref().map(RecordBatch::num_rows);
            // All threads cut at the same rows.
            if *rows.get_or_insert(found) != found {
                return Err(ArrowError::ParquetError("columns of a file end at different rows".into()));
            }
            if let Some(batch) = batch {
                for (&place, array) in part.places.iter().zip(batch.columns()) {
                    arrays[place] = Some(array.clone());
                }
            }
        }
        let Some(Some(rows)) = rows else { return Ok(None) };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let arrays = arrays.into_iter().flatten().collect();
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map(Some)
    }
}

impl Iterator for SideBySide {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl Drop for SideBySide {
    fn drop(&mut self) {
        // A thread ends when nobody takes its next batch.
        self.parts.iter_mut().for_each(|part| part.batches = None);
        for thread in self.parts.iter_mut().filter_map(|part| part.thread.take()) {
            // One that panicked has ended its batches early, which was an error.
            thread.join().ok();
        }
    }
}

fn hand_on(
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    send: &SyncSender<Result<RecordBatch, ArrowError>>,
) {
    for batch in batches {
        let failed = batch.is_err();
        if send.send(batch).is_err() || failed {
            return;
        }
    }
}

/// Bytes of each column as the file has them uncompressed: what decoding costs, about.
fn weights(metadata: &ArrowReaderMetadata, columns: &[usize]) -> Vec<i64> {
    let leaves = metadata.parquet_schema();
    let mut weights = vec![0; metadata.schema().fields().len()];
    for group in metadata.metadata().row_groups() {
        for (leaf, column) in group.columns().iter().enumerate() {
            weights[leaves.get_column_root_idx(leaf)] += column.uncompressed_size();
        }
    }
    columns.iter().map(|&column| weights[column]).collect()
}

/// The places of the weights in at most `parts` shares of about the same weight, none without a place, each ascending.
fn share_out(weights: &[i64], parts: usize) -> Vec<Vec<usize>> {
    let mut heaviest_first: Vec<usize> = (0..weights.len()).collect();
    heaviest_first.sort_by_key(|&place| std::cmp::Reverse(weights[place]));
    let mut shares: Vec<(i64, Vec<usize>)> = vec![(0, Vec::new()); parts.clamp(1, weights.len().max(1))];
    for place in heaviest_first {
        let lightest = shares.iter_mut().min_by_key(|(weight, places)| (*weight, places.len()));
        let (weight, places) = lightest.expect("there is a share");
        *weight += weights[place];
        places.push(place);
    }
    shares.into_iter().map(|(_, places)| places).map(sorted).collect()
}

fn sorted(mut places: Vec<usize>) -> Vec<usize> {
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests;
