// SPDX-License-Identifier: Apache-2.0
//! Threads work on the same few rows; every row's history must be linearizable: its operations must have an order that
//! explains all answers and in which none comes before one that had ended when it began.
//!
//! The checker tries orders depth first and remembers which states it has seen behind which operations (Wing and Gong,
//! with Lowe's memory). In every second history calls of storage fail. At the end the power goes; what is found after
//! the reopening belongs to the history, so that durability is checked with it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_model::table::DeleteRule;
use basalt_model::{Append, CheckAndMutate, Delete, Get, Increment, Mutation, Put, TableName};
use basalt_store::env::sim::{Fault, FaultPlan, SimStorage};
use basalt_store::{Database, Error, Result, Row, Table};

use crate::support::*;

const THREADS: u64 = 4;
const ROWS: u64 = 3;
/// Operations of a thread on each row; all of a row fit into a mask of 64 bits.
const ROUNDS: u64 = 12;

/// A row: a number and a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct State {
    number: Option<i64>,
    text: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Call {
    Get,
    Put(i64),
    Delete,
    Increment(i64),
    Append(u8),
    /// Puts the second number if the first is there.
    CheckAndPut(i64, i64),
    /// A put and an append at once.
    Both(i64, u8),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Done,
    Found(State),
    Number(i64),
    Text(Vec<u8>),
    Applied(bool),
    /// It may have happened, or happen when the database is opened again.
    Unknown,
}

#[derive(Debug, Clone)]
struct Event {
    call: Call,
    answer: Answer,
    begin: u64,
    end: u64,
}

impl Event {
    /// The state after the call, if the answer fits the state before it.
    fn apply(&self, before: &State) -> Option<State> {
        let mut after = before.clone();
        let answer = match self.call {
            Call::Get => Answer::Found(before.clone()),
            Call::Put(number) => {
                after.number = Some(number);
                Answer::Done
            }
            Call::Delete => {
                after.number = None;
                Answer::Done
            }
            Call::Increment(by) => {
                let sum = before.number.unwrap_or(0) + by;
                after.number = Some(sum);
                Answer::Number(sum)
            }
            Call::Append(byte) => {
                after.text.push(byte);
                Answer::Text(after.text.clone())
            }
            Call::CheckAndPut(expected, new) => {
                let applies = before.number == Some(expected);
                if applies {
                    after.number = Some(new);
                }
                Answer::Applied(applies)
            }
            Call::Both(number, byte) => {
                after.number = Some(number);
                after.text.push(byte);
                Answer::Text(after.text.clone())
            }
        };
        (self.answer == Answer::Unknown || self.answer == answer).then_some(after)
    }
}

/// True if some order explains the answers.
fn is_linearizable(events: &[Event]) -> bool {
    assert!(events.len() < 64);
    let bits = |wanted: &dyn Fn(&Event) -> bool| {
        let chosen = events.iter().enumerate().filter(|(_, event)| wanted(event));
        chosen.fold(0_u64, |bits, (i, _)| bits | 1 << i)
    };
    let answered = bits(&|event| event.answer != Answer::Unknown);
    let mut seen = HashSet::new();
    let mut open = vec![(0_u64, State::default())];
    while let Some((done, state)) = open.pop() {
        if done & answered == answered {
            return true;
        }
        let waiting = || events.iter().enumerate().filter(|(i, _)| done & 1 << i == 0);
        let first_end = waiting().map(|(_, event)| event.end).min().unwrap_or(u64::MAX);
        for (i, event) in waiting().filter(|(_, event)| event.begin < first_end) {
            if let Some(next) = event.apply(&state)
                && seen.insert((done | 1 << i, next.clone()))
            {
                open.push((done | 1 << i, next));
            }
        }
    }
    false
}

impl Dice {
    /// Few numbers, so that conditions hold now and then.
    fn call(&mut self) -> Call {
        let number = self.roll(3) as i64;
        match self.roll(8) {
            0 | 1 => Call::Get,
            2 => Call::Put(number),
            3 => Call::Delete,
            4 => Call::Increment(1),
            5 => Call::Append(b'a' + self.roll(26) as u8),
            6 => Call::CheckAndPut(number, self.roll(3) as i64),
            _ => Call::Both(number, b'A' + self.roll(26) as u8),
        }
    }
}

fn number(value: &[u8]) -> i64 {
    i64::from_be_bytes(value.try_into().unwrap())
}

fn bytes_of(number: i64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn text_of(row: &Row) -> Answer {
    Answer::Text(row.value(b"f", b"text").unwrap_or_default().to_vec())
}

fn do_call(table: &Table, row: &str, call: &Call) -> Result<Answer> {
    let row = row.to_owned();
    let put = |number: i64| Put::new(row.clone()).add("f", "number", bytes_of(number));
    let append = |byte: u8| Append::new(row.clone()).add("f", "text", vec![byte]);
    Ok(match *call {
        Call::Get => {
            let found = table.get(&Get::new(row))?;
            let number = found.value(b"f", b"number").map(number);
            Answer::Found(State { number, text: found.value(b"f", b"text").unwrap_or_default().to_vec() })
        }
        Call::Put(number) => {
            table.put(put(number))?;
            Answer::Done
        }
        Call::Delete => {
            table.delete(Delete::new(row).column("f", "number"))?;
            Answer::Done
        }
        Call::Increment(by) => {
            let new = table.increment(Increment::new(row).add("f", "number", by))?;
            Answer::Number(number(new.value(b"f", b"number").unwrap()))
        }
        Call::Append(byte) => text_of(&table.append(append(byte))?),
        Call::CheckAndPut(expected, new) => {
            let check = CheckAndMutate::if_equals(row.clone(), "f", "number", bytes_of(expected));
            Answer::Applied(table.check_and_mutate(&check.then(put(new)))?.applied)
        }
        Call::Both(number, byte) => {
            text_of(&table.mutate_row([Mutation::from(put(number)), append(byte).into()])?)
        }
    })
}

/// The moments of one history.
struct Moments {
    next: AtomicU64,
    /// When the first call was told that the log has failed.
    log_failed: AtomicU64,
}

impl Moments {
    fn new() -> Self {
        Self { next: AtomicU64::new(0), log_failed: AtomicU64::new(u64::MAX) }
    }

    fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// What became of a call; `None` if it certainly did not happen.
    fn watch(&self, table: &Table, row: &str, call: Call) -> Option<Event> {
        let begin = self.next();
        let answer = do_call(table, row, &call);
        let end = self.next();
        match answer {
            Ok(answer) => Some(Event { call, answer, begin, end }),
            Err(Error::LogFailed { .. }) if !matches!(call, Call::Get) => {
                // Whoever began after that did not reach the log.
                let failed = self.log_failed.fetch_min(end, Ordering::SeqCst);
                (begin < failed).then_some(Event { call, answer: Answer::Unknown, begin, end: u64::MAX })
            }
            Err(_) => None,
        }
    }
}

fn row_name(row: u64) -> String {
    format!("row{row}")
}

fn open_table(storage: &SimStorage) -> Table {
    let options =
        basalt_store::OpenOptions { wal_segment_bytes: 2_000, ..options_with_stepping_clock(storage) };
    let db = Database::open(Path::new(ROOT), options).unwrap();
    let name = TableName::in_default("T");
    if db.open_table(&name).is_err() {
        let mut descriptor = descriptor("T", &["f"]);
        descriptor.families[0].delete_rule = DeleteRule::BySequence;
        db.create_table(descriptor).unwrap();
    }
    db.open_table(&name).unwrap()
}

/// The history of each row, the last look after a power loss included; and how many faults there were.
fn record(seed: u64) -> (Vec<Vec<Event>>, u64) {
    let storage = SimStorage::new(seed);
    let table = &open_table(&storage);
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    if seed.is_multiple_of(2) {
        let fault = [Fault::Io, Fault::Full, Fault::LostSync, Fault::ShortWrite][dice.roll(4) as usize];
        storage.set_faults(Some(FaultPlan { at: 1 + dice.roll(200), calls: 1 + dice.roll(3), fault }));
    }
    let moments = &Moments::new();
    let work = |thread: u64| {
        let mut dice = Dice((seed << 8 | thread) + 1);
        let calls = (0..ROWS * ROUNDS).map(|i| (i % ROWS, dice.call()));
        let calls: Vec<_> = calls.collect();
        let watched = calls.into_iter().map(|(row, call)| (row, moments.watch(table, &row_name(row), call)));
        watched.collect::<Vec<_>>()
    };
    let mut rows = vec![Vec::new(); ROWS as usize];
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        for i in 0..4 {
            // A failure is no answer to anybody.
            let _ = if i % 2 == 0 { table.flush() } else { table.major_compact() };
        }
        for (row, event) in threads.into_iter().flat_map(|thread| thread.join().unwrap()) {
            rows[row as usize].extend(event);
        }
    });
    let after = storage.power_loss();
    let table = open_table(&after);
    for (row, events) in (0..).zip(&mut rows) {
        events.push(moments.watch(&table, &row_name(row), Call::Get).expect("nothing fails any more"));
    }
    (rows, after.injected())
}

#[test]
fn every_row_is_linearizable_and_a_power_loss_does_not_change_that() {
    let (mut histories, mut events, mut unknown, mut injected) = (0, 0, 0, 0);
    for seed in 1..=200 {
        let (rows, faults) = record(seed);
        injected += faults;
        for (row, history) in rows.iter().enumerate() {
            histories += 1;
            events += history.len();
            unknown += history.iter().filter(|event| event.answer == Answer::Unknown).count();
            assert!(is_linearizable(history), "seed {seed}, row {row}: no order explains {history:#?}");
        }
    }
    report(format_args!(
        "{histories} histories of {events} operations, {unknown} without an answer, {injected} faults"
    ));
    assert!(injected > 250 && unknown > 10, "{injected} faults, {unknown} operations without an answer");
}

fn event(call: Call, answer: Answer, (begin, end): (u64, u64)) -> Event {
    Event { call, answer, begin, end }
}

fn found(number: Option<i64>) -> Answer {
    Answer::Found(State { number, text: Vec::new() })
}

#[test]
fn the_checker_refuses_stale_reads_lost_updates_and_reads_that_go_back() {
    let put = event(Call::Put(1), Answer::Done, (0, 1));
    assert!(is_linearizable(&[put.clone(), event(Call::Get, found(Some(1)), (2, 3))]));
    assert!(!is_linearizable(&[put.clone(), event(Call::Get, found(None), (2, 3))]), "stale");
    let both = |second| {
        [
            event(Call::Increment(1), Answer::Number(1), (0, 2)),
            event(Call::Increment(1), Answer::Number(second), (1, 3)),
        ]
    };
    assert!(is_linearizable(&both(2)) && !is_linearizable(&both(1)), "a lost update");
    let slow_put = event(Call::Put(1), Answer::Done, (0, 9));
    let reads = |first, second| {
        [slow_put.clone(), event(Call::Get, found(first), (1, 2)), event(Call::Get, found(second), (3, 4))]
    };
    assert!(is_linearizable(&reads(None, Some(1))) && is_linearizable(&reads(None, None)));
    assert!(!is_linearizable(&reads(Some(1), None)), "seen, then not");
    let unknown = event(Call::Put(1), Answer::Unknown, (0, u64::MAX));
    let read = |number| [unknown.clone(), event(Call::Get, found(number), (5, 6))];
    assert!(
        is_linearizable(&read(None)) && is_linearizable(&read(Some(1))) && !is_linearizable(&read(Some(2)))
    );
}
