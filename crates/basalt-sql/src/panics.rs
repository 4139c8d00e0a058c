// SPDX-License-Identifier: Apache-2.0
//! Bugs that panic below a statement: the statement ends with an error, and its session goes on. What a statement changes becomes visible
//! as a whole or not at all, so nothing is left half done.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;
use tokio::task::JoinError;

use crate::error::SqlError;

/// What `work` comes to, or an error if it panics.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, SqlError>) -> Result<T, SqlError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(error(panic.as_ref())))
}

/// What the future comes to, or an error if it panics.
pub(crate) async fn caught_async<T>(work: impl Future<Output = Result<T, SqlError>>) -> Result<T, SqlError> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(error(panic.as_ref())))
}

/// The error of a statement with a task that did not end.
pub(crate) fn of_task(ended: JoinError) -> SqlError {
    match ended.try_into_panic() {
        Ok(panic) => error(panic.as_ref()),
        Err(ended) => SqlError::internal(format!("a part of the statement was ended: {ended}")),
    }
}

/// The error of a statement below which this panic happened.
pub(crate) fn error(panic: &(dyn Any + Send)) -> SqlError {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "a panic without a message",
    };
    SqlError::internal(format!(
        "a bug in Basalt ended the statement, please report it with the statement: {text}"
    ))
}
