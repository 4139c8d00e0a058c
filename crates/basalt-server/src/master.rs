// SPDX-License-Identifier: Apache-2.0
//! Tables, namespaces and the cluster (MasterService).
//!
//! A change is made before its call is answered; the number of a procedure that clients get, and ask for until it is finished,
//! is therefore always that of a finished one.

use basalt_wire::{Exception, pb};

use crate::call::{Incoming, Reply};
use crate::node::Node;

mod cluster;
mod namespaces;
pub(crate) mod procedures;
mod regions;
mod snapshots;
pub(crate) mod switches;
mod tables;

pub(crate) use cluster::{log_entries, region_loads_of};

/// The answer of a method; `None` if there is no such method.
pub(crate) fn call(node: &Node, method: &str, incoming: &Incoming) -> Option<Result<Reply, Exception>> {
    Some(match method {
        "IsMasterRunning" => Reply::of(&pb::IsMasterRunningResponse { is_master_running: true }),
        "IsMasterInMaintenanceMode" => {
            Reply::of(&pb::IsInMaintenanceModeResponse { in_maintenance_mode: false })
        }
        "getProcedureResult" => procedures::result(node, incoming),
        "ExecProcedure" | "ExecProcedureWithRet" => procedures::execute(node, incoming),
        "IsProcedureDone" => procedures::is_done(incoming),
        // All are over before anybody can want to end them.
        "AbortProcedure" => Reply::of(&pb::AbortProcedureResponse { is_procedure_aborted: false }),
        "GetProcedures" => Reply::of(&pb::GetProceduresResponse::default()),
        "GetLocks" => Reply::of(&pb::GetLocksResponse::default()),
        "GetTableNames" => tables::names(node, incoming),
        "GetTableDescriptors" => tables::descriptors(node, incoming),
        "ListTableDescriptorsByState" => tables::descriptors_by_state(node, incoming),
        "ListTableNamesByState" => tables::names_by_state(node, incoming),
        "GetTableState" => tables::state(node, incoming),
        "GetSchemaAlterStatus" => tables::alter_status(node, incoming),
        "CreateTable" => tables::create(node, incoming),
        "ModifyTable" => tables::modify(node, incoming),
        "AddColumn" => tables::add_family(node, incoming),
        "ModifyColumn" => tables::modify_family(node, incoming),
        "DeleteColumn" => tables::delete_family(node, incoming),
        "EnableTable" => tables::enable(node, incoming),
        "DisableTable" => tables::disable(node, incoming),
        "DeleteTable" => tables::delete(node, incoming),
        "truncateTable" => tables::truncate(node, incoming),
        "FlushTable" => tables::flush(node, incoming),
        "CreateNamespace" => namespaces::create(node, incoming),
        "ModifyNamespace" => namespaces::modify(node, incoming),
        "DeleteNamespace" => namespaces::delete(node, incoming),
        "GetNamespaceDescriptor" => namespaces::descriptor(node, incoming),
        "ListNamespaceDescriptors" => namespaces::descriptors(node),
        "ListNamespaces" => namespaces::names(node),
        "ListTableDescriptorsByNamespace" => namespaces::table_descriptors(node, incoming),
        "ListTableNamesByNamespace" => namespaces::table_names(node, incoming),
        "GetClusterStatus" => cluster::status(node, incoming),
        "ListDecommissionedRegionServers" => {
            Reply::of(&pb::ListDecommissionedRegionServersResponse::default())
        }
        "ListReplicationPeers" => Reply::of(&pb::ListReplicationPeersResponse::default()),
        "Snapshot" => snapshots::take(node, incoming),
        "GetCompletedSnapshots" => snapshots::list(node),
        "IsSnapshotDone" => snapshots::is_done(node, incoming),
        "DeleteSnapshot" => snapshots::delete(node, incoming),
        "RestoreSnapshot" => snapshots::restore(node, incoming),
        "SplitRegion" => regions::split(node, incoming),
        "MergeTableRegions" => regions::merge(node, incoming),
        "TruncateRegion" => regions::truncate(node, incoming),
        "getLastMajorCompactionTimestamp" => cluster::last_major_compaction(node, incoming),
        "getLastMajorCompactionTimestampForRegion" => {
            cluster::last_major_compaction_of_region(node, incoming)
        }
        "GetLogEntries" => log_entries(incoming),
        "IsRpcThrottleEnabled" => {
            Reply::of(&pb::IsRpcThrottleEnabledResponse { rpc_throttle_enabled: false })
        }
        // None is known that is dead, and what a master would keep beside tables is in the manifest already.
        "ClearDeadServers" => Reply::of(&pb::ClearDeadServersResponse::default()),
        "FlushMasterStore" => Reply::empty(),
        "getSecurityCapabilities" => Reply::of(&pb::SecurityCapabilitiesResponse {
            capabilities: vec![pb::security_capabilities_response::Capability::SimpleAuthentication as i32],
        }),
        _ => return switches::call(node, method, incoming),
    })
}
