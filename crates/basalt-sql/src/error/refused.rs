// SPDX-License-Identifier: Apache-2.0
//! What functions, operators and clauses do not take. The planner lists every type that they would take, calls functions by names of its own and prints
//! expressions as it keeps them: here the words are those of the statement.

use super::translate::{between, clean, readable_types};
use super::{SqlError, code};

/// From the text of the planner, if it is such a refusal.
pub(super) fn of(text: &str) -> Option<SqlError> {
    operands(text).or_else(|| clause(text)).or_else(|| arguments(text))
}

fn mismatch(message: &str) -> Option<SqlError> {
    Some(SqlError::coded(code::TYPE_MISMATCH, readable_types(message)))
}

/// Operators.
fn operands(text: &str) -> Option<SqlError> {
    if let Some(operands) = between(text, "annot coerce arithmetic expression ", " to valid types") {
        return mismatch(&format!("{operands} has no meaning; a CAST makes a number of a text"));
    }
    if let Some(operands) = text.split_once("annot get result type for temporal operation ") {
        let operands = operands.1.split_once(':').map_or(operands.1, |(operands, _)| operands);
        let message = format!("{operands} has no meaning; DATE - DATE are days, DATE + n is n days later");
        return mismatch(&message);
    }
    if let Some((_, operands)) =
        text.split_once("annot infer common string type for string concat operation ")
    {
        return mismatch(&format!("{operands} has no meaning; ARRAY_CAT joins arrays"));
    }
    if let Some((_, operands)) = text.split_once("annot infer common argument type for comparison operation ")
    {
        return match operands.contains("Struct(") {
            true => mismatch("a row value is compared with row values of as many parts"),
            false => mismatch(&format!(
                "{operands} compares what has no common type; a CAST makes one of the other"
            )),
        };
    }
    let found = between(text, "isn't a common type to coerce ", " in LIKE expression")?;
    let own = found.split(" and ").next().unwrap_or(found);
    mismatch(&format!("LIKE is for texts, not for a value of type {own}; TO_CHAR makes a text of a number"))
}

/// Conditions, limits, subqueries, parameters.
fn clause(text: &str) -> Option<SqlError> {
    if let Some((_, own)) = text.split_once("annot create filter with non-boolean predicate ") {
        let own = own.rsplit_once(" returning ").map_or(own, |(_, own)| own);
        return mismatch(&format!("a condition is TRUE or FALSE, not a value of type {own}"));
    }
    for limit in ["LIMIT", "OFFSET"] {
        if let Some(own) = between(text, &format!("{limit} to be an integer or null, but got "), "\n")
            .or_else(|| {
                text.split_once(&format!("{limit} to be an integer or null, but got ")).map(|(_, own)| own)
            })
        {
            let message = format!("{limit} takes a number, not a value of type {own}");
            return Some(SqlError::coded(code::PARSER_ERROR, readable_types(&message)));
        }
    }
    if let Some(columns) = between(text, "ource table contains ", " columns but only ")
        && let Some(names) = between(text, " columns but only ", " names given as column alias")
    {
        let message = format!("a query of {columns} columns stands where one of {names} must");
        return Some(SqlError::coded(code::SUBQUERY_COLUMNS, message));
    }
    let parameter = between(text, "laceholder '?", "' was not provided a value")?;
    Some(SqlError::statement(format!("parameter {parameter} has no value")))
}

/// Functions that were given what they do not take: the planner lists every type that they would take, and calls them by names of its own.
fn arguments(text: &str) -> Option<SqlError> {
    if let Some(ours) = between(text, "user-defined coercion failed with: ", " No function matches") {
        let counted = ours.contains(" arguments, not ");
        let code = if counted { code::FUNCTION_NOT_FOUND } else { code::TYPE_MISMATCH };
        return Some(SqlError::coded(code, readable_types(&clean(ours))));
    }
    if let Some(function) = between(text, "satisfy a call to '", "' function") {
        return Some(wrong_type(function, between(text, "argument types '", "'")?));
    }
    if !text.contains(" arguments but received ")
        && let Some(function) = between(text, "unction '", "' expects ")
        && let Some(found) = between(text, "argument types '", "'")
    {
        return Some(wrong_type(function, found));
    }
    if text.contains("ubstring without for/from is not valid") {
        return Some(SqlError::coded(code::FUNCTION_NOT_FOUND, "SUBSTR takes 2 or 3 arguments, not 1"));
    }
    if let Some((function, counts)) = text.split_once("' expected ")
        && let Some((wanted, found)) = counts.split_once(" arguments but received ")
    {
        let function = shown_name(function.rsplit_once('\'')?.1);
        let found: String = found.chars().take_while(char::is_ascii_digit).collect();
        return Some(wrong_count(&function, wanted, &found));
    }
    if let Some(function) = between(text, "Function '", "' failed to match any signature")
        && let Some(found) = between(text, "(DataType: ", ")")
    {
        let message =
            format!("{} cannot take a value of type {}", shown_name(function), readable_types(found));
        return Some(SqlError::coded(code::TYPE_MISMATCH, message));
    }
    if let Some(function) = between(text, "Function '", "' requires ")
        && let Some(wanted) = between(text, "' requires ", ", but received ")
        && let Some(found) = between(text, ", but received ", " (")
    {
        let message =
            format!("{} takes {}, not {found}", shown_name(function), wanted.replace("String", "Utf8"));
        return Some(SqlError::coded(code::TYPE_MISMATCH, readable_types(&message)));
    }
    if let Some((function, _)) = text.split_once("' does not support zero arguments") {
        let function = shown_name(function.rsplit_once('\'')?.1);
        return Some(SqlError::coded(code::FUNCTION_NOT_FOUND, format!("{function} takes an argument")));
    }
    let (function, counts) = text.split_once("' expects ")?;
    let function = shown_name(function.rsplit_once('\'')?.1);
    let (wanted, found) = counts.split_once(" arguments but received ")?;
    let found: String = found.chars().take_while(char::is_ascii_digit).collect();
    Some(wrong_count(&function, wanted, &found))
}

/// `call` is the function with the types that it was given.
fn wrong_type(function: &str, call: &str) -> SqlError {
    let types = call.split_once('(').map_or(call, |(_, types)| types.strip_suffix(')').unwrap_or(types));
    let values = if types.contains(", ") { "values of types" } else { "a value of type" };
    let message = format!("{} cannot take {values} {types}", shown_name(function));
    SqlError::coded(code::TYPE_MISMATCH, readable_types(&message))
}

fn wrong_count(function: &str, wanted: &str, found: &str) -> SqlError {
    let plural = if wanted == "1" { "" } else { "s" };
    let message = format!("{function} takes {wanted} argument{plural}, not {found}");
    SqlError::coded(code::FUNCTION_NOT_FOUND, message)
}

/// The name by which a statement calls a function of the planner.
fn shown_name(function: &str) -> String {
    match function {
        "character_length" => "LENGTH".to_owned(),
        "strpos" => "INSTR".to_owned(),
        "btrim" => "TRIM".to_owned(),
        "signum" => "SIGN".to_owned(),
        other => other.to_uppercase(),
    }
}
