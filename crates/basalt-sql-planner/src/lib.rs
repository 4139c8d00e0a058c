// SPDX-License-Identifier: Apache-2.0
//! DataFusion's SQL planner behind a trait object.
//!
//! The planner is generic over its view of the world, so the crate that uses it compiles all of it, minutes each
//! time. Here that happens once: this crate changes only with DataFusion.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::file_options::file_type::FileType;
use datafusion::common::{DFSchema, Result, TableReference};
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF,
};
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, Statement};

/// The logical plan of a statement.
pub fn plan(world: &dyn ContextProvider, statement: Statement) -> Result<LogicalPlan> {
    let world = World(world);
    planner(&world).sql_statement_to_plan(statement)
}

/// An expression over the columns of `schema`.
pub fn expression(world: &dyn ContextProvider, expr: SqlExpr, schema: &DFSchema) -> Result<Expr> {
    let world = World(world);
    planner(&world).sql_to_expr(expr, schema, &mut PlannerContext::new())
}

fn planner<'a, 'w>(world: &'a World<'w>) -> SqlToRel<'a, World<'w>> {
    SqlToRel::new_with_options(world, ParserOptions::from(&world.0.options().sql_parser))
}

/// Passes every question on.
struct World<'w>(&'w dyn ContextProvider);

impl ContextProvider for World<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        self.0.get_table_source(name)
    }

    fn get_file_type(&self, extension: &str) -> Result<Arc<dyn FileType>> {
        self.0.get_file_type(extension)
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> Result<Arc<dyn TableSource>> {
        self.0.get_table_function_source(name, args)
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        self.0.create_cte_work_table(name, schema)
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.0.get_expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        self.0.get_relation_planners()
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        self.0.get_type_planner()
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.0.get_function_meta(name)
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.0.get_higher_order_meta(name)
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.0.get_aggregate_meta(name)
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.0.get_window_meta(name)
    }

    fn get_variable_type(&self, variable_names: &[String]) -> Option<DataType> {
        self.0.get_variable_type(variable_names)
    }

    fn get_variable_field(&self, variable_names: &[String]) -> Option<FieldRef> {
        self.0.get_variable_field(variable_names)
    }

    fn options(&self) -> &ConfigOptions {
        self.0.options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.0.udf_names()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.0.higher_order_function_names()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.0.udaf_names()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.0.udwf_names()
    }
}
