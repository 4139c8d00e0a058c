// SPDX-License-Identifier: Apache-2.0
//! What the files of a table say of all its rows, without reading any.

use std::sync::Arc;

use basalt_hfile::columnar::{Binder, Verdict};
use basalt_hfile::predicate::Predicate;
use basalt_model::{Seq, TableId, TableSchema};

use super::read::{access, keep_of};
use crate::database::Shared;
use crate::error::Result;
use crate::read::{self, Keep, KnownValues, StoreFile};
use crate::version::Version;

pub(crate) fn row_count(version: &Version, table: TableId, seq: Seq) -> Result<Option<u64>> {
    let table = version.table(table)?;
    let [family] = &table.descriptor.families[..] else { return Ok(None) };
    // Who counts the rows of a disabled table is told so by the scan.
    if family.ttl_secs.is_some() || table.disabled {
        return Ok(None);
    }
    let mut rows = 0;
    for region in &table.regions {
        let files = region.files.get(&family.name).map(Vec::as_slice).unwrap_or_default();
        let whole = |file: &Arc<StoreFile>| {
            let meta = file.meta();
            let inside = region.range.contains(&meta.first_row) && region.range.contains(&meta.last_row);
            meta.part.is_none()
                && meta.deletes == 0
                && meta.seq_override.unwrap_or(meta.seq_max) <= seq
                && inside
        };
        let in_memory = region.memtables().any(|memtable| !memtable.is_empty());
        if in_memory || !files.iter().all(whole) || read::disjoint_lists(files).len() > 1 {
            return Ok(None);
        }
        rows += files.iter().map(|file| file.meta().rows).sum::<u64>();
    }
    Ok(Some(rows))
}

/// True if the heads of all row groups say that every row satisfies a predicate, and [`row_count`] is known: no row is elsewhere.
pub(crate) fn all_rows_satisfy(
    shared: &Shared,
    version: &Version,
    table: TableId,
    schema: &TableSchema,
    predicate: &Arc<Predicate>,
    seq: Seq,
) -> Result<bool> {
    if row_count(version, table, seq)?.is_none() {
        return Ok(false);
    }
    let table = version.table(table)?;
    let families: Vec<_> = table.descriptor.families.iter().collect();
    let access = access(shared, keep_of(&families, Keep::Stored));
    let mut binder = Binder::default();
    for (_, file) in table.regions.iter().flat_map(|region| region.all_files()) {
        if let Some(whole) = file.whole_facts(&access)?
            && let Some(group) = file.row_group(0, &access)?
            && whole.satisfy(predicate, &group, schema)
        {
            continue;
        }
        for block in 0..file.blocks_end()? {
            let Some(group) = file.row_group(block, &access)?.filter(|group| group.is_plain()) else {
                return Ok(false);
            };
            let bound = binder.bind(predicate, &group, schema);
            if !bound.is_exact() || bound.of_block(&group) != Verdict::All {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

pub(crate) fn known_values(shared: &Shared, version: &Version, table: TableId) -> Result<KnownValues> {
    let table = version.table(table)?;
    let families: Vec<_> = table.descriptor.families.iter().collect();
    let access = access(shared, keep_of(&families, Keep::Stored));
    let mut all = KnownValues::default();
    for region in &table.regions {
        for (_, file) in region.all_files() {
            all.add(file.known_values(&access)?);
        }
    }
    Ok(all)
}
