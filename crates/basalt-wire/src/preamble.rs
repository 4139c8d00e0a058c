// SPDX-License-Identifier: Apache-2.0
//! The first six bytes of a connection, and the connection header.
//!
//! ```text
//! "HBas" 00 50     the usual connection: a header follows, then requests
//! "HBas" 00 51/52  the same over SASL: told to go on without
//! "Regist"         asks for the cluster's id; answered by one frame, then the end
//! "Securi"         asks for the server's principal; refused, then one of the above follows
//! ```
//!
//! ```text
//! header: int32 length (big-endian) | ConnectionHeader
//! ```

use crate::exception::{self, Exception};

/// Length of the preamble.
pub const PREAMBLE_LEN: usize = 6;
/// Longest connection header that is read, in bytes.
pub const HEADER_LEN_MAX: u32 = 1 << 20;
/// What a client over SASL is told: status 0, then "switch to simple".
pub const SWITCH_TO_SIMPLE: [u8; 8] = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xa8];

/// What the client wants of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preamble {
    /// A header and requests follow.
    Simple,
    /// SASL: answer [`SWITCH_TO_SIMPLE`], skip one message, then as [`Preamble::Simple`].
    Sasl,
    /// One answer with the cluster's id, then the end.
    Registry,
    /// An exception, then another preamble.
    Security,
}

impl Preamble {
    /// Reads the first six bytes; an exception that ends the connection for anything unknown.
    pub fn decode(bytes: [u8; PREAMBLE_LEN]) -> Result<Self, Exception> {
        match &bytes {
            b"Regist" => Ok(Self::Registry),
            b"Securi" => Ok(Self::Security),
            [b'H', b'B', b'a', b's', 0, 0x50] => Ok(Self::Simple),
            [b'H', b'B', b'a', b's', 0, 0x51 | 0x52] => Ok(Self::Sasl),
            [b'H', b'B', b'a', b's', 0, auth] => Err(Exception::new(
                exception::BAD_AUTH,
                format!("authentication 0x{auth:02x} is not known; expected 0x50 (simple)"),
            )),
            [b'H', b'B', b'a', b's', version, _] => Err(Exception::new(
                exception::WRONG_VERSION,
                format!("protocol version {version} is not known; expected 0"),
            )),
            // The first words are part of the protocol: clients recognise a server without registry by them.
            found => Err(Exception::new(
                exception::FATAL_CONNECTION,
                format!(
                    "Expected HEADER=HBas but received HEADER={}; this port speaks HBase's RPC",
                    found[..4].escape_ascii()
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preambles() {
        assert_eq!(Preamble::decode(*b"HBas\x00\x50").unwrap(), Preamble::Simple);
        assert_eq!(Preamble::decode(*b"HBas\x00\x51").unwrap(), Preamble::Sasl);
        assert_eq!(Preamble::decode(*b"Regist").unwrap(), Preamble::Registry);
        assert_eq!(Preamble::decode(*b"Securi").unwrap(), Preamble::Security);
    }

    #[test]
    fn unknown_preambles_name_what_was_expected() {
        let class = |bytes| Preamble::decode(bytes).unwrap_err().class().simple_name();
        assert_eq!(class(*b"HBas\x01\x50"), "WrongVersionException");
        assert_eq!(class(*b"HBas\x00\x53"), "BadAuthException");
        let http = Preamble::decode(*b"GET / ").unwrap_err();
        assert_eq!(http.class().simple_name(), "FatalConnectionException");
        assert!(http.message().starts_with("Expected HEADER="), "{}", http.message());
    }
}
