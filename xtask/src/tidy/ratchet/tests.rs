// SPDX-License-Identifier: Apache-2.0

use super::*;

fn function_of(lines: usize) -> String {
    format!("pub(crate) fn long(a: u8) {{\n{}}}\n", "    step();\n".repeat(lines - 2))
}

fn measured(path: &str, text: &str) -> Ratchet {
    Ratchet::measured(&[SourceFile { path: path.into(), text: text.into() }])
}

#[test]
fn functions_are_measured_from_fn_to_closing_brace() {
    let text = "impl A {\n    fn one(&self) {\n        a();\n    }\n\n    async fn two() -> u8 {\n        2\n    }\n}\nfn three() {}\n";
    assert_eq!(functions(text), [("one".into(), 3), ("two".into(), 3), ("three".into(), 1)]);
}

#[test]
fn a_function_over_the_limit_is_found_and_one_at_the_limit_is_not() {
    let nothing = Ratchet(BTreeMap::new());
    assert_eq!(nothing.check(&measured("a/src/b.rs", &function_of(71))).len(), 1);
    assert!(nothing.check(&measured("a/src/b.rs", &function_of(70))).is_empty());
}

#[test]
fn functions_of_tests_are_not_measured() {
    assert_eq!(measured("a/src/b/tests.rs", &function_of(200)), Ratchet(BTreeMap::new()));
}

#[test]
fn what_is_in_the_ratchet_may_shrink_but_not_grow() {
    let ratchet = Ratchet::parse("file a/src/b.rs 700\n").unwrap();
    assert!(ratchet.check(&measured("a/src/b.rs", &"x\n".repeat(650))).is_empty());
    assert_eq!(ratchet.check(&measured("a/src/b.rs", &"x\n".repeat(701))).len(), 1);
}

#[test]
fn an_entry_that_is_no_longer_needed_is_found() {
    let ratchet = Ratchet::parse("file a/src/b.rs 700\n").unwrap();
    assert_eq!(ratchet.check(&measured("a/src/b.rs", "x\n")).len(), 1);
}
