// SPDX-License-Identifier: Apache-2.0
//! ALTER .. ADD .. CASCADE INDEX: indexes include the columns that came.
//!
//! The index is built anew, as a write between the change of the table and that of the index would else be missed, and rows
//! that are there may have values: of a DEFAULT, or cells under the column's name.

use std::sync::Arc;

use basalt_model::{IndexState, TableDescriptor, TableId, TableName};

use super::build::Build;
use super::statement::wait;
use super::{define, keeper};
use crate::dialect::{Cascade, Name};
use crate::engine::Engine;
use crate::error::{SqlError, code, nearest};

/// The indexes on this table or view that CASCADE INDEX names; an error if one of them is not there.
pub(crate) fn cascaded(
    engine: &Engine,
    id: TableId,
    on: &TableName,
    cascade: Option<&Cascade>,
) -> Result<Vec<TableId>, SqlError> {
    let Some(cascade) = cascade else { return Ok(vec![]) };
    let indexes: Vec<(TableId, Arc<TableDescriptor>)> = engine
        .database()
        .indexes(id)
        .into_iter()
        .filter(|(_, index)| index.index.as_ref().is_some_and(|index| index.on == *on))
        .collect();
    let Cascade::Named(names) = cascade else { return Ok(indexes.iter().map(|(id, _)| *id).collect()) };
    let find = |name: &String| {
        let found = indexes.iter().find(|(_, index)| index.name.name == *name).map(|(id, _)| *id);
        found.ok_or_else(|| {
            let known = indexes.iter().map(|(_, index)| index.name.name.as_str());
            SqlError::coded(code::INDEX_NOT_FOUND, format!("{on} has no index {name}"))
                .suggest(nearest(name, known))
        })
    };
    names.iter().map(find).collect()
}

/// Includes columns of a table or view in indexes, and builds these anew. One that is UNUSABLE stays so; a disabled one is built
/// when it is wanted again.
pub(crate) async fn cascade(
    engine: &Engine,
    indexes: &[TableId],
    on: &TableName,
    columns: &[&Name],
) -> Result<(), SqlError> {
    let database = engine.database();
    for &index in indexes {
        let planning = super::planning(engine, Arc::default());
        let table = planning.table(on)?;
        let descriptor = database.table_by_id(index)?;
        let mut changed = define::including(&table, &descriptor, columns)?;
        if changed == *descriptor {
            continue;
        }
        let state = descriptor.index.as_ref().map(|index| index.state);
        // Not read until it is built, also if the process ends before that.
        match &mut changed.index {
            Some(index) if index.state != IndexState::Disabled => index.state = IndexState::Outdated,
            _ => {}
        }
        let keeper = keeper(&planning, &changed)?;
        database.alter_table(index, changed)?;
        database.keep_index(descriptor.name.clone(), Arc::new(keeper));
        if state == Some(IndexState::Disabled) {
            continue;
        }
        wait(Build::anew(engine, index, &Arc::default(), &Arc::default())?).await?;
        if state == Some(IndexState::Unusable) {
            let (index, _) = database.table(&descriptor.name)?;
            database.set_index_state(index, IndexState::Unusable)?;
        }
    }
    Ok(())
}
