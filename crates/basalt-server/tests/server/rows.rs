// SPDX-License-Identifier: Apache-2.0
use basalt_model::{CellRef, CellType, LATEST_TIMESTAMP, Seq};
use basalt_server::ServerOptions;
use basalt_wire::{CellReader, cell_block, pb};
use bytes::{Bytes, BytesMut};
use pb::mutation_proto::MutationType;

use crate::support::{put, region, serve, table_name};

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

/// Puts as HBase's clients send them, with their cells in a block, beside others: each takes its own cells, and what is wrong with one of them
/// costs the others nothing.
#[test]
fn puts_from_a_block_fail_alone() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&["m"]);
    let mut cells = BytesMut::new();
    let mut of_block = |index: u32, row: &str, family: &str, value: &str| {
        let cell = CellRef {
            row: row.as_bytes(),
            family: family.as_bytes(),
            qualifier: b"q",
            timestamp: LATEST_TIMESTAMP,
            cell_type: CellType::Put,
            value: value.as_bytes(),
            seq: Seq(0),
            tags: b"",
        };
        cell_block::encode_cell(&cell, &mut cells);
        let mutation = pb::MutationProto {
            row: Some(row.to_owned().into()),
            mutate_type: Some(MutationType::Put as i32),
            associated_cell_count: Some(1),
            ..Default::default()
        };
        pb::Action { index: Some(index), mutation: Some(mutation), ..Default::default() }
    };
    let mut delete = put("c", b"");
    delete.mutate_type = Some(MutationType::Delete as i32);
    delete.column_value.clear();
    let actions = vec![
        of_block(0, "a", "f", "1"),
        of_block(1, "b", "nope", "2"),
        of_block(2, "z", "f", "3"),
        of_block(3, "c", "f", "4"),
        pb::Action { index: Some(4), mutation: Some(delete), ..Default::default() },
        of_block(5, "a", "f", "5"),
        of_block(6, "d", "f", "6"),
    ];
    let action = pb::RegionAction { region: region(&regions[0]), action: actions, ..Default::default() };
    let request = pb::MultiRequest { region_action: vec![action], ..Default::default() };
    let mut client = served.client("ClientService");
    let (response, _) = client.multi_with_cells(&request, &cells).unwrap();
    let mut results = response.region_action_result[0].result_or_exception.clone();
    results.sort_by_key(pb::ResultOrException::index);
    assert_eq!(results.iter().map(pb::ResultOrException::index).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    let failed = results.iter().filter_map(|result| Some((result.index(), &result.exception.as_ref()?.name)));
    let failed: Vec<_> = failed.map(|(index, name)| (index, name.rsplit('.').next().unwrap())).collect();
    assert_eq!(failed, [(1, "NoSuchColumnFamilyException"), (2, "WrongRegionException")]);
    assert!(results.iter().all(|result| result.result.is_some() != result.exception.is_some()));
    for (row, value) in [("a", Some("5")), ("b", None), ("c", None), ("d", Some("6"))] {
        assert_eq!(client.get(&regions[0], row), Ok(value.map(Bytes::from)), "{row}");
    }
}

/// Changes of one row under a condition answer with their new values in their order, but for those that nobody wants.
#[test]
fn changes_of_a_row_answer_with_the_values_that_are_wanted() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&[]);
    let append = |index, qualifier: &'static str, wanted: bool| {
        let mut mutation = put("a", b"x");
        mutation.mutate_type = Some(MutationType::Append as i32);
        mutation.column_value[0].qualifier_value[0].qualifier = Some(qualifier.into());
        if !wanted {
            let attribute =
                pb::NameBytesPair { name: "_rr_".to_owned(), value: Some(Bytes::from_static(&[0])) };
            mutation.attribute.push(attribute);
        }
        pb::Action { index: Some(index), mutation: Some(mutation), ..Default::default() }
    };
    let mut client = served.client("ClientService");
    let mut values = |actions: Vec<pb::Action>| {
        let action = pb::RegionAction {
            region: region(&regions[0]),
            atomic: Some(true),
            action: actions,
            ..Default::default()
        };
        let request = pb::MultiRequest { region_action: vec![action], ..Default::default() };
        let (response, _) = client.multi(&request).unwrap();
        let result = response.region_action_result[0].result_or_exception[0].result.clone().unwrap();
        let value = |cell: pb::Cell| [cell.qualifier.unwrap(), cell.value.unwrap()];
        result.cell.into_iter().map(value).collect::<Vec<_>>()
    };
    let found =
        values(vec![append(0, "z", true), append(1, "b", false), append(2, "a", true), append(3, "z", true)]);
    assert_eq!(found, [["z", "x"], ["a", "x"], ["z", "x"]]);
    assert_eq!(values(vec![append(0, "z", false), append(1, "z", true)]), [["z", "xx"]]);
    assert_eq!(values(vec![append(0, "z", false)]), [[""; 2]; 0]);
}

/// Many gets of one call, in no order, some of the same row, some of rows that are not there, some that ask for something else, a change between
/// them: each result stands where its get stood.
#[test]
fn many_gets_of_one_call() {
    const ROWS: usize = 9_000;
    let served = serve(ServerOptions::default());
    let regions = served.table(&["r8999x"]);
    let table = served.db.open_table(&basalt_model::TableName::in_default("t")).unwrap();
    let put_row = |i: usize| {
        (table.id(), basalt_model::Put::new(format!("r{i:04}")).add("f", "q", format!("v{i}")).into())
    };
    let puts: Vec<_> = (0..ROWS).step_by(2).map(put_row).collect();
    served.db.mutate(&puts, basalt_model::Durability::Skip).unwrap();
    table.flush().unwrap();
    let of_row = |i: usize| i * 7_919 % (ROWS + 2);
    let action = |index: usize| {
        let get = pb::Get {
            row: format!("r{:04}", of_row(index)).into(),
            existence_only: (index % 10 == 3).then_some(true),
            column: match index % 10 {
                4 => vec![pb::Column { family: "nope".into(), qualifier: Vec::new() }],
                _ => Vec::new(),
            },
            ..Default::default()
        };
        pb::Action { index: Some(index as u32), get: Some(get), ..Default::default() }
    };
    let mut actions: Vec<_> = (0..2 * ROWS).map(action).collect();
    // What comes behind it sees it.
    actions[ROWS] = pb::Action {
        index: Some(ROWS as u32),
        mutation: Some(put("r0001", b"changed")),
        ..Default::default()
    };
    let request = pb::MultiRequest {
        region_action: vec![pb::RegionAction {
            region: region(&regions[0]),
            action: actions,
            ..Default::default()
        }],
        ..Default::default()
    };
    let (response, block) = served.client("ClientService").multi(&request).unwrap();
    let mut block = CellReader::new(block);
    let results = &response.region_action_result[0].result_or_exception;
    assert_eq!(results.len(), 2 * ROWS);
    for (index, found) in results.iter().enumerate().filter(|(index, _)| *index != ROWS) {
        assert_eq!(found.index(), index as u32);
        let row = of_row(index);
        let exception = found.exception.as_ref().map(|exception| exception.name.rsplit('.').next().unwrap());
        let refused = match (row >= ROWS, index % 10 == 4) {
            (true, _) => Some("WrongRegionException"),
            (false, true) => Some("NoSuchColumnFamilyException"),
            (false, false) => None,
        };
        assert_eq!(exception, refused, "get {index} of row {row}");
        let Some(result) = &found.result else { continue };
        let value = match row {
            1 if index > ROWS => Some("changed".to_owned()),
            _ => (row % 2 == 0).then(|| format!("v{row}")),
        };
        if index % 10 == 3 {
            assert_eq!(result.exists, Some(value.is_some()), "get {index} of row {row}");
            continue;
        }
        let cells = block.take(result.associated_cell_count() as usize).unwrap();
        let values: Vec<&[u8]> = cells.iter().map(|cell| &cell.value[..]).collect();
        let expected: Vec<&[u8]> = value.iter().map(|value| value.as_bytes()).collect();
        assert_eq!(values, expected, "get {index} of row {row}");
    }
}

/// A store file of one table is loaded into another; one whose rows or family do not fit is refused, and nothing of it is there.
#[test]
fn files_are_loaded_into_a_region() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&[]);
    let mut client = served.client("ClientService");
    for i in 0..100 {
        client.put(&regions[0], &format!("r{i:02}"), b"value").unwrap();
    }
    let name = basalt_model::TableName::in_default("t");
    served.db.open_table(&name).unwrap().flush().unwrap();
    let file = store_file(served.db.path());
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path().join("file");
    std::fs::copy(file, &path).unwrap();
    served.db.drop_table(&name).unwrap();

    let regions = served.table(&[]);
    let prepare = pb::PrepareBulkLoadRequest { table_name: table_name("t"), region: None };
    let prepared: pb::PrepareBulkLoadResponse = client.call("PrepareBulkLoad", &prepare).unwrap();
    let load = |family: &str| pb::BulkLoadHFileRequest {
        region: region(&regions[0]),
        family_path: vec![pb::bulk_load_h_file_request::FamilyPath {
            family: family.to_owned().into(),
            path: format!("file:{}", path.display()),
        }],
        bulk_token: Some(prepared.bulk_token.clone()),
        ..Default::default()
    };
    let refused = client.call::<pb::BulkLoadHFileResponse>("BulkLoadHFile", &load("g")).unwrap_err();
    assert_eq!(refused, "NoSuchColumnFamilyException");
    assert_eq!(client.get(&regions[0], "r07"), Ok(None));
    let loaded: pb::BulkLoadHFileResponse = client.call("BulkLoadHFile", &load("f")).unwrap();
    assert!(loaded.loaded);
    assert_eq!(client.get(&regions[0], "r07"), Ok(Some("value".into())));
    assert_eq!(client.get(&regions[0], "r99"), Ok(Some("value".into())));
    let cleanup = pb::CleanupBulkLoadRequest { bulk_token: prepared.bulk_token, region: None };
    client.call::<()>("CleanupBulkLoad", &cleanup).unwrap();
}

/// The only store file of a database.
fn store_file(db: &std::path::Path) -> std::path::PathBuf {
    let mut waiting = vec![db.join("data")];
    while let Some(path) = waiting.pop() {
        if path.is_file() {
            return path;
        }
        waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
    }
    panic!("no store file in {}", db.display());
}
