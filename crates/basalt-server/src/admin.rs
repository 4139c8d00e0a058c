// SPDX-License-Identifier: Apache-2.0
//! Regions and their upkeep (AdminService).

use std::sync::Arc;

use basalt_wire::names::table_of;
use basalt_wire::{Exception, exception, pb};

use crate::call::{Incoming, Reply};
use crate::failure;
use crate::master::{log_entries, region_loads_of};
use crate::meta;
use crate::node::Node;
use crate::regions::{Place, Region};

/// The answer of a method; `None` if there is no such method.
pub(crate) fn call(node: &Arc<Node>, method: &str, incoming: &Incoming) -> Option<Result<Reply, Exception>> {
    Some(match method {
        "GetRegionInfo" => region_info(node, incoming),
        "GetOnlineRegion" => online_regions(node),
        "FlushRegion" => flush(node, incoming),
        "CompactRegion" => compact(node, incoming),
        "GetRegionLoad" => region_load(node, incoming),
        "GetServerInfo" => Reply::of(&pb::GetServerInfoResponse {
            server_info: pb::ServerInfo { server_name: node.name.message(), webui_port: None },
        }),
        "RollWALWriter" => Reply::of(&pb::RollWalWriterResponse::default()),
        "ClearRegionBlockCache" => Reply::of(&pb::ClearRegionBlockCacheResponse {
            stats: pb::CacheEvictionStats { evicted_blocks: Some(0), ..Default::default() },
        }),
        "UpdateConfiguration" => Reply::empty(),
        "GetLogEntries" => log_entries(incoming),
        "GetStoreFile" => store_files(node, incoming),
        "CompactionSwitch" => switch_compactions(node, incoming),
        // Slow calls are not logged, compactions do not queue, and no file is kept in a cache as a whole: all of these are empty messages.
        "GetSlowLogResponses" | "GetLargeLogResponses" | "ClearCompactionQueues" | "GetCachedFilesList" => {
            Reply::empty()
        }
        "ClearSlowLogsResponses" => Reply::of(&pb::ClearSlowLogResponses { is_cleaned: false }),
        _ => return None,
    })
}

fn region_info(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetRegionInfoRequest = incoming.decode()?;
    let (region_info, compacting, stored) = match node.place(&request.region)? {
        Place::Meta => (meta::region_info_of_meta(), 0, None),
        Place::Stored(region) => (region.info(), node.compactions.state_of(region.table.id()), Some(region)),
    };
    let middle = stored.as_ref().filter(|_| request.best_split_row());
    let best_split_row = middle.and_then(|region| node.db.split_row(region.table.id(), region.id).ok());
    Reply::of(&pb::GetRegionInfoResponse {
        region_info,
        compaction_state: request.compaction_state().then_some(compacting),
        splittable: Some(stored.is_some()),
        mergeable: Some(stored.is_some()),
        best_split_row,
    })
}

fn online_regions(node: &Node) -> Result<Reply, Exception> {
    let mut region_info = vec![meta::region_info_of_meta()];
    for (id, descriptor) in node.db.tables() {
        if node.db.is_table_enabled(id).unwrap_or(false) {
            let regions = node.regions_of(&descriptor.name).unwrap_or_default();
            region_info.extend(regions.iter().map(|region| region.info()));
        }
    }
    Reply::of(&pb::GetOnlineRegionResponse { region_info })
}

fn flush(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::FlushRegionRequest = incoming.decode()?;
    if let Place::Stored(region) = node.place(&request.region)? {
        node.db.flush_region(region.table.id(), region.id).map_err(failure::of_store)?;
    }
    let last_flush_time = u64::try_from(node.db.now_ms()).unwrap_or(0);
    Reply::of(&pb::FlushRegionResponse {
        last_flush_time,
        flushed: Some(true),
        wrote_flush_wal_marker: Some(false),
    })
}

/// Begins a compaction; the client asks for the state of the region until it is over.
fn compact(node: &Arc<Node>, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::CompactRegionRequest = incoming.decode()?;
    let Place::Stored(region) = node.place(&request.region)? else { return Reply::empty() };
    check_family(&region, request.family.as_deref())?;
    // As in HBase, who switched compactions off is not asked for one.
    if !node.db.upkeep_compacts() {
        return Reply::empty();
    }
    let (table, major) = (region.table.id(), request.major());
    // All regions of a table are compacted by one call: the calls for the others find it under way.
    if node.compactions.begin(table, major) {
        let node = Arc::clone(node);
        tokio::task::spawn_blocking(move || {
            let _ = node.db.compact(Some(table), major);
            node.compactions.end(table);
        });
    }
    Reply::empty()
}

/// The names of the files of a region, of all families or those named.
fn store_files(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetStoreFileRequest = incoming.decode()?;
    let Place::Stored(region) = node.place(&request.region)? else { return Reply::empty() };
    request.family.iter().try_for_each(|family| check_family(&region, Some(family)))?;
    let mut store_file = Vec::new();
    for file in node.db.files() {
        let wanted = request.family.is_empty()
            || request.family.iter().any(|family| file.family.as_bytes() == &family[..]);
        if file.table == region.table.id() && file.region == region.id && wanted {
            store_file.push(file.meta.id.to_string());
        }
    }
    Reply::of(&pb::GetStoreFileResponse { store_file })
}

fn switch_compactions(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::CompactionSwitchRequest = incoming.decode()?;
    let prev_state = node.db.set_upkeep_compactions(request.enabled);
    Reply::of(&pb::CompactionSwitchResponse { prev_state })
}

fn check_family(region: &Region, family: Option<&[u8]>) -> Result<(), Exception> {
    let Some(family) = family.filter(|family| !family.is_empty()) else { return Ok(()) };
    let descriptor = region.table.descriptor().map_err(failure::of_store)?;
    match descriptor.families.iter().any(|known| known.name.as_bytes() == family) {
        true => Ok(()),
        false => Err(Exception::new(
            exception::NO_SUCH_FAMILY,
            format!("table {} has no column family {}", descriptor.name, family.escape_ascii()),
        )),
    }
}

fn region_load(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetRegionLoadRequest = incoming.decode()?;
    let region_loads = match &request.table_name {
        Some(name) => region_loads_of(node, &table_of(name)?),
        None => node.db.tables().iter().flat_map(|(_, table)| region_loads_of(node, &table.name)).collect(),
    };
    Reply::of(&pb::GetRegionLoadResponse { region_loads })
}
