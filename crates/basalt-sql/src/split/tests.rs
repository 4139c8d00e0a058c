// SPDX-License-Identifier: Apache-2.0
use super::*;

fn texts(text: &str) -> (Vec<&str>, Option<&str>) {
    let split = split_statements(text);
    (split.statements.iter().map(|statement| statement.text).collect(), split.rest.map(|rest| rest.text))
}

#[test]
fn semicolons_in_literals_names_and_comments_do_not_cut() {
    let text = "select ';''', \";\" -- ;\n /* ; * / */ ; select 2;";
    assert_eq!(texts(text), (vec!["select ';''', \";\" -- ;\n /* ; * / */", "select 2"], None));
}

#[test]
fn two_slashes_begin_a_comment_but_not_in_literals_and_names() {
    let text = "select 'http://a' // it's; \n, \"b//\" /* // */ -- //\n; select 4/2";
    assert_eq!(texts(text).0, ["select 'http://a' // it's; \n, \"b//\" /* // */ -- //"]);
    let dashed = "select 'http://a' -- it's; \n, \"b//\" /* // */ -- //\n; select 4/2";
    assert_eq!(comments_with_dashes(text), dashed);
}

#[test]
fn empty_statements_and_leading_comments_vanish() {
    assert_eq!(texts(";; -- nothing\n;"), (vec![], None));
    let split = split_statements("-- first\nselect 1;");
    assert_eq!(split.statements[0], StatementText { text: "select 1", offset: 9 });
}

#[test]
fn an_open_part_is_incomplete() {
    for (text, open) in [
        ("select 'a;", Some(OpenPart::Literal)),
        ("select \"a;", Some(OpenPart::QuotedName)),
        ("select 1; /* a;", Some(OpenPart::Comment)),
        ("select 1", None),
    ] {
        let split = split_statements(text);
        assert!(split.is_incomplete(), "{text}");
        assert_eq!(split.open, open, "{text}");
    }
    assert!(!split_statements("select 1; -- done").is_incomplete());
}
