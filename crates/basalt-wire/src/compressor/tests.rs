// SPDX-License-Identifier: Apache-2.0
use super::*;

const ALL: [Compressor; 4] = [Compressor::Gzip, Compressor::Zlib, Compressor::Snappy, Compressor::Lz4];

fn samples() -> Vec<Vec<u8>> {
    let mixed =
        (0..100_000_u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> (i % 31)).to_be_bytes()).collect();
    vec![vec![7], b"row row row".to_vec(), vec![0; 1_000_000], mixed]
}

#[test]
fn what_is_packed_comes_back() {
    for codec in ALL {
        for raw in samples() {
            let back = codec.decompress(codec.compress(&raw)).unwrap();
            assert!(back == raw, "{codec:?}, {} bytes", raw.len());
        }
    }
}

#[test]
fn cuts_and_lies_are_refused() {
    for codec in ALL {
        let packed = codec.compress(b"some cells, some cells, some cells");
        for len in 0..packed.len() {
            let cut = codec.decompress(packed.slice(..len));
            assert!(cut.is_err() || cut.unwrap().is_empty(), "{codec:?} cut to {len}");
        }
    }
    let huge = Bytes::from_static(b"\x7f\xff\xff\xff\0\0\0\x01x");
    assert!(Compressor::Snappy.decompress(huge.clone()).is_err());
    assert!(Compressor::Lz4.decompress(huge).is_err());
}

#[test]
fn classes() {
    let class = "org.apache.hadoop.io.compress.GzipCodec";
    assert_eq!(Compressor::of_class(class).unwrap(), Compressor::Gzip);
    let refused = Compressor::of_class("com.example.Rot13").unwrap_err();
    assert_eq!(refused.class(), crate::exception::UNSUPPORTED_COMPRESSOR);
}
