// SPDX-License-Identifier: Apache-2.0

use crate::repository;

#[test]
fn the_repository_is_tidy() {
    let findings = super::findings(&repository()).unwrap();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}
