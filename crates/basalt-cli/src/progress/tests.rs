// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn the_line_names_rows_bytes_rate_and_time_left() {
    let reading =
        Reading { label: "orders".into(), rows: 1_250_000, bytes: 80_500_000, fraction: Some(0.25) };
    assert_eq!(
        describe(&reading, Duration::from_secs(5)),
        "orders  1,250,000 rows  80.5 MB  250k rows/s  25%  0:15 left"
    );
    let unknown = Reading { label: "query".into(), ..Reading::default() };
    assert_eq!(describe(&unknown, Duration::from_secs(65)), "query  1:05");
}

#[test]
fn counters_know_their_part() {
    let counters = Counters::default();
    assert_eq!(counters.read(String::new()).fraction, None);
    counters.bytes_total.store(200, Ordering::Relaxed);
    counters.bytes.store(50, Ordering::Relaxed);
    assert_eq!(counters.read(String::new()).fraction, Some(0.25));
}

#[test]
fn durations_have_fitting_units() {
    let shown = [45, 12_300, 4_560_000, 125_000_000].map(|micros| duration(Duration::from_micros(micros)));
    assert_eq!(shown, ["45 µs", "12.3 ms", "4.56 s", "2 min 05 s"]);
}
