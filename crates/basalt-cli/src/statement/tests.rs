// SPDX-License-Identifier: Apache-2.0
use super::*;

fn progress(rows: u64, rows_total: Option<u64>) -> ProgressReading {
    ProgressReading { phase: "reading", rows, bytes: 0, rows_total, bytes_total: None, rows_written: 0 }
}

#[test]
fn the_timing_line_has_a_number_and_a_unit() {
    let line = |micros, rows| timing_line(Duration::from_micros(micros), &progress(rows, None));
    assert_eq!(line(450, 0), "Time: 450 µs");
    assert_eq!(line(12_345, 0), "Time: 12.35 ms");
    assert_eq!(line(75_000_000, 6_001_215), "Time: 75.000 s  (6,001,215 rows read, 80.0k rows/s)");
}

#[test]
fn positions_become_bytes() {
    let text = "select\n größe, x";
    assert_eq!(byte_of(text, 1, 1), 0);
    assert_eq!(&text[byte_of(text, 2, 9)..], "x");
    assert_eq!(byte_of(text, 9, 9), text.len());
}

#[test]
fn the_part_that_is_done_comes_from_rows_without_bytes() {
    assert_eq!(reading(&progress(5, Some(20))).fraction, Some(0.25));
    assert_eq!(reading(&progress(5, None)).fraction, None);
}

#[test]
fn changes_are_counted_in_words() {
    assert_eq!(changed_line("UPSERT", 1), "1 row upserted");
    assert_eq!(changed_line("DELETE", 1_000), "1,000 rows deleted");
}
