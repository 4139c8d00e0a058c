// SPDX-License-Identifier: Apache-2.0
//! What the sessions of one database share: planner, memory, threads, sequence values.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use basalt_store::env::{Random, Spawner};
use basalt_store::{Database, Env};
use datafusion::catalog::Session as PlannerSession;
use datafusion::common::Result as PlanResult;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::TrackConsumersPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::planner::{ExprPlanner, RelationPlanner};
use datafusion::logical_expr::{AggregateUDF, LogicalPlan, ScalarUDF};
use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;
use parking_lot::Mutex;

use crate::error::SqlError;
use crate::functions::{
    self, ArraySyntax, CharBlanks, CheckedArithmetic, ComparedInstants, Concatenation, DateArithmetic,
    ExactDivision, MixedNumbers, PaddedKeys, PhoenixNumbers, RoundedProducts, WideArithmetic, WideCasts,
};
use crate::index::{self, Builders};
use crate::lanes::Lanes;
use crate::memory::SpillReservePool;
use crate::plan::{
    ListedSubqueries, SingleRows, SubqueriesBeneath, SubqueryLists, UnknownInLists, UnknownMembership,
};
use crate::repeated::Repeated;
use crate::rules::{self, CountedRows, DerivedTables, OneTable, OuterTypes, WholeSums};
use crate::running::Running;
use crate::sequence::{Dealer, SequencePlanner};
use crate::session::Session;

/// How an engine uses the machine.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Partitions of a query, and threads of each lane, see [`crate::lanes`]; as a rule one per core. More use more memory.
    pub threads: usize,
    /// Bytes that sorts, aggregates and joins of all sessions may hold together; beyond it they spill to disk.
    pub memory_bytes: u64,
    /// Rows per batch; 8,192 if nobody says otherwise. More take more memory, fewer more time per row.
    pub batch_rows: usize,
    /// Where they spill; the system's temporary directory if `None`.
    pub spill_directory: Option<PathBuf>,
    /// Statements may read and write files of the process: COPY and `FROM 'file'`. Default true; a program that takes SQL from
    /// strangers sets it to false.
    pub user_files: bool,
    /// Statements that take longer are listed in SYSTEM.SLOW_QUERIES. Default 1 second.
    pub slow_query: Duration,
    /// Rows of a table after which the building of an index notes how far it is, for when it is killed: what it has then, the next
    /// opening of the database does not read again. Default 8 million, some ten seconds; each note leaves a run of files more.
    pub index_part_rows: u64,
    /// Chance, for RAND, and the clock of statements.
    pub env: Env,
}

impl Default for EngineOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, NonZeroUsize::get);
        Self {
            threads,
            memory_bytes: 1 << 30,
            batch_rows: 8_192,
            spill_directory: None,
            user_files: true,
            slow_query: Duration::from_secs(1),
            index_part_rows: 8 << 20,
            env: Env::local(),
        }
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
    one_table: OneTable,
    repeated: Repeated,
    expr_planners: Vec<Arc<dyn ExprPlanner>>,
    relation_planners: Vec<Arc<dyn RelationPlanner>>,
    functions: HashMap<String, Arc<ScalarUDF>>,
    average: Arc<AggregateUDF>,
    dealer: Arc<Dealer>,
    builders: Builders,
    /// Held while a definition is read, changed and written.
    definitions: Mutex<()>,
    running: Arc<Running>,
    lanes: Lanes,
    user_files: bool,
    index_part_rows: u64,
    env: Env,
}

impl Engine {
    /// An engine over an open database.
    pub fn try_new(database: Database, options: EngineOptions) -> Result<Self, SqlError> {
        let pool = SpillReservePool::new(
            usize::try_from(options.memory_bytes).unwrap_or(usize::MAX),
            "all queries share",
        );
        let largest = NonZeroUsize::new(3).expect("3 is not 0");
        let mode = match &options.spill_directory {
            Some(directory) => DiskManagerMode::Directories(vec![directory.clone()]),
            None => DiskManagerMode::OsTmpDirectory,
        };
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, largest)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(mode))
            .build_arc()?;
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(config(&options))
            .with_runtime_env(runtime)
            .with_query_planner(Arc::new(Planner))
            .with_optimizer_rules(rules::logical())
            .with_physical_optimizer_rules(rules::physical())
            .with_analyzer_rules(vec![
                Arc::new(SubqueriesBeneath),
                Arc::new(CountedRows),
                Arc::new(CharBlanks::new()),
                Arc::new(PaddedKeys),
                Arc::new(MixedNumbers),
                Arc::new(PhoenixNumbers),
                Arc::new(ComparedInstants::new()),
                Arc::new(ResolveGroupingFunction::new()),
                Arc::new(SingleRows),
                Arc::new(TypeCoercion::new()),
                Arc::new(WideCasts),
                Arc::new(OuterTypes),
                Arc::new(UnknownMembership),
                Arc::new(UnknownInLists),
                Arc::new(SubqueryLists),
                Arc::new(ListedSubqueries),
                Arc::new(WholeSums::new()),
            ])
            .build();
        let expr_planners = expr_planners(&state);
        let dealer = Arc::new(Dealer::new(database.clone()));
        let functions = functions::phoenix(state.scalar_functions());
        let average = Arc::new(functions::average());
        let (user_files, env) = (options.user_files, options.env.clone());
        let shared = Shared {
            database,
            one_table: OneTable::new(state.config_options()),
            repeated: Repeated::new(),
            state,
            expr_planners,
            relation_planners: vec![Arc::new(DerivedTables)],
            functions,
            average,
            dealer,
            builders: Builders::default(),
            definitions: Mutex::default(),
            running: Arc::new(Running::new(Arc::clone(&env.clock), options.slow_query)),
            lanes: Lanes::new(options.threads),
            user_files,
            index_part_rows: options.index_part_rows,
            env,
        };
        let engine = Self { shared: Arc::new(shared) };
        index::attach(&engine);
        Ok(engine)
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

    /// What optimizes logical plans.
    pub(crate) fn one_table(&self) -> &OneTable {
        &self.shared.one_table
    }

    /// Plans of queries that are asked again.
    pub(crate) fn repeated(&self) -> &Repeated {
        &self.shared.repeated
    }

    /// Runs a plan, beside those of other statements.
    pub(crate) fn run_plan(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        state: &SessionState,
    ) -> PlanResult<SendableRecordBatchStream> {
        self.shared.lanes.run(plan, Self::task_context(state))
    }

    /// How many tasks the plans of all statements have that run. Those of a statement that was dropped or cancelled end by themselves; when they have,
    /// its memory and its snapshot are free.
    pub fn running_tasks(&self) -> usize {
        self.shared.lanes.tasks()
    }

    /// What a plan runs in. Functions are looked up by name where plans are made, not where they run.
    fn task_context(state: &SessionState) -> Arc<TaskContext> {
        Arc::new(TaskContext::new(
            None,
            state.session_id().to_owned(),
            state.config().clone(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            Arc::clone(state.runtime_env()),
        ))
    }

    /// Ours before the planner's.
    pub(crate) fn relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.shared.relation_planners
    }

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

    /// Indexes that are being built while statements run.
    pub(crate) fn builders(&self) -> &Builders {
        &self.shared.builders
    }

    /// Rows that the building of an index reads between two notes.
    pub(crate) fn index_part_rows(&self) -> u64 {
        self.shared.index_part_rows
    }

    /// Milliseconds since 1970 by the clock of statements.
    pub(crate) fn now_ms(&self) -> i64 {
        self.shared.env.clock.now_ms()
    }

    pub(crate) fn spawner(&self) -> &Arc<dyn Spawner> {
        &self.shared.env.spawner
    }

    /// The turn of statements that change definitions.
    pub(crate) fn definitions(&self) -> &Mutex<()> {
        &self.shared.definitions
    }

    /// The statements that run.
    pub(crate) fn running(&self) -> &Arc<Running> {
        &self.shared.running
    }

    /// An error unless statements may touch files.
    pub(crate) fn check_user_files(&self) -> Result<(), SqlError> {
        if self.shared.user_files {
            return Ok(());
        }
        Err(SqlError::statement(
            "this server does not let statements read and write files; send rows with UPSERT, and read them with SELECT",
        ))
    }

    pub(crate) fn random(&self) -> Arc<dyn Random> {
        Arc::clone(&self.shared.env.random)
    }
}

/// Ours before those that the planner comes with.
fn expr_planners(state: &SessionState) -> Vec<Arc<dyn ExprPlanner>> {
    let own: [Arc<dyn ExprPlanner>; 7] = [
        Arc::new(CheckedArithmetic::new()),
        Arc::new(ExactDivision::new()),
        Arc::new(RoundedProducts::new()),
        Arc::new(WideArithmetic::new()),
        Arc::new(DateArithmetic::new()),
        Arc::new(Concatenation::new()),
        Arc::new(ArraySyntax::new()),
    ];
    own.into_iter().chain(state.expr_planners().iter().cloned()).collect()
}

/// Memory that a sort keeps for merging what it spilled, at most.
const MERGE_BYTES_MAX: u64 = 10 << 20;
/// The same as a fraction of the budget: less than the pool gives every operator in any case.
const MERGE_FRACTION: u64 = 64;

/// The side of a join of which one table is built for all threads may take this fraction of the budget.
const BUILD_FRACTION: u64 = 32;
/// Memory of a row of such a table, about.
const BUILD_ROW_BYTES: usize = 32;
/// Share of the numbers between the least and the greatest key that must be keys for a table by number, not by hash.
const TABLE_DENSITY_MIN: f64 = 0.02;
/// Keys of a join up to which the scan of the other side is told all of them.
const JOIN_POINTS_MAX: usize = 1024;

fn config(engine: &EngineOptions) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(engine.threads.max(1))
        .with_batch_size(engine.batch_rows.max(1));
    let options = config.options_mut();
    // Names were folded with the tokens.
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.collect_spans = true;
    options.sql_parser.default_null_ordering = "nulls_first".to_owned();
    // It compares what columns say of their declared types, too, of which a UNION has two.
    options.execution.skip_physical_aggregate_schema_check = true;
    // Scans are in key order; merging partitions is cheaper than sorting again.
    options.optimizer.prefer_existing_sort = true;
    // A scan that is worth several threads has several partitions.
    options.optimizer.enable_round_robin_repartition = false;
    memory_options(options, engine.memory_bytes);
    options.optimizer.hash_join_inlist_pushdown_max_distinct_values = JOIN_POINTS_MAX;
    options.execution.perfect_hash_join_min_key_density = TABLE_DENSITY_MIN;
    config
}

/// What depends on the memory that a statement may have.
pub(crate) fn memory_options(options: &mut ConfigOptions, memory_bytes: u64) {
    // A join of few rows with many builds one table of the few, for all threads, and does not deal the many out anew.
    let build_bytes = usize::try_from(memory_bytes / BUILD_FRACTION).unwrap_or(usize::MAX);
    options.optimizer.hash_join_single_partition_threshold = build_bytes;
    options.optimizer.hash_join_single_partition_threshold_rows = build_bytes / BUILD_ROW_BYTES;
    // Each partition of each sort sets this aside at once; together they may not take all there is.
    let merge_bytes = (memory_bytes / MERGE_FRACTION).min(MERGE_BYTES_MAX);
    options.execution.sort_spill_reservation_bytes = usize::try_from(merge_bytes).unwrap_or(usize::MAX);
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
