// SPDX-License-Identifier: Apache-2.0
//! A value as a checksummed text: one header line, then JSON.
//!
//! ```text
//! basalt manifest 2 1234 9a3bc01d\n        magic, format version, bytes of JSON, their CRC-32C in hexadecimal
//! {"epoch": 3, …}
//! ```

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// The bytes of a value.
pub(crate) fn encode(magic: &str, format: u32, value: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec_pretty(value).expect("maps have string keys and nothing here can fail");
    let mut bytes = format!("{magic} {format} {} {:08x}\n", json.len(), crc32c::crc32c(&json)).into_bytes();
    bytes.extend_from_slice(&json);
    bytes
}

/// The value of some bytes, and where its JSON begins. `path` is named in errors, `supported` is the newest format known.
pub(crate) fn decode<T: DeserializeOwned>(
    magic: &str,
    supported: u32,
    bytes: &[u8],
    path: &Path,
) -> Result<(T, u64)> {
    let corrupt = |what: &str| Error::corrupt(path, 0, what);
    let line_end = bytes.iter().take(200).position(|&byte| byte == b'\n');
    let line_end = line_end.ok_or_else(|| corrupt("the header line has no end"))?;
    let line = std::str::from_utf8(&bytes[..line_end]).map_err(|_| corrupt("the header line is not text"))?;
    let fields =
        line.strip_prefix(magic).ok_or_else(|| corrupt(&format!("the header line lacks `{magic}`")))?;
    let mut fields = fields.split(' ').skip(1);
    let format: Option<u32> = fields.next().and_then(|field| field.parse().ok());
    let found = format.ok_or_else(|| corrupt("the header line has no format version"))?;
    if found > supported {
        return Err(Error::NewerFormat { path: path.to_owned(), found, supported });
    }
    let len: Option<usize> = fields.next().and_then(|field| field.parse().ok());
    let expected = fields.next().and_then(|field| u32::from_str_radix(field, 16).ok());
    let (Some(len), Some(expected)) = (len, expected) else {
        return Err(corrupt("the header line has no length or checksum"));
    };
    let json_at = line_end as u64 + 1;
    let json = &bytes[line_end + 1..];
    if json.len() != len {
        let what = format!("expected {len} bytes after the header line, found {}", json.len());
        return Err(Error::corrupt(path, json_at, what));
    }
    let found = crc32c::crc32c(json);
    if found != expected {
        let what = format!("checksum mismatch: expected {expected:#010x}, found {found:#010x}");
        return Err(Error::corrupt(path, json_at, what));
    }
    let value = serde_json::from_slice(json)
        .map_err(|error| Error::corrupt(path, json_at, format!("the content does not parse: {error}")))?;
    Ok((value, json_at))
}
