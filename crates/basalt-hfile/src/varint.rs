// SPDX-License-Identifier: Apache-2.0
//! The two variable-length integers of HFiles.
//!
//! - **LEB**: unsigned LEB128 of 32 bits, 7 bits a byte, least significant group first (delta encodings, tags,
//!   protobuf lengths). `300` is `ac 02`.
//! - **VLONG**: Hadoop's `WritableUtils.writeVLong`. `-112..=127` is one byte; else a marker byte
//!   (`-112 - n` for positive values, `-120 - n` for the complement of negative ones), then `n` bytes
//!   big-endian. `5` is `05`, `128` is `8f 80`, `-113` is `87 70`.

/// Reads a LEB at the start of `bytes`: the value and its length, or `None` if it is cut short or too long.
#[inline]
pub fn read_leb(bytes: &[u8]) -> Option<(u32, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((first.into(), 1));
    }
    read_long_leb(bytes)
}

fn read_long_leb(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((u32::try_from(value).ok()?, index + 1));
        }
    }
    None
}

/// Appends a LEB.
#[inline]
pub fn write_leb(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a VLONG at the start of `bytes`: the value and its length.
#[inline(always)]
pub fn read_vlong(bytes: &[u8]) -> Option<(i64, usize)> {
    let first = *bytes.first()? as i8;
    if first >= -112 {
        return Some((first.into(), 1));
    }
    // Two bytes hold every number below 256, three those below 65,536: what neighbouring cells have in common is the
    // length, so the processor guesses this right.
    match bytes {
        [0x8f, byte, ..] => Some((i64::from(*byte), 2)),
        [0x8e, high, low, ..] => Some((i64::from(*high) << 8 | i64::from(*low), 3)),
        _ => read_long_vlong(bytes),
    }
}

fn read_long_vlong(bytes: &[u8]) -> Option<(i64, usize)> {
    let first = *bytes.first()? as i8;
    let (negative, len) =
        if first >= -120 { (false, -112 - i32::from(first)) } else { (true, -120 - i32::from(first)) };
    let len = len as usize;
    let value = match bytes.get(1..).and_then(|rest| rest.first_chunk()) {
        Some(eight) => u64::from_be_bytes(*eight) >> (64 - 8 * len as u32),
        None => bytes.get(1..1 + len)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)),
    };
    Some((if negative { !(value as i64) } else { value as i64 }, 1 + len))
}

/// The length of the VLONG at `at`, unread.
#[inline(always)]
pub(crate) fn vlong_len_at(bytes: &[u8], at: usize) -> Option<usize> {
    // Branches, where arithmetic would do: they are guessed right, and the next cell need not wait for this byte.
    match *bytes.get(at)? as i8 {
        -112.. => Some(1),
        -113 => Some(2),
        -114 => Some(3),
        first if first >= -120 => Some((-111 - i32::from(first)) as usize),
        first => Some((-119 - i32::from(first)) as usize),
    }
}

/// Bytes that `value` takes as a VLONG.
#[inline]
pub fn vlong_len(value: i64) -> usize {
    if (-112..=127).contains(&value) { 1 } else { 1 + magnitude_len(value) }
}

fn magnitude_len(value: i64) -> usize {
    let magnitude = if value < 0 { !value } else { value } as u64;
    (64 - magnitude.leading_zeros() as usize).div_ceil(8).max(1)
}

/// Appends a VLONG.
#[inline]
pub fn write_vlong(out: &mut Vec<u8>, value: i64) {
    if (-112..=127).contains(&value) {
        out.push(value as u8);
        return;
    }
    let (bytes, len) = vlong_bytes(value);
    out.extend_from_slice(&bytes[..len]);
}

/// A VLONG of more than one byte: its bytes, and how many they are.
#[inline]
pub(crate) fn vlong_bytes(value: i64) -> ([u8; 9], usize) {
    let len = magnitude_len(value);
    let (marker, magnitude) =
        if value < 0 { (-120 - len as i64, !value as u64) } else { (-112 - len as i64, value as u64) };
    let mut bytes = [marker as u8; 9];
    bytes[1..].copy_from_slice(&(magnitude << (64 - 8 * len)).to_be_bytes());
    (bytes, 1 + len)
}

/// Appends VBYTES: the length as a VLONG, then the bytes.
pub(crate) fn write_vbytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_vlong(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

/// Reads VBYTES at the start of `bytes`: the content's range.
pub(crate) fn read_vbytes(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let (len, start) = read_vlong(bytes)?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    (end <= bytes.len()).then_some(start..end)
}

#[cfg(test)]
mod tests;
