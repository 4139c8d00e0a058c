// SPDX-License-Identifier: Apache-2.0
//! CREATE INDEX as a table of the store: its key, its columns, its family.

use std::ops::ControlFlow;
use std::sync::Arc;

use basalt_model::index::{IndexCopy, IndexDescriptor, IndexPart, IndexSource};
use basalt_model::schema::define::numbered_qualifier;
use basalt_model::{
    ColumnRef, ColumnSchema, FamilyDescriptor, IndexState, KeyColumn, SortOrder, SqlType, TableDescriptor,
    TableName, TableSchema,
};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, TableReference};
use datafusion::logical_expr::{Expr, ExprSchemable, Volatility};
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, visit_expressions};

use super::expires;
use crate::catalog;
use crate::definition::TableOptions;
use crate::dialect::{self, CreateIndex, Name, place_of};
use crate::error::{SqlError, code};
use crate::ingest::find_column;
use crate::plan::{Planning, resolve_families};
use crate::scan::BasaltTable;

/// The family of index rows.
pub(super) const FAMILY: &str = "0";
/// Width of qualifiers, in bytes.
const QUALIFIER_BYTES: u8 = 2;
/// Number of the first included column.
const QUALIFIER_FIRST: u32 = 11;

/// The index as a table. What its options have to say goes to `warnings`.
pub(super) fn define(
    planning: &Planning,
    table: &Arc<BasaltTable>,
    name: TableName,
    statement: &CreateIndex,
    warnings: &mut Vec<String>,
) -> Result<TableDescriptor, SqlError> {
    if table.table_schema().row_timestamp.is_some() {
        let message = format!("table {} has a ROW_TIMESTAMP and takes no index", table.relation_name());
        return Err(SqlError::coded(code::ROW_TIMESTAMP_INDEX, message));
    }
    let condition = condition(planning, table, statement)?;
    let mut shape = Shape { table, key: vec![], parts: vec![], copies: vec![], columns: vec![] };
    for (expr, order) in &statement.parts {
        shape.part(planning, expr, *order)?;
    }
    shape.primary_key();
    for name in &statement.included {
        let column = find_column(table.table_schema(), name.schema.as_deref(), &name.name)
            .map_err(|error| error.at(planning.tokens().find(&name.name)))?;
        shape.include(column)?;
    }
    shape.check_order()?;
    let functional = shape.parts.iter().any(|part| matches!(part.source, IndexSource::Expression(_)));
    if expires(&table.descriptor) && (functional || condition.is_some()) {
        return Err(SqlError::statement(
            "a table with a TTL takes no index of expressions or with WHERE: values end by themselves, and the index would not know",
        ));
    }
    let options = TableOptions::read(&statement.options, warnings)?;
    let mut family = family(&table.descriptor, &options.family(FAMILY));
    options.apply(&mut family);
    live_as_long(&table.descriptor, &mut family);
    let Shape { key, parts, copies, columns, .. } = shape;
    let index = IndexDescriptor {
        base: table.id,
        on: table.relation_name().clone(),
        state: IndexState::Building,
        local: statement.local,
        unique: statement.unique,
        parts,
        copies,
        condition: condition.map(|condition| dialect::printable(&condition).to_string()),
    };
    let mut descriptor = TableDescriptor::new(name).family(family);
    descriptor.schema = Some(schema(key, columns));
    descriptor.attributes = options.attributes;
    descriptor.index = Some(index);
    Ok(descriptor)
}

/// The index with these columns of its table included, those that it has already left as they are.
pub(super) fn including(
    table: &Arc<BasaltTable>,
    index: &TableDescriptor,
    columns: &[&Name],
) -> Result<TableDescriptor, SqlError> {
    let mut changed = index.clone();
    let (Some(index), Some(own)) = (&mut changed.index, &mut changed.schema) else {
        return Err(SqlError::internal(format!("{} is no index", changed.name)));
    };
    let schema = table.table_schema();
    for name in columns {
        let ColumnRef::Column(at) = find_column(schema, name.schema.as_deref(), &name.name)? else {
            continue;
        };
        let (source, label) = source_of(schema, ColumnRef::Column(at));
        if index.copies.iter().any(|copy| copy.column == label)
            || index.parts.iter().any(|part| part.source == source)
        {
            continue;
        }
        let column = &schema.columns[at];
        own.declared.push(ColumnRef::Column(own.columns.len()));
        own.columns.push(included(column, label.clone(), own.qualifier_next)?);
        own.qualifier_next += 1;
        let (family, name) = (Some(column.family.clone()), column.name.clone());
        index.copies.push(IndexCopy { family, name, column: label });
    }
    Ok(changed)
}

/// A column of the table as one of the index, under this number.
fn included(column: &ColumnSchema, label: String, number: u32) -> Result<ColumnSchema, SqlError> {
    let qualifier = numbered_qualifier(number, QUALIFIER_BYTES)
        .ok_or_else(|| SqlError::statement("an index cannot include that many columns"))?;
    Ok(ColumnSchema {
        name: label,
        family: FAMILY.to_owned(),
        qualifier,
        sql_type: column.sql_type,
        nullable: true,
        default_sql: None,
        default_value: None,
    })
}

fn schema(key: Vec<KeyColumn>, columns: Vec<ColumnSchema>) -> TableSchema {
    let declared = (0..key.len()).map(ColumnRef::Key).chain((0..columns.len()).map(ColumnRef::Column));
    TableSchema {
        declared: declared.collect(),
        empty_family: FAMILY.to_owned(),
        empty_qualifier: vec![0; 4],
        qualifier_next: QUALIFIER_FIRST + columns.len() as u32,
        qualifier_bytes: QUALIFIER_BYTES,
        key_defaults: Default::default(),
        row_timestamp: None,
        key,
        columns,
    }
}

/// As the table's first one, in what concerns how cells are stored.
fn family(table: &TableDescriptor, new: &FamilyDescriptor) -> FamilyDescriptor {
    match table.families.first() {
        Some(first) => FamilyDescriptor {
            compression: first.compression.clone(),
            encoding: first.encoding.clone(),
            block_bytes: first.block_bytes,
            ..new.clone()
        },
        None => new.clone(),
    }
}

/// Index rows live at least as long as the values of the table.
pub(super) fn live_as_long(table: &TableDescriptor, family: &mut FamilyDescriptor) {
    let ttls: Option<Vec<u64>> = table.families.iter().map(|family| family.ttl_secs).collect();
    family.ttl_secs = ttls.and_then(|ttls| ttls.into_iter().max());
    let kept = table.families.iter().any(|family| family.versions_min > 0);
    (family.versions_max, family.versions_min) = (1, u32::from(kept));
}

/// The condition of the index and of the view that it is on.
fn condition(
    planning: &Planning,
    table: &Arc<BasaltTable>,
    statement: &CreateIndex,
) -> Result<Option<SqlExpr>, SqlError> {
    let of_view = table.rules().and_then(|rules| rules.condition.clone());
    let mut all: Vec<SqlExpr> = of_view.into_iter().chain(statement.condition.clone()).collect();
    for condition in &all {
        if planned(planning, table, condition)?.1 != DataType::Boolean {
            return Err(SqlError::coded(code::TYPE_MISMATCH, "the condition of an index is true or false"));
        }
    }
    let last = all.pop();
    Ok(match (all.pop(), last) {
        (Some(first), Some(last)) => Some(catalog::view::and(Some(first), last)),
        (_, last) => last,
    })
}

/// An expression over the table's columns that always has the same value for the same row, and its type.
fn planned(
    planning: &Planning,
    table: &Arc<BasaltTable>,
    expr: &SqlExpr,
) -> Result<(Expr, DataType), SqlError> {
    let mut resolved = expr.clone();
    resolve_families(&mut resolved, table);
    let reference = TableReference::bare(table.relation_name().name.as_str());
    let schema = DFSchema::try_from_qualified_schema(reference, table.arrow_schema())?;
    let planned = planning.expression(resolved, &schema)?;
    let varies = |expr: &Expr| {
        Ok(match expr {
            Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
            Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) => true,
            Expr::AggregateFunction(_) | Expr::WindowFunction(_) | Expr::Placeholder(_) => true,
            _ => false,
        })
    };
    if planned.exists(varies)? {
        return Err(varying(planning, expr));
    }
    if planned.column_refs().is_empty() {
        let message = format!("{expr} names no column of the table, so it indexes nothing");
        return Err(SqlError::statement(message).at(place_of(expr)));
    }
    let data_type = planning.simplified(planned.clone(), &schema)?.get_type(&schema)?;
    Ok((planned, data_type))
}

/// The error of an indexed expression that a row alone does not decide.
fn varying(planning: &Planning, expr: &SqlExpr) -> SqlError {
    let mut sequence = None;
    let _ = visit_expressions(expr, |part| match dialect::sequence_of(part) {
        Some((call, name)) => {
            sequence = Some((call, planning.tokens().find(name)));
            ControlFlow::Break(())
        }
        None => ControlFlow::Continue(()),
    });
    let (shown, place) = sequence.unwrap_or_else(|| (expr.to_string(), place_of(expr)));
    let message =
        format!("{shown} may have another value each time; an index takes what a row alone decides");
    SqlError::coded(code::NOT_DETERMINISTIC, message).at(place)
}

/// The index while it takes shape.
struct Shape<'a> {
    table: &'a Arc<BasaltTable>,
    key: Vec<KeyColumn>,
    parts: Vec<IndexPart>,
    copies: Vec<IndexCopy>,
    columns: Vec<ColumnSchema>,
}

impl Shape<'_> {
    /// An indexed value, with whether there is one where the type cannot say it.
    fn part(&mut self, planning: &Planning, expr: &SqlExpr, order: SortOrder) -> Result<(), SqlError> {
        let schema = self.table.table_schema();
        if let Some((family, name)) = as_column(expr) {
            let column = find_column(schema, family.as_deref(), &name)
                .map_err(|error| error.at(planning.tokens().find(&name)))?;
            let (source, label) = source_of(schema, column);
            let key = match column {
                ColumnRef::Key(index) => KeyColumn { order, ..schema.key[index].clone() },
                ColumnRef::Column(index) => value_column(schema.columns[index].sql_type, order),
            };
            return self.push(source, label, key, matches!(column, ColumnRef::Column(_)));
        }
        let (_, data_type) = planned(planning, self.table, expr)?;
        let sql_type = sql_type_of(&data_type).ok_or_else(|| {
            let message = format!("{expr} is of a type that cannot be indexed; CAST it to one that can");
            SqlError::coded(code::TYPE_MISMATCH, message)
        })?;
        let text = dialect::printable(expr).to_string();
        self.push(IndexSource::Expression(text.clone()), text, value_column(sql_type, order), true)
    }

    fn push(
        &mut self,
        source: IndexSource,
        label: String,
        column: KeyColumn,
        may_be_null: bool,
    ) -> Result<(), SqlError> {
        if self.parts.iter().any(|part| part.source == source) {
            return Err(SqlError::coded(code::COLUMN_EXISTS, format!("{label} is indexed twice")));
        }
        let fixed = column.sql_type.fixed_width().is_some();
        let presence = (may_be_null && fixed).then(|| format!("{label}?"));
        if let Some(name) = &presence {
            let (sql_type, order) = (SqlType::TinyInt, SortOrder::Asc);
            self.key.push(KeyColumn { name: name.clone(), sql_type, order, nullable: false });
        }
        let order = column.order;
        let nullable = if may_be_null { !fixed } else { column.nullable };
        self.key.push(KeyColumn { name: label.clone(), nullable, ..column });
        self.parts.push(IndexPart { source, column: label, presence, order });
        Ok(())
    }

    /// The columns of the primary key that are not indexed.
    fn primary_key(&mut self) {
        for (index, key) in self.table.table_schema().key.iter().enumerate() {
            let (source, label) = source_of(self.table.table_schema(), ColumnRef::Key(index));
            if self.parts.iter().all(|part| part.source != source) {
                self.key.push(KeyColumn { name: label.clone(), ..key.clone() });
                self.copies.push(IndexCopy { family: None, name: key.name.clone(), column: label });
            }
        }
    }

    fn include(&mut self, column: ColumnRef) -> Result<(), SqlError> {
        let schema = self.table.table_schema();
        let (source, label) = source_of(schema, column);
        let indexed = self.parts.iter().any(|part| part.source == source);
        let ColumnRef::Column(index) = column else { return Ok(()) };
        let column = &schema.columns[index];
        if indexed || self.copies.iter().any(|copy| copy.column == label) {
            let message = format!("column {} is in the index already; leave it out of INCLUDE", column.name);
            return Err(SqlError::coded(code::COLUMN_EXISTS, message));
        }
        let number = QUALIFIER_FIRST + self.columns.len() as u32;
        self.columns.push(included(column, label.clone(), number)?);
        let (family, name) = (Some(column.family.clone()), column.name.clone());
        self.copies.push(IndexCopy { family, name, column: label });
        Ok(())
    }

    /// Values without an end of their own can only be last.
    fn check_order(&self) -> Result<(), SqlError> {
        let before_last = &self.key[..self.key.len() - 1];
        let endless = |column: &&KeyColumn| {
            matches!(column.sql_type, SqlType::Varbinary(_) | SqlType::Json | SqlType::Array(_))
        };
        match before_last.iter().find(endless) {
            None => Ok(()),
            Some(column) => Err(SqlError::coded(
                code::VARBINARY_IN_KEY,
                format!("{} is of type {}, which cannot be indexed", column.name, column.sql_type),
            )),
        }
    }
}

fn value_column(sql_type: SqlType, order: SortOrder) -> KeyColumn {
    KeyColumn { name: String::new(), sql_type, order, nullable: true }
}

/// Where a column's values come from, and what the index calls them.
fn source_of(schema: &TableSchema, column: ColumnRef) -> (IndexSource, String) {
    let name = schema.name(column).to_owned();
    let family = match column {
        ColumnRef::Key(_) => None,
        ColumnRef::Column(index) => Some(schema.columns[index].family.clone()),
    };
    let label = format!("{}:{name}", family.as_deref().unwrap_or_default());
    (IndexSource::Column(family, name), label)
}

fn as_column(expr: &SqlExpr) -> Option<(Option<String>, String)> {
    match expr {
        SqlExpr::Nested(inner) => as_column(inner),
        SqlExpr::Identifier(name) => Some((None, name.value.clone())),
        SqlExpr::CompoundIdentifier(parts) => match parts.as_slice() {
            [family, name] => Some((Some(family.value.clone()), name.value.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// The type in which values of an expression are indexed.
fn sql_type_of(data_type: &DataType) -> Option<SqlType> {
    Some(match data_type {
        DataType::Boolean => SqlType::Boolean,
        DataType::Int8 => SqlType::TinyInt,
        DataType::Int16 => SqlType::SmallInt,
        DataType::Int32 => SqlType::Integer,
        DataType::Int64 => SqlType::BigInt,
        DataType::Float32 => SqlType::Float,
        DataType::Float64 => SqlType::Double,
        DataType::Decimal128(precision, scale) => SqlType::Decimal(Some((*precision, *scale))),
        DataType::Decimal256(..) => SqlType::Decimal(None),
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => SqlType::Varchar(None),
        DataType::Timestamp(TimeUnit::Millisecond, None) => SqlType::Date,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => SqlType::Timestamp,
        _ => return None,
    })
}
