// SPDX-License-Identifier: Apache-2.0

use super::*;

#[test]
fn a_feature_that_only_tests_switch_on_is_found() {
    let program = parse("bytes v1.0.0|std\nrand v0.9.0|\n");
    let tests = parse("bytes v1.0.0|std\nproptest v1.0.0|std\nrand v0.9.0|std\n");
    assert_eq!(
        compare(&program, &tests),
        ["Cargo.toml: rand v0.9.0 is compiled with features [] for the program and [std] for tests"]
    );
}

#[test]
fn packages_that_only_tests_have_are_free() {
    assert!(
        compare(&parse("bytes v1.0.0|std\n"), &parse("bytes v1.0.0|std\nproptest v1.0.0|std\n")).is_empty()
    );
}
