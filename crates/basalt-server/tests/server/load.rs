// SPDX-License-Identifier: Apache-2.0
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;

use crate::support::{Client, Served, put, region, serve};

/// Waits until the server is as it was before anybody came.
fn wait_until_idle(served: &Served) {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        let status = served.server.status();
        let held = status.read_ahead_bytes + status.request_bytes + status.answer_bytes;
        if (status.connections, status.scanners, held) == (0, 0, 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("something is left: {:?}", served.server.status());
}

/// 256 connections that put, get and scan at once; every eighth leaves in the middle of a scan without a word. No answer is
/// wrong, and nothing is left behind.
#[test]
fn many_connections() {
    let served = serve(ServerOptions { lease_ms: 1_000, ..ServerOptions::default() });
    let regions = served.table(&["5"]);
    let wrong = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 0..256 {
            let (served, regions, wrong) = (&served, &regions, &wrong);
            scope.spawn(move || {
                let mut client = served.client("ClientService");
                for round in 0..8 {
                    let row = format!("{}-{number:03}-{round}", number % 10);
                    let home = &regions[usize::from(number % 10 >= 5)];
                    client.put(home, &row, row.as_bytes()).unwrap();
                    let found = client.get(home, &row).unwrap();
                    wrong.fetch_add(u64::from(found != Some(Bytes::from(row))), Relaxed);
                }
                let request = pb::ScanRequest {
                    region: Some(region(&regions[0])),
                    scan: Some(pb::Scan::default()),
                    number_of_rows: Some(3),
                    ..Default::default()
                };
                let (first, cells) = client.scan(&request).unwrap();
                wrong.fetch_add(
                    u64::from(cells.is_empty() || cells.iter().any(|cell| cell.row != cell.value)),
                    Relaxed,
                );
                if number % 8 != 0 {
                    let close = pb::ScanRequest {
                        scanner_id: first.scanner_id,
                        close_scanner: Some(true),
                        ..Default::default()
                    };
                    client.scan(&close).unwrap();
                }
            });
        }
    });
    assert_eq!(wrong.load(Relaxed), 0);
    wait_until_idle(&served);
}

/// Calls are sent without waiting; each is answered once, with its own row.
#[test]
fn pipelined_calls() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&[]);
    let mut client = served.client("ClientService");
    for i in 0..50 {
        client.put(&regions[0], &format!("r{i}"), format!("v{i}").as_bytes()).unwrap();
    }
    let mut rows = std::collections::BTreeMap::new();
    for i in 0..500 {
        let get = pb::Get { row: format!("r{}", i % 50).into(), ..Default::default() };
        let call = client.send("Get", &pb::GetRequest { region: region(&regions[0]), get });
        rows.insert(call, format!("v{}", i % 50));
    }
    while !rows.is_empty() {
        let (call, frame) = client.receive().unwrap();
        let expected = rows.remove(&call).expect("answered once");
        assert!(frame.unwrap().ends_with(expected.as_bytes()));
    }
}

/// The server stays awake for calls that follow closely, and sleeps else: at every change between the two each call is answered.
#[test]
fn calls_at_any_pace() {
    let served = serve(ServerOptions { look_us: 100, ..ServerOptions::default() });
    let regions = served.table(&[]);
    served.client("ClientService").put(&regions[0], "a", b"1").unwrap();
    std::thread::scope(|scope| {
        for number in 1..=3_u64 {
            let (served, home) = (&served, &regions[0]);
            scope.spawn(move || {
                let mut client = served.client("ClientService");
                client.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                let mut state = number;
                for call in 0..10_000 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Most calls follow at once, so that the server stays awake; then one comes about when it goes to sleep.
                    let pause = Duration::from_micros(if call % 20 == 19 { (state >> 33) % 200 } else { 0 });
                    let until = Instant::now() + pause;
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                    assert_eq!(client.get(home, "a"), Ok(Some(Bytes::from_static(b"1"))), "call {call}");
                }
            });
        }
    });
}

/// A client that asks and does not read is not read from any more; others go on, and what waits for it is bounded.
#[test]
fn a_slow_reader_is_held_back() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&[]);
    served.client("ClientService").put(&regions[0], "big", &vec![7; 1 << 20]).unwrap();
    let mut slow = served.client("ClientService");
    slow.stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let calls_before = served.server.status().calls;
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Far more than sockets buffer: at some point the server takes no more.
            let get = pb::Get { row: "big".into(), ..Default::default() };
            let request = pb::GetRequest { region: region(&regions[0]), get };
            for _ in 0..2_000 {
                slow.send("Get", &request);
            }
            stopped.store(true, Relaxed);
        });
        let mut quick = served.client("ClientService");
        while !stopped.load(Relaxed) {
            quick.get(&regions[0], "nothing").unwrap();
        }
    });
    let answered = |served: &Served| served.server.status().calls - calls_before;
    let mut quick = served.client("ClientService");
    let before = answered(&served);
    for _ in 0..100 {
        quick.get(&regions[0], "nothing").unwrap();
    }
    // 16 MiB of answers wait, 64 calls are in flight: no more of the slow client's calls are made.
    assert!(answered(&served) - before < 100 + 200);
    drop(slow);
    drop(quick);
    wait_until_idle(&served);
}

/// What was acknowledged before a stop is there after it, and a stop waits for the calls in flight.
#[test]
fn a_stop_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let open = || basalt_store::Database::open(&path, basalt_store::OpenOptions::create()).unwrap();
    let start = |db: &basalt_store::Database| {
        basalt_server::Server::start(db.clone(), ServerOptions { port: 0, ..ServerOptions::default() })
            .unwrap()
    };
    let db = open();
    let served = start(&db);
    let table = basalt_model::TableDescriptor::new(basalt_model::TableName::in_default("t"));
    db.create_table(table.family(basalt_model::FamilyDescriptor::new("f"))).unwrap();
    let name = first_region(&served);
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let address = served.address();
        for writer in 0..4 {
            let (acknowledged, name) = (&acknowledged, &name);
            scope.spawn(move || {
                let mut client = Client::connect(address, "ClientService");
                for i in 0.. {
                    let request = pb::MutateRequest {
                        region: region(name),
                        mutation: put(&format!("{writer}-{i}"), b"v"),
                        ..Default::default()
                    };
                    client.send("Mutate", &request);
                    match client.receive() {
                        Some((_, Ok(_))) => acknowledged.fetch_add(1, Relaxed),
                        _ => return,
                    };
                }
            });
        }
        while acknowledged.load(Relaxed) < 200 {
            std::thread::yield_now();
        }
        served.stop();
    });
    db.close().unwrap();
    let db = open();
    let rows = db.open_table(&basalt_model::TableName::in_default("t")).unwrap();
    let found = rows.scan(&basalt_model::Scan::new()).unwrap().count() as u64;
    assert!(found >= acknowledged.load(Relaxed), "{found} rows");
}

fn first_region(server: &basalt_server::Server) -> Bytes {
    let mut client = Client::connect(server.address(), "ClientService");
    let request = pb::ScanRequest {
        region: Some(region(b"hbase:meta,,1")),
        scan: Some(pb::Scan { start_row: Some("t,,".into()), ..Default::default() }),
        number_of_rows: Some(1),
        close_scanner: Some(true),
        ..Default::default()
    };
    client.scan(&request).unwrap().1[0].row.clone()
}
