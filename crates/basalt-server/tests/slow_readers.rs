// SPDX-License-Identifier: Apache-2.0
//! Clients that ask for much and do not take it, in a process of their own: all that it allocates is counted.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[allow(dead_code, reason = "shared with the other tests of the server")]
#[path = "server/support.rs"]
mod support;

#[path = "../../basalt-store/benches/store/allocations.rs"]
mod allocations;

use std::time::{Duration, Instant};

use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;
use prost::Message;
use support::{Client, Served, region, serve};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

const READERS: usize = 64;
/// Scans that each of them asks for before it takes an answer.
const SCANS: usize = 4;
const ROWS: usize = 50;
const ROW_BYTES: usize = 100_000;
const ANSWER_BYTES: u64 = 64 << 20;

/// Everything, in answers as large as the server makes them.
fn open(name: &Bytes) -> pb::ScanRequest {
    pb::ScanRequest {
        region: Some(region(name)),
        scan: Some(pb::Scan { max_result_size: Some(i64::MAX as u64), ..Default::default() }),
        number_of_rows: Some(i32::MAX as u32),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        ..Default::default()
    }
}

fn next(id: u64, seq: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(id),
        number_of_rows: Some(i32::MAX as u32),
        next_call_seq: Some(seq),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        ..Default::default()
    }
}

/// Takes the answers to the scans that a client asked for, and goes on with them to their ends; gives the rows of each.
fn take_all(client: &mut Client) -> Vec<usize> {
    let mut begun = Vec::new();
    for _ in 0..SCANS {
        let (_, frame) = client.receive().unwrap();
        begun.push(pb::ScanResponse::decode_length_delimited(frame.unwrap()).unwrap());
    }
    let rows_of = |response: &pb::ScanResponse| response.cells_per_result.len();
    let to_the_end = |first: &pb::ScanResponse| {
        let (mut rows, mut more) = (rows_of(first), first.more_results_in_region());
        for seq in 0.. {
            if !more {
                break;
            }
            let (response, _) = client.scan(&next(first.scanner_id(), seq)).unwrap();
            rows += rows_of(&response);
            more = response.more_results_in_region();
        }
        rows
    };
    begun.iter().map(to_the_end).collect()
}

/// A value that no encoding makes smaller.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..ROW_BYTES).map(|_| next()).collect()
}

/// Sends what all readers ask for and waits until nothing moves any more; gives the most bytes of answers that there were.
fn ask_for_all(served: &Served, readers: &mut [Client], name: &Bytes) -> u64 {
    for reader in readers {
        for _ in 0..SCANS {
            reader.send("Scan", &open(name));
        }
    }
    let (mut calls, mut since, mut answers_max) = (0, Instant::now(), 0);
    while since.elapsed() < Duration::from_secs(1) {
        let status = served.server.status();
        if status.calls != calls {
            (calls, since) = (status.calls, Instant::now());
        }
        answers_max = answers_max.max(status.answer_bytes);
        std::thread::sleep(Duration::from_millis(5));
    }
    answers_max
}

/// Of more than 1 GB that is asked for the server makes as much as it may hold; the rest waits until it is taken, and then comes.
#[test]
fn what_slow_readers_ask_for_is_made_when_they_take_it() {
    let options = ServerOptions {
        answer_bytes: ANSWER_BYTES,
        read_ahead_bytes: 16 << 20,
        lease_ms: 600_000,
        ..ServerOptions::default()
    };
    let served = serve(options);
    let name = served.table(&[]).remove(0);
    let table = served.db.open_table(&basalt_model::TableName::in_default("t")).unwrap();
    // As HBase's clients make them: what is read at once is then a row.
    let mut descriptor = (*table.descriptor().unwrap()).clone();
    descriptor.families[0].block_bytes = 64 << 10;
    served.db.alter_table(table.id(), descriptor).unwrap();
    for number in 0..ROWS {
        let value = noise(number as u64 + 1);
        table.put(basalt_model::Put::new(format!("r{number:03}")).add("f", "q", value)).unwrap();
    }
    // In a file: the blocks of all scans are then the same ones, of the cache.
    served.db.flush(None).unwrap();
    let before = allocations::live();
    let mut readers: Vec<Client> = (0..READERS).map(|_| served.client("ClientService")).collect();
    let (peak, answers_max) = allocations::peak_of(|| ask_for_all(&served, &mut readers, &name));
    assert!(answers_max >= ANSWER_BYTES / 4, "{answers_max} bytes of answers: nothing was held back");
    assert!(answers_max <= ANSWER_BYTES + (16 << 20), "{answers_max} bytes of answers");
    let grown = peak - before;
    // Prepared answers have a bound of their own; and what is counted may lie in memory that was taken with room to grow.
    assert!(grown < 256 << 20, "{grown} bytes more");
    std::thread::scope(|scope| {
        for mut reader in readers {
            scope.spawn(move || assert_eq!(take_all(&mut reader), [ROWS; SCANS]));
        }
    });
    let until = Instant::now() + Duration::from_secs(20);
    while served.server.status().answer_bytes > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(served.server.status().answer_bytes, 0);
}
