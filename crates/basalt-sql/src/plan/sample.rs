// SPDX-License-Identifier: Apache-2.0
//! `FROM t TABLESAMPLE (12.5)`: a part of the rows of a table, in percent, before anything else is asked of them.
//!
//! A row belongs to a sample by a hash of its key alone: the same rows come each time, whichever index is read and however the
//! table is stored, a smaller sample is a part of a larger one, and WHERE, joins and totals are those of the sampled rows. With
//! `REPEATABLE (n)` the rows are others for another n.
//!
//! ```text
//! hash of the key, 0 .. 2^64 - 1    |--- 12.5 % ---|------------------------------------|
//!                                     in the sample   not
//! ```

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use basalt_model::{TableId, TableSchema};
use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, Result as PlanResult, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use datafusion::sql::sqlparser::ast::{
    TableSample, TableSampleMethod, TableSampleModifier, TableSampleQuantity, TableSampleSeed,
    TableSampleUnit, Value,
};

use super::Planning;
use super::row_facts::each_key;
use crate::constant;
use crate::error::SqlError;
use crate::scan::BasaltTable;

/// Stands between the name of a table and a sample; no text can be typed with it.
pub(super) const MARK: char = '\u{5}';

/// Which rows of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    /// 0 to 100.
    percent: f64,
    seed: u64,
}

impl Sample {
    /// What the clause says.
    pub(super) fn read(planning: &Planning, clause: TableSample) -> Result<Self, SqlError> {
        let written = clause.to_string();
        let form = || {
            SqlError::statement(format!(
                "expected TABLESAMPLE (percent), with REPEATABLE (n) behind it if wanted; found {}",
                written.trim()
            ))
        };
        let TableSample {
            modifier: TableSampleModifier::TableSample,
            name: None | Some(TableSampleMethod::Bernoulli),
            quantity:
                Some(TableSampleQuantity {
                    parenthesized: true,
                    value,
                    unit: None | Some(TableSampleUnit::Percent),
                }),
            seed,
            bucket: None,
            offset: None,
        } = clause
        else {
            return Err(form());
        };
        let seed = match seed {
            None => 0,
            Some(TableSampleSeed { value, .. }) => match value.value {
                Value::Number(number, _) => number.parse().map_err(|_| form())?,
                _ => return Err(form()),
            },
        };
        let percent = constant::evaluate_now(planning, value)?.cast_to(&DataType::Float64);
        match percent {
            Ok(ScalarValue::Float64(Some(percent))) if (0.0..=100.0).contains(&percent) => {
                Ok(Self { percent, seed })
            }
            _ => Err(SqlError::statement(format!(
                "TABLESAMPLE takes a percentage from 0 to 100; found {}",
                written.trim()
            ))),
        }
    }

    /// The name of a table with this sample.
    pub(super) fn mark(self, table: &str) -> String {
        format!("{table}{MARK}{} {}", self.percent, self.seed)
    }

    /// The name of a table without its sample, and the sample.
    pub(super) fn split(name: &str) -> (&str, Option<Self>) {
        let Some((own, sample)) = name.split_once(MARK) else { return (name, None) };
        let sample = sample.split_once(' ').and_then(|(percent, seed)| {
            Some(Self { percent: percent.parse().ok()?, seed: seed.parse().ok()? })
        });
        (own, sample)
    }

    /// The condition for a row of the table; `None` if all satisfy it.
    pub(super) fn condition(self, table: &BasaltTable) -> Option<Expr> {
        if self.percent >= 100.0 {
            return None;
        }
        if self.percent <= 0.0 {
            return Some(lit(false));
        }
        let schema = Arc::new(table.table_schema().clone());
        let key = schema.key.iter().map(|key| Expr::Column(Column::new_unqualified(&key.name)));
        let args = [lit(self.percent)].into_iter().chain(key).collect();
        let function = ScalarUDF::new_from_impl(Sampled {
            id: table.id,
            seed: self.seed,
            schema: Arc::clone(&schema),
            signature: Signature::variadic_any(Volatility::Immutable),
        });
        Some(function.call(args))
    }
}

/// Whether a row is in a sample of its table: `tablesample(percent, key columns ..)`.
#[derive(Debug)]
struct Sampled {
    id: TableId,
    seed: u64,
    schema: Arc<TableSchema>,
    signature: Signature,
}

impl PartialEq for Sampled {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.seed) == (other.id, other.seed)
    }
}

impl Eq for Sampled {}

impl Hash for Sampled {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.id, self.seed).hash(state);
    }
}

impl ScalarUDFImpl for Sampled {
    fn name(&self) -> &str {
        "tablesample"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let Some((ColumnarValue::Scalar(ScalarValue::Float64(Some(percent))), key)) = args.args.split_first()
        else {
            return Err(SqlError::internal("a sample without its percentage").into());
        };
        // Exact enough: 2^64 as a DOUBLE, of which the conversion keeps what u64 has.
        let end = (percent / 100.0 * 2.0_f64.powi(64)) as u64;
        let mut is_in = Vec::with_capacity(args.number_rows);
        each_key(&self.schema, key, args.number_rows, |key| is_in.push(hash(key, self.seed) < end))?;
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(is_in))))
    }
}

/// FNV-1a, whose upper bits are then mixed as well as its lower ones are. It must stay as it is: samples are told apart by it.
fn hash(key: &[u8], seed: u64) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut mixed = key.iter().fold(0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), fold);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
