// SPDX-License-Identifier: Apache-2.0
//! Column labels of select lists. SQL allows two columns of one label (`SELECT v, v`, `SELECT rand(), rand()`), the
//! planner does not: repeated labels get a hidden mark, which is taken off the answer again.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Join, JoinConstraint,
    JoinOperator, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Subscript, Value, VisitMut,
    VisitorMut,
};

use crate::dialect;
use crate::functions::{NOT_NEGATIVE, NUMBERED};

/// Stands between a label and the number that makes it unique; no text can be typed with it.
const MARK: char = '\u{1}';

/// True of the planner's refusal of two columns for which it has one name, though they are not written alike: `d + 1, 1 + d`, or two groups by IN.
pub(super) fn collide(error: &DataFusionError) -> bool {
    let is_repeated = |error: &DataFusionError| matches!(error, DataFusionError::SchemaError(of, _) if matches!(**of, SchemaError::DuplicateUnqualifiedField { .. }));
    is_repeated(error.find_root()) || error.to_string().contains("require unique expression names")
}

/// Marks what has no name in all select lists of a query, columns excepted, and numbers the subqueries that are values: the planner
/// has one name for all of them, and so for totals of several.
pub(super) fn mark_all(query: &mut Query) {
    let _ = query.visit(&mut AllMarker);
    let _ = query.visit(&mut Numbered::default());
}

/// Puts subqueries in lists, groups and orders into calls of [`NUMBERED`]; the same ones get the same number.
#[derive(Default)]
struct Numbered {
    known: Vec<Expr>,
    /// Queries around that are within the list, group or order.
    depth: usize,
}

impl Numbered {
    fn of(&mut self, node: &mut impl VisitMut) {
        let depth = std::mem::take(&mut self.depth);
        let _ = node.visit(&mut Calls(self));
        self.depth = depth;
    }
}

impl VisitorMut for Numbered {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.of(&mut query.order_by);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.of(&mut select.projection);
        self.of(&mut select.group_by);
        self.of(&mut select.having);
        ControlFlow::Continue(())
    }
}

struct Calls<'a>(&'a mut Numbered);

impl VisitorMut for Calls<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.0.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.0.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let is_query = matches!(expr, Expr::InSubquery { .. } | Expr::Exists { .. } | Expr::Subquery(_));
        if !is_query || self.0.depth > 0 {
            return ControlFlow::Continue(());
        }
        let known = self.0.known.iter().position(|known| known == expr);
        let number = known.unwrap_or_else(|| {
            self.0.known.push(expr.clone());
            self.0.known.len() - 1
        });
        if let Ok(mut call) = dialect::parse_condition(&format!("\"{NUMBERED}\"({number}, NULL)")) {
            if let Expr::Function(function) = &mut call
                && let FunctionArguments::List(list) = &mut function.args
                && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.last_mut()
            {
                *argument = expr.clone();
            }
            *expr = call;
        }
        ControlFlow::Continue(())
    }
}

struct AllMarker;

impl VisitorMut for AllMarker {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for (at, item) in select.projection.iter_mut().enumerate() {
            if let SelectItem::UnnamedExpr(expr) = item
                && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            {
                let alias = Ident::with_quote('"', format!("{}{MARK}~{at}", label(expr)));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }
}

/// Marks repeated labels in all select lists of a query.
pub(super) fn make_unique(query: &mut Query) {
    let _ = query.visit(&mut Marker);
    let is_ordered = query.order_by.is_some();
    if let SetExpr::Select(select) = query.body.as_mut() {
        mark_beside_wildcard(select);
        if select.distinct.is_some() {
            let is_longer = |key: &Expr| {
                !matches!(key, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
            };
            order_by_place(select, query.order_by.as_mut(), is_longer);
        }
        if is_ordered && select.distinct.is_none() {
            mark_casts(select);
            mark_hiding(select, query.order_by.as_mut());
        }
    }
}

/// `SELECT v, t.*` has V twice. Nothing refers to the columns of the outermost list, so those that are listed by name give way.
fn mark_beside_wildcard(select: &mut Select) {
    let is_wildcard =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if !select.projection.iter().any(is_wildcard) {
        return;
    }
    for (at, item) in select.projection.iter_mut().enumerate() {
        if let SelectItem::UnnamedExpr(expr @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_))) = item {
            let alias = Ident::with_quote('"', format!("{}{MARK}*{at}", label(expr)));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

/// `SELECT CAST(v AS INTEGER) .. ORDER BY v`: the planner names the cast V, too, and would know V twice.
fn mark_casts(select: &mut Select) {
    for (at, item) in select.projection.iter_mut().enumerate() {
        if let SelectItem::UnnamedExpr(expr) = item
            && is_cast(expr)
        {
            let alias = Ident::with_quote('"', format!("{}{MARK}={at}", label(expr)));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

/// `SELECT b.v AS k .. ORDER BY b.k`: beside the column that it orders by the planner takes the alias K for another one of its name.
/// So the alias gives way, and ORDER BY's own mentions of it follow.
fn mark_hiding(select: &mut Select, order_by: Option<&mut OrderBy>) {
    let Some(OrderByKind::Expressions(keys)) = order_by.map(|order_by| &mut order_by.kind) else { return };
    let mut names = Mentions::default();
    let _ = keys.visit(&mut names);
    let mut elsewhere = Mentions::default();
    let _ = select.group_by.visit(&mut elsewhere);
    let _ = select.having.visit(&mut elsewhere);
    let _ = select.qualify.visit(&mut elsewhere);
    for (at, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
        let name = alias.value.clone();
        let is_other = |mention: &&Expr| label(mention) == name && *mention != expr;
        if elsewhere.bare.contains(&name) || !names.qualified.iter().any(|mention| is_other(&mention)) {
            continue;
        }
        let marked = format!("{name}{MARK}={at}");
        *alias = Ident::with_quote('"', &marked);
        let _ = keys.visit(&mut Renamed { from: &name, to: &marked });
    }
}

/// Qualified names, and names that stand alone.
#[derive(Default)]
struct Mentions {
    qualified: Vec<Expr>,
    bare: HashSet<String>,
}

impl VisitorMut for Mentions {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::CompoundIdentifier(_) => self.qualified.push(expr.clone()),
            Expr::Identifier(name) => {
                self.bare.insert(name.value.clone());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Gives another name to what is named alone.
struct Renamed<'a> {
    from: &'a str,
    to: &'a str,
}

impl VisitorMut for Renamed<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) if name.value == self.from => *name = Ident::with_quote('"', self.to),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// `SELECT DISTINCT lower(a) .. ORDER BY lower(a)`: what the select list has is ordered by its place in the list, since the
/// planner looks for the columns of a longer expression, which are gone. So are those of `SELECT DISTINCT b.v .. FROM a JOIN b USING (v) ORDER BY b.v`, for
/// which it takes the other table's.
fn order_by_place(select: &Select, order_by: Option<&mut OrderBy>, is_meant: impl Fn(&Expr) -> bool) {
    let Some(OrderByKind::Expressions(keys)) = order_by.map(|order_by| &mut order_by.kind) else { return };
    let listed = |wanted: &Expr| {
        select.projection.iter().position(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr == wanted,
            _ => false,
        })
    };
    for key in keys {
        if !is_meant(&key.expr) {
            continue;
        }
        // Behind a wildcard, places are those of columns that nobody has counted yet.
        let counted = |at: &usize| {
            let before = &select.projection[..*at];
            before
                .iter()
                .all(|item| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }))
        };
        if let Some(at) = listed(&key.expr).filter(counted) {
            key.expr = Expr::value(Value::Number((at + 1).to_string(), false));
        }
    }
}

/// True if a join has USING or is a NATURAL one.
fn merges_columns(select: &Select) -> bool {
    let is_merging = |join: &Join| match &join.join_operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => {
            matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
        }
        _ => false,
    };
    select.from.iter().any(|from| from.joins.iter().any(is_merging))
}

struct Marker;

impl VisitorMut for Marker {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        mark_set(&mut query.body);
        if let SetExpr::Select(select) = query.body.as_mut()
            && select.distinct.is_some()
            && merges_columns(select)
        {
            let is_qualified = |key: &Expr| matches!(key, Expr::CompoundIdentifier(_));
            order_by_place(select, query.order_by.as_mut(), is_qualified);
        }
        ControlFlow::Continue(())
    }
}

fn mark_set(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => mark_select(select),
        SetExpr::SetOperation { left, right, .. } => {
            mark_set(left);
            mark_set(right);
        }
        _ => {}
    }
}

fn mark_select(select: &mut Select) {
    let mut seen = HashSet::new();
    for item in &mut select.projection {
        let (expr, label) = match item {
            SelectItem::UnnamedExpr(expr) => (expr.clone(), label(expr)),
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.value.clone()),
            _ => continue,
        };
        if !seen.insert(label.clone()) {
            let marked = format!("{label}{MARK}{}", seen.len());
            *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', &marked) };
            seen.insert(marked);
        }
    }
}

/// The name of a column of a select list without an alias.
pub(super) fn label(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) => parts.last().map(|part| part.value.clone()).unwrap_or_default(),
        Expr::Nested(inner) => label(inner),
        // The planner names a cast after what is cast.
        Expr::Cast { expr, .. } => label(expr),
        // And a subquery after its column.
        Expr::Subquery(query) => match query.body.as_ref() {
            SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::UnnamedExpr(expr)) => label(expr),
                Some(SelectItem::ExprWithAlias { alias, .. }) => alias.value.clone(),
                _ => expr.to_string(),
            },
            _ => expr.to_string(),
        },
        Expr::Function(call) => checked_cast(call).map_or_else(|| expr.to_string(), label),
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.as_slice() {
            // The planner makes a call of it, which may stand beside it.
            [AccessExpr::Subscript(Subscript::Index { index })] => format!("ARRAY_ELEM({root}, {index})"),
            _ => expr.to_string(),
        },
        _ => expr.to_string(),
    }
}

fn is_cast(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { .. } => true,
        Expr::Function(call) => checked_cast(call).is_some(),
        _ => false,
    }
}

/// The CAST in a call that checks its value.
fn checked_cast(call: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let [name] = call.name.0.as_slice() else { return None };
    match list.args.first() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(cast)))
            if name.as_ident().is_some_and(|name| name.value == NOT_NEGATIVE) =>
        {
            Some(cast)
        }
        _ => None,
    }
}

/// The schema as the user sees it: without marks.
pub(crate) fn shown_schema(schema: &SchemaRef) -> SchemaRef {
    if !schema.fields().iter().any(|field| field.name().contains(MARK)) {
        return Arc::clone(schema);
    }
    let shown = |name: &str| name.split(MARK).next().unwrap_or_default().to_owned();
    let fields: Vec<_> =
        schema.fields().iter().map(|field| field.as_ref().clone().with_name(shown(field.name()))).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
