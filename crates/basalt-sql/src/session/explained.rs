// SPDX-License-Identifier: Apache-2.0
//! EXPLAIN: what a statement would do, as the plans that it would run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::arrow::array::{RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use futures::StreamExt;

use super::Session;
use crate::copy;
use crate::delete;
use crate::dialect::{Copy, Statement, TokenMap};
use crate::error::SqlError;
use crate::explain::{self, Form};
use crate::hints::Hints;
use crate::index;
use crate::merge;
use crate::outcome::{Outcome, RowStream};
use crate::plan::Planning;
use crate::update;
use crate::upsert;

/// What a statement would do.
enum Steps {
    /// With the rows of one plan, or without any; what that is.
    One(Option<String>, Option<LogicalPlan>),
    /// Several plans, each with its clause, one after the other.
    Several(String, Vec<(&'static str, LogicalPlan)>),
}

/// The same, as it would run.
enum Planned {
    One(Option<String>, Option<Arc<dyn ExecutionPlan>>),
    Several(String, Vec<(&'static str, Arc<dyn ExecutionPlan>)>),
}

impl Session {
    pub(super) async fn explain(
        &self,
        statement: Statement,
        tokens: TokenMap,
        hints: &Hints,
        mut form: Form,
    ) -> Result<Outcome, SqlError> {
        form.json |= self.json_plans.load(Ordering::Relaxed);
        let mut planning = self.planning(tokens, hints);
        let steps = match statement {
            Statement::Query(query) => Steps::One(None, Some(planning.query(*query)?)),
            _ if form.analyzed => {
                return Err(SqlError::statement("EXPLAIN ANALYZE runs the statement and takes only queries"));
            }
            statement => self.steps(&planning, statement)?,
        };
        let planned = match steps {
            Steps::One(title, plan) => {
                let physical = match &plan {
                    Some(plan) if form.analyzed => Some(analyzed(&mut planning, plan).await?),
                    Some(plan) => Some(planning.physical(plan).await?),
                    None => None,
                };
                Planned::One(title, physical)
            }
            Steps::Several(title, plans) => {
                let mut physical = vec![];
                for (clause, plan) in plans {
                    physical.push((clause, planning.physical(&plan).await?));
                }
                Planned::Several(title, physical)
            }
        };
        let database = self.engine.database();
        let regions = |operator: &Arc<dyn ExecutionPlan>| explain::regions(database, operator);
        let regions: Option<explain::Regions<'_>> = if form.regions { Some(&regions) } else { None };
        let lines = match planned {
            Planned::One(title, plan) => explain::lines(plan.as_ref(), title, form, regions),
            Planned::Several(title, plans) => explain::lines_of_several(&plans, title, form, regions),
        };
        Ok(Outcome::Rows(RowStream::ready(plan_batch(lines, form)?)))
    }

    /// Of a statement that is no query.
    fn steps(&self, planning: &Planning, statement: Statement) -> Result<Steps, SqlError> {
        Ok(match statement {
            Statement::Upsert(upsert) => {
                let plan = upsert::plan(planning, &upsert)?;
                let source = if plan.is_some() { "UPSERT SELECT" } else { "UPSERT VALUES, one atomic batch" };
                Steps::One(Some(format!("{source} INTO {}", upsert.table)), plan)
            }
            Statement::Delete(delete) => {
                let title = format!("DELETE FROM {}", delete.table.name);
                Steps::One(Some(title), Some(delete::plan(planning, *delete)?))
            }
            Statement::Update(update) => {
                let title = format!("UPDATE {}", update.table.name);
                Steps::One(Some(title), Some(update::plan(planning, *update)?.0))
            }
            Statement::Merge(merge) => {
                let title = format!("MERGE INTO {}, one atomic batch", merge.table.name);
                Steps::Several(title, merge::plans(planning, &merge)?)
            }
            Statement::Copy(copy) => {
                self.engine.check_user_files()?;
                match *copy {
                    Copy::To(copy) => {
                        copy::writing(&copy.options)?;
                        let title = format!("COPY TO '{}'", copy.file);
                        Steps::One(Some(title), Some(planning.query(*copy.query)?))
                    }
                    Copy::From(copy) => {
                        upsert::open(planning, &copy.table, copy.columns.as_deref())?;
                        let title =
                            format!("COPY INTO {} FROM '{}', one atomic batch", copy.table, copy.file);
                        Steps::One(Some(title), None)
                    }
                }
            }
            Statement::CreateTable(mut table) if table.query.is_some() => {
                let title = format!("CREATE TABLE {} AS", table.name);
                let query = table.query.take().map(|query| planning.query(*query)).transpose()?;
                Steps::One(Some(title), query)
            }
            Statement::Index(statement) => Steps::One(Some(index::explained(planning, &statement)?), None),
            _ => {
                return Err(SqlError::statement(
                    "EXPLAIN takes SELECT, UPSERT, UPDATE, DELETE, MERGE, COPY, CREATE TABLE .. AS and CREATE INDEX; other statements read no rows",
                ));
            }
        })
    }
}

/// The plan after it has run, or the one that had to take its place.
async fn analyzed(planning: &mut Planning, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    loop {
        let physical = planning.physical(plan).await?;
        let Err(error) = run_to_end(planning, &physical).await else { return Ok(physical) };
        let Some(smaller) = planning.smaller_plans(&error) else { return Err(error) };
        planning.use_plans(smaller).await;
    }
}

async fn run_to_end(planning: &Planning, physical: &Arc<dyn ExecutionPlan>) -> Result<(), SqlError> {
    let mut stream = planning.start(Arc::clone(physical))?;
    while let Some(batch) = stream.next().await {
        batch.map_err(|error| planning.error(error))?;
    }
    Ok(())
}

/// The lines as rows. A program finds out by the column that they are JSON.
fn plan_batch(lines: Vec<String>, form: Form) -> Result<RecordBatch, SqlError> {
    let format = form.json.then(|| (explain::PLAN_FORMAT.to_owned(), "json".to_owned()));
    let metadata: HashMap<String, String> = format.into_iter().collect();
    let column = Field::new("PLAN", DataType::Utf8, true).with_metadata(metadata);
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(vec![column])), vec![Arc::new(StringArray::from(lines))]);
    batch.map_err(|error| SqlError::internal(error.to_string()))
}
