// SPDX-License-Identifier: Apache-2.0
//! Views: names for some rows of a table, or for cells that were not written in SQL.
//!
//! A view is an attribute of the table that it is over, so both change together:
//!
//! ```text
//! attribute "VIEW$S.V" of table T = {"name": .., "parent": .., "condition": "TYP = 'm'", "columns": [..], "mapped": ..}
//! ```
//!
//! Its columns are those of what it is over and its own, whose cells lie in the table under the table's next
//! numbers. Once it has dropped a column of what it is over, it keeps the list of those that are left, as Phoenix does: columns that
//! come there later are not in it. A view whose conditions are `column = literal` alone can be written to: the literals are filled in.

use std::sync::Arc;

use basalt_model::{ColumnSchema, TableDescriptor, TableId, TableName, TableSchema};
use basalt_store::Database;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};
use serde::{Deserialize, Serialize};

use super::Relation;
use crate::dialect::{self, Name};
use crate::error::{SqlError, code};

/// What the attributes of views begin with.
const ATTRIBUTE: &str = "VIEW$";

/// A view as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct View {
    /// Its name.
    pub(crate) name: TableName,
    /// The view that it is over; `None` if that is the table.
    pub(crate) parent: Option<TableName>,
    /// WHERE, as text.
    pub(crate) condition: Option<String>,
    /// Its own columns.
    pub(crate) columns: Vec<ColumnSchema>,
    /// The columns of a view over cells that were not written in SQL.
    pub(crate) mapped: Option<TableSchema>,
    /// Family and name of the columns that it has of what it is over, once it has dropped one of them; all if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) inherited: Option<Vec<(String, String)>>,
}

/// What the conditions of a view mean for reading and writing.
#[derive(Debug, Clone)]
pub(crate) struct ViewRules {
    /// The rows that it has; all if `None`.
    pub(crate) condition: Option<Expr>,
    /// Columns that have one value in all of its rows; `None` if the view cannot be written to.
    pub(crate) constants: Option<Vec<(Name, Expr)>>,
}

impl View {
    /// The attribute under which a view of this name is stored.
    fn attribute(name: &TableName) -> String {
        format!("{ATTRIBUTE}{name}")
    }

    /// True if an attribute of a table is one of its views.
    pub(crate) fn is_attribute(name: &str) -> bool {
        name.starts_with(ATTRIBUTE)
    }

    /// The view of this name among those of a table.
    pub(crate) fn of(table: &TableDescriptor, name: &TableName) -> Result<Option<Self>, SqlError> {
        table.attributes.get(&Self::attribute(name)).map(|text| Self::read(text)).transpose()
    }

    /// All views of a table.
    pub(crate) fn all(table: &TableDescriptor) -> Result<Vec<Self>, SqlError> {
        let views = table.attributes.iter().filter(|(name, _)| Self::is_attribute(name));
        views.map(|(_, text)| Self::read(text)).collect()
    }

    fn read(text: &str) -> Result<Self, SqlError> {
        serde_json::from_str(text)
            .map_err(|error| SqlError::internal(format!("a stored view cannot be read: {error}")))
    }

    /// Stores the view with its table.
    pub(crate) fn put(&self, table: &mut TableDescriptor) -> Result<(), SqlError> {
        let text = serde_json::to_string(self)
            .map_err(|error| SqlError::internal(format!("a view cannot be stored: {error}")))?;
        table.attributes.insert(Self::attribute(&self.name), text);
        Ok(())
    }

    /// Takes the view off its table.
    pub(crate) fn remove(&self, table: &mut TableDescriptor) {
        table.attributes.remove(&Self::attribute(&self.name));
    }

    /// The condition, parsed.
    pub(crate) fn parsed_condition(&self) -> Result<Option<Expr>, SqlError> {
        self.condition.as_deref().map(dialect::parse_condition).transpose()
    }
}

/// The table that has a view of this name, and the view.
pub(crate) fn find(
    database: &Database,
    name: &TableName,
) -> Result<Option<(TableId, Arc<TableDescriptor>, View)>, SqlError> {
    for (id, table) in database.tables() {
        if let Some(view) = View::of(&table, name)? {
            return Ok(Some((id, table, view)));
        }
    }
    Ok(None)
}

/// A view with the columns and conditions of everything below it.
pub(crate) fn relation(id: TableId, table: &TableDescriptor, view: View) -> Result<Relation, SqlError> {
    let name = view.name.clone();
    let mut chain = vec![view];
    while let Some(parent) = chain.last().and_then(|view| view.parent.clone()) {
        let missing = || SqlError::internal(format!("view {parent}, which {name} is over, is not there"));
        chain.push(View::of(table, &parent)?.ok_or_else(missing)?);
    }
    let mapped = chain.last().and_then(|view| view.mapped.clone());
    let is_mapped = mapped.is_some();
    let mut schema = match mapped.or_else(|| table.schema.clone()) {
        Some(schema) => schema,
        None => return Err(super::without_columns(&table.name)),
    };
    let (mut condition, mut constants) = (None, (!is_mapped).then(Vec::new));
    for view in chain.iter().rev() {
        if let Some(inherited) = &view.inherited {
            hide(&mut schema, inherited)?;
        }
        for column in &view.columns {
            schema.declared.push(basalt_model::ColumnRef::Column(schema.columns.len()));
            schema.columns.push(column.clone());
        }
        if let Some(own) = view.parsed_condition()? {
            constants = constants.zip(constants_of(&own)).map(|(all, own)| [all, own].concat());
            condition = Some(and(condition, own));
        }
    }
    // Of a column that has two values there is no row in the view: none can be written through it.
    let constants = constants.filter(|all| !contradict(all));
    let descriptor = TableDescriptor { schema: Some(schema), ..table.clone() };
    let rules = ViewRules { condition, constants };
    Ok(Relation { id, descriptor: Arc::new(descriptor), view: Some((name, Arc::new(rules))) })
}

/// Takes out all columns that are not in the key nor in the list.
fn hide(schema: &mut TableSchema, kept: &[(String, String)]) -> Result<(), SqlError> {
    for index in (0..schema.columns.len()).rev() {
        let column = &schema.columns[index];
        if !kept.iter().any(|(family, name)| *family == column.family && *name == column.name) {
            let dropped = schema.drop_column(basalt_model::ColumnRef::Column(index));
            dropped.map_err(|error| SqlError::internal(error.to_string()))?;
        }
    }
    Ok(())
}

/// Both conditions; the second one if there is no first.
pub(crate) fn and(left: Option<Expr>, right: Expr) -> Expr {
    let nested = |expr| Box::new(Expr::Nested(Box::new(expr)));
    match left {
        None => right,
        Some(left) => Expr::BinaryOp { left: nested(left), op: BinaryOperator::And, right: nested(right) },
    }
}

/// The columns that a condition fixes, if it does nothing else.
fn constants_of(condition: &Expr) -> Option<Vec<(Name, Expr)>> {
    match condition {
        Expr::Nested(inner) => constants_of(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            Some([constants_of(left)?, constants_of(right)?].concat())
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            let (left, right) = if is_literal(left) { (right, left) } else { (left, right) };
            let name = match left.as_ref() {
                Expr::Identifier(name) => Name { schema: None, name: name.value.clone() },
                Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [family, name] => Name { schema: Some(family.value.clone()), name: name.value.clone() },
                    _ => return None,
                },
                _ => return None,
            };
            is_literal(right).then(|| vec![(name, right.as_ref().clone())])
        }
        _ => None,
    }
}

/// True if two values are given to one column.
fn contradict(constants: &[(Name, Expr)]) -> bool {
    let others = |at: usize| constants[at + 1..].iter();
    constants.iter().enumerate().any(|(at, (name, value))| {
        others(at).any(|(other, theirs)| name.name == other.name && value.to_string() != theirs.to_string())
    })
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => !matches!(value.value, Value::Null | Value::Placeholder(_)),
        Expr::TypedString(_) => true,
        Expr::UnaryOp { expr, .. } => is_literal(expr),
        _ => false,
    }
}

/// The error of a write to a view that takes none.
pub(crate) fn read_only(name: &TableName) -> SqlError {
    SqlError::coded(
        code::READ_ONLY,
        format!(
            "view {name} cannot be changed: that takes a condition of the form column = literal AND ..; use the table"
        ),
    )
}
