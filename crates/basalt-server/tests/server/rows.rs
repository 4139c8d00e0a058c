// SPDX-License-Identifier: Apache-2.0
use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;
use pb::mutation_proto::MutationType;

use crate::support::{put, region, serve};

#[test]
fn a_row_is_put_and_found_in_its_region_only() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["m"]);
    assert_eq!(regions.len(), 2);
    let mut client = served.client("ClientService");
    assert_eq!(client.get(&regions[0], "a"), Ok(None));
    assert_eq!(client.put(&regions[0], "a", b"1"), Ok(true));
    assert_eq!(client.get(&regions[0], "a"), Ok(Some(Bytes::from_static(b"1"))));
    assert_eq!(client.put(&regions[0], "z", b"1").unwrap_err(), "WrongRegionException");
    assert_eq!(
        client.put(&Bytes::from_static(b"t,,7.0."), "a", b"1").unwrap_err(),
        "NotServingRegionException"
    );
    assert_eq!(client.get(&regions[1], "a").unwrap_err(), "WrongRegionException");
}

#[test]
fn an_increment_that_is_sent_again_counts_once() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&[]);
    let mut client = served.client("ClientService");
    let mut mutation = put("c", &5_i64.to_be_bytes());
    mutation.mutate_type = Some(MutationType::Increment as i32);
    mutation.nonce = Some(99);
    let request = pb::MutateRequest {
        region: region(&regions[0]),
        mutation,
        nonce_group: Some(1),
        ..Default::default()
    };
    for _ in 0..3 {
        client.call::<pb::MutateResponse>("Mutate", &request).unwrap();
    }
    assert_eq!(client.get(&regions[0], "c").unwrap().unwrap(), &5_i64.to_be_bytes()[..]);
}

#[test]
fn in_a_multi_each_action_fails_alone() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["m"]);
    let mut unknown = put("b", b"2");
    unknown.column_value[0].family = "nope".into();
    let action =
        |index, mutation| pb::Action { index: Some(index), mutation: Some(mutation), ..Default::default() };
    let request = pb::MultiRequest {
        region_action: vec![
            pb::RegionAction {
                region: region(&regions[0]),
                action: vec![action(0, put("a", b"1")), action(1, unknown), action(2, put("z", b"3"))],
                ..Default::default()
            },
            pb::RegionAction {
                region: region(b"gone"),
                action: vec![action(3, put("a", b"9"))],
                ..Default::default()
            },
            pb::RegionAction {
                region: region(&regions[1]),
                action: vec![action(4, put("z", b"4"))],
                ..Default::default()
            },
        ],
        ..Default::default()
    };
    let mut client = served.client("ClientService");
    let response: pb::MultiResponse = client.call("Multi", &request).unwrap();
    let of = |at: usize| &response.region_action_result[at];
    let mut failed: Vec<_> = of(0)
        .result_or_exception
        .iter()
        .filter_map(|result| {
            let exception = result.exception.as_ref()?;
            Some((result.index(), exception.name.rsplit('.').next().unwrap()))
        })
        .collect();
    failed.sort_unstable();
    assert_eq!(failed, [(1, "NoSuchColumnFamilyException"), (2, "WrongRegionException")]);
    assert!(of(1).exception.as_ref().unwrap().name.ends_with("NotServingRegionException"));
    assert!(of(2).result_or_exception[0].exception.is_none());
    assert_eq!(client.get(&regions[0], "a"), Ok(Some(Bytes::from_static(b"1"))));
    assert_eq!(client.get(&regions[1], "z"), Ok(Some(Bytes::from_static(b"4"))));
}
