// SPDX-License-Identifier: Apache-2.0
//! `SPLIT ON (value, (value, value), ..)`: rows at which regions begin. A value is one of the first key column, a row value one of
//! the leading key columns. Of an index these are the indexed values.

use basalt_model::schema::ColumnRef;
use basalt_model::{TableDescriptor, TableSchema};
use bytes::Bytes;
use datafusion::common::Column;
use datafusion::logical_expr::Expr;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;

use crate::coerce::coerce;
use crate::constant;
use crate::error::SqlError;
use crate::keys::{self, Access};
use crate::plan::Planning;

/// The first rows of all regions but the first one of a table, sorted.
pub(super) fn rows(
    planning: &Planning,
    schema: &TableSchema,
    splits: &[SqlExpr],
) -> Result<Vec<Bytes>, SqlError> {
    let all: Vec<usize> = (0..schema.key.len()).collect();
    rows_of(planning, schema, &all, splits)
}

/// The same of an index. Its key may have a column before that of a value which says that there is one.
pub(crate) fn index_rows(
    planning: &Planning,
    descriptor: &TableDescriptor,
    splits: &[SqlExpr],
) -> Result<Vec<Bytes>, SqlError> {
    let (Some(index), Some(schema)) = (&descriptor.index, &descriptor.schema) else {
        return Err(SqlError::internal(format!("{} is no index", descriptor.name)));
    };
    let is_presence = |name: &str| index.parts.iter().any(|part| part.presence.as_deref() == Some(name));
    let values: Vec<usize> = (0..schema.key.len()).filter(|&at| !is_presence(&schema.key[at].name)).collect();
    rows_of(planning, schema, &values, splits)
}

/// `columns` are the places in the key that values are given for; what lies between says that there are values.
fn rows_of(
    planning: &Planning,
    schema: &TableSchema,
    columns: &[usize],
    splits: &[SqlExpr],
) -> Result<Vec<Bytes>, SqlError> {
    let mut rows = vec![];
    for split in splits {
        let row = first_row(planning, schema, columns, split)?;
        if rows.contains(&row) {
            return Err(SqlError::statement(format!("SPLIT ON has {split} twice")));
        }
        rows.push(row);
    }
    rows.sort();
    Ok(rows)
}

/// The first row whose leading columns have these values.
fn first_row(
    planning: &Planning,
    schema: &TableSchema,
    columns: &[usize],
    split: &SqlExpr,
) -> Result<Bytes, SqlError> {
    let values = match split {
        SqlExpr::Tuple(values) => values.as_slice(),
        single => std::slice::from_ref(single),
    };
    if values.len() > columns.len() {
        return Err(SqlError::statement(format!(
            "SPLIT ON has {split}, but the key has only {} columns",
            columns.len()
        )));
    }
    let (mut fixed, mut next) = (vec![], 0);
    for (value, &at) in values.iter().zip(columns) {
        fixed.extend((next..at).map(|at| is_equal(schema, at, ScalarValue::Int8(Some(1)))));
        next = at + 1;
        let column = ColumnRef::Key(at);
        let found = constant::evaluate(planning, value.clone())?;
        if found.is_null() {
            return Err(SqlError::statement(format!("SPLIT ON has {split}: NULL comes first in any case")));
        }
        let array = coerce(&found.to_array()?, schema.sql_type(column))
            .map_err(|refusal| refusal.error.within(format!("SPLIT ON, column {}", schema.name(column))))?;
        fixed.push(is_equal(schema, at, ScalarValue::try_from_array(&array, 0)?));
    }
    let first = match keys::access(schema, &fixed).access {
        Access::Points(rows) => rows.into_iter().next(),
        Access::Ranges(ranges) => ranges.into_iter().next().map(|range| range.start),
        Access::Nothing | Access::Full => None,
    };
    first.ok_or_else(|| SqlError::statement(format!("SPLIT ON has {split}, which is no row of the table")))
}

fn is_equal(schema: &TableSchema, at: usize, value: ScalarValue) -> Expr {
    let column = Column::new_unqualified(schema.name(ColumnRef::Key(at)));
    Expr::Column(column).eq(Expr::Literal(value, None))
}
