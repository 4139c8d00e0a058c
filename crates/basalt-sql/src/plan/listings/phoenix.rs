// SPDX-License-Identifier: Apache-2.0
//! SYSTEM.CATALOG and SYSTEM.STATS, with the columns of Phoenix's that have a meaning here and their values.
//!
//! SYSTEM.CATALOG has rows of three kinds, as Phoenix's has:
//!
//! ```text
//! TABLE_NAME  COLUMN_NAME  COLUMN_FAMILY  LINK_TYPE
//! T           NULL         NULL           NULL       a table (TABLE_TYPE u), view (v), index (i) or table of the system (s)
//! T           K            NULL           NULL       a column of the key
//! T           V            0              NULL       another column
//! T           NULL         I              1          I is an index of T
//! V           NULL         T              2          the rows of V are those of T
//! ```

use std::sync::Arc;

use basalt_model::schema::ColumnRef;
use basalt_model::{IndexState, SortOrder, SqlType, TableName};
use datafusion::arrow::array::{ArrayRef, BinaryArray, BooleanArray, Int32Array};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result as PlanResult;

use super::state::{moments, numbers};
use super::{Listed, batch, listed, schema_name, texts};
use crate::catalog::{View, default_family, view};
use crate::plan::Planning;

/// A row of SYSTEM.CATALOG.
#[derive(Default)]
struct Row {
    name: Option<TableName>,
    column: Option<String>,
    family: Option<String>,
    kind: Option<&'static str>,
    columns: Option<i32>,
    of: Option<String>,
    state: Option<&'static str>,
    condition: Option<String>,
    default_family: Option<String>,
    sql_type: Option<SqlType>,
    nullable: Option<i32>,
    ordinal: Option<i32>,
    order: Option<i32>,
    key_seq: Option<i32>,
    link: Option<i32>,
    default: Option<String>,
    is_row_timestamp: Option<bool>,
}

/// SYSTEM.CATALOG.
pub(super) fn catalog(planning: &Planning) -> PlanResult<RecordBatch> {
    let mut rows = vec![];
    for relation in listed(planning)? {
        head(planning, &relation, &mut rows)?;
        columns(&relation, &mut rows);
    }
    let text = |of: fn(&Row) -> Option<String>| texts(rows.iter().map(of));
    let int =
        |of: fn(&Row) -> Option<i32>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Int32Array>()) };
    batch(vec![
        ("TENANT_ID", text(|_| None)),
        ("TABLE_SCHEM", text(|row| schema_name(&row.name.as_ref()?.namespace))),
        ("TABLE_NAME", text(|row| Some(row.name.as_ref()?.name.clone()))),
        ("COLUMN_NAME", text(|row| row.column.clone())),
        ("COLUMN_FAMILY", text(|row| row.family.clone())),
        ("TABLE_TYPE", text(|row| row.kind.map(str::to_owned))),
        ("COLUMN_COUNT", int(|row| row.columns)),
        ("DATA_TABLE_NAME", text(|row| row.of.clone())),
        ("INDEX_STATE", text(|row| row.state.map(str::to_owned))),
        ("VIEW_STATEMENT", text(|row| row.condition.clone())),
        ("DEFAULT_COLUMN_FAMILY", text(|row| row.default_family.clone())),
        ("DATA_TYPE", int(|row| row.sql_type.map(type_code))),
        ("TYPE_NAME", text(|row| row.sql_type.map(|sql_type| sql_type.to_string()))),
        ("COLUMN_SIZE", int(|row| row.sql_type.and_then(size))),
        ("DECIMAL_DIGITS", int(|row| row.sql_type.and_then(scale))),
        ("NULLABLE", int(|row| row.nullable)),
        ("ORDINAL_POSITION", int(|row| row.ordinal)),
        ("SORT_ORDER", int(|row| row.order)),
        ("KEY_SEQ", int(|row| row.key_seq)),
        ("LINK_TYPE", int(|row| row.link)),
        ("COLUMN_DEF", text(|row| row.default.clone())),
        ("IS_ROW_TIMESTAMP", Arc::new(rows.iter().map(|row| row.is_row_timestamp).collect::<BooleanArray>())),
    ])
}

/// The rows that say what it is and what belongs to it.
fn head(planning: &Planning, relation: &Listed, rows: &mut Vec<Row>) -> PlanResult<()> {
    let database = planning.engine.database();
    let own = database.table(&relation.name).ok();
    let view = match &own {
        // A view over cells that were not written in SQL has the name of their table.
        Some((_, table)) => View::of(table, &relation.name)?.map(|view| (Arc::clone(table), view)),
        None => view::find(database, &relation.name)?.map(|(_, table, view)| (table, view)),
    };
    let Some(table) = view.as_ref().map(|(table, _)| table).or(own.as_ref().map(|(_, table)| table)) else {
        return Ok(());
    };
    let index = table.index.as_ref().filter(|_| view.is_none());
    let kind = match (relation.kind, relation.name.namespace.as_str()) {
        ("INDEX", _) => "i",
        ("VIEW", _) => "v",
        (_, "SYSTEM") => "s",
        _ => "u",
    };
    rows.push(Row {
        name: Some(relation.name.clone()),
        kind: Some(kind),
        columns: relation.schema.as_ref().map(|schema| schema.declared_order().len() as i32),
        of: index
            .map(|index| index.on.name.clone())
            .or_else(|| view.as_ref().map(|_| table.name.name.clone())),
        state: index.map(|index| state_letter(index.state)),
        condition: view.as_ref().and_then(|(_, view)| view.condition.clone()),
        default_family: Some(default_family(table).to_owned()),
        ..Row::default()
    });
    if view.is_some() {
        let family = Some(table.name.to_string());
        rows.push(Row { name: Some(relation.name.clone()), family, link: Some(2), ..Row::default() });
    } else if let (None, Some((id, _))) = (index, &own) {
        let mut names: Vec<String> =
            database.indexes(*id).into_iter().map(|(_, index)| index.name.name.clone()).collect();
        names.sort();
        let link = |family| Row {
            name: Some(relation.name.clone()),
            family: Some(family),
            link: Some(1),
            ..Row::default()
        };
        rows.extend(names.into_iter().map(link));
    }
    Ok(())
}

fn columns(relation: &Listed, rows: &mut Vec<Row>) {
    let Some(schema) = &relation.schema else { return };
    for (at, &column) in schema.declared_order().iter().enumerate() {
        let (family, order, key_seq) = match column {
            ColumnRef::Key(index) => {
                (None, Some(order_number(schema.key[index].order)), Some(index as i32 + 1))
            }
            ColumnRef::Column(index) => (Some(schema.columns[index].family.clone()), None, None),
        };
        let is_row_timestamp = match column {
            ColumnRef::Key(index) => schema.row_timestamp == Some(index),
            ColumnRef::Column(_) => false,
        };
        rows.push(Row {
            name: Some(relation.name.clone()),
            column: Some(schema.name(column).to_owned()),
            family,
            sql_type: Some(schema.sql_type(column)),
            nullable: Some(i32::from(schema.nullable(column))),
            ordinal: Some(at as i32 + 1),
            order,
            key_seq,
            default: schema.default_sql(column).map(str::to_owned),
            is_row_timestamp: Some(is_row_timestamp),
            ..Row::default()
        });
    }
}

/// Phoenix's letters: active, building, inactive, disabled.
fn state_letter(state: IndexState) -> &'static str {
    match state {
        IndexState::Active => "a",
        IndexState::Building | IndexState::Outdated => "b",
        IndexState::Unusable => "i",
        IndexState::Disabled => "x",
    }
}

/// Phoenix's numbers.
fn order_number(order: SortOrder) -> i32 {
    if order == SortOrder::Desc { 1 } else { 2 }
}

/// The number that JDBC and Phoenix have for a type; that of an array is 3000 more than its elements'.
fn type_code(sql_type: SqlType) -> i32 {
    use SqlType::*;
    match sql_type {
        TinyInt => -6,
        SmallInt => 5,
        Integer => 4,
        BigInt => -5,
        UnsignedTinyInt => 11,
        UnsignedSmallInt => 13,
        UnsignedInt => 9,
        UnsignedLong => 10,
        Float => 6,
        Double => 8,
        UnsignedFloat => 14,
        UnsignedDouble => 15,
        Decimal(_) => 3,
        Boolean => 16,
        Date => 91,
        Time => 92,
        Timestamp => 93,
        UnsignedDate => 19,
        UnsignedTime => 18,
        UnsignedTimestamp => 20,
        Char(_) => 1,
        // There is no JSON in the JDBC that its users have.
        Varchar(_) | Json => 12,
        Binary(_) => -2,
        Varbinary(_) => -3,
        Array(element) => 3_000 + type_code(element.into()),
    }
}

/// The length or the precision that was declared.
fn size(sql_type: SqlType) -> Option<i32> {
    match sql_type {
        SqlType::Char(length) | SqlType::Binary(length) => Some(length as i32),
        SqlType::Varchar(most) | SqlType::Varbinary(most) => most.map(|most| most as i32),
        SqlType::Decimal(declared) => declared.map(|(precision, _)| i32::from(precision)),
        SqlType::Array(element) => size(element.into()),
        _ => None,
    }
}

fn scale(sql_type: SqlType) -> Option<i32> {
    match sql_type {
        SqlType::Decimal(declared) => declared.map(|(_, scale)| i32::from(scale)),
        SqlType::Array(element) => scale(element.into()),
        _ => None,
    }
}

/// SYSTEM.STATS: what the store knows of the files of each region stands in the place of guideposts.
pub(super) fn stats(planning: &Planning) -> PlanResult<RecordBatch> {
    let database = planning.engine.database();
    let names: std::collections::HashMap<_, _> =
        database.tables().into_iter().map(|(id, table)| (id, table.name.to_string())).collect();
    let files: Vec<_> = database.files().into_iter().filter(|file| names.contains_key(&file.table)).collect();
    let keys: BinaryArray = files.iter().map(|file| Some(file.meta.first_row.as_ref())).collect();
    batch(vec![
        ("PHYSICAL_NAME", texts(files.iter().map(|file| names.get(&file.table).cloned()))),
        ("COLUMN_FAMILY", texts(files.iter().map(|file| Some(file.family.clone())))),
        ("GUIDE_POST_KEY", Arc::new(keys)),
        ("GUIDE_POSTS_WIDTH", numbers(files.iter().map(|file| file.meta.raw_bytes))),
        ("LAST_STATS_UPDATE_TIME", moments(files.iter().map(|file| file.meta.created_ms))),
        ("GUIDE_POSTS_ROW_COUNT", numbers(files.iter().map(|file| file.meta.rows))),
    ])
}
