// SPDX-License-Identifier: Apache-2.0
//! What a query names in FROM beside whole tables as they are now: files, `FROM 'a.parquet'`, tables as they were,
//! `FROM t FOR SYSTEM_TIME AS OF moment`, and parts of tables, `FROM t TABLESAMPLE (percent)`. The planner knows names only, so
//! path, moment and sample go into the name, by which [`super::Planning`] finds what is meant.

use std::ops::ControlFlow;
use std::path::Path;

use datafusion::arrow::datatypes::DataType;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query, TableAlias, TableFactor, TableSampleKind, TableVersion, VisitMut,
    VisitorMut,
};

use super::Planning;
use super::sample::Sample;
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
    match node.visit(&mut Sources { planning, queries: vec![] }) {
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
    /// Names of common table expressions.
    queries: Vec<String>,
}

impl VisitorMut for Sources<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        let named = query.with.iter().flat_map(|with| &with.cte_tables);
        self.queries.extend(named.map(|named| named.alias.name.value.clone()));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        match self.mark(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Sources<'_> {
    fn mark(&self, factor: &mut TableFactor) -> Result<(), SqlError> {
        let (name, alias, version, sample) = match factor {
            TableFactor::Table { name, alias, args: None, version, sample, .. } => {
                (name, alias, version.take(), sample.take())
            }
            TableFactor::Derived { sample: Some(_), .. } => {
                return Err(no_table("TABLESAMPLE", "this is a subquery"));
            }
            _ => return Ok(()),
        };
        let is_file =
            matches!(name.0.as_slice(), [ObjectNamePart::Identifier(name)] if name.quote_style == Some('\''));
        let is_query = name.0.len() == 1;
        let Some(ObjectNamePart::Identifier(last)) = name.0.last_mut() else { return Ok(()) };
        let is_query = is_query && self.queries.contains(&last.value);
        let clause = if sample.is_some() { "TABLESAMPLE" } else { "FOR SYSTEM_TIME" };
        let (mut value, own) = match (is_file, version.is_some() || sample.is_some()) {
            (false, false) => return Ok(()),
            (true, false) => {
                let stem = Path::new(&last.value).file_stem().unwrap_or_default();
                (format!("{FILE}{}", last.value), stem.to_string_lossy().to_uppercase())
            }
            (true, true) => return Err(no_table(clause, &format!("'{}' is a file", last.value))),
            (false, true) if is_query => {
                return Err(no_table(clause, &format!("{} is a query of WITH", last.value)));
            }
            (false, true) => (last.value.clone(), shown_table(&last.value).to_owned()),
        };
        match version {
            Some(TableVersion::ForSystemTimeAsOf(moment)) => {
                value = format!("{value}{MOMENT}{}", milliseconds(self.planning, moment)?);
            }
            Some(version) => {
                let message = format!("expected FOR SYSTEM_TIME AS OF moment, found {version}");
                return Err(SqlError::statement(message));
            }
            None => {}
        }
        if let Some(TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
            sample
        {
            value = Sample::read(self.planning, *sample)?.mark(&value);
        }
        if alias.is_none() {
            let name = Ident::with_quote('"', own);
            *alias = Some(TableAlias { explicit: true, name, columns: vec![], at: None });
        }
        *last = Ident { value, quote_style: Some('"'), span: last.span };
        Ok(())
    }
}

/// The error of a clause behind something that it has no meaning for.
pub(super) fn no_table(clause: &str, found: &str) -> SqlError {
    SqlError::statement(format!("{clause} is for tables, and {found}"))
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
