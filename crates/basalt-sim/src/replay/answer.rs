// SPDX-License-Identifier: Apache-2.0
//! Answers in the form in which they were recorded.

use basalt_model::CellType;
use basalt_store::{Error, Row};
use serde_json::{Value, json};

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The cells of a row.
pub(super) fn cells(row: &Row) -> Value {
    let kind = |cell_type| match cell_type {
        CellType::Put => "Put",
        CellType::Delete => "Delete",
        CellType::DeleteColumn => "DeleteColumn",
        CellType::DeleteFamily => "DeleteFamily",
        CellType::DeleteFamilyVersion => "DeleteFamilyVersion",
    };
    let cell = |cell: basalt_model::CellRef<'_>| {
        let family = String::from_utf8_lossy(cell.family);
        let (row, qualifier, value) = (hex(cell.row), hex(cell.qualifier), hex(cell.value));
        json!([row, family, qualifier, cell.timestamp, kind(cell.cell_type), value])
    };
    row.cells().map(cell).collect()
}

/// A refusal, by the class that HBase's client sees.
pub(super) fn error(error: &Error) -> Value {
    let class = match error {
        Error::IncompatibleFilter { .. } => "IncompatibleFilterException",
        Error::BadFilter(_) => "IllegalArgumentException",
        Error::NotACounter { .. } | Error::NoSuchFamily { .. } | Error::RawColumns { .. } => {
            "DoNotRetryIOException"
        }
        Error::Filter(_) => "IOException",
        other => return json!({"error": other.to_string()}),
    };
    json!({"error": class})
}
