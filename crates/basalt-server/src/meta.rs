// SPDX-License-Identifier: Apache-2.0
//! `hbase:meta`, from which clients learn where the regions of a table are. There is no such table: its rows are made when they are
//! asked for, out of what the manifest says.
//!
//! | row | columns |
//! |---|---|
//! | `t1`, `ns:t1` | `table:state` |
//! | a region's name | `info:regioninfo`, `info:server`, `info:serverstartcode`, `info:seqnumDuringOpen`, `info:sn`, `info:state` |

use std::cmp::Ordering;
use std::collections::VecDeque;

use basalt_model::{CellRef, CellType, Get, Scan, Seq, TableName};
use basalt_wire::names::{meta_table, table_message, table_text};
use basalt_wire::region_name::{compare_meta_rows, table_part};
use basalt_wire::{Exception, exception, pb};
use bytes::Bytes;
use prost::Message;

use crate::node::Node;
use crate::regions::Region;

/// Before messages in meta and ZooKeeper.
const MAGIC: &[u8] = b"PBUF";
const INFO: &str = "info";
const TABLE: &str = "table";

/// A row of `hbase:meta`.
pub(crate) struct MetaRow {
    key: Bytes,
    timestamp: i64,
    /// By family and qualifier.
    cells: Vec<MetaCell>,
}

struct MetaCell {
    family: &'static str,
    qualifier: &'static str,
    value: Vec<u8>,
}

impl MetaRow {
    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = CellRef<'_>> {
        self.cells.iter().map(|cell| CellRef {
            row: &self.key,
            family: cell.family.as_bytes(),
            qualifier: cell.qualifier.as_bytes(),
            timestamp: self.timestamp,
            cell_type: CellType::Put,
            value: &cell.value,
            seq: Seq(0),
            tags: b"",
        })
    }

    /// Leaves out what the reader did not ask for.
    fn select(mut self, options: &basalt_model::operation::ReadOptions) -> Self {
        let wanted = options.columns.families();
        self.cells.retain(|cell| {
            let columns = wanted.get(cell.family.as_bytes());
            wanted.is_empty()
                || columns
                    .is_some_and(|columns| columns.is_empty() || columns.contains(cell.qualifier.as_bytes()))
        });
        if !options.time_range.contains(self.timestamp) {
            self.cells.clear();
        }
        self
    }
}

/// The only region of `hbase:meta`.
pub(crate) fn region_info_of_meta() -> pb::RegionInfo {
    pb::RegionInfo {
        region_id: 1,
        table_name: table_message(&meta_table()),
        start_key: Some(Bytes::new()),
        end_key: Some(Bytes::new()),
        offline: Some(false),
        split: Some(false),
        replica_id: Some(0),
    }
}

/// What a get finds.
pub(crate) fn get(node: &Node, get: &Get) -> Result<MetaRow, Exception> {
    check(&get.options)?;
    let rows = rows(node, table_part(get.row()).unwrap_or(get.row()), false)?;
    let found = rows.into_iter().find(|row| row.key == get.row());
    let none = MetaRow { key: Bytes::new(), timestamp: 0, cells: Vec::new() };
    Ok(found.map_or(none, |row| row.select(&get.options)))
}

/// What a scan finds, in its order.
pub(crate) fn scan(node: &Node, scan: &Scan) -> Result<VecDeque<MetaRow>, Exception> {
    check(&scan.options)?;
    let (low, low_inclusive, high, high_inclusive) = match scan.reversed {
        true => (&scan.stop, scan.stop_inclusive, &scan.start, scan.start_inclusive),
        false => (&scan.start, scan.start_inclusive, &scan.stop, scan.stop_inclusive),
    };
    // Looking for a region of one table is what clients do most; others need not be made for that.
    let (of_low, of_high) = (table_part(low).unwrap_or(low), table_part(high).unwrap_or(high));
    let one_table = !of_low.is_empty() && of_low == of_high;
    let rows = rows(node, if one_table { of_low } else { b"" }, !one_table)?;
    let behind_low = |row: &MetaRow| {
        let order = compare_meta_rows(&row.key, low);
        low.is_empty() || order == Ordering::Greater || order == Ordering::Equal && low_inclusive
    };
    let before_high = |row: &MetaRow| {
        let order = compare_meta_rows(&row.key, high);
        high.is_empty() || order == Ordering::Less || order == Ordering::Equal && high_inclusive
    };
    let wanted = rows.into_iter().filter(|row| behind_low(row) && before_high(row));
    let mut found: VecDeque<MetaRow> =
        wanted.map(|row| row.select(&scan.options)).filter(|row| !row.is_empty()).collect();
    if scan.reversed {
        found.make_contiguous().reverse();
    }
    Ok(found)
}

fn check(options: &basalt_model::operation::ReadOptions) -> Result<(), Exception> {
    if options.filter.is_some() {
        return Err(Exception::refused(
            "filters are not evaluated on hbase:meta, which this server makes up",
        ));
    }
    let known = [INFO, TABLE, "rep_barrier", "ns"];
    match options
        .columns
        .families()
        .keys()
        .find(|family| !known.iter().any(|known| known.as_bytes() == &family[..]))
    {
        None => Ok(()),
        Some(family) => Err(Exception::new(
            exception::NO_SUCH_FAMILY,
            format!("table hbase:meta has no column family {}", family.escape_ascii()),
        )),
    }
}

/// The rows of one table, or of all, in the order of meta.
fn rows(node: &Node, table: &[u8], all: bool) -> Result<Vec<MetaRow>, Exception> {
    let mut rows = Vec::new();
    for (id, descriptor) in node.db.tables() {
        let text = table_text(&descriptor.name);
        if !all && text.as_bytes() != table {
            continue;
        }
        // A table that is dropped meanwhile has no rows.
        let (Ok(enabled), Ok(regions)) = (node.db.is_table_enabled(id), node.regions_of(&descriptor.name))
        else {
            continue;
        };
        rows.push(state_row(node, text, enabled));
        rows.extend(regions.iter().map(|region| region_row(node, region, enabled)));
    }
    rows.sort_by(|a, b| compare_meta_rows(&a.key, &b.key));
    Ok(rows)
}

fn state_row(node: &Node, text: String, enabled: bool) -> MetaRow {
    let state = if enabled { pb::table_state::State::Enabled } else { pb::table_state::State::Disabled };
    let value = pb::TableState { state: state as i32 }.encode_to_vec();
    let cells = vec![MetaCell { family: TABLE, qualifier: "state", value }];
    MetaRow { key: text.into(), timestamp: node.name.start_code as i64, cells }
}

fn region_row(node: &Node, region: &Region, enabled: bool) -> MetaRow {
    let cell = |qualifier, value| MetaCell { family: INFO, qualifier, value };
    let mut info = MAGIC.to_vec();
    region.info().encode(&mut info).expect("a vector takes all");
    let state = if enabled { "OPEN" } else { "CLOSED" };
    let cells = vec![
        cell("regioninfo", info),
        cell("seqnumDuringOpen", 2_u64.to_be_bytes().to_vec()),
        cell("server", node.name.address().into_bytes()),
        cell("serverstartcode", node.name.start_code.to_be_bytes().to_vec()),
        cell("sn", node.name.to_string().into_bytes()),
        cell("state", state.as_bytes().to_vec()),
    ];
    MetaRow { key: region.name.full().clone(), timestamp: node.name.start_code as i64, cells }
}

/// True for tables that clients may see but nobody stores.
pub(crate) fn is_meta(name: &TableName) -> bool {
    *name == meta_table()
}
