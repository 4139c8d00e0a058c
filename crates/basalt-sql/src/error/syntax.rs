// SPDX-License-Identifier: Apache-2.0
//! From the errors of sqlparser to [`SqlError`]: what could not be read, where, and the number that Phoenix has for it.
//!
//! The parser of Phoenix is made by ANTLR, which has four numbers for text that is no statement. Where it expects one kind of
//! token and finds another, it looks around:
//!
//! | number | when |
//! |---|---|
//! | 603 | the token behind the one found is what was expected, so one is too many |
//! | 602 | the one found may follow what was expected, so one is missing |
//! | 604 | neither |
//! | 601 | no single kind of token was expected |
//!
//! Expressions are the case that matters. An expression that cannot be read is taken for one in parentheses, whose `(` is
//! missing before its first token: 602 if that could begin an expression, else 604, and 601 in a select list.

use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::TokenizerError;

use super::code::PhoenixCode;
use super::translate::lower_first;
use super::{Position, SqlError, code, instead, nearest};
use crate::dialect::{
    BAD_COUNT, BAD_INCREMENT, BAD_LENGTH, BAD_MAX, BAD_MIN, BAD_PRECISION, BAD_START, NO_FUNCTION,
    NO_FUNCTIONS, NO_KEY_COLUMN, NO_LENGTH, NO_TYPE, NO_VALUE, NO_WILDCARD, NOTHING_ELSE, TYPE_NAMES,
};

/// What sqlparser and we call the end of the text, as what was expected there.
const END: &str = "the end of the statement";

/// sqlparser puts the position into the text: `Expected: x, found: y at Line: 1, Column: 5`.
pub(super) fn parser(error: ParserError, sql: &str) -> SqlError {
    let text = match error {
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => text,
        ParserError::RecursionLimitExceeded => {
            return SqlError::coded(code::PARSER_ERROR, "the statement is nested too deeply");
        }
    };
    let (message, position) = split_position(&text);
    let message = readable_expectation(message);
    let expectation = message.strip_prefix("expected ").and_then(|rest| rest.rsplit_once(", found "));
    let meant = match expectation {
        Some((NO_TYPE, found)) => nearest(found, TYPE_NAMES),
        _ => None,
    };
    let (code, told) = match expectation {
        Some((expected, END)) => (ended_early(expected, sql), message.clone()),
        Some((END, found)) => match type_before(sql, position, found) {
            Some(name) => {
                (code::ILLEGAL_DATA, format!("there is no type {name}, whose value could be {found}"))
            }
            None if is_last(sql, position, found) => (code::UNWANTED_TOKEN, message.clone()),
            None => (code::MISSING_TOKEN, message.clone()),
        },
        Some((expected, found)) => (mismatch(expected, found, before(sql, position)), message.clone()),
        None => (of_refusal(&message), message.clone()),
    };
    let instead =
        expectation.and_then(|(expected, found)| instead::of(expected, found, &words(before(sql, position))));
    let told = match instead {
        Some(instead) => format!("{told}; {instead}"),
        None => told,
    };
    SqlError::coded(code, told).suggest(meant).at(position.or_else(|| Some(end_of(sql))))
}

/// The number of an error that expected one thing and found another.
fn mismatch(expected: &str, found: &str, before: &str) -> PhoenixCode {
    let is_word = found.starts_with(|ch: char| ch.is_alphabetic());
    match expected {
        "an expression" => no_expression(before),
        NO_VALUE | NO_WILDCARD => code::MISMATCHED_TOKEN,
        NO_TYPE if is_word => code::ILLEGAL_DATA,
        NO_TYPE | NO_KEY_COLUMN | NOTHING_ELSE | ")" | "=" | "INTO" => code::MISSING_TOKEN,
        "an identifier after AS" if is_word => code::UNWANTED_TOKEN,
        "an identifier after AS" => code::MISSING_TOKEN,
        "AS" => code::UNWANTED_TOKEN,
        NO_LENGTH => code::MISSING_LENGTH,
        BAD_LENGTH => code::NONPOSITIVE_LENGTH,
        BAD_PRECISION => code::DECIMAL_PRECISION,
        BAD_START => code::SEQUENCE_START,
        BAD_INCREMENT => code::SEQUENCE_INCREMENT,
        BAD_MIN => code::SEQUENCE_MIN,
        BAD_MAX => code::SEQUENCE_MAX,
        BAD_COUNT => code::SEQUENCE_COUNT,
        _ => code::PARSER_ERROR,
    }
}

/// The number of a statement that is known and refused.
fn of_refusal(message: &str) -> PhoenixCode {
    match message {
        NO_FUNCTIONS => code::FUNCTIONS_NOT_ALLOWED,
        NO_FUNCTION => code::FUNCTION_NOT_FOUND,
        _ => code::PARSER_ERROR,
    }
}

/// What Phoenix's parser says of a statement that ends too early depends on what it ends with.
fn ended_early(expected: &str, sql: &str) -> PhoenixCode {
    let last = sql.split_whitespace().next_back().unwrap_or_default().to_uppercase();
    match last.as_str() {
        "LIMIT" | "OFFSET" => code::PARSER_ERROR,
        _ if expected == "an expression" => no_expression(sql),
        "SELECT" => code::PARSER_ERROR,
        _ if matches!(expected, "identifier" | "a name") => code::PARSER_ERROR,
        "LIKE" | "ILIKE" | "IN" | "IS" | "NOT" => code::MISSING_TOKEN,
        _ if expected == "AND" => code::MISSING_TOKEN,
        _ => code::MISMATCHED_TOKEN,
    }
}

/// The number of an expression that is not there or cannot be read on, behind `before`.
fn no_expression(before: &str) -> PhoenixCode {
    const CLAUSES: [&str; 8] = ["SELECT", "FROM", "WHERE", "BY", "HAVING", "VALUES", "ON", "SET"];
    let words = words(before);
    let (last, earlier) =
        words.split_last().map_or(("", [].as_slice()), |(last, rest)| (last.as_str(), rest));
    let clause = words.iter().rev().find(|word| CLAUSES.contains(&word.as_str()));
    let in_select_list = clause.is_some_and(|clause| clause == "SELECT");
    let begins_one =
        |word: &str| CLAUSES.contains(&word) || matches!(word, "" | "AND" | "OR" | "NOT" | "," | "(");
    match last {
        "SELECT" | "DISTINCT" | "ALL" | "," if in_select_list => code::PARSER_ERROR,
        // Behind a name or IN it belongs to an expression that has begun.
        "(" if !begins_one(earlier.last().map_or("", String::as_str)) => code::MISSING_TOKEN,
        last if begins_one(last) => code::MISMATCHED_TOKEN,
        last if last.ends_with(['^', '#', '&', '~']) => code::PARSER_ERROR,
        _ => code::MISSING_TOKEN,
    }
}

/// The words of a text in upper case, with `(`, `)` and `,` as words of their own.
fn words(text: &str) -> Vec<String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
    spaced.split_whitespace().map(str::to_uppercase).collect()
}

/// The text before a position.
fn before(sql: &str, position: Option<Position>) -> &str {
    let Some(Position { line, column }) = position else { return "" };
    let start: usize = sql.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let end =
        sql[start..].char_indices().nth(column.saturating_sub(1)).map_or(sql.len(), |(at, _)| start + at);
    &sql[..end]
}

/// The name before a text, `E` in `E'a'`: to Phoenix that is a literal of a type.
fn type_before(sql: &str, position: Option<Position>, found: &str) -> Option<String> {
    let is_part = |ch: char| ch.is_alphanumeric() || ch == '_';
    let before = before(sql, position).trim_end();
    let name = &before[before.trim_end_matches(is_part).len()..];
    (found.starts_with('\'') && name.starts_with(char::is_alphabetic)).then(|| name.to_uppercase())
}

/// True if nothing follows the token that was found.
fn is_last(sql: &str, position: Option<Position>, found: &str) -> bool {
    let rest = sql[before(sql, position).len()..].chars().skip(found.chars().count());
    rest.collect::<String>().trim_matches([' ', '\n', '\t', ';']).is_empty()
}

pub(super) fn tokenizer(error: &TokenizerError, sql: &str) -> SqlError {
    let position = Position { line: error.location.line as usize, column: error.location.column as usize };
    let position = if position.line == 0 { end_of(sql) } else { position };
    let message = match error.message.as_str() {
        text if text.starts_with("Unterminated string") => "the text literal is not closed by '".to_owned(),
        text if text.starts_with("Unexpected EOF while in a multi-line comment") => {
            "the comment is not closed by */".to_owned()
        }
        text if text.starts_with("Expected close delimiter") => {
            "the quoted name is not closed by \"".to_owned()
        }
        text => lower_first(text),
    };
    SqlError::coded(code::PARSER_ERROR, message).at(Some(position))
}

fn split_position(text: &str) -> (&str, Option<Position>) {
    let Some((message, place)) = text.rsplit_once(" at Line: ") else { return (text, None) };
    let position = place.split_once(", Column: ").and_then(|(line, column)| {
        Some(Position { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
    });
    match position {
        Some(position) => (message, (position.line > 0).then_some(position)),
        None => (text, None),
    }
}

fn readable_expectation(message: &str) -> String {
    let message = match message.strip_prefix("Expected: ").and_then(|rest| rest.rsplit_once(", found: ")) {
        Some((expected, found)) => format!("expected {expected}, found {found}"),
        None => lower_first(message),
    };
    message
        .replace("found EOF", "found the end of the statement")
        .replace("end of statement", "the end of the statement")
        .replace("the the ", "the ")
}

/// Position behind the last character.
fn end_of(sql: &str) -> Position {
    let trimmed = sql.trim_end();
    let line = trimmed.matches('\n').count() + 1;
    let column = trimmed.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    Position { line, column }
}
