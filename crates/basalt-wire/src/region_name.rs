// SPDX-License-Identifier: Apache-2.0
//! Names of regions, and the order in which they lie in `hbase:meta`.
//!
//! ```text
//! t1,row50,1795286637880.4e1742f77077c1c438a67f32eda5e30e.
//! ^  ^     ^             ^ MD5 of everything before the dot, in hexadecimal: the *encoded name*
//! |  |     region id     
//! |  start key
//! table
//! ```
//!
//! Start keys are any bytes, commas included; a name is read with its first comma and its last one.

use std::cmp::Ordering;

use bytes::Bytes;
use md5::{Digest, Md5};

/// Name of the only region of `hbase:meta`.
pub const META_REGION: &[u8] = b"hbase:meta,,1";
/// Its encoded name.
pub const META_ENCODED: &[u8] = b"1588230740";

/// The full name of a region and where its encoded part lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RegionName {
    full: Bytes,
}

const ENCODED_LEN: usize = 32;

impl RegionName {
    /// The name of a region of `table` (as text) that begins with `start`.
    pub fn new(table: &str, start: &[u8], id: u64) -> Self {
        let mut name = Vec::with_capacity(table.len() + start.len() + 56);
        name.extend_from_slice(table.as_bytes());
        name.push(b',');
        name.extend_from_slice(start);
        name.extend_from_slice(format!(",{id}").as_bytes());
        let digest = Md5::digest(&name);
        name.push(b'.');
        for byte in digest.iter() {
            name.extend_from_slice(format!("{byte:02x}").as_bytes());
        }
        name.push(b'.');
        Self { full: name.into() }
    }

    /// The full name.
    pub fn full(&self) -> &Bytes {
        &self.full
    }

    /// The encoded name.
    pub fn encoded(&self) -> &[u8] {
        let end = self.full.len() - 1;
        &self.full[end - ENCODED_LEN..end]
    }
}

/// The table that a full region name begins with; `None` if it is no region name.
pub fn table_part(name: &[u8]) -> Option<&[u8]> {
    name.iter().position(|&byte| byte == b',').map(|comma| &name[..comma])
}

/// The order of rows of `hbase:meta`: by table, then by start key, then by what follows; not as whole byte strings, because a
/// start key may hold bytes below the comma. As HBase's `MetaCellComparator`.
pub fn compare_meta_rows(a: &[u8], b: &[u8]) -> Ordering {
    let (Some(first_a), Some(first_b)) = (first_comma(a), first_comma(b)) else {
        let table = |row: &[u8]| row[..first_comma(row).unwrap_or(row.len())].to_vec();
        let order = table(a).cmp(&table(b));
        return order.then_with(|| first_comma(a).is_some().cmp(&first_comma(b).is_some()));
    };
    let (last_a, last_b) = (last_comma(a), last_comma(b));
    let middle = |row: &[u8], first: usize, last: usize| row.get(first + 1..last).unwrap_or(b"").to_vec();
    a[..first_a]
        .cmp(&b[..first_b])
        .then_with(|| middle(a, first_a, last_a).cmp(&middle(b, first_b, last_b)))
        .then_with(|| a[last_a..].cmp(&b[last_b..]))
}

fn first_comma(row: &[u8]) -> Option<usize> {
    row.iter().position(|&byte| byte == b',')
}

fn last_comma(row: &[u8]) -> usize {
    row.iter().rposition(|&byte| byte == b',').expect("the row has a comma")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_name() {
        let name = RegionName::new("t1", b"", 1_795_286_637_880);
        assert_eq!(name.encoded(), b"4e1742f77077c1c438a67f32eda5e30e");
        assert_eq!(&name.full()[..], b"t1,,1795286637880.4e1742f77077c1c438a67f32eda5e30e.");
        assert_eq!(table_part(name.full()), Some(&b"t1"[..]));
    }

    #[test]
    fn meta_rows_are_ordered_by_their_parts() {
        let sorted: [&[u8]; 9] =
            [b"t", b"t,,1", b"t,!,1", b"t,a,1", b"t,a,2", b"t,a!b,1", b"t,a,b,1", b"t!", b"t!,,1"];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(compare_meta_rows(a, b), i.cmp(&j), "{} {}", a.escape_ascii(), b.escape_ascii());
            }
        }
    }
}
