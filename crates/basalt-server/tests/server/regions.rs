// SPDX-License-Identifier: Apache-2.0
use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;

use crate::support::{Client, Served, region, serve, table_name};

/// Writes rows `r000` to `r099` through the region.
fn fill(client: &mut Client, name: &Bytes) {
    for row in 0..100 {
        client.put(name, &format!("r{row:03}"), b"v").unwrap();
    }
}

fn info(served: &Served, at: usize) -> pb::RegionInfo {
    let name = served.regions("t")[at].clone();
    let request = pb::GetRegionInfoRequest { region: region(&name), ..Default::default() };
    let info: pb::GetRegionInfoResponse =
        served.client("AdminService").call("GetRegionInfo", &request).unwrap();
    assert_eq!((info.splittable, info.mergeable), (Some(true), Some(true)));
    info.region_info
}

fn split(served: &Served, at: usize, row: &str) -> Result<pb::SplitTableRegionResponse, String> {
    let request = pb::SplitTableRegionRequest {
        region_info: info(served, at),
        split_row: Some(row.to_owned().into()),
        ..Default::default()
    };
    served.client("MasterService").call("SplitRegion", &request)
}

fn merge(served: &Served, names: &[Bytes]) -> Result<pb::MergeTableRegionsResponse, String> {
    let encoded =
        |name: &Bytes| pb::RegionSpecifier { r#type: 2, value: name.slice(name.len() - 33..name.len() - 1) };
    let request =
        pb::MergeTableRegionsRequest { region: names.iter().map(encoded).collect(), ..Default::default() };
    served.client("MasterService").call("MergeTableRegions", &request)
}

fn scan(name: Option<&Bytes>, scanner_id: Option<u64>) -> pb::ScanRequest {
    pb::ScanRequest {
        region: name.map(|name| region(name)),
        scan: name.map(|_| pb::Scan::default()),
        scanner_id,
        number_of_rows: Some(30),
        ..Default::default()
    }
}

#[test]
fn clients_of_a_region_that_was_split_are_sent_away_and_its_scanners_go_on() {
    let served = serve(ServerOptions::default());
    let parent = served.table(&[]).remove(0);
    let mut client = served.client("ClientService");
    fill(&mut client, &parent);
    let (opened, first) = client.scan(&scan(Some(&parent), None)).unwrap();
    split(&served, 0, "r050").unwrap();
    let daughters = served.regions("t");
    assert_eq!(daughters.len(), 2);
    assert!(!daughters.contains(&parent));
    assert_eq!(client.get(&parent, "r001").unwrap_err(), "NotServingRegionException");
    assert_eq!(client.put(&parent, "r001", b"x").unwrap_err(), "NotServingRegionException");
    assert_eq!(client.scan(&scan(Some(&parent), None)).unwrap_err(), "NotServingRegionException");
    assert_eq!(client.get(&daughters[1], "r050"), Ok(Some(Bytes::from_static(b"v"))));
    assert_eq!(client.get(&daughters[0], "r050").unwrap_err(), "WrongRegionException");

    // What is written now, the scanner that was open does not see.
    client.put(&daughters[1], "r0999", b"new").unwrap();
    let mut rows = first.len();
    let mut more = opened.more_results_in_region();
    while more {
        let (next, cells) = client.scan(&scan(None, opened.scanner_id)).unwrap();
        rows += cells.len();
        more = next.more_results_in_region();
    }
    assert_eq!(rows, 100);
    assert_eq!(served.server.status().scanners, 0);
}

#[test]
fn regions_are_merged_by_their_encoded_names() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["r030", "r060"]);
    let mut client = served.client("ClientService");
    client.put(&regions[1], "r040", b"v").unwrap();
    assert_eq!(
        merge(&served, &[regions[0].clone(), regions[2].clone()]).unwrap_err(),
        "MergeRegionException"
    );
    assert_eq!(merge(&served, &regions[..1]).unwrap_err(), "MergeRegionException");
    merge(&served, &[regions[2].clone(), regions[0].clone(), regions[1].clone()]).unwrap();
    let [merged] = &served.regions("t")[..] else { panic!("one region") };
    assert_eq!(client.get(merged, "r040"), Ok(Some(Bytes::from_static(b"v"))));
    assert_eq!(client.get(&regions[1], "r040").unwrap_err(), "NotServingRegionException");
    assert_eq!(merge(&served, &regions).unwrap_err(), "UnknownRegionException");
}

#[test]
fn wrong_splits_are_refused_and_so_are_all_while_the_switch_is_off() {
    let served = serve(ServerOptions::default());
    served.table(&["k"]);
    assert_eq!(split(&served, 0, "k").unwrap_err(), "DoNotRetryIOException");
    let gone = info(&served, 0);
    split(&served, 0, "c").unwrap();
    let request = pb::SplitTableRegionRequest { region_info: gone, ..Default::default() };
    let mut master = served.client("MasterService");
    let refused = master.call::<pb::SplitTableRegionResponse>("SplitRegion", &request).unwrap_err();
    assert_eq!(refused, "UnknownRegionException");
    let off =
        pb::SetSplitOrMergeEnabledRequest { enabled: false, synchronous: None, switch_types: vec![0, 1] };
    let before: pb::SetSplitOrMergeEnabledResponse = master.call("SetSplitOrMergeEnabled", &off).unwrap();
    assert_eq!(before.prev_value, [true, true]);
    assert_eq!(split(&served, 0, "b").unwrap_err(), "DoNotRetryIOException");
    let regions = served.regions("t");
    assert_eq!(merge(&served, &regions[..2]).unwrap_err(), "DoNotRetryIOException");
    assert_eq!(regions.len(), 3);
}

#[test]
fn a_table_may_forbid_splits_and_merges() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["k"]);
    let table = served.db.open_table(&basalt_model::TableName::in_default("t")).unwrap();
    let mut descriptor = (*table.descriptor().unwrap()).clone();
    for attribute in ["SPLIT_ENABLED", "MERGE_ENABLED"] {
        descriptor.attributes.insert(attribute.to_owned(), "false".to_owned());
    }
    served.db.alter_table(table.id(), descriptor).unwrap();
    assert_eq!(split(&served, 0, "c").unwrap_err(), "DoNotRetryIOException");
    assert_eq!(merge(&served, &regions).unwrap_err(), "DoNotRetryIOException");
    assert_eq!(served.regions("t"), regions);
}

fn snapshot(name: &str, table: &str) -> pb::SnapshotDescription {
    pb::SnapshotDescription { name: name.into(), table: Some(table.into()), ..Default::default() }
}

#[test]
fn snapshots_are_taken_listed_cloned_restored_and_deleted() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["r050"]);
    let mut client = served.client("ClientService");
    client.put(&regions[0], "a", b"old").unwrap();
    let mut master = served.client("MasterService");
    let take = |name: &str, table: &str| pb::SnapshotRequest {
        snapshot: snapshot(name, table),
        ..Default::default()
    };
    let taken: pb::SnapshotResponse = master.call("Snapshot", &take("s", "t")).unwrap();
    assert!(taken.proc_id.is_some_and(|number| number > 0));
    assert_eq!(
        master.call::<pb::SnapshotResponse>("Snapshot", &take("s", "t")).unwrap_err(),
        "SnapshotExistsException"
    );
    let missing = master.call::<pb::SnapshotResponse>("Snapshot", &take("u", "none")).unwrap_err();
    assert_eq!(missing, "SnapshotCreationException");
    let listed: pb::GetCompletedSnapshotsResponse =
        master.call("GetCompletedSnapshots", &pb::IsSnapshotDoneRequest::default()).unwrap();
    assert_eq!((listed.snapshots.len(), listed.snapshots[0].table()), (1, "t"));

    client.put(&regions[0], "a", b"new").unwrap();
    let restore = |name: &str, table: &str| pb::RestoreSnapshotRequest {
        snapshot: snapshot(name, table),
        ..Default::default()
    };
    let _: pb::RestoreSnapshotResponse = master.call("RestoreSnapshot", &restore("s", "copy")).unwrap();
    let copies = served.regions("copy");
    assert_eq!(copies.len(), 2);
    assert_eq!(client.get(&copies[0], "a"), Ok(Some(Bytes::from_static(b"old"))));
    let refused = |master: &mut Client, request: &pb::RestoreSnapshotRequest| {
        master.call::<pb::RestoreSnapshotResponse>("RestoreSnapshot", request).unwrap_err()
    };
    assert_eq!(refused(&mut master, &restore("s", "t")), "TableNotDisabledException");
    assert_eq!(refused(&mut master, &restore("s", "copy")), "TableExistsException");
    assert_eq!(refused(&mut master, &restore("u", "t")), "SnapshotDoesNotExistException");
    assert_eq!(refused(&mut master, &restore("s", "nowhere:t")), "NamespaceNotFoundException");

    let disable = pb::DisableTableRequest { table_name: table_name("t"), ..Default::default() };
    master.call::<pb::DisableTableResponse>("DisableTable", &disable).unwrap();
    let _: pb::RestoreSnapshotResponse = master.call("RestoreSnapshot", &restore("s", "t")).unwrap();
    let enable = pb::EnableTableRequest { table_name: table_name("t"), ..Default::default() };
    master.call::<pb::EnableTableResponse>("EnableTable", &enable).unwrap();
    let restored = served.regions("t");
    assert!(restored.iter().all(|name| !regions.contains(name)));
    assert_eq!(client.get(&restored[0], "a"), Ok(Some(Bytes::from_static(b"old"))));

    let delete = pb::DeleteSnapshotRequest { snapshot: snapshot("s", "") };
    master.call::<pb::DeleteSnapshotResponse>("DeleteSnapshot", &delete).unwrap();
    let again = master.call::<pb::DeleteSnapshotResponse>("DeleteSnapshot", &delete).unwrap_err();
    assert_eq!(again, "SnapshotDoesNotExistException");
    assert_eq!(client.get(&copies[0], "a"), Ok(Some(Bytes::from_static(b"old"))));
}
