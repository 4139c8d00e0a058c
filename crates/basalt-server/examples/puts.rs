// SPDX-License-Identifier: Apache-2.0
//! What durable puts cost the server: `puts [ROWS [ordered|random]] -- PROGRAM...`. Each program is started twice in turn, as `PROGRAM serve DB
//! --port N --ready-file FILE`, the example `serve` or `basalt` itself, so that two builds stand side by side. Rows of 100 bytes, 5,000 a
//! call as HBase's client sends them, over one connection; the messages are made beforehand.
//!
//! Prints the rate, and the processor time of the server for a row: user, system.

#![allow(clippy::unwrap_used, reason = "a measuring program")]
#![allow(clippy::print_stdout, reason = "its output")]

#[allow(dead_code, reason = "written for the tests")]
#[path = "../tests/server/support.rs"]
mod support;

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use basalt_model::{CellRef, CellType, LATEST_TIMESTAMP, Seq};
use basalt_wire::{cell_block, pb};
use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use support::{Client, create_table, region};

const ROWS_A_CALL: u64 = 5_000;
const VALUE_BYTES: usize = 100;
const ROUNDS: usize = 2;
/// In which the kernel counts processor time.
const TICKS_PER_SECOND: f64 = 100.0;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let at = arguments.iter().position(|argument| argument == "--").expect("programs behind `--`");
    let programs = arguments.split_off(at + 1);
    let rows = arguments.first().filter(|text| *text != "--");
    let rows = rows.map_or(500_000, |text| text.parse().expect("ROWS is a number"));
    let random = arguments.get(1).is_some_and(|order| order == "random");
    for _ in 0..ROUNDS {
        for program in &programs {
            measure(program, rows, random);
        }
    }
}

fn measure(program: &str, rows: u64, random: bool) {
    // Where it is called: the directory for temporary files may be memory, and puts are to be synced to a disk.
    let dir = tempfile::tempdir_in(".").unwrap();
    let ready = dir.path().join("ready");
    let server = Command::new(program)
        .arg("serve")
        .arg(dir.path().join("db"))
        .args(["--port", "0", "--ready-file"])
        .arg(&ready)
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {program}: {error}"));
    let server = Server(server);
    let address = wait_for(&ready);
    let home = create_table(address, &[]).remove(0);
    let calls: Vec<Vec<u8>> = (0..rows)
        .step_by(ROWS_A_CALL as usize)
        .map(|first| call(&home, first..rows.min(first + ROWS_A_CALL), random))
        .collect();
    let mut client = Client::connect(address, "ClientService");
    let (before, began) = (processor_ticks(&server.0), Instant::now());
    for call in &calls {
        client.stream.write_all(call).unwrap();
        client.receive().unwrap().1.unwrap();
    }
    let (took, after) = (began.elapsed(), processor_ticks(&server.0));
    let per_row = |i: usize| (after[i] - before[i]) / TICKS_PER_SECOND / rows as f64 * 1e6;
    let rate = rows as f64 / took.as_secs_f64();
    println!("{program}: {rate:.0} rows/s; {:.2} + {:.2} us/row", per_row(0), per_row(1));
}

/// Ends with whoever started it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(ready: &Path) -> SocketAddr {
    let began = Instant::now();
    while !ready.exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "the server does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::fs::read_to_string(ready).unwrap().trim().parse().unwrap()
}

/// User and system time of a process.
fn processor_ticks(process: &Child) -> [f64; 2] {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    let behind_name: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    [11, 12].map(|field| behind_name[field].parse().unwrap())
}

fn mixed(number: u64) -> u64 {
    number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn call(home: &Bytes, rows: std::ops::Range<u64>, random: bool) -> Vec<u8> {
    let (mut actions, mut cells) = (Vec::new(), BytesMut::new());
    for (index, row) in (0..).zip(rows) {
        let key = match random {
            true => format!("user{:012}", mixed(row) % 1_000_000_000_000),
            false => format!("row{row:010}"),
        };
        let value: Vec<u8> = (0..VALUE_BYTES as u64).map(|i| mixed(row + i * i) as u8).collect();
        let cell = CellRef {
            row: key.as_bytes(),
            family: b"f",
            qualifier: b"q",
            timestamp: LATEST_TIMESTAMP,
            cell_type: CellType::Put,
            value: &value,
            seq: Seq(0),
            tags: b"",
        };
        cell_block::encode_cell(&cell, &mut cells);
        let mutation = pb::MutationProto {
            row: Some(key.into()),
            mutate_type: Some(pb::mutation_proto::MutationType::Put as i32),
            timestamp: Some(LATEST_TIMESTAMP as u64),
            durability: Some(pb::mutation_proto::Durability::UseDefault as i32),
            associated_cell_count: Some(1),
            ..Default::default()
        };
        actions.push(pb::Action { index: Some(index), mutation: Some(mutation), ..Default::default() });
    }
    let action = pb::RegionAction { region: region(home), action: actions, ..Default::default() };
    let message = pb::MultiRequest { region_action: vec![action], ..Default::default() };
    let header = pb::RequestHeader {
        call_id: Some(0),
        method_name: Some("Multi".to_owned()),
        request_param: Some(true),
        cell_block_meta: Some(pb::CellBlockMeta { length: Some(cells.len() as u32) }),
        ..Default::default()
    };
    let mut frame = BytesMut::from(&[0; 4][..]);
    frame.put_slice(&header.encode_length_delimited_to_vec());
    frame.put_slice(&message.encode_length_delimited_to_vec());
    frame.put_slice(&cells);
    let len = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&len.to_be_bytes());
    frame.to_vec()
}
