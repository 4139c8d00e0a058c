// SPDX-License-Identifier: Apache-2.0
//! `SPLIT ON (value, (value, value), ..)`: rows at which regions begin. A value is one of the first key column, a row value one of
//! the leading key columns.

use basalt_model::TableSchema;
use basalt_model::schema::ColumnRef;
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

/// The first rows of all regions but the first one, sorted.
pub(super) fn rows(
    planning: &Planning,
    schema: &TableSchema,
    splits: &[SqlExpr],
) -> Result<Vec<Bytes>, SqlError> {
    let mut rows = vec![];
    for split in splits {
        let row = first_row(planning, schema, split)?;
        if rows.contains(&row) {
            return Err(SqlError::statement(format!("SPLIT ON has {split} twice")));
        }
        rows.push(row);
    }
    rows.sort();
    Ok(rows)
}

/// The first row whose leading columns have these values.
fn first_row(planning: &Planning, schema: &TableSchema, split: &SqlExpr) -> Result<Bytes, SqlError> {
    let values = match split {
        SqlExpr::Tuple(values) => values.as_slice(),
        single => std::slice::from_ref(single),
    };
    if values.len() > schema.key.len() {
        return Err(SqlError::statement(format!(
            "SPLIT ON has {split}, but the primary key has only {} columns",
            schema.key.len()
        )));
    }
    let mut fixed = vec![];
    for (at, value) in values.iter().enumerate() {
        let column = ColumnRef::Key(at);
        let found = constant::evaluate(planning, value.clone())?;
        if found.is_null() {
            return Err(SqlError::statement(format!("SPLIT ON has {split}: NULL comes first in any case")));
        }
        let array = coerce(&found.to_array()?, schema.sql_type(column))
            .map_err(|refusal| refusal.error.within(format!("SPLIT ON, column {}", schema.name(column))))?;
        let literal = Expr::Literal(ScalarValue::try_from_array(&array, 0)?, None);
        fixed.push(Expr::Column(Column::new_unqualified(schema.name(column))).eq(literal));
    }
    let first = match keys::access(schema, &fixed).access {
        Access::Points(rows) => rows.into_iter().next(),
        Access::Ranges(ranges) => ranges.into_iter().next().map(|range| range.start),
        Access::Nothing | Access::Full => None,
    };
    first.ok_or_else(|| SqlError::statement(format!("SPLIT ON has {split}, which is no row of the table")))
}
