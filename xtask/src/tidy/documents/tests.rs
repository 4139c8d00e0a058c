// SPDX-License-Identifier: Apache-2.0

use super::*;

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.into(), text: text.into() }
}

#[test]
fn a_dependency_without_a_line_and_a_line_without_a_dependency_are_found() {
    let files = [
        file(
            "Cargo.toml",
            "[workspace.dependencies]\nbasalt = { path = \"b\" }\nbytes = \"1\"\n\n[profile.release]\nx = 1\n",
        ),
        file("docs/dependencies.md", "- `snap`: Snappy.\n"),
    ];
    let found = check(&files, &BTreeSet::new());
    assert_eq!(
        found,
        [
            "docs/dependencies.md: says nothing of the dependency `bytes`",
            "docs/dependencies.md: `snap` is no dependency any more"
        ]
    );
}

#[test]
fn a_crate_without_a_section_is_found() {
    let files = [file("ARCHITECTURE.md", "## Crates\n### basalt-model\n")];
    let crates = ["basalt-model", "basalt-hfile"].map(String::from).into();
    assert_eq!(check(&files, &crates), ["ARCHITECTURE.md: says nothing of the crate `basalt-hfile`"]);
}

#[test]
fn a_version_outside_of_the_workspace_manifest_is_found() {
    let files = [file("crates/a/Cargo.toml", "[dependencies]\nbytes = \"1\"\nserde.workspace = true\n")];
    assert_eq!(
        check(&files, &BTreeSet::new()),
        ["crates/a/Cargo.toml:2: take the version from the workspace"]
    );
}

#[test]
fn dead_links_are_found_and_living_ones_are_not() {
    let files = [
        file("docs/a.md", "[b](b.md#part) [gone](gone.md) [up](../docs/b.md) [net](https://example.org)\n"),
        file("docs/b.md", "Read `docs/nowhere.md`.\n"),
    ];
    let found = check(&files, &BTreeSet::new());
    assert_eq!(
        found,
        ["docs/a.md:1: the link to gone.md is dead", "docs/b.md:1: there is no docs/nowhere.md"]
    );
}
