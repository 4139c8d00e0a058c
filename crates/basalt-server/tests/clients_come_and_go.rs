// SPDX-License-Identifier: Apache-2.0
//! Clients that come and go, in a process of their own: what it holds is counted.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[allow(dead_code, reason = "shared with the store's benchmark")]
#[path = "../../basalt-store/benches/store/allocations.rs"]
mod allocations;
#[allow(dead_code, reason = "shared with the other tests of the server")]
#[path = "server/support.rs"]
mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use basalt_server::ServerOptions;
use basalt_store::OpenOptions;
use basalt_wire::{CellReader, pb};
use bytes::Bytes;
use prost::Message;
use support::{Client, Served, put, region, serve_with};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

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

/// What the process holds.
struct Held {
    /// Bytes that it has allocated.
    allocated: usize,
    /// Bytes that it has of the system, in use or kept by the allocator for each of the many threads.
    resident: u64,
    /// Open files and sockets.
    files: usize,
}

impl Held {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap();
        let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
        Self { allocated: allocations::live(), resident: kilobytes << 10, files }
    }
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { allocated, resident, files } = self;
        write!(f, "{} MiB allocated, {} MiB resident, {files} open files", allocated >> 20, resident >> 20)
    }
}

/// What a call asked for.
enum Asked {
    Put,
    /// The row.
    Get(String),
    /// Five rows from this one on, of those that are always there.
    Scan(usize),
}

impl Asked {
    /// An error if an answer is wrong.
    fn check(&self, mut frame: Bytes) -> Result<(), String> {
        match self {
            Self::Put => {
                let response = pb::MutateResponse::decode_length_delimited(&mut frame);
                response
                    .ok()
                    .filter(|response| response.processed())
                    .map(drop)
                    .ok_or("a put was not made".into())
            }
            Self::Get(row) if frame.ends_with(row.as_bytes()) => Ok(()),
            Self::Get(row) => Err(format!("row {row}: {}", frame.escape_ascii())),
            Self::Scan(first) => {
                let response = pb::ScanResponse::decode_length_delimited(&mut frame)
                    .map_err(|error| error.to_string())?;
                let cells: u32 = response.cells_per_result.iter().sum();
                let cells =
                    CellReader::new(frame).take(cells as usize).map_err(|_| "a cell block that is cut")?;
                let expected = (*first..ROWS.min(first + 5)).map(row);
                match cells.iter().map(|cell| &cell.value[..]).eq(expected.map(String::into_bytes)) {
                    true => Ok(()),
                    false => Err(format!("a scan from row {first} gave {} cells: {cells:?}", cells.len())),
                }
            }
        }
    }
}

/// Rows that are always there, each with itself as value.
const ROWS: usize = 1000;

fn row(number: usize) -> String {
    format!("row{number:04}")
}

/// Sends calls without waiting: gets, scans and puts. Gives what is asked for by each call's number.
fn send_mixed(client: &mut Client, home: &Bytes, number: usize, round: usize) -> BTreeMap<u32, Asked> {
    let mut asked = BTreeMap::new();
    for i in 0..16 {
        let at = (number * 31 + round * 7 + i) % ROWS;
        let call = match i % 4 {
            0 => {
                let request = pb::MutateRequest {
                    region: region(home),
                    mutation: put(&row(at), row(at).as_bytes()),
                    ..Default::default()
                };
                (client.send("Mutate", &request), Asked::Put)
            }
            1 => {
                let scan = pb::Scan { start_row: Some(row(at).into()), ..Default::default() };
                let request = pb::ScanRequest {
                    region: Some(region(home)),
                    scan: Some(scan),
                    number_of_rows: Some(5),
                    close_scanner: Some(i % 8 == 1),
                    ..Default::default()
                };
                (client.send("Scan", &request), Asked::Scan(at))
            }
            _ => {
                let get = pb::Get { row: row(at).into(), ..Default::default() };
                (client.send("Get", &pb::GetRequest { region: region(home), get }), Asked::Get(row(at)))
            }
        };
        asked.insert(call.0, call.1);
    }
    asked
}

/// What clients did.
#[derive(Default)]
struct Done {
    connections: AtomicU64,
    answers: AtomicU64,
    /// Connections that ended with calls under way.
    kills: AtomicU64,
}

/// Rounds of mixed calls on one connection; every other time the client goes without waiting for its answers, in the middle of a
/// request, or with open scans. An error is the first answer that is wrong.
fn come_and_go(
    served: &Served,
    home: &Bytes,
    number: usize,
    until: Instant,
    done: &Done,
) -> Result<(), String> {
    for round in 0.. {
        if Instant::now() >= until {
            break;
        }
        let mut client = served.client("ClientService");
        done.connections.fetch_add(1, Relaxed);
        let mut asked = send_mixed(&mut client, home, number, round);
        let leaves = (number + round) % 4;
        if leaves < 2 {
            // Others would be put off before they are let in, by the operating system.
            let (_, frame) = client.receive().ok_or("the connection was closed")?;
            frame?;
            done.kills.fetch_add(1, Relaxed);
        }
        match leaves {
            0 => {
                let _ = client.stream.shutdown(std::net::Shutdown::Both);
                continue;
            }
            1 => {
                let _ = client.stream.write_all(b"\0\x10\0\0half");
                continue;
            }
            _ => {}
        }
        while !asked.is_empty() {
            let (call, frame) = client.receive().ok_or("the connection was closed")?;
            let frame = frame.map_err(|class| format!("call {call}: {class}"))?;
            asked.remove(&call).ok_or("a call was answered twice")?.check(frame)?;
            done.answers.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

/// 256 connections at once, twice for so many seconds (`BASALT_LOAD_SECONDS`, default 30), of which half leave without a word. What the second time
/// takes is given back as what the first took; a shorter time before both is not counted.
#[test]
fn clients_that_come_and_go_leave_nothing() {
    let seconds = std::env::var("BASALT_LOAD_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    // What is written must not be what grows.
    let open = OpenOptions { memory_bytes: 32 << 20, ..OpenOptions::create() };
    let served = serve_with(ServerOptions { lease_ms: 500, ..ServerOptions::default() }, open);
    let regions = served.table(&[]);
    let mut client = served.client("ClientService");
    for number in 0..ROWS {
        client.put(&regions[0], &row(number), row(number).as_bytes()).unwrap();
    }
    drop(client);
    let done = Done::default();
    let run = |time: Duration| {
        let until = Instant::now() + time;
        std::thread::scope(|scope| {
            let (served, home, done) = (&served, &regions[0], &done);
            let client = |number| scope.spawn(move || come_and_go(served, home, number, until, done));
            let clients: Vec<_> = (0..256).map(client).collect();
            for client in clients {
                assert_eq!(client.join().unwrap(), Ok(()), "{:?}", served.server.status());
            }
        });
        wait_until_idle(&served);
        Held::now()
    };
    let time = Duration::from_secs(seconds);
    run(time / 3);
    let (first, second) = (run(time), run(time));
    let count = |counter: &AtomicU64| counter.load(Relaxed);
    // Seen also by who does not ask tests for their output.
    let _ = writeln!(
        std::io::stderr(),
        "{} connections in {seconds} s, {seconds} s and a third of that, {} cut off by their clients, {} answers checked; \
         {first} after the first time, {second} after the second",
        count(&done.connections),
        count(&done.kills),
        count(&done.answers),
    );
    // What memtables hold and caches have differs from one moment to the next.
    assert!(second.allocated < first.allocated + (32 << 20), "{first}, then {second}");
    assert!(second.files < first.files + 16, "{first}, then {second}");
}
