// SPDX-License-Identifier: Apache-2.0
//! `x SIMILAR TO pattern`, as a regular expression over the whole text. The pattern is SQL's: `%` and `_` as in LIKE, and `|`, `*`, `+`, `?`, `{m,n}`, `(..)`
//! and `[..]` as in regular expressions; all else stands for itself, as these do behind a backslash, or behind another letter that ESCAPE names.

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value, ValueWithSpan,
};

use crate::dialect::{self, place_of};
use crate::error::{SqlError, code};

/// The comparison in the planner's words, if it is one.
pub(super) fn rewrite(expr: &Expr) -> Result<Option<Expr>, SqlError> {
    let Expr::SimilarTo { negated, expr: value, pattern, escape_char } = expr else { return Ok(None) };
    let escape = match escape_char {
        None => Some('\\'),
        Some(escape) => escape_of(escape)?,
    };
    let pattern = match pattern.as_ref() {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => {
            let regex = regex(text, escape)
                .map_err(|message| SqlError::coded(code::ILLEGAL_DATA, message).at(place_of(pattern)))?;
            Expr::value(Value::SingleQuotedString(regex))
        }
        Expr::Value(ValueWithSpan { value: Value::Null, .. }) => Expr::value(Value::Null),
        other => {
            let message = format!(
                "SIMILAR TO takes a pattern that is written in the statement, not {other}; REGEXP_LIKE takes any"
            );
            return Err(SqlError::unsupported(message).at(place_of(other)));
        }
    };
    let mut call = dialect::parse_condition("REGEXP_LIKE(0, 0)")?;
    if let Expr::Function(function) = &mut call
        && let FunctionArguments::List(list) = &mut function.args
    {
        let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
        list.args = vec![argument(value.as_ref().clone()), argument(pattern)];
    }
    Ok(Some(match negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(call) },
        false => call,
    }))
}

/// The letter of ESCAPE; none of `''`.
fn escape_of(escape: &ValueWithSpan) -> Result<Option<char>, SqlError> {
    let text = match &escape.value {
        Value::SingleQuotedString(text) => text.as_str(),
        Value::Null => "",
        _ => "..",
    };
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (letter, None) => Ok(letter),
        _ => Err(SqlError::coded(code::ILLEGAL_DATA, format!("ESCAPE takes one character, not {escape}"))),
    }
}

/// The regular expression of a pattern, or what is wrong with the pattern.
fn regex(pattern: &str, escape: Option<char>) -> Result<String, String> {
    let mut regex = String::from("^(?s:");
    let mut letters = pattern.chars();
    let mut in_brackets = false;
    while let Some(letter) = letters.next() {
        if Some(letter) == escape {
            let next = letters.next();
            let next = next.ok_or_else(|| {
                format!("pattern '{pattern}' ends behind its escape character {letter}, which stands before another")
            })?;
            push_literal(&mut regex, next);
            continue;
        }
        match letter {
            // A bracket stands for itself in brackets.
            '[' if in_brackets => regex.push_str("\\["),
            '[' | ']' => {
                in_brackets = letter == '[';
                regex.push(letter);
            }
            '^' | '-' if in_brackets => regex.push(letter),
            _ if in_brackets => push_literal(&mut regex, letter),
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' => regex.push(letter),
            _ => push_literal(&mut regex, letter),
        }
    }
    match in_brackets {
        true => Err(format!("pattern '{pattern}' has [ without ]")),
        false => Ok(regex + ")$"),
    }
}

fn push_literal(regex: &mut String, letter: char) {
    if "\\.+*?()|[]{}^$#&-~".contains(letter) {
        regex.push('\\');
    }
    regex.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_becomes_a_regular_expression_over_the_whole_text() {
        for (pattern, wanted) in [
            ("a%_", "^(?s:a.*.)$"),
            ("(ab|c)+", "^(?s:(ab|c)+)$"),
            ("a.b$", "^(?s:a\\.b\\$)$"),
            ("[^a-c[.]{2}", "^(?s:[^a-c\\[\\.]{2})$"),
            ("100\\%", "^(?s:100%)$"),
        ] {
            assert_eq!(regex(pattern, Some('\\')).as_deref(), Ok(wanted));
        }
        assert_eq!(regex("1!%\\", Some('!')).as_deref(), Ok("^(?s:1%\\\\)$"));
        assert!(regex("ab\\", Some('\\')).is_err() && regex("[ab", None).is_err());
    }
}
