// SPDX-License-Identifier: Apache-2.0
//! An allocator that counts: how many bytes one thread has at most had allocated since it was asked to watch.
#![allow(
    unsafe_code,
    reason = "an allocator is an unsafe trait; every call is passed on to the system's as it came"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

pub(crate) struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    // A thread that is going down has no counters any more.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every method hands its arguments to `System` unchanged and returns what that returns; counting touches two
// thread-local integers and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // While it moves, both are there.
        count(new_size as isize);
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// The most bytes that were allocated at once while `work` ran, above what was allocated before.
pub(crate) fn peak_of(work: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    work();
    usize::try_from(PEAK.get() - before).unwrap_or(0)
}

#[test]
fn the_peak_counts_what_was_there_at_once() {
    let peak = peak_of(|| {
        drop(vec![0u8; 1000]);
        let mut kept = vec![1u8; 3000];
        kept.reserve_exact(5000);
        std::hint::black_box(&kept);
    });
    assert!((8000..12_000).contains(&peak), "{peak}");
}
