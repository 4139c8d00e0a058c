// SPDX-License-Identifier: Apache-2.0
//! The byte forms of FLOAT, DOUBLE and TIMESTAMP that need arithmetic. Integers need none: big-endian, with
//! the sign bit flipped for the signed types.
//!
//! FLOAT and DOUBLE sort as bytes because positive numbers get the sign bit set and negative ones all bits
//! inverted; Phoenix then adds one, which leaves no number at all-zero bytes:
//!
//! ```text
//! FLOAT   -inf 00800000   -1.5 40400000   -0 80000000   0 80000001   1.5 bfc00001   NaN ffc00001
//! ```
//!
//! TIMESTAMP is 8 bytes of milliseconds (as DATE) and 4 bytes of nanoseconds *below the millisecond*.

/// Nanoseconds in a millisecond.
pub const NANOS_PER_MILLI: i64 = 1_000_000;

const SIGN_32: u32 = 0x8000_0000;
const SIGN_64: u64 = 0x8000_0000_0000_0000;

/// FLOAT's bytes. Every NaN is written as the one NaN of Java.
#[inline]
pub fn encode_f32(value: f32) -> [u8; 4] {
    let bits = if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() };
    let mask = ((bits as i32) >> 31) as u32 | SIGN_32;
    (bits ^ mask).wrapping_add(1).to_be_bytes()
}

/// The inverse of [`encode_f32`].
#[inline]
pub fn decode_f32(bytes: [u8; 4]) -> f32 {
    let ordered = u32::from_be_bytes(bytes).wrapping_sub(1);
    let mask = ((!ordered as i32) >> 31) as u32 | SIGN_32;
    f32::from_bits(ordered ^ mask)
}

/// DOUBLE's bytes. Every NaN is written as the one NaN of Java.
#[inline]
pub fn encode_f64(value: f64) -> [u8; 8] {
    let bits = if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
    let mask = ((bits as i64) >> 63) as u64 | SIGN_64;
    (bits ^ mask).wrapping_add(1).to_be_bytes()
}

/// The inverse of [`encode_f64`].
#[inline]
pub fn decode_f64(bytes: [u8; 8]) -> f64 {
    let ordered = u64::from_be_bytes(bytes).wrapping_sub(1);
    let mask = ((!ordered as i64) >> 63) as u64 | SIGN_64;
    f64::from_bits(ordered ^ mask)
}

/// Milliseconds and the nanoseconds below them, of nanoseconds since the epoch.
#[inline]
pub fn split_nanos(nanos: i64) -> (i64, u32) {
    (nanos.div_euclid(NANOS_PER_MILLI), nanos.rem_euclid(NANOS_PER_MILLI) as u32)
}

/// Milliseconds and the nanoseconds below them, of the two stored numbers. Old writers stored the
/// nanoseconds of the whole second, which shows in a number of a million or more; `None` if it is no
/// number of nanoseconds at all.
#[inline]
pub fn timestamp_parts(millis: i64, stored_nanos: u32) -> Option<(i64, u32)> {
    if stored_nanos < NANOS_PER_MILLI as u32 {
        return Some((millis, stored_nanos));
    }
    if stored_nanos >= 1_000_000_000 {
        return None;
    }
    let second = millis.checked_sub(millis.rem_euclid(1000))?;
    Some((second.checked_add((stored_nanos / 1_000_000) as i64)?, stored_nanos % 1_000_000))
}
