// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::env::hand::Hand;

/// Lookups as readers do them, one after the other for 10 ms: so many microseconds each while a compaction works, and while it rests.
fn look_up(times: &LookupTimes, clock: &Hand, working: u64, resting: u64) {
    times.polite.store(1, Relaxed);
    for (at_work, took) in [(1, working), (0, resting)] {
        times.at_work.store(at_work, Relaxed);
        let took = Duration::from_micros(took);
        let until = clock.monotonic() + Duration::from_millis(10);
        while clock.monotonic() < until {
            times.measure(clock, || clock.sleep(took));
        }
    }
}

fn rest_after(rounds: usize, working: u64, resting: u64) -> u32 {
    let (times, clock) = (LookupTimes::default(), Hand::default());
    for _ in 0..rounds {
        look_up(&times, &clock, working, resting);
        times.compare();
    }
    times.rest.load(Relaxed)
}

#[test]
fn a_compaction_that_nobody_notices_rests_just_enough_to_compare() {
    assert_eq!(rest_after(50, 10, 10), REST_LEAST);
    assert_eq!(rest_after(50, 12, 10), REST_LEAST);
}

#[test]
fn a_compaction_that_slows_lookups_down_rests_more_and_more() {
    let rests = [1, 4, 8, 50].map(|rounds| rest_after(rounds, 20, 10));
    assert!(rests.is_sorted() && rests[0] == REST_LEAST && rests[3] == REST_MOST, "{rests:?}");
}

#[test]
fn rest_ends_when_nobody_looks_anything_up() {
    let (times, clock) = (LookupTimes::default(), Hand::default());
    times.rest.store(REST_MOST, Relaxed);
    let mut courtesy = Courtesy::new(&times, &clock, &|| false);
    for _ in 0..10 * PHASES {
        clock.sleep(WORK);
        courtesy.give_way();
    }
    assert_eq!(times.rest.load(Relaxed), 0);
}

#[test]
fn work_and_rest_are_in_proportion_and_debt_comes_first() {
    for (behind, rested) in [(false, WORK * 2), (true, Duration::ZERO)] {
        let (times, clock) = (LookupTimes::default(), Hand::default());
        times.rest.store(2_000, Relaxed);
        let is_behind = || behind;
        let mut courtesy = Courtesy::new(&times, &clock, &is_behind);
        courtesy.give_way();
        assert_eq!(clock.monotonic(), Duration::ZERO, "it has not worked yet");
        clock.sleep(WORK);
        courtesy.give_way();
        assert_eq!(clock.monotonic(), WORK + rested);
    }
}

#[test]
fn compactions_rest_together() {
    let (times, clock) = (LookupTimes::default(), Hand::default());
    times.rest.store(1_000, Relaxed);
    let not_behind = || false;
    let mut first = Courtesy::new(&times, &clock, &not_behind);
    clock.sleep(WORK / 2);
    let mut second = Courtesy::new(&times, &clock, &not_behind);
    assert_eq!(times.at_work.load(Relaxed), 2);
    // The first one begins a rest; the second, half a rest later, joins it although it has not worked as long.
    clock.sleep(WORK / 2);
    times.rest_end.store((clock.monotonic() + WORK).as_nanos() as u64, Relaxed);
    clock.sleep(WORK / 2);
    second.give_way();
    assert_eq!(clock.monotonic(), WORK * 2);
    first.give_way();
    assert_eq!(clock.monotonic(), WORK * 4, "it has worked for two and rests as long");
    drop((first, second));
    assert_eq!((times.at_work.load(Relaxed), times.polite.load(Relaxed)), (0, 0));
}

#[test]
fn lookups_are_measured_only_while_a_compaction_runs() {
    let (times, clock) = (LookupTimes::default(), Hand::default());
    let count = || times.working.count.load(Relaxed);
    let look_up = || {
        for _ in 0..80 {
            times.measure(&clock, || clock.sleep(Duration::from_micros(1)));
        }
    };
    look_up();
    assert_eq!(count(), 0);
    let courtesy = Courtesy::new(&times, &clock, &|| false);
    look_up();
    assert_eq!(count(), 10);
    drop(courtesy);
    look_up();
    assert_eq!(count(), 10);
}
