// SPDX-License-Identifier: Apache-2.0
//! Calls of endpoints (ExecService).

use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;
use prost::Message;

use crate::support::{Client, Served, put, region, serve};

const LONGS: &str = "org.apache.hadoop.hbase.client.coprocessor.LongColumnInterpreter";

/// A table of two regions with ten rows, `r0` to `r9`; the values are the numbers from -2 to 7.
fn filled() -> (Served, Vec<Bytes>, Client) {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["r5"]);
    let mut client = served.client("ClientService");
    for i in 0..10_i64 {
        client.put(&regions[usize::from(i >= 5)], &format!("r{i}"), &(i - 2).to_be_bytes()).unwrap();
    }
    (served, regions, client)
}

fn call(
    client: &mut Client,
    home: &Bytes,
    service: &str,
    method: &str,
    message: &impl Message,
) -> Result<Bytes, String> {
    let call = pb::CoprocessorServiceCall {
        row: Bytes::new(),
        service_name: service.to_owned(),
        method_name: method.to_owned(),
        request: message.encode_to_vec().into(),
    };
    let request = pb::CoprocessorServiceRequest { region: region(home), call };
    let response: pb::CoprocessorServiceResponse = client.call("ExecService", &request)?;
    assert_eq!(response.region.value, *home);
    Ok(response.value.value.unwrap())
}

fn aggregate(client: &mut Client, home: &Bytes, method: &str, scan: pb::Scan) -> (Vec<i64>, Option<u64>) {
    let request = pb::AggregateRequest {
        interpreter_class_name: LONGS.to_owned(),
        scan,
        interpreter_specific_bytes: None,
    };
    let answer = call(client, home, "AggregateService", method, &request).unwrap();
    let answer = pb::AggregateResponse::decode(answer).unwrap();
    let number = |part: &Bytes| match method {
        "GetRowNum" => i64::from_be_bytes(part[..].try_into().unwrap()),
        _ => pb::LongMsg::decode(part.clone()).unwrap().long_msg,
    };
    let count = answer.second_part.map(|part| u64::from_be_bytes(part[..].try_into().unwrap()));
    (answer.first_part.iter().map(number).collect(), count)
}

#[test]
fn aggregates_of_a_region() {
    let (_served, regions, mut client) = filled();
    let mut ask = |at: usize, method: &str| aggregate(&mut client, &regions[at], method, pb::Scan::default());
    assert_eq!(ask(0, "GetMax"), (vec![2], None));
    assert_eq!(ask(0, "GetMin"), (vec![-2], None));
    assert_eq!(ask(0, "GetSum"), (vec![0], None));
    assert_eq!(ask(1, "GetSum"), (vec![25], None));
    assert_eq!(ask(1, "GetRowNum"), (vec![5], None));
    assert_eq!(ask(1, "GetAvg"), (vec![25], Some(5)));
    assert_eq!(ask(1, "GetStd"), (vec![25, 9 + 16 + 25 + 36 + 49], Some(5)));
    assert_eq!(ask(1, "GetMedian"), (vec![25, i64::MIN], None));
    let of = |start: &str, stop: &str| pb::Scan {
        start_row: Some(start.to_owned().into()),
        stop_row: Some(stop.to_owned().into()),
        ..Default::default()
    };
    assert_eq!(aggregate(&mut client, &regions[0], "GetRowNum", of("r3", "r8")), (vec![2], None));
    assert_eq!(aggregate(&mut client, &regions[0], "GetMax", of("x", "y")), (vec![], None));
    assert_eq!(aggregate(&mut client, &regions[0], "GetAvg", of("x", "y")), (vec![], None));
}

#[test]
fn rows_and_cells_are_counted() {
    let (_served, regions, mut client) = filled();
    for method in ["getRowCount", "getKeyValueCount"] {
        let answer = call(&mut client, &regions[1], "RowCountService", method, &pb::Scan::default()).unwrap();
        assert_eq!(pb::CountResponse::decode(answer).unwrap().count, 5);
    }
}

#[test]
fn rows_are_deleted_in_batches() {
    let (_served, regions, mut client) = filled();
    let mut request = pb::BulkDeleteRequest {
        scan: pb::Scan { stop_row: Some("r3".into()), ..Default::default() },
        delete_type: pb::bulk_delete_request::DeleteType::Row as i32,
        timestamp: None,
        row_batch_size: 2,
    };
    let delete = |client: &mut Client, request: &pb::BulkDeleteRequest| {
        let answer = call(client, &regions[0], "BulkDeleteService", "delete", request).unwrap();
        pb::BulkDeleteResponse::decode(answer).unwrap()
    };
    assert_eq!(delete(&mut client, &request).rows_deleted, 3);
    assert_eq!(client.get(&regions[0], "r2"), Ok(None));
    assert!(client.get(&regions[0], "r3").unwrap().is_some());
    request.scan = pb::Scan::default();
    request.delete_type = pb::bulk_delete_request::DeleteType::Version as i32;
    let answer = delete(&mut client, &request);
    assert_eq!((answer.rows_deleted, answer.versions_deleted), (2, Some(2)));
    assert_eq!(client.get(&regions[0], "r3"), Ok(None));
    assert!(client.get(&regions[1], "r5").unwrap().is_some());
}

#[test]
fn several_rows_change_together_or_not_at_all() {
    let (_served, regions, mut client) = filled();
    let rows = |client: &mut Client, rows: &[&str]| {
        let mutation_request = rows.iter().map(|row| put(row, b"new")).collect();
        let request = pb::MutateRowsRequest { mutation_request, ..Default::default() };
        call(client, &regions[0], "MultiRowMutationService", "MutateRows", &request)
    };
    assert_eq!(rows(&mut client, &["r0", "r7"]).unwrap_err(), "WrongRegionException");
    assert_ne!(client.get(&regions[0], "r0"), Ok(Some("new".into())));
    rows(&mut client, &["r0", "r1"]).unwrap();
    assert_eq!(client.get(&regions[0], "r0"), Ok(Some("new".into())));
    assert_eq!(client.get(&regions[0], "r1"), Ok(Some("new".into())));
}

/// One to be added to a counter.
fn increment(row: &str) -> pb::MutationProto {
    let mut increment = put(row, &1_i64.to_be_bytes());
    increment.mutate_type = Some(pb::mutation_proto::MutationType::Increment as i32);
    increment
}

/// The value of a row is this number.
fn equals(row: &str, number: i64) -> pb::Condition {
    let comparable = pb::ByteArrayComparable { value: Some(number.to_be_bytes().to_vec().into()) };
    let comparator = pb::Comparator {
        name: "org.apache.hadoop.hbase.filter.BinaryComparator".to_owned(),
        serialized_comparator: Some(pb::BinaryComparator { comparable }.encode_to_vec().into()),
    };
    pb::Condition {
        row: row.to_owned().into(),
        family: Some("f".into()),
        qualifier: Some("q".into()),
        compare_type: Some(pb::CompareType::Equal as i32),
        comparator: Some(comparator),
        ..Default::default()
    }
}

#[test]
fn several_rows_change_if_every_condition_holds() {
    let (_served, regions, mut client) = filled();
    let number = |client: &mut Client, row: &str| {
        let value = client.get(&regions[0], row).unwrap().unwrap();
        i64::from_be_bytes(value[..].try_into().unwrap())
    };
    let change = |client: &mut Client, condition: Vec<pb::Condition>| {
        let mutation_request = vec![increment("r0"), put("r1", &40_i64.to_be_bytes())];
        let request = pb::MutateRowsRequest { mutation_request, condition, ..Default::default() };
        let answer = call(client, &regions[0], "MultiRowMutationService", "MutateRows", &request)?;
        Ok::<_, String>(pb::MutateRowsResponse::decode(answer).unwrap().processed())
    };
    assert_eq!(change(&mut client, vec![equals("r2", 0), equals("r3", 7)]), Ok(false));
    assert_eq!((number(&mut client, "r0"), number(&mut client, "r1")), (-2, -1));
    assert_eq!(change(&mut client, vec![equals("r2", 0), equals("r3", 1)]), Ok(true));
    assert_eq!((number(&mut client, "r0"), number(&mut client, "r1")), (-1, 40));
    assert_eq!(change(&mut client, vec![equals("r7", 5)]), Err("WrongRegionException".to_owned()));
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let (_served, regions, mut client) = filled();
    let nothing = pb::Scan::default();
    let mut refused =
        |service: &str, method: &str| call(&mut client, &regions[0], service, method, &nothing).unwrap_err();
    assert_eq!(refused("com.example.Mine", "go"), "UnknownProtocolException");
    assert_eq!(refused("RowCountService", "go"), "UnknownProtocolException");
    let request = pb::AggregateRequest {
        interpreter_class_name: "com.example.Mine".to_owned(),
        scan: nothing,
        interpreter_specific_bytes: None,
    };
    let refused = call(&mut client, &regions[0], "AggregateService", "GetMax", &request);
    assert_eq!(refused.unwrap_err(), "DoNotRetryIOException");
}
