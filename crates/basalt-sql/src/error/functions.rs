// SPDX-License-Identifier: Apache-2.0
//! Phoenix's functions that there are not here, and what to use instead.

const NO_SEGMENTS: &str = "a scan is not cut into segments that a statement could name; LIMIT n OFFSET (key) = (values) reads a table page by page, and SYSTEM.FILES lists its regions";
const NO_BSON: &str =
    "there is no type BSON; keep JSON in a VARCHAR, for JSON_VALUE, JSON_QUERY, JSON_EXISTS and JSON_MODIFY";

const INSTEAD: [(&str, &str); 10] = [
    ("SCAN_START_KEY", NO_SEGMENTS),
    ("SCAN_END_KEY", NO_SEGMENTS),
    ("TOTAL_SEGMENTS", NO_SEGMENTS),
    (
        "TRANSACTIONPROVIDERNAME",
        "tables have no transaction provider; each statement is a transaction of its own",
    ),
    (
        "DECODE_VIEW_INDEX_ID",
        "indexes of views are tables of their own and have no such number; INFORMATION_SCHEMA.INDEXES lists them",
    ),
    ("COLLECTDISTINCT", "ARRAY_AGG(DISTINCT x) collects the values, COUNT(DISTINCT x) counts them"),
    ("BSON_VALUE", NO_BSON),
    ("BSON_VALUE_TYPE", NO_BSON),
    ("BSON_CONDITION_EXPRESSION", NO_BSON),
    ("BSON_UPDATE_EXPRESSION", NO_BSON),
];

/// What to use instead of a function of this name, in upper case, if it is one of Phoenix's.
pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(known, _)| *known == name).map(|(_, instead)| *instead)
}
