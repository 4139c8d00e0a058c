// SPDX-License-Identifier: Apache-2.0
//! `x = ANY(a)` and `x < ALL(a)`: a comparison with the elements of an array. As in the SQL standard, a NULL among them
//! leaves the answer open where the others do not decide it.

use datafusion::arrow::array::{Array, BooleanArray, UInt32Array};
use datafusion::arrow::compute::kernels::cmp;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use std::sync::Arc;

use super::{common, element, list_of, lists, span};
use crate::functions::plain::{Plain, constant_text, count};

/// The call that stands for `x op ANY(a)`: its arguments are op, x and a.
pub(crate) const ANY_OF: &str = "$any_of";
/// The call that stands for `x op ALL(a)`.
pub(crate) const ALL_OF: &str = "$all_of";

pub(super) fn functions() -> [ScalarUDF; 2] {
    [
        Plain::function(ANY_OF, coerce, |_| DataType::Boolean, |args| run(args, true)),
        Plain::function(ALL_OF, coerce, |_| DataType::Boolean, |args| run(args, false)),
    ]
}

fn coerce(_: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count("any", found, 3, 3)?;
    let common = common("any", &[found[1].clone(), element("any", &found[2])?])?;
    Ok(vec![DataType::Utf8, common.clone(), list_of(common)])
}

/// `decisive` is the comparison that settles a row: true for ANY, false for ALL.
fn run(args: &ScalarFunctionArgs, decisive: bool) -> Result<ColumnarValue> {
    let compare = match constant_text(args, 0, "an operator")?.as_deref() {
        Some("=") => cmp::eq,
        Some("<>") => cmp::neq,
        Some("<") => cmp::lt,
        Some("<=") => cmp::lt_eq,
        Some(">") => cmp::gt,
        Some(">=") => cmp::gt_eq,
        _ => return exec_err!("ANY and ALL follow =, <>, <, <=, > or >="),
    };
    let left = args.args[1].to_array(args.number_rows)?;
    let lists = lists(args, 2)?;
    let spans = (0..lists.len()).map(|row| (row as u32, span(&lists, row)));
    let pairs: (Vec<u32>, Vec<u32>) =
        spans.flat_map(|(row, span)| span.map(move |index| (row, index as u32))).unzip();
    let left = take(&left, &UInt32Array::from(pairs.0), None)?;
    let elements = take(lists.values(), &UInt32Array::from(pairs.1), None)?;
    let compared = compare(&left, &elements)?;
    let mut at = 0;
    let answer = |row: usize| {
        let from = at;
        at += span(&lists, row).len();
        if lists.is_null(row) {
            return None;
        }
        let mut known = true;
        for index in from..at {
            if compared.is_null(index) {
                known = false;
            } else if compared.value(index) == decisive {
                return Some(decisive);
            }
        }
        known.then_some(!decisive)
    };
    let answers: BooleanArray = (0..lists.len()).map(answer).collect();
    Ok(ColumnarValue::Array(Arc::new(answers)))
}
