// SPDX-License-Identifier: Apache-2.0
//! The hook into sqlparser's expressions: FLOOR and CEIL are plain calls, CAST never is one, and `NEXT VALUE FOR s`, `NEXT n VALUES FOR s`, `CURRENT VALUE FOR s`
//! become calls of two functions that no user can name, with (schema, name, n) as literals. What they mean is
//! decided on the plan, see [`crate::sequence`].

use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, Value,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::cursor::Cursor;
use super::statement::Name;

/// Name of the call that stands for NEXT VALUE(S) FOR.
pub(crate) const NEXT_VALUE: &str = "$next_value";
/// Name of the call that stands for CURRENT VALUE FOR.
pub(crate) const CURRENT_VALUE: &str = "$current_value";

/// What n of NEXT n VALUES FOR is not.
pub(crate) const BAD_COUNT: &str = "a number of values from 1 to 4294967295";

/// Takes what sqlparser would not, and literals, which it would only take after trying to read a type name.
pub(super) fn parse(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    match &parser.peek_token_ref().token {
        Token::Number(..) => return Some(parser.parse_value().map(Expr::Value)),
        Token::Word(word) if word.quote_style.is_none() => match word.value.as_str() {
            "NEXT" => {}
            "CURRENT" => {}
            // sqlparser knows forms of its own of these two, and not the arguments that Phoenix has.
            "FLOOR" | "CEIL" => return rounding_call(parser),
            "CAST" => return cast(parser),
            _ => return None,
        },
        _ => return None,
    }
    if parser.accept_all(&["NEXT", "VALUE", "FOR"]) {
        return Some(sequence_call(parser, NEXT_VALUE, 1));
    }
    if parser.accept_all(&["CURRENT", "VALUE", "FOR"]) {
        return Some(sequence_call(parser, CURRENT_VALUE, 0));
    }
    if let [Token::Word(word), Token::Number(count, _), Token::Word(values)] = parser.peek_tokens::<3>()
        && word.value == "NEXT"
        && values.value == "VALUES"
    {
        return Some(next_values(parser, &count));
    }
    None
}

fn rounding_call(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let [Token::Word(word), Token::LParen] = parser.peek_tokens::<2>() else { return None };
    parser.advance_token();
    let name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(word.value))]);
    Some(parser.parse_function(name))
}

/// sqlparser would take a CAST that it cannot read for the call of a function.
fn cast(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let [_, Token::LParen] = parser.peek_tokens::<2>() else { return None };
    parser.advance_token();
    Some(parser.parse_cast_expr(CastKind::Cast))
}

fn next_values(parser: &mut Parser, count: &str) -> Result<Expr, ParserError> {
    parser.advance_token();
    let number = parser.next_token();
    let count = match count.parse::<u32>() {
        Ok(count) if count > 0 => count,
        _ => return parser.expected(BAD_COUNT, number),
    };
    parser.expect("VALUES")?;
    parser.expect("FOR")?;
    sequence_call(parser, NEXT_VALUE, count)
}

/// The sequence of a call that stands for NEXT VALUE FOR or CURRENT VALUE FOR, as the statement has it, and its name.
pub(crate) fn sequence_of(expr: &Expr) -> Option<(String, &str)> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else {
        return None;
    };
    let call = match name.0.first()?.as_ident()?.value.as_str() {
        NEXT_VALUE => "NEXT",
        CURRENT_VALUE => "CURRENT",
        _ => return None,
    };
    let mut arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.as_str(),
            _ => "",
        },
        _ => "",
    });
    let (schema, name, count) = (arguments.next()?, arguments.next()?, arguments.next()?);
    let dot = if schema.is_empty() { "" } else { "." };
    let values = match (call, count) {
        ("NEXT", count) if count != "1" => format!("{count} VALUES"),
        _ => "VALUE".to_owned(),
    };
    Some((format!("{call} {values} FOR {schema}{dot}{name}"), name))
}

fn sequence_call(parser: &mut Parser, function: &str, count: u32) -> Result<Expr, ParserError> {
    let name = Name::parse(parser)?;
    let schema = name.schema.unwrap_or_default();
    let text = |text: String| Value::SingleQuotedString(text);
    let args = [text(schema), text(name.name), Value::Number(count.to_string(), false)]
        .map(|value| FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value.into()))));
    Ok(Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(function))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.to_vec(),
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    }))
}
