// SPDX-License-Identifier: Apache-2.0
//! What other databases have where a statement of Basalt goes on otherwise: what to write instead.

const NO_UNIQUE: &str = "CREATE UNIQUE INDEX .. ON t (column) lets a value be there once";
const NO_CHECK: &str =
    "there are no conditions on the values of a column; what writes the rows has to look at them";
const NO_FOREIGN_KEY: &str =
    "there are no foreign keys; a statement that writes can look rows up in a subquery";
const NO_RENAME: &str =
    "a table and its columns keep their names; CREATE TABLE .. AS SELECT makes a table with others";
const NO_CONFLICT: &str =
    "ON DUPLICATE KEY IGNORE keeps the row that is there, ON DUPLICATE KEY UPDATE column = value changes it";
const NO_FROM: &str =
    "MERGE INTO t USING source ON condition WHEN MATCHED THEN UPDATE SET column = value reads another table";
const NO_USING: &str = "MERGE INTO t USING source ON condition WHEN MATCHED THEN DELETE reads another table";
const WITH_BEHIND: &str =
    "WITH belongs to the query: UPSERT INTO t (column, ..) WITH q AS (..) SELECT .. FROM q";
const NO_COMMA: &str = "LIMIT takes one number; LIMIT n OFFSET m leaves out m rows";

/// What helps whoever wrote `found` behind the words `before`, in upper case, where `expected` should be.
pub(super) fn of(expected: &str, found: &str, before: &[String]) -> Option<&'static str> {
    let first = before.first().map_or("", String::as_str);
    let last = before.last().map_or("", String::as_str);
    let in_definition = first == "CREATE" || first == "ALTER";
    Some(match (found, last) {
        ("UNIQUE", _) | ("(", "UNIQUE") if in_definition => NO_UNIQUE,
        ("CHECK", _) | ("(", "CHECK") if in_definition => NO_CHECK,
        ("REFERENCES", _) | ("KEY", "FOREIGN") if in_definition => NO_FOREIGN_KEY,
        ("RENAME", _) if first == "ALTER" => NO_RENAME,
        ("ON", _) if matches!(first, "UPSERT" | "INSERT") => NO_CONFLICT,
        ("FROM", _) if first == "UPDATE" => NO_FROM,
        ("USING", _) if first == "DELETE" => NO_USING,
        ("UPSERT" | "INSERT", _) if expected.contains("in the query body") => WITH_BEHIND,
        (",", _) if before.len() > 1 && before[before.len() - 2] == "LIMIT" => NO_COMMA,
        _ => return None,
    })
}
