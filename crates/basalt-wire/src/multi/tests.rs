// SPDX-License-Identifier: Apache-2.0
use super::*;

fn get(row: &'static str, versions: u32) -> pb::Get {
    pb::Get { row: row.into(), max_versions: Some(versions), ..Default::default() }
}

fn request() -> pb::MultiRequest {
    let gets = [get("r1", 1), get("r2", 1), get("r2", 3)];
    let actions = (7..).zip(gets).map(|(index, get)| pb::Action {
        index: Some(index),
        get: Some(get),
        ..Default::default()
    });
    let region = pb::RegionSpecifier { r#type: 1, value: "t,,1.".into() };
    let region = pb::RegionAction { region, atomic: Some(true), action: actions.collect(), condition: None };
    pb::MultiRequest { region_action: vec![region], nonce_group: Some(5), condition: None }
}

#[test]
fn a_call_is_taken_apart_and_loses_nothing() {
    let request = request();
    let multi = Multi::decode(request.encode_to_vec().into()).unwrap();
    assert_eq!(multi.head, pb::MultiRequest { region_action: Vec::new(), ..request.clone() });
    let [region] = &multi.regions[..] else { panic!("one region") };
    let expected = &request.region_action[0];
    assert_eq!(region.head, pb::RegionAction { action: Vec::new(), ..expected.clone() });
    let actions: Vec<pb::Action> =
        region.actions.iter().map(|action| decode(action.clone()).unwrap()).collect();
    assert_eq!(actions, expected.action);
}

#[test]
fn gets_that_differ_in_their_row_alone_have_the_same_options() {
    let multi = Multi::decode(request().encode_to_vec().into()).unwrap();
    let parts: Vec<_> =
        multi.regions[0].actions.iter().map(|action| GetParts::of_action(action).unwrap()).collect();
    assert_eq!(parts[0], GetParts { index: Some(7), row: b"r1", options: b"\x30\x01" });
    assert_eq!(parts[1], GetParts { index: Some(8), row: b"r2", options: b"\x30\x01" });
    assert_eq!(parts[2].options, b"\x30\x03");
}

#[test]
fn what_is_no_get_of_the_usual_form_has_no_parts() {
    for action in [
        &b""[..],
        b"\x08",
        b"\x08\x07",
        b"\x12\x00",
        b"\x1a\x00",
        b"\x1a\x02\x30\x01",
        b"\x1a\x04\x0a\x03\x72\x31",
        b"\x1a\x09\x0a\x02\x72\x31",
        b"\x1a\x04\x0a\x02\x72\x31\x22\x00",
        b"\x1a\x08\x0a\x02\x72\x31\x0a\x02\x72\x32",
        b"\x1a\x0a\x0a\x02\x72\x31\x30\x01\x0a\x02\x72\x32",
    ] {
        assert_eq!(GetParts::of_action(action), None, "{action:x?}");
    }
}

#[test]
fn a_call_that_ends_too_early_is_refused() {
    let whole = Bytes::from(request().encode_to_vec());
    let refused = (1..whole.len()).filter(|&len| Multi::decode(whole.slice(..len)).is_err()).count();
    // The nonce group follows the region: the message is whole without it.
    assert_eq!(refused, whole.len() - 2);
}
