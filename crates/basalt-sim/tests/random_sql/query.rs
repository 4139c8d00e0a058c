// SPDX-License-Identifier: Apache-2.0
//! Random queries, each written for both databases. Where the two differ by design (an empty text is NULL here, NULLs come
//! first in every order), SQLite's text says what is meant.

mod forms;
mod nested;
mod webs;

use crate::chance::Chance;
use crate::world::{Kind, Table, Value, World};

/// One meaning in two dialects.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

impl Pair {
    fn same(text: impl Into<String>) -> Self {
        let ours = text.into();
        Self { theirs: ours.clone(), ours }
    }

    fn of(value: &Value) -> Self {
        Self { ours: value.ours(), theirs: value.theirs() }
    }

    /// `template` with each `$` replaced by a part.
    fn fill(template: &str, parts: &[&Pair]) -> Self {
        let fill = |text: fn(&Pair) -> &str| {
            let mut filled = String::new();
            let mut parts = parts.iter();
            for piece in template.split_inclusive('$') {
                match piece.strip_suffix('$') {
                    Some(before) => {
                        filled.push_str(before);
                        filled.push_str(text(parts.next().expect("as many parts as signs")));
                    }
                    None => filled.push_str(piece),
                }
            }
            filled
        };
        Self { ours: fill(|pair| &pair.ours), theirs: fill(|pair| &pair.theirs) }
    }

    fn join(parts: &[Pair], between: &str) -> Self {
        let join = |text: fn(&Pair) -> &str| parts.iter().map(text).collect::<Vec<_>>().join(between);
        Self { ours: join(|pair| &pair.ours), theirs: join(|pair| &pair.theirs) }
    }
}

/// A query and how its answer is compared.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) text: Pair,
    pub(crate) kinds: Vec<Kind>,
    /// Columns that are rounded differently.
    pub(crate) rounded: Vec<bool>,
    /// The order of the rows counts.
    pub(crate) ordered: bool,
}

#[derive(Debug, Clone)]
struct ScopeColumn {
    name: String,
    kind: Kind,
}

type Scope = Vec<ScopeColumn>;

pub(crate) struct Maker<'a> {
    world: &'a World,
    chance: &'a mut Chance,
    aliases: usize,
    /// What WITH names.
    named: webs::Named,
}

struct Body {
    text: Pair,
    kinds: Vec<Kind>,
    rounded: Vec<bool>,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(world: &'a World, chance: &'a mut Chance) -> Self {
        Self { world, chance, aliases: 0, named: vec![] }
    }

    pub(crate) fn query(&mut self) -> Query {
        let mut body = match self.chance.below(8) {
            // Drawn for the sake of the seeds of before; set operations have queries of their own.
            0 if self.chance.one_in(1 << 40) => self.select(&vec![], 0, false),
            1 => self.with(),
            _ => self.select(&vec![], 2, true),
        };
        let ordered = self.chance.one_in(2);
        if ordered {
            let text = self.order(&body);
            body.text = Pair::join(&[body.text, text], " ");
        }
        Query { text: body.text, kinds: body.kinds, rounded: body.rounded, ordered }
    }

    /// ORDER BY all columns, so that only equal rows can change places, and perhaps LIMIT and OFFSET.
    fn order(&mut self, body: &Body) -> Pair {
        let mut columns: Vec<usize> = (1..=body.kinds.len()).collect();
        for at in (1..columns.len()).rev() {
            columns.swap(at, self.chance.below(at + 1));
        }
        let terms = columns.into_iter().map(|column| {
            let direction = *self.chance.of(&["", " ASC", " DESC"]);
            let nulls = *self.chance.of(&["", " NULLS FIRST", " NULLS LAST"]);
            let theirs = if nulls.is_empty() { " NULLS FIRST" } else { nulls };
            Pair {
                ours: format!("{column}{direction}{nulls}"),
                theirs: format!("{column}{direction}{theirs}"),
            }
        });
        let terms = terms.collect::<Vec<_>>();
        let mut text = Pair::fill("ORDER BY $", &[&Pair::join(&terms, ", ")]);
        // A rounded value could end up on another side of the cut.
        if !body.rounded.contains(&true) && !self.chance.one_in(3) {
            let limit = self.chance.below(12);
            text = Pair::fill(&format!("$ LIMIT {limit}"), &[&text]);
            if self.chance.one_in(2) {
                let offset = self.chance.below(8);
                text = Pair::fill(&format!("$ OFFSET {offset}"), &[&text]);
            }
        }
        text
    }

    fn with(&mut self) -> Body {
        let inner = self.select(&vec![], 1, false);
        let name = self.alias();
        let columns: Vec<_> = (0..inner.kinds.len()).map(|at| format!("E{at}")).collect();
        let scope = |alias: &str| -> Scope {
            let columns = columns.iter().zip(&inner.kinds);
            columns
                .map(|(column, kind)| ScopeColumn { name: format!("{alias}.{column}"), kind: *kind })
                .collect()
        };
        let (left, right) = (self.alias(), self.alias());
        let mut from = Pair::same(format!("{name} {left}"));
        let mut visible = scope(&left);
        if self.chance.one_in(2) {
            visible.extend(scope(&right));
            let on = self.condition(&visible, 1, 0);
            from = Pair::fill(&format!("$ JOIN {name} {right} ON $"), &[&from, &on]);
        }
        let Body { text, kinds, rounded } = self.body(from, visible, &vec![], 1, true);
        let columns = columns.join(", ");
        Body {
            text: Pair::fill(&format!("WITH {name} ({columns}) AS ($) $"), &[&inner.text, &text]),
            kinds,
            rounded,
        }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("A{}", self.aliases)
    }

    fn kind(&mut self) -> Kind {
        *self.chance.of(&[Kind::Int, Kind::Int, Kind::Exact, Kind::Text, Kind::Date, Kind::Bool])
    }

    /// A SELECT of some columns; `last` allows what is compared with a tolerance.
    fn select(&mut self, outer: &Scope, depth: usize, last: bool) -> Body {
        let (from, scope) = self.from(depth);
        self.body(from, scope, outer, depth, last)
    }

    fn body(&mut self, from: Pair, scope: Scope, outer: &Scope, depth: usize, last: bool) -> Body {
        if self.chance.one_in(3) {
            return self.grouped(from, &scope, outer, depth, last);
        }
        let distinct = if self.chance.one_in(4) { "DISTINCT " } else { "" };
        let kinds: Vec<_> = (0..1 + self.chance.below(4)).map(|_| self.kind()).collect();
        let items = self.items(&kinds, &scope, depth);
        let filter = self.filter(&scope, outer, depth);
        let text = Pair::fill(&format!("SELECT {distinct}$ FROM $$"), &[&items, &from, &filter]);
        Body { text, rounded: vec![false; kinds.len()], kinds }
    }

    fn items(&mut self, kinds: &[Kind], scope: &Scope, depth: usize) -> Pair {
        let items: Vec<_> = kinds
            .iter()
            .enumerate()
            .map(|(at, kind)| {
                let value = self.item(*kind, scope, depth.min(2));
                Pair::fill(&format!("$ AS {}", self.label(at)), &[&value])
            })
            .collect();
        Pair::join(&items, ", ")
    }

    /// A value of a select list.
    fn item(&mut self, kind: Kind, scope: &Scope, depth: usize) -> Pair {
        if self.world.is_small && depth > 0 && self.chance.one_in(8) {
            return self.nested_value(kind, scope);
        }
        self.value(kind, scope, depth)
    }

    /// A SELECT of columns of these kinds.
    fn select_kinds(&mut self, kinds: &[Kind], outer: &Scope, depth: usize) -> Pair {
        let (from, scope) = self.from(depth.saturating_sub(1));
        let items = self.items(kinds, &scope, 1);
        let filter = self.filter(&scope, outer, depth);
        Pair::fill("SELECT $ FROM $$", &[&items, &from, &filter])
    }

    fn filter(&mut self, scope: &Scope, outer: &Scope, depth: usize) -> Pair {
        if self.world.is_small {
            return self.small_filter(scope, outer, depth);
        }
        let mut conditions = vec![];
        if !outer.is_empty() && self.chance.one_in(2) {
            conditions.extend(self.link(scope, outer, &["=", "=", "=", "<", "<>"]));
        }
        if !self.chance.one_in(4) {
            conditions.push(self.condition(scope, 2, depth));
        }
        if conditions.is_empty() {
            return Pair::same("");
        }
        Pair::fill(" WHERE $", &[&Pair::join(&conditions, " AND ")])
    }

    /// A comparison of an inner with an outer column.
    fn link(&mut self, scope: &Scope, outer: &Scope, operators: &[&str]) -> Option<Pair> {
        let inner = self.chance.of(scope).clone();
        let others: Vec<_> = outer.iter().filter(|other| other.kind == inner.kind).collect();
        if others.is_empty() {
            return None;
        }
        let other = (*self.chance.of(&others)).clone();
        let operator = *self.chance.of(operators);
        Some(Pair::same(format!("{} {operator} {}", inner.name, other.name)))
    }

    fn grouped(&mut self, from: Pair, scope: &Scope, outer: &Scope, depth: usize, last: bool) -> Body {
        let filter = self.filter(scope, outer, depth);
        let mut groups = vec![];
        for _ in 0..self.chance.below(3) {
            let column = self.chance.of(scope).clone();
            let by_sum = column.kind == Kind::Int && self.chance.one_in(4);
            let name = if by_sum { format!("{} % 3", column.name) } else { column.name.clone() };
            groups.push((Pair::same(name), column.kind));
        }
        let (mut items, mut kinds, mut rounded) = (vec![], vec![], vec![]);
        for (group, kind) in &groups {
            items.push(group.clone());
            kinds.push(*kind);
            rounded.push(false);
        }
        for _ in 0..1 + self.chance.below(3) {
            let (item, kind, is_rounded) = self.aggregate(scope, last);
            items.push(item);
            kinds.push(kind);
            rounded.push(is_rounded);
        }
        let items = items.iter().enumerate();
        let items: Vec<_> =
            items.map(|(at, item)| Pair::fill(&format!("$ AS {}", self.label(at)), &[item])).collect();
        let mut text = Pair::fill("SELECT $ FROM $$", &[&Pair::join(&items, ", "), &from, &filter]);
        if !groups.is_empty() {
            let groups: Vec<_> = groups.into_iter().map(|(group, _)| group).collect();
            text = Pair::fill("$ GROUP BY $", &[&text, &Pair::join(&groups, ", ")]);
            if self.chance.one_in(3) {
                let (aggregate, kind, _) = self.aggregate(scope, false);
                let value = self.literal(kind);
                let operator = *self.chance.of(&["<", ">=", "=", "<>"]);
                text = Pair::fill(&format!("$ HAVING $ {operator} $"), &[&text, &aggregate, &value]);
            }
        }
        Body { text, kinds, rounded }
    }

    fn aggregate(&mut self, scope: &Scope, rounded: bool) -> (Pair, Kind, bool) {
        let column = self.chance.of(scope).clone();
        let name = &column.name;
        let number = matches!(column.kind, Kind::Int | Kind::Exact);
        let sum_kind = column.kind;
        match self.chance.below(8) {
            0 => (Pair::same("COUNT(*)"), Kind::Int, false),
            1 => (Pair::same(format!("COUNT({name})")), Kind::Int, false),
            2 => (Pair::same(format!("COUNT(DISTINCT {name})")), Kind::Int, false),
            3 if number => (Pair::same(format!("SUM({name})")), sum_kind, false),
            4 if number && rounded => (Pair::same(format!("AVG({name})")), Kind::Exact, true),
            5 => {
                let condition = self.condition(scope, 1, 0);
                (Pair::fill("COUNT(CASE WHEN $ THEN 1 END)", &[&condition]), Kind::Int, false)
            }
            _ if column.kind == Kind::Bool => (Pair::same(format!("COUNT({name})")), Kind::Int, false),
            6 => (Pair::same(format!("MIN({name})")), column.kind, false),
            _ => (Pair::same(format!("MAX({name})")), column.kind, false),
        }
    }

    fn from(&mut self, depth: usize) -> (Pair, Scope) {
        if self.world.is_small {
            return self.web(depth);
        }
        let (mut text, mut scope) = self.relation(depth);
        for _ in 0..*self.chance.of(&[0, 0, 0, 1, 1, 2]) {
            let (right, columns) = self.relation(0);
            let left = scope.clone();
            scope.extend(columns.clone());
            let kind = *self.chance.of(&[
                "JOIN",
                "JOIN",
                "LEFT JOIN",
                "LEFT JOIN",
                "RIGHT JOIN",
                "FULL JOIN",
                "CROSS JOIN",
            ]);
            if kind == "CROSS JOIN" {
                text = Pair::fill("$ CROSS JOIN $", &[&text, &right]);
                continue;
            }
            let mut on: Vec<_> = self.link(&columns, &left, &["="]).into_iter().collect();
            if on.is_empty() || self.chance.one_in(3) {
                on.push(self.condition(&scope, 1, 0));
            }
            text = Pair::fill(&format!("$ {kind} $ ON $"), &[&text, &right, &Pair::join(&on, " AND ")]);
        }
        (text, scope)
    }

    fn relation(&mut self, depth: usize) -> (Pair, Scope) {
        if self.world.is_small {
            return self.small_relation(depth);
        }
        let alias = self.alias();
        if depth > 0 && self.chance.one_in(6) {
            let Body { text, kinds, .. } = self.select(&vec![], depth - 1, false);
            let column =
                |(at, kind): (usize, &Kind)| ScopeColumn { name: format!("{alias}.E{at}"), kind: *kind };
            let scope = kinds.iter().enumerate().map(column).collect();
            return (Pair::fill(&format!("($) {alias}"), &[&text]), scope);
        }
        let table: &Table = self.chance.of(&self.world.tables);
        let columns = table.columns.iter();
        let scope =
            columns.map(|column| ScopeColumn { name: format!("{alias}.{}", column.name), kind: column.kind });
        (Pair::same(format!("{} {alias}", table.name)), scope.collect())
    }

    fn column(&mut self, kind: Kind, scope: &Scope) -> Option<Pair> {
        let columns: Vec<_> = scope.iter().filter(|column| column.kind == kind).collect();
        if columns.is_empty() {
            return None;
        }
        Some(Pair::same(self.chance.of(&columns).name.clone()))
    }

    fn literal(&mut self, kind: Kind) -> Pair {
        Pair::of(&self.world.value(kind, self.chance))
    }

    /// A value of this kind over the columns of the scope.
    fn value(&mut self, kind: Kind, scope: &Scope, depth: usize) -> Pair {
        if depth == 0 || self.chance.one_in(2) {
            let column = if self.chance.one_in(6) { None } else { self.column(kind, scope) };
            return column.unwrap_or_else(|| self.literal(kind));
        }
        let depth = depth - 1;
        match self.chance.below(9) {
            0 => {
                let condition = self.condition(scope, 1, 0);
                let (a, b) = (self.value(kind, scope, depth), self.value(kind, scope, depth));
                return Pair::fill("CASE WHEN $ THEN $ ELSE $ END", &[&condition, &a, &b]);
            }
            1 => {
                let (a, b) = (self.value(kind, scope, depth), self.value(kind, scope, depth));
                return Pair::fill("COALESCE($, $)", &[&a, &b]);
            }
            2 => {
                let (a, b) = (self.value(kind, scope, depth), self.literal(kind));
                return Pair::fill("NULLIF($, $)", &[&a, &b]);
            }
            _ => {}
        }
        match kind {
            Kind::Int => self.integer(scope, depth),
            Kind::Exact => {
                let operator = *self.chance.of(&["+", "-", "*"]);
                let (a, b) = (self.value(kind, scope, 0), self.value(kind, scope, 0));
                Pair::fill(&format!("($ {operator} $)"), &[&a, &b])
            }
            Kind::Text => self.text(scope, depth),
            Kind::Date => self.column(kind, scope).unwrap_or_else(|| self.literal(kind)),
            Kind::Bool => Pair::fill("($)", &[&self.condition(scope, 1, 0)]),
        }
    }

    fn integer(&mut self, scope: &Scope, depth: usize) -> Pair {
        match self.chance.below(7) {
            0 => {
                let text = self.value(Kind::Text, scope, depth);
                // The blanks behind a CHAR count here, and nowhere else.
                Pair {
                    ours: format!("LENGTH(RTRIM({}))", text.ours),
                    theirs: format!("LENGTH({})", text.theirs),
                }
            }
            1 => Pair::fill("ABS($)", &[&self.value(Kind::Int, scope, depth)]),
            2 => {
                let divisor = self.chance.between(2, 5);
                let operator = *self.chance.of(&["/", "%"]);
                Pair::fill(&format!("($ {operator} {divisor})"), &[&self.value(Kind::Int, scope, depth)])
            }
            _ => {
                let operator = *self.chance.of(&["+", "-", "*"]);
                let (a, b) = (self.value(Kind::Int, scope, 0), self.value(Kind::Int, scope, depth));
                Pair::fill(&format!("($ {operator} $)"), &[&a, &b])
            }
        }
    }

    fn text(&mut self, scope: &Scope, depth: usize) -> Pair {
        let a = self.value(Kind::Text, scope, depth);
        match self.chance.below(5) {
            0 => Pair::fill("UPPER($)", &[&a]),
            1 => Pair::fill("LOWER($)", &[&a]),
            2 => {
                let start = self.chance.between(1, 3);
                let cut = Pair::fill(&format!("SUBSTR($, {start})"), &[&a]);
                Pair { ours: cut.ours, theirs: format!("NULLIF({}, '')", cut.theirs) }
            }
            3 => {
                let (from, to) = (*self.chance.of(&["'a'", "'b'"]), *self.chance.of(&["'c'", "'ab'"]));
                Pair::fill(&format!("REPLACE($, {from}, {to})"), &[&a])
            }
            _ => {
                let b = self.value(Kind::Text, scope, depth);
                Pair {
                    ours: format!("(RTRIM({}) || RTRIM({}))", a.ours, b.ours),
                    theirs: format!("NULLIF(IFNULL({}, '') || IFNULL({}, ''), '')", a.theirs, b.theirs),
                }
            }
        }
    }

    /// A condition over the columns; `queries` allows subqueries that deep.
    fn condition(&mut self, scope: &Scope, depth: usize, queries: usize) -> Pair {
        if depth > 0 {
            match self.chance.below(8) {
                0 => return Pair::fill("NOT ($)", &[&self.condition(scope, depth - 1, 0)]),
                1 | 2 => {
                    let operator = *self.chance.of(&["AND", "OR"]);
                    let (a, b) = (
                        self.condition(scope, depth - 1, queries),
                        self.condition(scope, depth - 1, queries),
                    );
                    return Pair::fill(&format!("($ {operator} $)"), &[&a, &b]);
                }
                3 if self.chance.one_in(3) => {
                    let truth = *self.chance.of(&["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"]);
                    return Pair::fill(&format!("($) IS {truth}"), &[&self.condition(scope, depth - 1, 0)]);
                }
                _ => {}
            }
        }
        if queries > 0 && self.chance.one_in(4) {
            return self.subquery(scope, queries - 1);
        }
        let column = self.chance.of(scope).clone();
        let (kind, name) = (column.kind, Pair::same(column.name));
        let not = *self.chance.of(&["", "", "NOT "]);
        match self.chance.below(10) {
            0 => Pair::fill(&format!("$ IS {not}NULL"), &[&name]),
            1 | 2 if kind != Kind::Bool => {
                let (a, b) = (self.literal(kind), self.literal(kind));
                Pair::fill(&format!("$ {not}BETWEEN $ AND $"), &[&name, &a, &b])
            }
            3 | 4 if kind != Kind::Bool => {
                let mut list: Vec<_> = (0..1 + self.chance.below(4)).map(|_| self.literal(kind)).collect();
                if self.chance.one_in(6) {
                    list.push(Pair::same("NULL"));
                }
                Pair::fill(&format!("$ {not}IN ($)"), &[&name, &Pair::join(&list, ", ")])
            }
            5 if kind == Kind::Text => {
                let pattern = *self.chance.of(&["a%", "%b", "_b%", "ab", "%a%", "b_b", "%", "a'%", "_"]);
                Pair::fill(&format!("$ {not}LIKE '{}'", pattern.replace('\'', "''")), &[&name])
            }
            6 => self.row_comparison(scope),
            7 if kind == Kind::Bool => name,
            8 if matches!(kind, Kind::Int | Kind::Exact) => {
                let other = if kind == Kind::Int { Kind::Exact } else { Kind::Int };
                let value = self.value(other, scope, 1);
                let operator = self.operator();
                Pair::fill(&format!("$ {operator} $"), &[&name, &value])
            }
            _ => {
                let value = self.value(kind, scope, 1);
                let operator = if kind == Kind::Bool { "=" } else { self.operator() };
                Pair::fill(&format!("$ {operator} $"), &[&name, &value])
            }
        }
    }

    fn operator(&mut self) -> &'static str {
        const OPERATORS: [&str; 7] = ["=", "=", "<>", "<", "<=", ">", ">="];
        OPERATORS[self.chance.below(OPERATORS.len())]
    }

    fn row_comparison(&mut self, scope: &Scope) -> Pair {
        let columns: Vec<_> = (0..2 + self.chance.below(2)).map(|_| self.chance.of(scope).clone()).collect();
        let names: Vec<_> = columns.iter().map(|column| Pair::same(column.name.clone())).collect();
        let values: Vec<_> = columns.iter().map(|column| self.literal(column.kind)).collect();
        let operator = self.operator();
        Pair::fill(&format!("($) {operator} ($)"), &[&Pair::join(&names, ", "), &Pair::join(&values, ", ")])
    }

    fn subquery(&mut self, scope: &Scope, depth: usize) -> Pair {
        if self.world.is_small {
            return self.nested(scope, depth);
        }
        let not = *self.chance.of(&["", "NOT "]);
        match self.chance.below(3) {
            0 => {
                let (from, columns) = self.from(0);
                let filter = self.filter(&columns, scope, depth);
                Pair::fill(&format!("{not}EXISTS (SELECT 1 FROM $$)"), &[&from, &filter])
            }
            1 => {
                let column = self.chance.of(scope).clone();
                let outer = if self.chance.one_in(3) { scope.clone() } else { vec![] };
                let query = self.select_kinds(&[column.kind], &outer, depth);
                // Not NOT IN, which is wrong inside of OR still (docs/sql.md).
                Pair::fill("$ IN ($)", &[&Pair::same(column.name), &query])
            }
            _ => {
                let (from, columns) = self.from(0);
                let (aggregate, kind, _) = self.aggregate(&columns, false);
                let mut conditions = vec![];
                if self.chance.one_in(2) {
                    conditions.extend(self.link(&columns, scope, &["="]));
                }
                if self.chance.one_in(2) {
                    conditions.push(self.condition(&columns, 1, 0));
                }
                let filter = if conditions.is_empty() {
                    Pair::same("")
                } else {
                    Pair::fill(" WHERE $", &[&Pair::join(&conditions, " AND ")])
                };
                let value = self.value(kind, scope, 1);
                let operator = self.operator();
                Pair::fill(&format!("$ {operator} (SELECT $ FROM $$)"), &[&value, &aggregate, &from, &filter])
            }
        }
    }
}
