// SPDX-License-Identifier: Apache-2.0
//! Every recorded sequence gives the answers of real HBase.

use std::path::Path;

use basalt_sim::replay;

#[test]
fn recorded_operations_give_the_answers_of_hbase() -> anyhow::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/hbase-ops");
    let (mut score, mut failed) = (replay::Score::default(), Vec::new());
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            replay::file(&path, &mut score, &mut |line| {
                if !line.ends_with("all answers equal") {
                    failed.push(line.to_owned());
                }
            })?;
        }
    }
    assert!(failed.is_empty(), "{} sequences differ:\n{}", score.failed, failed.join("\n"));
    assert!(score.passed >= 150, "only {} sequences were found", score.passed);
    Ok(())
}
