// SPDX-License-Identifier: Apache-2.0
//! What the planner says that it cannot do, or that cannot be done: what to write instead, where that is known. It describes what it was given by
//! its own structures, which are nothing for people.

use super::translate::readable_types;
use super::{SqlError, code, nearest};
use crate::dialect::{TYPE_NAMES, TokenMap};

const NO_WITH: &str = "a query must stand where a DELETE, UPDATE or MERGE does; WITH belongs to a query, and so to a subquery of the condition";

/// Parts of what the planner says, and what to do.
const INSTEAD: [(&str, &str); 17] = [
    (
        "COUNT DISTINCT with multiple arguments",
        "COUNT(DISTINCT a, b) is not supported; SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM ..) counts the same",
    ),
    ("Query DELETE ", NO_WITH),
    ("Query UPDATE ", NO_WITH),
    ("Query MERGE ", NO_WITH),
    (
        "does not support logical expression WindowFunction",
        "a window function stands where rows are chosen or grouped; QUALIFY chooses rows by one, and a subquery gives its value a name",
    ),
    (
        "does not support logical expression InSubquery",
        "IN (SELECT ..) stands where it is not supported; a query in FROM gives it a name: FROM (SELECT t.*, x IN (SELECT ..) AS y FROM t)",
    ),
    ("does not support logical expression ScalarSubquery", "a subquery stands where a constant must"),
    ("Unsupported LIMIT expression", "LIMIT takes a number or a parameter"),
    (
        "FETCH clause",
        "FETCH takes a number of rows; QUALIFY RANK() OVER (ORDER BY ..) <= n gives those that tie with the last one, too",
    ),
    ("Empty tuple", "GROUP BY () is not supported; without GROUP BY all rows are one group"),
    (
        "RLike {",
        "RLIKE is not supported; REGEXP_SUBSTR(text, pattern) IS NOT NULL finds the texts that match",
    ),
    (
        "ast node Pivot {",
        "PIVOT is not supported; an aggregate with FILTER (WHERE ..) for each column gives the same",
    ),
    ("ast node Unpivot {", "UNPIVOT is not supported; UNION ALL of a query for each column gives the same"),
    ("ast node JsonTable {", "JSON_TABLE is not supported; JSON_VALUE and JSON_QUERY read values of a text"),
    (
        "ast node MatchRecognize {",
        "MATCH_RECOGNIZE is not supported; LAG and LEAD look at rows before and behind",
    ),
    (
        "can not be used as a sliding accumulator",
        "a window function is asked for frames whose first row moves and can only add rows, not take them away; COUNT, SUM, AVG, MIN, MAX, ARRAY_AGG, MEDIAN and those of variance can, and any other with UNBOUNDED PRECEDING or in a subquery of each row",
    ),
    (
        "Table Functions are not supported",
        "no function gives rows; FROM takes tables, views, files and queries in parentheses",
    ),
];

/// From the text of the planner.
pub(super) fn of(text: &str, tokens: &TokenMap) -> SqlError {
    if let Some(name) = text.strip_prefix("Unsupported SQL type ") {
        let word = name.split('(').next().unwrap_or(name).trim();
        return SqlError::coded(code::ILLEGAL_DATA, format!("there is no type {name}"))
            .suggest(nearest(word, TYPE_NAMES))
            .at(tokens.find(word));
    }
    if let Some((from, to)) =
        text.strip_prefix("Unsupported CAST from ").and_then(|types| types.split_once(" to "))
    {
        let message = readable_types(&format!("a value of type {from} cannot be cast to {to}"));
        return SqlError::coded(code::TYPE_MISMATCH, message);
    }
    if text.contains("does not support logical expression AggregateFunction") {
        let message =
            "an aggregate function stands in GROUP BY, or where rows are not grouped; neither is supported";
        return SqlError::coded(code::AGGREGATE_IN_GROUP_BY, message);
    }
    if text.contains("does not support logical expression Wildcard") {
        return SqlError::coded(code::PARSER_ERROR, "of the functions only COUNT takes *");
    }
    if let Some(join) = text.strip_prefix("Unsupported JOIN operator ") {
        let kind = join.split('(').next().unwrap_or_default().to_uppercase();
        return SqlError::coded(code::MISSING_TOKEN, format!("there is no {kind} JOIN"));
    }
    if let Some((_, instead)) = INSTEAD.iter().find(|(part, _)| text.contains(part)) {
        return SqlError::unsupported(*instead);
    }
    if text.contains("Decimal scale ") {
        let message = "a number has at most 38 digits before its point and as many behind it; CAST('1e300' AS DOUBLE) reads others";
        return SqlError::coded(code::DATA_EXCEEDS_CAPACITY, message);
    }
    match text.split_whitespace().next() {
        Some("MINUS") => SqlError::coded(code::MISSING_TOKEN, "there is no MINUS; write EXCEPT"),
        Some("TOP") => SqlError::coded(code::PARSER_ERROR, "there is no TOP; write LIMIT"),
        _ => SqlError::unsupported(format!("not supported yet: {}", without_structures(text))),
    }
}

/// Without what is written in the planner's language: from the first brace on, and the word before it with what opens there.
fn without_structures(text: &str) -> String {
    let Some((told, _)) = text.split_once(" {") else { return text.to_owned() };
    let told = told.rsplit_once('(').filter(|(_, inner)| !inner.contains(')')).map_or(told, |(told, _)| told);
    told.trim_end_matches([':', ' ']).to_owned()
}
