// SPDX-License-Identifier: Apache-2.0
//! Recorded operations of the HBase client between the statements, `!hbase put TABLE ROW FAMILY QUALIFIER VALUE`: rows,
//! qualifiers and values are hexadecimal, `-` is the empty one.

use anyhow::{Context, Result, bail, ensure};
use basalt_model::{Delete, FamilyDescriptor, Put, Scan, TableDescriptor, TableName};
use basalt_store::Database;

/// What such an operation begins with.
pub(super) const PREFIX: &str = "!hbase ";

/// A cell as (row, family, qualifier, value).
pub(super) type Cell = [String; 4];

/// Runs an operation; the cells are those of a scan.
pub(super) fn run(database: &Database, operation: &str) -> Result<Option<Vec<Cell>>> {
    let words: Vec<&str> = operation.split_whitespace().collect();
    let [_, verb, table, arguments @ ..] = words.as_slice() else { bail!("no operation: {operation}") };
    let name = TableName::in_default(*table);
    match (*verb, arguments) {
        ("create", families) => {
            let families = families.iter().map(|family| FamilyDescriptor::of_hbase(*family));
            database.create_table(families.fold(TableDescriptor::new(name), TableDescriptor::family))?;
        }
        ("drop", []) => database.drop_table(&name)?,
        ("put", [row, family, qualifier, value]) => {
            let put = Put::new(bytes(row)?).add(family.to_string(), bytes(qualifier)?, bytes(value)?);
            database.open_table(&name)?.put(put)?;
        }
        ("delete", [row]) => database.open_table(&name)?.delete(Delete::new(bytes(row)?))?,
        ("scan", []) => {
            let mut cells = vec![];
            for row in database.open_table(&name)?.scan(&Scan::new())? {
                cells.extend(row?.cells().map(|cell| {
                    let family = String::from_utf8_lossy(cell.family).into_owned();
                    [hex(cell.row), family, hex(cell.qualifier), hex(cell.value)]
                }));
            }
            return Ok(Some(cells));
        }
        _ => bail!("no such operation: {operation}"),
    }
    Ok(None)
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    if hex == "-" {
        return Ok(vec![]);
    }
    ensure!(hex.is_ascii() && hex.len().is_multiple_of(2), "no hexadecimal digits: {hex}");
    let pair = |at: usize| {
        u8::from_str_radix(&hex[at..at + 2], 16).with_context(|| format!("no hexadecimal digits: {hex}"))
    };
    (0..hex.len()).step_by(2).map(pair).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
