// SPDX-License-Identifier: Apache-2.0
//! Expressions and names back as text that is read as the same again.
//!
//! sqlparser prints a literal without knowing whether its quotes were doubled: one that holds `''`, or a quote behind a
//! backslash, would come back shorter, or would end early and let the rest be read as SQL. With every quote and every backslash doubled before, it
//! prints what it is given.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, SelectItem, SetExpr, TableFactor, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use super::statement::Statement;

/// The expression as it has to be printed.
pub(crate) fn printable(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    let _ = expr.visit(&mut Doubler);
    expr
}

/// The name as it has to be written: in quotes unless it is read as itself without them.
pub(crate) fn quoted(name: &str) -> String {
    let is_upper = |ch: char| ch.is_ascii_uppercase() || ch.is_ascii_digit() || matches!(ch, '_' | '$');
    let is_word =
        name.chars().all(is_upper) && name.starts_with(|ch: char| ch.is_ascii_uppercase() || ch == '_');
    if is_word && !OURS.contains(&name) && is_plain(name) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Words that begin something else where the name of a column may stand.
const OURS: [&str; 2] = ["CONSTRAINT", "PRIMARY"];

/// True if the word is a name to the parser, wherever it stands: no list of reserved words says the same.
fn is_plain(word: &str) -> bool {
    let Ok(parsed) = super::parse(&format!("SELECT {word} FROM {word} WHERE {word} = 1")) else {
        return false;
    };
    let Statement::Query(query) = parsed.statement else { return false };
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let column = matches!(select.projection.as_slice(),
        [SelectItem::UnnamedExpr(Expr::Identifier(column))] if column.value == word);
    let table = matches!(select.from.as_slice(),
        [from] if matches!(&from.relation, TableFactor::Table { name, .. } if name.to_string() == word));
    column && table && select.selection.is_some()
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
            double(text, '\\');
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
