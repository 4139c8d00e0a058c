// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn the_file_has_the_questions_of_the_demo() {
    let questions = questions(1.0);
    let asked: Vec<_> = questions.iter().filter(|question| question.run != Run::Reference).collect();
    assert!(asked.len() >= 12, "{} questions", asked.len());
    let named = |name: &str| questions.iter().find(|question| question.name == name).expect("known name");
    assert_eq!(named("count").sql, "SELECT COUNT(*) AS n FROM lineitem");
    assert_eq!(named("sort_first").run, Run::FirstRow);
    assert!(named("q1").sql.ends_with("ORDER BY l_returnflag, l_linestatus"), "{}", named("q1").sql);
}

#[test]
fn placeholders_follow_the_scale_factor() {
    let questions = questions(0.01);
    assert!(questions.iter().all(|question| !question.sql.contains('{') && !question.title.contains('{')));
    let offset = questions.iter().find(|question| question.name == "offset").expect("known name");
    assert_eq!(
        (offset.title.as_str(), offset.sql.as_str()),
        ("LIMIT 10 OFFSET 50,000", "SELECT * FROM lineitem LIMIT 10 OFFSET 50000")
    );
}
