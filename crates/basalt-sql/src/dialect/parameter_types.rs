// SPDX-License-Identifier: Apache-2.0
//! What stands beside a parameter tells its type, for clients that ask before they give values: the column that it is compared with,
//! added to or written into. A parameter beside nothing that is known has no type.

use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use basalt_model::SqlType;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, LimitClause, ObjectName, Query, Value as Literal, VisitorMut,
};

use super::parameters::{parameter, visit};
use super::statement::{Name, OnDuplicate, Statement, UpsertSource};

/// The tables that a statement names, without those that it changes.
pub(crate) fn relations(statement: &mut Statement) -> Vec<Name> {
    struct Relations(Vec<Name>);
    impl VisitorMut for Relations {
        type Break = Infallible;

        fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Infallible> {
            let mut parts: Vec<String> = relation
                .0
                .iter()
                .filter_map(|part| part.as_ident())
                .map(|ident| ident.value.clone())
                .collect();
            if let Some(name) = parts.pop() {
                self.0.push(Name { schema: parts.pop(), name });
            }
            ControlFlow::Continue(())
        }
    }
    let mut relations = Relations(vec![]);
    let _ = visit(statement, &mut relations);
    relations.0
}

/// The types of so many parameters. `columns` are those of all tables of the statement, by name; `written` those that an UPSERT gives values.
pub(crate) fn parameter_types(
    statement: &mut Statement,
    count: usize,
    columns: &HashMap<String, SqlType>,
    written: &[Option<SqlType>],
) -> Vec<Option<SqlType>> {
    let mut typer = Typer { columns, found: vec![None; count] };
    let assigned = match &*statement {
        Statement::Upsert(upsert) => {
            if let UpsertSource::Values(rows) = &upsert.source {
                for row in rows {
                    row.iter().zip(written).for_each(|(value, sql_type)| typer.note(value, *sql_type));
                }
            }
            match &upsert.on_duplicate {
                Some(OnDuplicate::Update(assignments) | OnDuplicate::UpdateOnly(assignments)) => {
                    &assignments[..]
                }
                _ => &[],
            }
        }
        Statement::Update(update) => &update.assignments,
        _ => &[],
    };
    for (name, value) in assigned {
        typer.note(value, columns.get(&name.name).copied());
    }
    let _ = visit(statement, &mut typer);
    typer.found
}

struct Typer<'a> {
    columns: &'a HashMap<String, SqlType>,
    found: Vec<Option<SqlType>>,
}

impl Typer<'_> {
    /// The first thing that is known of a parameter counts.
    fn note(&mut self, expr: &Expr, sql_type: Option<SqlType>) {
        if let Some(Ok(number)) = parameter(expr)
            && let Some(found) = self.found.get_mut(number - 1)
        {
            *found = found.or(sql_type);
        }
    }

    fn of(&self, expr: &Expr) -> Option<SqlType> {
        match expr {
            Expr::Identifier(name) => self.columns.get(&name.value).copied(),
            Expr::CompoundIdentifier(parts) => self.columns.get(&parts.last()?.value).copied(),
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => self.of(inner),
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) => {
                self.of(left).or_else(|| self.of(right))
            }
            Expr::Value(value) => match &value.value {
                Literal::Number(digits, _) if digits.contains('.') => Some(SqlType::Decimal(None)),
                Literal::Number(..) => Some(SqlType::BigInt),
                Literal::SingleQuotedString(_) => Some(SqlType::Varchar(None)),
                Literal::Boolean(_) => Some(SqlType::Boolean),
                _ => None,
            },
            _ => None,
        }
    }

    /// Two expressions of one type, or two rows of such.
    fn alike(&mut self, one: &Expr, other: &Expr) {
        if let (Expr::Tuple(left), Expr::Tuple(right)) = (one, other) {
            left.iter().zip(right).for_each(|(left, right)| self.alike(left, right));
            return;
        }
        self.note(one, self.of(other));
        self.note(other, self.of(one));
    }
}

impl VisitorMut for Typer<'_> {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match &*expr {
            Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
                self.note(left, Some(SqlType::Varchar(None)));
                self.note(right, Some(SqlType::Varchar(None)));
            }
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) || is_comparison(op) => {
                self.alike(left, right);
            }
            Expr::InList { expr, list, .. } => list.iter().for_each(|item| self.alike(expr, item)),
            Expr::Between { expr, low, high, .. } => {
                self.alike(expr, low);
                self.alike(expr, high);
            }
            Expr::Like { expr, pattern, .. } | Expr::ILike { expr, pattern, .. } => {
                self.note(expr, Some(SqlType::Varchar(None)));
                self.note(pattern, Some(SqlType::Varchar(None)));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            let offset = offset.as_ref().map(|offset| &offset.value);
            limit.iter().chain(offset).for_each(|count| self.note(count, Some(SqlType::BigInt)));
        }
        ControlFlow::Continue(())
    }
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | Modulo)
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}
