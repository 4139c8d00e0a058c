// SPDX-License-Identifier: Apache-2.0
use super::*;

fn of_numbers(numbers: impl Iterator<Item = i64>) -> Sketch {
    let mut sketch = Sketch::default();
    numbers.for_each(|number| sketch.add_number(number));
    sketch
}

/// Four standard deviations.
fn is_near(estimate: f64, count: usize) -> bool {
    (estimate - count as f64).abs() <= 0.26 * count as f64
}

#[test]
fn the_estimate_is_near_the_count_from_none_to_many() {
    assert_eq!(Sketch::default().estimate(), 0.0);
    for count in [1, 2, 10, 100, 500, 700, 1_000, 10_000, 1_000_000] {
        let even = of_numbers((0..count as i64).map(|number| number * 1_000));
        assert!(is_near(even.estimate(), count), "{count}: {}", even.estimate());
        let mut texts = Sketch::default();
        (0..count).for_each(|number| texts.add_text(format!("Customer#{number:09}").as_bytes()));
        assert!(is_near(texts.estimate(), count), "{count}: {}", texts.estimate());
    }
}

#[test]
fn what_was_seen_before_changes_nothing_and_sketches_merge() {
    let mut half = of_numbers(0..5_000);
    let (again, other) = (of_numbers((0..5_000).rev().chain(0..5_000)), of_numbers(4_000..10_000));
    assert_eq!(half, again);
    half.merge(&other);
    assert_eq!(half, of_numbers(0..10_000));
}

#[test]
fn texts_that_differ_in_length_or_in_a_byte_are_different() {
    let texts: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"12345678", b"12345678\0", b"123456781", b"023456781"];
    let mut sketches: Vec<[u8; REGISTERS]> = Vec::new();
    for text in texts {
        let mut sketch = Sketch::default();
        sketch.add_text(text);
        sketches.push(sketch.0);
    }
    sketches.sort_unstable();
    sketches.dedup();
    assert_eq!(sketches.len(), texts.len());
}

#[test]
fn an_entry_comes_back_and_a_damaged_one_is_an_error() {
    let mut sketches = Sketches::default();
    assert_eq!(sketches.encode(), None);
    sketches.add_key_part(1, &of_numbers(0..10));
    sketches.add_column(b"\x80\x0b", &of_numbers(0..1_000));
    sketches.add_column(b"", &of_numbers(3..4));
    let bytes = sketches.encode().unwrap();
    assert_eq!(Sketches::decode(&bytes).unwrap(), sketches);
    for len in 0..bytes.len() {
        assert!(Sketches::decode(&bytes[..len]).is_err(), "{len} bytes");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(Sketches::decode(&longer).is_err());
    let mut wrong = bytes.clone();
    *wrong.last_mut().unwrap() = 58;
    assert!(Sketches::decode(&wrong).is_err());
    let mut later = bytes;
    later[0] = 2;
    assert_eq!(Sketches::decode(&later).unwrap(), Sketches::default());
}

#[test]
fn the_hash_is_that_of_the_format() {
    // Files keep registers: these must never change.
    let mut sketch = Sketch::default();
    sketch.add_number(1);
    sketch.add_text(b"basalt, a wide-column database");
    let registers = sketch.0.iter().enumerate().filter(|(_, register)| **register > 0);
    let registers: Vec<(usize, u8)> = registers.map(|(at, register)| (at, *register)).collect();
    assert_eq!(registers, [(97, 2), (145, 5)]);
}
