// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, Float64Array, Int64Array};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::col;

use super::*;

fn schema() -> Arc<Schema> {
    let field = |name, data_type| Field::new(name, data_type, true);
    Arc::new(Schema::new(vec![field("key", DataType::Float64), field("row", DataType::Int64)]))
}

/// Rows of these keys, numbered by what they are at.
fn batches(rows: &[(Option<f64>, i64)], batch_rows: usize) -> Vec<Result<RecordBatch>> {
    let batch = |rows: &[(Option<f64>, i64)]| {
        let keys: Float64Array = rows.iter().map(|row| row.0).collect();
        let numbers: Int64Array = rows.iter().map(|row| Some(row.1)).collect();
        Ok(RecordBatch::try_new(schema(), vec![Arc::new(keys), Arc::new(numbers)])?)
    };
    rows.chunks(batch_rows).map(batch).collect()
}

/// What comes of a page of these rows and of all of them, as numbers of rows by batch.
async fn shown(page: &[(Option<f64>, i64)], all: &[(Option<f64>, i64)]) -> Vec<Vec<i64>> {
    let options = SortOptions { descending: false, nulls_first: true };
    let key = PhysicalSortExpr { expr: col("key", &schema()).expect("a column"), options };
    let page = Box::pin(RecordBatchStreamAdapter::new(schema(), stream::iter(batches(page, 30))));
    let all = stream::iter(batches(all, 64)).boxed();
    let rows = page_and_rest(page, [key].into(), all).await.expect("keys that sort");
    let rows: Vec<RecordBatch> = rows.try_collect().await.expect("rows");
    rows.iter().map(|batch| batch.column(1).as_primitive::<Int64Type>().values().to_vec()).collect()
}

#[tokio::test]
async fn rows_of_the_last_key_of_the_page_come_with_the_others() {
    // Three rows of each key, NULL first; the page has another one of the three of the last.
    let key = |n: i64| (n >= 3).then_some((n / 3) as f64);
    let all: Vec<_> = (0..300).map(|n| (key(n), n)).collect();
    let mut page = all[..PAGE].to_vec();
    page[PAGE - 1] = all[PAGE + 1];
    let shown = shown(&page, &all).await;
    assert_eq!(shown[0], (0..99).collect::<Vec<_>>());
    assert_eq!(shown.concat(), (0..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_page_of_one_key_is_left_to_the_sort() {
    let all: Vec<_> = (0..250).map(|n| (Some(-0.0), n)).collect();
    let mut page = all[100..200].to_vec();
    page.reverse();
    assert_eq!(shown(&page, &all).await.concat(), (0..250).collect::<Vec<_>>());
}

#[tokio::test]
async fn rows_that_are_gone_since_take_none_with_them() {
    // Ten rows of the page have expired when all rows are read.
    let all: Vec<_> = (0..300).map(|n| (Some(n as f64), n)).collect();
    let left: Vec<_> = all.iter().copied().filter(|(_, n)| !(20..30).contains(n)).collect();
    assert_eq!(shown(&all[..PAGE], &left).await.concat(), (0..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn fewer_rows_than_a_page_are_all() {
    let all: Vec<_> = (0..PAGE as i64 - 1).map(|n| (Some(n as f64), n)).collect();
    let rest = [(Some(0.0), 1_000)];
    assert_eq!(shown(&all, &rest).await.concat(), (0..PAGE as i64 - 1).collect::<Vec<_>>());
    assert!(shown(&[], &rest).await.concat().is_empty());
}
