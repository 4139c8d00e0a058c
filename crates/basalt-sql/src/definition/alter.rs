// SPDX-License-Identifier: Apache-2.0
//! ALTER TABLE and ALTER VIEW: new columns, columns that go, options.
//!
//! A column that comes has no cells yet, so rows that are there have its DEFAULT or NULL. A column that goes leaves
//! its cells behind, under a number that is never used again; where columns bear names instead, its cells are deleted
//! first, since a later column of that name would find them.

use std::ops::ControlFlow;

use basalt_model::{ColumnRef, FamilyDescriptor, TableDescriptor, TableId, TableName, TableSchema};
use datafusion::sql::sqlparser::ast::{Expr, Visit, Visitor};

use super::columns::{column, schema_error};
use super::existing;
use super::options::{TableOptions, of_view};
use crate::catalog::{self, View};
use crate::delete;
use crate::dialect::{Alter, AlterChange, Cascade, ColumnDef, Name, OptionDef};
use crate::engine::Engine;
use crate::error::{SqlError, code};
use crate::index;
use crate::ingest::find_column;
use crate::plan::Planning;

/// Runs the statement.
pub(crate) async fn alter(
    planning: &Planning,
    statement: &Alter,
    warnings: &mut Vec<String>,
) -> Result<(), SqlError> {
    let database = planning.engine.database();
    let name = statement.name.table();
    let (added, cascade) = statement.change.added();
    if statement.view {
        let Some((id, table, view)) = catalog::view::find(database, &name)? else {
            return Err(match catalog::find_table(database, &name) {
                Ok(_) => {
                    let message = format!("{name} is a table; ALTER TABLE changes it");
                    SqlError::coded(code::TABLE_NOT_FOUND, message)
                }
                Err(error) => error,
            });
        };
        let indexes = index::cascaded(&planning.engine, id, &name, cascade)?;
        let options = match &statement.change {
            AlterChange::Add { options, .. } | AlterChange::Set { options } => &options[..],
            AlterChange::Drop { .. } => &[],
        };
        of_view(options, warnings)?;
        alter_view(planning, id, &table, view, &statement.change)?;
        return index::cascade(&planning.engine, &indexes, &name, &added).await;
    }
    let (id, table) = catalog::find_table(database, &name)?;
    let mut changed = TableDescriptor::clone(&table);
    let Some(schema) = &mut changed.schema else { return Err(catalog::without_columns(&name)) };
    match &statement.change {
        AlterChange::Add { if_not_exists, columns, options, .. } => {
            let family = catalog::default_family(&table).to_owned();
            for definition in columns {
                refuse_column_of_view(&table, &definition.name)?;
                add(planning, schema, definition, &family, *if_not_exists)?;
            }
            add_families(&mut changed);
            set(&mut changed, options, warnings)?;
        }
        AlterChange::Drop { if_exists, columns } => {
            let found = find(schema, columns, *if_exists)?;
            for &column in &found {
                refuse_use_in_view(&table, schema.name(column))?;
            }
            let dropped = drop_columns(schema, found)?;
            if schema.qualifier_bytes == 0 {
                delete::delete_cells(planning, &name, &dropped).await?;
            }
        }
        AlterChange::Set { options } => set(&mut changed, options, warnings)?,
    }
    index::before_alter(&planning.engine, id, &changed, &statement.change)?;
    let indexes = index::cascaded(&planning.engine, id, &name, cascade)?;
    write(&planning.engine, id, &table, changed.clone())?;
    index::after_alter(&planning.engine, id, &table, &changed)?;
    index::cascade(&planning.engine, &indexes, &name, &added).await
}

impl AlterChange {
    /// Names of the columns that come, and the indexes that include them.
    fn added(&self) -> (Vec<&Name>, Option<&Cascade>) {
        match self {
            Self::Add { columns, cascade, .. } => {
                (columns.iter().map(|column| &column.name).collect(), cascade.as_ref())
            }
            _ => (vec![], None),
        }
    }
}

/// Changes the descriptor, unless another session changed it meanwhile.
pub(super) fn write(
    engine: &Engine,
    id: TableId,
    before: &TableDescriptor,
    after: TableDescriptor,
) -> Result<(), SqlError> {
    let database = engine.database();
    let _one_at_a_time = engine.definitions().lock();
    if *database.table_by_id(id)? != *before {
        return Err(SqlError::overtaken(format!(
            "table {} was changed by another session meanwhile; try again",
            before.name
        )));
    }
    Ok(database.alter_table(id, after)?)
}

pub(super) fn add(
    planning: &Planning,
    schema: &mut TableSchema,
    definition: &ColumnDef,
    default_family: &str,
    if_not_exists: bool,
) -> Result<(), SqlError> {
    let name = &definition.name;
    if if_not_exists && schema.find(name.schema.as_deref(), &name.name).is_ok() {
        return Ok(());
    }
    if definition.row_timestamp {
        let message = format!("column {name} can be the ROW_TIMESTAMP of a new table only");
        return Err(SqlError::coded(code::ROW_TIMESTAMP_LATER, message));
    }
    let new = column(planning, definition)?;
    let added = match definition.primary_key {
        Some(_) if new.default_sql.is_some() => {
            return Err(SqlError::statement(format!("column {name} of the key cannot have a DEFAULT")));
        }
        Some(order) => schema.push_key_column(new, order),
        None if new.not_null && new.default_sql.is_none() => {
            let message = format!(
                "column {name} cannot be NOT NULL without a DEFAULT: rows that are there have no value for it"
            );
            return Err(SqlError::coded(code::INVALID_NOT_NULL, message));
        }
        None => schema.push_column(new, default_family),
    };
    added.map_err(|error| schema_error(&error))
}

/// Families that columns need and the table has not, as the first one is.
fn add_families(table: &mut TableDescriptor) {
    let Some(schema) = &table.schema else { return };
    let wanted: Vec<String> = schema.families().into_iter().map(str::to_owned).collect();
    for name in wanted {
        if !table.families.iter().any(|family| family.name == name) {
            let family = FamilyDescriptor { name, ..table.families[0].clone() };
            *table = table.clone().family(family);
        }
    }
}

fn set(
    table: &mut TableDescriptor,
    options: &[OptionDef],
    warnings: &mut Vec<String>,
) -> Result<(), SqlError> {
    const FIXED: [&str; 2] = ["COLUMN_ENCODED_BYTES", catalog::DEFAULT_FAMILY_OPTION];
    if let Some(option) = options.iter().find(|option| FIXED.contains(&option.name.as_str())) {
        return Err(SqlError::statement(format!("option {} is set when a table is created", option.name)));
    }
    let read = TableOptions::read(options, warnings)?;
    let known: Vec<&str> = table.families.iter().map(|family| family.name.as_str()).collect();
    if let Some(family) = read.unknown_family(&known) {
        return Err(SqlError::coded(
            code::FAMILY_NOT_FOUND,
            format!("{family} is no column family of the table"),
        ));
    }
    for family in &mut table.families {
        read.apply(family);
    }
    table.attributes.extend(read.attributes);
    Ok(())
}

fn find(schema: &TableSchema, names: &[Name], if_exists: bool) -> Result<Vec<ColumnRef>, SqlError> {
    let mut found = vec![];
    for name in names {
        match find_column(schema, name.schema.as_deref(), &name.name) {
            Ok(column) => found.push(column),
            Err(error) if if_exists && error.code() == Some(code::COLUMN_NOT_FOUND) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Family and qualifier of what was dropped.
fn drop_columns(
    schema: &mut TableSchema,
    mut columns: Vec<ColumnRef>,
) -> Result<Vec<(String, Vec<u8>)>, SqlError> {
    // Each one that goes changes the numbers of those behind it.
    columns.sort_by_key(|column| match column {
        ColumnRef::Key(_) => None,
        ColumnRef::Column(index) => Some(std::cmp::Reverse(*index)),
    });
    columns.dedup();
    let mut dropped = vec![];
    for column in columns {
        let column = schema.drop_column(column).map_err(|error| schema_error(&error))?;
        dropped.push((column.family, column.qualifier));
    }
    Ok(dropped)
}

fn refuse_column_of_view(table: &TableDescriptor, name: &Name) -> Result<(), SqlError> {
    for view in View::all(table)? {
        if view.columns.iter().any(|column| column.name == name.name) {
            let message = format!("view {} has a column {} of its own", view.name, name.name);
            return Err(SqlError::coded(code::COLUMN_EXISTS, message));
        }
    }
    Ok(())
}

fn refuse_use_in_view(table: &TableDescriptor, name: &str) -> Result<(), SqlError> {
    for view in View::all(table)? {
        let Some(condition) = view.parsed_condition()? else { continue };
        if mentions(&condition, name) {
            let message =
                format!("column {name} is in the condition of view {}; drop the view first", view.name);
            return Err(SqlError::coded(code::HAS_VIEWS, message));
        }
    }
    Ok(())
}

fn mentions(condition: &Expr, name: &str) -> bool {
    struct Finder<'a>(&'a str);
    impl Visitor for Finder<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let last = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            if last.is_some_and(|last| last.value == self.0) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }
    condition.visit(&mut Finder(name)).is_break()
}

fn alter_view(
    planning: &Planning,
    id: TableId,
    table: &TableDescriptor,
    mut view: View,
    change: &AlterChange,
) -> Result<(), SqlError> {
    let database = planning.engine.database();
    let mut changed = table.clone();
    if let Some(mapped) = &mut view.mapped {
        alter_mapped(planning, table, mapped, change)?;
        view.put(&mut changed)?;
        return write(&planning.engine, id, table, changed);
    }
    match change {
        AlterChange::Add { if_not_exists, columns, .. } => {
            let relation = catalog::find(database, &view.name)?;
            let Some(mut schema) = relation.descriptor.schema.clone() else {
                return Err(catalog::without_columns(&view.name));
            };
            let first = schema.columns.len();
            for definition in columns {
                refuse_key_column(definition)?;
                refuse_hidden(&view, table, &definition.name)?;
                add(planning, &mut schema, definition, catalog::default_family(table), *if_not_exists)?;
            }
            own_columns(&mut view, &mut changed, schema, first)?;
        }
        AlterChange::Drop { if_exists, columns } => {
            for name in columns {
                let before = view.columns.len();
                view.columns.retain(|column| {
                    column.name != name.name
                        || name.schema.as_ref().is_some_and(|family| *family != column.family)
                });
                if view.columns.len() == before {
                    drop_inherited(id, table, &mut view, name, *if_exists)?;
                }
            }
        }
        AlterChange::Set { .. } => return Ok(()),
    }
    view.put(&mut changed)?;
    write(&planning.engine, id, table, changed)?;
    index::prune(&planning.engine, id)
}

/// Where cells lie under the names of columns, a column of the view would show those of the column that it dropped.
fn refuse_hidden(view: &View, table: &TableDescriptor, name: &Name) -> Result<(), SqlError> {
    let Some(schema) = table.schema.as_ref().filter(|schema| schema.qualifier_bytes == 0) else {
        return Ok(());
    };
    let family = name.schema.as_deref().unwrap_or(catalog::default_family(table));
    if view.inherited.is_some() && schema.find(Some(family), &name.name).is_ok() {
        let message = format!("table {} has a column {name}, which view {} dropped", table.name, view.name);
        return Err(SqlError::coded(code::COLUMN_EXISTS, message));
    }
    Ok(())
}

/// Takes a column of what the view is over out of the view.
fn drop_inherited(
    id: TableId,
    table: &TableDescriptor,
    view: &mut View,
    name: &Name,
    if_exists: bool,
) -> Result<(), SqlError> {
    let relation = catalog::view::relation(id, table, view.clone())?;
    let Some(schema) = &relation.descriptor.schema else { return Err(catalog::without_columns(&view.name)) };
    let Some(&column) = find(schema, std::slice::from_ref(name), if_exists)?.first() else { return Ok(()) };
    let ColumnRef::Column(dropped) = column else {
        let message = format!("column {name} is in the primary key of the table and cannot be dropped");
        return Err(SqlError::coded(code::KEY_COLUMN_DROPPED, message));
    };
    for other in View::all(table)? {
        let below = relation_names(table, &other.name)?;
        let related = below.contains(&view.name) || relation_names(table, &view.name)?.contains(&other.name);
        if related && other.parsed_condition()?.is_some_and(|condition| mentions(&condition, &name.name)) {
            let message = format!("column {name} is in the condition of view {}", other.name);
            return Err(SqlError::coded(code::VIEW_COLUMN, message));
        }
    }
    let inherited = schema.columns.len() - view.columns.len();
    let kept = schema.columns[..inherited].iter().enumerate().filter(|(index, _)| *index != dropped);
    view.inherited = Some(kept.map(|(_, column)| (column.family.clone(), column.name.clone())).collect());
    Ok(())
}

/// A view and the views that it is over.
fn relation_names(table: &TableDescriptor, name: &TableName) -> Result<Vec<TableName>, SqlError> {
    let mut names = vec![name.clone()];
    while let Some(view) = names.last().map(|name| View::of(table, name)).transpose()?.flatten() {
        match view.parent {
            Some(parent) => names.push(parent),
            None => break,
        }
    }
    Ok(names)
}

/// A view over cells that were not written in SQL: its columns come and go, the cells stay.
fn alter_mapped(
    planning: &Planning,
    table: &TableDescriptor,
    mapped: &mut TableSchema,
    change: &AlterChange,
) -> Result<(), SqlError> {
    match change {
        AlterChange::Add { if_not_exists, columns, .. } => {
            for definition in columns {
                refuse_key_column(definition)?;
                add(planning, mapped, definition, catalog::default_family(table), *if_not_exists)?;
            }
            existing::check_families(table, mapped)
        }
        AlterChange::Drop { if_exists, columns } => {
            let found = find(mapped, columns, *if_exists)?;
            drop_columns(mapped, found).map(|_| ())
        }
        AlterChange::Set { .. } => Ok(()),
    }
}

/// A view's columns of its own are never in the key.
pub(super) fn refuse_key_column(definition: &ColumnDef) -> Result<(), SqlError> {
    if definition.primary_key.is_none() {
        return Ok(());
    }
    let message = format!("column {}: a view has the primary key of its table", definition.name);
    Err(SqlError::coded(code::KEY_OF_VIEW, message))
}

/// Takes the columns of `schema` from `first` on into the view, and their numbers and families into the table.
pub(super) fn own_columns(
    view: &mut View,
    table: &mut TableDescriptor,
    schema: TableSchema,
    first: usize,
) -> Result<(), SqlError> {
    let Some(base) = &mut table.schema else { return Err(catalog::without_columns(&table.name)) };
    base.qualifier_next = schema.qualifier_next;
    for column in schema.columns.into_iter().skip(first) {
        if !table.families.iter().any(|family| family.name == column.family) {
            let family = FamilyDescriptor { name: column.family.clone(), ..table.families[0].clone() };
            *table = table.clone().family(family);
        }
        view.columns.push(column);
    }
    Ok(())
}
