// SPDX-License-Identifier: Apache-2.0
//! Runs `basalt_hfile::fuzzing::codec`; seeds lie in `crates/basalt-hfile/testdata/corpus/codec`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| basalt_hfile::fuzzing::codec(data));
