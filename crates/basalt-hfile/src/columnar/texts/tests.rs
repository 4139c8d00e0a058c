// SPDX-License-Identifier: Apache-2.0
//! Every scheme gives back what it got, and each is chosen for what it is made for.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::compression::Compression;

fn list(strings: &[Vec<u8>]) -> StringList {
    strings.iter().map(Vec::as_slice).collect()
}

fn round_trip(encoder: &TextEncoder, vectors: &[StringList]) -> usize {
    let mut params = vec![];
    encoder.scheme.write_params(&mut params);
    let mut input = Input::new(&params);
    let read = TextScheme::read_params(encoder.scheme.number(), &mut input).unwrap();
    input.finish().unwrap();
    assert_eq!(read, encoder.scheme);
    let mut len = params.len();
    for vector in vectors {
        let mut bytes = vec![];
        encoder.encode(vector, &mut bytes);
        len += bytes.len();
        let out = read.decode(&bytes.into(), vector.len(), 1 << 30).unwrap();
        assert_eq!(out.len(), vector.len());
        assert!((0..out.len()).all(|at| out.get(at) == vector.get(at)), "{}", encoder.scheme.name());
    }
    len
}

fn check(vectors: &[StringList], codec: Compression) -> (&'static str, usize) {
    let mut codec = (codec != Compression::None).then(|| Compressor::new(codec, None).unwrap());
    let (encoder, _) = TextEncoder::choose(vectors, Form::Bytes, &mut codec);
    (encoder.scheme.name(), round_trip(&encoder, vectors))
}

/// All schemes that can hold the strings, not only the best.
fn check_all(vectors: &[StringList]) {
    let full: Vec<&StringList> = vectors.iter().collect();
    for encoder in candidates(&full, &full, Form::Bytes) {
        round_trip(&encoder, vectors);
    }
}

fn string() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => vec(any::<u8>(), 0..30),
        3 => vec(prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(255)], 0..40),
        2 => "[a-z]{3,9} (sleeps|haggles) (quickly|furiously)".prop_map(String::into_bytes),
        1 => (0usize..9).prop_map(|at| format!("word{at}").into_bytes()),
        1 => (0u64..1_000_000).prop_map(|number| format!("{number:09}").into_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn whatever_is_chosen_gives_back_its_strings(
        mut vectors in vec(vec(string(), 0..200), 1..4),
        sorted in any::<bool>(),
        width in prop_oneof![Just(None), (0usize..20).prop_map(Some)],
    ) {
        for vector in &mut vectors {
            if let Some(width) = width {
                vector.iter_mut().for_each(|string| string.resize(width, b'x'));
            }
            if sorted {
                vector.sort();
            }
        }
        let vectors: Vec<StringList> = vectors.iter().map(|vector| list(vector)).collect();
        check_all(&vectors);
        check(&vectors, Compression::None);
        check(&vectors, Compression::Zstd);
    }

    #[test]
    fn random_bytes_are_no_panic(number in 16u8..26, bytes in vec(any::<u8>(), 0..120), count in 0usize..40) {
        let mut input = Input::new(&bytes);
        if let Ok(scheme) = TextScheme::read_params(number, &mut input) {
            let _ = scheme.decode(&Bytes::copy_from_slice(input.rest()), count, 1000);
        }
    }
}

fn vectors(string: impl Fn(u32) -> String) -> Vec<StringList> {
    let vector = |vector: u32| {
        let strings: Vec<Vec<u8>> = (0..1024u32).map(|at| string(vector * 1024 + at).into_bytes()).collect();
        list(&strings)
    };
    (0..3).map(vector).collect()
}

#[test]
fn a_few_words_go_by_number() {
    let words = ["MAIL", "SHIP", "TRUCK", "RAIL", "AIR", "FOB", "REG AIR"];
    let (name, bytes) = check(
        &vectors(|at| words[(at.wrapping_mul(2_654_435_761) >> 20) as usize % 7].into()),
        Compression::None,
    );
    assert_eq!(name, "dictionary");
    assert!(bytes < 3 * (1024 * 3 / 8 + 12) + 80, "{bytes}");
}

#[test]
fn sorted_names_share_their_fronts() {
    let (name, bytes) = check(&vectors(|at| format!("customer#{at:09}.")), Compression::None);
    assert_eq!(name, "prefix");
    assert!(bytes < 3 * 1024 * 3, "{bytes}");
}

#[test]
fn names_with_a_number_become_numbers() {
    let (name, bytes) = check(&vectors(|at| format!("customer#{at:09}")), Compression::Zstd);
    assert_eq!(name, "digits");
    assert!(bytes < 3 * 32 + 64, "{bytes}");
    let mixed = |at: u32| {
        (at.wrapping_mul(0x9e37_79b9) ^ at.wrapping_mul(0x9e37_79b9) >> 15).wrapping_mul(0x85eb_ca6b)
    };
    let (name, bytes) = check(&vectors(|at| format!("Order#{:09}", mixed(at) >> 12)), Compression::Zstd);
    assert_eq!(name, "digits");
    assert!(bytes < 3 * (1024 * 20 / 8 + 24) + 64, "{bytes}");
}

#[test]
fn records_lose_what_they_have_in_common() {
    let mixed = |at: u32| {
        (at.wrapping_mul(0x9e37_79b9) ^ at.wrapping_mul(0x9e37_79b9) >> 15).wrapping_mul(0x85eb_ca6b)
    };
    let record = |at: u32| format!("{:08x}/state={:08x}{}", mixed(at), mixed(!at), " ".repeat(30));
    let (name, bytes) = check(&vectors(record), Compression::None);
    assert_eq!((name, bytes), ("pattern", 3 * 1024 * 16 + 4 + 53 + 1 + 16));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn strings_of_digits_come_back(front in "[a-z0-9]{0,20}", digits in 1usize..22, numbers in vec(vec(any::<u64>(), 0..300), 1..4)) {
        let text = |number: &u64| format!("{front}{:0digits$}", u128::from(*number) % 10u128.pow(digits as u32)).into_bytes();
        let vectors: Vec<StringList> =
            numbers.iter().map(|numbers| list(&numbers.iter().map(text).collect::<Vec<_>>())).collect();
        check_all(&vectors);
        check(&vectors, Compression::Zstd);
    }
}

#[test]
fn prose_becomes_words_and_what_has_none_becomes_codes() {
    let words = ["furiously", "final", "deposits", "sleep", "pending", "accounts", "across", "the"];
    let random = |at: u32| {
        (at.wrapping_mul(0x9e37_79b9) ^ at.wrapping_mul(0x9e37_79b9) >> 15).wrapping_mul(0x85eb_ca6b) >> 17
    };
    for (between, scheme, saving) in [(" ", "words", 6), ("", "fsst", 3)] {
        let text = |at: u32| {
            (0..6).map(|word| words[random(at * 6 + word) as usize % 8]).collect::<Vec<_>>().join(between)
        };
        let vectors = vectors(text);
        let plain: usize = vectors.iter().map(StringList::size_bytes).sum();
        let (name, bytes) = check(&vectors, Compression::None);
        assert_eq!(name, scheme);
        assert!(bytes < plain / saving, "{bytes} of {plain}");
    }
}

#[test]
fn a_vector_may_not_decode_to_more_than_the_limit() {
    let strings = list(&vec![vec![b'a'; 100]; 100]);
    let full = [&strings];
    for encoder in candidates(&full, &full, Form::Bytes) {
        if matches!(encoder.scheme, TextScheme::Fsst(_) | TextScheme::Prefix | TextScheme::Words(_)) {
            let mut bytes = vec![];
            encoder.encode(&strings, &mut bytes);
            assert!(encoder.scheme.decode(&bytes.into(), 100, 9_000).is_err());
        }
    }
}
