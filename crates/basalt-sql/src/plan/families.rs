// SPDX-License-Identifier: Apache-2.0
//! Columns written with their family, `CF.V`: the planner knows tables before the dot and nothing else, so these
//! are rewritten to the name that the column has in its table (`V`, or `"CF.V"` where two families have a `V`).
//!
//! A qualifier that is a table or an alias of the query is one; families only come second.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use basalt_model::schema::ColumnRef;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    VisitMut, VisitorMut,
};

use super::Planning;
use crate::dialect::Name;
use crate::scan::BasaltTable;

/// Rewrites the columns of a query.
pub(super) fn resolve(query: &mut Query, planning: &Planning) {
    let mut relations = Relations { planning, names: HashSet::new(), tables: vec![] };
    let _ = query.visit(&mut relations);
    let Relations { names, tables, .. } = relations;
    let _ = query.visit(&mut Rewriter { names, tables });
}

/// Rewrites the columns of an expression over one table.
pub(crate) fn resolve_expr(expr: &mut Expr, table: &Arc<BasaltTable>) {
    let names = HashSet::from([table.descriptor.name.name.clone()]);
    let _ = expr.visit(&mut Rewriter { names, tables: vec![Arc::clone(table)] });
}

/// Collects the tables and aliases of a query.
struct Relations<'a> {
    planning: &'a Planning,
    names: HashSet<String>,
    tables: Vec<Arc<BasaltTable>>,
}

impl VisitorMut for Relations<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let (name, alias) = match factor {
            TableFactor::Table { name, alias, .. } => (Some(name), alias),
            TableFactor::Derived { alias, .. } => (None, alias),
            _ => return ControlFlow::Continue(()),
        };
        self.names.extend(alias.as_ref().map(|alias| alias.name.value.clone()));
        let Some(name) = name else { return ControlFlow::Continue(()) };
        let mut parts: Vec<_> =
            name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.clone()).collect();
        if let Some(last) = parts.pop() {
            self.names.insert(last.clone());
            let schema = parts.pop().or_else(|| self.planning.schema.clone());
            let name = Name { schema, name: last };
            // Names of common table expressions are no tables; the planner reports what does not exist.
            self.tables.extend(self.planning.table(&name.table()).ok());
        }
        ControlFlow::Continue(())
    }
}

struct Rewriter {
    names: HashSet<String>,
    tables: Vec<Arc<BasaltTable>>,
}

impl Rewriter {
    /// `family.*` as the columns of the family; anything else as it is.
    fn expanded(&self, item: SelectItem) -> Vec<SelectItem> {
        let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = &item
        else {
            return vec![item];
        };
        let [ObjectNamePart::Identifier(family)] = name.0.as_slice() else { return vec![item] };
        if self.names.contains(&family.value) {
            return vec![item];
        }
        let columns = self.tables.iter().flat_map(|table| {
            let schema = table.table_schema();
            let in_family = schema.declared_order().iter().filter(move |column| match column {
                ColumnRef::Key(_) => false,
                ColumnRef::Column(index) => schema.columns[*index].family == family.value,
            });
            in_family.map(move |&column| Ident::with_quote('"', schema.display_name(column)))
        });
        let columns: Vec<_> =
            columns.map(|column| SelectItem::UnnamedExpr(Expr::Identifier(column))).collect();
        if columns.is_empty() { vec![item] } else { columns }
    }
}

impl VisitorMut for Rewriter {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let items = std::mem::take(&mut select.projection);
        select.projection = items.into_iter().flat_map(|item| self.expanded(item)).collect();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::CompoundIdentifier(parts) = expr else { return ControlFlow::Continue(()) };
        let (qualifier, family, name) = match parts.as_slice() {
            [family, name] if !self.names.contains(&family.value) => (None, family, name),
            [table, family, name] if self.names.contains(&table.value) => (Some(table), family, name),
            _ => return ControlFlow::Continue(()),
        };
        let found = self.tables.iter().find_map(|table| {
            let schema = table.table_schema();
            let column = schema.find(Some(&family.value), &name.value).ok()?;
            Some(schema.display_name(column))
        });
        if let Some(found) = found {
            let column = Ident { value: found, quote_style: Some('"'), span: name.span };
            *expr = match qualifier {
                Some(table) => Expr::CompoundIdentifier(vec![table.clone(), column]),
                None => Expr::Identifier(column),
            };
        }
        ControlFlow::Continue(())
    }
}
