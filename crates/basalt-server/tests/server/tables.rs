// SPDX-License-Identifier: Apache-2.0
use basalt_model::{FamilyDescriptor, Put, Scan, TableDescriptor, TableName};
use basalt_server::ServerOptions;
use basalt_store::{Database, OpenOptions, RegionStats};
use basalt_wire::pb;
use bytes::Bytes;

use crate::support::{region, serve, table_name};

#[test]
fn a_disabled_table_is_not_served_and_a_truncated_one_has_other_regions() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["k"]);
    let mut master = served.client("MasterService");
    let disable = pb::DisableTableRequest { table_name: table_name("t"), ..Default::default() };
    master.call::<pb::DisableTableResponse>("DisableTable", &disable).unwrap();
    let refused = master.call::<pb::DisableTableResponse>("DisableTable", &disable).unwrap_err();
    assert_eq!(refused, "TableNotEnabledException");
    let mut client = served.client("ClientService");
    assert_eq!(client.get(&regions[0], "a").unwrap_err(), "NotServingRegionException");
    let (id, _) = served.db.table(&TableName::in_default("t")).unwrap();
    assert!(!served.db.is_table_enabled(id).unwrap());
    // Truncation makes other regions with the same bounds, and enables the table.
    let truncate = pb::TruncateTableRequest {
        table_name: table_name("t"),
        preserve_splits: Some(true),
        ..Default::default()
    };
    master.call::<pb::TruncateTableResponse>("truncateTable", &truncate).unwrap();
    let after = served.regions("t");
    assert_eq!(after.len(), 2);
    assert!(after.iter().all(|name| !regions.contains(name)));
    assert_eq!(client.get(&after[1], "p"), Ok(None));
    assert_eq!(client.get(&regions[1], "p").unwrap_err(), "NotServingRegionException");
}

#[test]
fn the_same_change_sent_again_is_the_same_procedure() {
    let served = serve(ServerOptions::default());
    served.table(&[]);
    let mut master = served.client("MasterService");
    let request =
        pb::DisableTableRequest { table_name: table_name("t"), nonce_group: Some(4), nonce: Some(5) };
    let first: pb::DisableTableResponse = master.call("DisableTable", &request).unwrap();
    let second: pb::DisableTableResponse = master.call("DisableTable", &request).unwrap();
    assert_eq!(first, second);
}

/// How clients look for the region of a row: backwards from a name that lies behind all names of that row's region.
#[test]
fn the_region_of_a_row_is_found_backwards() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["b,!", "m"]);
    let mut client = served.client("ClientService");
    for (row, expected) in [("a", 0), ("b,", 0), ("b,!", 1), ("lzz", 1), ("m", 2), ("zz", 2)] {
        let scan = pb::Scan {
            start_row: Some(format!("t,{row},99999999999999").into()),
            stop_row: Some(Bytes::from_static(b"t,,")),
            include_stop_row: Some(true),
            reversed: Some(true),
            column: vec![pb::Column { family: "info".into(), qualifier: Vec::new() }],
            ..Default::default()
        };
        let request = pb::ScanRequest {
            region: Some(region(b"hbase:meta,,1")),
            scan: Some(scan),
            number_of_rows: Some(1),
            close_scanner: Some(true),
            ..Default::default()
        };
        let (_, cells) = client.scan(&request).unwrap();
        assert_eq!(cells[0].row, regions[expected], "{row}");
        let server = cells.iter().find(|cell| &cell.qualifier[..] == b"server").unwrap();
        assert_eq!(server.value, served.server.address().to_string());
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let served = serve(ServerOptions::default());
    let mut master = served.client("MasterService");
    let empty = pb::GetSchemaAlterStatusRequest::default();
    let refused = |client: &mut crate::support::Client, method: &str| {
        client.call::<pb::GetClusterIdResponse>(method, &empty).unwrap_err()
    };
    assert_eq!(refused(&mut master, "MoveRegion"), "DoNotRetryIOException");
    assert_eq!(refused(&mut master, "NoSuchMethod"), "DoNotRetryIOException");
    let mut client = served.client("ClientService");
    assert_eq!(refused(&mut client, "NoSuchMethod"), "DoNotRetryIOException");
    // The connection is still good.
    let mut registry = served.client("ClientMetaService");
    let id: pb::GetClusterIdResponse = registry.call("GetClusterId", &empty).unwrap();
    assert_eq!(id.cluster_id().len(), 36);
}

#[test]
fn regions_and_disabled_tables_are_found_again_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let open = || Database::open(&path, OpenOptions::create()).unwrap();
    let name = TableName::in_default("t");
    let db = open();
    let descriptor = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
    let id = db.create_table_split(descriptor.clone(), &["k".into(), "p".into()]).unwrap();
    assert!(db.create_table_split(descriptor, &["p".into(), "k".into()]).is_err());
    db.open_table(&name).unwrap().put(Put::new("m").add("f", "q", "v")).unwrap();
    db.set_table_enabled(id, false).unwrap();
    let before = db.regions(id).unwrap();
    db.close().unwrap();

    let db = open();
    assert!(!db.is_table_enabled(id).unwrap());
    let ids = |regions: &[RegionStats]| regions.iter().map(|region| region.id).collect::<Vec<_>>();
    assert_eq!(ids(&db.regions(id).unwrap()), ids(&before));
    let table = db.open_table(&name).unwrap();
    let refused = [table.scan(&Scan::new()).err(), table.put(Put::new("m").add("f", "q", "w")).err()];
    for error in refused {
        assert_eq!(
            error.unwrap().to_string(),
            "table t is disabled; it takes no reads and writes until it is enabled again"
        );
    }
    db.set_table_enabled(id, true).unwrap();
    assert_eq!(table.scan(&Scan::new()).unwrap().count(), 1);
    db.set_table_enabled(id, false).unwrap();
    let empty = db.truncate_table(&name, true).unwrap();
    db.close().unwrap();

    let db = open();
    assert!(db.table_by_id(id).is_err());
    assert!(!db.is_table_enabled(empty).unwrap());
    let after = db.regions(empty).unwrap();
    assert_eq!(after.len(), 3);
    assert!(ids(&after).iter().all(|region| !ids(&before).contains(region)));
    db.set_table_enabled(empty, true).unwrap();
    assert_eq!(db.open_table(&name).unwrap().scan(&Scan::new()).unwrap().count(), 0);
}

/// Values of the properties that the server tells its clients to set.
fn told(options: ServerOptions) -> Vec<(String, String)> {
    let served = serve(options);
    let text = served.server.client_configuration();
    assert!(text.starts_with("<configuration>\n") && text.ends_with("</configuration>\n"));
    let between = |text: &str, tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>")).unwrap();
        rest.split_once(&format!("</{tag}>")).unwrap().0.to_owned()
    };
    let properties = text.split("<property>").skip(1);
    properties.map(|property| (between(property, "name"), between(property, "value"))).collect()
}

#[test]
fn clients_are_told_of_zookeeper_if_it_is_answered_for() {
    let names = |told: &[(String, String)]| told.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let without = told(ServerOptions::default());
    let rpc = ["hbase.client.registry.impl", "hbase.client.bootstrap.servers"];
    assert_eq!(names(&without), rpc);
    let with = told(ServerOptions { zookeeper_port: Some(0), ..ServerOptions::default() });
    let zookeeper = ["hbase.zookeeper.quorum", "hbase.zookeeper.property.clientPort"];
    assert_eq!(names(&with), [rpc, zookeeper].concat());
    assert_eq!(with[2].1, "127.0.0.1");
    assert!(with[3].1.parse::<u16>().unwrap() > 0);
}
