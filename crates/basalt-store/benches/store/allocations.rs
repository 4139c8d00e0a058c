// SPDX-License-Identifier: Apache-2.0
//! An allocator that counts the bytes that the process has allocated.
#![allow(
    unsafe_code,
    reason = "an allocator is an unsafe trait; every call is passed on to the system's as it came"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub(crate) struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn add(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    if live > PEAK.load(Relaxed) {
        PEAK.fetch_max(live, Relaxed);
    }
}

// SAFETY: every method hands its arguments to `System` unchanged and returns what that returns; counting touches two
// numbers and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // While it moves, both are there.
        add(new_size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// Bytes allocated now.
pub(crate) fn live() -> usize {
    LIVE.load(Relaxed)
}

/// The most bytes that were allocated at once while `work` ran, and what it gave.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (usize, T) {
    PEAK.store(live(), Relaxed);
    let result = work();
    (PEAK.load(Relaxed), result)
}
