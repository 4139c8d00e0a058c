// SPDX-License-Identifier: Apache-2.0
//! SHOW CREATE TABLE: a table, view or index back as the statements that make it, without its rows and regions.
//!
//! What a statement would set by itself is left away: the default family, options at their defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use basalt_model::index::IndexSource;
use basalt_model::schema::define::QUALIFIER_BYTES_DEFAULT;
use basalt_model::table::{DEFAULT_NAMESPACE, MAJOR_COMPACTION};
use basalt_model::{
    ColumnRef, ColumnSchema, FamilyDescriptor, IndexDescriptor, SortOrder, TableDescriptor, TableName,
    TableSchema,
};
use basalt_store::Database;
use datafusion::arrow::array::StringArray;
use datafusion::arrow::record_batch::RecordBatch;

use super::view::{self, View};
use super::{default_family, find, text_batch, without_columns};
use crate::definition::TableOptions;
use crate::dialect::quoted;
use crate::error::SqlError;

/// One statement per row: of the relation, then of its indexes by name.
pub(crate) fn show_create(database: &Database, name: &TableName) -> Result<RecordBatch, SqlError> {
    let relation = find(database, name)?;
    let table = database.table_by_id(relation.id)?;
    let mut statements = match (&table.index, &relation.view) {
        (Some(index), _) => vec![create_index(database, &table, index)?],
        (None, Some(_)) => create_view(database, name)?,
        (None, None) => vec![create_table(&table)?],
    };
    let mut indexes = database.indexes(relation.id);
    indexes.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    for (_, descriptor) in &indexes {
        match &descriptor.index {
            Some(index) if index.on == *name => statements.push(create_index(database, descriptor, index)?),
            _ => {}
        }
    }
    text_batch(&["CREATE STATEMENT"], vec![StringArray::from(statements)])
}

fn create_table(table: &TableDescriptor) -> Result<String, SqlError> {
    let Some(schema) = &table.schema else { return Err(without_columns(&table.name)) };
    let mut options = vec![];
    if schema.qualifier_bytes != QUALIFIER_BYTES_DEFAULT {
        options.push(format!("COLUMN_ENCODED_BYTES = {}", schema.qualifier_bytes));
    }
    options.extend(family_options(&table.families, &TableOptions::default().family("")));
    options.extend(attributes(table));
    let columns = columns(schema, schema.declared_order(), default_family(table));
    let (name, key) = (qualified(&table.name), primary_key(schema));
    Ok(format!("CREATE TABLE {name} ({columns}, {key}){}", behind(&options)))
}

/// The columns of what the view is over that it has dropped.
fn dropped(database: &Database, view: &View, base: &TableName) -> Result<Vec<ColumnSchema>, SqlError> {
    let below = find(database, base)?;
    let (Some(inherited), Some(schema)) = (&view.inherited, &below.descriptor.schema) else {
        return Ok(vec![]);
    };
    let is_kept = |column: &ColumnSchema| {
        inherited.iter().any(|(family, name)| *family == column.family && *name == column.name)
    };
    Ok(schema.columns.iter().filter(|column| !is_kept(column)).cloned().collect())
}

/// The view as it was made, and what it dropped of what it is over.
fn create_view(database: &Database, name: &TableName) -> Result<Vec<String>, SqlError> {
    let missing = || SqlError::internal(format!("view {name} is gone"));
    let (table, view) = match database.table(name) {
        Ok((_, table)) => (Arc::clone(&table), View::of(&table, name)?.ok_or_else(missing)?),
        Err(_) => view::find(database, name)?.map(|(_, table, view)| (table, view)).ok_or_else(missing)?,
    };
    if let Some(schema) = &view.mapped {
        let columns = columns(schema, schema.declared_order(), default_family(&table));
        return Ok(vec![format!("CREATE VIEW {} ({columns}, {})", qualified(name), primary_key(schema))]);
    }
    let own = TableSchema {
        columns: view.columns.clone(),
        ..table.schema.clone().ok_or_else(|| without_columns(&table.name))?
    };
    let base = view.parent.as_ref().unwrap_or(&table.name);
    let dropped = dropped(database, &view, base)?;
    let has_name_of_dropped = |column: &ColumnRef| {
        let name = own.name(*column);
        dropped.iter().any(|column| column.name == name)
    };
    let all = (0..own.columns.len()).map(ColumnRef::Column);
    let (later, first): (Vec<_>, Vec<_>) = all.partition(has_name_of_dropped);
    let columns = |of: &[ColumnRef]| columns(&own, of, default_family(&table));
    let first = if first.is_empty() { String::new() } else { format!(" ({})", columns(&first)) };
    let condition = view.condition.map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
    let (name, base) = (qualified(name), qualified(base));
    let mut statements = vec![format!("CREATE VIEW {name}{first} AS SELECT * FROM {base}{condition}")];
    if !dropped.is_empty() {
        let dropped =
            dropped.iter().map(|column| format!("{}.{}", quoted(&column.family), quoted(&column.name)));
        let dropped: Vec<_> = dropped.collect();
        statements.push(format!("ALTER VIEW {name} DROP COLUMN {}", dropped.join(", ")));
    }
    if !later.is_empty() {
        statements.push(format!("ALTER VIEW {name} ADD {}", columns(&later)));
    }
    Ok(statements)
}

fn create_index(
    database: &Database,
    table: &TableDescriptor,
    index: &IndexDescriptor,
) -> Result<String, SqlError> {
    let parts = index.parts.iter().map(|part| {
        let value = match &part.source {
            IndexSource::Column(family, name) => of_family(family.as_deref(), name),
            IndexSource::Expression(text) => text.clone(),
        };
        value + order(part.order)
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    let included = index.copies.iter().filter_map(|copy| Some((copy.family.as_deref()?, &copy.name)));
    let included: Vec<_> = included.map(|(family, name)| of_family(Some(family), name)).collect();
    let included =
        if included.is_empty() { String::new() } else { format!(" INCLUDE ({})", included.join(", ")) };
    let condition = match own_condition(database, index)? {
        Some(condition) => format!(" WHERE {condition}"),
        None => String::new(),
    };
    let mut options = index_options(database, table, index)?;
    options.extend(attributes(table));
    let kind = if index.local { "LOCAL " } else { "" };
    let unique = if index.unique { "UNIQUE " } else { "" };
    let (name, on) = (quoted(&table.name.name), qualified(&index.on));
    Ok(format!(
        "CREATE {kind}{unique}INDEX {name} ON {on} ({parts}){included}{condition}{}",
        behind(&options)
    ))
}

/// What an index does not say itself it has of its table.
fn index_options(
    database: &Database,
    table: &TableDescriptor,
    index: &IndexDescriptor,
) -> Result<Vec<String>, SqlError> {
    let base = database.table_by_id(index.base)?;
    let (Some(own), Some(of_base)) = (table.families.first(), base.families.first()) else {
        return Err(SqlError::internal(format!("{} has no column family", table.name)));
    };
    let usual = FamilyDescriptor {
        compression: of_base.compression.clone(),
        encoding: of_base.encoding.clone(),
        block_bytes: of_base.block_bytes,
        bloom: TableOptions::default().family("").bloom,
        attributes: BTreeMap::new(),
        ..own.clone()
    };
    Ok(family_options(&table.families, &usual))
}

/// The condition without that of the view that the index is on, which comes with the view.
fn own_condition(database: &Database, index: &IndexDescriptor) -> Result<Option<String>, SqlError> {
    let rules = find(database, &index.on)?.view.and_then(|(_, rules)| rules.condition.clone());
    let (Some(of_view), Some(all)) = (rules, &index.condition) else { return Ok(index.condition.clone()) };
    let of_view = of_view.to_string();
    if *all == of_view {
        return Ok(None);
    }
    let own = all.strip_prefix(&format!("({of_view}) AND (")).and_then(|rest| rest.strip_suffix(')'));
    Ok(Some(own.unwrap_or(all).to_owned()))
}

/// `K INTEGER NOT NULL, F.V VARCHAR DEFAULT 'x'`
fn columns(schema: &TableSchema, listed: &[ColumnRef], default_family: &str) -> String {
    let column = |&column: &ColumnRef| {
        let family = match column {
            ColumnRef::Key(_) => None,
            ColumnRef::Column(index) => Some(schema.columns[index].family.as_str()),
        };
        let name = of_family(family.filter(|family| *family != default_family), schema.name(column));
        let null = if schema.nullable(column) { "" } else { " NOT NULL" };
        let default = schema.default_sql(column).map(|sql| format!(" DEFAULT {sql}")).unwrap_or_default();
        format!("{name} {}{null}{default}", schema.sql_type(column))
    };
    listed.iter().map(column).collect::<Vec<_>>().join(", ")
}

fn primary_key(schema: &TableSchema) -> String {
    let key = schema.key.iter().enumerate().map(|(index, column)| {
        let stamp = if schema.row_timestamp == Some(index) { " ROW_TIMESTAMP" } else { "" };
        quoted(&column.name) + order(column.order) + stamp
    });
    format!("CONSTRAINT PK PRIMARY KEY ({})", key.collect::<Vec<_>>().join(", "))
}

fn order(order: SortOrder) -> &'static str {
    if order == SortOrder::Desc { " DESC" } else { "" }
}

fn qualified(name: &TableName) -> String {
    of_family(Some(name.namespace.as_str()).filter(|&schema| schema != DEFAULT_NAMESPACE), &name.name)
}

fn of_family(family: Option<&str>, name: &str) -> String {
    match family {
        Some(family) => format!("{}.{}", quoted(family), quoted(name)),
        None => quoted(name),
    }
}

/// What SQL can say of a family, with the values that it has, what was asked for and is not here included: it is kept
/// beside what is used instead.
fn values(family: &FamilyDescriptor) -> BTreeMap<String, String> {
    let mut values = family.texts();
    values.remove(MAJOR_COMPACTION);
    for flag in values.values_mut().filter(|value| matches!(value.as_str(), "true" | "false")) {
        flag.make_ascii_uppercase();
    }
    if family.ttl_secs.is_none() {
        values.insert("TTL".to_owned(), "FOREVER".to_owned());
    }
    values.extend(family.attributes.clone());
    values
}

/// Options with which families differ from `usual`: once where all families agree, else family by family.
fn family_options(families: &[FamilyDescriptor], usual: &FamilyDescriptor) -> Vec<String> {
    let usual = values(usual);
    let families: Vec<_> = families.iter().map(|family| (&family.name, values(family))).collect();
    let names: BTreeSet<_> = families.iter().flat_map(|(_, values)| values.keys()).collect();
    let mut options = vec![];
    for name in names {
        let differ = families.iter().filter(|(_, values)| values.get(name) != usual.get(name));
        let differ: Vec<_> =
            differ.filter_map(|(family, values)| Some((family, values.get(name)?))).collect();
        let shared = differ.len() == families.len() && differ.windows(2).all(|pair| pair[0].1 == pair[1].1);
        match differ.first() {
            Some((_, value)) if shared => options.push(format!("{name} = {}", literal(value))),
            _ => options.extend(
                differ
                    .iter()
                    .map(|(family, value)| format!("{}.{name} = {}", quoted(family), literal(value))),
            ),
        }
    }
    options
}

/// Options of the table itself.
fn attributes(table: &TableDescriptor) -> impl Iterator<Item = String> {
    let own = table.attributes.iter().filter(|(name, _)| !View::is_attribute(name));
    own.map(|(name, value)| format!("{} = {}", quoted(name), literal(value)))
}

/// A number as it is, anything else in quotes.
fn literal(value: &str) -> String {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { value.to_owned() } else { format!("'{}'", value.replace('\\', r"\\").replace('\'', "''")) }
}

fn behind(options: &[String]) -> String {
    if options.is_empty() { String::new() } else { format!(" {}", options.join(", ")) }
}
