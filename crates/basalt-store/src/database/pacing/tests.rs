// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::env::hand::Hand;

const MIB: u64 = 1 << 20;

fn at_depth(depth: usize) -> Pace {
    Pace { depth: depth.into(), ..Pace::default() }
}

#[test]
fn the_rate_falls_from_four_times_that_of_flushes_to_a_small_part_of_it() {
    let pace = Pace::default();
    let default = FLUSH_RATE_DEFAULT as f64;
    assert_eq!(pace.rate(None), None);
    assert_eq!(pace.rate(Some(0.5)), None);
    assert_eq!(pace.rate(Some(0.75)), Some(default / 4.0));
    assert_eq!(pace.rate(Some(1.0)), Some(default / 64.0));
    assert_eq!(pace.rate(Some(7.0)), Some(default / 64.0), "the limit may shrink below what is taken");
    let rates: Vec<f64> =
        (51..=100).map(|part| pace.rate(Some(f64::from(part) / 100.0)).expect("slowed")).collect();
    assert!(rates[0] > 3.5 * default && rates.is_sorted_by(|a, b| a > b), "{rates:?}");
}

#[test]
fn deep_files_slow_writers_down_whatever_memory_is_left() {
    let default = FLUSH_RATE_DEFAULT as f64;
    assert_eq!(at_depth(DEPTH_SLOW).rate(None), None);
    assert_eq!(at_depth(DEPTH_MAX).rate(None), Some(default / 16.0));
    assert_eq!(at_depth(1_000).rate(None), Some(default / 16.0));
    assert_eq!(at_depth(DEPTH_MAX).rate(Some(0.6)), Some(default / 16.0), "the slower of both");
    assert_eq!(at_depth(DEPTH_SLOW + 1).rate(Some(1.0)), Some(default / 64.0), "the slower of both");
}

#[test]
fn the_rate_follows_flushes_that_are_large_enough_to_tell() {
    let pace = Pace::default();
    pace.flushed(1_000, Duration::from_secs(1));
    pace.flushed(100 * MIB, Duration::ZERO);
    assert_eq!(pace.flush_rate.load(Relaxed), FLUSH_RATE_DEFAULT);
    for _ in 0..80 {
        pace.flushed(20 * MIB, Duration::from_secs(2));
    }
    let rate = pace.flush_rate.load(Relaxed);
    assert!(rate.abs_diff(10 * MIB) < 100, "{rate}");
}

/// Writers that could write a GiB a second, of which flushes take 64 MiB a second, one memtable of half the memory after the other, and every
/// fourth of them five times as long as the others: memory is never exhausted, and nobody waits for long.
#[test]
fn writers_that_are_much_faster_than_flushes_never_meet_the_limit() {
    const LIMIT: u64 = 64 * MIB;
    const BATCH: u64 = MIB / 16;
    let (pace, clock) = (Pace::default(), Hand::default());
    let (mut active, mut sealed, mut flush_ends) = (0, 0, Duration::ZERO);
    let (mut written, mut longest, mut flushes) = (0, Duration::ZERO, 0);
    while written < 1 << 30 {
        if sealed > 0 && clock.monotonic() >= flush_ends {
            sealed = 0;
        }
        if sealed == 0 && active >= LIMIT / 2 {
            (sealed, active) = (active, 0);
            let usual = Duration::from_secs_f64(sealed as f64 / FLUSH_RATE_DEFAULT as f64);
            flush_ends = clock.monotonic() + if flushes % 4 == 3 { 5 * usual } else { usual };
            flushes += 1;
        }
        let used = active + sealed;
        assert!(used < LIMIT, "after {written} bytes");
        let fill = (sealed > 0).then(|| used as f64 / LIMIT as f64);
        if let Some(pause) = pace.pause(fill, &clock) {
            longest = longest.max(pause);
            clock.sleep(pause);
        }
        clock.sleep(Duration::from_micros(62));
        (active, written) = (active + BATCH, written + BATCH);
        pace.pay(BATCH, fill, &clock);
    }
    let rate = written as f64 / clock.monotonic().as_secs_f64();
    assert!(rate > 0.45 * FLUSH_RATE_DEFAULT as f64, "{rate} bytes a second of 32 MiB that are flushed");
    assert!(longest < Duration::from_millis(50), "{longest:?}");
}

#[test]
fn one_huge_batch_makes_the_next_writer_wait_half_a_second_at_most() {
    let (pace, clock) = (at_depth(DEPTH_MAX), Hand::default());
    pace.pay(1 << 30, None, &clock);
    assert_eq!(pace.pause(None, &clock), Some(PAUSE_MAX));
    clock.sleep(PAUSE_MAX);
    assert_eq!(pace.pause(None, &clock), None);
}
