// SPDX-License-Identifier: Apache-2.0
//! What stored columns can answer of a condition: from DataFusion's expressions to [`Predicate`]s.
//!
//! A predicate holds exactly where the condition is true; NULL counts as false. What has no form as a predicate is left
//! out, so that the predicate is weaker than the condition, and said to be so.

use std::ops::Bound;
use std::sync::Arc;

use basalt_hfile::predicate::{Operand, Predicate, ValueRange};
use basalt_hfile::typed::arrow_type;
use basalt_model::types::Decimal;
use basalt_model::{ColumnRef, SqlType, TableSchema};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
    NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::join_keys::AmongKeys;

/// A predicate, and whether it is all of the condition.
#[derive(Debug, Clone)]
pub(super) struct Compiled {
    pub(super) predicate: Predicate,
    pub(super) is_exact: bool,
}

/// The predicate of a condition whose columns are these of a table.
pub(super) fn compile(
    condition: &Arc<dyn PhysicalExpr>,
    columns: &[ColumnRef],
    table: &TableSchema,
) -> Compiled {
    let mut compiler = Compiler { columns, table, is_exact: true };
    let predicate = compiler.condition(condition, false);
    Compiled { predicate, is_exact: compiler.is_exact }
}

struct Compiler<'a> {
    columns: &'a [ColumnRef],
    table: &'a TableSchema,
    is_exact: bool,
}

/// Never true.
const NEVER: Predicate = Predicate::Any(Vec::new());

impl Compiler<'_> {
    /// The predicate of a condition, or of its negation.
    fn condition(&mut self, expr: &Arc<dyn PhysicalExpr>, negated: bool) -> Predicate {
        match self.known(expr, negated) {
            Some(predicate) => predicate,
            None => {
                self.is_exact = false;
                Predicate::ALWAYS
            }
        }
    }

    fn known(&mut self, expr: &Arc<dyn PhysicalExpr>, negated: bool) -> Option<Predicate> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.binary(binary, negated);
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Some(self.condition(not.arg(), !negated));
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return self.in_list(list, negated);
        }
        if let Some(like) = expr.downcast_ref::<LikeExpr>() {
            return self.like(like, negated);
        }
        if let Some(among) = expr.downcast_ref::<AmongKeys>().filter(|_| !negated) {
            return Some(Predicate::Among(self.column(among.column())?, Arc::clone(among.keys())));
        }
        let null_test = |arg, is_null: bool| {
            let column = self.column(arg)?;
            Some(if is_null != negated { Predicate::Null(column) } else { Predicate::not_null(column) })
        };
        if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
            return null_test(test.arg(), true);
        }
        if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
            return null_test(test.arg(), false);
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return match literal.value() {
                ScalarValue::Boolean(Some(value)) if *value != negated => Some(Predicate::ALWAYS),
                ScalarValue::Boolean(_) | ScalarValue::Null => Some(NEVER),
                _ => None,
            };
        }
        if let Some(filter) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
            return Some(self.condition(&filter.current().ok()?, negated));
        }
        let column = self.column(expr)?;
        let wanted = Operand::Integer(i64::from(!negated));
        (self.table.sql_type(column) == SqlType::Boolean)
            .then(|| Predicate::Within(column, vec![ValueRange::point(wanted)]))
    }

    fn binary(&mut self, binary: &BinaryExpr, negated: bool) -> Option<Predicate> {
        let (left, right) = (binary.left(), binary.right());
        let op = *binary.op();
        if matches!(op, Operator::And | Operator::Or) {
            let (left, right) = (self.condition(left, negated), self.condition(right, negated));
            let conjunction = (op == Operator::And) != negated;
            return Some(if conjunction { left.and(right) } else { left.or(right) });
        }
        let op = if negated { op.negate()? } else { op };
        let (column, op, literal) = match (self.column(left), self.column(right)) {
            (Some(column), None) => (column, op, right),
            (None, Some(column)) => (column, op.swap()?, left),
            _ => return None,
        };
        let literal = literal.downcast_ref::<Literal>()?.value();
        if literal.is_null() {
            return comparison(op).then_some(NEVER);
        }
        let value = self.operand(column, literal)?;
        let from = |low, high| ValueRange { low, high };
        let is_char = matches!(self.table.sql_type(column), SqlType::Char(_));
        let ranges = match op {
            Operator::Eq => vec![ValueRange::point(value)],
            Operator::NotEq => vec![
                from(Bound::Unbounded, Bound::Excluded(value.clone())),
                from(Bound::Excluded(value), Bound::Unbounded),
            ],
            // Blanks at the end make stored texts sort otherwise than texts without them.
            _ if is_char => return None,
            Operator::Lt => vec![from(Bound::Unbounded, Bound::Excluded(value))],
            Operator::LtEq => vec![from(Bound::Unbounded, Bound::Included(value))],
            Operator::Gt => vec![from(Bound::Excluded(value), Bound::Unbounded)],
            Operator::GtEq => vec![from(Bound::Included(value), Bound::Unbounded)],
            _ => return None,
        };
        Some(Predicate::Within(column, ranges))
    }

    fn in_list(&mut self, list: &InListExpr, negated: bool) -> Option<Predicate> {
        let literals = list.list().iter().map(|item| Some(item.downcast_ref::<Literal>()?.value()));
        let literals: Vec<&ScalarValue> = literals.collect::<Option<_>>()?;
        if let Some(row) = list.expr().downcast_ref::<ScalarFunctionExpr>() {
            let wanted = row.name() == "struct" && list.negated() == negated;
            return wanted.then(|| self.in_rows(row.args(), &literals)).flatten();
        }
        let column = self.column(list.expr())?;
        let nulls = literals.iter().any(|literal| literal.is_null());
        let values = literals.iter().filter(|literal| !literal.is_null());
        let points: Vec<ValueRange> = values
            .map(|literal| self.operand(column, literal).map(ValueRange::point))
            .collect::<Option<_>>()?;
        if list.negated() == negated {
            return Some(Predicate::Within(column, points));
        }
        if nulls {
            return Some(NEVER);
        }
        let others = points.into_iter().map(|point| {
            let ValueRange { low, high } = point;
            let (Bound::Included(below), Bound::Included(above)) = (low, high) else { return NEVER };
            let ranges = vec![
                ValueRange { low: Bound::Unbounded, high: Bound::Excluded(below) },
                ValueRange { low: Bound::Excluded(above), high: Bound::Unbounded },
            ];
            Predicate::Within(column, ranges)
        });
        let mut parts = vec![Predicate::not_null(column)];
        parts.extend(others);
        Some(Predicate::All(parts))
    }

    /// Several columns among rows of values, as joins say it: each column among its values of all rows, which is less.
    fn in_rows(&mut self, columns: &[Arc<dyn PhysicalExpr>], rows: &[&ScalarValue]) -> Option<Predicate> {
        self.is_exact = false;
        let one = |(at, expr): (usize, &Arc<dyn PhysicalExpr>)| {
            let column = self.column(expr)?;
            let point = |row: &&ScalarValue| {
                let ScalarValue::Struct(values) = row else { return None };
                let value = ScalarValue::try_from_array(values.columns().get(at)?, 0).ok()?;
                // A row with a NULL has no partner.
                if value.is_null() {
                    return Some(None);
                }
                self.operand(column, &value).map(|value| Some(ValueRange::point(value)))
            };
            let points: Vec<Option<ValueRange>> = rows.iter().map(point).collect::<Option<_>>()?;
            Some(Predicate::Within(column, points.into_iter().flatten().collect()))
        };
        Some(all(columns.iter().enumerate().filter_map(one).collect()))
    }

    /// The texts that begin as the pattern does, up to its first wildcard.
    fn like(&mut self, like: &LikeExpr, negated: bool) -> Option<Predicate> {
        let column = self.column(like.expr())?;
        let text = matches!(self.table.sql_type(column), SqlType::Varchar(_));
        if !text || like.negated() != negated || like.case_insensitive() {
            return None;
        }
        let pattern = like.pattern().downcast_ref::<Literal>()?.value();
        let pattern = pattern.try_as_str().flatten()?;
        if pattern.contains('\\') {
            return None;
        }
        let (prefix, rest) = pattern.split_at(pattern.find(['%', '_']).unwrap_or(pattern.len()));
        if rest.is_empty() {
            let value = Operand::Text(prefix.as_bytes().to_vec());
            return Some(Predicate::Within(column, vec![ValueRange::point(value)]));
        }
        self.is_exact &= rest.bytes().all(|byte| byte == b'%');
        let Some((last, front)) = prefix.as_bytes().split_last() else {
            return Some(Predicate::not_null(column));
        };
        // The last byte of a text is below ff.
        let behind = [front, &[last + 1]].concat();
        let low = Bound::Included(Operand::Text(prefix.as_bytes().to_vec()));
        let high = Bound::Excluded(Operand::Text(behind));
        Some(Predicate::Within(column, vec![ValueRange { low, high }]))
    }

    /// A column whose values are those that are stored: not one whose missing cells stand for a default.
    fn column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<ColumnRef> {
        let column = *self.columns.get(expr.downcast_ref::<Column>()?.index())?;
        match column {
            ColumnRef::Column(index) if self.table.columns[index].default_value.is_some() => None,
            column => Some(column),
        }
    }

    /// A literal as the column stores it.
    fn operand(&self, column: ColumnRef, literal: &ScalarValue) -> Option<Operand> {
        let sql_type = self.table.sql_type(column);
        let same = match literal.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            other => other,
        };
        match (sql_type, literal) {
            // What a DECIMAL without scale shows may have fewer digits than what is stored.
            (SqlType::Decimal(None), _) => None,
            (SqlType::Decimal(Some(_)), ScalarValue::Decimal128(Some(digits), _, scale)) => {
                Some(Operand::Decimal(Decimal::new(*digits, i32::from(*scale))))
            }
            _ if same != arrow_type(sql_type) => None,
            (_, ScalarValue::Boolean(Some(value))) => Some(Operand::Integer(i64::from(*value))),
            (_, ScalarValue::Int8(Some(value))) => Some(Operand::Integer(i64::from(*value))),
            (_, ScalarValue::Int16(Some(value))) => Some(Operand::Integer(i64::from(*value))),
            (_, ScalarValue::Int32(Some(value))) => Some(Operand::Integer(i64::from(*value))),
            (
                _,
                ScalarValue::Int64(Some(value))
                | ScalarValue::TimestampMillisecond(Some(value), None)
                | ScalarValue::TimestampNanosecond(Some(value), None),
            ) => Some(Operand::Integer(*value)),
            (_, ScalarValue::Float32(Some(value))) => Some(Operand::Float(f64::from(*value))),
            (_, ScalarValue::Float64(Some(value))) => Some(Operand::Float(*value)),
            (SqlType::Varchar(_), _) => Some(Operand::Text(literal.try_as_str()??.into())),
            (SqlType::Char(_), _) => {
                let text = literal.try_as_str()??;
                let width = sql_type.fixed_width()?;
                // A text with blanks at its end, or too long a one, equals none that is read.
                (text.len() <= width && !text.ends_with(' '))
                    .then(|| Operand::Text(format!("{text:<width$}").into()))
            }
            _ => None,
        }
    }
}

fn comparison(op: Operator) -> bool {
    use Operator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// A conjunction of parts that may be conjunctions themselves.
fn all(parts: Vec<Predicate>) -> Predicate {
    parts.into_iter().fold(Predicate::ALWAYS, Predicate::and)
}
