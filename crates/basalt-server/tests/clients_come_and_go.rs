// SPDX-License-Identifier: Apache-2.0
//! Clients that come and go, in a process of their own: what it holds is counted.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[allow(dead_code, reason = "shared with the other tests of the server")]
#[path = "server/support.rs"]
mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use basalt_server::ServerOptions;
use basalt_store::OpenOptions;
use basalt_wire::pb;
use bytes::Bytes;
use support::{Client, Served, put, region, serve_with};

/// Waits until the server is as it was before anybody came.
fn wait_until_idle(served: &Served) {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        let status = served.server.status();
        let held = (status.read_ahead_bytes, status.request_bytes);
        if (status.connections, status.scanners, held) == (0, 0, (0, 0)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("something is left: {:?}", served.server.status());
}

/// What the process holds: memory in bytes, and open files and sockets.
fn held() -> (u64, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap();
    (kilobytes << 10, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

/// The calls that a client sends without waiting: gets, scans, puts, and calls of an endpoint. Gives what is asked for by
/// each call's number.
fn send_mixed(
    client: &mut Client,
    home: &Bytes,
    number: usize,
    round: usize,
) -> BTreeMap<u32, Option<String>> {
    let mut expected = BTreeMap::new();
    for i in 0..16 {
        let row = format!("row{:04}", (number * 31 + round * 7 + i) % 1000);
        let call = match i % 4 {
            0 => {
                let request = pb::MutateRequest {
                    region: region(home),
                    mutation: put(&row, row.as_bytes()),
                    ..Default::default()
                };
                (client.send("Mutate", &request), None)
            }
            1 => {
                let scan = pb::Scan { start_row: Some(row.clone().into()), ..Default::default() };
                let request = pb::ScanRequest {
                    region: Some(region(home)),
                    scan: Some(scan),
                    number_of_rows: Some(5),
                    close_scanner: Some(i % 8 == 1),
                    ..Default::default()
                };
                (client.send("Scan", &request), None)
            }
            _ => {
                let get = pb::Get { row: row.clone().into(), ..Default::default() };
                (client.send("Get", &pb::GetRequest { region: region(home), get }), Some(row))
            }
        };
        expected.insert(call.0, call.1);
    }
    expected
}

/// Rounds of mixed calls on one connection; now and then the client goes without waiting for its answers, in the middle of a
/// request, or with open scans. An error is the first answer that is wrong.
fn come_and_go(served: &Served, home: &Bytes, number: usize, until: Instant) -> Result<(), String> {
    for round in 0.. {
        if Instant::now() >= until {
            break;
        }
        let mut client = served.client("ClientService");
        let mut expected = send_mixed(&mut client, home, number, round);
        let leaves = (number + round) % 4;
        if leaves < 2 {
            // Others would be put off before they are let in, by the operating system.
            let (_, frame) = client.receive().ok_or("the connection was closed")?;
            frame?;
        }
        match leaves {
            0 => {
                let _ = client.stream.shutdown(std::net::Shutdown::Both);
                continue;
            }
            1 => {
                let _ = std::io::Write::write_all(&mut client.stream, b"\0\x10\0\0half");
                continue;
            }
            _ => {}
        }
        while !expected.is_empty() {
            let (call, frame) = client.receive().ok_or("the connection was closed")?;
            let frame = frame.map_err(|class| format!("call {call}: {class}"))?;
            let wanted = expected.remove(&call).ok_or("a call was answered twice")?;
            if let Some(row) = wanted.filter(|row| !frame.ends_with(row.as_bytes())) {
                return Err(format!("row {row}: {}", frame.escape_ascii()));
            }
        }
    }
    Ok(())
}

/// 256 connections at once, for seconds (`BASALT_LOAD_SECONDS`, default 4), of which half leave without a word. What the second half of
/// the time takes is given back as what the first took; a half before both is not counted.
#[test]
fn clients_that_come_and_go_leave_nothing() {
    let seconds = std::env::var("BASALT_LOAD_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    // What is written must not be what grows.
    let open = OpenOptions { memory_bytes: 32 << 20, ..OpenOptions::create() };
    let served = serve_with(ServerOptions { lease_ms: 500, ..ServerOptions::default() }, open);
    let regions = served.table(&[]);
    let mut client = served.client("ClientService");
    for i in 0..1000 {
        let row = format!("row{i:04}");
        client.put(&regions[0], &row, row.as_bytes()).unwrap();
    }
    drop(client);
    let half = || {
        let until = Instant::now() + Duration::from_secs(seconds) / 2;
        std::thread::scope(|scope| {
            let (served, home) = (&served, &regions[0]);
            let client = |number| scope.spawn(move || come_and_go(served, home, number, until));
            let clients: Vec<_> = (0..256).map(client).collect();
            for client in clients {
                assert_eq!(client.join().unwrap(), Ok(()), "{:?}", served.server.status());
            }
        });
        wait_until_idle(&served);
        held()
    };
    // The memory that the clients' own threads take and keep is counted, too: it grows less and less.
    half();
    let (first, second) = (half(), half());
    assert!(second.0 < first.0 + (192 << 20), "{} bytes, then {}", first.0, second.0);
    assert!(second.1 < first.1 + 16, "{} open files, then {}", first.1, second.1);
}
