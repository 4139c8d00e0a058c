// SPDX-License-Identifier: Apache-2.0
//! Methods that HBase has and whose meaning does not exist here: each is refused with the reason.

use basalt_wire::{Exception, exception};

/// Why a method of MasterService or AdminService is refused; `None` if it is not one of these.
pub(crate) fn of_method(method: &str) -> Option<Exception> {
    let what = match method {
        "MoveRegion"
        | "AssignRegion"
        | "UnassignRegion"
        | "OfflineRegion"
        | "OpenRegion"
        | "CloseRegion"
        | "WarmupRegion"
        | "UpdateFavoredNodes"
        | "ExecuteProcedures"
        | "DecommissionRegionServers"
        | "RecommissionRegionServer" => "moves of regions: there is one server, which serves all of them",
        "Shutdown" | "StopMaster" | "StopServer" => {
            "being stopped by a client: send SIGTERM to its process, or press Ctrl-C where it runs"
        }
        "SetQuota"
        | "GetQuotaStates"
        | "GetSpaceQuotaRegionSizes"
        | "GetSpaceQuotaSnapshots"
        | "SwitchRpcThrottle"
        | "SwitchExceedThrottleQuota" => "quotas",
        "AddReplicationPeer"
        | "RemoveReplicationPeer"
        | "EnableReplicationPeer"
        | "DisableReplicationPeer"
        | "GetReplicationPeerConfig"
        | "UpdateReplicationPeerConfig"
        | "IsReplicationPeerEnabled"
        | "ReplicationPeerModificationSwitch"
        | "GetReplicationPeerModificationProcedures"
        | "IsReplicationPeerModificationEnabled"
        | "ReplicateWALEntry"
        | "Replay" => "replication",
        "Grant" | "Revoke" | "GetUserPermissions" | "HasUserPermissions" => {
            "access control: whoever reaches it may do everything"
        }
        "ModifyTableStoreFileTracker" | "ModifyColumnStoreFileTracker" => {
            "store file trackers: its manifest says which files count"
        }
        "ExecMasterService" => "coprocessors of one's own",
        _ => return None,
    };
    Some(Exception::new(
        exception::DO_NOT_RETRY,
        format!("{method} is not possible: this server does not support {what}"),
    ))
}
