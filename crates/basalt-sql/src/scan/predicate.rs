// SPDX-License-Identifier: Apache-2.0
//! What stored columns can answer of a condition: from DataFusion's expressions to [`Predicate`]s.
//!
//! A predicate holds exactly where the condition is true; NULL counts as false. What has no form as a predicate is left
//! out, so that the predicate is weaker than the condition, and said to be so.

use std::ops::Bound;
use std::sync::Arc;

use basalt_hfile::predicate::{Operand, Predicate, ValueRange};
use basalt_hfile::typed::{DECIMAL_DEFAULT, arrow_type};
use basalt_model::types::Decimal;
use basalt_model::{ColumnRef, SqlType, TableSchema};
use datafusion::arrow::datatypes::{DataType, i256};
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
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>().filter(|binary| is_junction(*binary.op())) {
            return Some(self.junction(binary, negated));
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Some(self.condition(not.arg(), !negated));
        }
        if let Some(filter) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
            return Some(self.condition(&filter.current().ok()?, negated));
        }
        let stored = self.of_stored(expr, negated)?;
        Some(self.with_defaults(stored))
    }

    fn junction(&mut self, junction: &BinaryExpr, negated: bool) -> Predicate {
        let left = self.condition(junction.left(), negated);
        let right = self.condition(junction.right(), negated);
        let conjunction = (*junction.op() == Operator::And) != negated;
        if conjunction { left.and(right) } else { left.or(right) }
    }

    /// Rows whose value is missing pass, where that stands for a default.
    fn with_defaults(&mut self, predicate: Predicate) -> Predicate {
        let mut with = vec![];
        predicate.columns(&mut |column| {
            let has_default =
                matches!(column, ColumnRef::Column(at) if self.table.columns[at].default_value.is_some());
            if has_default && !with.contains(&column) {
                with.push(column);
            }
        });
        self.is_exact &= with.is_empty();
        with.into_iter().fold(predicate, |predicate, column| predicate.or(Predicate::Null(column)))
    }

    /// What a condition that is no conjunction nor disjunction says of stored values.
    fn of_stored(&mut self, expr: &Arc<dyn PhysicalExpr>, negated: bool) -> Option<Predicate> {
        if let Some(comparison) = expr.downcast_ref::<BinaryExpr>() {
            return self.comparison(comparison, negated);
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
        let column = self.column(expr)?;
        let wanted = Operand::Integer(i64::from(!negated));
        (self.table.sql_type(column) == SqlType::Boolean)
            .then(|| Predicate::Within(column, vec![ValueRange::point(wanted)]))
    }

    fn comparison(&mut self, comparison: &BinaryExpr, negated: bool) -> Option<Predicate> {
        let (left, right) = (comparison.left(), comparison.right());
        let op = *comparison.op();
        let op = if negated { op.negate()? } else { op };
        let (column, op, literal) = match (self.column(left), self.column(right)) {
            (Some(column), None) => (column, op, right),
            (None, Some(column)) => (column, op.swap()?, left),
            _ => return None,
        };
        let literal = literal.downcast_ref::<Literal>()?.value();
        if literal.is_null() {
            return is_comparison(op).then_some(NEVER);
        }
        let range = |low, high| Some(Predicate::Within(column, vec![ValueRange { low, high }]));
        match op {
            Operator::Eq => {
                let about = self.equal(column, literal)?;
                Some(Predicate::Within(column, vec![self.seen(about).range()]))
            }
            Operator::NotEq => {
                let about = self.equal(column, literal)?;
                Some(self.seen(about).others(column))
            }
            Operator::Lt => {
                let about = self.ordered(column, literal)?;
                range(Bound::Unbounded, self.seen(about).end(About::high))
            }
            Operator::LtEq => {
                let about = self.ordered(column, literal)?;
                range(Bound::Unbounded, Bound::Included(self.seen(about).high))
            }
            Operator::Gt => {
                let about = self.ordered(column, literal)?;
                range(self.seen(about).end(About::low), Bound::Unbounded)
            }
            Operator::GtEq => {
                let about = self.ordered(column, literal)?;
                range(Bound::Included(self.seen(about).low), Bound::Unbounded)
            }
            _ => None,
        }
    }

    /// Notes whether it is known where the literal lies.
    fn seen(&mut self, about: About) -> About {
        self.is_exact &= about.is_exact;
        about
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
        let points: Vec<About> = values.map(|literal| self.equal(column, literal)).collect::<Option<_>>()?;
        self.is_exact &= points.iter().all(|about| about.is_exact);
        if list.negated() == negated {
            return Some(Predicate::Within(column, points.into_iter().map(About::range).collect()));
        }
        if nulls {
            return Some(NEVER);
        }
        let others = points.into_iter().map(|about| about.others(column));
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
                self.equal(column, &value).map(|about| Some(about.range()))
            };
            let points: Vec<Option<ValueRange>> = rows.iter().map(point).collect::<Option<_>>()?;
            Some(Predicate::Within(column, points.into_iter().flatten().collect()))
        };
        Some(all(columns.iter().enumerate().filter_map(one).collect()))
    }

    /// The texts that begin as the pattern does, up to its first wildcard.
    fn like(&mut self, like: &LikeExpr, negated: bool) -> Option<Predicate> {
        let column = self.column(like.expr())?;
        let sql_type = self.table.sql_type(column);
        let is_text = matches!(sql_type, SqlType::Varchar(_) | SqlType::Char(_));
        if !is_text || like.case_insensitive() {
            return None;
        }
        let is_wanted = like.negated() == negated;
        let literal = like.pattern().downcast_ref::<Literal>()?.value();
        let pattern = literal.try_as_str().flatten()?;
        if pattern.contains('\\') {
            return None;
        }
        let (prefix, rest) = pattern.split_at(pattern.find(['%', '_']).unwrap_or(pattern.len()));
        if rest.is_empty() {
            let text = self.equal(column, literal)?;
            let ranges = vec![text.clone().range()];
            return Some(if is_wanted { Predicate::Within(column, ranges) } else { text.others(column) });
        }
        // A blank at the end of the prefix may be one that the value was filled up with.
        let is_whole = rest.bytes().all(|byte| byte == b'%')
            && !(matches!(sql_type, SqlType::Char(_)) && prefix.ends_with(' '));
        self.is_exact &= is_whole;
        if !is_wanted && !is_whole {
            return Some(Predicate::not_null(column));
        }
        let Some((last, front)) = prefix.as_bytes().split_last() else {
            return Some(if is_wanted { Predicate::not_null(column) } else { NEVER });
        };
        // The last byte of a text is below ff.
        let behind = Operand::Text([front, &[last + 1]].concat());
        let prefix = Operand::Text(prefix.into());
        let range = |low, high| ValueRange { low, high };
        Some(Predicate::Within(
            column,
            match is_wanted {
                true => vec![range(Bound::Included(prefix), Bound::Excluded(behind))],
                false => vec![
                    range(Bound::Unbounded, Bound::Excluded(prefix)),
                    range(Bound::Included(behind), Bound::Unbounded),
                ],
            },
        ))
    }

    fn column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<ColumnRef> {
        self.columns.get(expr.downcast_ref::<Column>()?.index()).copied()
    }

    /// Where stored values lie that are read as a literal.
    fn equal(&self, column: ColumnRef, literal: &ScalarValue) -> Option<About> {
        match (self.table.sql_type(column), literal) {
            (SqlType::Decimal(None), ScalarValue::Decimal256(Some(digits), _, scale)) => {
                about_bare_decimal(*digits, *scale)
            }
            _ => self.operand(column, literal).map(About::exactly),
        }
    }

    /// Between what stored values lie a literal does.
    fn ordered(&self, column: ColumnRef, literal: &ScalarValue) -> Option<About> {
        let SqlType::Char(_) = self.table.sql_type(column) else { return self.equal(column, literal) };
        about_char(literal.try_as_str()??.as_bytes(), self.table.sql_type(column).fixed_width()?)
    }

    /// A literal as the column stores it.
    fn operand(&self, column: ColumnRef, literal: &ScalarValue) -> Option<Operand> {
        let sql_type = self.table.sql_type(column);
        let same = match literal.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => DataType::Binary,
            other => other,
        };
        match (sql_type, literal) {
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
            (
                _,
                ScalarValue::Binary(Some(bytes))
                | ScalarValue::LargeBinary(Some(bytes))
                | ScalarValue::BinaryView(Some(bytes))
                | ScalarValue::FixedSizeBinary(_, Some(bytes)),
            ) => Some(Operand::Text(bytes.clone())),
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

/// Where the stored values are that a literal is compared with.
#[derive(Debug, Clone)]
struct About {
    /// What is less is read as less, too.
    low: Operand,
    /// What is greater is read as greater, too.
    high: Operand,
    /// Both are the only stored value that is read as the literal.
    is_exact: bool,
}

impl About {
    fn exactly(value: Operand) -> Self {
        Self { low: value.clone(), high: value, is_exact: true }
    }

    fn low(self) -> Operand {
        self.low
    }

    fn high(self) -> Operand {
        self.high
    }

    /// The end of a range that the literal does not belong to.
    fn end(self, of: impl Fn(Self) -> Operand) -> Bound<Operand> {
        if self.is_exact { Bound::Excluded(of(self)) } else { Bound::Included(of(self)) }
    }

    fn range(self) -> ValueRange {
        ValueRange { low: Bound::Included(self.low), high: Bound::Included(self.high) }
    }

    /// Every value that is read otherwise, and more if it is not known which those are.
    fn others(self, column: ColumnRef) -> Predicate {
        if !self.is_exact {
            return Predicate::not_null(column);
        }
        let ranges = vec![
            ValueRange { low: Bound::Unbounded, high: Bound::Excluded(self.low) },
            ValueRange { low: Bound::Excluded(self.high), high: Bound::Unbounded },
        ];
        Predicate::Within(column, ranges)
    }
}

/// A CHAR is stored with blanks at its end, which may be greater or less than what a longer text has there.
fn about_char(text: &[u8], width: usize) -> Option<About> {
    let filled = |len: usize| {
        let mut filled = text[..len].to_vec();
        filled.resize(width, b' ');
        filled
    };
    let high = (0..=text.len().min(width)).map(filled).max()?;
    Some(About { low: Operand::Text(text.into()), high: Operand::Text(high), is_exact: false })
}

/// What a DECIMAL without scale shows may have fewer digits than what is stored: as many behind the point as a literal can have at most.
fn about_bare_decimal(mut digits: i256, scale: i8) -> Option<About> {
    let ten = i256::from_i128(10);
    let mut scale = i32::from(scale);
    while digits != i256::ZERO && digits.wrapping_rem(ten) == i256::ZERO {
        digits = digits.wrapping_div(ten);
        scale -= 1;
    }
    let mut digits = digits.to_i128()?;
    while scale < i32::from(DECIMAL_DEFAULT.1) {
        let Some(more) = digits.checked_mul(10) else { break };
        (digits, scale) = (more, scale + 1);
    }
    let place = |digits| Operand::Decimal(Decimal::new(digits, scale));
    Some(About { low: place(digits.checked_sub(1)?), high: place(digits.checked_add(1)?), is_exact: false })
}

fn is_junction(op: Operator) -> bool {
    matches!(op, Operator::And | Operator::Or)
}

fn is_comparison(op: Operator) -> bool {
    use Operator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// A conjunction of parts that may be conjunctions themselves.
fn all(parts: Vec<Predicate>) -> Predicate {
    parts.into_iter().fold(Predicate::ALWAYS, Predicate::and)
}
