// SPDX-License-Identifier: Apache-2.0
//! What hints say by now, in the words of a query: conditions that compare columns of the table with literals.

use std::sync::Arc;

use basalt_hfile::typed::arrow_type;
use basalt_model::types::Value;
use basalt_model::{ColumnRef, SortOrder, SqlType, TableSchema};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column as Name, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, Operator, binary_expr};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, Literal,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::super::join_keys::AmongKeys;
use super::{together, united};
use crate::keys::{Access, KeyAccess};

/// All conditions hold, and of each list of alternatives one does.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    conditions: Vec<Expr>,
    /// Rows of several columns' values, as joins of several columns have them.
    rows: Vec<Vec<Vec<Expr>>>,
}

impl Said {
    /// What hints on these columns of a table say that has such words. The rest may be left out, and so are lists of more than `values_max` values.
    pub(super) fn by(
        hints: &[Arc<dyn PhysicalExpr>],
        columns: &[ColumnRef],
        table: &TableSchema,
        values_max: usize,
    ) -> Self {
        let mut said = Self::default();
        let listener = Listener { columns, table, values_max };
        for hint in hints {
            listener.listen(hint, &mut said);
        }
        said
    }

    /// True of a hint on columns of the key alone, all of which has such words and no list of more than `values_max` values: who reads by them need not
    /// ask it.
    pub(super) fn is_all_of(
        hint: &Arc<dyn PhysicalExpr>,
        columns: &[ColumnRef],
        table: &TableSchema,
        values_max: usize,
    ) -> bool {
        let is_of_key = |expr: &&Arc<dyn PhysicalExpr>| {
            place(expr).is_some_and(|at| matches!(columns.get(at), Some(ColumnRef::Key(_))))
        };
        let listener = Listener { columns, table, values_max };
        hint.children().iter().all(is_of_key) && listener.listen(hint, &mut Self::default())
    }

    /// True if nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.rows.is_empty()
    }

    /// The access that `access` makes of this and other conditions, which may all be translated on the way.
    pub(super) fn access(&self, conditions: &[Expr], access: impl Fn(&[Expr]) -> KeyAccess) -> Access {
        let conditions = together(conditions, &self.conditions);
        let alone = access(&conditions).access;
        let of_rows =
            |rows: &Vec<Vec<Expr>>| united(rows.iter().map(|row| access(&together(&conditions, row)).access));
        // One list of rows says most of what is to be said.
        match self.rows.first() {
            Some(rows) if !matches!(alone, Access::Nothing) => of_rows(rows),
            _ => alone,
        }
    }
}

struct Listener<'a> {
    columns: &'a [ColumnRef],
    table: &'a TableSchema,
    values_max: usize,
}

impl Listener<'_> {
    /// True if all of it has words.
    fn listen(&self, expr: &Arc<dyn PhysicalExpr>, said: &mut Said) -> bool {
        if let Some(filter) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
            return filter.current().is_ok_and(|current| self.listen(&current, said));
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            if *binary.op() == Operator::And {
                let left = self.listen(binary.left(), said);
                return self.listen(binary.right(), said) && left;
            }
            return note(&mut said.conditions, self.comparison(binary));
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            if list.list().len() > self.values_max {
                return false;
            }
            return match list.expr().downcast_ref::<ScalarFunctionExpr>() {
                Some(row) => note(&mut said.rows, self.rows(row, list)),
                None => note(&mut said.conditions, self.list(list)),
            };
        }
        let Some(among) = expr.downcast_ref::<AmongKeys>() else { return false };
        note(&mut said.conditions, self.among(among))
    }

    fn comparison(&self, binary: &BinaryExpr) -> Option<Expr> {
        use Operator::{Eq, Gt, GtEq, Lt, LtEq};
        let op = Some(*binary.op()).filter(|op| matches!(op, Eq | Gt | GtEq | Lt | LtEq))?;
        Some(binary_expr(self.column(binary.left())?, op, literal(binary.right())?))
    }

    fn list(&self, list: &InListExpr) -> Option<Expr> {
        let column = self.column(list.expr()).filter(|_| !list.negated())?;
        let mut values = list.list().iter().map(literal).collect::<Option<Vec<_>>>()?;
        values.retain(|value| self.can_have(list.expr(), value));
        Some(Expr::InList(InList::new(Box::new(column), values, false)))
    }

    fn among(&self, among: &AmongKeys) -> Option<Expr> {
        let column = self.column(among.column()).filter(|_| among.keys().count() <= self.values_max)?;
        let number = |number| Expr::Literal(ScalarValue::Int64(Some(number)), None);
        let mut values: Vec<Expr> = among.keys().numbers().map(number).collect();
        values.retain(|value| self.can_have(among.column(), value));
        Some(Expr::InList(InList::new(Box::new(column), values, false)))
    }

    /// Equations of the columns that have a name, row by row.
    fn rows(&self, row: &ScalarFunctionExpr, list: &InListExpr) -> Option<Vec<Vec<Expr>>> {
        if row.name() != "struct" || list.negated() {
            return None;
        }
        let columns: Vec<Option<Expr>> = row.args().iter().map(|arg| self.column(arg)).collect();
        columns.iter().any(Option::is_some).then_some(())?;
        let equations = |item: &Arc<dyn PhysicalExpr>| {
            let ScalarValue::Struct(values) = item.downcast_ref::<Literal>()?.value() else { return None };
            let mut equations = vec![];
            for (column, values) in columns.iter().zip(values.columns()) {
                let Some(column) = column else { continue };
                let value = ScalarValue::try_from_array(values, 0).ok()?;
                equations.push(column.clone().eq(Expr::Literal(value, None)));
            }
            Some(equations)
        };
        list.list().iter().map(equations).collect()
    }

    /// False of an integer that is beyond those of the column: of a wider column that it was joined with.
    fn can_have(&self, column: &Arc<dyn PhysicalExpr>, value: &Expr) -> bool {
        let column = place(column).and_then(|at| self.columns.get(at));
        let (Some(&column), Expr::Literal(ScalarValue::Int64(Some(number)), _)) = (column, value) else {
            return true;
        };
        let value = Value::Int(*number);
        self.table.sql_type(column).encode(SortOrder::Asc, &value, &mut Vec::new()).is_ok()
    }

    /// A column as a query names it. 0.0 and -0.0 are two values of a key, and may be one of a join: floats have no name here.
    fn column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        let column = *self.columns.get(place(expr)?)?;
        let (of_table, shown) = (self.table.sql_type(column), arrow_type(self.table.sql_type(column)));
        use SqlType::{Double, Float, UnsignedDouble, UnsignedFloat};
        let is_cast = expr.is::<CastExpr>();
        if matches!(of_table, Double | Float | UnsignedDouble | UnsignedFloat)
            || is_cast && !shown.is_integer()
        {
            return None;
        }
        Some(Expr::Column(Name::new_unqualified(self.table.display_name(column))))
    }
}

/// The column that an expression is, as it is or as a wider integer, by its place.
pub(super) fn place(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    let expr = match expr.downcast_ref::<CastExpr>() {
        Some(cast) if *cast.cast_type() == DataType::Int64 => cast.expr(),
        _ => expr,
    };
    expr.downcast_ref::<Column>().map(Column::index)
}

/// Takes in what was found, and says whether there was any.
fn note<T>(said: &mut Vec<T>, found: Option<T>) -> bool {
    let some = found.is_some();
    said.extend(found);
    some
}

fn literal(expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
    Some(Expr::Literal(expr.downcast_ref::<Literal>()?.value().clone(), None))
}
