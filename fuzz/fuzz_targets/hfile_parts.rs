// SPDX-License-Identifier: Apache-2.0
//! Runs `basalt_hfile::fuzzing::parts`; seeds lie in `crates/basalt-hfile/testdata/corpus/parts`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| basalt_hfile::fuzzing::parts(data));
