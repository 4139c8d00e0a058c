// SPDX-License-Identifier: Apache-2.0
//! SYSTEM.SEQUENCE: Phoenix's table of sequences, cell by cell as Phoenix writes it (qualifiers are names, the
//! empty cell `_0` has no value). It is made with the first sequence, and can be read like any table.

use std::fmt;
use std::sync::Arc;

use basalt_hfile::cells::CellRun;
use basalt_hfile::typed::arrow_schema;
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
use basalt_model::types::Value;
use basalt_model::{
    CellType, FamilyDescriptor, KeyRange, LATEST_TIMESTAMP, SortOrder, SqlType, TableDescriptor, TableId,
    TableName, TableSchema, WriteBatch, rowkey,
};
use basalt_store::read::RowRequest;
use basalt_store::{Database, Durability};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::display::array_value_to_string;

use super::Record;
use crate::dialect::Name;
use crate::error::{SqlError, code, nearest};

const FAMILY: &str = "0";
const EMPTY_QUALIFIER: &[u8] = b"_0";

/// Schema and name of a sequence; an empty schema for none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SequenceName {
    /// Schema, empty for none.
    pub(crate) schema: String,
    /// Name.
    pub(crate) name: String,
}

impl From<&Name> for SequenceName {
    fn from(name: &Name) -> Self {
        Self { schema: name.schema.clone().unwrap_or_default(), name: name.name.clone() }
    }
}

impl fmt::Display for SequenceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.schema.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}.{}", self.schema, self.name)
        }
    }
}

fn table_name() -> TableName {
    TableName::new("SYSTEM", "SEQUENCE")
}

fn descriptor() -> TableDescriptor {
    use SqlType::{BigInt, Boolean, Varchar};
    let columns = [
        ("TENANT_ID", Varchar(None)),
        ("SEQUENCE_SCHEMA", Varchar(None)),
        ("SEQUENCE_NAME", Varchar(None)),
        ("START_WITH", BigInt),
        ("CURRENT_VALUE", BigInt),
        ("INCREMENT_BY", BigInt),
        ("CACHE_SIZE", BigInt),
        ("MIN_VALUE", BigInt),
        ("MAX_VALUE", BigInt),
        ("CYCLE_FLAG", Boolean),
        ("LIMIT_REACHED_FLAG", Boolean),
    ];
    let columns = columns.map(|(name, sql_type)| ColumnDefinition::new(name, sql_type)).to_vec();
    let key = ["TENANT_ID", "SEQUENCE_SCHEMA", "SEQUENCE_NAME"].map(KeyPart::asc).to_vec();
    let definition = SchemaDefinition { qualifier_bytes: 0, ..SchemaDefinition::new(columns, key) };
    let schema = TableSchema::try_new(definition).expect("the definition above is valid");
    TableDescriptor {
        name: table_name(),
        families: vec![FamilyDescriptor {
            delete_rule: basalt_model::table::DeleteRule::BySequence,
            ..FamilyDescriptor::of_hbase(FAMILY)
        }],
        schema: Some(schema),
        attributes: Default::default(),
        index: None,
    }
}

/// The table's id, or `None` while there is no sequence yet.
fn find_table(database: &Database) -> Result<Option<TableId>, SqlError> {
    match database.table(&table_name()) {
        Ok((id, _)) => Ok(Some(id)),
        Err(basalt_store::Error::NoSuchTable { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The columns of the table while there is none, since no sequence was made yet.
pub(crate) fn before_the_first(database: &Database) -> Result<Option<SchemaRef>, SqlError> {
    let schema = descriptor().schema.expect("set above");
    Ok(find_table(database)?.is_none().then(|| Arc::new(arrow_schema(&schema))))
}

fn find_or_create_table(database: &Database) -> Result<TableId, SqlError> {
    if let Some(id) = find_table(database)? {
        return Ok(id);
    }
    match database.create_table(descriptor()) {
        Ok(id) => Ok(id),
        // Another session was faster.
        Err(basalt_store::Error::TableExists { .. }) => Ok(database.table(&table_name())?.0),
        Err(error) => Err(error.into()),
    }
}

fn row_key(name: &SequenceName) -> Result<Vec<u8>, SqlError> {
    let schema = descriptor().schema.expect("set above");
    let text = |text: &str| Value::Text(text.to_owned().into());
    let values = [Value::Null, text(&name.schema), text(&name.name)];
    let mut row = vec![];
    rowkey::encode_row_key(&schema.key, &values, &mut row)
        .map_err(|error| SqlError::statement(format!("sequence name {name}: {error}")))?;
    Ok(row)
}

/// Writes a new row.
pub(crate) fn create(database: &Database, name: &SequenceName, record: &Record) -> Result<(), SqlError> {
    let table = find_or_create_table(database)?;
    let exists = || SqlError::coded(code::SEQUENCE_EXISTS, format!("sequence {name} exists already"));
    change(database, table, name, |found| match found {
        Some(_) => Err(exists()),
        None => Ok((Change::Put(record.clone()), ())),
    })
}

/// Deletes the row.
pub(crate) fn drop(database: &Database, name: &SequenceName) -> Result<(), SqlError> {
    let Some(table) = find_table(database)? else { return Err(not_found(database, name)) };
    let found = change(database, table, name, |found| {
        Ok((if found.is_some() { Change::Delete } else { Change::Nothing }, found.is_some()))
    })?;
    if found { Ok(()) } else { Err(not_found(database, name)) }
}

/// Changes the row of an existing sequence atomically.
pub(super) fn update<T>(
    database: &Database,
    name: &SequenceName,
    apply: impl FnOnce(&mut Record) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let Some(table) = find_table(database)? else { return Err(not_found(database, name)) };
    let result = change(database, table, name, |found| {
        let Some(before) = found else { return Ok((Change::Nothing, None)) };
        let mut record = before.clone();
        let result = apply(&mut record)?;
        let change = if record == before { Change::Nothing } else { Change::Put(record) };
        Ok((change, Some(result)))
    })?;
    result.ok_or_else(|| not_found(database, name))
}

/// What becomes of a row.
enum Change {
    Nothing,
    Put(Record),
    Delete,
}

/// Runs while all writers wait: `decide` must not touch the database.
fn change<T>(
    database: &Database,
    table: TableId,
    name: &SequenceName,
    decide: impl FnOnce(Option<Record>) -> Result<(Change, T), SqlError>,
) -> Result<T, SqlError> {
    let row = row_key(name)?;
    let mut outcome = None;
    database.update(table, &row, Durability::default(), |runs| {
        let (change, result) = match decide(read_record(runs)) {
            Ok((change, result)) => (change, Ok(result)),
            Err(error) => (Change::Nothing, Err(error)),
        };
        outcome = Some(result);
        Ok(match change {
            Change::Nothing => None,
            Change::Put(record) => Some(put_batch(table, &row, &record)),
            Change::Delete => Some(delete_batch(table, &row)),
        })
    })?;
    outcome.unwrap_or_else(|| Err(SqlError::internal("the row of the sequence was not read")))
}

fn not_found(database: &Database, name: &SequenceName) -> SqlError {
    let known = names(database).unwrap_or_default();
    let known: Vec<_> = known.iter().map(ToString::to_string).collect();
    SqlError::coded(code::SEQUENCE_NOT_FOUND, format!("sequence {name} does not exist"))
        .suggest(nearest(&name.to_string(), known.iter().map(String::as_str)))
}

/// All sequences, sorted.
pub(crate) fn names(database: &Database) -> Result<Vec<SequenceName>, SqlError> {
    let Some(table) = find_table(database)? else { return Ok(vec![]) };
    let schema = descriptor().schema.expect("set above");
    let mut names = vec![];
    let key = [1, 2].map(basalt_model::schema::ColumnRef::Key);
    let request = RowRequest::of_columns(&key, 1_024);
    for rows in database.snapshot().rows(table, &Arc::new(schema), request, vec![KeyRange::all()])? {
        let batch = rows?.batch;
        let text =
            |column: usize, row: usize| array_value_to_string(batch.column(column), row).unwrap_or_default();
        names.extend(
            (0..batch.num_rows()).map(|row| SequenceName { schema: text(0, row), name: text(1, row) }),
        );
    }
    Ok(names)
}

/// Each flag and number with its qualifier.
fn encode(record: &Record) -> [(&'static str, SqlType, Value<'static>); 8] {
    use SqlType::{BigInt, Boolean};
    [
        ("CACHE_SIZE", BigInt, Value::Int(record.cache)),
        ("CURRENT_VALUE", BigInt, Value::Int(record.current)),
        ("CYCLE_FLAG", Boolean, Value::Boolean(record.cycle)),
        ("INCREMENT_BY", BigInt, Value::Int(record.increment)),
        ("LIMIT_REACHED_FLAG", Boolean, Value::Boolean(record.limit_reached)),
        ("MAX_VALUE", BigInt, Value::Int(record.max)),
        ("MIN_VALUE", BigInt, Value::Int(record.min)),
        ("START_WITH", BigInt, Value::Int(record.start)),
    ]
}

fn put_batch(table: TableId, row: &[u8], record: &Record) -> WriteBatch {
    const VALID: &str = "names and values of this module are short";
    let mut batch = WriteBatch::new();
    let mut cells = batch.row(table, row).expect(VALID);
    for (qualifier, sql_type, value) in encode(record) {
        let mut bytes = vec![];
        sql_type.encode(SortOrder::Asc, &value, &mut bytes).expect(VALID);
        cells.put(FAMILY.as_bytes(), qualifier.as_bytes(), LATEST_TIMESTAMP, &bytes).expect(VALID);
    }
    cells.put(FAMILY.as_bytes(), EMPTY_QUALIFIER, LATEST_TIMESTAMP, b"").expect(VALID);
    cells.finish();
    batch
}

fn delete_batch(table: TableId, row: &[u8]) -> WriteBatch {
    const VALID: &str = "the row was read before";
    let mut batch = WriteBatch::new();
    let mut cells = batch.row(table, row).expect(VALID);
    cells.delete(FAMILY.as_bytes(), b"", LATEST_TIMESTAMP, CellType::DeleteFamily).expect(VALID);
    cells.finish();
    batch
}

fn read_record(runs: &[CellRun]) -> Option<Record> {
    let mut record = Record {
        start: 1,
        current: 1,
        increment: 1,
        cache: Record::CACHE_DEFAULT,
        min: i64::MIN,
        max: i64::MAX,
        cycle: false,
        limit_reached: false,
    };
    let mut found = false;
    for run in runs {
        for index in run.cells.clone() {
            let cell = run.block.cell(index);
            found = true;
            let number = |field: &mut i64| {
                if let Ok(Value::Int(value)) = SqlType::BigInt.decode(SortOrder::Asc, cell.value) {
                    *field = value;
                }
            };
            match cell.qualifier {
                b"START_WITH" => number(&mut record.start),
                b"CURRENT_VALUE" => number(&mut record.current),
                b"INCREMENT_BY" => number(&mut record.increment),
                b"CACHE_SIZE" => number(&mut record.cache),
                b"MIN_VALUE" => number(&mut record.min),
                b"MAX_VALUE" => number(&mut record.max),
                b"CYCLE_FLAG" => record.cycle = cell.value == [1],
                b"LIMIT_REACHED_FLAG" => record.limit_reached = cell.value == [1],
                _ => {}
            }
        }
    }
    found.then_some(record)
}
