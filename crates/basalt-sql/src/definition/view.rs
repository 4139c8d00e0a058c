// SPDX-License-Identifier: Apache-2.0
//! CREATE VIEW and DROP VIEW.

use basalt_model::TableDescriptor;

use super::alter::{add, own_columns, refuse_key_column, write};
use super::{existing, exists, options, refuse_views, row_timestamps};
use crate::catalog::{self, View, view};
use crate::dialect::{self, CreateView, Name};
use crate::error::{SqlError, code};
use crate::index;
use crate::plan::Planning;

/// Creates the view; `false` if it was there and IF NOT EXISTS was written.
pub(crate) fn create_view(
    planning: &Planning,
    statement: &CreateView,
    warnings: &mut Vec<String>,
) -> Result<bool, SqlError> {
    let database = planning.engine.database();
    let name = statement.name.table();
    options::of_view(&statement.options, warnings)?;
    if let Some(column) = row_timestamps(&statement.columns).next() {
        let message = format!("column {} of a view cannot be a ROW_TIMESTAMP", column.name);
        return Err(SqlError::coded(code::ROW_TIMESTAMP_OF_VIEW, message));
    }
    let table = database.table(&name).ok();
    let cells = table.filter(|(_, table)| table.schema.is_none() && statement.base.is_none());
    if let Some((id, table)) = cells
        && View::of(&table, &name)?.is_none()
    {
        let mapped = existing::mapped(planning, &table, &statement.columns, &statement.primary_key)?;
        let view = View {
            name,
            parent: None,
            condition: None,
            columns: vec![],
            mapped: Some(mapped),
            inherited: None,
        };
        let mut changed = TableDescriptor::clone(&table);
        view.put(&mut changed)?;
        write(&planning.engine, id, &table, changed)?;
        return Ok(true);
    }
    if catalog::find(database, &name).is_ok() || database.table(&name).is_ok() {
        return if statement.if_not_exists { Ok(false) } else { Err(exists(&statement.name)) };
    }
    let Some(base) = &statement.base else {
        return Err(SqlError::coded(
            code::TABLE_NOT_FOUND,
            format!(
                "there is no table {name} whose cells the view could show; other views need AS SELECT * FROM .."
            ),
        ));
    };
    create_over(planning, statement, base)?;
    Ok(true)
}

fn create_over(planning: &Planning, statement: &CreateView, base: &Name) -> Result<(), SqlError> {
    let database = planning.engine.database();
    let relation = catalog::find(database, &base.table())
        .map_err(|error| error.at(planning.tokens().find(&base.name)))?;
    let table = database.table_by_id(relation.id)?;
    let Some(mut schema) = relation.descriptor.schema.clone() else {
        return Err(catalog::without_columns(&table.name));
    };
    let parent = relation.view.map(|(name, _)| name);
    let is_mapped = table.schema.is_none();
    if is_mapped && !statement.columns.is_empty() {
        return Err(SqlError::statement("a view over a view of cells cannot have columns of its own"));
    }
    if statement.primary_key.is_some() {
        let message = format!("view {}: a view has the primary key of its table", statement.name.table());
        return Err(SqlError::coded(code::KEY_OF_VIEW, message));
    }
    let first = schema.columns.len();
    for definition in &statement.columns {
        refuse_key_column(definition)?;
        add(planning, &mut schema, definition, catalog::default_family(&table), false)?;
    }
    let condition = statement.condition.as_ref().map(|condition| dialect::printable(condition).to_string());
    let mut view = View {
        name: statement.name.table(),
        parent,
        condition,
        columns: vec![],
        mapped: None,
        inherited: None,
    };
    let mut changed = TableDescriptor::clone(&table);
    if !is_mapped {
        own_columns(&mut view, &mut changed, schema, first)?;
    }
    view.put(&mut changed)?;
    // Planned once, so that a wrong condition is refused now and not when the view is read.
    check(planning, &view, &table, relation.id)?;
    write(&planning.engine, relation.id, &table, changed)
}

fn check(
    planning: &Planning,
    view: &View,
    table: &TableDescriptor,
    id: basalt_model::TableId,
) -> Result<(), SqlError> {
    let relation = view::relation(id, table, view.clone())?;
    planning.check_condition(relation)
}

/// Drops the view; `false` if it was not there and IF EXISTS was written.
pub(crate) fn drop_view(
    planning: &Planning,
    name: &Name,
    if_exists: bool,
    cascade: bool,
) -> Result<bool, SqlError> {
    let database = planning.engine.database();
    let Some((id, table, dropped)) = view::find(database, &name.table())? else {
        return match catalog::find_table(database, &name.table()) {
            Ok((_, table)) => {
                let has_views = !View::all(&table)?.is_empty();
                let code = if has_views { code::HAS_VIEWS } else { code::TABLE_NOT_FOUND };
                Err(SqlError::coded(code, format!("{name} is a table; DROP TABLE drops it")))
            }
            Err(_) if if_exists => Ok(false),
            Err(error) => Err(error),
        };
    };
    let mut gone = vec![dropped];
    let all = View::all(&table)?;
    // Views over the view, and views over those.
    while let Some(next) = all.iter().find(|view| {
        let over = gone.iter().any(|gone| view.parent.as_ref() == Some(&gone.name));
        over && !gone.contains(view)
    }) {
        gone.push(next.clone());
    }
    refuse_views(&gone[1..], name, cascade)?;
    let mut changed = TableDescriptor::clone(&table);
    for view in &gone {
        view.remove(&mut changed);
    }
    write(&planning.engine, id, &table, changed)?;
    index::prune(&planning.engine, id)?;
    Ok(true)
}
