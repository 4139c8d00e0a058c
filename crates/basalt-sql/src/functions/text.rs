// SPDX-License-Identifier: Apache-2.0
//! Functions of texts where Phoenix and the planner differ: an empty text is NULL, `||` takes NULL for an empty
//! text, SUBSTR counts from the end if the start is negative, REGEXP_REPLACE replaces all matches.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use basalt_model::java_pattern;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use regex::Regex;

use super::plain::{Plain, constant_text, count, is_text, texts};

/// The planner's functions that may make an empty text of one that is not.
pub(super) const MAY_BE_EMPTY: [&str; 13] = [
    "btrim",
    "concat",
    "initcap",
    "left",
    "lower",
    "ltrim",
    "replace",
    "reverse",
    "right",
    "rtrim",
    "split_part",
    "translate",
    "upper",
];

/// SUBSTR(s, start[, length]).
pub(crate) fn substr() -> ScalarUDF {
    let coerce = |name: &str, found: &[DataType]| {
        count(name, found, 2, 3)?;
        texts(name, &found[..1], 1, 1)?;
        Ok([vec![DataType::Utf8], vec![DataType::Int64; found.len() - 1]].concat())
    };
    Plain::function("substr", coerce, |_| DataType::Utf8, run_substr)
}

/// Characters that LPAD, RPAD and REPEAT make at most.
const PADDED_MAX: i64 = 1 << 20;

/// The arguments of LPAD and RPAD.
fn padding(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 2, 3)?;
    texts(name, &found[..1], 1, 1)?;
    texts(name, &found[2..], 0, 1)?;
    Ok([vec![DataType::Utf8, DataType::Int64], vec![DataType::Utf8; found.len() - 2]].concat())
}

/// LPAD(s, length[, fill]): cut to the length, or filled from the left. NULL is filled wholly.
pub(crate) fn lpad() -> ScalarUDF {
    Plain::function("lpad", padding, |_| DataType::Utf8, run_lpad)
}

/// RPAD(s, length[, fill]): cut to the length, or filled from the right. NULL stays NULL.
pub(crate) fn rpad() -> ScalarUDF {
    Plain::function("rpad", padding, |_| DataType::Utf8, run_rpad)
}

/// REPEAT(s, n): the text n times.
pub(crate) fn repeat() -> ScalarUDF {
    let coerce = |name: &str, found: &[DataType]| {
        count(name, found, 2, 2)?;
        texts(name, &found[..1], 1, 1)?;
        Ok(vec![DataType::Utf8, DataType::Int64])
    };
    Plain::function("repeat", coerce, |_| DataType::Utf8, run_repeat)
}

/// REGEXP_SUBSTR(s, pattern[, start]): the first match from `start` on, counted from 1.
pub(crate) fn regexp_substr() -> ScalarUDF {
    let coerce = |name: &str, found: &[DataType]| {
        count(name, found, 2, 3)?;
        texts(name, &found[..2], 2, 2)?;
        Ok([vec![DataType::Utf8; 2], vec![DataType::Int64; found.len() - 2]].concat())
    };
    Plain::function("regexp_substr", coerce, |_| DataType::Utf8, run_regexp_substr)
}

/// REGEXP_REPLACE(s, pattern[, replacement]): all matches; `$1` stands for the first group.
pub(crate) fn regexp_replace() -> ScalarUDF {
    let coerce = |name: &str, found: &[DataType]| texts(name, found, 2, 3);
    Plain::function("regexp_replace", coerce, |_| DataType::Utf8, run_regexp_replace)
}

/// One row of texts to one text.
pub(super) fn map_texts(
    args: &ScalarFunctionArgs,
    text: impl Fn(&str, usize) -> Result<Option<String>>,
) -> Result<ColumnarValue> {
    let is_scalar = args.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    let first = args.args[0].to_array(args.number_rows)?;
    let first = first.as_string::<i32>();
    let mut built = StringBuilder::new();
    for row in 0..first.len() {
        let value = if first.is_valid(row) { text(first.value(row), row)? } else { None };
        built.append_option(value.filter(|value| !value.is_empty()));
    }
    let array: ArrayRef = Arc::new(built.finish());
    if is_scalar && !array.is_empty() {
        return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?));
    }
    Ok(ColumnarValue::Array(array))
}

/// Argument `index` as whole numbers, if it is there.
fn numbers(args: &ScalarFunctionArgs, index: usize) -> Result<Option<ArrayRef>> {
    args.args.get(index).map(|argument| argument.to_array(args.number_rows)).transpose()
}

fn number(column: &ArrayRef, row: usize) -> Option<i64> {
    column.is_valid(row).then(|| column.as_primitive::<Int64Type>().value(row))
}

fn run_substr(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (starts, lengths) = (numbers(args, 1)?, numbers(args, 2)?);
    map_texts(args, |text, row| {
        let Some(start) = starts.as_ref().and_then(|starts| number(starts, row)) else { return Ok(None) };
        let length = match &lengths {
            None => None,
            Some(lengths) => match number(lengths, row) {
                Some(length) => Some(length),
                None => return Ok(None),
            },
        };
        Ok(part(text, start, length))
    })
}

fn run_lpad(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let rows = args.number_rows;
    let texts = args.args[0].to_array(rows)?;
    let lengths = args.args[1].to_array(rows)?;
    let fills = args.args.get(2).map(|fill| fill.to_array(rows)).transpose()?;
    let mut built = StringBuilder::new();
    for row in 0..rows {
        let fill = match &fills {
            None => Some(" "),
            Some(fills) => fills.is_valid(row).then(|| fills.as_string::<i32>().value(row)),
        };
        let text = if texts.is_valid(row) { texts.as_string::<i32>().value(row) } else { "" };
        let padded = match (number(&lengths, row), fill.filter(|fill| !fill.is_empty())) {
            (Some(length @ 0..=PADDED_MAX), Some(fill)) => Some(padded(text, length as usize, fill)),
            (Some(length), Some(_)) if length > PADDED_MAX => {
                return exec_err!("LPAD makes at most {PADDED_MAX} characters, not {length}");
            }
            _ => None,
        };
        built.append_option(padded.filter(|padded| !padded.is_empty()));
    }
    Ok(ColumnarValue::Array(Arc::new(built.finish())))
}

fn run_rpad(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let lengths = args.args[1].to_array(args.number_rows)?;
    let fills = args.args.get(2).map(|fill| fill.to_array(args.number_rows)).transpose()?;
    map_texts(args, |text, row| {
        let fill = match &fills {
            None => " ",
            Some(fills) if fills.is_valid(row) => fills.as_string::<i32>().value(row),
            Some(_) => return Ok(None),
        };
        let Some(length) = number(&lengths, row) else { return Ok(None) };
        if length > PADDED_MAX {
            return exec_err!("RPAD makes at most {PADDED_MAX} characters, not {length}");
        }
        let length = usize::try_from(length).unwrap_or(0);
        Ok(Some(text.chars().chain(fill.chars().cycle()).take(length).collect()))
    })
}

fn run_repeat(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let counts = args.args[1].to_array(args.number_rows)?;
    map_texts(args, |text, row| {
        let Some(count) = number(&counts, row) else { return Ok(None) };
        let count = usize::try_from(count).unwrap_or(0);
        match text.len().checked_mul(count).filter(|&bytes| bytes <= PADDED_MAX as usize) {
            Some(_) => Ok(Some(text.repeat(count))),
            None => exec_err!("REPEAT makes at most {PADDED_MAX} bytes, not {count} times {}", text.len()),
        }
    })
}

fn padded(text: &str, length: usize, fill: &str) -> String {
    let missing = length.saturating_sub(text.chars().count());
    fill.chars().cycle().take(missing).chain(text.chars()).take(length).collect()
}

/// Counted in characters from 1; 0 is 1; negative counts from the end and is NULL beyond the beginning.
fn part(text: &str, start: i64, length: Option<i64>) -> Option<String> {
    let skipped = match start {
        0 => 0,
        1.. => usize::try_from(start - 1).ok()?,
        _ => text.chars().count().checked_sub(usize::try_from(start.unsigned_abs()).ok()?)?,
    };
    let taken = match length {
        None => usize::MAX,
        Some(length) => usize::try_from(length).ok()?,
    };
    Some(text.chars().skip(skipped).take(taken).collect())
}

/// Argument 1 as a regular expression.
pub(super) fn pattern(args: &ScalarFunctionArgs) -> Result<Option<Regex>> {
    let Some(text) = constant_text(args, 1, "a pattern")? else { return Ok(None) };
    let translated = java_pattern::translated(&text, false);
    match translated.and_then(|pattern| Regex::new(&pattern).map_err(|error| error.to_string())) {
        Ok(pattern) => Ok(Some(pattern)),
        Err(error) => exec_err!("{text} is no regular expression: {error}"),
    }
}

fn run_regexp_substr(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (pattern, starts) = (pattern(args)?, numbers(args, 2)?);
    map_texts(args, |text, row| {
        let start = starts.as_ref().map_or(Some(1), |starts| number(starts, row));
        let (Some(pattern), Some(start)) = (&pattern, start) else { return Ok(None) };
        let Some(rest) = part(text, start, None) else { return Ok(None) };
        Ok(pattern.find(&rest).map(|found| found.as_str().to_owned()))
    })
}

fn run_regexp_replace(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let pattern = pattern(args)?;
    let replacement = constant_text(args, 2, "a replacement")?.unwrap_or_default();
    map_texts(args, |text, _| {
        Ok(pattern.as_ref().map(|pattern| pattern.replace_all(text, replacement.as_str()).into_owned()))
    })
}

/// Plans `||`: NULL counts as an empty text, and numbers and dates become texts. Binary values and lists keep the
/// planner's operator.
#[derive(Debug)]
pub(crate) struct Concatenation {
    function: Arc<ScalarUDF>,
    substr: Arc<ScalarUDF>,
}

impl Concatenation {
    pub(crate) fn new() -> Self {
        let coerce = |_: &str, found: &[DataType]| Ok(vec![DataType::Utf8; found.len()]);
        let function = Plain::function("$concat", coerce, |_| DataType::Utf8, run_concat);
        Self { function: Arc::new(function), substr: Arc::new(substr()) }
    }
}

impl ExprPlanner for Concatenation {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_texts = |expr: &Expr| match expr.get_type(schema) {
            Ok(DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_)) => false,
            Ok(data_type) => !data_type.is_nested(),
            Err(_) => false,
        };
        if expr.op != BinaryOperator::StringConcat || !is_texts(&expr.left) || !is_texts(&expr.right) {
            return Ok(PlannerResult::Original(expr));
        }
        Ok(PlannerResult::Planned(self.function.call(vec![expr.left, expr.right])))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(self.substr.call(args)))
    }
}

fn run_concat(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let columns: Vec<ArrayRef> =
        args.args.iter().map(|argument| argument.to_array(args.number_rows)).collect::<Result<_>>()?;
    let columns: Vec<&StringArray> = columns.iter().map(|column| column.as_string::<i32>()).collect();
    let mut built = StringBuilder::new();
    let mut text = String::new();
    for row in 0..args.number_rows {
        text.clear();
        for column in columns.iter().filter(|column| column.is_valid(row)) {
            text.push_str(column.value(row));
        }
        built.append_option((!text.is_empty()).then_some(&text));
    }
    Ok(ColumnarValue::Array(Arc::new(built.finish())))
}

/// A function of the planner whose empty texts become NULL.
pub(crate) fn empty_is_null(inner: &Arc<ScalarUDF>) -> ScalarUDF {
    ScalarUDF::new_from_impl(EmptyIsNull { inner: Arc::clone(inner) })
}

#[derive(Debug)]
struct EmptyIsNull {
    inner: Arc<ScalarUDF>,
}

impl PartialEq for EmptyIsNull {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for EmptyIsNull {}

impl Hash for EmptyIsNull {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for EmptyIsNull {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match self.inner.invoke_with_args(args)? {
            ColumnarValue::Scalar(value) => match value.try_as_str() {
                Some(Some("")) => Ok(ColumnarValue::Scalar(ScalarValue::try_from(&value.data_type())?)),
                _ => Ok(ColumnarValue::Scalar(value)),
            },
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(without_empty(&array)?)),
        }
    }
}

fn without_empty(array: &ArrayRef) -> Result<ArrayRef> {
    if !is_text(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    let texts = cast(array, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    if texts.iter().all(|text| text != Some("")) {
        return Ok(Arc::clone(array));
    }
    let filled: StringArray = texts.iter().map(|text| text.filter(|text| !text.is_empty())).collect();
    Ok(cast(&filled, array.data_type())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_as_in_phoenix() {
        let part = |start, length| part("hello", start, length);
        assert_eq!(part(2, None).as_deref(), Some("ello"));
        assert_eq!(part(-3, Some(2)).as_deref(), Some("ll"));
        assert_eq!(part(0, Some(2)).as_deref(), Some("he"));
        assert_eq!(part(50, None).as_deref(), Some(""));
        assert_eq!(part(-9, None), None);
        assert_eq!(part(1, Some(-1)), None);
    }
}
