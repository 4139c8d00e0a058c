// SPDX-License-Identifier: Apache-2.0

use super::*;

fn findings(path: &str, text: &str) -> Vec<String> {
    check(&[SourceFile { path: path.into(), text: text.into() }])
}

#[test]
fn a_file_with_licence_and_module_doc_passes() {
    assert!(findings("a/src/b.rs", "// SPDX-License-Identifier: Apache-2.0\n//! What b owns.\n").is_empty());
}

#[test]
fn a_missing_licence_line_is_found() {
    assert_eq!(findings("a/src/b/tests.rs", "use super::*;\n").len(), 1);
}

#[test]
fn a_missing_module_doc_is_found_but_not_in_tests() {
    let text = "// SPDX-License-Identifier: Apache-2.0\nuse super::*;\n";
    assert_eq!(findings("a/src/b.rs", text).len(), 1);
    assert!(findings("a/src/b/tests.rs", text).is_empty());
}

#[test]
fn a_name_that_says_nothing_is_found() {
    let text = "// SPDX-License-Identifier: Apache-2.0\n//! Things.\n";
    assert_eq!(findings("a/src/utils.rs", text).len(), 1);
    assert_eq!(findings("a/src/helpers/b.rs", text).len(), 1);
    assert_eq!(findings("a/src/b/mod.rs", text).len(), 1);
}

#[test]
fn a_test_that_is_switched_off_is_found() {
    let text = concat!("// SPDX-License-Identifier: Apache-2.0\n#[test]\n#[", "ignore]\nfn t() {}\n");
    assert_eq!(findings("a/tests/b.rs", text).len(), 1);
}
