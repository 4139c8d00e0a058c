// SPDX-License-Identifier: Apache-2.0
//! Splits, merges and truncations of regions that clients ask for.

use basalt_wire::{Exception, exception, pb};

use super::procedures::Nonce;
use crate::call::{Incoming, Reply};
use crate::failure;
use crate::node::Node;
use crate::regions::Region;

/// Without a row the region is cut where its files have their middle.
pub(super) fn split(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::SplitTableRegionRequest = incoming.decode()?;
    let row = request.split_row.as_deref().filter(|row| !row.is_empty());
    let nonce: Nonce = (request.nonce_group, request.nonce);
    let proc_id = node.procedures.run(nonce, node.db.now_ms(), || {
        let region = node.region_of_info(&request.region_info)?;
        if !node.switches.splits_are_on() {
            return Err(Exception::refused(format!(
                "region {} is not split: the split switch is off",
                region.name.full().escape_ascii()
            )));
        }
        check_allowed(&region, "SPLIT_ENABLED")?;
        node.db.split_region(region.table.id(), region.id, row).map(drop).map_err(failure::of_store)
    })?;
    Reply::of(&pb::SplitTableRegionResponse { proc_id: Some(proc_id) })
}

/// All rows of one region go.
pub(super) fn truncate(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::TruncateRegionRequest = incoming.decode()?;
    let nonce: Nonce = (request.nonce_group, request.nonce);
    let proc_id = node.procedures.run(nonce, node.db.now_ms(), || {
        let region = node.region_of_info(&request.region_info)?;
        node.db.truncate_region(region.table.id(), region.id).map(drop).map_err(failure::of_store)
    })?;
    Reply::of(&pb::TruncateRegionResponse { proc_id: Some(proc_id) })
}

/// An exception if this attribute of the region's table is false.
fn check_allowed(region: &Region, attribute: &str) -> Result<(), Exception> {
    let descriptor = region.table.descriptor().map_err(failure::of_store)?;
    match descriptor.attributes.get(attribute) {
        Some(value) if value.eq_ignore_ascii_case("false") => {
            Err(Exception::refused(format!("{attribute} of table {} is false", region.table_name)))
        }
        _ => Ok(()),
    }
}

/// Two or more regions that follow each other, in any order.
pub(super) fn merge(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::MergeTableRegionsRequest = incoming.decode()?;
    let nonce: Nonce = (request.nonce_group, request.nonce);
    let proc_id = node.procedures.run(nonce, node.db.now_ms(), || {
        let unknown = |_| Exception::new(exception::UNKNOWN_REGION, "a region to be merged is not there");
        let named = request.region.iter().map(|region| node.region(region).map_err(unknown));
        let mut regions = named.collect::<Result<Vec<_>, _>>()?;
        if !node.switches.merges_are_on() {
            return Err(Exception::refused("regions are not merged: the merge switch is off"));
        }
        regions.sort_by(|a, b| a.range.start.cmp(&b.range.start));
        let follow = |pair: &[std::sync::Arc<Region>]| {
            pair[0].table.id() == pair[1].table.id() && pair[0].range.end.as_ref() == Some(&pair[1].range.start)
        };
        if regions.len() < 2 || !regions.windows(2).all(follow) {
            return Err(Exception::new(
                exception::MERGE_REGION,
                "regions are merged if they are two or more of one table, each beginning where the one before ends",
            ));
        }
        check_allowed(&regions[0], "MERGE_ENABLED")?;
        let table = regions[0].table.id();
        let mut merged = regions[0].id;
        for next in &regions[1..] {
            merged = node.db.merge_regions(table, [merged, next.id]).map_err(failure::of_store)?;
        }
        Ok(())
    })?;
    Reply::of(&pb::MergeTableRegionsResponse { proc_id: Some(proc_id) })
}
