// SPDX-License-Identifier: Apache-2.0
//! Clauses that the parser reads and the planner would not look at. A statement that has one is refused: nothing that is written in
//! a query is without effect.
//!
//! The parts of a query are named one by one, so that a part that is new to the parser is noticed here.

use std::ops::ControlFlow;

use datafusion::logical_expr::planner::ContextProvider;
use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, GroupByExpr, ObjectNamePart, Query, Select, SetExpr, SetOperator, SetQuantifier,
    TableAlias, TableFactor, Visit, Visitor,
};

use super::Planning;
use crate::error::SqlError;

/// An error if a query or an expression has one of them.
pub(super) fn check(node: &impl Visit, planning: &Planning) -> Result<(), SqlError> {
    match node.visit(&mut Clauses { planning }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Clauses<'a> {
    planning: &'a Planning,
}

/// What is written, if it is, and the error that names it.
type Found<'a> = (bool, &'a str);

fn refuse(found: &[Found<'_>]) -> ControlFlow<SqlError> {
    match found.iter().find(|(is_there, _)| *is_there) {
        Some((_, message)) => ControlFlow::Break(SqlError::unsupported(*message)),
        None => ControlFlow::Continue(()),
    }
}

impl Visitor for Clauses<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        let Query {
            with,
            body,
            order_by: _,
            limit_clause: _,
            fetch: _,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators: _,
        } = query;
        refuse(&[
            (
                !locks.is_empty(),
                "FOR UPDATE and FOR SHARE lock nothing here; change a row that depends on what it was with UPSERT .. ON DUPLICATE KEY UPDATE, which reads and writes it in one step",
            ),
            (
                for_clause.is_some(),
                "FOR XML, FOR JSON and FOR BROWSE are not supported; COPY writes JSON files",
            ),
            (settings.is_some(), "SETTINGS is not supported in a query"),
            (
                format_clause.is_some(),
                "FORMAT is not supported in a query; COPY writes files of many formats",
            ),
        ])?;
        takes_columns_in_order(body)?;
        for query in with.iter().flat_map(|with| &with.cte_tables) {
            check_alias(&query.alias)?;
            refuse(&[(query.from.is_some(), "FROM has no meaning behind a query of WITH")])?;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<SqlError> {
        let Select {
            select_token: _,
            optimizer_hints: _,
            distinct: _,
            select_modifiers,
            top: _,
            top_before_distinct: _,
            projection: _,
            exclude,
            into,
            from,
            lateral_views: _,
            prewhere,
            selection: _,
            connect_by,
            group_by: GroupByExpr::Expressions(_, modifiers) | GroupByExpr::All(modifiers),
            cluster_by: _,
            distribute_by,
            sort_by: _,
            having: _,
            named_window: _,
            qualify: _,
            window_before_qualify: _,
            value_table_mode,
            flavor: _,
        } = select;
        refuse(&[
            (select_modifiers.is_some(), "modifiers behind SELECT are not supported; hints stand in /*+ */"),
            (exclude.is_some(), "EXCLUDE stands behind the * whose columns it leaves away"),
            (
                into.is_some(),
                "SELECT INTO is not supported; CREATE TABLE .. AS SELECT makes a table of a query",
            ),
            (prewhere.is_some(), "PREWHERE is not supported; WHERE is evaluated before columns are read"),
            (!connect_by.is_empty(), "CONNECT BY is not supported; use WITH RECURSIVE"),
            (
                !modifiers.is_empty(),
                "GROUP BY .. WITH is not supported; use GROUP BY ROLLUP (..) or CUBE (..)",
            ),
            (
                !distribute_by.is_empty(),
                "DISTRIBUTE BY is not supported; queries find their own distribution",
            ),
            (value_table_mode.is_some(), "SELECT AS VALUE and SELECT AS STRUCT are not supported"),
            (
                from.iter().flat_map(|from| &from.joins).any(|join| join.global),
                "GLOBAL JOIN is not supported; joins find their own distribution",
            ),
        ])
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<SqlError> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version: _,
                with_ordinality,
                partitions,
                json_path,
                sample: _,
                index_hints,
            } => {
                refuse(&[
                    (
                        !with_hints.is_empty() || !index_hints.is_empty(),
                        "hints behind a table are not supported; write /*+ INDEX(table index) */ behind SELECT",
                    ),
                    (*with_ordinality, "WITH ORDINALITY is for functions; use ROW_NUMBER() OVER ()"),
                    (
                        !partitions.is_empty(),
                        "PARTITION behind a table is not supported; conditions on the primary key read a part of it",
                    ),
                    (json_path.is_some(), "paths behind a table are not supported; use JSON_VALUE"),
                    (
                        args.as_ref().is_some_and(|args| args.settings.is_some()),
                        "SETTINGS is not supported in a query",
                    ),
                ])?;
                let is_file = name.to_string().starts_with('\'');
                let typed =
                    |alias: &&TableAlias| alias.columns.iter().all(|column| column.data_type.is_some());
                let is_extended = args.is_none() && !is_file && alias.as_ref().filter(typed).is_some();
                // Names with types behind a table are dynamic columns.
                if is_extended { ControlFlow::Continue(()) } else { alias.iter().try_for_each(check_alias) }
            }
            TableFactor::Function { with_ordinality, alias, .. } => {
                refuse(&[(*with_ordinality, "WITH ORDINALITY is not supported; use ROW_NUMBER() OVER ()")])?;
                alias.iter().try_for_each(check_alias)
            }
            TableFactor::Derived { alias, .. }
            | TableFactor::NestedJoin { alias, .. }
            | TableFactor::UNNEST { alias, .. } => alias.iter().try_for_each(check_alias),
            // The planner refuses the others.
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<SqlError> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        refuse(&[(
            counts_different_rows(function),
            "DISTINCT * is no argument; SELECT COUNT(*) FROM (SELECT DISTINCT * FROM ..) counts different rows",
        )])?;
        let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
            return ControlFlow::Continue(());
        };
        let name = if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() };
        if self.planning.get_function_meta(&name).is_none() {
            return ControlFlow::Continue(());
        }
        match of_rows(function) {
            None => ControlFlow::Continue(()),
            Some(clause) => ControlFlow::Break(SqlError::statement(format!(
                "{clause} is for functions of several rows, and {} is one of a single row",
                function.name
            ))),
        }
    }
}

/// Only UNION takes columns by their names.
fn takes_columns_in_order(body: &SetExpr) -> ControlFlow<SqlError> {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else {
        return ControlFlow::Continue(());
    };
    refuse(&[(
        !matches!(op, SetOperator::Union)
            && matches!(
                set_quantifier,
                SetQuantifier::AllByName | SetQuantifier::ByName | SetQuantifier::DistinctByName
            ),
        "EXCEPT and INTERSECT take columns in their order; BY NAME is for UNION",
    )])?;
    takes_columns_in_order(left)?;
    takes_columns_in_order(right)
}

/// `COUNT(DISTINCT *)`, of which the planner makes `COUNT(DISTINCT 1)`.
fn counts_different_rows(function: &Function) -> bool {
    matches!(&function.args, FunctionArguments::List(list)
    if list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
        && list.args.iter().any(|argument| {
            matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Wildcard | FunctionArgExpr::QualifiedWildcard(_)))
        }))
}

/// A type behind the name of a column says nothing of rows that have one already.
fn check_alias(alias: &TableAlias) -> ControlFlow<SqlError> {
    let TableAlias { explicit: _, name: _, columns, at } = alias;
    refuse(&[
        (
            columns.iter().any(|column| column.data_type.is_some()),
            "the columns of a query have their types; use CAST in it for others",
        ),
        (at.is_some(), "AT has no meaning behind an alias"),
    ])
}

/// What a call says that only calls over several rows can.
fn of_rows(function: &Function) -> Option<&'static str> {
    let Function {
        name: _,
        uses_odbc_syntax: _,
        parameters: _,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = function;
    let (distinct, clauses) = match args {
        FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args: _, clauses }) => {
            (*duplicate_treatment == Some(DuplicateTreatment::Distinct), !clauses.is_empty())
        }
        FunctionArguments::None | FunctionArguments::Subquery(_) => (false, false),
    };
    let found = [
        (filter.is_some(), "FILTER"),
        (over.is_some(), "OVER"),
        (!within_group.is_empty(), "WITHIN GROUP"),
        (null_treatment.is_some(), "IGNORE or RESPECT NULLS"),
        (distinct, "DISTINCT"),
        (clauses, "a clause behind the arguments"),
    ];
    found.into_iter().find(|(is_there, _)| *is_there).map(|(_, clause)| clause)
}
