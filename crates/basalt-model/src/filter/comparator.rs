// SPDX-License-Identifier: Apache-2.0
//! What a filter compares with.

use bytes::Bytes;

/// The given side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparator {
    /// Byte by byte.
    Binary(Bytes),
    /// The first bytes of the stored value, as many as given.
    BinaryPrefix(Bytes),
    /// Bytes in the middle of the stored value, as many as given.
    BinaryComponent {
        /// The bytes.
        value: Bytes,
        /// Where they lie in the stored value.
        offset: u32,
    },
    /// Equal if the combination of stored and given bits is not zero; the lengths must agree.
    Bit {
        /// The bits.
        value: Bytes,
        /// How they are combined.
        op: BitOp,
    },
    /// A big-endian 64-bit number with a sign. Values of any other length are an error once they are in a store
    /// file; before, their first eight bytes count, padded if there are fewer. So it is in HBase.
    Long(i64),
    /// A decimal number as HBase's clients store them: a scale of four bytes, then the digits as a big-endian two's complement number, of
    /// any length. Values of fewer than five bytes, or of more than 1,024, are an error.
    Decimal(Bytes),
    /// Equal to nothing that is stored.
    Null,
    /// Equal if the stored text contains this one, in whatever case. Only with EQUAL and NOT_EQUAL.
    Substring(String),
    /// Equal if the pattern is found anywhere in the stored text. Only with EQUAL and NOT_EQUAL.
    ///
    /// The syntax is that of the `regex` crate, which agrees with Java's on everything but look-around,
    /// back-references and possessive quantifiers; those are refused. `.` matches line ends too.
    Regex(String),
}

/// See [`Comparator::Bit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitOp {
    /// Bits set in both.
    And,
    /// Bits set in one of them.
    Or,
    /// Bits set in exactly one.
    Xor,
}

impl Comparator {
    /// True if only equal and not equal make sense.
    pub fn equality_only(&self) -> bool {
        matches!(self, Self::Substring(_) | Self::Regex(_))
    }
}
