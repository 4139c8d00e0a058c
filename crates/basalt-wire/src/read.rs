// SPDX-License-Identifier: Apache-2.0
//! Gets and scans from their messages.

use basalt_model::operation::{ReadOptions, TimeRange};
use basalt_model::{Get, Scan};
use bytes::Bytes;

use crate::exception::{self, Exception};
use crate::{filter, pb};

/// Attribute of a scan that shows delete markers and what they hide.
const RAW: &str = "_raw_";

/// What get and scan messages have in common.
struct Parts {
    columns: Vec<pb::Column>,
    filter: Option<pb::Filter>,
    time_range: Option<pb::TimeRange>,
    family_time_ranges: Vec<pb::ColumnFamilyTimeRange>,
    max_versions: u32,
    store_limit: Option<u32>,
    store_offset: Option<u32>,
    cache_blocks: bool,
    on_demand: Option<bool>,
}

/// The get of a message.
pub fn get(message: pb::Get) -> Result<Get, Exception> {
    if message.closest_row_before() {
        return Err(Exception::new(
            exception::UNKNOWN_PROTOCOL,
            "a get of the closest row before a key is not known any more; expected a reversed scan",
        ));
    }
    let parts = Parts {
        max_versions: message.max_versions(),
        cache_blocks: message.cache_blocks(),
        columns: message.column,
        filter: message.filter,
        time_range: message.time_range,
        family_time_ranges: message.cf_time_range,
        store_limit: message.store_limit,
        store_offset: message.store_offset,
        on_demand: message.load_column_families_on_demand,
    };
    let mut get = Get::new(message.row);
    get.options = parts.options()?;
    Ok(get)
}

/// The scan of a message. Limits that travel with the call (rows, bytes) are not part of it.
pub fn scan(message: pb::Scan) -> Result<Scan, Exception> {
    let parts = Parts {
        max_versions: message.max_versions(),
        cache_blocks: message.cache_blocks(),
        columns: message.column,
        filter: message.filter,
        time_range: message.time_range,
        family_time_ranges: message.cf_time_range,
        store_limit: message.store_limit,
        store_offset: message.store_offset,
        on_demand: message.load_column_families_on_demand,
    };
    let mut scan = Scan::new();
    scan.start_inclusive = message.include_start_row.unwrap_or(true);
    scan.stop_inclusive = message.include_stop_row.unwrap_or(false);
    scan.start = message.start_row.unwrap_or_default();
    scan.stop = message.stop_row.unwrap_or_default();
    scan.reversed = message.reversed.unwrap_or(false);
    scan.batch = message.batch_size.filter(|&cells| cells > 0 && i32::try_from(cells).is_ok());
    scan.raw = message.attribute.iter().any(|pair| pair.name == RAW && is_true(&pair.value));
    scan.options = parts.options()?;
    Ok(scan)
}

/// HBase's `Bytes.toBytes(true)`.
fn is_true(value: &Option<Bytes>) -> bool {
    value.as_deref().is_some_and(|value| value.len() == 1 && value[0] != 0)
}

/// The time range of a message; all times if there is none.
pub fn time_range(message: Option<pb::TimeRange>) -> TimeRange {
    let Some(range) = message else { return TimeRange::all() };
    // Java's numbers have a sign: a bound beyond them is negative there, and refused by the store.
    TimeRange::new(range.from.unwrap_or(0) as i64, range.to.map_or(i64::MAX, |to| to as i64))
}

impl Parts {
    fn options(self) -> Result<ReadOptions, Exception> {
        let mut options = ReadOptions {
            versions: self.max_versions,
            time_range: time_range(self.time_range),
            family_limit: self.store_limit.filter(|&limit| i32::try_from(limit).is_ok()),
            family_offset: self.store_offset.unwrap_or(0),
            families_on_demand: self.on_demand.unwrap_or(true),
            cache_blocks: self.cache_blocks,
            ..ReadOptions::default()
        };
        for column in self.columns {
            if column.qualifier.is_empty() {
                options.columns.add_family(column.family);
                continue;
            }
            for qualifier in column.qualifier {
                options.columns.add_column(column.family.clone(), qualifier);
            }
        }
        for range in self.family_time_ranges {
            options.family_time_ranges.insert(range.column_family, time_range(Some(range.time_range)));
        }
        options.filter = self.filter.map(filter::decode).transpose()?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_protocol() {
        let scan = scan(pb::Scan::default()).unwrap();
        assert_eq!(scan, Scan::new());
        let found = get(pb::Get { row: "r".into(), ..Default::default() }).unwrap();
        assert_eq!(found, Get::new("r"));
    }

    #[test]
    fn what_a_scan_says() {
        let message = pb::Scan {
            column: vec![pb::Column { family: "f".into(), qualifier: vec!["q".into()] }],
            attribute: vec![pb::NameBytesPair {
                name: RAW.to_owned(),
                value: Some(Bytes::from_static(b"\xff")),
            }],
            start_row: Some("b".into()),
            include_start_row: Some(false),
            reversed: Some(true),
            max_versions: Some(i32::MAX as u32),
            batch_size: Some(u32::MAX),
            ..Default::default()
        };
        let found = scan(message).unwrap();
        let mut expected = Scan::new().column("f", "q").start_exclusive("b").reversed().raw();
        expected.options.versions = i32::MAX as u32;
        assert_eq!(found, expected);
    }

    #[test]
    fn the_closest_row_before_is_of_another_time() {
        let message = pb::Get { row: "r".into(), closest_row_before: Some(true), ..Default::default() };
        assert_eq!(get(message).unwrap_err().class(), exception::UNKNOWN_PROTOCOL);
    }
}
