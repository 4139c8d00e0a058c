// SPDX-License-Identifier: Apache-2.0
//! Regions by the names that clients know them by.
//!
//! A name is `table,start key,region id.md5.`; the region id that clients see is the store's, raised by
//! [`REGION_ID_BASE`] so that all have the same number of digits, as the milliseconds have that HBase uses. Names are made once and
//! kept; before each use the store is asked whether the region is still there.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_model::{Durability, KeyRange, TableName};
use basalt_store::{RegionId, Table};
use basalt_wire::names::{table_of_text, table_text};
use basalt_wire::region_name::{META_ENCODED, META_REGION, RegionName, table_part};
use basalt_wire::{Exception, exception, pb};
use bytes::Bytes;
use parking_lot::RwLock;

use crate::failure;
use crate::node::Node;

/// Region ids on the wire begin here.
const REGION_ID_BASE: u64 = 1_000_000_000_000;
/// Names kept, at most; then all are made anew.
const KNOWN_MAX: usize = 200_000;

/// A region as calls need it.
pub(crate) struct Region {
    pub(crate) table: Table,
    pub(crate) table_name: TableName,
    pub(crate) id: RegionId,
    pub(crate) name: RegionName,
    pub(crate) range: KeyRange,
}

/// What a call is about.
pub(crate) enum Place {
    /// A region of a stored table.
    Stored(Arc<Region>),
    /// The region of `hbase:meta`.
    Meta,
}

/// The names made so far.
#[derive(Default)]
pub(crate) struct Regions(RwLock<Known>);

#[derive(Default)]
struct Known {
    by_id: HashMap<RegionId, Arc<Region>>,
    /// By full name and by encoded name.
    by_name: HashMap<Bytes, Arc<Region>>,
}

impl Region {
    /// As clients read it.
    pub(crate) fn info(&self) -> pb::RegionInfo {
        pb::RegionInfo {
            region_id: REGION_ID_BASE + self.id.0,
            table_name: basalt_wire::names::table_message(&self.table_name),
            start_key: Some(self.range.start.clone()),
            end_key: Some(self.range.end.clone().unwrap_or_default()),
            offline: Some(false),
            split: Some(false),
            replica_id: Some(0),
        }
    }

    /// The durability of a write that asks for this one, or for none.
    pub(crate) fn durability(&self, asked: Option<Durability>) -> Durability {
        asked.unwrap_or_else(|| self.table.durability())
    }

    /// The table, for writes that ask for this durability, or for none.
    pub(crate) fn table_for(&self, asked: Option<Durability>) -> Table {
        asked.map_or_else(|| self.table.clone(), |durability| self.table.with_durability(durability))
    }

    /// An exception unless the row lies in the region.
    pub(crate) fn check_row(&self, row: &[u8]) -> Result<(), Exception> {
        if row.is_empty() || self.range.contains(row) {
            return Ok(());
        }
        Err(Exception::new(
            exception::WRONG_REGION,
            format!("row {} lies outside of region {}", row.escape_ascii(), self.name.full().escape_ascii()),
        ))
    }

    /// How clients name it in a request.
    pub(crate) fn specifier(&self) -> pb::RegionSpecifier {
        let kind = pb::region_specifier::RegionSpecifierType::RegionName as i32;
        pb::RegionSpecifier { r#type: kind, value: self.name.full().clone() }
    }
}

impl Node {
    /// What a request names; an exception if it is not served here.
    pub(crate) fn place(&self, specifier: &pb::RegionSpecifier) -> Result<Place, Exception> {
        let name = &specifier.value;
        if &name[..] == META_REGION || &name[..] == META_ENCODED {
            return Ok(Place::Meta);
        }
        self.named_region(name).map(Place::Stored)
    }

    /// The stored region that a request names.
    pub(crate) fn region(&self, specifier: &pb::RegionSpecifier) -> Result<Arc<Region>, Exception> {
        self.named_region(&specifier.value)
    }

    fn named_region(&self, name: &Bytes) -> Result<Arc<Region>, Exception> {
        let not_here = || {
            Exception::new(
                exception::NOT_SERVING_REGION,
                format!("region {} is not online on {}", name.escape_ascii(), self.name),
            )
        };
        let known = self.regions.0.read().by_name.get(name).cloned();
        let region = match known {
            Some(region) => region,
            None => self.find_region(name).ok_or_else(not_here)?,
        };
        match self.serves(&region) {
            true => Ok(region),
            false => Err(not_here()),
        }
    }

    /// The region that a client describes.
    pub(crate) fn region_of_info(&self, info: &pb::RegionInfo) -> Result<Arc<Region>, Exception> {
        let table = basalt_wire::names::table_of(&info.table_name)?;
        let found = self.regions_of(&table)?.into_iter().find(|region| {
            REGION_ID_BASE + region.id.0 == info.region_id && region.range.start == info.start_key()
        });
        found.ok_or_else(|| {
            let id = info.region_id;
            let message =
                format!("table {} has no region with id {id}; it was split or merged", table_text(&table));
            Exception::new(exception::UNKNOWN_REGION, message)
        })
    }

    /// True if a scan that began in the region may go on. What it reads does not move when the region is split or merged, and the
    /// client goes on behind the region as it knew it.
    pub(crate) fn may_read_on(&self, region: &Region) -> bool {
        self.db.is_table_enabled(region.table.id()).unwrap_or(false)
    }

    /// True if calls about the region are answered: it exists, and its table is enabled.
    pub(crate) fn serves(&self, region: &Region) -> bool {
        self.db.serves(region.table.id(), region.id, &region.range.start)
    }

    fn find_region(&self, name: &Bytes) -> Option<Arc<Region>> {
        match table_part(name) {
            Some(table) => {
                let table = table_of_text(table)?;
                self.regions_of(&table).ok()?;
            }
            None => {
                for (_, descriptor) in self.db.tables() {
                    let _ = self.regions_of(&descriptor.name);
                }
            }
        }
        self.regions.0.read().by_name.get(name).cloned()
    }

    /// The regions of a table, by key.
    pub(crate) fn regions_of(&self, name: &TableName) -> Result<Vec<Arc<Region>>, Exception> {
        let table = self.db.open_table(name).map_err(failure::of_store)?;
        let stats = self.db.regions(table.id()).map_err(failure::of_store)?;
        let mut regions = Vec::with_capacity(stats.len());
        let mut new = Vec::new();
        {
            let known = self.regions.0.read();
            for stats in stats {
                // A table that was renamed keeps its regions, under other names.
                let region = known.by_id.get(&stats.id).filter(|region| region.table_name == *name);
                regions.push(region.cloned().unwrap_or_else(|| {
                    let text = table_text(name);
                    let region = Arc::new(Region {
                        table: table.clone(),
                        table_name: name.clone(),
                        id: stats.id,
                        name: RegionName::new(&text, &stats.range.start, REGION_ID_BASE + stats.id.0),
                        range: stats.range,
                    });
                    new.push(Arc::clone(&region));
                    region
                }));
            }
        }
        if !new.is_empty() {
            self.regions.0.write().add(new);
        }
        Ok(regions)
    }
}

impl Known {
    fn add(&mut self, new: Vec<Arc<Region>>) {
        if self.by_id.len() + new.len() > KNOWN_MAX {
            *self = Self::default();
        }
        for region in new {
            self.by_name.insert(region.name.full().clone(), Arc::clone(&region));
            self.by_name.insert(Bytes::copy_from_slice(region.name.encoded()), Arc::clone(&region));
            self.by_id.insert(region.id, region);
        }
    }
}
