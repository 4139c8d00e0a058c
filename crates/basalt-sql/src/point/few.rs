// SPDX-License-Identifier: Apache-2.0
//! A few rows, or how many there are, by values that an index has: `SELECT A FROM T WHERE V = 5`, `SELECT COUNT(*) FROM T WHERE
//! V = 5`. The conditions fix the first columns of the index's key and nothing else, so that its rows in that range are
//! the answer. Of more rows than [`ROWS_MAX`] (or to count than [`COUNTED_MAX`]) the planner thinks again: other indexes may
//! be better, and so may be the table.

use std::sync::Arc;

use basalt_model::index::{IndexPart, IndexSource};
use basalt_model::schema::ColumnRef;
use basalt_model::{IndexState, KeyRange, TableDescriptor, TableId, TableSchema};
use basalt_store::Snapshot;
use basalt_store::read::RowRequest;
use bytes::Bytes;
use datafusion::arrow::array::Int64Array;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;

use super::{by_key, is_equal};
use crate::catalog::Relation;
use crate::error::SqlError;
use crate::index::{expires, keys_of_rows};
use crate::keys::{self, Access};

/// Rows that are looked up, at most.
const ROWS_MAX: usize = 32;
/// Rows that are counted, at most.
const COUNTED_MAX: usize = 16_384;

/// A stretch of an index.
struct Stretch<'a> {
    index: TableId,
    descriptor: &'a TableDescriptor,
    schema: &'a TableSchema,
    ranges: Vec<KeyRange>,
}

/// The rows, or their number, if an index has exactly these values and they are few.
pub(super) fn answer(
    snapshot: &Snapshot,
    relation: &Relation,
    equalities: &[(ColumnRef, ScalarValue)],
    is_count: bool,
    columns: Option<&[ColumnRef]>,
) -> Result<Option<RecordBatch>, SqlError> {
    let Some(schema) = &relation.descriptor.schema else { return Ok(None) };
    // Conditions on the key say where in the table to look, too.
    let by_own_key = equalities.iter().any(|(column, _)| *column == ColumnRef::Key(0));
    if by_own_key || !is_count && columns.is_none() || expires(&relation.descriptor) {
        return Ok(None);
    }
    let indexes = snapshot.indexes(relation.id);
    let stretch = indexes.iter().find_map(|(id, index)| Stretch::find(*id, index, schema, equalities));
    let Some(stretch) = stretch else { return Ok(None) };
    match columns {
        Some(columns) if !is_count => {
            let Some(keys) = stretch.keys(snapshot, schema)? else { return Ok(None) };
            by_key(snapshot, relation, schema, columns, &keys).map(Some)
        }
        _ => stretch.count(snapshot)?.map(number).transpose(),
    }
}

impl<'a> Stretch<'a> {
    /// The stretch of the index whose rows have these values and no others.
    fn find(
        index: TableId,
        descriptor: &'a TableDescriptor,
        base: &TableSchema,
        equalities: &[(ColumnRef, ScalarValue)],
    ) -> Option<Self> {
        let (definition, schema) = (descriptor.index.as_ref()?, descriptor.schema.as_ref()?);
        if definition.state != IndexState::Active || definition.condition.is_some() {
            return None;
        }
        let mut is_fixed = vec![false; schema.key.len()];
        let mut filters = Vec::with_capacity(2 * equalities.len());
        let mut fix = |column: &str, value: &ScalarValue| {
            is_fixed[schema.key.iter().position(|key| key.name == column)?] = true;
            filters.push(is_equal(column, value));
            Some(())
        };
        for (column, value) in equalities {
            let part = definition.parts.iter().find(|part| is_of(part, base, *column))?;
            fix(&part.column, value)?;
            if let Some(presence) = &part.presence {
                fix(presence, &ScalarValue::Int8(Some(1)))?;
            }
        }
        let leading = is_fixed.iter().take_while(|fixed| **fixed).count();
        if leading < is_fixed.iter().filter(|fixed| **fixed).count() {
            return None;
        }
        match keys::access(schema, &filters).into_ranges().access {
            Access::Ranges(ranges) => Some(Self { index, descriptor, schema, ranges }),
            _ => None,
        }
    }

    /// The rows with some columns of the index, up to `rows_max` and one more at a time.
    fn read(
        &self,
        snapshot: &Snapshot,
        columns: &[ColumnRef],
        rows_max: usize,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, SqlError>>, SqlError> {
        let request = RowRequest::of_columns(columns, rows_max + 1);
        let rows = snapshot.rows(self.index, &Arc::new(self.schema.clone()), request, self.ranges.clone())?;
        Ok(rows.map(|read| Ok(read?.batch)))
    }

    /// How many rows there are; `None` if they are more than are counted.
    fn count(&self, snapshot: &Snapshot) -> Result<Option<usize>, SqlError> {
        let mut rows = 0;
        for batch in self.read(snapshot, &[], COUNTED_MAX)? {
            rows += batch?.num_rows();
            if rows > COUNTED_MAX {
                return Ok(None);
            }
        }
        Ok(Some(rows))
    }

    /// The keys of the table's rows, sorted, each once.
    fn keys(&self, snapshot: &Snapshot, base: &TableSchema) -> Result<Option<Vec<Bytes>>, SqlError> {
        let Some(columns) = self.key_columns(base) else { return Ok(None) };
        keys_of_rows(base, self.read(snapshot, &columns, ROWS_MAX)?, ROWS_MAX)
    }

    /// Where the index has the columns of the table's key.
    fn key_columns(&self, base: &TableSchema) -> Option<Vec<ColumnRef>> {
        let definition = self.descriptor.index.as_ref()?;
        let place = |(position, key): (usize, &basalt_model::KeyColumn)| {
            let copy = definition.copies.iter().find(|copy| copy.family.is_none() && copy.name == key.name);
            let part = || {
                let of_key = |part: &&IndexPart| is_of(part, base, ColumnRef::Key(position));
                definition.parts.iter().find(of_key).filter(|part| part.presence.is_none())
            };
            let name = copy.map(|copy| &copy.column).or_else(|| part().map(|part| &part.column))?;
            self.schema.key.iter().position(|key| key.name == *name).map(ColumnRef::Key)
        };
        base.key.iter().enumerate().map(place).collect()
    }
}

/// True if the index holds this column of its table as it is.
fn is_of(part: &IndexPart, base: &TableSchema, column: ColumnRef) -> bool {
    let IndexSource::Column(family, name) = &part.source else { return false };
    match column {
        ColumnRef::Key(at) => family.is_none() && *name == base.key[at].name,
        ColumnRef::Column(at) => {
            let column = &base.columns[at];
            family.as_deref() == Some(&*column.family) && *name == column.name
        }
    }
}

/// A count as an answer has it.
fn number(count: usize) -> Result<RecordBatch, SqlError> {
    let count = i64::try_from(count).map_err(|error| SqlError::internal(error.to_string()))?;
    let schema = Schema::new(vec![Field::new("count(*)", DataType::Int64, false)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(vec![count]))])
        .map_err(|error| SqlError::internal(error.to_string()))
}
