// SPDX-License-Identifier: Apache-2.0
//! The hash functions of Bloom filters, with the peculiarities of HBase's Java code: 32-bit wrapping
//! arithmetic and, in Murmur's tail, bytes that are sign-extended.

/// Which hash a filter uses; codes as in the metadata block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HashKind {
    /// Bob Jenkins's lookup3.
    Jenkins = 0,
    /// MurmurHash2, HBase's default.
    #[default]
    Murmur = 1,
    /// MurmurHash3 (x86, 32 bits).
    Murmur3 = 2,
}

impl HashKind {
    pub(crate) fn from_code(code: u32) -> Option<Self> {
        [Self::Jenkins, Self::Murmur, Self::Murmur3].into_iter().find(|kind| *kind as u32 == code)
    }

    /// Both hashes of a key.
    #[inline]
    pub(crate) fn pair(self, key: &[u8]) -> (i32, i32) {
        let hash = match self {
            Self::Jenkins => jenkins,
            Self::Murmur => murmur,
            Self::Murmur3 => murmur3,
        };
        let first = hash(key, 0);
        (first as i32, hash(key, first) as i32)
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn murmur(key: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut h = seed ^ key.len() as u32;
    let groups = key.chunks_exact(4);
    let tail = groups.remainder();
    for group in groups {
        let mut k = word(group).wrapping_mul(M);
        k = (k ^ k >> 24).wrapping_mul(M);
        h = h.wrapping_mul(M) ^ k;
    }
    if !tail.is_empty() {
        for (index, &byte) in tail.iter().enumerate().rev() {
            h ^= (byte as i8 as u32) << (8 * index);
        }
        h = h.wrapping_mul(M);
    }
    h = (h ^ h >> 13).wrapping_mul(M);
    h ^ h >> 15
}

fn murmur3(key: &[u8], seed: u32) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let scramble = |k: u32| k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let mut h = seed;
    let groups = key.chunks_exact(4);
    let tail = groups.remainder();
    for group in groups {
        h = (h ^ scramble(word(group))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let k = tail.iter().rev().fold(0u32, |k, &byte| k << 8 | u32::from(byte));
        h ^= scramble(k);
    }
    h ^= key.len() as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

fn jenkins(key: &[u8], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(key.len() as u32).wrapping_add(seed);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = key;
    while rest.len() > 12 {
        a = a.wrapping_add(word(rest));
        b = b.wrapping_add(word(&rest[4..]));
        c = c.wrapping_add(word(&rest[8..]));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    let mut last = [0; 12];
    last[..rest.len()].copy_from_slice(rest);
    a = a.wrapping_add(word(&last));
    b = b.wrapping_add(word(&last[4..]));
    c = c.wrapping_add(word(&last[8..]));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests;
