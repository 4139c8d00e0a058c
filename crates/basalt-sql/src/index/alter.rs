// SPDX-License-Identifier: Apache-2.0
//! What ALTER TABLE means for the indexes of the table: an index of a column that goes is dropped, as in Phoenix; one that only
//! includes it goes on without it.

use std::ops::ControlFlow;
use std::sync::Arc;

use basalt_model::index::IndexSource;
use basalt_model::{ColumnRef, IndexDescriptor, TableDescriptor, TableId};
use datafusion::sql::sqlparser::ast::{Expr, Visit, Visitor};

use super::{define, expires, keeper};
use crate::dialect::{self, AlterChange};
use crate::engine::Engine;
use crate::error::SqlError;

/// An error if the change is one that indexes do not allow.
pub(crate) fn before_alter(
    engine: &Engine,
    id: TableId,
    after: &TableDescriptor,
    change: &AlterChange,
) -> Result<(), SqlError> {
    let indexes = engine.database().indexes(id);
    let Some((_, first)) = indexes.first() else { return Ok(()) };
    if let AlterChange::Add { columns, .. } = change
        && columns.iter().any(|column| column.primary_key.is_some())
    {
        return Err(SqlError::statement(format!(
            "the primary key is part of every index of the table; drop {} first and create it again",
            first.name
        )));
    }
    let by_value = |index: &IndexDescriptor| {
        index.condition.is_some()
            || index.parts.iter().any(|part| matches!(part.source, IndexSource::Expression(_)))
    };
    let refused = indexes.iter().find(|(_, table)| table.index.as_ref().is_some_and(by_value));
    match refused {
        Some((_, index)) if expires(after) => Err(SqlError::statement(format!(
            "index {} is of expressions or has a WHERE, which a table with a TTL does not take; drop it first",
            index.name
        ))),
        _ => Ok(()),
    }
}

/// Adapts the indexes to a table that was changed.
pub(crate) fn after_alter(
    engine: &Engine,
    id: TableId,
    before: &TableDescriptor,
    after: &TableDescriptor,
) -> Result<(), SqlError> {
    let (Some(old), Some(new)) = (&before.schema, &after.schema) else { return Ok(()) };
    let gone = old.columns.iter().filter(|column| {
        !new.columns.iter().any(|kept| kept.qualifier == column.qualifier && kept.family == column.family)
    });
    let gone: Vec<(&str, &str)> = gone.map(|column| (column.family.as_str(), column.name.as_str())).collect();
    let database = engine.database();
    for (index, descriptor) in database.indexes(id) {
        let Some(definition) = &descriptor.index else { continue };
        if gone.iter().any(|column| is_of(definition, *column)) {
            database.drop_table(&descriptor.name)?;
            database.forget_index(&descriptor.name);
            continue;
        }
        let mut changed = TableDescriptor::clone(&descriptor);
        gone.iter().for_each(|column| exclude(&mut changed, *column));
        changed.families.iter_mut().for_each(|family| define::live_as_long(after, family));
        let ends_otherwise = changed.families != descriptor.families;
        if changed != *descriptor {
            let planning = super::planning(engine, Arc::default());
            let keeper = keeper(&planning, &changed)?;
            database.alter_table(index, changed)?;
            database.keep_index(descriptor.name.clone(), Arc::new(keeper));
        }
        // Index rows may have ended that the table would now keep.
        if ends_otherwise {
            super::build::Build::anew(engine, index, &Arc::default(), &Arc::default())?.run()?;
        }
    }
    Ok(())
}

/// Drops indexes of a table that are of views or columns of views which are gone.
pub(crate) fn prune(engine: &Engine, id: TableId) -> Result<(), SqlError> {
    let planning = super::planning(engine, Arc::default());
    for (_, descriptor) in engine.database().indexes(id) {
        if keeper(&planning, &descriptor).is_err() {
            engine.database().drop_table(&descriptor.name)?;
            engine.database().forget_index(&descriptor.name);
        }
    }
    Ok(())
}

/// True if what is indexed depends on the column.
fn is_of(index: &IndexDescriptor, (family, name): (&str, &str)) -> bool {
    let source = IndexSource::Column(Some(family.to_owned()), name.to_owned());
    index.parts.iter().any(|part| match &part.source {
        IndexSource::Expression(text) => mentions(text, name),
        column => *column == source,
    }) || index.condition.as_deref().is_some_and(|text| mentions(text, name))
}

fn mentions(text: &str, name: &str) -> bool {
    struct Finder<'a>(&'a str);
    impl Visitor for Finder<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let last = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            match last.is_some_and(|last| last.value == self.0) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    dialect::parse_condition(text).is_ok_and(|expr| expr.visit(&mut Finder(name)).is_break())
}

/// Takes an included column out of an index. Its cells stay under a number that is not used again.
fn exclude(descriptor: &mut TableDescriptor, (family, name): (&str, &str)) {
    let (Some(index), Some(schema)) = (&mut descriptor.index, &mut descriptor.schema) else { return };
    let included =
        index.copies.iter().position(|copy| copy.family.as_deref() == Some(family) && copy.name == name);
    let Some(included) = included else { return };
    let label = index.copies.remove(included).column;
    if let Some(column) = schema.columns.iter().position(|column| column.name == label) {
        let _ = schema.drop_column(ColumnRef::Column(column));
    }
}
