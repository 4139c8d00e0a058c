// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};

use super::super::estimate::Estimate;
use super::*;

fn column(table: &str, name: &str) -> Column {
    Column::new(Some(table.to_owned()), name)
}

/// A table with a key and rows of which a condition leaves some.
fn leaf(table: &str, key: &[&str], all_rows: f64, rows: f64) -> Leaf {
    let schema = Schema::new(vec![Field::new("K", DataType::Int64, false)]);
    let plan = datafusion::logical_expr::logical_plan::table_scan(Some(table), &schema, None)
        .and_then(LogicalPlanBuilder::build)
        .unwrap();
    let key = key.iter().map(|name| column(table, name)).collect();
    Leaf { plan: Arc::<LogicalPlan>::new(plan), estimate: Estimate { rows, all_rows, key, facts: vec![] } }
}

/// As in "the sales of a nation's customers by that nation's suppliers".
fn sales() -> Graph {
    let mut graph = Graph {
        leaves: vec![
            leaf("CUSTOMER", &["C"], 150e3, 150e3),
            leaf("ORDERS", &["O"], 1.5e6, 150e3),
            leaf("LINEITEM", &["O", "LINE"], 6e6, 6e6),
            leaf("SUPPLIER", &["S"], 10e3, 10e3),
            leaf("NATION", &["N"], 25.0, 5.0),
        ],
        ..Graph::default()
    };
    let names = ["CUSTOMER", "ORDERS", "LINEITEM", "SUPPLIER", "NATION"];
    let of = |table: usize, name: &str| (table, column(names[table], name));
    graph.equate(of(0, "C"), of(1, "C"));
    graph.equate(of(2, "O"), of(1, "O"));
    graph.equate(of(2, "S"), of(3, "S"));
    graph.equate(of(0, "N"), of(3, "N"));
    graph.equate(of(3, "N"), of(4, "N"));
    graph
}

#[test]
fn equal_columns_make_classes() {
    let graph = sales();
    assert_eq!(graph.classes.len(), 4);
    assert_eq!(graph.classes[3].len(), 3, "{:?}", graph.classes);
    let mut graph = Graph::default();
    let of = |leaf: usize| (leaf, column("T", &format!("C{leaf}")));
    graph.equate(of(0), of(1));
    graph.equate(of(2), of(3));
    graph.equate(of(1), of(3));
    graph.equate(of(0), of(2));
    assert_eq!(graph.classes.len(), 1);
    assert_eq!(graph.classes[0].len(), 4);
}

#[test]
fn what_is_joined_by_few_values_alone_is_not_joined_first() {
    let graph = sales();
    let tree = graph.order();
    fn used(tree: &Tree, set: Set, out: &mut Vec<Set>) {
        out.push(set);
        if let Some((one, other)) = tree.sides(set) {
            assert!(tree.parts[&one].rows <= tree.parts[&other].rows);
            used(tree, one, out);
            used(tree, other, out);
        }
    }
    let mut sets = vec![];
    used(&tree, tree.all(), &mut sets);
    // Customers and suppliers of one nation are many: they never meet before the sales.
    assert!(!sets.contains(&0b01001) && !sets.contains(&0b11001), "{sets:?}");
    // 6M lines, a tenth of the orders, a fifth of the nations twice, and both have the same one.
    assert!((1e3..1e6).contains(&tree.rows()), "{}", tree.rows());
}

#[test]
fn a_whole_key_leaves_one_partner_and_part_of_it_many() {
    let mut graph = Graph {
        leaves: vec![leaf("A", &["X", "Y"], 800.0, 800.0), leaf("B", &["K"], 6000.0, 6000.0)],
        ..Graph::default()
    };
    graph.equate((0, column("A", "X")), (1, column("B", "X")));
    assert_eq!(graph.order().rows(), 6000.0);
    graph.equate((0, column("A", "Y")), (1, column("B", "Y")));
    assert_eq!(graph.order().rows(), 6000.0);
    graph.leaves[0].estimate.rows = 80.0;
    assert_eq!(graph.order().rows(), 600.0);
}

#[test]
fn many_inputs_and_inputs_without_conditions_are_joined_as_well() {
    for count in [2usize, 5, 9, 10, 30] {
        let mut graph = Graph::default();
        for at in 0..count {
            graph.leaves.push(leaf(&format!("T{at}"), &["K"], 1000.0, 10.0 + at as f64));
        }
        // All but the last two form a chain.
        for at in 1..count.saturating_sub(2) {
            let of = |table: usize, name: &str| (table, column(&format!("T{table}"), name));
            graph.equate(of(at - 1, "NEXT"), of(at, "K"));
        }
        let tree = graph.order();
        let mut left = vec![tree.all()];
        let mut leaves = 0;
        while let Some(set) = left.pop() {
            match tree.sides(set) {
                Some((one, other)) => {
                    assert_eq!((one | other, one & other), (set, 0));
                    left.extend([one, other]);
                }
                None => leaves += 1,
            }
        }
        assert_eq!(leaves, count);
    }
}
