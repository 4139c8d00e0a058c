// SPDX-License-Identifier: Apache-2.0
//! From the errors of DataFusion, Arrow and the store to [`SqlError`].

use std::error::Error;

use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use super::code::PhoenixCode;
use super::functions::instead_of;
use super::{ErrorKind, Position, SqlError, code, nearest, refused, syntax, unsupported};
use crate::dialect::TokenMap;

pub(super) fn lower_first(text: &str) -> String {
    let text = text.trim().trim_end_matches(['.', '!']);
    let mut chars = text.chars();
    match chars.next() {
        // A word in capitals is a keyword or a name and stays.
        Some(first) if chars.clone().next().is_some_and(|second| !second.is_uppercase()) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

pub(super) fn store(error: basalt_store::Error) -> SqlError {
    use basalt_store::Error as Store;
    if let Store::IndexRefusal { source, .. } = &error
        && let Some(refusal) = source.downcast_ref::<SqlError>()
    {
        return copied(refusal);
    }
    let text = chain(&error);
    let translated = match &error {
        Store::NoSuchTable { .. } => SqlError::coded(code::TABLE_NOT_FOUND, text),
        Store::TableExists { .. } => SqlError::coded(code::TABLE_EXISTS, text),
        Store::ReadOnly
        | Store::UnkeptIndex { .. }
        | Store::TableDisabled { .. }
        | Store::NoSuchFamily { .. }
        | Store::Invalid(_)
        | Store::Mutation(_) => SqlError::statement(text),
        Store::Corrupt(_) | Store::NotADatabase { .. } | Store::NewerFormat { .. } => {
            SqlError::new(ErrorKind::Damaged, text)
        }
        Store::OutOfSpace { .. } | Store::Overloaded { .. } => SqlError::new(ErrorKind::Resources, text),
        Store::StoredRow { .. } => {
            let mut error = SqlError::new(ErrorKind::Storage, text);
            error.details.code = Some(code::ILLEGAL_DATA);
            error
        }
        _ => SqlError::new(ErrorKind::Storage, text),
    };
    translated.caused_by(error)
}

/// An error and its causes on one line; a cause that only repeats is left out.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

pub(super) fn planner(error: DataFusionError, tokens: &TokenMap) -> SqlError {
    match error {
        DataFusionError::External(inner) => external(inner),
        DataFusionError::Diagnostic(diagnostic, inner) => {
            let span = diagnostic.span.map(|span| span.start).filter(|start| start.line > 0);
            let position =
                span.map(|start| Position { line: start.line as usize, column: start.column as usize });
            planner(*inner, tokens).at(position)
        }
        DataFusionError::Context(_, inner) => planner(*inner, tokens),
        DataFusionError::Shared(inner) => shared(&inner, tokens),
        DataFusionError::Collection(mut errors) if !errors.is_empty() => {
            planner(errors.swap_remove(0), tokens)
        }
        DataFusionError::SchemaError(inner, _) => schema(&inner, tokens),
        DataFusionError::ArrowError(inner, _) => arrow(*inner, tokens),
        DataFusionError::SQL(inner, _) => syntax::parser(*inner, ""),
        DataFusionError::IoError(inner) => {
            SqlError::new(ErrorKind::Storage, inner.to_string()).caused_by(inner)
        }
        DataFusionError::ResourcesExhausted(text) => resources(&text),
        DataFusionError::NotImplemented(text) => unsupported::of(&clean(&text), tokens),
        DataFusionError::Plan(text) | DataFusionError::Execution(text) => sentence(&text, tokens),
        DataFusionError::Internal(text) => {
            SqlError::internal(format!("bug in the planner: {}", clean(&text)))
        }
        other => SqlError::statement(clean(&other.strip_backtrace())),
    }
}

/// An error of ours that travelled through the planner's streams, or one of the store.
fn external(inner: Box<dyn Error + Send + Sync>) -> SqlError {
    let inner = match inner.downcast::<SqlError>() {
        Ok(error) => return *error,
        Err(inner) => inner,
    };
    let inner = match inner.downcast::<basalt_store::Error>() {
        Ok(error) => return store(*error),
        Err(inner) => inner,
    };
    match inner.downcast::<DataFusionError>() {
        Ok(error) => planner(*error, &TokenMap::default()),
        Err(inner) => {
            let text = chain(inner.as_ref());
            match wrong_pattern(&text) {
                Some(message) => SqlError::statement(message),
                None => SqlError::new(ErrorKind::Internal, text).caused_by(inner),
            }
        }
    }
}

/// What is wrong with a regular expression, of which only the library's drawing is known: the pattern, a mark below it, the reason.
fn wrong_pattern(text: &str) -> Option<String> {
    let (_, drawing) = text.split_once("regex parse error:")?;
    let (pattern, reason) = drawing.rsplit_once("error: ")?;
    let pattern = pattern.trim().lines().next().unwrap_or_default();
    Some(format!("{} is no regular expression: {}", pattern.trim(), reason.trim()))
}

/// An error that can only be looked at, without what caused it.
fn copied(found: &SqlError) -> SqlError {
    let mut copy = SqlError::new(found.kind(), found.message());
    copy.details.code = found.code();
    copy.details.sqlstate = found.sqlstate();
    copy.details.position = found.position();
    copy.details.suggestion = found.suggestion().map(str::to_owned);
    copy.details.lacks_memory = found.lacks_memory();
    copy
}

/// Errors shared by several partitions can only be looked at.
fn shared(error: &DataFusionError, tokens: &TokenMap) -> SqlError {
    match error {
        DataFusionError::External(inner) => match inner.downcast_ref::<SqlError>() {
            Some(found) => copied(found),
            None => SqlError::new(ErrorKind::Storage, chain(inner.as_ref())),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => shared(inner, tokens),
        DataFusionError::Shared(inner) => shared(inner, tokens),
        DataFusionError::ResourcesExhausted(text) => resources(text),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::ExternalError(inner) => match inner.downcast_ref::<DataFusionError>() {
                Some(inner) => shared(inner, tokens),
                None => SqlError::new(ErrorKind::Storage, chain(inner.as_ref())),
            },
            other => arrow_text(&other.to_string(), tokens),
        },
        DataFusionError::Plan(text) | DataFusionError::Execution(text) => sentence(text, tokens),
        other => SqlError::statement(clean(&other.strip_backtrace())),
    }
}

fn arrow(error: ArrowError, tokens: &TokenMap) -> SqlError {
    match error {
        ArrowError::ExternalError(inner) => external(inner),
        ArrowError::DivideByZero => SqlError::coded(code::DIVIDE_BY_ZERO, "division by zero"),
        ArrowError::IoError(text, inner) => SqlError::new(ErrorKind::Storage, text).caused_by(inner),
        ArrowError::ArithmeticOverflow(text) => SqlError::coded(
            code::DATA_EXCEEDS_CAPACITY,
            format!("the result does not fit its type: {}", lower_first(&text)),
        ),
        other => arrow_text(&other.to_string(), tokens),
    }
}

fn arrow_text(text: &str, tokens: &TokenMap) -> SqlError {
    if text.contains("Divide by zero") {
        return SqlError::coded(code::DIVIDE_BY_ZERO, "division by zero");
    }
    sentence(text, tokens)
}

fn resources(text: &str) -> SqlError {
    let text = clean(text);
    SqlError::new(
        ErrorKind::Resources,
        format!("the statement needs more memory than it may use (--memory raises the limit): {text}"),
    )
    .of_memory()
}

fn schema(error: &SchemaError, tokens: &TokenMap) -> SqlError {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let known = valid_fields.iter().map(|column| column.name());
            let qualifier = field.relation.as_ref().map(|relation| relation.table().to_owned());
            let tables: Vec<_> = valid_fields.iter().filter_map(|column| column.relation.as_ref()).collect();
            if let Some(qualifier) = &qualifier
                && !tables.is_empty()
                && !tables.iter().any(|table| table.table() == qualifier)
            {
                // With several tables Phoenix takes it for one that is missing.
                let several = tables.iter().any(|table| *table != tables[0]);
                let code = if several { code::TABLE_NOT_FOUND } else { code::FAMILY_NOT_FOUND };
                return SqlError::coded(
                    code,
                    format!("{qualifier} is no table, alias or column family of this query"),
                )
                .suggest(nearest(qualifier, tables.iter().map(|table| table.table())))
                .at(tokens.find(qualifier));
            }
            let in_family = format!(".{}", field.name);
            if qualifier.is_none()
                && valid_fields.iter().filter(|column| column.name().ends_with(&in_family)).count() > 1
            {
                let message = format!(
                    "column {} is in more than one column family; write it with its family",
                    field.name
                );
                return SqlError::coded(code::AMBIGUOUS_COLUMN, message).at(tokens.find(&field.name));
            }
            SqlError::coded(code::COLUMN_NOT_FOUND, format!("column {} does not exist", field.flat_name()))
                .suggest(nearest(&field.name, known))
                .at(tokens.find_column(qualifier.as_deref(), &field.name))
        }
        SchemaError::AmbiguousReference { field } if field.relation.is_some() => SqlError::coded(
            code::AMBIGUOUS_COLUMN,
            format!(
                "{} is a column, and the select list gives its name to something else; use another alias",
                field.flat_name()
            ),
        )
        .at(tokens.find(&field.name)),
        SchemaError::AmbiguousReference { field } => SqlError::coded(
            code::AMBIGUOUS_COLUMN,
            format!(
                "column {} exists in more than one table; write the table or alias before it",
                field.name
            ),
        )
        .at(tokens.find_column(None, &field.name)),
        SchemaError::DuplicateQualifiedField { qualifier, name } => SqlError::coded(
            code::AMBIGUOUS_TABLE,
            format!("the query has two columns {qualifier}.{name}; give one of the tables an alias"),
        ),
        SchemaError::DuplicateUnqualifiedField { name } => SqlError::coded(
            code::AMBIGUOUS_COLUMN,
            format!("the query has two columns {name}; give one an alias"),
        ),
    }
}

/// Errors that are only text: the known ones get their code and our words.
fn sentence(text: &str, tokens: &TokenMap) -> SqlError {
    let text = clean(text);
    if let Some(name) = between(&text, "Invalid function '", "'") {
        if let Some(instead) = instead_of(&name.to_uppercase()) {
            let message = format!("function {} is not supported: {instead}", name.to_uppercase());
            return SqlError::coded(code::FUNCTION_NOT_FOUND, message).at(tokens.find(name));
        }
        let meant = between(&text, "Did you mean '", "'").map(str::to_owned);
        let meant = meant.filter(|candidate| nearest(name, [candidate.as_str()]).is_some());
        return SqlError::coded(
            code::FUNCTION_NOT_FOUND,
            format!("function {} does not exist", name.to_uppercase()),
        )
        .suggest(meant.map(|meant| meant.to_uppercase()))
        .at(tokens.find(name));
    }
    if text.contains("Fail to find the coerced type") {
        let message = "a function that chooses one of its arguments takes such of one type; a CAST makes one of the other";
        return SqlError::coded(code::TYPE_MISMATCH, message);
    }
    if let Some(refused) =
        refused::of(&text).or_else(|| not_grouped(&text, tokens)).or_else(|| not_grouped_in_having(&text))
    {
        return refused;
    }
    if let Some(qualifier) = text.strip_prefix("Invalid qualifier ") {
        let message = format!("{qualifier} is no table or alias of this query");
        return SqlError::coded(code::FAMILY_NOT_FOUND, message).at(tokens.find(qualifier));
    }
    if let Some(found) = between(&text, "Cannot access field at argument 1: type ", " is not Struct") {
        let message = format!(
            "a table, an alias or a column family stands before a dot, not a column of type {}",
            readable_types(found)
        );
        return SqlError::coded(code::FAMILY_NOT_FOUND, message);
    }
    if text.contains("Divide by zero") || text.contains("division by zero") {
        return SqlError::coded(code::DIVIDE_BY_ZERO, "division by zero");
    }
    if text.contains("Overflow in AvgAccumulator") {
        let message = "the values of an average come to more digits than a DECIMAL has; AVG(CAST(x AS DOUBLE)) has room";
        return SqlError::coded(code::DATA_EXCEEDS_CAPACITY, message);
    }
    if text.starts_with("Too many columns!") {
        let message = "a subquery of several columns stands where a value must; row values are looked for with (a, b) IN (SELECT c, d ..)";
        return SqlError::coded(code::SUBQUERY_COLUMNS, message);
    }
    // The clause stands first in the message, so that its place is found.
    if text.contains("Aggregate functions are not allowed in the WHERE") {
        let message = "WHERE is asked of single rows and takes no aggregate functions; HAVING does";
        return SqlError::coded(code::AGGREGATE_IN_WHERE, message);
    }
    if let Some((wanted, most)) = text
        .split_once("Order by column out of bounds, specified: ")
        .and_then(|(_, bounds)| bounds.split_once(", max: "))
    {
        let message = format!("ORDER BY {wanted} is no column of the select list, which has {most}");
        return SqlError::coded(code::PARAMETER_INDEX, message);
    }
    let message = readable_types(&lower_first(&text));
    match code_of(&text) {
        Some(code) => SqlError::coded(code, message),
        None => SqlError::statement(message),
    }
}

/// The code of an error that is only text.
fn code_of(text: &str) -> Option<PhoenixCode> {
    const CODES: [(&str, PhoenixCode); 15] = [
        ("must appear in the GROUP BY clause", code::NOT_GROUPED),
        ("is too large to store in a", code::DATA_EXCEEDS_CAPACITY),
        ("For SELECT DISTINCT, ORDER BY expressions", code::ORDER_NOT_SELECTED),
        ("UNION queries have different number of columns", code::UNION_COLUMN_COUNT),
        ("The subquery should only return one column", code::SUBQUERY_COLUMNS),
        ("Overflow happened", code::DATA_EXCEEDS_CAPACITY),
        ("overflow", code::DATA_EXCEEDS_CAPACITY),
        ("LIMIT must be >= 0", code::PARSER_ERROR),
        ("OFFSET must be >=0", code::PARSER_ERROR),
        ("Expected LIMIT to be an integer", code::PARSER_ERROR),
        ("the digits to round to must be", code::TYPE_MISMATCH),
        ("a locale must be", code::TYPE_MISMATCH),
        ("elements of an array are counted from 1", code::TYPE_MISMATCH),
        ("an element of an array is written", code::TYPE_MISMATCH),
        ("an array needs at least one element", code::MISSING_TOKEN),
    ];
    if is_type_mismatch(text) {
        return Some(code::TYPE_MISMATCH);
    }
    if is_illegal_data(text) {
        return Some(code::ILLEGAL_DATA);
    }
    CODES.iter().find(|(part, _)| text.contains(part)).map(|(_, code)| *code)
}

/// HAVING that names what is not there behind GROUP BY.
fn not_grouped_in_having(text: &str) -> Option<SqlError> {
    let condition = between(text, "HAVING clause references: ", " must appear in the GROUP BY clause")?;
    let message = format!(
        "HAVING names what is neither grouped nor in an aggregate function: {}",
        readable_types(&with_literals(condition))
    );
    Some(SqlError::coded(code::ONLY_AGGREGATE_IN_HAVING, message))
}

/// A column that is neither grouped nor aggregated, and where it is.
fn not_grouped(text: &str, tokens: &TokenMap) -> Option<SqlError> {
    let place = between(text, "olumn in ", " must be in GROUP BY or an aggregate function: ")?;
    let column =
        between(text, "While expanding wildcard, column \"", "\" must appear in the GROUP BY clause")?;
    let place = if place == "SELECT" { "the select list" } else { place };
    let name = column.rsplit('.').next().unwrap_or(column);
    let message = format!("column {column} in {place} must be in GROUP BY or in an aggregate function");
    Some(SqlError::coded(code::NOT_GROUPED, message).at(tokens.find(name)))
}

/// Values that their type, or a function, cannot read.
fn is_illegal_data(text: &str) -> bool {
    ["Can't cast value", "there is no time zone", "is no date", "is no time", "Failed to decode value"]
        .iter()
        .any(|part| text.contains(part))
}

fn is_type_mismatch(text: &str) -> bool {
    [
        "Cannot infer common argument type",
        "Cannot cast",
        "Cannot coerce",
        "cannot be coerced",
        "Failed to coerce",
        "Unsupported CAST",
        "No function matches",
        "Cannot create filter with non-boolean",
        "Error parsing timestamp",
        "Invalid comparison operation",
        "There isn't a common type",
        "requires a boolean expression",
        "no common type",
        "Unary operator '-' only supports",
        "Invalid arithmetic operation",
        "Cannot get result type for temporal operation",
    ]
    .iter()
    .any(|part| text.contains(part))
}

/// The literals of an expression that the planner prints, as they are written: `Utf8("x")` is `'x'`.
fn with_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("Utf8(\"") {
        let Some((literal, behind)) = behind.split_once("\")") else { break };
        out.push_str(before);
        out.push_str(&format!("'{literal}'"));
        rest = behind;
    }
    out + rest
}

pub(super) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    rest.split_once(after).map(|(inner, _)| inner)
}

/// Takes off prefixes, backtraces and the planner's requests to report bugs.
pub(super) fn clean(text: &str) -> String {
    let mut text = text.split(DataFusionError::BACK_TRACE_SEP).next().unwrap_or(text);
    loop {
        let before = text;
        for prefix in [
            "DataFusion error: ",
            "Error during planning: ",
            "Execution error: ",
            "External error: ",
            "External: ",
            "Arrow error: ",
            "Optimizer rule 'simplify_expressions' failed\ncaused by\n",
            "type_coercion\ncaused by\n",
            "Cast error: ",
            "Parser error: ",
            "Compute error: ",
            "Invalid argument error: ",
            "Arithmetic overflow: ",
            "Internal error: ",
            "Resources exhausted: ",
            "This feature is not implemented: ",
        ] {
            text = text.strip_prefix(prefix).unwrap_or(text);
        }
        if text == before {
            break;
        }
    }
    let text = text.split("This issue was likely caused by a bug").next().unwrap_or(text);
    text.trim().trim_end_matches('.').replace('\n', " ")
}

/// Arrow's type names as SQL's, for messages.
pub(crate) fn readable_type(data_type: &datafusion::arrow::datatypes::DataType) -> String {
    readable_types(&data_type.to_string())
}

pub(super) fn readable_types(text: &str) -> String {
    const NAMES: [(&str, &str); 23] = [
        ("Decimal256(76, 38)", "DECIMAL"),
        ("Timestamp(Millisecond, None)", "DATE"),
        ("Timestamp(ms)", "DATE"),
        ("Timestamp(Nanosecond, None)", "TIMESTAMP"),
        ("Timestamp(ns)", "TIMESTAMP"),
        ("Utf8View", "VARCHAR"),
        ("LargeUtf8", "VARCHAR"),
        ("Utf8", "VARCHAR"),
        ("LargeBinary", "VARBINARY"),
        ("BinaryView", "VARBINARY"),
        ("Binary", "VARBINARY"),
        ("Decimal128", "DECIMAL"),
        ("Decimal256", "DECIMAL"),
        ("UInt64", "UNSIGNED_LONG"),
        ("Int64", "BIGINT"),
        ("Int32", "INTEGER"),
        ("Int16", "SMALLINT"),
        ("Int8", "TINYINT"),
        ("Float32", "FLOAT"),
        ("Float64", "DOUBLE"),
        ("Boolean", "BOOLEAN"),
        ("Date32", "DATE"),
        ("Null", "NULL"),
    ];
    NAMES.iter().fold(text.to_owned(), |text, (arrow, sql)| replace_word(&text, arrow, sql))
}

/// Replaces whole words only: a column called `Int32s` keeps its name.
fn replace_word(text: &str, from: &str, to: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let end = at + from.len();
        let before = rest[..at].chars().next_back().is_some_and(|ch| ch.is_alphanumeric() || ch == '_');
        let after = rest[end..].chars().next().is_some_and(|ch| ch.is_alphanumeric() || ch == '_');
        result.push_str(&rest[..at]);
        result.push_str(if before || after { from } else { to });
        rest = &rest[end..];
    }
    result + rest
}
