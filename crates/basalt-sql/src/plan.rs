// SPDX-License-Identifier: Apache-2.0
//! From a parsed query to a logical plan: names are looked up in one snapshot of the database.
//!
//! [`Planning`] lives as long as one statement. It is the planner's view of the world (tables, functions, types)
//! and owns what the statement may not share with others: its snapshot, its progress.

mod aggregates;
mod beneath;
mod clauses;
mod doubles;
mod dynamic;
mod existence;
mod families;
mod having;
mod hinted;
mod key_offset;
mod labels;
mod listed;
mod listings;
mod lists;
mod meaning;
mod membership;
mod merged;
mod phrases;
mod quantified;
mod recursive;
mod row_facts;
mod sample;
mod sequences;
mod similar;
mod single_rows;
mod sources;
mod titles;
mod types;
mod views;
mod written_types;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use basalt_model::TableName;
use basalt_store::Snapshot;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, Result as PlanResult, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder};
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, Query, Statement as SqlStatement};
use parking_lot::Mutex;

use crate::catalog::{self, Relation};
use crate::definition;
use crate::dialect::{ColumnDef, Name, TokenMap};
use crate::engine::{Engine, memory_options};
use crate::error::SqlError;
use crate::file_table::FileTable;
use crate::functions;
use crate::hints::IndexHints;
use crate::index;
use crate::joins;
use crate::memory::StatementPool;
use crate::progress::Progress;
use crate::scan::{self, BasaltTable};
use crate::sequence::{self, Currents};
use crate::spill::{self, Plans};
use crate::uncommitted::Uncommitted;
pub(crate) use beneath::SubqueriesBeneath;
pub(crate) use existence::SubqueryLists;
pub(crate) use families::resolve_expr as resolve_families;
use having::Having;
use hinted::Aliases;
pub(crate) use labels::shown_schema;
pub(crate) use listed::ListedSubqueries;
pub(crate) use lists::UnknownInLists;
pub(crate) use membership::UnknownMembership;
pub(crate) use row_facts::is_row_fact;
use sample::Sample;
pub(crate) use single_rows::SingleRows;
pub(crate) use titles::Titles;
pub(crate) use types::PhoenixTypes;

/// How long a plan that begins again waits for memory of the one before, at most a fifth of a second: others may hold theirs for long.
const MEMORY_WAITS: usize = 100;
const MEMORY_WAIT: Duration = Duration::from_millis(2);

/// One statement being planned and run.
pub(crate) struct Planning {
    pub(crate) engine: Engine,
    /// Made when it is first asked for: rows of VALUES need none, and it has a table of all functions.
    state: OnceLock<SessionState>,
    pub(crate) snapshot: Snapshot,
    pub(crate) progress: Arc<Progress>,
    pub(crate) currents: Currents,
    /// The schema of names without one; the default schema if `None`.
    pub(crate) schema: Option<String>,
    /// Which indexes the statement wants to read.
    pub(crate) index_hints: IndexHints,
    /// What the statement has to say besides its answer.
    pub(crate) warnings: Arc<Mutex<Vec<String>>>,
    /// Where changes wait for the commit of the session, if they do.
    pub(crate) uncommitted: Option<Arc<Uncommitted>>,
    aliases: Mutex<Aliases>,
    /// A plan of the statement keeps rows in memory that another one would not.
    keeps_rows: AtomicBool,
    /// A plan of the statement gives no row before it has seen all.
    begins_late: AtomicBool,
    tokens: TokenMap,
    files: Mutex<HashMap<String, Arc<FileTable>>>,
    tables: Mutex<HashMap<TableName, Arc<BasaltTable>>>,
    functions: HashMap<&'static str, Arc<ScalarUDF>>,
    types: Arc<PhoenixTypes>,
}

impl Planning {
    pub(crate) fn new(
        engine: &Engine,
        tokens: TokenMap,
        progress: Arc<Progress>,
        currents: Currents,
    ) -> Self {
        let mut own: HashMap<_, _> = HashMap::new();
        let [next, current] = sequence::functions().map(Arc::new);
        own.insert(crate::dialect::NEXT_VALUE, next);
        own.insert(crate::dialect::CURRENT_VALUE, current);
        Self {
            engine: engine.clone(),
            state: OnceLock::new(),
            snapshot: engine.database().snapshot(),
            progress,
            currents,
            schema: None,
            index_hints: IndexHints::default(),
            warnings: Arc::default(),
            uncommitted: None,
            aliases: Mutex::default(),
            keeps_rows: AtomicBool::new(false),
            begins_late: AtomicBool::new(false),
            tokens,
            files: Mutex::default(),
            tables: Mutex::default(),
            functions: own,
            types: Arc::new(PhoenixTypes),
        }
    }

    /// What DataFusion plans and runs the statement with, its moment included.
    pub(crate) fn state(&self) -> &SessionState {
        self.state.get_or_init(|| {
            let mut state = self.engine.state().clone();
            state.mark_start_execution();
            state
        })
    }

    /// As [`Self::state`], for what a statement asks to be different.
    pub(crate) fn state_mut(&mut self) -> &mut SessionState {
        self.state();
        self.state.get_mut().expect("it was made above")
    }

    /// The statement may have so many bytes of what all share.
    pub(crate) fn limit_memory(&mut self, bytes: u64) {
        let state = self.state_mut();
        let shared = state.runtime_env();
        let pool =
            StatementPool::new(usize::try_from(bytes).unwrap_or(usize::MAX), Arc::clone(&shared.memory_pool));
        let runtime = RuntimeEnv { memory_pool: Arc::new(pool), ..RuntimeEnv::clone(shared) };
        let builder = SessionStateBuilder::new_from_existing(state.clone());
        *state = builder.with_runtime_env(Arc::new(runtime)).build();
        memory_options(state.config_mut().options_mut(), bytes);
    }

    /// The table of this name as the statement's snapshot sees it.
    pub(crate) fn table(&self, name: &TableName) -> Result<Arc<BasaltTable>, SqlError> {
        if let Some(table) = self.tables.lock().get(name) {
            return Ok(Arc::clone(table));
        }
        let (own, _) = Sample::split(&name.name);
        let (table, moment) = sources::moment_of(&TableName::new(name.namespace.clone(), own));
        let (own, dynamic) = dynamic::split(&table)?;
        let table = match moment {
            None => self.open(&own, &dynamic)?,
            Some(moment) => self.open_as_of(&own, &dynamic, moment)?,
        };
        self.tables.lock().insert(name.clone(), Arc::clone(&table));
        Ok(table)
    }

    /// A table with columns of which its definition knows nothing.
    pub(crate) fn extended(
        &self,
        name: &TableName,
        columns: &[ColumnDef],
    ) -> Result<Arc<BasaltTable>, SqlError> {
        if columns.is_empty() { self.table(name) } else { self.open(name, columns) }
    }

    fn open(&self, name: &TableName, dynamic: &[ColumnDef]) -> Result<Arc<BasaltTable>, SqlError> {
        let table = Arc::new(self.open_plain(name, dynamic)?);
        let (indexes, hints) = (index::usable(self, &table)?, self.index_hints());
        self.warn_of_indexes(&table, &indexes, &hints);
        Ok(if indexes.is_empty() { table } else { Arc::new(table.with_indexes(indexes, &hints)) })
    }

    /// A table as it was. Its indexes are those of now, so none is read.
    fn open_as_of(
        &self,
        name: &TableName,
        dynamic: &[ColumnDef],
        moment: i64,
    ) -> Result<Arc<BasaltTable>, SqlError> {
        let table = self.open_plain(name, dynamic)?.at_moment(moment);
        if table.descriptor.families.iter().any(|family| family.versions_max == 1) {
            self.warn(format!(
                "table {name} keeps one version of a value: what was overwritten since then may be missing; CREATE or ALTER TABLE .. VERSIONS = n keeps more"
            ));
        }
        Ok(Arc::new(table))
    }

    fn open_plain(&self, name: &TableName, dynamic: &[ColumnDef]) -> Result<BasaltTable, SqlError> {
        let relation = catalog::find(self.engine.database(), name)
            .map_err(|error| error.at(self.tokens.find(&name.name)))?;
        let relation = definition::with_dynamic(relation, dynamic)?;
        let table = BasaltTable::new(
            self.engine.database(),
            self.snapshot.clone(),
            relation,
            Arc::clone(&self.progress),
        );
        table.ok_or_else(|| catalog::without_columns(name))
    }

    /// The file at this path, as the statement found it first.
    fn file(&self, path: &str) -> Result<Arc<FileTable>, SqlError> {
        self.engine.check_user_files().map_err(|error| error.at(self.tokens.find_file(path)))?;
        if let Some(file) = self.files.lock().get(path) {
            return Ok(Arc::clone(file));
        }
        let opened = FileTable::open(path, Arc::clone(&self.progress));
        let file = Arc::new(opened.map_err(|error| error.at(self.tokens.find_file(path)))?);
        self.files.lock().insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    /// An error if the condition of a view that is about to be made has no meaning.
    pub(crate) fn check_condition(&self, relation: Relation) -> Result<(), SqlError> {
        let database = self.engine.database();
        let table = BasaltTable::new(database, self.snapshot.clone(), relation, Arc::clone(&self.progress));
        let table = Arc::new(table.ok_or_else(|| SqlError::internal("the view has no columns"))?);
        if let Some(condition) = table.rules().and_then(|rules| rules.condition.clone()) {
            views::filtered(self, "V".into(), &table, Some(&condition), None)
                .map_err(|error| self.error(error))?;
        }
        Ok(())
    }

    /// The logical plan of a query, with its sequences in place.
    pub(crate) fn query(&self, mut query: Query) -> Result<LogicalPlan, SqlError> {
        clauses::check(&query, self)?;
        key_offset::rewrite(&mut query, self)?;
        merged::check(&query)?;
        row_facts::rewrite(&mut query, self)?;
        let is_recursive = recursive::name_itself(&mut query);
        self.aliases.lock().add_from(&query);
        dynamic::rewrite(&mut query);
        sources::rewrite(&mut query, self)?;
        sequences::rewrite(&mut query, self);
        phrases::rewrite(&mut query)?;
        families::resolve(&mut query, self);
        doubles::check(&mut query, &self.tokens)?;
        labels::make_unique(&mut query);
        let having = Having::of(&query, self);
        let plan = |query: Query| basalt_sql_planner::plan(self, SqlStatement::Query(Box::new(query)));
        let mut again = query.clone();
        let planned = match plan(query) {
            Err(error) if labels::collide(&error) => {
                labels::mark_all(&mut again);
                plan(again)
            }
            planned => planned,
        };
        let plan = planned.map_err(|error| having.explain(self.error(error)))?;
        let plan = match is_recursive {
            true => recursive::agree(plan).map_err(|error| self.error(error))?,
            false => plan,
        };
        meaning::check(&plan, self)?;
        sequence::place(plan, self.engine.dealer(), &self.currents)
    }

    /// An expression over the columns of `schema`.
    pub(crate) fn expression(&self, mut expr: SqlExpr, schema: &DFSchema) -> Result<Expr, SqlError> {
        clauses::check(&expr, self)?;
        sources::rewrite(&mut expr, self)?;
        sequences::rewrite(&mut expr, self);
        phrases::rewrite(&mut expr)?;
        let expr = basalt_sql_planner::expression(self, expr, schema).map_err(|error| self.error(error))?;
        meaning::check_expr(&expr, schema, self)?;
        Ok(expr)
    }

    /// An expression over the columns of one table, for batches of all of them in declared order.
    pub(crate) fn row_expression(
        &self,
        mut expr: SqlExpr,
        table: &Arc<BasaltTable>,
    ) -> Result<Arc<dyn PhysicalExpr>, SqlError> {
        families::resolve_expr(&mut expr, table);
        let name = TableReference::bare(table.descriptor.name.name.as_str());
        let schema = DFSchema::try_from_qualified_schema(name, &table.schema())?;
        let expr = self.expression(expr, &schema)?;
        self.compile(expr, &schema)
    }

    /// Makes an expression over the columns of `schema` runnable, outside of a plan. Simplifying is no choice: some
    /// functions (COALESCE) exist only until then.
    pub(crate) fn compile(&self, expr: Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>, SqlError> {
        let simplified = self.simplified(expr, schema);
        let compiled = simplified.and_then(|expr| self.state().create_physical_expr(expr, schema));
        compiled.map_err(|error| self.error(error))
    }

    /// An expression as the optimizer leaves it.
    pub(crate) fn simplified(&self, expr: Expr, schema: &DFSchema) -> PlanResult<Expr> {
        let context = SimplifyContext::builder()
            .with_schema(Arc::new(schema.clone()))
            .with_config_options(Arc::clone(self.state().config_options()))
            .with_query_execution_start_time(self.state().execution_props().query_execution_start_time)
            .build();
        let simplifier = ExprSimplifier::new(context);
        simplifier.coerce(expr, schema).and_then(|expr| simplifier.simplify(expr))
    }

    /// Says something besides the answer, once.
    pub(crate) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Optimizes and makes it runnable. Warns of what is probably not meant.
    pub(crate) async fn physical(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
        let mut physical = self.physical_by(plan, self.state()).await?;
        if let MemoryLimit::Finite(bytes) = self.state().runtime_env().memory_pool.memory_limit()
            && spill::expects_too_much(&physical, bytes)
        {
            let mut state = self.state().clone();
            state.config_mut().options_mut().optimizer.prefer_hash_join = false;
            physical = self.physical_by(plan, &state).await?;
        }
        self.keeps_rows.fetch_or(spill::keeps_rows(&physical), Ordering::Relaxed);
        self.begins_late.fetch_or(spill::begins_late(&physical), Ordering::Relaxed);
        self.warn_of_tables();
        let unmeant = joins::products(&physical).into_iter().chain(scan::whole_reads(&physical));
        unmeant.for_each(|warning| self.warn(warning));
        Ok(physical)
    }

    async fn physical_by(
        &self,
        plan: &LogicalPlan,
        state: &SessionState,
    ) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
        let optimized = self.engine.one_table().optimize(plan, state);
        let plan = optimized.map_err(|error| self.error(error))?;
        let physical = state.query_planner().create_physical_plan(&plan, state).await;
        physical.map_err(|error| self.error(error))
    }

    /// Starts a plan.
    pub(crate) fn start(
        &self,
        physical: Arc<dyn ExecutionPlan>,
    ) -> Result<SendableRecordBatchStream, SqlError> {
        self.engine.run_plan(physical, self.state()).map_err(|error| self.error(error))
    }

    /// The plans that may do with less memory than those that failed by this error; `None` if it is another one, or there are no such.
    pub(crate) fn smaller_plans(&self, error: &SqlError) -> Option<Plans> {
        let options = self.options();
        if !error.lacks_memory() {
            None
        } else if options.optimizer.prefer_hash_join && self.keeps_rows.load(Ordering::Relaxed) {
            Some(Plans::Spilling)
        } else if options.execution.target_partitions > 1 && self.begins_late.load(Ordering::Relaxed) {
            Some(Plans::Serial)
        } else {
            None
        }
    }

    /// Plans from now on are of this kind. What the tasks of a plan that was dropped before still hold comes back when they end, for which this
    /// waits a moment.
    pub(crate) async fn use_plans(&mut self, plans: Plans) {
        let pool = Arc::clone(&self.state().runtime_env().memory_pool);
        for _ in 0..MEMORY_WAITS {
            if pool.reserved() == 0 {
                break;
            }
            tokio::time::sleep(MEMORY_WAIT).await;
        }
        let options = self.state_mut().config_mut().options_mut();
        options.optimizer.prefer_hash_join = false;
        if plans == Plans::Serial {
            options.execution.target_partitions = 1;
        }
    }

    /// Translates an error and finds its place in the text.
    pub(crate) fn error(&self, error: datafusion::error::DataFusionError) -> SqlError {
        SqlError::from_planner(error, &self.tokens)
    }

    /// Where names stand in the text.
    pub(crate) fn tokens(&self) -> &TokenMap {
        &self.tokens
    }
}

impl Planning {
    /// `T`, `S.T` or `catalog.S.T`, of which the catalog is ignored: there is one.
    fn table_name(&self, reference: &TableReference) -> TableName {
        let schema = reference.schema().or(self.schema.as_deref()).map(str::to_owned);
        Name { schema, name: reference.table().to_owned() }.table()
    }
}

impl ContextProvider for Planning {
    fn get_table_source(&self, name: TableReference) -> PlanResult<Arc<dyn TableSource>> {
        if let Some(path) = sources::path_of(name.table()) {
            return Ok(provider_as_source(self.file(path)?));
        }
        let table_name = self.table_name(&name);
        let (own, sample) = Sample::split(&table_name.name);
        let own = TableName::new(table_name.namespace.clone(), own);
        if let Some(listing) = listings::find(self, &own)? {
            return match sample {
                None => Ok(provider_as_source(listing)),
                Some(_) => Err(sources::no_table("TABLESAMPLE", &format!("{own} is a listing")).into()),
            };
        }
        let table = self.table(&table_name)?;
        let condition = table.rules().and_then(|rules| rules.condition.as_ref());
        if condition.is_none() && sample.is_none() {
            return Ok(provider_as_source(table));
        }
        views::filtered(self, name, &table, condition, sample)
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> PlanResult<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        self.engine.relation_planners()
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.engine.expr_planners()
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::clone(&self.types) as Arc<dyn TypePlanner>)
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        if let Some(of_row) = row_facts::find(self, name) {
            return Some(of_row);
        }
        if name == functions::RAND {
            return Some(Arc::new(functions::rand(self.engine.random())));
        }
        let own = self.functions.get(name).or_else(|| self.engine.functions().get(name));
        own.or_else(|| self.state().scalar_functions().get(name)).cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state().higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        if name == "avg" {
            return Some(Arc::clone(self.engine.average()));
        }
        self.state().aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state().window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state().config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        let own = [functions::RAND.to_owned()].into_iter();
        let phoenix = self.engine.functions().keys().filter(|name| !name.starts_with('$')).cloned();
        own.chain(phoenix).chain(self.state().scalar_functions().keys().cloned()).collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state().higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state().aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state().window_functions().keys().cloned().collect()
    }
}
