// SPDX-License-Identifier: Apache-2.0
use super::*;

fn payloads() -> Vec<Vec<u8>> {
    let noise = |len: usize| {
        let mut state = 1u64;
        (0..len)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 56) as u8
            })
            .collect::<Vec<_>>()
    };
    vec![
        vec![],
        vec![7],
        b"abcabcabcabcabc".to_vec(),
        vec![0; 65_536],
        noise(1000),
        noise(70_000),
        noise(600_000),
        vec![9; 300_000],
    ]
}

#[test]
fn every_codec_gives_back_what_it_took() {
    for codec in Compression::ALL {
        let mut compressor = Compressor::new(codec, None).unwrap();
        for raw in payloads() {
            let mut stored = vec![];
            compressor.compress(&raw, &mut stored);
            let back = decompress(codec, &stored.into(), raw.len()).unwrap();
            assert!(back == raw, "{codec} {}", raw.len());
        }
    }
}

#[test]
fn a_wrong_declared_size_is_damage() {
    for codec in Compression::ALL {
        let mut compressor = Compressor::new(codec, None).unwrap();
        for raw in payloads() {
            let mut stored = vec![];
            compressor.compress(&raw, &mut stored);
            let stored = Bytes::from(stored);
            for declared in [raw.len() + 1, raw.len().wrapping_sub(1), raw.len() * 2 + 5, 1 << 28] {
                if declared != raw.len() && declared <= 1 << 28 {
                    assert!(
                        decompress(codec, &stored, declared).is_err(),
                        "{codec} {} as {declared}",
                        raw.len()
                    );
                }
            }
        }
    }
}

#[test]
fn both_framings_of_zstd_are_read() {
    let raw = b"hello hello hello".repeat(50);
    let bare = zstd::bulk::compress(&raw, 3).unwrap();
    assert_eq!(decompress(Compression::Zstd, &bare.into(), raw.len()).unwrap(), raw);
    // Two frames in a row, as a stream that was flushed in between.
    let mut two = zstd::bulk::compress(&raw[..100], 3).unwrap();
    two.extend(zstd::bulk::compress(&raw[100..], 3).unwrap());
    assert_eq!(decompress(Compression::Zstd, &two.into(), raw.len()).unwrap(), raw);
    // A frame that is not the writer's: no content size.
    let mut stream = zstd::stream::Encoder::new(vec![], 1).unwrap();
    std::io::Write::write_all(&mut stream, &raw).unwrap();
    assert_eq!(decompress(Compression::Zstd, &stream.finish().unwrap().into(), raw.len()).unwrap(), raw);
}
