// SPDX-License-Identifier: Apache-2.0
//! One program a target of `basalt_hfile::fuzzing`; the program's name says which: `hfile_tags` runs `tags`.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let program = env!("CARGO_BIN_NAME");
    basalt_hfile::fuzzing::target(program.strip_prefix("hfile_").unwrap_or(program))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
