// SPDX-License-Identifier: Apache-2.0

use super::*;

fn graph_of(edges: &[(&str, &str)]) -> Graph {
    let mut graph = Graph::new();
    for (from, to) in edges {
        graph.entry((*from).into()).or_default().insert((*to).into());
        graph.entry((*to).into()).or_default();
    }
    graph
}

#[test]
fn a_dependency_on_a_lower_crate_passes() {
    assert!(
        check_graph(&graph_of(&[("basalt-store", "basalt-hfile"), ("basalt-cli", "basalt-model")]))
            .is_empty()
    );
}

#[test]
fn a_dependency_on_a_higher_crate_is_found() {
    assert_eq!(check_graph(&graph_of(&[("basalt-hfile", "basalt-store")])).len(), 1);
}

#[test]
fn a_banned_crate_is_found_through_others_and_the_way_is_named() {
    let found = check_graph(&graph_of(&[("basalt-store", "innocent"), ("innocent", "tokio")]));
    assert_eq!(found, ["basalt-store reaches tokio: basalt-store -> innocent -> tokio"]);
}

#[test]
fn a_crate_without_a_layer_is_found() {
    assert_eq!(check_graph(&graph_of(&[("basalt-new", "serde")])).len(), 1);
}
