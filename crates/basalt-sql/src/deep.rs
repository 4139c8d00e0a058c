// SPDX-License-Identifier: Apache-2.0
//! Stack for long statements. A tree of thousands of operators is walked by the parser, the planner and the optimizer, each of which takes stack for
//! every level; how much a thread of the caller has left is not known. So what is done with a long text runs on a stack of its own.

use std::future::poll_fn;
use std::pin::pin;

/// Bytes of stack; pages that nobody touches take no memory.
const STACK_BYTES: usize = 128 << 20;
/// Bytes of text from which a statement counts as long: a shorter one has no tree that is too deep for the smallest usual stack.
const LONG: usize = 512;

/// Stack for threads that evaluate expressions: as deep as a statement may be.
pub(crate) const THREAD_STACK_BYTES: usize = 16 << 20;

/// True for a text whose tree may be deep.
pub(crate) fn is_long(text: &str) -> bool {
    text.len() > LONG
}

/// Does the work, with a large stack if it is for a long text.
pub(crate) fn run<T>(long: bool, work: impl FnOnce() -> T) -> T {
    if long { stacker::grow(STACK_BYTES, work) } else { work() }
}

/// As [`run`], each time that the work goes on.
pub(crate) async fn run_async<T>(long: bool, work: impl Future<Output = T>) -> T {
    if !long {
        return work.await;
    }
    let mut work = pin!(work);
    poll_fn(|context| stacker::grow(STACK_BYTES, || work.as_mut().poll(context))).await
}
