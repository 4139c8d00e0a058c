// SPDX-License-Identifier: Apache-2.0
//! How many rows and cells a region has.

use basalt_model::filter::Filter;
use basalt_wire::{Exception, pb};

use super::scan;
use crate::failure;
use crate::regions::Region;

/// The answer; `None` if there is no such method.
pub(super) fn call(region: &Region, method: &str) -> Result<Option<pb::CountResponse>, Exception> {
    let all = pb::Scan::default();
    let mut count = 0;
    match method {
        "getRowCount" => {
            let mut wanted = basalt_model::Scan::new();
            wanted.options.filter = Some(Filter::FirstKeyOnly);
            super::clip(&mut wanted, region);
            for row in region.table.scan(&wanted).map_err(failure::of_store)? {
                row.map_err(failure::of_store)?;
                count += 1;
            }
        }
        "getKeyValueCount" => {
            for row in scan(region, all)? {
                count += row.map_err(failure::of_store)?.len() as i64;
            }
        }
        _ => return Ok(None),
    }
    Ok(Some(pb::CountResponse { count }))
}
