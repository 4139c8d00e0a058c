// SPDX-License-Identifier: Apache-2.0
//! An index as a query sees it: which values of the table it has, and conditions on the table in terms of these.
//!
//! ```text
//! index ON T (A, UPPER(B)) INCLUDE (C), A an INTEGER that may be NULL
//!
//! A = 5           "0:A?" = 1 AND "0:A" = 5            a range of the index's key
//! A IS NULL       "0:A?" = 0
//! UPPER(B) = 'X'  "UPPER(B)" = 'X'
//! A + C > 7       CASE WHEN "0:A?" = 1 THEN "0:A" END + "0:C" > 7
//! D = 1           not to be said
//! ```
//!
//! The rule: what is said of an index row is true exactly where the condition is true of the row. A comparison
//! with a column that has a presence may also look at the presence, because it is not true of NULL.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use basalt_model::index::IndexSource;
use basalt_model::{ColumnRef, IndexState, TableId};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, TableReference};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Case, InList, Like};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, Operator};
use datafusion::scalar::ScalarValue;

use super::expires;
use crate::catalog::Relation;
use crate::dialect;
use crate::error::SqlError;
use crate::keys::{self, KeyAccess};
use crate::plan::{Planning, resolve_families};
use crate::scan::BasaltTable;

/// An index of a table in the statement's snapshot.
#[derive(Debug)]
pub(crate) struct Usable {
    /// The index as a table.
    pub(crate) table: Arc<BasaltTable>,
    /// Why it cannot be read now.
    pub(crate) unreadable: Option<Cow<'static, str>>,
    /// Rows have to be read from the table, whatever the index has: its rows may outlive their values.
    pub(crate) is_loose: bool,
    /// Columns of the table that the index has, by name.
    columns: HashMap<String, Place>,
    /// Indexed expressions.
    expressions: Vec<(Expr, Place)>,
    /// What is true of all rows that have an index row.
    condition: Vec<Expr>,
}

/// Where the index has a value.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Its column.
    pub(crate) column: String,
    /// The column that says whether there is a value.
    pub(crate) presence: Option<String>,
}

/// The indexes of a table, by age.
pub(crate) fn usable(planning: &Planning, table: &Arc<BasaltTable>) -> Result<Vec<Usable>, SqlError> {
    let indexes = planning.snapshot.indexes(table.id);
    let mut usable = vec![];
    for (id, descriptor) in indexes {
        let Some(index) = &descriptor.index else { continue };
        let relation = Relation { id, descriptor: Arc::clone(&descriptor), view: None };
        let database = planning.engine.database();
        let own =
            BasaltTable::new(database, planning.snapshot.clone(), relation, Arc::clone(&planning.progress));
        let Some(own) = own else { continue };
        let unreadable = unreadable(planning, id, index.state);
        let mut found = Usable {
            table: Arc::new(own),
            unreadable,
            is_loose: expires(&table.descriptor),
            columns: HashMap::new(),
            expressions: vec![],
            condition: vec![],
        };
        match found.fill(planning, table, index) {
            // Columns of a view that the table does not know.
            Err(_) if found.unreadable.is_none() => {
                found.unreadable = Some("it is of columns of a view".into())
            }
            _ => {}
        }
        usable.push(found);
    }
    Ok(usable)
}

/// Why an index in this state cannot be read.
fn unreadable(planning: &Planning, index: TableId, state: IndexState) -> Option<Cow<'static, str>> {
    let failure = match state {
        IndexState::Active | IndexState::Unusable => None,
        _ => planning.engine.builders().failure(index),
    };
    Some(match (state, failure) {
        (IndexState::Active, _) => return None,
        (IndexState::Unusable, _) => "it is UNUSABLE".into(),
        (IndexState::Building | IndexState::Outdated, None) => "it is being built".into(),
        (IndexState::Disabled, None) => "it is DISABLED".into(),
        (_, Some(failure)) => format!("its build failed: {failure}").into(),
    })
}

impl Usable {
    /// What EXPLAIN calls it.
    pub(crate) fn name(&self) -> &str {
        &self.table.descriptor.name.name
    }

    fn fill(
        &mut self,
        planning: &Planning,
        table: &Arc<BasaltTable>,
        index: &basalt_model::IndexDescriptor,
    ) -> Result<(), SqlError> {
        let schema = table.table_schema();
        let display = |family: Option<&str>, name: &str| {
            let column = match family {
                None => schema.key.iter().position(|key| key.name == name).map(ColumnRef::Key),
                Some(family) => schema.find(Some(family), name).ok(),
            };
            column.map(|column| schema.display_name(column))
        };
        let missing = || SqlError::internal("an indexed column is not in the relation");
        for part in &index.parts {
            let place = Place { column: part.column.clone(), presence: part.presence.clone() };
            match &part.source {
                IndexSource::Column(family, name) => {
                    let name = display(family.as_deref(), name).ok_or_else(missing)?;
                    self.columns.insert(name, place);
                }
                IndexSource::Expression(text) => {
                    self.expressions.push((normal(planning, table, text)?, place));
                }
            }
        }
        for copy in &index.copies {
            if let Some(name) = display(copy.family.as_deref(), &copy.name) {
                self.columns.insert(name, Place { column: copy.column.clone(), presence: None });
            }
        }
        if let Some(text) = &index.condition {
            self.condition = split_conjunction_owned(normal(planning, table, text)?);
        }
        Ok(())
    }

    /// Where the index has a column of the table.
    pub(crate) fn place(&self, column: &str) -> Option<&Place> {
        self.columns.get(column)
    }

    /// How many columns of the index's key hold the first indexed value.
    pub(crate) fn leading(&self) -> usize {
        let index = self.table.descriptor.index.as_ref();
        let first = index.and_then(|index| index.parts.first());
        first.map_or(1, |part| 1 + usize::from(part.presence.is_some()))
    }

    /// True if the column of the index says whether another one has a value.
    pub(crate) fn is_presence(&self, column: &str) -> bool {
        let index = self.table.descriptor.index.as_ref();
        index.is_some_and(|index| index.parts.iter().any(|part| part.presence.as_deref() == Some(column)))
    }

    /// True if every row that satisfies `filters` has an index row.
    pub(crate) fn has_all(&self, filters: &[Expr]) -> bool {
        self.condition.iter().all(|condition| filters.contains(condition))
    }

    /// True of a condition that holds for every row that has an index row: what the index's own WHERE says.
    pub(crate) fn implies(&self, filter: &Expr) -> bool {
        self.condition.contains(filter)
    }

    /// The part of the index that these conditions on rows of the table leave.
    pub(crate) fn access(&self, filters: &[Expr]) -> KeyAccess {
        let said: Vec<Expr> = filters.iter().filter_map(|filter| self.condition(filter)).collect();
        keys::access(self.table.table_schema(), &said)
    }

    /// A condition on rows of the table as one on rows of the index.
    pub(crate) fn condition(&self, filter: &Expr) -> Option<Expr> {
        if let Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) = filter
        {
            let (left, right) = (self.condition(left)?, self.condition(right)?);
            return Some(if *op == Operator::And { left.and(right) } else { left.or(right) });
        }
        match filter {
            // A value that ended by itself is NULL, and no index row says so.
            _ if self.is_loose => {}
            Expr::IsNull(inner) => match self.direct(inner) {
                Some(Place { presence: Some(presence), .. }) => return Some(is_present(presence, false)),
                Some(place) => return Some(Expr::IsNull(Box::new(column(&place.column)))),
                None => {}
            },
            Expr::IsNotNull(inner) => match self.direct(inner) {
                Some(Place { presence: Some(presence), .. }) => return Some(is_present(presence, true)),
                Some(place) => return Some(Expr::IsNotNull(Box::new(column(&place.column)))),
                None => {}
            },
            _ => {}
        }
        let other = || if self.is_loose { None } else { self.value(filter) };
        self.comparison(filter).or_else(other)
    }

    /// A comparison of an indexed value with literals.
    fn comparison(&self, filter: &Expr) -> Option<Expr> {
        let (operand, others): (&Expr, Vec<&Expr>) = match filter {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
                match (left.as_ref(), right.as_ref()) {
                    (operand, other @ Expr::Literal(..)) | (other @ Expr::Literal(..), operand) => {
                        (operand, vec![other])
                    }
                    _ => return None,
                }
            }
            Expr::InList(InList { expr, list, .. }) => (expr, list.iter().collect()),
            Expr::Between(Between { expr, low, high, .. }) => (expr, vec![low, high]),
            Expr::Like(Like { expr, pattern, .. }) => (expr, vec![pattern]),
            Expr::Column(_) => (filter, vec![]),
            Expr::Not(inner) if matches!(inner.as_ref(), Expr::Column(_)) => (inner, vec![]),
            _ => return None,
        };
        if !others.iter().all(|other| matches!(other, Expr::Literal(..))) {
            return None;
        }
        let place = self.direct(operand)?.clone();
        let of_index = column(&place.column);
        let wanted = self.table.arrow_schema().field_with_name(&place.column).ok()?.data_type().clone();
        let replaced = filter.clone().transform_down(|expr| {
            Ok(match &expr {
                _ if expr == *operand => Transformed::new(of_index.clone(), true, TreeNodeRecursion::Jump),
                // An expression may be of another type of text than the column that holds it.
                Expr::Literal(value, metadata) if is_text(&value.data_type()) && is_text(&wanted) => {
                    let value = value.cast_to(&wanted)?;
                    Transformed::yes(Expr::Literal(value, metadata.clone()))
                }
                _ => Transformed::no(expr),
            })
        });
        let replaced = replaced.ok()?.data;
        Some(match &place.presence {
            Some(presence) => is_present(presence, true).and(replaced),
            None => replaced,
        })
    }

    /// Where the index has the value of an expression.
    fn direct(&self, expr: &Expr) -> Option<&Place> {
        let bare = unqualified(expr.clone());
        if let Some((_, place)) = self.expressions.iter().find(|(known, _)| *known == bare) {
            return Some(place);
        }
        match expr {
            Expr::Column(column) => self.columns.get(&column.name),
            _ => None,
        }
    }

    /// Any expression, computed from what the index has.
    fn value(&self, expr: &Expr) -> Option<Expr> {
        let mut lacking = false;
        let replaced = expr.clone().transform_down(|expr| {
            let Expr::Column(name) = &expr else { return Ok(Transformed::no(expr)) };
            Ok(match self.columns.get(&name.name) {
                Some(place) => Transformed::new(present_value(place), true, TreeNodeRecursion::Jump),
                None => {
                    lacking = true;
                    Transformed::no(expr)
                }
            })
        });
        replaced.ok().filter(|_| !lacking).map(|replaced| replaced.data)
    }
}

/// An expression over the table as it stands in filters.
fn normal(planning: &Planning, table: &Arc<BasaltTable>, text: &str) -> Result<Expr, SqlError> {
    let mut expr = dialect::parse_condition(text)?;
    resolve_families(&mut expr, table);
    let reference = TableReference::bare(table.relation_name().name.as_str());
    let schema = DFSchema::try_from_qualified_schema(reference, table.arrow_schema())?;
    let planned = planning.expression(expr, &schema)?;
    Ok(unqualified(planning.simplified(planned, &schema)?))
}

/// Without the names of tables before those of columns.
pub(crate) fn unqualified(expr: Expr) -> Expr {
    let strip = |expr: Expr| {
        Ok(match expr {
            Expr::Column(Column { relation: Some(_), name, .. }) => {
                Transformed::yes(Expr::Column(Column::new_unqualified(name)))
            }
            other => Transformed::no(other),
        })
    };
    let kept = expr.clone();
    expr.transform(strip).map_or(kept, |stripped| stripped.data)
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

fn is_present(presence: &str, present: bool) -> Expr {
    column(presence).eq(Expr::Literal(ScalarValue::Int8(Some(i8::from(present))), None))
}

fn present_value(place: &Place) -> Expr {
    match &place.presence {
        None => column(&place.column),
        Some(presence) => {
            let branch = (Box::new(is_present(presence, true)), Box::new(column(&place.column)));
            Expr::Case(Case { expr: None, when_then_expr: vec![branch], else_expr: None })
        }
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn is_text(data_type: &datafusion::arrow::datatypes::DataType) -> bool {
    use datafusion::arrow::datatypes::DataType::{LargeUtf8, Utf8, Utf8View};
    matches!(data_type, Utf8 | Utf8View | LargeUtf8)
}
