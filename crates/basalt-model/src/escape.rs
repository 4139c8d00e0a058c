// SPDX-License-Identifier: Apache-2.0
//! Keys as people read them: HBase's escaped form (`Bytes.toStringBinary`). Printable ASCII stays, every
//! other byte is `\xHH`, and the backslash itself is `\x5C` so that the text can be read back.

use std::fmt;

/// Shows bytes in the escaped form: `basalt_model::escape::Escaped(b"a\x00")` prints `a\x00`.
pub struct Escaped<'a>(pub &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in self.0 {
            match byte {
                b'\\' => f.write_str("\\x5C")?,
                0x20..=0x7e => write!(f, "{}", byte as char)?,
                _ => write!(f, "\\x{byte:02X}")?,
            }
        }
        Ok(())
    }
}
