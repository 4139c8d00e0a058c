// SPDX-License-Identifier: Apache-2.0
//! Dynamic columns of a query: the definitions behind a table go into its name, by which [`super::Planning`] finds a
//! table that has these columns too. The table keeps its own name as alias.

use std::ops::ControlFlow;

use basalt_model::TableName;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectNamePart, Query, TableAlias, TableAliasColumnDef,
    TableFactor, VisitMut, VisitorMut,
};

use crate::dialect::{self, ColumnDef};
use crate::error::SqlError;

/// Stands between the name of a table and the definitions; no text can be typed with it.
pub(super) const MARK: char = '\u{2}';

/// Rewrites a query.
pub(super) fn rewrite(query: &mut Query) {
    let _ = query.visit(&mut Tables);
}

/// The table's own name, and the columns that a name asks for besides.
pub(super) fn split(name: &TableName) -> Result<(TableName, Vec<ColumnDef>), SqlError> {
    let Some((own, definitions)) = name.name.split_once(MARK) else { return Ok((name.clone(), vec![])) };
    let columns = dialect::dynamic_columns(definitions).transpose()?.unwrap_or_default();
    Ok((TableName::new(name.namespace.clone(), own), columns))
}

struct Tables;

impl VisitorMut for Tables {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, alias, args, .. } = factor else { return ControlFlow::Continue(()) };
        if args.is_none()
            && let Some(ObjectNamePart::Identifier(table)) = name.0.last_mut()
            && let Some(definitions) = alias.as_mut().and_then(behind_alias)
        {
            *table = with_columns(table, &definitions);
            return ControlFlow::Continue(());
        }
        let Some(definitions) = args.as_ref().and_then(|args| match args.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name)))] => Some(name.value.clone()),
            _ => None,
        }) else {
            return ControlFlow::Continue(());
        };
        if dialect::dynamic_columns(&definitions).is_some()
            && let Some(ObjectNamePart::Identifier(table)) = name.0.last_mut()
        {
            if alias.is_none() {
                let name = Ident::with_quote('"', table.value.clone());
                *alias = Some(TableAlias { explicit: true, name, columns: vec![], at: None });
            }
            *table = with_columns(table, &definitions);
            *args = None;
        }
        ControlFlow::Continue(())
    }
}

/// `FROM t AS a (x VARCHAR)`, as in Phoenix: names with types behind an alias are definitions, too.
fn behind_alias(alias: &mut TableAlias) -> Option<String> {
    let definition = |column: &TableAliasColumnDef| {
        let sql_type = column.data_type.as_ref()?;
        Some(format!("{} {sql_type}", dialect::quoted(&column.name.value)))
    };
    let definitions: Option<Vec<String>> = alias.columns.iter().map(definition).collect();
    let definitions = definitions.filter(|definitions| !definitions.is_empty())?;
    alias.columns.clear();
    Some(dialect::dynamic_name(&definitions))
}

fn with_columns(table: &Ident, definitions: &str) -> Ident {
    Ident { value: format!("{}{MARK}{definitions}", table.value), quote_style: Some('"'), span: table.span }
}
