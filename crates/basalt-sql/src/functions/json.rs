// SPDX-License-Identifier: Apache-2.0
//! JSON in texts: JSON_VALUE, JSON_QUERY, JSON_EXISTS and JSON_MODIFY, with paths of member names and numbers of elements,
//! `$.a.b[0]`. What the path does not find is NULL, or false for JSON_EXISTS.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, BooleanArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use serde_json::Value;

use super::plain::{Plain, constant_text, texts};
use crate::error::{SqlError, code};

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Element(usize),
}

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        Plain::function(
            "json_value",
            |name, found| texts(name, found, 2, 2),
            |_| DataType::Utf8,
            |args| {
                read(args, |value| match value {
                    Value::Null | Value::Array(_) | Value::Object(_) => None,
                    Value::String(text) if text.is_empty() => None,
                    Value::String(text) => Some(text.clone()),
                    other => Some(other.to_string()),
                })
            },
        ),
        Plain::function(
            "json_query",
            |name, found| texts(name, found, 2, 2),
            |_| DataType::Utf8,
            |args| {
                read(args, |value| {
                    matches!(value, Value::Array(_) | Value::Object(_)).then(|| value.to_string())
                })
            },
        ),
        Plain::function("json_exists", |name, found| texts(name, found, 2, 2), |_| DataType::Boolean, exists),
        Plain::function("json_modify", |name, found| texts(name, found, 3, 3), |_| DataType::Utf8, modify),
    ]
}

fn steps(args: &ScalarFunctionArgs) -> Result<Vec<Step>> {
    let Some(path) = constant_text(args, 1, "a JSON path")? else {
        return exec_err!("a JSON path cannot be NULL");
    };
    match parse_path(&path) {
        Some(steps) => Ok(steps),
        None => exec_err!("{path} is no JSON path of the form $.member[0]"),
    }
}

fn parse_path(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.trim().strip_prefix('$')?;
    let mut steps = vec![];
    while !rest.is_empty() {
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, behind) = name.split_at(end);
            if name.is_empty() {
                return None;
            }
            steps.push(Step::Member(name.to_owned()));
            rest = behind;
        } else {
            let (inside, behind) = rest.strip_prefix('[')?.split_once(']')?;
            let quoted = inside.strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
            steps.push(match quoted {
                Some(name) => Step::Member(name.to_owned()),
                None => Step::Element(inside.trim().parse().ok()?),
            });
            rest = behind;
        }
    }
    Some(steps)
}

fn document(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("a text that should be JSON is none: {error}");
        SqlError::coded(code::ILLEGAL_DATA, message).into()
    })
}

fn find<'a>(document: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(document, |value, step| match step {
        Step::Member(name) => value.get(name),
        Step::Element(index) => value.get(index),
    })
}

fn read(args: &ScalarFunctionArgs, show: impl Fn(&Value) -> Option<String>) -> Result<ColumnarValue> {
    let (values, steps) = (args.args[0].to_array(args.number_rows)?, steps(args)?);
    let found = values.as_string::<i32>().iter().map(|text| match text {
        Some(text) => Ok(find(&document(text)?, &steps).and_then(&show)),
        None => Ok(None),
    });
    Ok(ColumnarValue::Array(Arc::new(found.collect::<Result<StringArray>>()?)))
}

fn exists(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (values, steps) = (args.args[0].to_array(args.number_rows)?, steps(args)?);
    let found = values.as_string::<i32>().iter().map(|text| match text {
        Some(text) => Ok(Some(find(&document(text)?, &steps).is_some())),
        None => Ok(None),
    });
    Ok(ColumnarValue::Array(Arc::new(found.collect::<Result<BooleanArray>>()?)))
}

/// JSON_MODIFY(document, path, value): the value, itself JSON, in the place that the path names; a member that is not there
/// is added.
fn modify(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (values, steps) = (args.args[0].to_array(args.number_rows)?, steps(args)?);
    let news = args.args[2].to_array(args.number_rows)?;
    let modified = values.as_string::<i32>().iter().zip(news.as_string::<i32>().iter()).map(|pair| {
        let (Some(text), Some(new)) = pair else { return Ok(None) };
        let (mut document, new) = (document(text)?, document(new)?);
        put(&mut document, &steps, new);
        Ok(Some(document.to_string()))
    });
    Ok(ColumnarValue::Array(Arc::new(modified.collect::<Result<StringArray>>()?)))
}

/// Nothing happens where the path leads through what is not there.
fn put(value: &mut Value, steps: &[Step], new: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *value = new;
        return;
    };
    let next = match (step, value) {
        (Step::Member(name), Value::Object(members)) if rest.is_empty() => {
            members.insert(name.clone(), new);
            return;
        }
        (Step::Member(name), Value::Object(members)) => members.get_mut(name),
        (Step::Element(index), Value::Array(elements)) => elements.get_mut(*index),
        _ => None,
    };
    if let Some(next) = next {
        put(next, rest, new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_members_and_elements() {
        let member = |name: &str| Step::Member(name.to_owned());
        assert_eq!(parse_path("$"), Some(vec![]));
        assert_eq!(
            parse_path("$.a.b[2]['c d']"),
            Some(vec![member("a"), member("b"), Step::Element(2), member("c d")])
        );
        for wrong in ["a", "$a", "$.", "$.a..b", "$[x]", "$[1"] {
            assert_eq!(parse_path(wrong), None, "{wrong}");
        }
    }
}
