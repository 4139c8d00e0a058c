// SPDX-License-Identifier: Apache-2.0
//! The state of the cluster, which is this server.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::TableId;
use basalt_store::RegionId;
use basalt_wire::names::{table_message, table_of};
use basalt_wire::{Exception, pb};

use crate::call::{Incoming, Reply};
use crate::failure;
use crate::node::Node;
use crate::regions::Place;

/// What clients are told that they talk to: they choose by it what they ask for.
const HBASE_VERSION: &str = "2.6.4";

pub(super) fn status(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetClusterStatusRequest = incoming.decode()?;
    // Numbers beyond those known mean different things to different clients: they are not answered.
    let asked = |option: pb::Option| request.options.is_empty() || request.options.contains(&(option as i32));
    let mut status = pb::ClusterStatus::default();
    if asked(pb::Option::HbaseVersion) {
        status.hbase_version = Some(pb::HBaseVersionFileContent { version: HBASE_VERSION.to_owned() });
    }
    if asked(pb::Option::ClusterId) {
        status.cluster_id = Some(pb::ClusterId { cluster_id: node.cluster_id.clone() });
    }
    if asked(pb::Option::LiveServers) {
        let server_load = load(node);
        status.live_servers.push(pb::LiveServerInfo { server: node.name.message(), server_load });
    }
    if asked(pb::Option::Master) {
        status.master = Some(node.name.message());
    }
    if asked(pb::Option::BalancerOn) {
        status.balancer_on = Some(node.switches.balancer_is_on());
    }
    if asked(pb::Option::MasterInfoPort) {
        status.master_info_port = Some(-1);
    }
    if asked(pb::Option::ServersName) {
        status.servers_name.push(node.name.message());
    }
    if asked(pb::Option::TableToRegionsCount) {
        status.table_region_states_count = region_counts(node);
    }
    Reply::of(&pb::GetClusterStatusResponse { cluster_status: status })
}

fn region_counts(node: &Node) -> Vec<pb::TableRegionStatesCount> {
    let mut counts = Vec::new();
    for (id, descriptor) in node.db.tables() {
        let (Ok(stats), Ok(enabled)) = (node.db.stats(id), node.db.is_table_enabled(id)) else { continue };
        let total = u32::try_from(stats.regions).unwrap_or(u32::MAX);
        let (open_regions, closed_regions) = if enabled { (total, 0) } else { (0, total) };
        counts.push(pb::TableRegionStatesCount {
            table_name: table_message(&descriptor.name),
            region_states_count: pb::RegionStatesCount {
                open_regions,
                split_regions: 0,
                closed_regions,
                regions_in_transition: 0,
                total_regions: total,
            },
        });
    }
    counts
}

fn load(node: &Node) -> pb::ServerLoad {
    let metrics = node.db.metrics();
    let requests = node.reads.load(Relaxed) + node.writes.load(Relaxed);
    let mut region_loads = Vec::new();
    for (_, descriptor) in node.db.tables() {
        region_loads.extend(region_loads_of(node, &descriptor.name));
    }
    pb::ServerLoad {
        number_of_requests: Some(requests),
        total_number_of_requests: Some(requests),
        used_heap_mb: Some(megabytes(metrics.cache.bytes + metrics.unflushed_bytes)),
        max_heap_mb: Some(megabytes(metrics.cache.capacity_bytes)),
        region_loads,
        report_start_time: Some(node.name.start_code),
        report_end_time: Some(u64::try_from(node.db.now_ms()).unwrap_or(0)),
        ..Default::default()
    }
}

/// What is known of the regions of a table; nothing of one that is gone.
pub(crate) fn region_loads_of(node: &Node, name: &basalt_model::TableName) -> Vec<pb::RegionLoad> {
    let (Ok(regions), Ok((id, descriptor))) = (node.regions_of(name), node.db.table(name)) else {
        return Vec::new();
    };
    let stats = node.db.regions(id).unwrap_or_default();
    let stores = u32::try_from(descriptor.families.len()).unwrap_or(u32::MAX);
    let load = |region: &std::sync::Arc<crate::regions::Region>| {
        let stats = stats.iter().find(|stats| stats.id == region.id)?;
        Some(pb::RegionLoad {
            region_specifier: region.specifier(),
            stores: Some(stores),
            storefiles: Some(u32::try_from(stats.files).unwrap_or(u32::MAX)),
            store_uncompressed_size_mb: Some(megabytes(stats.size_bytes)),
            storefile_size_mb: Some(megabytes(stats.size_bytes)),
            mem_store_size_mb: Some(megabytes(stats.memtable_bytes)),
            last_major_compaction_ts: Some(last_major_ms(node, id, region.id) as u64),
            ..Default::default()
        })
    };
    regions.iter().filter_map(load).collect()
}

/// When the last major compaction of a region ended, in milliseconds; of several families, that of the one that was compacted longest ago. 0 if there
/// was none since the database was opened.
fn last_major_ms(node: &Node, table: TableId, region: RegionId) -> i64 {
    let mut by_family = BTreeMap::new();
    for compaction in node.db.compactions() {
        if compaction.table == table && compaction.region == region && compaction.reason == "major" {
            by_family.insert(compaction.family, compaction.ended_ms);
        }
    }
    by_family.into_values().min().unwrap_or(0)
}

/// Of all regions of a table that of the one that was compacted longest ago.
pub(super) fn last_major_compaction(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::MajorCompactionTimestampRequest = incoming.decode()?;
    let (id, _) = node.db.table(&table_of(&request.table_name)?).map_err(failure::of_store)?;
    let regions = node.db.regions(id).map_err(failure::of_store)?;
    let compaction_timestamp = regions.iter().map(|region| last_major_ms(node, id, region.id)).min();
    let compaction_timestamp = compaction_timestamp.unwrap_or(0);
    Reply::of(&pb::MajorCompactionTimestampResponse { compaction_timestamp })
}

pub(super) fn last_major_compaction_of_region(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::MajorCompactionTimestampForRegionRequest = incoming.decode()?;
    let compaction_timestamp = match node.place(&request.region)? {
        Place::Meta => 0,
        Place::Stored(region) => last_major_ms(node, region.table.id(), region.id),
    };
    Reply::of(&pb::MajorCompactionTimestampResponse { compaction_timestamp })
}

/// The logs that clients may ask for (slow calls, decisions of the balancer): nothing is ever in them. The request names its own class, the answer
/// the one that belongs to it.
pub(crate) fn log_entries(incoming: &Incoming) -> Result<Reply, Exception> {
    const MESSAGES: &str = "org.apache.hadoop.hbase.shaded.protobuf.generated.";
    let request: pb::LogRequest = incoming.decode()?;
    let class = match request.log_class_name.rsplit(['$', '.']).next() {
        Some("SlowLogResponseRequest") => "AdminProtos$SlowLogResponses",
        Some("BalancerDecisionsRequest") => "MasterProtos$BalancerDecisionsResponse",
        Some("BalancerRejectionsRequest") => "MasterProtos$BalancerRejectionsResponse",
        _ => {
            let log = request.log_class_name;
            return Err(Exception::refused(format!("there is no log for {log} on this server")));
        }
    };
    Reply::of(&pb::LogEntry { log_class_name: format!("{MESSAGES}{class}"), log_message: Default::default() })
}

fn megabytes(bytes: u64) -> u32 {
    u32::try_from(bytes >> 20).unwrap_or(u32::MAX)
}
