// SPDX-License-Identifier: Apache-2.0
//! Tables that list what the database has: INFORMATION_SCHEMA.SCHEMATA, TABLES, COLUMNS and INDEXES; those of Phoenix are in [`phoenix`]. What
//! changes all the time is in [`state`] and [`storage`]. They are made for each statement that reads them.

mod phoenix;
mod state;
mod storage;

use std::sync::Arc;

use basalt_model::index::IndexSource;
use basalt_model::schema::ColumnRef;
use basalt_model::table::DEFAULT_NAMESPACE;
use basalt_model::{SortOrder, TableName, TableSchema};
use datafusion::arrow::array::{ArrayRef, Int32Array, StringArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::common::Result as PlanResult;
use datafusion::datasource::MemTable;

use super::Planning;
use crate::catalog::{self, View};
use crate::error::SqlError;
use crate::sequence;

/// The listing of this name.
pub(super) fn find(planning: &Planning, name: &TableName) -> PlanResult<Option<Arc<dyn TableProvider>>> {
    let batch = match (name.namespace.as_str(), name.name.as_str()) {
        ("INFORMATION_SCHEMA", "SCHEMATA") => schemata(planning)?,
        ("INFORMATION_SCHEMA", "TABLES") => tables(planning)?,
        ("INFORMATION_SCHEMA", "COLUMNS") => columns(planning)?,
        ("INFORMATION_SCHEMA", "INDEXES") => indexes(planning)?,
        ("SYSTEM", "CATALOG") => phoenix::catalog(planning)?,
        ("SYSTEM", "STATS") => phoenix::stats(planning)?,
        ("SYSTEM", "SEQUENCE") => match sequence::before_the_first(planning.engine.database())? {
            Some(schema) => RecordBatch::new_empty(schema),
            None => return Ok(None),
        },
        ("SYSTEM", "FILES") => storage::files(planning)?,
        ("SYSTEM", "COMPACTIONS") => storage::compactions(planning)?,
        ("SYSTEM", "UPKEEP") => storage::upkeep(planning)?,
        ("SYSTEM", "SLOW_QUERIES") => state::slow_queries(planning)?,
        ("SYSTEM", "QUERIES") => state::queries(planning)?,
        ("SYSTEM", "METRICS") => state::metrics(planning)?,
        ("SYSTEM", "TABLE_STATS") => state::table_stats(planning)?,
        _ => return Ok(None),
    };
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    Ok(Some(Arc::new(table)))
}

/// A schema as SQL names it: none for the default one.
fn schema_name(namespace: &str) -> Option<String> {
    (namespace != DEFAULT_NAMESPACE).then(|| namespace.to_owned())
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> PlanResult<RecordBatch> {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

fn texts(values: impl IntoIterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

fn schemata(planning: &Planning) -> PlanResult<RecordBatch> {
    let names = planning.engine.database().namespaces();
    batch(vec![("SCHEMA_NAME", texts(names.iter().map(|name| Some(name.clone()))))])
}

/// A table or view.
struct Listed {
    name: TableName,
    kind: &'static str,
    schema: Option<TableSchema>,
}

fn listed(planning: &Planning) -> Result<Vec<Listed>, SqlError> {
    let database = planning.engine.database();
    let mut listed = vec![];
    for (_, table) in database.tables() {
        let views = View::all(&table)?;
        if views.iter().all(|view| view.name != table.name) {
            let kind = if table.index.is_some() { "INDEX" } else { "TABLE" };
            listed.push(Listed { name: table.name.clone(), kind, schema: table.schema.clone() });
        }
        for view in views {
            let schema = catalog::find(database, &view.name)?.descriptor.schema.clone();
            listed.push(Listed { name: view.name, kind: "VIEW", schema });
        }
    }
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(listed)
}

fn tables(planning: &Planning) -> PlanResult<RecordBatch> {
    let listed = listed(planning)?;
    batch(vec![
        ("TABLE_SCHEMA", texts(listed.iter().map(|table| schema_name(&table.name.namespace)))),
        ("TABLE_NAME", texts(listed.iter().map(|table| Some(table.name.name.clone())))),
        ("TABLE_TYPE", texts(listed.iter().map(|table| Some(table.kind.to_owned())))),
    ])
}

fn indexes(planning: &Planning) -> PlanResult<RecordBatch> {
    let mut rows: [Vec<Option<String>>; 10] = Default::default();
    for (id, table) in planning.engine.database().tables() {
        let Some(index) = &table.index else { continue };
        let parts = index.parts.iter().map(|part| match &part.source {
            IndexSource::Column(_, name) => name.clone(),
            IndexSource::Expression(text) => text.clone(),
        });
        let included = index.copies.iter().filter(|copy| copy.family.is_some()).map(|copy| copy.name.clone());
        let list = |names: Vec<String>| Some(names.join(", ")).filter(|names| !names.is_empty());
        let values = [
            schema_name(&index.on.namespace),
            Some(index.on.name.clone()),
            Some(table.name.name.clone()),
            Some(if index.local { "LOCAL" } else { "GLOBAL" }.to_owned()),
            Some(if index.unique { "YES" } else { "NO" }.to_owned()),
            Some(index.state.name().to_owned()),
            list(parts.collect()),
            list(included.collect()),
            index.condition.clone(),
            planning.engine.builders().failure(id),
        ];
        rows.iter_mut().zip(values).for_each(|(rows, value)| rows.push(value));
    }
    let names = [
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "INDEX_NAME",
        "INDEX_TYPE",
        "IS_UNIQUE",
        "STATE",
        "VALUES",
        "INCLUDED",
        "CONDITION",
        "FAILURE",
    ];
    batch(names.into_iter().zip(rows.map(texts)).collect())
}

fn columns(planning: &Planning) -> PlanResult<RecordBatch> {
    let mut rows: [Vec<Option<String>>; 8] = Default::default();
    let (mut ordinals, mut key_parts) = (vec![], vec![]);
    for Listed { name, kind, schema } in listed(planning)? {
        let Some(schema) = schema else { continue };
        for (ordinal, &column) in schema.declared_order().iter().enumerate() {
            let (family, order, part) = match column {
                ColumnRef::Key(index) => (None, Some(schema.key[index].order), Some(index as i32 + 1)),
                ColumnRef::Column(index) => (Some(schema.columns[index].family.clone()), None, None),
            };
            let order = order.map(|order| if order == SortOrder::Desc { "D" } else { "A" }.to_owned());
            let nullable = if schema.nullable(column) { "YES" } else { "NO" };
            let values = [
                schema_name(&name.namespace),
                Some(name.name.clone()),
                Some(kind.to_owned()),
                Some(schema.name(column).to_owned()),
                family,
                Some(schema.sql_type(column).to_string()),
                Some(nullable.to_owned()),
                schema.default_sql(column).map(str::to_owned),
            ];
            rows.iter_mut().zip(values).for_each(|(rows, value)| rows.push(value));
            ordinals.push(ordinal as i32 + 1);
            key_parts.push((part, order));
        }
    }
    let [schemas, names, kinds, columns, families, types, nullables, defaults] = rows.map(texts);
    let parts: Int32Array = key_parts.iter().map(|(part, _)| *part).collect();
    batch(vec![
        ("TABLE_SCHEMA", schemas),
        ("TABLE_NAME", names),
        ("TABLE_TYPE", kinds),
        ("COLUMN_NAME", columns),
        ("COLUMN_FAMILY", families),
        ("ORDINAL_POSITION", Arc::new(Int32Array::from(ordinals))),
        ("DATA_TYPE", types),
        ("IS_NULLABLE", nullables),
        ("COLUMN_DEFAULT", defaults),
        ("KEY_SEQ", Arc::new(parts)),
        ("KEY_ORDER", texts(key_parts.into_iter().map(|(_, order)| order))),
    ])
}
