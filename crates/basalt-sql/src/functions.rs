// SPDX-License-Identifier: Apache-2.0
//! Functions that Phoenix has and the planner has not, or has with other arguments.

mod alike;
mod arithmetic;
mod arrays;
mod average;
mod binary;
mod binary_keys;
mod blanks;
mod calendar;
mod cases;
mod collation;
mod date_format;
mod dates;
mod digest;
mod division;
mod escaped;
mod exact;
mod instant;
mod instants;
mod json;
mod mixed;
mod names;
mod now;
mod number_format;
mod number_text;
mod numbered;
mod numbers;
mod plain;
mod product;
mod rounding;
mod text;
mod unsigned;
mod wide;
mod wide_sum;
mod zones;

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use basalt_store::env::Random;
use datafusion::arrow::array::Float64Array;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::scalar::ScalarValue;
use parking_lot::Mutex;

pub(crate) use arithmetic::CheckedArithmetic;
pub(crate) use arrays::{ALL_OF, ANY_OF, ArraySyntax, FIRST_OF};
pub(crate) use average::average;
pub(crate) use binary::BASE62;
pub(crate) use binary_keys::PaddedKeys;
pub(crate) use blanks::CharBlanks;
pub(crate) use cases::{LOWER, UPPER};
pub(crate) use dates::DateArithmetic;
pub(crate) use division::ExactDivision;
pub(crate) use escaped::{FROM_ESCAPED, TO_ESCAPED};
pub(crate) use exact::decimals;
pub(crate) use instant::{iso, parse_instant};
pub(crate) use instants::ComparedInstants;
pub(crate) use mixed::MixedNumbers;
pub(crate) use numbered::NUMBERED;
pub(crate) use numbers::{PhoenixNumbers, WideCasts};
pub(crate) use product::RoundedProducts;
pub(crate) use text::Concatenation;
pub(crate) use unsigned::NOT_NEGATIVE;
pub(crate) use wide::WideArithmetic;
pub(crate) use wide_sum::{ALL_DIGITS, bigint_sum, fraction, put_together, unsigned_long_sum, whole_part};

/// Functions that replace those of the planner or come to them, by name in lower case. `planners` are its own.
pub(crate) fn phoenix(planners: &HashMap<String, Arc<ScalarUDF>>) -> HashMap<String, Arc<ScalarUDF>> {
    let mut all = vec![
        text::substr(),
        text::lpad(),
        text::rpad(),
        text::repeat(),
        text::regexp_substr(),
        text::regexp_replace(),
        dates::to_char(),
    ];
    all.extend(rounding::functions());
    all.extend(dates::from_text());
    all.extend(dates::parts());
    all.extend(arrays::functions());
    all.extend(binary::functions());
    all.extend(zones::functions());
    all.extend(json::functions());
    all.extend(cases::functions());
    all.extend(escaped::functions());
    all.extend(names::functions());
    all.extend(now::functions());
    all.push(collation::function());
    all.push(number_text::to_number());
    all.push(unsigned::not_negative());
    all.push(numbered::function());
    let wrapped = text::MAY_BE_EMPTY.iter().filter_map(|name| planners.get(*name));
    all.extend(wrapped.map(text::empty_is_null));
    all.extend(planners.get("md5").map(digest::md5));
    let mut functions: HashMap<_, _> =
        all.into_iter().map(|function| (function.name().to_owned(), Arc::new(function))).collect();
    for (alias, name) in [("trim", "btrim"), ("substring", "substr"), ("ceiling", "ceil")] {
        functions.extend(functions.get(name).cloned().map(|function| (alias.to_owned(), function)));
    }
    functions
}

/// The name of [`rand`].
pub(crate) const RAND: &str = "rand";

/// The same value, without what is noted of its column.
pub(crate) fn as_it_is() -> ScalarUDF {
    plain::Plain::function(
        "$as_it_is",
        |_, found| Ok(found.to_vec()),
        |found| found[0].clone(),
        |args| Ok(args.args[0].clone()),
    )
}

/// `RAND([seed])`: a DOUBLE in [0, 1). Without seed, other values each time; with a seed, the same sequence of
/// values in every statement (dealt to rows in the order in which they are computed). Make one per mention: as in Phoenix each has its
/// own sequence, so that two of one seed are equal in each row.
pub(crate) fn rand(random: Arc<dyn Random>) -> ScalarUDF {
    ScalarUDF::new_from_impl(Rand {
        signature: Signature::one_of(
            vec![TypeSignature::Nullary, TypeSignature::Exact(vec![DataType::Int64])],
            Volatility::Volatile,
        ),
        random,
        seeded: Mutex::default(),
    })
}

#[derive(Debug)]
struct Rand {
    signature: Signature,
    random: Arc<dyn Random>,
    seeded: Mutex<HashMap<i64, SplitMix>>,
}

impl PartialEq for Rand {
    fn eq(&self, other: &Self) -> bool {
        self.signature == other.signature
    }
}

impl Eq for Rand {}

impl Hash for Rand {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl ScalarUDFImpl for Rand {
    fn name(&self) -> &str {
        RAND
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let values: Float64Array = match args.args.first() {
            None | Some(ColumnarValue::Scalar(ScalarValue::Int64(None))) => {
                SplitMix(self.random.next_u64()).doubles(rows).into()
            }
            Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(seed)))) => {
                let mut seeded = self.seeded.lock();
                seeded.entry(*seed).or_insert(SplitMix(*seed as u64)).doubles(rows).into()
            }
            Some(_) => return exec_err!("the seed of RAND must be a number, not a column"),
        };
        Ok(ColumnarValue::Array(Arc::new(values)))
    }
}

/// SplitMix64: 64 bits of state, equidistributed, a few cycles per value.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn doubles(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next_double()).collect()
    }

    /// The upper 53 bits as a fraction.
    fn next_double(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
