// SPDX-License-Identifier: Apache-2.0
//! What a query names in FROM beside tables as they are now: files, `FROM 'a.parquet'`, and tables as they were,
//! `FROM t FOR SYSTEM_TIME AS OF moment`. The planner knows names only, so path and moment go into the name, by which
//! [`super::Planning`] finds what is meant.

use std::ops::ControlFlow;
use std::path::Path;

use datafusion::arrow::datatypes::DataType;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, TableAlias, TableFactor, TableVersion, VisitMut, VisitorMut,
};

use super::Planning;
use crate::coerce::coerce;
use crate::constant;
use crate::error::SqlError;
use basalt_model::{SqlType, TableName};

/// Stands before the path of a file; no text can be typed with it.
const FILE: char = '\u{3}';
/// Stands between the name of a table and a moment.
const MOMENT: char = '\u{4}';

/// Rewrites the sources of a query or an expression.
pub(super) fn rewrite(node: &mut impl VisitMut, planning: &Planning) -> Result<(), SqlError> {
    match node.visit(&mut Sources { planning }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The path in the name of a source, if it is a file.
pub(super) fn path_of(name: &str) -> Option<&str> {
    name.strip_prefix(FILE)
}

/// The name of a table without a moment, and the moment in milliseconds since 1970.
pub(super) fn moment_of(name: &TableName) -> (TableName, Option<i64>) {
    match name.name.split_once(MOMENT) {
        Some((own, moment)) => (TableName::new(name.namespace.clone(), own), moment.parse().ok()),
        None => (name.clone(), None),
    }
}

struct Sources<'a> {
    planning: &'a Planning,
}

impl VisitorMut for Sources<'_> {
    type Break = SqlError;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        let TableFactor::Table { name, alias, args: None, version, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let is_file =
            matches!(name.0.as_slice(), [ObjectNamePart::Identifier(name)] if name.quote_style == Some('\''));
        let version = version.take();
        let Some(ObjectNamePart::Identifier(last)) = name.0.last_mut() else {
            return ControlFlow::Continue(());
        };
        let (value, own) = match version {
            None if is_file => {
                let stem = Path::new(&last.value).file_stem().unwrap_or_default();
                (format!("{FILE}{}", last.value), stem.to_string_lossy().to_uppercase())
            }
            Some(_) if is_file => {
                let message = format!("FOR SYSTEM_TIME is for tables, and '{}' is a file", last.value);
                return ControlFlow::Break(SqlError::statement(message));
            }
            Some(TableVersion::ForSystemTimeAsOf(moment)) => match milliseconds(self.planning, moment) {
                Ok(moment) => {
                    (format!("{}{MOMENT}{moment}", last.value), shown_table(&last.value).to_owned())
                }
                Err(error) => return ControlFlow::Break(error),
            },
            Some(version) => {
                let message = format!("expected FOR SYSTEM_TIME AS OF moment, found {version}");
                return ControlFlow::Break(SqlError::statement(message));
            }
            None => return ControlFlow::Continue(()),
        };
        if alias.is_none() {
            let name = Ident::with_quote('"', own);
            *alias = Some(TableAlias { explicit: true, name, columns: vec![], at: None });
        }
        *last = Ident { value, quote_style: Some('"'), span: last.span };
        ControlFlow::Continue(())
    }
}

/// The table's own name, without dynamic columns.
fn shown_table(name: &str) -> &str {
    name.split(super::dynamic::MARK).next().unwrap_or(name)
}

/// The moment that an expression means: a date, a text that is one, or milliseconds since 1970.
fn milliseconds(planning: &Planning, moment: Expr) -> Result<i64, SqlError> {
    let wrong = |found: &dyn std::fmt::Display| {
        SqlError::statement(format!(
            "FOR SYSTEM_TIME AS OF takes a date or milliseconds since 1970; found {found}"
        ))
    };
    let written = moment.to_string();
    let value = constant::evaluate_now(planning, moment)?;
    if value.is_null() {
        return Err(wrong(&format!("NULL, the value of {written}")));
    }
    if value.data_type().is_integer() {
        return match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(moment))) => Ok(moment),
            _ => Err(wrong(&value)),
        };
    }
    let date = coerce(&value.to_array()?, SqlType::Date).map_err(|_| wrong(&value))?;
    match ScalarValue::try_from_array(&date, 0)? {
        ScalarValue::TimestampMillisecond(Some(moment), _) => Ok(moment),
        _ => Err(wrong(&value)),
    }
}
