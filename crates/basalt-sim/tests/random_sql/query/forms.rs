// SPDX-License-Identifier: Apache-2.0
//! Set operations, window functions, and groups of several sets (which SQLite lacks, so that its text is the union of one query for
//! each set).

use super::{Body, Maker, Pair, Query, Scope};
use crate::world::Kind;

impl Maker<'_> {
    /// A query of one of these forms.
    pub(crate) fn form(&mut self) -> Query {
        let mut body = match self.chance.below(3) {
            0 => self.set_operations(),
            1 => self.windows(),
            _ => self.grouping_sets(),
        };
        let ordered = self.chance.one_in(2);
        if ordered {
            let text = self.order(&body);
            body.text = Pair::join(&[body.text, text], " ");
        }
        Query { text: body.text, kinds: body.kinds, rounded: body.rounded, ordered }
    }

    /// One operation, or one over another that stands in FROM: the two databases do not agree which of a chain comes first.
    fn set_operations(&mut self) -> Body {
        let kinds: Vec<_> = (0..1 + self.chance.below(3)).map(|_| self.kind()).collect();
        let mut text = self.set_operation_of(&kinds);
        if self.chance.one_in(3) {
            let (inner, other) = (self.alias(), self.select_kinds(&kinds, &vec![], 1));
            let left = Pair::fill(&format!("SELECT * FROM ($) {inner}"), &[&text]);
            text = self.combined(kinds.len(), &left, &other);
        }
        Body { text, rounded: vec![false; kinds.len()], kinds }
    }

    fn set_operation_of(&mut self, kinds: &[Kind]) -> Pair {
        let left = self.select_kinds(kinds, &vec![], 1);
        let right = self.select_kinds(kinds, &vec![], 1);
        self.combined(kinds.len(), &left, &right)
    }

    /// Two queries of so many columns, by some operation.
    fn combined(&mut self, width: usize, left: &Pair, right: &Pair) -> Pair {
        let operation = *self.chance.of(&OPERATIONS);
        let plain = Pair::fill(&format!("$ {operation} $"), &[left, right]);
        match operation.strip_suffix(" ALL").filter(|operation| *operation != "UNION") {
            Some(operation) => {
                Pair { theirs: counted(operation, width, &left.theirs, &right.theirs), ..plain }
            }
            None => plain,
        }
    }

    fn windows(&mut self) -> Body {
        let (from, scope) = self.from(1);
        let filter = self.filter(&scope, &vec![], 0);
        let (mut items, mut kinds) = (vec![], vec![]);
        for _ in 0..1 + self.chance.below(2) {
            let column = self.chance.of(&scope).clone();
            items.push(Pair::same(column.name));
            kinds.push(column.kind);
        }
        for _ in 0..1 + self.chance.below(3) {
            let (item, kind) = self.window(&scope);
            items.push(item);
            kinds.push(kind);
        }
        let items: Vec<_> =
            items.iter().enumerate().map(|(at, item)| Pair::fill(&format!("$ AS E{at}"), &[item])).collect();
        let text = Pair::fill("SELECT $ FROM $$", &[&Pair::join(&items, ", "), &from, &filter]);
        Body { text, rounded: vec![false; kinds.len()], kinds }
    }

    /// A function over a window; where its value depends on the order of equal rows, the order is by all columns.
    fn window(&mut self, scope: &Scope) -> (Pair, Kind) {
        let column = self.chance.of(scope).clone();
        let name = &column.name;
        let plain = column.kind != Kind::Bool;
        let number = matches!(column.kind, Kind::Int | Kind::Exact);
        let offset = 1 + self.chance.below(3);
        let (call, kind, by_all, takes_frame) = match self.chance.below(11) {
            0 => ("ROW_NUMBER()".to_owned(), Kind::Int, true, false),
            1 => ("RANK()".to_owned(), Kind::Int, false, false),
            2 => ("DENSE_RANK()".to_owned(), Kind::Int, false, false),
            3 => (format!("NTILE({offset})"), Kind::Int, true, false),
            4 if plain => (format!("LAG({name}, {offset})"), column.kind, true, false),
            5 if plain => (format!("LEAD({name})"), column.kind, true, false),
            6 if plain => (format!("FIRST_VALUE({name})"), column.kind, true, true),
            7 if plain => (format!("LAST_VALUE({name})"), column.kind, true, true),
            8 if number => (format!("SUM({name})"), column.kind, true, true),
            9 if plain => (format!("MIN({name})"), column.kind, true, true),
            10 if plain => (format!("MAX({name})"), column.kind, true, true),
            _ => (format!("COUNT({name})"), Kind::Int, true, true),
        };
        let mut parts = vec![];
        if self.chance.one_in(2) {
            parts.push(Pair::same(format!("PARTITION BY {}", self.chance.of(scope).name)));
        }
        // Without an order any row may be the first.
        let is_picked = call.contains("_VALUE(");
        let is_ordered = by_all && (!takes_frame || is_picked) || !self.chance.one_in(4);
        if is_ordered {
            parts.push(self.window_order(scope, by_all));
        }
        if takes_frame && is_ordered {
            parts.push(Pair::same(*self.chance.of(&FRAMES)));
        }
        let window = Pair::join(&parts, " ");
        (Pair::fill(&format!("{call} OVER ($)"), &[&window]), kind)
    }

    fn window_order(&mut self, scope: &Scope, by_all: bool) -> Pair {
        let mut names: Vec<_> = scope.iter().map(|column| column.name.clone()).collect();
        for at in (1..names.len()).rev() {
            names.swap(at, self.chance.below(at + 1));
        }
        names.truncate(if by_all { names.len() } else { 1 });
        let terms: Vec<_> = names.into_iter().map(|name| self.term(&name)).collect();
        Pair::fill("ORDER BY $", &[&Pair::join(&terms, ", ")])
    }

    /// NULLs come first here, and in SQLite where it is told so.
    fn term(&mut self, name: &str) -> Pair {
        let direction = *self.chance.of(&["", " ASC", " DESC"]);
        Pair { ours: format!("{name}{direction}"), theirs: format!("{name}{direction} NULLS FIRST") }
    }

    fn grouping_sets(&mut self) -> Body {
        let (from, scope) = self.from(1);
        let filter = self.filter(&scope, &vec![], 0);
        let mut columns: Vec<(String, Kind)> = vec![];
        for _ in 0..1 + self.chance.below(3) {
            let column = self.chance.of(&scope).clone();
            if columns.iter().all(|(name, _)| *name != column.name) {
                columns.push((column.name, column.kind));
            }
        }
        let (call, sets) = self.sets(&columns);
        let (mut aggregates, mut kinds) = (vec![], columns.iter().map(|(_, kind)| *kind).collect::<Vec<_>>());
        for _ in 0..1 + self.chance.below(2) {
            let (aggregate, kind, _) = self.aggregate(&scope, false);
            aggregates.push(aggregate);
            kinds.push(kind);
        }
        let select = |named: &dyn Fn(&str) -> Pair, groups: &Pair| {
            let columns = columns.iter().map(|(name, _)| named(name));
            let items = columns.chain(aggregates.iter().cloned()).enumerate();
            let items: Vec<_> =
                items.map(|(at, item)| Pair::fill(&format!("$ AS E{at}"), &[&item])).collect();
            Pair::fill("SELECT $ FROM $$$", &[&Pair::join(&items, ", "), &from, &filter, groups])
        };
        let ours = select(&|name| Pair::same(name), &Pair::same(format!(" GROUP BY {call}")));
        let theirs = sets.iter().map(|set| {
            let named =
                |name: &str| Pair::same(if set.iter().any(|known| known == name) { name } else { "NULL" });
            let groups = match set.is_empty() {
                // One row even of no rows.
                true => String::new(),
                false => format!(" GROUP BY {}", set.join(", ")),
            };
            select(&named, &Pair::same(groups)).theirs
        });
        let theirs = theirs.collect::<Vec<_>>().join(" UNION ALL ");
        Body { text: Pair { ours: ours.ours, theirs }, rounded: vec![false; kinds.len()], kinds }
    }

    /// What stands behind GROUP BY, and the sets that it means.
    fn sets(&mut self, columns: &[(String, Kind)]) -> (String, Vec<Vec<String>>) {
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let of = |mask: usize| -> Vec<String> {
            let chosen = names.iter().enumerate().filter(|(at, _)| mask & 1 << at != 0);
            chosen.map(|(_, name)| name.clone()).collect()
        };
        let all = names.join(", ");
        match self.chance.below(3) {
            0 => (
                format!("ROLLUP ({all})"),
                (0..=names.len()).rev().map(|length| names[..length].to_vec()).collect(),
            ),
            1 => (format!("CUBE ({all})"), (0..1 << names.len()).map(of).collect()),
            _ => {
                let mut sets: Vec<_> =
                    (0..1 + self.chance.below(3)).map(|_| of(self.chance.below(1 << names.len()))).collect();
                // What is selected has to be in a set.
                let missing = names.iter().filter(|name| !sets.iter().any(|set| set.contains(name)));
                let missing: Vec<_> = missing.cloned().collect();
                if !missing.is_empty() {
                    sets.push(missing);
                }
                let texts: Vec<_> = sets.iter().map(|set| format!("({})", set.join(", "))).collect();
                (format!("GROUPING SETS ({})", texts.join(", ")), sets)
            }
        }
    }
}

/// INTERSECT ALL and EXCEPT ALL, which SQLite does not have: of rows that are numbered among their equals.
fn counted(operation: &str, width: usize, left: &str, right: &str) -> String {
    let columns = (0..width).map(|at| format!("C{at}")).collect::<Vec<_>>().join(", ");
    let numbered =
        |name: &str| format!("SELECT {columns}, ROW_NUMBER() OVER (PARTITION BY {columns}) FROM {name}");
    format!(
        "SELECT {columns} FROM (WITH L({columns}) AS ({left}), R({columns}) AS ({right}) {} {operation} {})",
        numbered("L"),
        numbered("R")
    )
}

const OPERATIONS: [&str; 6] = ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"];

const FRAMES: [&str; 7] = [
    "",
    "",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
    "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
];
