// SPDX-License-Identifier: Apache-2.0
use std::sync::Mutex;

use super::*;

/// Partitions of as many ranges as asked for, of one row each.
fn deal(sizes: &[usize]) -> (Deal, Vec<KeyRange>) {
    let mut all = vec![];
    let mut partition = |size: &usize| {
        let ranges: Vec<_> = (all.len()..all.len() + size).map(row).collect();
        all.extend(ranges.clone());
        Partition { ranges, bytes: 0 }
    };
    let partitions: Vec<_> = sizes.iter().map(&mut partition).collect();
    (Deal::new(&Work { partitions, is_backwards: false }), all)
}

fn row(number: usize) -> KeyRange {
    let key = |number: usize| (number as u32).to_be_bytes().to_vec().into();
    KeyRange { start: key(number), end: Some(key(number + 1)) }
}

fn rows(ranges: &[KeyRange]) -> Vec<usize> {
    let number = |key: &[u8]| u32::from_be_bytes(key.try_into().unwrap()) as usize;
    ranges.iter().flat_map(|range| number(&range.start)..number(range.end.as_ref().unwrap())).collect()
}

#[test]
fn a_partition_that_is_done_does_what_the_others_have_left() {
    let (deal, all) = deal(&[5, 11, 0, 8]);
    let mut read = vec![];
    let mut largest = 0;
    while let Some(part) = deal.take(2) {
        assert!(!part.is_empty());
        largest = largest.max(rows(&part).len());
        read.extend(rows(&part));
    }
    assert!(largest < 11, "the last can be helped, too");
    read.sort_unstable();
    assert_eq!(read, rows(&all));
    assert_eq!(deal.take(1), None);
}

#[test]
fn the_own_ranges_come_in_order_and_as_one_where_they_touch() {
    let (deal, all) = deal(&[16, 16]);
    let first = deal.take(0).unwrap();
    assert_eq!(first, [KeyRange { start: row(0).start, end: row(3).end }]);
    let mut read = rows(&first);
    while read.len() < 16 {
        read.extend(rows(&deal.take(0).unwrap()));
    }
    assert_eq!(read, rows(&all[..16]));
}

#[test]
fn every_range_is_read_once_however_fast_the_partitions_are() {
    for seed in 0..200 {
        let sizes = [seed % 7, 40, seed % 3, 17];
        let (deal, all) = deal(&sizes);
        let read = Mutex::new(vec![]);
        std::thread::scope(|scope| {
            for partition in 0..sizes.len() {
                let (deal, read) = (&deal, &read);
                scope.spawn(move || {
                    while let Some(part) = deal.take(partition) {
                        read.lock().unwrap().extend(rows(&part));
                    }
                });
            }
        });
        let mut read = read.into_inner().unwrap();
        read.sort_unstable();
        assert_eq!(read, rows(&all), "seed {seed}");
    }
}

#[test]
fn backwards_everybody_takes_the_last_range_that_is_left() {
    let partition = |rows: std::ops::Range<usize>| Partition { ranges: rows.map(row).collect(), bytes: 0 };
    let deal = Deal::new(&Work { partitions: vec![partition(0..3), partition(3..8)], is_backwards: true });
    let taken: Vec<_> = (0..8).map(|turn| rows(&deal.take(turn % 2).unwrap())).collect();
    assert_eq!(taken.concat(), (0..8).rev().collect::<Vec<_>>());
    assert_eq!((deal.take(0), deal.take(1)), (None, None));
}
