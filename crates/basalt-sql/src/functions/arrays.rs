// SPDX-License-Identifier: Apache-2.0
//! Arrays in expressions: literals `ARRAY[1, 2]`, elements `a[1]`, and the functions of Phoenix.
//!
//! An array without elements cannot be stored and cannot be told from NULL, as the empty text: where a function leaves
//! no element its result is NULL. Elements are counted from 1.

mod change;
mod compare;
mod text;

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListArray, UInt32Array};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::{DFSchema, Result, exec_err, plan_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{ColumnarValue, Expr, GetFieldAccess, ScalarFunctionArgs, ScalarUDF};

use super::mixed;
use super::plain::{Plain, count, is_text};
pub(crate) use change::FIRST_OF;
pub(crate) use compare::{ALL_OF, ANY_OF};

/// All functions of this module.
pub(super) fn functions() -> Vec<ScalarUDF> {
    let length = Plain::function(
        "array_length",
        |name, found| {
            count(name, found, 1, 1)?;
            Ok(vec![list_of(element(name, &found[0])?)])
        },
        |_| DataType::Int32,
        run_length,
    );
    let mut all = vec![elem(), length];
    all.extend(change::functions());
    all.extend(compare::functions());
    all.extend(text::functions());
    all
}

/// Plans `ARRAY[..]` and `a[i]`.
#[derive(Debug)]
pub(crate) struct ArraySyntax {
    literal: Arc<ScalarUDF>,
    elem: Arc<ScalarUDF>,
}

impl ArraySyntax {
    pub(crate) fn new() -> Self {
        let coerce = |name: &str, found: &[DataType]| Ok(vec![common(name, found)?; found.len()]);
        let literal = Plain::function("array", coerce, |found| list_of(found[0].clone()), run_literal);
        Self { literal: Arc::new(literal), elem: Arc::new(elem()) }
    }
}

impl ExprPlanner for ArraySyntax {
    fn plan_array_literal(&self, exprs: Vec<Expr>, _schema: &DFSchema) -> Result<PlannerResult<Vec<Expr>>> {
        if exprs.is_empty() {
            return plan_err!("an array needs at least one element; write NULL for none");
        }
        Ok(PlannerResult::Planned(self.literal.call(exprs)))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        match expr.field_access {
            GetFieldAccess::ListIndex { key } => {
                Ok(PlannerResult::Planned(self.elem.call(vec![expr.expr, *key])))
            }
            _ => plan_err!(
                "an element of an array is written a[i], with a number; parts a[i:j] are not supported"
            ),
        }
    }
}

/// ARRAY_ELEM(a, i), which is a[i].
fn elem() -> ScalarUDF {
    let coerce = |name: &str, found: &[DataType]| {
        count(name, found, 2, 2)?;
        let element = element(name, &found[0])?;
        match &found[1] {
            index if index.is_integer() || index.is_null() => Ok(vec![list_of(element), DataType::Int64]),
            other => plan_err!("the index of an array cannot be of type {other}"),
        }
    };
    let return_type = |found: &[DataType]| element_of(&found[0]).clone();
    Plain::function("array_elem", coerce, return_type, run_elem)
}

fn run_elem(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let lists = lists(args, 0)?;
    let indices = args.args[1].to_array(args.number_rows)?;
    let indices = indices.as_primitive::<Int64Type>();
    let mut wanted = Vec::with_capacity(lists.len());
    for row in 0..lists.len() {
        let span = span(&lists, row);
        wanted.push(match indices.is_valid(row).then(|| indices.value(row)) {
            Some(index @ ..1) => return exec_err!("elements of an array are counted from 1; found {index}"),
            Some(index) => {
                let within = usize::try_from(index - 1).ok().filter(|index| *index < span.len());
                within.map(|index| (span.start + index) as u32)
            }
            None => None,
        });
    }
    Ok(ColumnarValue::Array(take(lists.values(), &UInt32Array::from(wanted), None)?))
}

fn run_length(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let lists = lists(args, 0)?;
    let length = |row| lists.is_valid(row).then(|| span(&lists, row).len() as i32);
    Ok(ColumnarValue::Array(Arc::new((0..lists.len()).map(length).collect::<Int32Array>())))
}

fn run_literal(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let columns: Vec<ArrayRef> =
        args.args.iter().map(|argument| argument.to_array(args.number_rows)).collect::<Result<_>>()?;
    let all = concat(&columns.iter().map(AsRef::as_ref).collect::<Vec<_>>())?;
    let (rows, width) = (args.number_rows as u32, columns.len() as u32);
    let order = (0..rows).flat_map(|row| (0..width).map(move |column| column * rows + row));
    let values = take(&all, &UInt32Array::from_iter_values(order), None)?;
    built(values, std::iter::repeat_n(columns.len(), args.number_rows))
}

/// The type of arrays of such elements.
fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// The type of an array's elements; NULL is an array of NULLs.
fn element(name: &str, found: &DataType) -> Result<DataType> {
    match found {
        DataType::List(field) => Ok(usual(field.data_type())),
        DataType::Null => Ok(DataType::Null),
        other => plan_err!("{} takes an array, not {other}", name.to_uppercase()),
    }
}

fn element_of(list: &DataType) -> &DataType {
    match list {
        DataType::List(field) => field.data_type(),
        _ => &DataType::Null,
    }
}

/// One of the types that hold the same values.
fn usual(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary | DataType::FixedSizeBinary(_) => DataType::Binary,
        other => other.clone(),
    }
}

/// The type to which all of these can be brought without a CAST.
fn common(name: &str, found: &[DataType]) -> Result<DataType> {
    let known: Vec<DataType> = found.iter().filter(|found| !found.is_null()).map(usual).collect();
    let Some(first) = known.first() else { return Ok(DataType::Null) };
    let one_kind = known.iter().all(|other| {
        other == first
            || other.is_numeric() && first.is_numeric()
            || is_text(other) && is_text(first)
            || other.is_temporal() && first.is_temporal()
    });
    let union = || mixed::common(known.iter()).or_else(|| type_union_resolution(&known));
    match one_kind.then(union).flatten() {
        Some(common) => Ok(usual(&common)),
        None => {
            let other = known.iter().find(|other| *other != first).unwrap_or(first);
            plan_err!("{}: there is no common type of {first} and {other}", name.to_uppercase())
        }
    }
}

/// Argument `index`, one array per row.
fn lists(args: &ScalarFunctionArgs, index: usize) -> Result<ListArray> {
    Ok(args.args[index].to_array(args.number_rows)?.as_list::<i32>().clone())
}

/// Where the elements of a row lie; nowhere for NULL.
fn span(lists: &ListArray, row: usize) -> Range<usize> {
    if lists.is_null(row) {
        return 0..0;
    }
    let offsets = lists.value_offsets();
    offsets[row] as usize..offsets[row + 1] as usize
}

/// The rows' arrays, cut from all of their elements; one without elements is NULL.
fn built(elements: ArrayRef, lengths: impl Iterator<Item = usize> + Clone) -> Result<ColumnarValue> {
    let nulls: NullBuffer = lengths.clone().map(|length| length > 0).collect();
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    let lists = ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), elements, Some(nulls))?;
    Ok(ColumnarValue::Array(Arc::new(lists)))
}
