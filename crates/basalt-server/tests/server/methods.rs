// SPDX-License-Identifier: Apache-2.0
//! All methods of HBase's services, by name.

use basalt_model::{Put, Scan, TableName};
use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;

use crate::support::{Client, Served, region, serve, table_name};

const MASTER: &str = "GetSchemaAlterStatus GetTableDescriptors ListTableDescriptorsByState GetTableNames \
    ListTableNamesByState GetClusterStatus IsMasterRunning AddColumn DeleteColumn ModifyColumn \
    MoveRegion MergeTableRegions AssignRegion UnassignRegion OfflineRegion SplitRegion TruncateRegion \
    DeleteTable truncateTable EnableTable DisableTable ModifyTable FlushTable CreateTable Shutdown \
    StopMaster IsMasterInMaintenanceMode Balance SetBalancerRunning IsBalancerEnabled \
    SetSplitOrMergeEnabled IsSplitOrMergeEnabled Normalize SetNormalizerRunning IsNormalizerEnabled \
    RunCatalogScan EnableCatalogJanitor IsCatalogJanitorEnabled RunCleanerChore SetCleanerChoreRunning \
    IsCleanerChoreEnabled ExecMasterService Snapshot GetCompletedSnapshots DeleteSnapshot \
    IsSnapshotDone RestoreSnapshot SwitchSnapshotCleanup IsSnapshotCleanupEnabled ExecProcedure \
    ExecProcedureWithRet IsProcedureDone ModifyNamespace CreateNamespace DeleteNamespace \
    GetNamespaceDescriptor ListNamespaceDescriptors ListTableDescriptorsByNamespace \
    ListTableNamesByNamespace GetTableState SetQuota getLastMajorCompactionTimestamp \
    getLastMajorCompactionTimestampForRegion getProcedureResult getSecurityCapabilities AbortProcedure \
    GetProcedures GetLocks AddReplicationPeer RemoveReplicationPeer EnableReplicationPeer \
    DisableReplicationPeer GetReplicationPeerConfig UpdateReplicationPeerConfig ListReplicationPeers \
    IsReplicationPeerEnabled ReplicationPeerModificationSwitch GetReplicationPeerModificationProcedures \
    IsReplicationPeerModificationEnabled ListDecommissionedRegionServers DecommissionRegionServers \
    RecommissionRegionServer GetSpaceQuotaRegionSizes GetQuotaStates ClearDeadServers SwitchRpcThrottle \
    IsRpcThrottleEnabled SwitchExceedThrottleQuota Grant Revoke GetUserPermissions HasUserPermissions \
    ListNamespaces GetLogEntries ModifyTableStoreFileTracker ModifyColumnStoreFileTracker \
    FlushMasterStore";
const ADMIN: &str = "GetRegionInfo GetStoreFile GetOnlineRegion OpenRegion WarmupRegion CloseRegion FlushRegion \
    CompactionSwitch CompactRegion ReplicateWALEntry Replay RollWALWriter GetServerInfo StopServer \
    UpdateFavoredNodes UpdateConfiguration GetRegionLoad ClearCompactionQueues ClearRegionBlockCache \
    GetSpaceQuotaSnapshots ExecuteProcedures GetSlowLogResponses GetLargeLogResponses \
    ClearSlowLogsResponses GetLogEntries GetCachedFilesList";
const CLIENT: &str =
    "Get Mutate Scan Multi BulkLoadHFile PrepareBulkLoad CleanupBulkLoad ExecService ExecRegionServerService";
const REGISTRY: &str = "GetClusterId GetActiveMaster GetMasters GetMetaRegionLocations GetBootstrapNodes";

/// Each with an empty message: whatever a method makes of that, it is known.
#[test]
fn every_method_that_hbase_has_is_answered_or_refused_with_a_reason() {
    let served = serve(ServerOptions::default());
    let services = [
        ("MasterService", MASTER),
        ("AdminService", ADMIN),
        ("ClientService", CLIENT),
        ("ClientMetaService", REGISTRY),
    ];
    for (service, methods) in services {
        let mut client = served.client(service);
        for method in methods.split(' ') {
            if let Some((class, text)) = client.refusal(method, &pb::GetLocksResponse::default()) {
                assert!(
                    !text.contains("is not known to this service"),
                    "{service}.{method}: {class}: {text}"
                );
            }
        }
        let (_, text) = client.refusal("NoSuchMethod", &pb::GetLocksResponse::default()).unwrap();
        assert!(text.ends_with("method NoSuchMethod is not known to this service"), "{text}");
    }
    let mut master = served.client("MasterService");
    let (class, text) = master.refusal("SetQuota", &pb::GetLocksResponse::default()).unwrap();
    assert_eq!(class, "DoNotRetryIOException");
    assert!(text.ends_with("SetQuota is not possible: this server does not support quotas"), "{text}");
}

fn descriptor(name: &str, pairs: &[(&str, &str)]) -> pb::NamespaceDescriptor {
    let pair = |(name, value): &(&str, &str)| pb::NameStringPair {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    pb::NamespaceDescriptor { name: name.to_owned().into(), configuration: pairs.iter().map(pair).collect() }
}

#[test]
fn the_properties_of_a_namespace_are_kept() {
    let served = serve(ServerOptions::default());
    let mut master = served.client("MasterService");
    let shop = descriptor("shop", &[("owner", "eve")]);
    let create =
        |namespace_descriptor| pb::CreateNamespaceRequest { namespace_descriptor, ..Default::default() };
    master.call::<pb::CreateNamespaceResponse>("CreateNamespace", &create(shop.clone())).unwrap();
    let described = |master: &mut Client| {
        let request = pb::GetNamespaceDescriptorRequest { namespace_name: "shop".to_owned() };
        let response: pb::GetNamespaceDescriptorResponse =
            master.call("GetNamespaceDescriptor", &request).unwrap();
        response.namespace_descriptor
    };
    assert_eq!(described(&mut master), shop);
    let changed = descriptor("shop", &[("owner", "ann"), ("since", "2026")]);
    let modify =
        |namespace_descriptor| pb::ModifyNamespaceRequest { namespace_descriptor, ..Default::default() };
    master.call::<pb::ModifyNamespaceResponse>("ModifyNamespace", &modify(changed.clone())).unwrap();
    assert_eq!(described(&mut master), changed);
    let limited = create(descriptor("small", &[("hbase.namespace.quota.maxtables", "1")]));
    let (_, text) = master.refusal("CreateNamespace", &limited).unwrap();
    assert!(text.contains("namespace property hbase.namespace.quota.maxtables is refused"), "{text}");
    let (class, _) = master.refusal("ModifyNamespace", &modify(descriptor("hbase", &[]))).unwrap();
    assert_eq!(class, "ConstraintException");
}

fn rows(served: &Served) -> usize {
    let table = served.db.open_table(&TableName::in_default("t")).unwrap();
    table.scan(&Scan::new()).unwrap().count()
}

fn fill(served: &Served) {
    let table = served.db.open_table(&TableName::in_default("t")).unwrap();
    for row in ["a", "b", "k", "l", "m"] {
        table.put(Put::new(row).add("f", "q", "v")).unwrap();
    }
}

/// The region as a client describes it that read its row in `hbase:meta`.
fn region_info(served: &Served, start: &'static str) -> pb::RegionInfo {
    let mut admin = served.client("AdminService");
    let online: pb::GetOnlineRegionResponse =
        admin.call("GetOnlineRegion", &pb::GetLocksResponse::default()).unwrap();
    let wanted = |info: &pb::RegionInfo| {
        info.table_name == table_name("t")
            && info.start_key.as_ref() == Some(&Bytes::from_static(start.as_bytes()))
    };
    online.region_info.into_iter().find(wanted).unwrap()
}

#[test]
fn one_region_is_truncated() {
    let served = serve(ServerOptions::default());
    let before = served.table(&["k"]);
    fill(&served);
    let mut master = served.client("MasterService");
    let region_info = region_info(&served, "k");
    let request = pb::TruncateRegionRequest { region_info, nonce_group: Some(1), nonce: Some(2) };
    let first: pb::TruncateRegionResponse = master.call("TruncateRegion", &request).unwrap();
    assert_eq!(rows(&served), 2);
    assert_eq!(master.call("TruncateRegion", &request), Ok(first), "the same nonce");
    let after = served.regions("t");
    assert_eq!((after.len(), &after[0]), (2, &before[0]));
    let mut client = served.client("ClientService");
    assert_eq!(client.get(&before[1], "k").unwrap_err(), "NotServingRegionException");
    assert_eq!(client.get(&after[1], "k"), Ok(None));
}

#[test]
fn files_and_compactions_are_told_and_switched() {
    let served = serve(ServerOptions::default());
    let name = served.table(&[]).remove(0);
    let mut admin = served.client("AdminService");
    let files = |admin: &mut Client, family: &'static str| {
        let request = pb::GetStoreFileRequest { region: region(&name), family: vec![family.into()] };
        admin
            .call::<pb::GetStoreFileResponse>("GetStoreFile", &request)
            .map(|response| response.store_file.len())
    };
    assert_eq!(files(&mut admin, "f"), Ok(0));
    assert_eq!(files(&mut admin, "nope"), Err("NoSuchColumnFamilyException".to_owned()));
    fill(&served);
    served.db.flush(None).unwrap();
    assert_eq!(files(&mut admin, "f"), Ok(1));

    let mut master = served.client("MasterService");
    let asked = pb::MajorCompactionTimestampForRegionRequest { region: region(&name) };
    let last = |master: &mut Client| {
        let response: pb::MajorCompactionTimestampResponse =
            master.call("getLastMajorCompactionTimestampForRegion", &asked).unwrap();
        response.compaction_timestamp
    };
    assert_eq!(last(&mut master), 0);
    fill(&served);
    served.db.flush(None).unwrap();
    let now = served.db.now_ms();
    served.db.compact(None, true).unwrap();
    assert!(last(&mut master) >= now);
    let asked = pb::MajorCompactionTimestampRequest { table_name: table_name("t") };
    let of_table: pb::MajorCompactionTimestampResponse =
        master.call("getLastMajorCompactionTimestamp", &asked).unwrap();
    assert_eq!(of_table.compaction_timestamp, last(&mut master));

    let mut switch = |enabled| {
        let request = pb::CompactionSwitchRequest { enabled };
        admin.call::<pb::CompactionSwitchResponse>("CompactionSwitch", &request).unwrap().prev_state
    };
    assert_eq!([switch(false), switch(false), switch(true), switch(true)], [true, false, false, true]);
}

/// How clients before 2.6 flush a table.
#[test]
fn a_table_is_flushed_by_the_signature_of_the_procedure() {
    let served = serve(ServerOptions::default());
    served.table(&[]);
    fill(&served);
    let mut master = served.client("MasterService");
    let procedure = |signature: &str, instance: &str| pb::ProcedureDescription {
        signature: signature.to_owned(),
        instance: Some(instance.to_owned()),
        ..Default::default()
    };
    let flush = procedure("flush-table-proc", "t");
    let request = pb::ExecProcedureRequest { procedure: flush.clone() };
    master.call::<pb::ExecProcedureResponse>("ExecProcedure", &request).unwrap();
    let (id, _) = served.db.table(&TableName::in_default("t")).unwrap();
    assert_eq!((served.db.stats(id).unwrap().files, served.db.stats(id).unwrap().memtable_rows), (1, 0));
    let done: pb::IsProcedureDoneResponse =
        master.call("IsProcedureDone", &pb::IsProcedureDoneRequest { procedure: Some(flush) }).unwrap();
    assert_eq!(done.done, Some(true));
    let missing = pb::ExecProcedureRequest { procedure: procedure("flush-table-proc", "nope") };
    assert_eq!(master.refusal("ExecProcedure", &missing).unwrap().0, "TableNotFoundException");
    let unknown = pb::ExecProcedureRequest { procedure: procedure("rolllog-proc", "t") };
    let (_, text) = master.refusal("ExecProcedure", &unknown).unwrap();
    assert!(text.ends_with("procedure rolllog-proc is not known to this server; expected flush-table-proc"));
}
