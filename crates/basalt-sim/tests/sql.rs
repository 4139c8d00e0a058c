// SPDX-License-Identifier: Apache-2.0
//! Every recorded statement gives the answer of real Phoenix, or differs for a reason that is written down.

use std::path::Path;

use basalt_sim::sql::{self, known::Known};

#[test]
fn recorded_statements_give_the_answers_of_phoenix() -> anyhow::Result<()> {
    let directory = Path::new("testdata/phoenix");
    let known = Known::parse(&std::fs::read_to_string(directory.join("known.txt"))?)?;
    let (mut score, mut differences) = (sql::Score::default(), Vec::new());
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            sql::file(&path, &known, &mut score, &mut |line| differences.push(line.to_owned()))?;
        }
    }
    assert!(differences.is_empty(), "{} statements differ:\n{}", score.failed, differences.join("\n"));
    let statements = score.passed + score.known;
    assert_eq!(statements, 3938, "statements were replayed");
    println!("{} passed, {} failed, {} known", score.passed, score.failed, score.known);
    Ok(())
}
