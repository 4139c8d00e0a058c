// SPDX-License-Identifier: Apache-2.0
//! Gets and scans of cells: checks what was asked for, and plans it over regions and families.

use std::collections::{BTreeSet, VecDeque};
use std::hint::black_box;
use std::sync::Arc;

use basalt_model::operation::ReadOptions;
use basalt_model::table::DeleteRule;
use basalt_model::{FamilyDescriptor, Get, KeyRange, ROW_LEN_MAX, Scan, Seq, TableId};
use bytes::Bytes;

use super::read::{access, family_input};
use crate::database::Shared;
use crate::error::{Error, Result};
use crate::read::point::{Asked, Known};
use crate::read::{
    self, FamilyPlan, Keep, Limits, ReadAccess, RegionPlan, Row, Rows, Rules, StoreFile, TableScanPlan,
    Wishes, compile_filter, point,
};
use crate::row_order::order_of;
use crate::version::{RegionVersion, TableVersion, Version};

/// A state of the database to read from.
pub(crate) struct View<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) version: &'a Version,
    /// The newest commit that shows.
    pub(crate) seq: Seq,
    /// The moment of the read, for TTLs.
    pub(crate) now_ms: i64,
}

impl View<'_> {
    /// What a get finds.
    pub(crate) fn get(&self, table: TableId, get: &Get) -> Result<Row> {
        let mut row = Row::default();
        let access = Access::new(self.shared);
        self.look_up(
            self.version.enabled_table(table)?,
            (get.row(), &get.options),
            &access,
            Known::Nothing,
            &mut row,
        )?;
        Ok(row)
    }

    /// What a get finds, in place of what `out` held.
    fn look_up(
        &self,
        table: &TableVersion,
        (row, options): (&[u8], &ReadOptions),
        access: &Access,
        known: Known<'_>,
        out: &mut Row,
    ) -> Result<()> {
        out.clear();
        check_row(row)?;
        self.shared.lookups.measure(&*self.shared.env.clock, || {
            if !self.plain_get(table, (row, options), access, known, out)? {
                let range = KeyRange::point(Bytes::copy_from_slice(row));
                let plan = self.plan(table, range, options, &How::default())?;
                *out = Rows::new(plan).next().transpose()?.unwrap_or_default();
            }
            Ok(())
        })
    }

    /// What a get finds that asks for cells as they are stored, of a row that lies whole and plain in one file a family;
    /// false, with an empty row, if it has to take the long way.
    fn plain_get(
        &self,
        table: &TableVersion,
        (row, options): (&[u8], &ReadOptions),
        access: &Access,
        mut known: Known<'_>,
        out: &mut Row,
    ) -> Result<bool> {
        let as_stored = options.filter.is_none()
            && options.time_range.is_all()
            && options.family_time_ranges.is_empty()
            && options.family_limit.is_none()
            && options.family_offset == 0;
        let region = table.region_of(row);
        if !as_stored || region.memtables().any(|memtable| memtable.has_row(row)) {
            return Ok(false);
        }
        check_options(table, options)?;
        let named = options.columns.families();
        for family in &table.descriptor.families {
            let columns = named.get(family.name.as_bytes());
            if columns.is_none() && !named.is_empty() {
                continue;
            }
            let access = access.of(options.cache_blocks && family.cache_blocks);
            match self.plain_row(region, family, Asked { row, columns }, access, known.again())? {
                point::Found::Missing => {}
                point::Found::Elsewhere => {
                    out.clear();
                    return Ok(false);
                }
                point::Found::Cells(run) => match columns.filter(|columns| !columns.is_empty()) {
                    None => out.push_run(&run.block, run.cells),
                    Some(columns) => out.push_columns(&run, |qualifier| columns.contains(qualifier)),
                },
            }
        }
        Ok(true)
    }

    /// The cells of a row if one file alone has it and a reader sees all of them.
    fn plain_row(
        &self,
        region: &RegionVersion,
        family: &FamilyDescriptor,
        asked: Asked<'_>,
        access: &ReadAccess,
        mut known: Known<'_>,
    ) -> Result<point::Found> {
        let files = || files_of_row(region, family, asked.row);
        let several = files().nth(1).is_some();
        let timestamp_min = Rules::new(family, self.now_ms).timestamp_min;
        let mut found = point::Found::Missing;
        for file in files() {
            match point::find_row(file, asked, several, access, known.again())? {
                point::Found::Missing => continue,
                point::Found::Cells(run)
                    if matches!(found, point::Found::Missing)
                        && timestamp_min <= file.meta().timestamp_min
                        && point::is_plain(&run, self.seq) =>
                {
                    found = point::Found::Cells(run);
                }
                _ => return Ok(point::Found::Elsewhere),
            }
        }
        Ok(found)
    }

    /// Sets a scan up. Nothing is read yet.
    pub(crate) fn scan(&self, table: TableId, scan: &Scan) -> Result<Rows> {
        let table = self.version.enabled_table(table)?;
        check_scan(table, scan)?;
        let how = How {
            reversed: scan.reversed,
            raw: scan.raw,
            rows_max: scan.limit,
            cells_max: scan.batch.map(u64::from),
            bytes_max: scan.result_bytes_max,
        };
        let plan = self.plan(table, scan.key_range(), &scan.options, &how)?;
        Ok(Rows::new(plan).opened(self.shared.open_scans.open(self.seq)))
    }

    fn plan(
        &self,
        table: &TableVersion,
        range: KeyRange,
        options: &ReadOptions,
        how: &How,
    ) -> Result<TableScanPlan> {
        check_options(table, options)?;
        let random = || self.shared.env.random.next_u64();
        let filter = options.filter.as_ref().map(|filter| compile_filter(filter, how.reversed, &random));
        let filter = filter.transpose()?;
        let whole_rows = filter.as_ref().is_some_and(|filter| filter.needs_whole_rows());
        if let Some(cells) = how.cells_max.filter(|_| whole_rows) {
            return Err(Error::IncompatibleFilter { limit: format!("{cells} cells") });
        }
        // A filter of whole rows cannot work on parts of them: such rows are not cut by size.
        let limits = Limits::new(how.cells_max, how.bytes_max.filter(|_| !whole_rows));
        let wanted = wanted_families(table, options);
        let needed = |family: &FamilyDescriptor| {
            let filter = filter.as_ref();
            filter.is_none_or(|filter| filter.needs_family(family.name.as_bytes()))
                || !options.families_on_demand
                || how.reversed
        };
        let families: Vec<_> = wanted.into_iter().map(|family| (family, !needed(family))).collect();
        let only_row = range.only_row();
        let region = |region: &Arc<RegionVersion>| {
            let range = range.intersect(&region.range);
            if range.is_empty() {
                return Ok(None);
            }
            let mut plan = RegionPlan { families: Vec::with_capacity(families.len()), range };
            for (family, later) in &families {
                plan.families.push(self.family(region, (family, *later), options, how, only_row)?);
            }
            Ok(Some(plan))
        };
        let regions = table.regions.iter().map(region).filter_map(Result::transpose);
        let mut regions = regions.collect::<Result<VecDeque<RegionPlan>>>()?;
        if how.reversed {
            regions.make_contiguous().reverse();
        }
        let cache = options.cache_blocks && families.iter().all(|(family, _)| family.cache_blocks);
        Ok(TableScanPlan {
            regions,
            filter,
            reversed: how.reversed,
            limits,
            rows_max: how.rows_max,
            access: access(self.shared, Keep::if_wanted(cache)),
            seq_max: self.seq,
        })
    }

    fn family(
        &self,
        region: &RegionVersion,
        (family, later): (&FamilyDescriptor, bool),
        options: &ReadOptions,
        how: &How,
        only_row: Option<&[u8]>,
    ) -> Result<FamilyPlan> {
        let name = family.name.as_bytes();
        let mut rules = Rules::new(family, self.now_ms);
        if how.raw {
            rules.timestamp_min = i64::MIN;
        }
        let columns = options.columns.families().get(name);
        let wishes = Wishes {
            rules: rules.clone(),
            columns: columns
                .map(|columns: &BTreeSet<Bytes>| columns.iter().cloned().collect())
                .unwrap_or_default(),
            time_range: options.family_time_ranges.get(name).copied().unwrap_or(options.time_range),
            versions: options.versions,
            raw: how.raw,
            has_filter: options.filter.is_some(),
            limit: options.family_limit,
            offset: options.family_offset,
        };
        let mut input = family_input(region, family, rules, self.seq);
        let expired_below =
            if wishes.rules.versions_min == 0 { wishes.rules.timestamp_min } else { i64::MIN };
        let mut range = wishes.time_range;
        if family.delete_rule == DeleteRule::BySequence {
            // What is newer than the range may have put a version in it beyond VERSIONS.
            range.max = i64::MAX;
        }
        input.files.retain(|file| read::may_concern(file.meta(), &range, expired_below));
        if let Some(row) = only_row {
            let (asked, files) = (Asked { row, columns }, std::mem::take(&mut input.files));
            for file in files {
                if file.meta().first_row <= row
                    && *row <= file.meta().last_row[..]
                    && asked.may_be_in(&file)?
                {
                    input.files.push(file);
                }
            }
        }
        Ok(FamilyPlan { input, wishes, later })
    }
}

/// Gets of one table at one moment. Rows that are asked for in ascending order are found soonest: those of one block
/// without another look into index and cache.
pub struct Lookups<'a> {
    view: View<'a>,
    table: &'a TableVersion,
    access: Access,
    trail: point::Trail,
    row: Row,
}

/// Rows that are looked for together.
const TOGETHER: usize = 16;

impl<'a> Lookups<'a> {
    pub(crate) fn new(view: View<'a>, table: TableId) -> Result<Self> {
        let table = view.version.enabled_table(table)?;
        let access = Access::new(view.shared);
        Ok(Self { view, table, access, trail: point::Trail::default(), row: Row::default() })
    }

    /// What several gets find, in their order.
    pub(crate) fn get_all(&mut self, gets: &[Get]) -> Result<Vec<Row>> {
        let mut rows = vec![Row::default(); gets.len()];
        let asked: Vec<&[u8]> = gets.iter().map(Get::row).collect();
        let order = order_of(&asked);
        let (mut ahead, mut last) = (Vec::with_capacity(TOGETHER), point::LastGroup::default());
        for group in order.chunks(TOGETHER) {
            ahead.clear();
            for &at in group {
                ahead.push(self.ahead(&gets[at], &mut last)?);
            }
            black_box(ahead.iter().flatten().fold(0, |sum, ahead| sum ^ ahead.touch_fronts()));
            ahead.iter_mut().flatten().for_each(point::Ahead::narrow);
            black_box(ahead.iter().flatten().fold(0, |sum, ahead| sum ^ ahead.touch()));
            black_box(ahead.iter().flatten().fold(0, |sum, ahead| sum ^ ahead.touch_bytes()));
            for (&at, ahead) in group.iter().zip(&ahead) {
                let known = ahead.as_ref().map_or(Known::Trail(&mut self.trail), Known::Ahead);
                let get = (gets[at].row(), &gets[at].options);
                self.view.look_up(self.table, get, &self.access, known, &mut rows[at])?;
            }
        }
        Ok(rows)
    }

    /// Where the row of a get begins to be looked for, if it can be in one file alone, of a table of one family.
    fn ahead<'b>(&self, get: &'b Get, last: &mut point::LastGroup) -> Result<Option<point::Ahead<'b>>>
    where
        'a: 'b,
    {
        let (row, table) = (get.row(), self.table);
        let [family] = &table.descriptor.families[..] else { return Ok(None) };
        let mut files = files_of_row(table.region_of(row), family, row);
        let (Some(file), None) = (files.next(), files.next()) else { return Ok(None) };
        let access = self.access.of(get.options.cache_blocks && family.cache_blocks);
        point::Ahead::try_new(file, row, access, last)
    }

    /// What a get of `row` finds; an empty row if there is nothing.
    pub fn get(&mut self, row: &[u8], options: &ReadOptions) -> Result<&Row> {
        let known = Known::Trail(&mut self.trail);
        self.view.look_up(self.table, (row, options), &self.access, known, &mut self.row)?;
        Ok(&self.row)
    }
}

impl std::fmt::Debug for Lookups<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookups").field("table", &self.table.descriptor.name).finish_non_exhaustive()
    }
}

/// How gets read: with their blocks kept in the cache, or not.
struct Access {
    keeping: ReadAccess,
    passing: ReadAccess,
}

impl Access {
    fn new(shared: &Shared) -> Self {
        let keeping = access(shared, Keep::Decoded);
        Self { passing: ReadAccess { keep: Keep::Nothing, ..keeping.clone() }, keeping }
    }

    fn of(&self, keep: bool) -> &ReadAccess {
        if keep { &self.keeping } else { &self.passing }
    }
}

/// The files of a family that may have a row.
fn files_of_row<'a>(
    region: &'a RegionVersion,
    family: &FamilyDescriptor,
    row: &'a [u8],
) -> impl Iterator<Item = &'a Arc<StoreFile>> {
    let files = region.files.get(&family.name).map_or(&[][..], Vec::as_slice);
    files.iter().filter(move |file| file.meta().first_row <= row && *row <= file.meta().last_row[..])
}

/// What scans choose beyond [`ReadOptions`].
#[derive(Default)]
struct How {
    reversed: bool,
    raw: bool,
    rows_max: Option<u64>,
    cells_max: Option<u64>,
    bytes_max: Option<u64>,
}

fn wanted_families<'a>(table: &'a TableVersion, options: &ReadOptions) -> Vec<&'a FamilyDescriptor> {
    let named = options.columns.families();
    let families = table.descriptor.families.iter();
    families.filter(|family| named.is_empty() || named.contains_key(family.name.as_bytes())).collect()
}

pub(crate) fn check_row(row: &[u8]) -> Result<()> {
    if row.is_empty() || row.len() > ROW_LEN_MAX {
        return Err(basalt_model::mutation::MutationError::RowLength { found: row.len() }.into());
    }
    Ok(())
}

pub(crate) fn check_family(table: &TableVersion, family: &[u8]) -> Result<()> {
    if table.descriptor.families.iter().any(|known| known.name.as_bytes() == family) {
        return Ok(());
    }
    let family = basalt_model::escape::Escaped(family).to_string();
    Err(Error::NoSuchFamily { table: table.descriptor.name.clone(), family })
}

fn check_options(table: &TableVersion, options: &ReadOptions) -> Result<()> {
    for family in options.columns.families().keys().chain(options.family_time_ranges.keys()) {
        check_family(table, family)?;
    }
    for range in options.family_time_ranges.values().chain([&options.time_range]) {
        if range.min < 0 || range.max < range.min {
            return Err(Error::BadTimeRange { min: range.min, max: range.max });
        }
    }
    if options.versions == 0 {
        return Err(Error::OutOfRange {
            what: "versions wanted",
            found: 0,
            min: 1,
            max: u64::from(u32::MAX),
        });
    }
    Ok(())
}

fn check_scan(table: &TableVersion, scan: &Scan) -> Result<()> {
    for row in [&scan.start, &scan.stop] {
        if row.len() > ROW_LEN_MAX {
            check_row(row)?;
        }
    }
    let (low, high) = if scan.reversed { (&scan.stop, &scan.start) } else { (&scan.start, &scan.stop) };
    if !low.is_empty() && !high.is_empty() && low > high {
        return Err(Error::InvertedRange {
            start: scan.start.clone(),
            stop: scan.stop.clone(),
            reversed: scan.reversed,
        });
    }
    if scan.raw && scan.options.columns.families().values().any(|columns| !columns.is_empty()) {
        let table = table.descriptor.name.clone();
        return Err(Error::RawColumns { table });
    }
    for (what, found) in
        [("cells per result", scan.batch.map(u64::from)), ("bytes per result", scan.result_bytes_max)]
    {
        if found == Some(0) {
            return Err(Error::OutOfRange { what, found: 0, min: 1, max: u64::MAX });
        }
    }
    Ok(())
}
