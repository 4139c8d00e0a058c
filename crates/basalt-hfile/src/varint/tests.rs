// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn vlongs_have_the_bytes_of_hadoop() {
    let cases: [(i64, &[u8]); 8] = [
        (5, &[0x05]),
        (127, &[0x7f]),
        (-112, &[0x90]),
        (128, &[0x8f, 0x80]),
        (200, &[0x8f, 0xc8]),
        (300, &[0x8e, 0x01, 0x2c]),
        (-113, &[0x87, 0x70]),
        (i64::MAX, &[0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    ];
    for (value, bytes) in cases {
        let mut out = vec![];
        write_vlong(&mut out, value);
        assert_eq!(out, bytes, "{value}");
        assert_eq!(vlong_len(value), bytes.len());
        assert_eq!(read_vlong(bytes), Some((value, bytes.len())));
    }
}

#[test]
fn vlongs_survive_a_round_trip() {
    for shift in 0..64 {
        for delta in -1..=1 {
            for sign in [1i64, -1] {
                let value = (1i64 << shift).wrapping_add(delta).wrapping_mul(sign);
                let mut out = vec![];
                write_vlong(&mut out, value);
                assert_eq!(read_vlong(&out), Some((value, out.len())), "{value}");
                assert_eq!(read_vlong(&out[..out.len() - 1]), None, "{value} cut short");
            }
        }
    }
}

#[test]
fn lebs_survive_a_round_trip_and_reject_overflow() {
    for shift in 0..32 {
        let value = 1u32 << shift;
        let mut out = vec![];
        write_leb(&mut out, value);
        assert_eq!(read_leb(&out), Some((value, out.len())));
        assert_eq!(read_leb(&out[..out.len() - 1]), None);
    }
    assert_eq!(read_leb(&[0xff; 6]), None);
    assert_eq!(read_leb(&[0xff, 0xff, 0xff, 0xff, 0x1f]), None);
}
