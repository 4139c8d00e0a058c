// SPDX-License-Identifier: Apache-2.0
//! Running a scan: one partition at a time, each batch when it is asked for.

use std::sync::Arc;

use basalt_hfile::typed::Wanted;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;

use super::super::deal::Deal;
use super::super::narrowed::{self, Found};
use super::super::reader::{Counters, Part, Reader, Rows, let_others_run};
use super::super::shared::Deals;
use super::reversed::Reversed;
use super::{BasaltScan, Spec};

/// A partition, or a piece of it, about to be read.
#[derive(Clone)]
pub(super) struct Opening {
    pub(super) spec: Arc<Spec>,
    pub(super) part: Part,
    hints: Vec<Arc<dyn PhysicalExpr>>,
    found: Arc<Found>,
    rows: Rows,
    counters: Arc<Counters>,
}

impl Opening {
    fn of(scan: &BasaltScan, partition: usize, rows: Rows, context: &TaskContext) -> Self {
        let deal = match scan.deal {
            Some(number) => Deals::of(context, number),
            None => scan.reads_backwards().then(|| Arc::new(Deal::new(&scan.work()))),
        };
        let any_order = scan.in_any_order || matches!(rows, Rows::Total(_));
        let (of, deal) = (scan.partitions[partition].clone(), deal.map(|deal| (deal, partition)));
        Self {
            spec: Arc::clone(&scan.spec),
            part: Part { of, deal, any_order, narrowed: None },
            hints: scan.hints.clone(),
            found: Arc::clone(&scan.narrowed),
            rows,
            counters: Arc::new(Counters::new(&scan.metrics, partition)),
        }
    }

    /// Begins to read. A join that has something to say has said it before it asks for rows.
    pub(super) fn open(self) -> Result<Reader> {
        let narrowed = match self.rows {
            Rows::Plain | Rows::Short => self.found.of(&self.spec, &self.hints)?,
            // Rows that are looked up are not added up.
            Rows::Total(_) => None,
        };
        let hints = match narrowed.as_deref() {
            Some(narrowed) => narrowed::left_of(self.hints, narrowed, &self.spec),
            None => self.hints,
        };
        let part = Part { narrowed, ..self.part };
        Ok(Reader::open(&self.spec, hints, part, self.rows, self.counters)?)
    }
}

/// A partition at work, or before that.
enum Running {
    Opening(Box<Opening>),
    Forward(Box<Reader>),
    Reversed(Box<Reversed>),
}

impl Running {
    /// The next rows; perhaps none, while there may be others.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Self::Opening(opening) = self {
            *self = Self::Forward(Box::new(Opening::clone(opening).open()?));
        }
        match self {
            Self::Forward(reader) => reader.next(),
            Self::Reversed(reversed) => reversed.next(),
            Self::Opening(_) => Ok(None),
        }
    }
}

impl BasaltScan {
    /// Begins to add up a partition.
    pub(in crate::scan) fn total(
        &self,
        partition: usize,
        wanted: &[Wanted],
        context: &TaskContext,
    ) -> Result<Reader> {
        Opening::of(self, partition, Rows::Total(wanted.to_vec()), context).open()
    }

    /// The rows of a partition.
    pub(super) fn read(
        &self,
        partition: usize,
        rows: Rows,
        context: &TaskContext,
    ) -> Result<SendableRecordBatchStream> {
        let opening = Box::new(Opening::of(self, partition, rows, context));
        let running = match &self.reversed {
            Some(first) => Running::Reversed(Box::new(Reversed::new(*opening, first.as_ref())?)),
            None if self.hints.is_empty() => Running::Forward(Box::new(opening.open()?)),
            None => Running::Opening(opening),
        };
        let batches = stream::unfold(Some(running), |running| async {
            let mut running = running?;
            loop {
                match running.next() {
                    Ok(Some(batch)) if batch.num_rows() == 0 => let_others_run().await,
                    Ok(Some(batch)) => return Some((Ok(batch), Some(running))),
                    Ok(None) => return None,
                    Err(error) => return Some((Err(error), None)),
                }
            }
        });
        let rows = RecordBatchStreamAdapter::new(Arc::clone(&self.spec.schema), Box::pin(batches));
        Ok(Box::pin(cooperative(rows)))
    }
}
