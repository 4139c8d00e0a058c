// SPDX-License-Identifier: Apache-2.0
//! Which crate may see which. A crate depends only on crates before it in [`LAYERS`]; a new edge against the
//! order is a change of the design, not of a manifest. [`UNREACHABLE`] names what must not be reached even
//! through others. Dependencies that only tests use are free.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

/// The crates of the database from the bottom to the top.
const LAYERS: &[&str] = &[
    "basalt-model",
    "basalt-hfile",
    "basalt-files",
    "basalt-store",
    "basalt-sql-planner",
    "basalt-sql-operators",
    "basalt-sql",
    "basalt",
    "basalt-wire",
    "basalt-server",
    "basalt-avatica",
    "basalt-cli",
    "basalt-sim",
];

/// A crate, and what neither it nor anything it depends on may be.
const UNREACHABLE: &[(&str, &[&str])] = &[
    ("basalt-model", &["arrow", "parquet", "datafusion", "tokio", "tonic"]),
    ("basalt-hfile", &["parquet", "datafusion", "tokio", "tonic"]),
    ("basalt-files", &["datafusion", "tokio", "tonic", "basalt-store"]),
    ("basalt-store", &["parquet", "datafusion", "tokio", "tonic"]),
    ("basalt-sql-operators", &["tonic", "basalt-store"]),
    ("basalt-sql", &["tonic"]),
    ("basalt-wire", &["arrow", "datafusion", "tokio", "tonic", "basalt-store"]),
    ("basalt-server", &["datafusion"]),
    ("xtask", &["arrow", "datafusion", "tokio"]),
];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Checks the resolved graph that `cargo metadata` prints.
pub(super) fn check(metadata: &Value) -> Result<Vec<String>> {
    Ok(check_graph(&graph(metadata)?))
}

fn check_graph(graph: &Graph) -> Vec<String> {
    let mut findings = Vec::new();
    for (level, layer) in LAYERS.iter().enumerate() {
        for above in &LAYERS[level..] {
            if graph.get(*layer).is_some_and(|seen| seen.contains(*above)) {
                findings.push(format!("crates/{layer}/Cargo.toml:1: {layer} must not depend on {above}"));
            }
        }
    }
    for (start, banned) in UNREACHABLE {
        for name in *banned {
            if let Some(path) = path_between(graph, start, name) {
                findings.push(format!("{start} reaches {name}: {}", path.join(" -> ")));
            }
        }
    }
    for name in graph.keys().filter(|name| name.starts_with("basalt") && !LAYERS.contains(&name.as_str())) {
        findings.push(format!(
            "crates/{name}/Cargo.toml:1: {name} has no place in the layers of xtask/src/tidy/layers.rs"
        ));
    }
    findings
}

/// A shortest path along dependencies, both ends included.
fn path_between<'a>(graph: &'a Graph, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut frontier = vec![from];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for name in frontier {
            if name == to {
                return Some(walk_back(&came_from, from, name));
            }
            for dependency in graph.get(name).into_iter().flatten() {
                if dependency != from && !came_from.contains_key(dependency.as_str()) {
                    came_from.insert(dependency, name);
                    next.push(dependency.as_str());
                }
            }
        }
        frontier = next;
    }
    None
}

fn walk_back<'a>(came_from: &BTreeMap<&'a str, &'a str>, from: &'a str, to: &'a str) -> Vec<&'a str> {
    let mut path = vec![to];
    let mut at = to;
    while at != from {
        at = came_from[at];
        path.push(at);
    }
    path.reverse();
    path
}

/// Names of packages and what they are compiled against; several versions of a package are one node.
fn graph(metadata: &Value) -> Result<Graph> {
    let mut names = BTreeMap::new();
    for package in metadata["packages"].as_array().context("no packages")? {
        let id = package["id"].as_str().context("a package without id")?;
        names.insert(id, package["name"].as_str().context("a package without name")?);
    }
    let mut graph = Graph::new();
    for node in metadata["resolve"]["nodes"].as_array().context("no dependency graph")? {
        let name = names[node["id"].as_str().context("a node without id")?];
        let edges = graph.entry(name.to_string()).or_default();
        for dependency in node["deps"].as_array().context("a node without deps")? {
            let kinds = dependency["dep_kinds"].as_array().context("an edge without kinds")?;
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                edges.insert(names[dependency["pkg"].as_str().context("an edge to nothing")?].to_string());
            }
        }
    }
    Ok(graph)
}

#[cfg(test)]
mod tests;
