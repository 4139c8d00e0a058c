// SPDX-License-Identifier: Apache-2.0
//! FROM clauses of the small worlds: up to four relations in any tree of joins, of tables, views, derived tables and common table
//! expressions, and the queries that are made of them.

use super::{Body, Maker, Pair, Query, Scope, ScopeColumn};
use crate::world::Kind;

/// Names of the columns of derived tables, by their place: those of the tables.
const LABELS: [&str; 6] = ["K", "V", "J", "W", "X", "S"];

/// Relations under a name of the statement, with their columns.
pub(super) type Named = Vec<(String, Scope)>;

impl Maker<'_> {
    /// A query of a small world.
    pub(crate) fn joined(&mut self) -> Query {
        let mut body = match self.chance.below(10) {
            0 | 1 => self.with_several(),
            2 => self.using(),
            3..=6 => self.columns(2),
            _ => self.select(&vec![], 2, true),
        };
        let ordered = self.chance.one_in(2);
        if ordered {
            let text = self.order(&body);
            body.text = Pair::join(&[body.text, text], " ");
        }
        Query { text: body.text, kinds: body.kinds, rounded: body.rounded, ordered }
    }

    /// What a column of a select list is called.
    pub(super) fn label(&self, at: usize) -> String {
        match LABELS.get(at) {
            Some(label) if self.world.is_small => (*label).to_owned(),
            _ => format!("E{at}"),
        }
    }

    /// Columns of a web as they are, perhaps each row once, or in the order of the first table's key.
    fn columns(&mut self, depth: usize) -> Body {
        let (from, scope) = self.web(depth);
        let filter = self.small_filter(&scope, &vec![], depth);
        let count = (1 + self.chance.below(5)).min(scope.len());
        let start = if self.chance.one_in(2) { 0 } else { self.chance.below(scope.len()) };
        let columns: Vec<_> = (0..count).map(|at| scope[(start + at) % scope.len()].clone()).collect();
        let items: Vec<_> = columns
            .iter()
            .enumerate()
            .map(|(at, column)| Pair::same(format!("{} AS {}", column.name, self.label(at))))
            .collect();
        let distinct = if self.chance.one_in(4) { "DISTINCT " } else { "" };
        let mut text =
            Pair::fill(&format!("SELECT {distinct}$ FROM $$"), &[&Pair::join(&items, ", "), &from, &filter]);
        let kinds: Vec<_> = columns.iter().map(|column| column.kind).collect();
        if depth == 0 || self.chance.one_in(3) {
            // All columns, so that only equal rows can change places where LIMIT cuts.
            let direction = *self.chance.of(&["", " DESC"]);
            let term = |column: &ScopeColumn| Pair {
                ours: format!("{}{direction}", column.name),
                theirs: format!("{}{direction} NULLS FIRST", column.name),
            };
            let terms: Vec<_> = columns.iter().map(term).collect();
            let limit = self.chance.below(6);
            text = Pair::fill(
                &format!("SELECT * FROM ($ ORDER BY $ LIMIT {limit}) {}", self.alias()),
                &[&text, &Pair::join(&terms, ", ")],
            );
        }
        Body { text, rounded: vec![false; kinds.len()], kinds }
    }

    /// Common table expressions, of which the main query and those in it make use as often as they like.
    fn with_several(&mut self) -> Body {
        let mut definitions = vec![];
        for _ in 0..1 + self.chance.below(2) {
            let (text, kinds) = self.derived(1);
            let name = self.alias();
            let columns: Vec<_> = (0..kinds.len()).map(|at| self.label(at)).collect();
            definitions.push(Pair::fill(&format!("{name} ({}) AS ($)", columns.join(", ")), &[&text]));
            let scope = columns.into_iter().zip(kinds).map(|(name, kind)| ScopeColumn { name, kind });
            self.named.push((name, scope.collect()));
        }
        let body = if self.chance.one_in(2) { self.columns(1) } else { self.select(&vec![], 1, true) };
        self.named.clear();
        let text = Pair::fill("WITH $ $", &[&Pair::join(&definitions, ", "), &body.text]);
        Body { text, ..body }
    }

    /// A join by a column of one name, which belongs to no side afterwards.
    fn using(&mut self) -> Body {
        let short = |column: &ScopeColumn| column.name.split('.').next_back().unwrap_or_default().to_owned();
        let ((left, mut all), (right, columns)) = (self.relation(0), self.relation(0));
        let is_common = |of: &&ScopeColumn| {
            columns.iter().any(|column| short(column) == short(of) && column.kind == of.kind)
        };
        let common: Vec<_> = all.iter().filter(is_common).cloned().collect();
        let (merged, text) = match common.is_empty() {
            // A column of one relation needs no other name.
            true => (self.chance.of(&all).clone(), left),
            false => {
                let merged = self.chance.of(&common).clone();
                all.extend(columns);
                // RIGHT and FULL are refused where the merged column is named.
                let join = *self.chance.of(&["JOIN", "LEFT JOIN"]);
                let using = short(&merged);
                let text = Pair::fill(&format!("$ {join} $ USING ({using})"), &[&left, &right]);
                (merged, text)
            }
        };
        let name = short(&merged);
        let mut items = vec![Pair::same(format!("{name} AS E0"))];
        let mut kinds = vec![merged.kind];
        for at in 1..2 + self.chance.below(3) {
            let column = self.chance.of(&all).clone();
            items.push(Pair::same(format!("{} AS E{at}", column.name)));
            kinds.push(column.kind);
        }
        let condition = self.condition(&all, 1, 0);
        let text = Pair::fill("SELECT $ FROM $ WHERE $", &[&Pair::join(&items, ", "), &text, &condition]);
        Body { text, rounded: vec![false; kinds.len()], kinds }
    }

    /// Relations, each joined with some of the others.
    pub(super) fn web(&mut self, depth: usize) -> (Pair, Scope) {
        let count = if depth > 0 {
            *self.chance.of(&[1, 2, 2, 3, 3, 3, 4])
        } else {
            *self.chance.of(&[1, 1, 1, 2, 2, 3])
        };
        let (mut text, mut scope) = self.tree(count, depth);
        if self.chance.one_in(6) {
            let more = 1 + self.chance.below(2);
            let (other, columns) = self.tree(more, 0);
            // A comma binds less than JOIN; in SQLite it does not.
            text = Pair {
                ours: format!("{}, {}", text.ours, other.ours),
                theirs: match more {
                    1 => format!("{} CROSS JOIN {}", text.theirs, other.theirs),
                    _ => format!("{} CROSS JOIN ({})", text.theirs, other.theirs),
                },
            };
            scope.extend(columns);
        }
        (text, scope)
    }

    fn tree(&mut self, count: usize, depth: usize) -> (Pair, Scope) {
        if count == 1 {
            return self.relation(depth);
        }
        let of_right = if self.chance.one_in(3) { 1 + self.chance.below(count - 1) } else { 1 };
        let (mut left, mut scope) = self.tree(count - of_right, depth);
        let (mut right, columns) = self.tree(of_right, depth);
        if count - of_right > 1 && self.chance.one_in(4) {
            left = Pair::fill("($)", &[&left]);
        }
        if of_right > 1 {
            right = Pair::fill("($)", &[&right]);
        }
        let join = *self.chance.of(&JOINS);
        let on = match join {
            "CROSS JOIN" => Pair::same(""),
            _ if count == 2 && self.chance.one_in(8) => self.using_of(&scope, &columns),
            _ => Pair::fill(" ON $", &[&self.on(&scope, &columns)]),
        };
        scope.extend(columns);
        (Pair::fill(&format!("$ {join} $$"), &[&left, &right, &on]), scope)
    }

    /// USING the columns that two relations have in common, some of them.
    fn using_of(&mut self, left: &Scope, right: &Scope) -> Pair {
        let short = |column: &ScopeColumn| column.name.split('.').next_back().unwrap_or_default().to_owned();
        let is_common = |of: &&ScopeColumn| {
            right.iter().any(|column| short(column) == short(of) && column.kind == of.kind)
        };
        let mut common: Vec<_> = left.iter().filter(is_common).map(short).collect();
        if common.is_empty() {
            return Pair::fill(" ON $", &[&self.on(left, right)]);
        }
        common.truncate(1 + self.chance.below(2));
        // Both columns keep their names, with that of their relation; SQLite does not find them behind further joins.
        let relation = |scope: &Scope| scope[0].name.split('.').next().unwrap_or_default().to_owned();
        let (left, right) = (relation(left), relation(right));
        let equal = common.iter().map(|name| format!("{left}.{name} = {right}.{name}"));
        Pair {
            ours: format!(" USING ({})", common.join(", ")),
            theirs: format!(" ON {}", equal.collect::<Vec<_>>().join(" AND ")),
        }
    }

    /// What is asked of the rows of two sides: equalities, as a rule, and more of one side, of both or of neither.
    fn on(&mut self, left: &Scope, right: &Scope) -> Pair {
        let all: Scope = left.iter().chain(right).cloned().collect();
        let mut parts = vec![];
        if !self.chance.one_in(8) {
            parts.extend(self.pair(right, left));
        }
        if self.chance.one_in(4) {
            parts.extend(self.link(right, left, &["=", "=", "<", "<>", ">=", "IS NOT DISTINCT FROM"]));
        }
        while parts.is_empty() || self.chance.one_in(3) {
            let part = match self.chance.below(9) {
                0 | 1 => self.condition(left, 1, 0),
                2 | 3 => self.condition(right, 1, 0),
                4 => self.condition(&all, 1, 0),
                5 => Pair::same(*self.chance.of(&["1 = 1", "1 = 0", "TRUE", "FALSE", "1 = NULL"])),
                6 => {
                    let not = *self.chance.of(&["", "NOT "]);
                    Pair::same(format!("{} IS {not}NULL", self.chance.of(&all).name))
                }
                _ => {
                    let (link, other) = (self.pair(right, left), self.condition(&all, 1, 0));
                    let link = link.unwrap_or_else(|| Pair::same("FALSE"));
                    Pair::fill("($ OR $)", &[&link, &other])
                }
            };
            parts.push(part);
        }
        if self.chance.one_in(2) {
            parts.reverse();
        }
        Pair::join(&parts, " AND ")
    }

    /// An equality of two sides.
    pub(super) fn pair(&mut self, inner: &Scope, outer: &Scope) -> Option<Pair> {
        let link = self.link(inner, outer, &["="])?;
        let is_number = link.ours.split(" = ").all(|name| {
            let mut columns = inner.iter().chain(outer);
            columns.any(|column| column.name == name && column.kind == Kind::Int)
        });
        if !is_number || !self.chance.one_in(6) {
            return Some(link);
        }
        let (left, right) = link.ours.split_once(" = ").expect("an equality");
        Some(Pair::same(match self.chance.below(3) {
            0 => format!("{left} + 1 = {right}"),
            1 => format!("COALESCE({left}, 1) = {right}"),
            _ => format!("{left} = ABS({right})"),
        }))
    }

    /// A table, a view, a derived table or what WITH names.
    pub(super) fn small_relation(&mut self, depth: usize) -> (Pair, Scope) {
        let alias = self.alias();
        let scope = |columns: &mut dyn Iterator<Item = (String, Kind)>| -> Scope {
            columns.map(|(name, kind)| ScopeColumn { name: format!("{alias}.{name}"), kind }).collect()
        };
        if !self.named.is_empty() && self.chance.one_in(2) {
            let (name, columns) = self.chance.of(&self.named).clone();
            let columns = scope(&mut columns.into_iter().map(|column| (column.name, column.kind)));
            return (Pair::same(format!("{name} {alias}")), columns);
        }
        if depth > 0 && self.chance.one_in(5) {
            let (text, kinds) = self.derived(depth - 1);
            let mut labels = kinds.iter().enumerate().map(|(at, kind)| (self.label(at), *kind));
            return (Pair::fill(&format!("($) {alias}"), &[&text]), scope(&mut labels));
        }
        let view = if self.chance.one_in(6) { Some(self.chance.of(&self.world.views)) } else { None };
        let (name, table) = match view {
            Some(view) => (&view.name, &self.world.tables[view.table]),
            None => {
                let table = self.chance.of(&self.world.tables);
                (&table.name, table)
            }
        };
        let columns = scope(&mut table.columns.iter().map(|column| (column.name.clone(), column.kind)));
        (Pair::same(format!("{name} {alias}")), columns)
    }

    /// A query that stands in FROM, and the kinds of its columns.
    fn derived(&mut self, depth: usize) -> (Pair, Vec<Kind>) {
        let body = match self.chance.below(4) {
            0 => self.columns(0),
            1 => {
                let kinds: Vec<_> = (0..1 + self.chance.below(3)).map(|_| self.kind()).collect();
                let union = *self.chance.of(&["UNION ALL", "UNION ALL", "UNION"]);
                let (one, other) =
                    (self.select_kinds(&kinds, &vec![], depth), self.select_kinds(&kinds, &vec![], depth));
                return (Pair::fill(&format!("$ {union} $"), &[&one, &other]), kinds);
            }
            _ => self.select(&vec![], depth, false),
        };
        (body.text, body.kinds)
    }
}

const JOINS: [&str; 11] = [
    "JOIN",
    "JOIN",
    "JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "FULL JOIN",
    "CROSS JOIN",
];
