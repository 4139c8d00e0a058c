// SPDX-License-Identifier: Apache-2.0
//! A view of the database at one commit.

use std::sync::Arc;

use basalt_model::Seq;

use crate::database::Shared;
use crate::version::Version;

/// Sees exactly the batches up to its sequence number, for as long as it lives, and keeps the files alive that
/// hold them. Cheap to clone and to send.
#[derive(Clone)]
pub struct Snapshot {
    shared: Arc<Shared>,
    version: Arc<Version>,
    seq: Seq,
}

impl Snapshot {
    pub(crate) fn new(shared: Arc<Shared>, version: Arc<Version>, seq: Seq) -> Self {
        Self { shared, version, seq }
    }

    /// The newest commit that the snapshot shows.
    pub fn seq(&self) -> Seq {
        self.seq
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("seq", &self.seq).finish_non_exhaustive()
    }
}
