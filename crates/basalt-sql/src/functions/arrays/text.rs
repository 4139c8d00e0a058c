// SPDX-License-Identifier: Apache-2.0
//! Between arrays and texts: ARRAY_TO_STRING, STRING_TO_ARRAY, REGEXP_SPLIT. An empty text is NULL, also as an element.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::{element, list_of, lists, span};
use crate::functions::plain::{Plain, count, texts};
use crate::functions::text::pattern;

pub(super) fn functions() -> [ScalarUDF; 3] {
    let list = |_: &[DataType]| list_of(DataType::Utf8);
    [
        Plain::function("array_to_string", coerce_join, |_| DataType::Utf8, run_join),
        Plain::function("string_to_array", |name, found| texts(name, found, 2, 3), list, run_split),
        Plain::function("regexp_split", |name, found| texts(name, found, 2, 2), list, run_regexp_split),
    ]
}

fn coerce_join(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 2, 3)?;
    let list = list_of(element(name, &found[0])?);
    Ok([vec![list], texts(name, &found[1..], 1, 2)?].concat())
}

/// Argument `index` as texts, if it is there.
fn column(args: &ScalarFunctionArgs, index: usize) -> Result<Option<ArrayRef>> {
    args.args.get(index).map(|argument| argument.to_array(args.number_rows)).transpose()
}

fn value(column: &ArrayRef, row: usize) -> Option<&str> {
    let texts = column.as_string::<i32>();
    texts.is_valid(row).then(|| texts.value(row))
}

fn run_join(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let lists = lists(args, 0)?;
    let delimiters = args.args[1].to_array(args.number_rows)?;
    let placeholders = column(args, 2)?;
    let elements = cast(lists.values(), &DataType::Utf8)?;
    let is_decimal =
        matches!(lists.values().data_type(), DataType::Decimal128(..) | DataType::Decimal256(..));
    let join = |row: usize| {
        let delimiter = value(&delimiters, row).unwrap_or_default();
        let placeholder = placeholders.as_ref().and_then(|column| value(column, row));
        let parts = span(&lists, row).filter_map(|index| match value(&elements, index) {
            // The zeros behind a DECIMAL are not stored either.
            Some(text) if is_decimal && text.contains('.') => {
                Some(text.trim_end_matches('0').trim_end_matches('.'))
            }
            Some(text) => Some(text),
            None => placeholder,
        });
        let joined = parts.collect::<Vec<_>>().join(delimiter);
        (!joined.is_empty()).then_some(joined)
    };
    Ok(ColumnarValue::Array(Arc::new((0..lists.len()).map(join).collect::<StringArray>())))
}

/// One array of parts per row; `parts` gives NULL for a row without text.
fn split<'a>(
    texts: &'a ArrayRef,
    mut parts: impl FnMut(&'a str, usize) -> Result<Vec<Option<&'a str>>>,
) -> Result<ColumnarValue> {
    let mut built = ListBuilder::new(StringBuilder::new());
    for row in 0..texts.len() {
        let parts = match value(texts, row) {
            Some(text) => parts(text, row)?,
            None => vec![],
        };
        built.values().extend(parts.iter().map(|part| part.filter(|part| !part.is_empty())));
        built.append(!parts.is_empty());
    }
    Ok(ColumnarValue::Array(Arc::new(built.finish())))
}

fn run_split(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let texts = args.args[0].to_array(args.number_rows)?;
    let delimiters = args.args[1].to_array(args.number_rows)?;
    let nulls = column(args, 2)?;
    split(&texts, |text, row| {
        // Without a delimiter there is nothing to say about the parts.
        let Some(delimiter) = value(&delimiters, row) else { return Ok(vec![]) };
        let null = nulls.as_ref().and_then(|column| value(column, row));
        Ok(text.split(delimiter).map(|part| (Some(part) != null).then_some(part)).collect())
    })
}

fn run_regexp_split(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let texts = args.args[0].to_array(args.number_rows)?;
    let pattern = pattern(args)?;
    split(&texts, |text, _| Ok(pattern.iter().flat_map(|pattern| pattern.split(text)).map(Some).collect()))
}
