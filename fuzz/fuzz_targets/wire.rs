// SPDX-License-Identifier: Apache-2.0
//! One program a target of `basalt_wire::fuzzing`; the program's name says which: `wire_cells` runs `cells`.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let program = env!("CARGO_BIN_NAME");
    basalt_wire::fuzzing::target(program.strip_prefix("wire_").unwrap_or(program))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
