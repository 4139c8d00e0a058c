// SPDX-License-Identifier: Apache-2.0
//! How long one call takes, asked by a client of the bare protocol in the same process: `calls [ROWS]`. Rows of 100 bytes, flushed
//! and compacted; times in microseconds on the client's side. HBase's own client is in `tests/hbase`.

#![allow(clippy::unwrap_used, reason = "a measuring program")]
#![allow(clippy::print_stdout, reason = "its output")]

#[allow(dead_code, reason = "written for the tests")]
#[path = "../tests/server/support.rs"]
mod support;

use std::time::{Duration, Instant};

use basalt_model::{Durability, Mutation, Put, TableId, TableName};
use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;
use support::{Client, Served, region, serve};

const CALLS: usize = 20_000;
const CONNECTIONS: usize = 64;

fn main() {
    let rows = std::env::args().nth(1).map_or(100_000, |text| text.parse().unwrap());
    let served = serve(ServerOptions::default());
    let home = served.table(&[]).remove(0);
    fill(&served, rows);
    let mut client = served.client("ClientService");
    for round in ["warm", "get"] {
        let mut seed = 1;
        let times = (0..CALLS).map(|_| {
            let row = key(random(&mut seed) % rows);
            timed(|| client.get(&home, &row).unwrap().unwrap())
        });
        say(round, times.collect(), 1);
    }
    for caching in [1, 10, 30, 100, 1000] {
        scan(&mut client, &home, caching);
    }
    pipelined(&mut client, &home, rows);
    many(&served, &home, rows);
}

fn key(i: usize) -> String {
    format!("row{i:010}")
}

fn random(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed as usize >> 1
}

fn timed<T>(call: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    call();
    began.elapsed()
}

fn fill(served: &Served, rows: usize) {
    let table = served.db.open_table(&TableName::in_default("t")).unwrap();
    let put = |i: usize| -> (TableId, Mutation) {
        let value = Bytes::from(format!("{i:0>100}"));
        (table.id(), Put::new(key(i)).add("f", "q", value).into())
    };
    for from in (0..rows).step_by(10_000) {
        let puts: Vec<_> = (from..rows.min(from + 10_000)).map(put).collect();
        served.db.mutate(&puts, Durability::Skip).unwrap();
    }
    table.flush().unwrap();
    table.major_compact().unwrap();
}

/// Median, 99th percentile, and what that means for `rows` rows a call.
fn say(name: &str, mut times: Vec<Duration>, rows: usize) {
    let total: Duration = times.iter().sum();
    times.sort();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
    let rate = (times.len() * rows) as f64 / total.as_secs_f64();
    println!("{name:24} p50 {:8.1}  p99 {:8.1}  {rate:10.0} rows/s", at(50), at(99));
}

fn scan(client: &mut Client, home: &Bytes, caching: u32) {
    let open = pb::ScanRequest {
        region: Some(region(home)),
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(caching),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        ..Default::default()
    };
    let mut times = Vec::new();
    while times.len() < CALLS.min(2_000_000 / caching as usize) {
        let (first, _) = client.scan(&open).unwrap();
        let mut more = first.more_results_in_region();
        for seq in 0.. {
            if !more {
                break;
            }
            let next = pb::ScanRequest {
                scanner_id: first.scanner_id,
                next_call_seq: Some(seq),
                number_of_rows: Some(caching),
                client_handles_partials: Some(true),
                client_handles_heartbeats: Some(true),
                ..Default::default()
            };
            times.push(timed(|| more = client.scan(&next).unwrap().0.more_results_in_region()));
        }
    }
    say(&format!("next, caching {caching}"), times, caching as usize);
}

/// 64 gets are on their way at any time, over one connection.
fn pipelined(client: &mut Client, home: &Bytes, rows: usize) {
    let mut seed = 2;
    let mut send = |client: &mut Client| {
        let get = pb::Get { row: key(random(&mut seed) % rows).into(), ..Default::default() };
        client.send("Get", &pb::GetRequest { region: region(home), get });
    };
    let began = Instant::now();
    (0..64).for_each(|_| send(client));
    for _ in 0..CALLS {
        client.receive().unwrap().1.unwrap();
        send(client);
    }
    println!("{:24} {:.0} gets/s", "64 gets in flight", CALLS as f64 / began.elapsed().as_secs_f64());
    (0..64).for_each(|_| drop(client.receive()));
}

fn many(served: &Served, home: &Bytes, rows: usize) {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..CONNECTIONS {
            scope.spawn(move || {
                let mut client = served.client("ClientService");
                let mut seed = number as u64 + 3;
                for _ in 0..CALLS / 20 {
                    client.get(home, &key(random(&mut seed) % rows)).unwrap().unwrap();
                }
            });
        }
    });
    let rate = (CONNECTIONS * (CALLS / 20)) as f64 / began.elapsed().as_secs_f64();
    println!("{CONNECTIONS} connections{:10} {rate:.0} gets/s", "");
}
