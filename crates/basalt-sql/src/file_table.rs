// SPDX-License-Identifier: Apache-2.0
//! A file of the user as a table: `SELECT .. FROM 'a.parquet'`.
//!
//! Columns and types are those of the file, or guessed from the first rows of a text. Names fold to upper case, as unquoted
//! names in SQL do, unless two of them differ in nothing else. The file is read once per mention, in one partition; of
//! Parquet and Arrow only the columns that the query needs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use basalt_files::{FirstBadRow, Format, Header, Inferred, Options, Source, Target, TargetColumn};
use basalt_hfile::typed::{TYPE_METADATA, arrow_type};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream;

use crate::error::SqlError;
use crate::progress::Progress;

/// A file as the planner sees it.
#[derive(Debug)]
pub(crate) struct FileTable {
    path: PathBuf,
    options: Options,
    columns: Vec<Inferred>,
    schema: SchemaRef,
    progress: Arc<Progress>,
}

/// The sentence of an error of a file.
pub(crate) fn refused(error: &basalt_files::Error) -> SqlError {
    SqlError::statement(error.sentence())
}

impl FileTable {
    /// Looks at the file: its columns and their types.
    pub(crate) fn open(path: &str, progress: Arc<Progress>) -> std::result::Result<Self, SqlError> {
        let path = Path::new(path);
        let mut options = Options::default();
        let columns = basalt_files::infer(path, &options).map_err(|error| refused(&error))?;
        let has_names = basalt_files::has_names(path, &options).map_err(|error| refused(&error))?;
        options.header = if has_names { Header::Yes } else { Header::No };
        options.some_columns = true;
        let schema = schema(&columns)
            .ok_or_else(|| SqlError::statement(format!("{} has two columns of one name", path.display())))?;
        Ok(Self { path: path.to_path_buf(), options, columns, schema: Arc::new(schema), progress })
    }
}

/// `None` if two columns have the same name.
fn schema(columns: &[Inferred]) -> Option<Schema> {
    let upper: HashSet<String> = columns.iter().map(|column| column.name.to_uppercase()).collect();
    let exact: HashSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if exact.len() < columns.len() {
        return None;
    }
    let folds = upper.len() == columns.len();
    let field = |column: &Inferred| {
        let name = if folds { column.name.to_uppercase() } else { column.name.clone() };
        Field::new(name, arrow_type(column.sql_type), true)
            .with_metadata([(TYPE_METADATA.to_owned(), column.sql_type.to_string())].into())
    };
    Some(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wanted = projection.cloned().unwrap_or_else(|| (0..self.columns.len()).collect());
        let schema = Arc::new(self.schema.project(&wanted)?);
        let part = FilePart {
            path: self.path.clone(),
            options: self.options.clone(),
            columns: self.columns.clone(),
            wanted,
            schema: Arc::clone(&schema),
            progress: Arc::clone(&self.progress),
        };
        let scan = StreamingTableExec::try_new(schema, vec![Arc::new(part)], None, None, false, limit)?;
        Ok(Arc::new(scan))
    }
}

/// A file as it is read: the wanted columns.
#[derive(Debug)]
struct FilePart {
    path: PathBuf,
    options: Options,
    columns: Vec<Inferred>,
    wanted: Vec<usize>,
    schema: SchemaRef,
    progress: Arc<Progress>,
}

impl FilePart {
    /// All columns of a text, whose fields have to be read one after the other anyway; else only the wanted ones.
    fn open(&self) -> std::result::Result<Reader, SqlError> {
        let format = self.options.format_of(&self.path).map_err(|error| refused(&error))?;
        let reads_some = matches!(format, Format::Parquet | Format::Arrow);
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let read = if reads_some { &self.wanted } else { &all };
        let target = Target { columns: read.iter().map(|&at| target(&self.columns[at])).collect() };
        let bytes = Arc::new(AtomicU64::new(0));
        let source = basalt_files::open(&self.path, &self.options, &target, Arc::clone(&bytes));
        let source = source.map_err(|error| refused(&error))?;
        // Where each wanted column stands in the batches.
        let place = |wanted: &usize| source.columns().iter().position(|&at| read[at] == *wanted);
        let places: Option<Vec<usize>> = self.wanted.iter().map(place).collect();
        let places = places.ok_or_else(|| {
            SqlError::statement(format!("{} has changed while it was read", self.path.display()))
        })?;
        self.progress.enter("reading");
        Ok(Reader {
            source,
            places,
            schema: Arc::clone(&self.schema),
            bytes,
            bytes_told: 0,
            progress: Arc::clone(&self.progress),
        })
    }
}

fn target(column: &Inferred) -> TargetColumn {
    TargetColumn { name: column.name.clone(), sql_type: column.sql_type, is_key: false, nullable: true }
}

impl PartitionStream for FilePart {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// A poll reads one batch and returns, as scans of tables do.
    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = stream::unfold(Some(self.open()), |reader| async {
            match reader? {
                Err(error) => Some((Err(error.into()), None)),
                Ok(mut reader) => match reader.next() {
                    Ok(Some(batch)) => {
                        tokio::task::yield_now().await;
                        Some((Ok(batch), Some(Ok(reader))))
                    }
                    Ok(None) => None,
                    Err(error) => Some((Err(error.into()), None)),
                },
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}

struct Reader {
    source: Box<dyn Source>,
    places: Vec<usize>,
    schema: SchemaRef,
    bytes: Arc<AtomicU64>,
    bytes_told: u64,
    progress: Arc<Progress>,
}

impl Reader {
    fn next(&mut self) -> std::result::Result<Option<RecordBatch>, SqlError> {
        let mut bad = FirstBadRow::default();
        let batch = self.source.next_batch(&mut bad).map_err(|error| refused(&error))?;
        if let Some(row) = bad.0 {
            let message = format!(
                "{row}; the types of a text are guessed from its first rows: COPY it into a table that has the right ones"
            );
            return Err(SqlError::statement(message));
        }
        let Some(batch) = batch else { return Ok(None) };
        let read = self.bytes.load(Ordering::Relaxed);
        self.progress.add_read(batch.num_rows() as u64, read - self.bytes_told);
        self.bytes_told = read;
        let columns = self.places.iter().map(|&at| Arc::clone(batch.column(at))).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map(Some)
            .map_err(|error| SqlError::internal(error.to_string()))
    }
}
