// SPDX-License-Identifier: Apache-2.0
//! Columns for tables that have cells already: CREATE TABLE or CREATE VIEW of the name of a table that was made without
//! SQL. Columns find their cells by family and name, whose bytes must be those that SQL writes.

use basalt_model::mutation::MutationError;
use basalt_model::schema::EMPTY_CELL_VALUE;
use basalt_model::{FamilyDescriptor, LATEST_TIMESTAMP, SortOrder, TableDescriptor, TableId, TableSchema};
use basalt_store::ScanOptions;

use super::options::TableOptions;
use super::{alter, row_timestamps, table_schema};
use crate::dialect::{ColumnDef, CreateTable};
use crate::error::{SqlError, code};
use crate::ingest::RowWriter;
use crate::plan::Planning;

/// Rows whose empty cells are written at a time.
const BATCH_ROWS: usize = 4_096;

/// Makes the table one of SQL: it gets columns, and each of its rows the empty cell.
pub(super) fn adopt(
    planning: &Planning,
    id: TableId,
    table: &TableDescriptor,
    statement: &CreateTable,
    warnings: &mut Vec<String>,
) -> Result<(), SqlError> {
    let options = TableOptions::read(&statement.options, warnings)?;
    if !statement.splits.is_empty() {
        warnings.push(
            "SPLIT ON has no effect: the table is there already, with the regions that it has".to_owned(),
        );
    }
    if statement.no_verify {
        warnings.push("NOVERIFY has no effect: all rows that are there become rows of the table".to_owned());
    }
    if options.qualifier_bytes.is_some_and(|bytes| bytes != 0) {
        return Err(SqlError::statement(
            "the table has cells already, whose columns bear names; leave COLUMN_ENCODED_BYTES away or set it to NONE",
        ));
    }
    if let Some(column) = row_timestamps(&statement.columns).next() {
        return Err(SqlError::statement(format!(
            "column {} cannot be the ROW_TIMESTAMP of a table that is there already, whose cells have other timestamps",
            column.name
        )));
    }
    let schema = table_schema(planning, &statement.columns, &statement.primary_key, &options, 0)?;
    let mut changed = table.clone();
    for name in schema.families() {
        if !changed.families.iter().any(|family| family.name == name) {
            changed = changed.family(FamilyDescriptor { name: name.to_owned(), ..table.families[0].clone() });
        }
    }
    for family in &mut changed.families {
        options.apply(family);
    }
    changed.attributes.extend(options.attributes);
    // The family of the empty cell may be new.
    alter::write(&planning.engine, id, table, changed.clone())?;
    put_empty_cells(planning, id, &schema)?;
    let before = changed.clone();
    changed.schema = Some(schema);
    alter::write(&planning.engine, id, &before, changed)
}

fn put_empty_cells(planning: &Planning, id: TableId, schema: &TableSchema) -> Result<(), SqlError> {
    let database = planning.engine.database();
    let mut writer = RowWriter::new(planning.engine.clone(), id, std::sync::Arc::clone(&planning.progress));
    let internal = |error: MutationError| SqlError::internal(error.to_string());
    let mut scan = database.snapshot().scan(id, &ScanOptions::default())?;
    let mut last: Vec<u8> = vec![];
    let mut pending = 0;
    while let Some(runs) = scan.next_runs()? {
        for run in runs {
            for index in run.cells.clone() {
                let row = run.block.row(index);
                if row == last && !last.is_empty() {
                    continue;
                }
                last = row.to_vec();
                let mut cells = writer.batch().row(id, row).map_err(internal)?;
                let (family, qualifier) = (schema.empty_family.as_bytes(), &schema.empty_qualifier);
                cells.put(family, qualifier, LATEST_TIMESTAMP, EMPTY_CELL_VALUE).map_err(internal)?;
                cells.finish();
                pending += 1;
            }
        }
        if pending >= BATCH_ROWS {
            writer.added(std::mem::take(&mut pending) as u64)?;
        }
    }
    writer.added(pending as u64)?;
    writer.finish()?;
    Ok(())
}

/// The columns of a view over such a table, which is read as it is.
pub(super) fn mapped(
    planning: &Planning,
    table: &TableDescriptor,
    columns: &[ColumnDef],
    primary_key: &Option<Vec<(String, SortOrder)>>,
) -> Result<TableSchema, SqlError> {
    let schema = table_schema(planning, columns, primary_key, &TableOptions::default(), 0)?;
    check_families(table, &schema)?;
    Ok(schema.without_empty_cell())
}

/// An error if columns are in families that the table does not have.
pub(super) fn check_families(table: &TableDescriptor, schema: &TableSchema) -> Result<(), SqlError> {
    let known = |name: &str| table.families.iter().any(|family| family.name == name);
    match schema.columns.iter().find(|column| !known(&column.family)) {
        None => Ok(()),
        Some(column) => Err(SqlError::coded(
            code::FAMILY_NOT_FOUND,
            format!("{} is no column family of table {}", column.family, table.name),
        )),
    }
}
