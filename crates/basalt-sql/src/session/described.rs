// SPDX-License-Identifier: Apache-2.0
//! What a prepared statement takes and gives, for clients that ask before they run it.

use std::collections::HashMap;

use basalt_model::SqlType;
use datafusion::arrow::datatypes::SchemaRef;

use super::Session;
use crate::deep;
use crate::dialect::{self, Statement};
use crate::error::SqlError;
use crate::hints::Hints;
use crate::outcome::Outcome;
use crate::panics::caught_async;
use crate::parameter::{Prepared, Value};
use crate::plan::{Planning, Titles, shown_schema};

/// See [`Session::describe`].
#[derive(Debug, Clone)]
pub struct Described {
    /// It answers rows.
    pub is_query: bool,
    /// The columns of these; `None` where its parameters must have values before they can be told.
    pub columns: Option<SchemaRef>,
    /// The type of each parameter, from what it is compared with or written into; `None` where that tells nothing.
    pub parameters: Vec<Option<SqlType>>,
}

impl Session {
    /// Says what a statement takes and gives, without running it. An error if the statement is wrong.
    pub async fn describe(&self, prepared: &Prepared) -> Result<Described, SqlError> {
        deep::run_async(prepared.is_long(), caught_async(self.described(prepared))).await
    }

    async fn described(&self, prepared: &Prepared) -> Result<Described, SqlError> {
        let mut parsed = prepared.parsed().clone();
        if let Some(schema) = self.schema.lock().as_deref() {
            parsed.statement.qualify(schema);
        }
        let count = prepared.parameters();
        let mut planning = self.planning(parsed.tokens.clone(), &Hints::default());
        planning.uncommitted = None;
        let parameters = match count {
            0 => vec![],
            _ => parameter_types(&planning, &mut parsed.statement, count),
        };
        let is_query = prepared.is_query();
        if !is_query {
            return Ok(Described { is_query, columns: None, parameters });
        }
        let values: Vec<Value> = parameters.iter().map(|sql_type| example(*sql_type)).collect();
        let columns = match self.columns(prepared, &values, &planning).await {
            Ok(columns) => columns,
            // Other values may be right.
            Err(_) if count > 0 => None,
            Err(error) => return Err(error.near(planning.tokens())),
        };
        Ok(Described { is_query, columns, parameters })
    }

    /// The columns of the rows that a statement answers with these values.
    async fn columns(
        &self,
        prepared: &Prepared,
        values: &[Value],
        planning: &Planning,
    ) -> Result<Option<SchemaRef>, SqlError> {
        match prepared.bind(values)?.statement {
            Statement::Query(query) => {
                let titles = Titles::of(&query);
                let plan = planning.query(*query)?;
                Ok(Some(titles.put_on(&shown_schema(plan.schema().inner()))))
            }
            // The columns of a cursor's rows are those of its query.
            Statement::Cursor(_) => Ok(None),
            // EXPLAIN and SHOW read no rows of tables, and so are run.
            _ => match Box::pin(self.execute_prepared(prepared, values)).await? {
                Outcome::Rows(rows) => Ok(Some(rows.schema())),
                _ => Ok(None),
            },
        }
    }
}

fn parameter_types(planning: &Planning, statement: &mut Statement, count: usize) -> Vec<Option<SqlType>> {
    let changed = statement.changed().cloned();
    let mut columns = HashMap::new();
    let mut written = vec![];
    let mut named = dialect::relations(statement);
    named.iter_mut().for_each(|name| name.schema = name.schema.take().or_else(|| planning.schema.clone()));
    for name in named.iter().chain(&changed) {
        let Ok(table) = planning.table(&name.table()) else { continue };
        let schema = table.table_schema();
        for &column in schema.declared_order() {
            columns.entry(schema.name(column).to_owned()).or_insert(schema.sql_type(column));
        }
        if let (Some(changed), Statement::Upsert(upsert)) = (&changed, &*statement)
            && changed.table() == name.table()
        {
            let of_name = |name: &str| schema.find(None, name).ok().map(|column| schema.sql_type(column));
            written = match &upsert.columns {
                None => schema.declared_order().iter().map(|&column| Some(schema.sql_type(column))).collect(),
                Some(listed) => listed
                    .iter()
                    .map(|column| column.dynamic.or_else(|| of_name(&column.name.name)))
                    .collect(),
            };
        }
    }
    dialect::parameter_types(statement, count, &columns, &written)
}

/// Some value of a type, to plan with.
fn example(sql_type: Option<SqlType>) -> Value {
    use SqlType::*;
    match sql_type {
        None | Some(Array(_)) => Value::Null,
        Some(
            TinyInt | SmallInt | Integer | BigInt | UnsignedTinyInt | UnsignedSmallInt | UnsignedInt
            | UnsignedLong,
        ) => Value::Integer(1),
        Some(Float | Double | UnsignedFloat | UnsignedDouble) => Value::Double(1.0),
        Some(Decimal(_)) => Value::Decimal("1".to_owned()),
        Some(Boolean) => Value::Boolean(true),
        Some(Date | Time | UnsignedDate | UnsignedTime) => Value::Date(0),
        Some(Timestamp | UnsignedTimestamp) => Value::Timestamp(0),
        Some(Char(_) | Varchar(_) | Json) => Value::Text("1".to_owned()),
        Some(Binary(_) | Varbinary(_)) => Value::Binary(vec![1]),
    }
}
