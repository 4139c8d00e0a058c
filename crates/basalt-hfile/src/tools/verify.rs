// SPDX-License-Identifier: Apache-2.0
//! Opening and checking a file in one go: a file that does not open is a finding, not an error.

use std::sync::Arc;

use crate::file::FileRead;
use crate::options::ReadOptions;
use crate::reader::{HFileReader, VerifyFinding};

/// Reads all of a file and returns everything that is wrong with it; nothing if it is sound.
pub fn verify(file: Arc<dyn FileRead>) -> Vec<VerifyFinding> {
    let mut findings = Vec::new();
    match HFileReader::open(file, ReadOptions::default()) {
        Ok(reader) => reader.verify(&mut |finding| findings.push(finding)),
        Err(error) => findings.push(error.into()),
    }
    findings
}
