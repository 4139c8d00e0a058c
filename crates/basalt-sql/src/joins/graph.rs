// SPDX-License-Identifier: Apache-2.0
//! Which of several inputs are joined first: the cheapest tree of two-way joins, by dynamic programming over sets of inputs
//! (Selinger et al., "Access Path Selection in a Relational Database Management System", 1979), bushy trees included; of many
//! inputs greedily, the smallest result first.

use std::collections::HashMap;

use datafusion::common::Column;
use datafusion::logical_expr::Expr;

use super::estimate::{EqualPair, Leaf, share_of_keys, share_of_pairs};
use crate::scan::EQUAL;

/// Inputs up to which all trees are compared.
const COMPARED_MAX: usize = 9;

/// What a row of the smaller side costs, which is put into a table.
const BUILD_COST: f64 = 2.0;
/// What a row of the larger side costs, which is looked up in it.
const PROBE_COST: f64 = 0.3;

/// A set of inputs, a bit each.
pub(super) type Set = u64;

/// Columns that are equal, each with its input.
pub(super) type Class = Vec<(usize, Column)>;

/// Inputs that are joined, and what is asked of their rows.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) leaves: Vec<Leaf>,
    pub(super) classes: Vec<Class>,
    /// Expressions that are equal, of these inputs.
    pub(super) equal: Vec<((Expr, Set), (Expr, Set))>,
    /// What else holds, of these inputs.
    pub(super) conditions: Vec<(Expr, Set)>,
}

/// Inputs joined in the cheapest way found.
#[derive(Debug, Clone, Copy)]
struct Part {
    rows: f64,
    cost: f64,
    /// The sides of the last join; none of a single input.
    sides: Option<(Set, Set)>,
}

/// The order of joins.
#[derive(Debug)]
pub(super) struct Tree {
    parts: HashMap<Set, Part>,
    all: Set,
}

impl Tree {
    /// The two sides of the join that makes a set, the smaller first; `None` for a single input.
    pub(super) fn sides(&self, of: Set) -> Option<(Set, Set)> {
        let (one, other) = self.parts[&of].sides?;
        Some(if self.parts[&one].rows <= self.parts[&other].rows { (one, other) } else { (other, one) })
    }

    /// All inputs.
    pub(super) fn all(&self) -> Set {
        self.all
    }

    /// Rows of the result, estimated.
    pub(super) fn rows(&self) -> f64 {
        self.parts[&self.all].rows
    }
}

impl Graph {
    /// Says that two columns are equal.
    pub(super) fn equate(&mut self, one: (usize, Column), other: (usize, Column)) {
        let found = |of: &(usize, Column)| self.classes.iter().position(|class| class.contains(of));
        match (found(&one), found(&other)) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                let more = self.classes.swap_remove(a.max(b));
                self.classes[a.min(b)].extend(more);
            }
            (Some(a), None) => self.classes[a].push(other),
            (None, Some(b)) => self.classes[b].push(one),
            (None, None) => self.classes.push(vec![one, other]),
        }
    }

    /// Pairs of equal columns, one of each side, that join two sets: one pair of each class.
    pub(super) fn keys(&self, left: Set, right: Set) -> impl Iterator<Item = (&Column, &Column)> {
        let member =
            |class: &'_ [(usize, Column)], of: Set| class.iter().position(|(leaf, _)| of >> leaf & 1 == 1);
        self.classes.iter().filter_map(move |class| {
            let (left, right) = (member(class, left)?, member(class, right)?);
            Some((&class[left].1, &class[right].1))
        })
    }

    /// The cheapest order of joins.
    pub(super) fn order(&self) -> Tree {
        let all = (1 << self.leaves.len()) - 1;
        let mut parts = HashMap::new();
        for (at, leaf) in self.leaves.iter().enumerate() {
            parts.insert(1 << at, Part { rows: leaf.estimate.rows, cost: 0.0, sides: None });
        }
        if self.leaves.len() <= COMPARED_MAX {
            self.compare_all(all, &mut parts);
        }
        if !parts.contains_key(&all) {
            self.join_smallest(all, &mut parts);
        }
        Tree { parts, all }
    }

    /// All ways to make each set of inputs that a condition holds together.
    fn compare_all(&self, all: Set, parts: &mut HashMap<Set, Part>) {
        for set in 1..=all {
            let mut one = (set - 1) & set;
            while one > 0 {
                let other = set & !one;
                if one > other
                    && let (Some(&of_one), Some(&of_other)) = (parts.get(&one), parts.get(&other))
                    && self.are_joined(one, other)
                {
                    let known = parts.get(&set).copied();
                    let rows = known.map(|known| known.rows);
                    let part = self.joined((one, of_one), (other, of_other), rows);
                    if known.is_none_or(|known| part.cost < known.cost) {
                        parts.insert(set, part);
                    }
                }
                one = (one - 1) & set;
            }
        }
    }

    /// Joins the two parts with the smallest result until there is one; without a condition only at the end.
    fn join_smallest(&self, all: Set, parts: &mut HashMap<Set, Part>) {
        let mut left: Vec<Set> = (0..self.leaves.len()).map(|at| 1 << at).collect();
        while left.len() > 1 {
            let pairs = left
                .iter()
                .enumerate()
                .flat_map(|(i, &one)| left[i + 1..].iter().map(move |&other| (one, other)));
            let ranked = pairs.map(|(one, other)| {
                let part = self.joined((one, parts[&one]), (other, parts[&other]), None);
                (!self.are_joined(one, other), part, one, other)
            });
            let best = ranked.min_by(|a, b| a.0.cmp(&b.0).then(a.1.rows.total_cmp(&b.1.rows)));
            let (_, part, one, other) = best.expect("two parts are left");
            left.retain(|&set| set != one && set != other);
            left.push(one | other);
            parts.insert(one | other, part);
        }
        debug_assert_eq!(left, [all]);
    }

    fn are_joined(&self, one: Set, other: Set) -> bool {
        let across = |(a, b): (Set, Set)| a & one == a && b & other == b || a & other == a && b & one == b;
        self.keys(one, other).next().is_some() || self.equal.iter().any(|((_, a), (_, b))| across((*a, *b)))
    }

    /// The join of two parts; `rows` if they are known.
    fn joined(&self, (one, a): (Set, Part), (other, b): (Set, Part), rows: Option<f64>) -> Part {
        let rows = rows.unwrap_or_else(|| (a.rows * b.rows * self.share(one, other)).max(1.0));
        let (fewer, more) = (a.rows.min(b.rows), a.rows.max(b.rows));
        let cost = a.cost + b.cost + rows + BUILD_COST * fewer + PROBE_COST * more;
        Part { rows, cost, sides: Some((one, other)) }
    }

    /// The share of all pairs of rows of two sets that their join leaves.
    fn share(&self, one: Set, other: Set) -> f64 {
        let mut share = 1.0;
        let mut left: Vec<&Class> =
            self.classes.iter().filter(|class| has(class, one) && has(class, other)).collect();
        // Of all pairs of inputs that with the most columns that are equal, and of these that with the fewest partners:
        // classes count once.
        while !left.is_empty() {
            let pairs = inputs(one).flat_map(|a| inputs(other).map(move |b| (a, b)));
            let best = pairs
                .map(|pair| self.share_of_inputs(pair, &left))
                .filter(|(_, classes)| *classes != 0)
                .min_by(|(a, of_a), (b, of_b)| {
                    of_b.count_ones().cmp(&of_a.count_ones()).then(a.total_cmp(b))
                });
            let Some((of_pair, classes)) = best else { break };
            share *= of_pair;
            let counted = |at: usize| classes >> at & 1 == 1;
            left = (0..left.len()).filter(|&at| !counted(at)).map(|at| left[at]).collect();
        }
        let both = one | other;
        let equal = self.equal.iter().map(|((_, a), (_, b))| (a | b, EQUAL));
        let others = self.conditions.iter().map(|(condition, of)| (*of, share_of_pairs(condition)));
        let across = |of: &Set| of & both == *of && of & one != *of && of & other != *of;
        share * equal.chain(others).filter(|(of, _)| across(of)).map(|(_, share)| share).product::<f64>()
    }

    /// The share that the classes with columns of both inputs leave of all pairs of their rows, and which classes those are, a
    /// bit each.
    fn share_of_inputs(&self, (a, b): (usize, usize), classes: &[&Class]) -> (f64, u64) {
        let mut pairs = Vec::new();
        let mut found = 0;
        for (at, class) in classes.iter().enumerate().take(64) {
            let column = |leaf: usize| class.iter().find(|(of, _)| *of == leaf).map(|(_, column)| column);
            if let (Some(left), Some(right)) = (column(a), column(b)) {
                pairs.push(EqualPair { left: Some(left), right: Some(right), values: self.values(class) });
                found |= 1 << at;
            }
        }
        (share_of_keys(&self.leaves[a].estimate, &self.leaves[b].estimate, &pairs), found)
    }

    /// Number of values that all columns of a class can have, if it is known: those of the shortest table of which one is the
    /// key.
    fn values(&self, class: &Class) -> Option<f64> {
        let known = class.iter().filter_map(|(leaf, column)| self.leaves[*leaf].estimate.distinct(column));
        known.min_by(f64::total_cmp)
    }
}

fn has(class: &Class, set: Set) -> bool {
    class.iter().any(|(leaf, _)| set >> leaf & 1 == 1)
}

/// The inputs in a set.
fn inputs(set: Set) -> impl Iterator<Item = usize> + Clone {
    (0..Set::BITS as usize).filter(move |leaf| set >> leaf & 1 == 1)
}

#[cfg(test)]
mod tests;
