// SPDX-License-Identifier: Apache-2.0
use std::cmp::Reverse;
use std::collections::BTreeSet;

use basalt_model::{TableId, WriteBatch};

use super::*;

fn entry(row: &[u8], seq: u64) -> Entry {
    let mut batch = WriteBatch::new();
    let mut builder = batch.row(TableId(1), row).unwrap();
    builder.put(b"f", b"q", 1, b"").unwrap();
    builder.finish();
    Entry::new(Seq(seq), batch.freeze().rows.remove(0).1)
}

fn sorted(places: &[(Vec<u8>, u64)]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = places.iter().map(|(row, seq)| entry(row, *seq)).collect();
    sort(&mut entries);
    entries
}

/// Row, and the number the other way round: in the order of entries.
type Known = BTreeSet<(Vec<u8>, Reverse<u64>)>;

fn listed<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<(Vec<u8>, Reverse<u64>)> {
    entries.map(|entry| (entry.row().to_vec(), Reverse(entry.seq.0))).collect()
}

fn check(entries: &Entries, known: &Known) {
    assert_eq!(listed(entries.iter()), known.iter().cloned().collect::<Vec<_>>());
    assert_eq!(entries.len(), known.len());
    for chunk in &entries.chunks {
        assert!((1..=CHUNK_MAX).contains(&chunk.entries.len()));
        assert_eq!(chunk.head, chunk.entries[0].head);
        for entry in &chunk.entries {
            assert!(entry.row().starts_with(&entries.shared));
            assert_eq!(entry.head, Head::of(entry.row(), entries.shared.len()));
        }
    }
}

/// Short and long rows, many of them alike in their first bytes.
fn row(random: &mut u64) -> Vec<u8> {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let number = *random >> 33;
    match number % 4 {
        0 => (number % 50).to_be_bytes()[7..].to_vec(),
        1 => format!("row{:09}", number % 5_000).into_bytes(),
        2 => [&b"row00000"[..], &vec![0; (number % 3) as usize]].concat(),
        _ => format!("{}", number % 100_000).into_bytes(),
    }
}

#[test]
fn runs_of_every_length_end_up_in_order() {
    let (mut entries, mut known, mut random) = (Entries::default(), Known::new(), 7);
    for (seq, len) in (1..).zip([1, 3, 700, 1, 40, 9, 2_000, 1, 8, 300, 1, 1, 1, 5_000, 2, 30]) {
        let run: BTreeSet<Vec<u8>> = (0..len).map(|_| row(&mut random)).collect();
        let run: Vec<(Vec<u8>, u64)> = run.into_iter().map(|row| (row, seq)).collect();
        entries.insert(sorted(&run));
        known.extend(run.into_iter().map(|(row, seq)| (row, Reverse(seq))));
        check(&entries, &known);
    }
}

#[test]
fn single_entries_end_up_in_order_and_are_taken_out_again() {
    let (mut entries, mut known, mut random) = (Entries::default(), Known::new(), 11);
    let mut all = Vec::new();
    for seq in 1..=3_000 {
        let row = row(&mut random);
        entries.insert(sorted(&[(row.clone(), seq)]));
        known.insert((row.clone(), Reverse(seq)));
        all.push((row, seq));
    }
    check(&entries, &known);
    assert!(entries.remove(b"row", Seq(1)).is_none());
    for (row, seq) in all.iter().filter(|(_, seq)| seq % 7 != 0) {
        let removed = entries.remove(row, Seq(*seq)).unwrap();
        assert_eq!((removed.row(), removed.seq.0), (&row[..], *seq));
        assert!(entries.remove(row, Seq(*seq)).is_none());
        known.remove(&(row.clone(), Reverse(*seq)));
    }
    check(&entries, &known);
    for (row, seq) in all.iter().filter(|(_, seq)| seq % 7 == 0) {
        entries.remove(row, Seq(*seq)).unwrap();
    }
    check(&entries, &Known::new());
}

#[test]
fn every_place_is_found_from_both_sides() {
    let (mut entries, mut known, mut random) = (Entries::default(), Known::new(), 13);
    for seq in 1..=900 {
        let row = row(&mut random);
        entries.insert(sorted(&[(row.clone(), seq)]));
        known.insert((row, Reverse(seq)));
    }
    let rows: BTreeSet<Vec<u8>> = known.iter().map(|(row, _)| row.clone()).collect();
    for row in rows.into_iter().chain([b"".to_vec(), b"row00000".to_vec(), vec![0xff; 9]]) {
        for seq in [u64::MAX, 450, 1] {
            let place = (row.clone(), Reverse(seq));
            let behind: Vec<_> = known.range(place.clone()..).cloned().collect();
            let before: Vec<_> = known.range(..place).rev().cloned().collect();
            let place = entries.place(&row, Seq(seq));
            assert_eq!(listed(entries.from(&place)), behind);
            assert_eq!(listed(entries.back_from(Some(&place))), before);
        }
    }
    assert_eq!(listed(entries.back_from(None)), known.iter().rev().cloned().collect::<Vec<_>>());
}

#[test]
fn entries_of_many_rows_are_found_together() {
    let (mut entries, mut known, mut random) = (Entries::default(), Known::new(), 17);
    entries.each_of_rows(&[b"a"], |entry| panic!("{entry:?} of nothing"));
    for seq in 1..=3_000 {
        let row = row(&mut random);
        entries.insert(sorted(&[(row.clone(), seq)]));
        known.insert((row, Reverse(seq)));
    }
    for step in [1, 3, 50] {
        let wanted: BTreeSet<Vec<u8>> = (0..2_000 / step).map(|_| row(&mut random)).collect();
        let rows: Vec<&[u8]> = wanted.iter().map(Vec::as_slice).collect();
        let expected: Vec<_> = known.iter().filter(|(row, _)| wanted.contains(row)).cloned().collect();
        let mut found = vec![];
        entries.each_of_rows(&rows, |entry| found.push((entry.row().to_vec(), Reverse(entry.seq.0))));
        assert_eq!(found, expected);
    }
}

/// What all rows share gets shorter with rows that are shorter, or differ earlier.
#[test]
fn rows_that_are_alike_for_long_end_up_in_order() {
    let long = "x".repeat(SHARED_MAX + 3);
    let (mut entries, mut known) = (Entries::default(), Known::new());
    let rows =
        [&*long, "xxxxxxxxxxxxxxxxb", "xxxxxxxxxxxxxxxxa1", "xxxxxxxxxxxx", "xxxxxxxxxxxxy", "x", "w", "y"];
    for (seq, row) in (1..).zip(rows) {
        for row in [row.to_owned(), format!("{row}0"), format!("{row}12345678")] {
            entries.insert(sorted(&[(row.clone().into_bytes(), seq)]));
            known.insert((row.into_bytes(), Reverse(seq)));
            check(&entries, &known);
            for row in rows {
                let behind = known.iter().filter(|(known, _)| &known[..] >= row.as_bytes()).count();
                assert_eq!(entries.from(&entries.before(row.as_bytes())).count(), behind, "{row}");
            }
        }
    }
}

#[test]
fn rows_in_order_fill_their_chunks() {
    let mut entries = Entries::default();
    for first in (0..10_000).step_by(100) {
        let run: Vec<_> = (first..first + 100).map(|i| (format!("{i:05}").into_bytes(), 1)).collect();
        entries.insert(sorted(&run));
    }
    assert_eq!(entries.chunks.len(), 10_000_usize.div_ceil(CHUNK_MAX));
    assert!(entries.chunks.iter().all(|chunk| chunk.entries.capacity() <= CHUNK_MAX));
}

#[test]
#[should_panic(expected = "share a sequence number")]
fn an_entry_is_not_added_twice() {
    let mut entries = Entries::default();
    entries.insert(sorted(&[(b"a".to_vec(), 1), (b"b".to_vec(), 1)]));
    entries.insert(sorted(&[(b"b".to_vec(), 1)]));
}
