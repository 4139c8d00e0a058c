// SPDX-License-Identifier: Apache-2.0
//! What there is to know of a row beside its values: PHOENIX_ROW_TIMESTAMP(), ROW_SIZE(), RAW_ROW_SIZE(), ROWKEY_BYTES_STRING(),
//! PARTITION_ID(). Batches have none of it, so each call gets the key columns of its table, and looks the row up by its key.
//!
//! A call is of the one table of its SELECT: with several tables in FROM it would not say which row is meant.

use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;

use basalt_hfile::typed::KeyEncoder;
use basalt_model::escape::Escaped;
use basalt_model::operation::Scan;
use basalt_model::schema::ColumnRef;
use basalt_model::{CellRef, SqlType, TableId, TableName, TableSchema};
use basalt_store::{RegionStats, Snapshot, Step};
use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    Query, Select, SetExpr, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};

use super::Planning;
use crate::catalog::{self, Relation};
use crate::error::SqlError;
use crate::ingest::typed;

/// Names of functions of a table begin with it.
const MARK: &str = "$row ";
/// Between their parts.
const SEPARATOR: char = '\u{1}';

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fact {
    Key,
    Timestamp,
    Size,
    RawSize,
    Region,
}

impl Fact {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ROWKEY_BYTES_STRING" => Self::Key,
            "PHOENIX_ROW_TIMESTAMP" => Self::Timestamp,
            "ROW_SIZE" => Self::Size,
            "RAW_ROW_SIZE" | "ROW_RAW_SIZE" => Self::RawSize,
            "PARTITION_ID" => Self::Region,
            _ => return None,
        })
    }
}

/// Gives calls of these functions the key columns of their table.
///
/// An error for one beside FOR SYSTEM_TIME AS OF: rows are looked up as they are now.
pub(super) fn rewrite(query: &mut Query, planning: &Planning) -> Result<(), SqlError> {
    match query.visit(&mut Calls { planning, tables: vec![] }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The one table of a SELECT.
struct OneTable {
    name: TableName,
    key: Vec<String>,
    /// It is read as of another time.
    is_of_the_past: bool,
}

struct Calls<'a> {
    planning: &'a Planning,
    /// The one table of each SELECT around.
    tables: Vec<Option<OneTable>>,
}

impl Calls<'_> {
    fn table_of(&self, select: &Select) -> Option<OneTable> {
        let relation = relation_of(select, self.planning)?;
        let schema = relation.descriptor.schema.as_ref()?;
        let name = relation.view.as_ref().map_or(&relation.descriptor.name, |(name, _)| name);
        let key = schema.key.iter().map(|key| key.name.clone()).collect();
        let of_table =
            |from: &TableWithJoins| matches!(from.relation, TableFactor::Table { version: Some(_), .. });
        let is_of_the_past = select.from.iter().any(of_table);
        Some(OneTable { name: name.clone(), key, is_of_the_past })
    }
}

/// The one table or view that a SELECT is of.
pub(super) fn relation_of(select: &Select, planning: &Planning) -> Option<Relation> {
    let [from] = select.from.as_slice() else { return None };
    let TableFactor::Table { name: ObjectName(parts), args: None, .. } = &from.relation else {
        return None;
    };
    let mut parts: Vec<_> = parts.iter().filter_map(ObjectNamePart::as_ident).collect();
    let name = parts.pop()?.value.as_str();
    let schema = parts.pop().map(|schema| schema.value.as_str()).or(planning.schema.as_deref());
    let name = TableName::new(schema.unwrap_or(basalt_model::table::DEFAULT_NAMESPACE), name);
    catalog::find(planning.engine.database(), &name).ok().filter(|_| from.joins.is_empty())
}

impl VisitorMut for Calls<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        // ORDER BY belongs to the query.
        let table = match query.body.as_ref() {
            SetExpr::Select(select) => self.table_of(select),
            _ => None,
        };
        self.tables.push(table);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.tables.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        self.tables.push(self.table_of(select));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<SqlError> {
        self.tables.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else {
            return ControlFlow::Continue(());
        };
        let call = name.to_string();
        if let (Some(fact), true, Some(Some(OneTable { name: table, key, is_of_the_past }))) =
            (Fact::named(&call), list.args.is_empty(), self.tables.last())
        {
            if *is_of_the_past && fact != Fact::Key {
                let message = format!(
                    "{call}() is of rows as they are now, and the table is read FOR SYSTEM_TIME AS OF another time"
                );
                return ControlFlow::Break(
                    SqlError::unsupported(message).at(self.planning.tokens().find(&call)),
                );
            }
            let TableName { namespace, name: own } = table;
            let marked = format!("{MARK}{call}{SEPARATOR}{namespace}{SEPARATOR}{own}");
            *name = ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote('"', marked))]);
            let column = |key: &String| {
                let column = Expr::Identifier(Ident::with_quote('"', key.clone()));
                FunctionArg::Unnamed(FunctionArgExpr::Expr(column))
            };
            list.args = key.iter().map(column).collect();
        }
        ControlFlow::Continue(())
    }
}

/// True for the name of one of these functions.
pub(crate) fn is_row_fact(name: &str) -> bool {
    Fact::named(&name.to_uppercase()).is_some()
}

/// The function of this name, if [`rewrite`] made it.
pub(super) fn find(planning: &Planning, name: &str) -> Option<Arc<ScalarUDF>> {
    let mut parts = name.strip_prefix(MARK)?.split(SEPARATOR);
    let fact = Fact::named(parts.next()?)?;
    let table = TableName::new(parts.next()?, parts.next()?);
    let database = planning.engine.database();
    let relation = catalog::find(database, &table).ok()?;
    let schema = relation.descriptor.schema.clone()?;
    let regions = if fact == Fact::Region { database.regions(relation.id).ok()? } else { vec![] };
    Some(Arc::new(ScalarUDF::new_from_impl(RowFact {
        fact,
        id: relation.id,
        schema: Arc::new(schema),
        snapshot: planning.snapshot.clone(),
        regions,
        signature: Signature::variadic_any(Volatility::Stable),
    })))
}

/// One of the functions, of one table.
#[derive(Debug)]
struct RowFact {
    fact: Fact,
    id: TableId,
    schema: Arc<TableSchema>,
    snapshot: Snapshot,
    regions: Vec<RegionStats>,
    signature: Signature,
}

impl PartialEq for RowFact {
    fn eq(&self, other: &Self) -> bool {
        (self.fact, self.id, self.snapshot.seq()) == (other.fact, other.id, other.snapshot.seq())
    }
}

impl Eq for RowFact {}

impl Hash for RowFact {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.fact, self.id).hash(state);
    }
}

/// What a cell takes beside its key and value when it is sent: lengths, timestamp, type.
const CELL_OVERHEAD: usize = 24;

fn size(cell: &CellRef<'_>) -> i64 {
    let bytes = cell.row.len() + cell.family.len() + cell.qualifier.len() + cell.value.len();
    (bytes + CELL_OVERHEAD) as i64
}

impl RowFact {
    fn number(&self, key: &[u8]) -> Result<Option<i64>, SqlError> {
        if self.fact == Fact::RawSize {
            return self.raw_size(key).map(Some);
        }
        let mut found = None;
        for run in self.snapshot.get_row(self.id, key)? {
            for cell in run.cells.clone().map(|index| run.block.cell(index)) {
                let of_cell = if self.fact == Fact::Timestamp { cell.timestamp } else { size(&cell) };
                found = Some(match (self.fact, found) {
                    (_, None) => of_cell,
                    (Fact::Timestamp, Some(known)) => of_cell.max(known),
                    (_, Some(known)) => of_cell + known,
                });
            }
        }
        Ok(found)
    }

    /// With old versions and delete markers.
    fn raw_size(&self, key: &[u8]) -> Result<i64, SqlError> {
        let row = bytes::Bytes::copy_from_slice(key);
        let mut scan = Scan::new();
        (scan.start, scan.stop, scan.stop_inclusive, scan.raw) = (row.clone(), row, true, true);
        scan.options.versions = u32::MAX;
        let mut rows = self.snapshot.query(self.id, &scan)?;
        let mut bytes = 0;
        while let Step::Row(row) = rows.step(&mut || false)? {
            bytes += row.cells().map(|cell| size(&cell)).sum::<i64>();
        }
        Ok(bytes)
    }

    fn text(&self, key: &[u8]) -> Option<String> {
        match self.fact {
            Fact::Region => {
                let region = self.regions.iter().find(|region| region.range.contains(key));
                region.map(|region| region.id.to_string())
            }
            _ => Some(Escaped(key).to_string()),
        }
    }

    fn keys(&self, args: &ScalarFunctionArgs) -> Result<Vec<Vec<u8>>, SqlError> {
        let mut keys = Vec::with_capacity(args.number_rows);
        each_key(&self.schema, &args.args, args.number_rows, |key| keys.push(key.to_vec()))?;
        Ok(keys)
    }
}

/// Calls `take` with the encoded key of each row; `columns` are those of the key.
pub(super) fn each_key(
    schema: &TableSchema,
    columns: &[ColumnarValue],
    rows: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<(), SqlError> {
    let columns = columns.iter().map(|column| column.to_array(rows));
    let columns: Vec<ArrayRef> = columns.collect::<PlanResult<_>>()?;
    let fields: Vec<Field> = schema
        .key
        .iter()
        .zip(&columns)
        .map(|(key, column)| Field::new(&key.name, column.data_type().clone(), true))
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| SqlError::internal(error.to_string()))?;
    let key: Vec<_> = (0..schema.key.len()).map(ColumnRef::Key).collect();
    let encoder = KeyEncoder::try_new(schema, &key).map_err(|error| typed(error).error)?;
    encoder.encode(&batch, |_, key| {
        take(key);
        Ok::<_, basalt_hfile::typed::TypedError>(())
    })?;
    Ok(())
}

impl ScalarUDFImpl for RowFact {
    fn name(&self) -> &str {
        match self.fact {
            Fact::Key => "rowkey_bytes_string",
            Fact::Timestamp => "phoenix_row_timestamp",
            Fact::Size => "row_size",
            Fact::RawSize => "raw_row_size",
            Fact::Region => "partition_id",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(match self.fact {
            Fact::Key | Fact::Region => DataType::Utf8,
            Fact::Timestamp => basalt_hfile::typed::arrow_type(SqlType::Date),
            Fact::Size | Fact::RawSize => DataType::Int64,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let keys = self.keys(&args)?;
        let array: ArrayRef = match self.fact {
            Fact::Key | Fact::Region => {
                Arc::new(keys.iter().map(|key| self.text(key)).collect::<StringArray>())
            }
            _ => {
                let numbers = keys.iter().map(|key| self.number(key)).collect::<Result<Vec<_>, _>>()?;
                match self.fact {
                    Fact::Timestamp => Arc::new(TimestampMillisecondArray::from(numbers)),
                    _ => Arc::new(Int64Array::from(numbers)),
                }
            }
        };
        Ok(ColumnarValue::Array(array))
    }
}
