// SPDX-License-Identifier: Apache-2.0
//! One program a target of `basalt_hfile::fuzzing`; the program's name says which: `hfile_tags` runs `tags`.
//!
//! An input may take a second of the processor. libFuzzer's own limit is one of the clock on the wall, which on a loaded
//! machine goes on while the fuzzer waits; it is left to catch what never returns.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let program = env!("CARGO_BIN_NAME");
    basalt_hfile::fuzzing::target(program.strip_prefix("hfile_").unwrap_or(program))
});

/// Nanoseconds that this thread has had a processor.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let start = cpu_nanos();
    TARGET(data);
    let nanos = cpu_nanos() - start;
    assert!(nanos < 1_000_000_000, "{nanos} ns for {} bytes", data.len());
});
