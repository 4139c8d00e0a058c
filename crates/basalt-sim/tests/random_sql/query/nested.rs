// SPDX-License-Identifier: Apache-2.0
//! Queries in the conditions and values of the small worlds, below joins and below each other, with and without columns of the
//! query that they stand in.

use super::{Maker, Pair, Scope};
use crate::world::Kind;

impl Maker<'_> {
    /// WHERE with links to the outer query and among the relations, or nothing.
    pub(super) fn small_filter(&mut self, scope: &Scope, outer: &Scope, depth: usize) -> Pair {
        let mut parts = vec![];
        if !outer.is_empty() {
            while parts.is_empty() || self.chance.one_in(4) {
                match self.outer_condition(scope, outer) {
                    Some(part) => parts.push(part),
                    None => break,
                }
            }
        }
        if self.chance.one_in(4) {
            parts.extend(self.link(scope, scope, &["=", "=", "<>", "<"]));
        }
        if depth > 0 && self.chance.one_in(3) {
            parts.push(self.nested(scope, depth - 1));
        }
        if !self.chance.one_in(3) {
            parts.push(self.condition(scope, 1, depth));
        }
        if parts.is_empty() {
            return Pair::same("");
        }
        Pair::fill(" WHERE $", &[&Pair::join(&parts, " AND ")])
    }

    /// What is asked of an inner row and the outer one.
    fn outer_condition(&mut self, scope: &Scope, outer: &Scope) -> Option<Pair> {
        Some(match self.chance.below(10) {
            0 => self.link(scope, outer, &["<", "<>", ">=", "IS NOT DISTINCT FROM"])?,
            1 => {
                let (link, other) = (self.pair(scope, outer)?, self.condition(scope, 1, 0));
                Pair::fill("($ OR $)", &[&link, &other])
            }
            2 => self.condition(outer, 1, 0),
            _ => self.pair(scope, outer)?,
        })
    }

    /// The outer columns that a subquery may name.
    fn outer(&mut self, scope: &Scope) -> Scope {
        if self.chance.one_in(3) { vec![] } else { scope.clone() }
    }

    /// A condition that has a query.
    pub(super) fn nested(&mut self, scope: &Scope, depth: usize) -> Pair {
        let not = *self.chance.of(&["", "", "NOT "]);
        match self.chance.below(8) {
            0..=2 => {
                let outer = self.outer(scope);
                let kinds = [*self.chance.of(&[Kind::Int, Kind::Text])];
                let query = self.select_kinds(&kinds, &outer, depth);
                Pair::fill(&format!("{not}EXISTS ($)"), &[&query])
            }
            3 | 4 => {
                let column = self.chance.of(scope).clone();
                let value = self.value(column.kind, scope, 1);
                let query = self.members(&[column.kind], scope, depth);
                Pair::fill(&format!("$ {not}IN ($)"), &[&value, &query])
            }
            5 => {
                let columns = [self.chance.of(scope).clone(), self.chance.of(scope).clone()];
                let query = self.members(&[columns[0].kind, columns[1].kind], scope, depth);
                let names = Pair::same(format!("({}, {})", columns[0].name, columns[1].name));
                Pair::fill(&format!("$ {not}IN ($)"), &[&names, &query])
            }
            6 => self.quantified(scope, depth),
            _ => {
                let (query, kind) = self.scalar(scope, depth);
                let value = self.value(kind, scope, 1);
                let operator = self.operator();
                Pair::fill(&format!("$ {operator} $"), &[&value, &query])
            }
        }
    }

    /// A query of columns of these kinds, of which a value may be one.
    fn members(&mut self, kinds: &[Kind], scope: &Scope, depth: usize) -> Pair {
        if self.chance.one_in(6) {
            let (one, other) =
                (self.select_kinds(kinds, &vec![], depth), self.select_kinds(kinds, &vec![], depth));
            return Pair::fill("$ UNION ALL $", &[&one, &other]);
        }
        let outer = self.outer(scope);
        self.select_kinds(kinds, &outer, depth)
    }

    /// A comparison with ANY or ALL rows of a query, which SQLite lacks.
    fn quantified(&mut self, scope: &Scope, depth: usize) -> Pair {
        let column = self.chance.of(scope).clone();
        let operator = if column.kind == Kind::Bool { "=" } else { self.operator() };
        let query = self.members(&[column.kind], scope, depth);
        let (word, decides, otherwise) = *self.chance.of(&[("ANY", 1, 0), ("ALL", 0, 1)]);
        let compared = format!("{} {operator} {}.E", column.name, "Q");
        let label = self.label(0);
        Pair {
            ours: format!("{} {operator} {word} ({})", column.name, query.ours),
            theirs: format!(
                "(SELECT CASE WHEN COUNT(CASE WHEN ({compared}) = {decides} THEN 1 END) > 0 THEN {decides} \
                 WHEN COUNT({compared}) < COUNT(*) THEN NULL ELSE {otherwise} END \
                 FROM (SELECT {label} AS E FROM ({})) Q)",
                query.theirs
            ),
        }
    }

    /// A query of one value.
    pub(super) fn scalar(&mut self, scope: &Scope, depth: usize) -> (Pair, Kind) {
        let outer = self.outer(scope);
        let (from, columns) = self.web(0);
        let (aggregate, kind, _) = self.aggregate(&columns, false);
        let filter = self.small_filter(&columns, &outer, depth);
        (Pair::fill("(SELECT $ FROM $$)", &[&aggregate, &from, &filter]), kind)
    }

    /// A value that has a query.
    pub(super) fn nested_value(&mut self, kind: Kind, scope: &Scope) -> Pair {
        if kind == Kind::Bool {
            return Pair::fill("($)", &[&self.nested(scope, 0)]);
        }
        let (query, found) = self.scalar(scope, 0);
        let value = self.value(kind, scope, 0);
        match found == kind {
            true => Pair::fill("COALESCE($, $)", &[&query, &value]),
            false => Pair::fill("CASE WHEN $ IS NULL THEN $ END", &[&query, &value]),
        }
    }
}
