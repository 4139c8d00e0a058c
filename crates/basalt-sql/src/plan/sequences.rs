// SPDX-License-Identifier: Apache-2.0
//! Sequences that are named without a schema are of the session's schema, as tables are.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value, VisitMut, visit_expressions_mut,
};

use super::Planning;
use crate::dialect::{CURRENT_VALUE, NEXT_VALUE};

/// Puts the schema into the calls that stand for sequences.
pub(super) fn rewrite(node: &mut impl VisitMut, planning: &Planning) {
    let Some(schema) = &planning.schema else { return };
    let _ = visit_expressions_mut(node, |expr| {
        if let Some(Value::SingleQuotedString(named)) = schema_of(expr)
            && named.is_empty()
        {
            named.clone_from(schema);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// The first argument of such a call.
fn schema_of(expr: &mut Expr) -> Option<&mut Value> {
    let Expr::Function(function) = expr else { return None };
    let name = function.name.0.first()?.as_ident()?.value.as_str();
    if name != NEXT_VALUE && name != CURRENT_VALUE {
        return None;
    }
    let FunctionArguments::List(list) = &mut function.args else { return None };
    match list.args.first_mut()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(schema))) => Some(&mut schema.value),
        _ => None,
    }
}
