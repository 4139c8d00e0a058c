// SPDX-License-Identifier: Apache-2.0
//! What lies between HBase's server and a program: the client counts rows in its own way.
//!
//! A scan with a limit of rows that also cuts rows into batches ends early: the client counts a row a second time
//! when its last piece is shorter than a batch and the next row follows. How much of that shows depends on how
//! many results it asks for at a time. The recorded answers have it, the database does not.

use basalt_store::{Result, Row};

/// How a client asked.
pub(super) struct Asked {
    /// Rows wanted.
    pub(super) limit: u64,
    /// Cells per result.
    pub(super) batch: usize,
    /// Results per call.
    pub(super) caching: usize,
}

/// What the client makes of the results of a scan without a limit.
pub(super) fn limited(rows: impl Iterator<Item = Result<Row>>, asked: &Asked) -> Result<Vec<Row>> {
    let mut calls = Calls { rows, cut_row: None };
    let mut client = Counter::default();
    let (mut left, mut all) = (asked.limit, Vec::new());
    while left > 0 {
        let (results, more) = calls.call(left, asked.caching)?;
        let complete: u64 = results.iter().map(|row| client.count(row, asked.batch)).sum();
        all.extend(results);
        left = left.saturating_sub(complete);
        if !more {
            break;
        }
    }
    Ok(all)
}

/// The server's side: results of one call after the other.
struct Calls<I> {
    rows: I,
    /// Row of the last result of the last call if that was partial.
    cut_row: Option<Vec<u8>>,
}

impl<I: Iterator<Item = Result<Row>>> Calls<I> {
    /// The results of a call, and false if the scan is over.
    fn call(&mut self, limit: u64, caching: usize) -> Result<(Vec<Row>, bool)> {
        let mut results: Vec<Row> = Vec::new();
        let mut complete = 0;
        let mut more = true;
        while results.len() < caching && more {
            let Some(row) = self.rows.next().transpose()? else {
                more = false;
                break;
            };
            let cut = match results.last() {
                None => self.cut_row.clone(),
                Some(last) => last.is_partial().then(|| last.key().to_vec()),
            };
            if cut.is_some_and(|cut| cut != row.key()) {
                complete += 1;
                if complete >= limit {
                    more = false;
                    break;
                }
            }
            complete += u64::from(!row.is_partial());
            more = row.is_partial() || complete < limit;
            results.push(row);
        }
        self.cut_row = results.last().filter(|row| row.is_partial()).map(|row| row.key().to_vec());
        Ok((results, more))
    }
}

/// The client's side: complete rows, as it sees them.
#[derive(Default)]
struct Counter {
    /// Row of the last full batch, if more of that row was announced.
    announced: Option<Vec<u8>>,
}

impl Counter {
    fn count(&mut self, row: &Row, batch: usize) -> u64 {
        let mut complete =
            u64::from(self.announced.as_deref().is_some_and(|announced| announced != row.key()));
        if row.len() < batch {
            // The last piece of a row; what was announced is not forgotten.
            return complete + 1;
        }
        complete += u64::from(!row.is_partial());
        self.announced = row.is_partial().then(|| row.key().to_vec());
        complete
    }
}
