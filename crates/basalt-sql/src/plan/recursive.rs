// SPDX-License-Identifier: Apache-2.0
//! Queries that refer to themselves (WITH RECURSIVE), as DataFusion 55 takes them.
//!
//! - It knows the query inside of itself by a name in lower case. An alias, which nobody wrote, gives it its own name there.
//! - It takes the two terms of such a query only if their columns agree in all that is noted of them. What is noted of ours (the type of the
//!   table that they come from) says nothing of the result: both terms lose it.

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, RecursiveQuery, ScalarUDF};
use datafusion::sql::sqlparser::ast::{Ident, Query, TableAlias, TableFactor, VisitMut, VisitorMut};

use crate::functions::as_it_is;

/// Names each such query inside of itself; true if there is one.
pub(super) fn name_itself(query: &mut Query) -> bool {
    let mut queries = Queries { found: false };
    let _ = query.visit(&mut queries);
    queries.found
}

struct Queries {
    found: bool,
}

impl VisitorMut for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(with) = query.with.as_mut().filter(|with| with.recursive) {
            self.found = true;
            for cte in &mut with.cte_tables {
                let _ = cte.query.visit(&mut References(cte.alias.name.clone()));
            }
        }
        ControlFlow::Continue(())
    }
}

struct References(Ident);

impl VisitorMut for References {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias: alias @ None, args: None, .. } = factor
            && let [part] = name.0.as_slice()
            && part.as_ident().is_some_and(|ident| ident.value == self.0.value)
        {
            *alias = Some(TableAlias { explicit: true, name: self.0.clone(), columns: vec![], at: None });
        }
        ControlFlow::Continue(())
    }
}

/// The plan of a query that has such ones, with terms that agree.
pub(super) fn agree(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::RecursiveQuery(query) => {
            found = true;
            let RecursiveQuery { name, static_term, recursive_term, is_distinct, .. } = query;
            let (first, next) = (plainly(static_term)?, plainly(recursive_term)?);
            let query = RecursiveQuery::try_new(name, first, next, is_distinct)?;
            Ok(Transformed::yes(LogicalPlan::RecursiveQuery(query)))
        }
        // What is above one has the columns' notes from it.
        plan if found => plan.recompute_schema().map(Transformed::yes),
        plan => Ok(Transformed::no(plan)),
    });
    plan.data()
}

/// The columns of a term without what is noted of them.
fn plainly(term: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    static AS_IT_IS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(as_it_is()));
    let schema: &DFSchema = term.schema();
    if schema.fields().iter().all(|field| field.metadata().is_empty()) {
        return Ok(term);
    }
    let columns = schema.columns().into_iter().enumerate().map(|(at, column)| {
        let (qualifier, field) = schema.qualified_field(at);
        match field.metadata().is_empty() {
            true => Expr::Column(column),
            false => {
                AS_IT_IS.call(vec![Expr::Column(column)]).alias_qualified(qualifier.cloned(), field.name())
            }
        }
    });
    let columns = columns.collect();
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns, term)?)))
}
