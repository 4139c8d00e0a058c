// SPDX-License-Identifier: Apache-2.0
//! Functions of Phoenix and of other databases that there are not here, or not there, and what to use instead.

const NO_SEGMENTS: &str = "a scan is not cut into segments that a statement could name; LIMIT n OFFSET (key) = (values) reads a table page by page, and SYSTEM.FILES lists its regions";
const NO_BSON: &str =
    "there is no type BSON; keep JSON in a VARCHAR, for JSON_VALUE, JSON_QUERY, JSON_EXISTS and JSON_MODIFY";

const NO_WINDOW: &str = "it is a window function, which needs to know its rows: write OVER (..) behind it";

const OF_ONE_TABLE: &str =
    "it is known of the rows of one table in FROM; beside others, a query in FROM gives it a name";

const INSTEAD: [(&str, &str); 32] = [
    ("PHOENIX_ROW_TIMESTAMP", OF_ONE_TABLE),
    ("ROWKEY_BYTES_STRING", OF_ONE_TABLE),
    ("ROW_SIZE", OF_ONE_TABLE),
    ("RAW_ROW_SIZE", OF_ONE_TABLE),
    ("ROW_RAW_SIZE", OF_ONE_TABLE),
    ("PARTITION_ID", OF_ONE_TABLE),
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
    ("BSON_VALUE", NO_BSON),
    ("BSON_VALUE_TYPE", NO_BSON),
    ("BSON_CONDITION_EXPRESSION", NO_BSON),
    ("BSON_UPDATE_EXPRESSION", NO_BSON),
    ("LAG", NO_WINDOW),
    ("LEAD", NO_WINDOW),
    ("RANK", NO_WINDOW),
    ("DENSE_RANK", NO_WINDOW),
    ("ROW_NUMBER", NO_WINDOW),
    ("NTILE", NO_WINDOW),
    ("CUME_DIST", NO_WINDOW),
    ("IF", "CASE WHEN condition THEN a ELSE b END chooses"),
    ("ISNULL", "x IS NULL asks, COALESCE(x, y) gives another value"),
    ("NVL2", "CASE WHEN x IS NULL THEN b ELSE a END chooses"),
    ("MOD", "a % b is the rest of a division"),
    ("LEN", "LENGTH counts characters, OCTET_LENGTH bytes"),
    ("TRUNCATE", "TRUNC cuts numbers and dates off"),
    ("GROUP_CONCAT", "STRING_AGG(x, ',') joins texts"),
    ("LISTAGG", "STRING_AGG(x, ',') joins texts"),
    ("DATEDIFF", "b - a is the time between two dates, in days"),
    ("GETDATE", "CURRENT_DATE() and NOW() are the time of the statement"),
];

/// What to use instead of a function of this name, in upper case, if it is one that others have.
pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(known, _)| *known == name).map(|(_, instead)| *instead)
}
