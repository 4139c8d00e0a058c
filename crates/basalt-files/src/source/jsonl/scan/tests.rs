// SPDX-License-Identifier: Apache-2.0
use super::*;

fn shown(line: &str) -> String {
    match object(line) {
        Ok(pairs) => pairs.iter().map(|(key, value)| format!("{key}={value:?};")).collect(),
        Err(wrong) => wrong,
    }
}

#[test]
fn objects_become_pairs() {
    assert_eq!(
        shown(r#" {"a": 1.50e3, "b":"x", "c":null, "d":true, "e":[1,{"f":"]"}]} "#),
        r#"a=Plain("1.50e3");b=Text("x");c=Null;d=Plain("true");e=Plain("[1,{\"f\":\"]\"}]");"#
    );
    assert_eq!(shown("{}"), "");
}

#[test]
fn escapes_are_resolved() {
    assert_eq!(shown(r#"{"\u00e4\n":"\"\\\/\ud83d\ude00"}"#), "ä\n=Text(\"\\\"\\\\/😀\");");
}

#[test]
fn what_is_no_object_is_named_with_its_place() {
    assert_eq!(shown("[1]"), "is not a JSON object: expected '{' at character 1, found '['");
    assert_eq!(shown("{\"a\":tru}"), "is not a JSON object: expected a value at character 6, found 't'");
    assert_eq!(
        shown("{\"ä\":1"),
        "is not a JSON object: expected '}' at character 7, found the end of the line"
    );
    assert_eq!(
        shown("{\"a\":1} x"),
        "is not a JSON object: expected the end of the line at character 9, found 'x'"
    );
    assert_eq!(
        shown("{\"a\":\"\\ud800\"}"),
        "is not a JSON object: expected a character behind \\u at character 13, found '\"'"
    );
    assert!(shown(&format!("{{\"a\":{}", "[".repeat(100_000))).contains("nested deeper"));
}

#[test]
fn no_cut_of_a_line_panics() {
    let line = r#"{"a": -1.5e+3, "ä":"x\u00e4\n", "c":[true,{"d":null}]}"#;
    for end in (0..line.len()).filter(|&end| line.is_char_boundary(end)) {
        assert!(object(&line[..end]).is_err(), "{}", &line[..end]);
    }
}
