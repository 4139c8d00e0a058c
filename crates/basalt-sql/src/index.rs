// SPDX-License-Identifier: Apache-2.0
//! Secondary indexes: what their rows are, how they are made, built, checked and chosen.
//!
//! An index is a table of the store that follows another one ([`basalt_store::IndexKeeper`]); its shape is described in
//! [`basalt_model::index`]. Here:
//!
//! ```text
//! define     CREATE INDEX -> the index as a table
//! entries    batches of base rows -> batches of index rows, for all of the following
//! keeper     what a write of base rows means for the index, inside of the write
//! build      all rows of a snapshot, in files
//! check      the index and its table, compared
//! usable     for a query: which values an index has, and its filters in terms of them
//! cascade    columns that come to a table and to its indexes
//! named      rows of an index -> the keys of its table's rows
//! statement  the statements about indexes
//! ```
//!
//! The rule that this module protects: an index is active only while each of its rows is what [`entries`] makes of a row of
//! its table, and there are no others. Tables with a TTL are the exception: index rows may live longer than the values
//! that they are made of, never shorter, and readers look at the rows of the table again.

mod alter;
mod build;
mod cascade;
mod check;
mod define;
mod entries;
mod keeper;
mod named;
mod statement;
mod usable;

use std::sync::Arc;

use basalt_model::{IndexState, TableDescriptor, TableId};

pub(crate) use alter::{after_alter, before_alter, prune};
pub(crate) use build::{Builders, rebuild_outdated};
pub(crate) use cascade::{cascade, cascaded};
pub(crate) use named::keys_of_rows;
pub(crate) use statement::{explained, run};
pub(crate) use usable::{Place, Usable, unqualified, usable};

use crate::dialect::TokenMap;
use crate::engine::Engine;
use crate::error::SqlError;
use crate::plan::Planning;
use crate::progress::Progress;
use crate::sequence::Currents;
use keeper::Keeper;

/// Rows of the table that are made into index rows at a time.
const BATCH_ROWS: usize = 8_192;

/// A planning that belongs to no statement.
fn planning(engine: &Engine, progress: Arc<Progress>) -> Planning {
    Planning::new(engine, TokenMap::default(), progress, Currents::default())
}

/// The indexes of all tables.
fn all(engine: &Engine) -> impl Iterator<Item = (TableId, Arc<TableDescriptor>)> {
    engine.database().tables().into_iter().filter(|(_, table)| table.index.is_some())
}

/// Brings the keepers of all indexes, and goes on building those that are not complete. An index whose keeper
/// cannot be made stays without one, and the store refuses writes to its table.
pub(crate) fn attach(engine: &Engine) {
    let planning = planning(engine, Arc::default());
    for (id, descriptor) in all(engine) {
        if let Ok(keeper) = keeper(&planning, &descriptor) {
            engine.database().keep_index(descriptor.name.clone(), Arc::new(keeper));
            let state = descriptor.index.as_ref().map(|index| index.state);
            if matches!(state, Some(IndexState::Building | IndexState::Outdated)) {
                // A database that is open for reading goes without.
                let _ = build::go_on(engine, id);
            }
        }
    }
}

/// The keeper of an index.
fn keeper(planning: &Planning, index: &TableDescriptor) -> Result<Keeper, SqlError> {
    Keeper::try_new(planning, index)
}

/// True if rows of the table may end by themselves.
pub(crate) fn expires(table: &TableDescriptor) -> bool {
    table.families.iter().any(|family| family.ttl_secs.is_some())
}
