// SPDX-License-Identifier: Apache-2.0
//! Expressions back as text that is read as the same expression again.
//!
//! sqlparser prints a literal without knowing whether its quotes were doubled: one that holds `''`, or a quote behind a
//! backslash, would come back shorter, or would end early and let the rest be read as SQL. With every quote doubled before, it
//! prints what it is given.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Value, ValueWithSpan, VisitMut, VisitorMut};

/// The expression as it has to be printed.
pub(crate) fn printable(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    let _ = expr.visit(&mut Doubler);
    expr
}

struct Doubler;

impl VisitorMut for Doubler {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => double(&mut name.value, '"'),
            Expr::CompoundIdentifier(names) => names.iter_mut().for_each(|name| double(&mut name.value, '"')),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::SingleQuotedString(text) = &mut value.value {
            double(text, '\'');
        }
        ControlFlow::Continue(())
    }
}

fn double(text: &mut String, quote: char) {
    if text.contains(quote) {
        *text = text.replace(quote, &format!("{quote}{quote}"));
    }
}
