// SPDX-License-Identifier: Apache-2.0
//! What the sessions of one database share: planner, memory, threads, sequence values.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use basalt_store::env::Random;
use basalt_store::{Database, Env};
use datafusion::catalog::Session as PlannerSession;
use datafusion::common::Result as PlanResult;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::TrackConsumersPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{AggregateUDF, LogicalPlan, ScalarUDF};
use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;
use parking_lot::Mutex;

use crate::error::SqlError;
use crate::functions::{
    self, ArraySyntax, CharBlanks, CheckedArithmetic, Concatenation, DateArithmetic, PhoenixNumbers,
};
use crate::memory::SpillReservePool;
use crate::scan::{BATCH_ROWS, OffsetInScan};
use crate::sequence::{Dealer, SequencePlanner};
use crate::session::Session;

/// How an engine uses the machine.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Partitions of a query, as a rule one per core. More use more memory.
    pub threads: usize,
    /// Bytes that sorts, aggregates and joins of all sessions may hold together; beyond it they spill to disk.
    pub memory_bytes: u64,
    /// Where they spill; the system's temporary directory if `None`.
    pub spill_directory: Option<PathBuf>,
    /// Chance, for RAND.
    pub env: Env,
}

impl Default for EngineOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, NonZeroUsize::get);
        Self { threads, memory_bytes: 1 << 30, spill_directory: None, env: Env::local() }
    }
}

/// The SQL side of one database. Cheap to clone; sessions hold it.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    database: Database,
    state: SessionState,
    expr_planners: Vec<Arc<dyn ExprPlanner>>,
    functions: HashMap<String, Arc<ScalarUDF>>,
    average: Arc<AggregateUDF>,
    dealer: Arc<Dealer>,
    /// Held while a definition is read, changed and written.
    definitions: Mutex<()>,
    env: Env,
}

impl Engine {
    /// An engine over an open database.
    pub fn try_new(database: Database, options: EngineOptions) -> Result<Self, SqlError> {
        let pool = SpillReservePool::new(usize::try_from(options.memory_bytes).unwrap_or(usize::MAX));
        let largest = NonZeroUsize::new(3).expect("3 is not 0");
        let mode = match options.spill_directory {
            Some(directory) => DiskManagerMode::Directories(vec![directory]),
            None => DiskManagerMode::OsTmpDirectory,
        };
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, largest)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(mode))
            .build_arc()?;
        let mut rules = PhysicalOptimizer::new().rules;
        rules.push(Arc::new(OffsetInScan));
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(config(options.threads.max(1), options.memory_bytes))
            .with_runtime_env(runtime)
            .with_query_planner(Arc::new(Planner))
            .with_physical_optimizer_rules(rules)
            .with_analyzer_rules(vec![
                Arc::new(CharBlanks::new()),
                Arc::new(PhoenixNumbers),
                Arc::new(ResolveGroupingFunction::new()),
                Arc::new(TypeCoercion::new()),
            ])
            .build();
        let mut expr_planners: Vec<Arc<dyn ExprPlanner>> = vec![
            Arc::new(CheckedArithmetic::new()),
            Arc::new(DateArithmetic::new()),
            Arc::new(Concatenation::new()),
            Arc::new(ArraySyntax::new()),
        ];
        expr_planners.extend(state.expr_planners().iter().cloned());
        let dealer = Arc::new(Dealer::new(database.clone()));
        let functions = functions::phoenix(state.scalar_functions());
        let average = Arc::new(functions::average());
        let env = options.env;
        let definitions = Mutex::default();
        let shared = Shared { database, state, expr_planners, functions, average, dealer, definitions, env };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A new connection.
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }

    /// The database below.
    pub fn database(&self) -> &Database {
        &self.shared.database
    }

    pub(crate) fn state(&self) -> &SessionState {
        &self.shared.state
    }

    /// Ours before the planner's.
    pub(crate) fn expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.shared.expr_planners
    }

    /// Functions that come before the planner's, by name in lower case.
    pub(crate) fn functions(&self) -> &HashMap<String, Arc<ScalarUDF>> {
        &self.shared.functions
    }

    /// AVG.
    pub(crate) fn average(&self) -> &Arc<AggregateUDF> {
        &self.shared.average
    }

    pub(crate) fn dealer(&self) -> &Arc<Dealer> {
        &self.shared.dealer
    }

    /// The turn of statements that change definitions.
    pub(crate) fn definitions(&self) -> &Mutex<()> {
        &self.shared.definitions
    }

    pub(crate) fn random(&self) -> Arc<dyn Random> {
        Arc::clone(&self.shared.env.random)
    }
}

/// Memory that a sort keeps for merging what it spilled, at most.
const MERGE_BYTES_MAX: u64 = 10 << 20;
/// The same as a fraction of the budget: less than the pool gives every operator in any case.
const MERGE_FRACTION: u64 = 64;

fn config(threads: usize, memory_bytes: u64) -> SessionConfig {
    let mut config = SessionConfig::new().with_target_partitions(threads).with_batch_size(BATCH_ROWS);
    let options = config.options_mut();
    // Names were folded with the tokens.
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.collect_spans = true;
    options.sql_parser.default_null_ordering = "nulls_first".to_owned();
    // Scans are in key order; merging partitions is cheaper than sorting again.
    options.optimizer.prefer_existing_sort = true;
    // A scan that is worth several threads has several partitions.
    options.optimizer.enable_round_robin_repartition = false;
    // Each partition of each sort sets this aside at once; together they may not take all there is.
    let merge_bytes = (memory_bytes / MERGE_FRACTION).min(MERGE_BYTES_MAX);
    options.execution.sort_spill_reservation_bytes = usize::try_from(merge_bytes).unwrap_or(usize::MAX);
    config
}

/// DataFusion's planner with our node.
#[derive(Debug)]
struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn PlannerSession,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(SequencePlanner)]);
        planner.create_physical_plan(plan, session).await
    }
}
