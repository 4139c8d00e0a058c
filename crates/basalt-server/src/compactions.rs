// SPDX-License-Identifier: Apache-2.0
//! Which tables are being compacted because a client asked for it.

use std::collections::BTreeMap;

use basalt_model::TableId;
use basalt_wire::pb::get_region_info_response::CompactionState;
use parking_lot::Mutex;

/// See the module.
#[derive(Default)]
pub(crate) struct Compactions(Mutex<BTreeMap<TableId, bool>>);

impl Compactions {
    /// False if one that does as much is under way already.
    pub(crate) fn begin(&self, table: TableId, major: bool) -> bool {
        let mut running = self.0.lock();
        match running.get(&table) {
            Some(true) => false,
            Some(false) if !major => false,
            _ => {
                running.insert(table, major);
                true
            }
        }
    }

    pub(crate) fn end(&self, table: TableId) {
        self.0.lock().remove(&table);
    }

    /// As a number of the protocol.
    pub(crate) fn state_of(&self, table: TableId) -> i32 {
        let state = match self.0.lock().get(&table) {
            None => CompactionState::None,
            Some(false) => CompactionState::Minor,
            Some(true) => CompactionState::Major,
        };
        state as i32
    }
}
