// SPDX-License-Identifier: Apache-2.0
//! A scalar function made of plain Rust functions: what DataFusion asks of one, in one place.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// See the module.
#[derive(Debug)]
pub(super) struct Plain {
    name: &'static str,
    signature: Signature,
    coerce: fn(&str, &[DataType]) -> Result<Vec<DataType>>,
    return_type: ReturnType,
    run: fn(&ScalarFunctionArgs) -> Result<ColumnarValue>,
}

/// What the type of the answer depends on.
#[derive(Debug, Clone, Copy)]
enum ReturnType {
    /// The types of the arguments.
    Types(fn(&[DataType]) -> DataType),
    /// Those that are literals, too.
    Literals(fn(&[DataType], &[Option<&ScalarValue>]) -> DataType),
}

impl Plain {
    /// `coerce` gets the name and the types of the arguments, says to which types they are cast, and refuses what
    /// cannot be; `return_type` gets the types after that.
    pub(super) fn function(
        name: &'static str,
        coerce: fn(&str, &[DataType]) -> Result<Vec<DataType>>,
        return_type: fn(&[DataType]) -> DataType,
        run: fn(&ScalarFunctionArgs) -> Result<ColumnarValue>,
    ) -> ScalarUDF {
        let signature = Signature::user_defined(Volatility::Immutable);
        ScalarUDF::new_from_impl(Self {
            name,
            signature,
            coerce,
            return_type: ReturnType::Types(return_type),
            run,
        })
    }

    /// The same, where `return_type` gets the literals among the arguments, too.
    pub(super) fn by_literals(
        name: &'static str,
        coerce: fn(&str, &[DataType]) -> Result<Vec<DataType>>,
        return_type: fn(&[DataType], &[Option<&ScalarValue>]) -> DataType,
        run: fn(&ScalarFunctionArgs) -> Result<ColumnarValue>,
    ) -> ScalarUDF {
        let signature = Signature::user_defined(Volatility::Immutable);
        let return_type = ReturnType::Literals(return_type);
        ScalarUDF::new_from_impl(Self { name, signature, coerce, return_type, run })
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Plain {}

impl Hash for Plain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Plain {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        (self.coerce)(self.name, arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(match self.return_type {
            ReturnType::Types(of) => of(arg_types),
            ReturnType::Literals(of) => of(arg_types, &[]),
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let data_type = match self.return_type {
            ReturnType::Types(of) => of(&types),
            ReturnType::Literals(of) => of(&types, args.scalar_arguments),
        };
        Ok(Arc::new(Field::new(self.name, data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        (self.run)(&args)
    }
}

/// Texts, of which the last ones may be left out.
pub(super) fn texts(name: &str, found: &[DataType], least: usize, most: usize) -> Result<Vec<DataType>> {
    count(name, found, least, most)?;
    if let Some(other) = found.iter().find(|data_type| !is_text(data_type)) {
        return plan_err!("{} takes texts, not {other}", name.to_uppercase());
    }
    Ok(vec![DataType::Utf8; found.len()])
}

/// An error unless there are that many arguments.
pub(super) fn count(name: &str, found: &[DataType], least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&found.len()) {
        return Ok(());
    }
    let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
    plan_err!("{} takes {wanted} arguments, not {}", name.to_uppercase(), found.len())
}

/// A text or NULL.
pub(super) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 | DataType::Null)
}

/// The text of argument `index` if it is there and the same for all rows; formats and units have to be.
pub(super) fn constant_text(args: &ScalarFunctionArgs, index: usize, what: &str) -> Result<Option<String>> {
    match args.args.get(index) {
        None => Ok(None),
        Some(ColumnarValue::Scalar(value)) => match value {
            ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
                Ok(text.clone())
            }
            value if value.is_null() => Ok(None),
            other => exec_err!("{what} must be a text, not {other}"),
        },
        Some(ColumnarValue::Array(_)) => exec_err!("{what} must be a literal, not a column"),
    }
}
