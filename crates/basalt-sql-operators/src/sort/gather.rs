// SPDX-License-Identifier: Apache-2.0
//! Rows from many batches into one. Arrow's `interleave` brings the buffers of texts of all batches along each time; here the
//! texts of a batch are copied, which for thousands of batches is less.

use std::sync::Arc;

use datafusion::arrow::array::builder::StringViewBuilder;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;

/// Bytes of long texts in one buffer.
const TEXT_BLOCK_BYTES: u32 = 1 << 18;

/// The rows at these places, each a batch and a row of it.
pub(super) fn gather(
    batches: &[RecordBatch],
    places: &[(usize, usize)],
    schema: SchemaRef,
) -> Result<RecordBatch> {
    let column = |index: usize| -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(index).as_ref()).collect();
        match schema.field(index).data_type() {
            DataType::Utf8View => Ok(texts(&arrays, places)),
            _ => Ok(interleave(&arrays, places)?),
        }
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(schema, columns)?)
}

fn texts(arrays: &[&dyn Array], places: &[(usize, usize)]) -> ArrayRef {
    let arrays: Vec<&StringViewArray> = arrays.iter().map(|array| array.as_string_view()).collect();
    let mut texts = StringViewBuilder::with_capacity(places.len()).with_fixed_block_size(TEXT_BLOCK_BYTES);
    for &(batch, row) in places {
        match arrays[batch] {
            array if array.is_null(row) => texts.append_null(),
            array => texts.append_value(array.value(row)),
        }
    }
    Arc::new(texts.finish())
}
