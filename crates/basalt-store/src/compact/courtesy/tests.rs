// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::env::hand::Hand;

/// Lookups as readers do them, one after the other for 10 ms: so many microseconds each while a compaction works, and while it rests.
fn look_up(times: &LookupTimes, clock: &Hand, working: u64, resting: u64) {
    for phase in [Phase::Working, Phase::Resting] {
        times.enter(phase);
        let took = Duration::from_micros(if phase == Phase::Working { working } else { resting });
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
