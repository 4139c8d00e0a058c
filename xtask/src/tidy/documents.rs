// SPDX-License-Identifier: Apache-2.0
//! Documents that must keep up with the tree: every dependency is explained in `docs/dependencies.md`,
//! `ARCHITECTURE.md` has a section for every crate, and no link or path in a document points at nothing.

use std::collections::BTreeSet;

use super::SourceFile;

const DEPENDENCIES: &str = "docs/dependencies.md";
const ARCHITECTURE: &str = "ARCHITECTURE.md";

pub(super) fn check(files: &[SourceFile], crates: &BTreeSet<String>) -> Vec<String> {
    let text_of =
        |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let declared = declared_dependencies(text_of("Cargo.toml"));
    let mut findings = compare(DEPENDENCIES, "dependency", &explained(text_of(DEPENDENCIES)), &declared);
    findings.extend(compare(ARCHITECTURE, "crate", &headings(text_of(ARCHITECTURE)), crates));
    for manifest in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        check_manifest(manifest, &mut findings);
    }
    for document in files.iter().filter(|file| file.path.ends_with(".md")) {
        check_links(document, files, &mut findings);
    }
    findings
}

fn compare(path: &str, what: &str, written: &BTreeSet<String>, real: &BTreeSet<String>) -> Vec<String> {
    let missing = real.difference(written).map(|name| format!("{path}: says nothing of the {what} `{name}`"));
    let stale = written.difference(real).map(|name| format!("{path}: `{name}` is no {what} any more"));
    missing.chain(stale).collect()
}

/// Names in `[workspace.dependencies]`, without the workspace's own crates.
fn declared_dependencies(manifest: &str) -> BTreeSet<String> {
    manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.contains("path = "))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.to_string())
        .collect()
}

/// Names that open an item of a list: "- `name`: …".
fn explained(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix("- `")?.split_once("`: "));
    names.map(|(name, _)| name.to_string()).collect()
}

/// Names that are a heading of the third level: "### name".
fn headings(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.strip_prefix("### ")).map(String::from).collect()
}

/// Versions are written once, in the manifest of a workspace.
fn check_manifest(manifest: &SourceFile, findings: &mut Vec<String>) {
    let mut in_dependencies = false;
    for (number, line) in (1..).zip(manifest.text.lines()) {
        if line.starts_with('[') {
            in_dependencies = line.ends_with("dependencies]") && line != "[workspace.dependencies]";
        } else if in_dependencies && line.contains('=') && !line.contains("workspace = true") {
            findings.push(format!("{}:{number}: take the version from the workspace", manifest.path));
        }
    }
}

/// Links of Markdown, and paths in backticks that begin with a folder of the repository.
fn check_links(document: &SourceFile, files: &[SourceFile], findings: &mut Vec<String>) {
    let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for (number, line) in (1..).zip(document.text.lines()) {
        for target in link_targets(line) {
            let path = resolve(folder, target.split('#').next().unwrap_or_default());
            if !exists(&path, files) {
                findings.push(format!("{}:{number}: the link to {target} is dead", document.path));
            }
        }
        for path in quoted_paths(line) {
            if !exists(path, files) {
                findings.push(format!("{}:{number}: there is no {path}", document.path));
            }
        }
    }
}

fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://") && !target.starts_with('#'))
}

fn quoted_paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2).map(|path| path.trim_end_matches('/'));
    let folders = ["crates/", "docs/", "tests/", "xtask/"];
    quoted.filter(move |text| {
        folders.iter().any(|folder| text.starts_with(folder)) && !text.contains(['*', '<', '{', ' ', '…'])
    })
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// True for a file of the repository and for a folder that holds one.
fn exists(path: &str, files: &[SourceFile]) -> bool {
    let root = crate::repository();
    let in_list = files.iter().any(|file| file.path == path || file.path.starts_with(&format!("{path}/")));
    in_list || root.join(path).exists()
}

#[cfg(test)]
mod tests;
