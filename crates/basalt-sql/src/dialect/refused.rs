// SPDX-License-Identifier: Apache-2.0
//! Statements that Phoenix has and Basalt has not: they are known by their first words, and what is said tells what to use instead.

use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::cursor::Cursor;

/// CREATE FUNCTION.
pub(crate) const NO_FUNCTIONS: &str = "functions of users are not supported; a view keeps an expression under a name, and programs that embed Basalt compute with the rows";
/// DROP FUNCTION.
pub(crate) const NO_FUNCTION: &str = "there are no functions of users that could be dropped";

const NO_JARS: &str = "there is no Java in Basalt, so it takes no JARs; its functions are built in";
const NO_USERS: &str = "there are no users and rights; who may read and write the directory of a database may read and write the database";
const NO_CDC: &str = "change data capture is not supported; RETURNING answers what a statement changes, and FOR SYSTEM_TIME AS OF reads a table as it was";
const NO_TRACE: &str = "tracing is not supported; EXPLAIN ANALYZE shows what a query does, SYSTEM.QUERIES and SYSTEM.SLOW_QUERIES list statements";
const NO_SESSION: &str = "a session has no properties; hints in /*+ */ are for one statement, `basalt sql --timeout` ends what takes too long";
const NO_UPGRADE: &str = "there is nothing to upgrade; files of earlier versions are read as they are";
const NO_TRANSACTION: &str = "each statement is a transaction of its own and is committed when it is done; MERGE and UPSERT .. SELECT change many rows at once";

const NO_REPLACED_TABLE: &str = "CREATE OR REPLACE TABLE is not supported; DROP TABLE IF EXISTS and CREATE TABLE, or TRUNCATE TABLE, which keeps the definition";
const NO_REPLACED_VIEW: &str = "CREATE OR REPLACE VIEW is not supported; DROP VIEW IF EXISTS and CREATE VIEW";
const NO_TEMPORARY: &str = "there are no temporary tables and views; WITH names a query within a statement";
const NO_REPLACE: &str =
    "REPLACE INTO is not supported; UPSERT INTO writes a row over the one that has its key";
const NO_VACUUM: &str =
    "there is nothing to tidy up by hand; compactions run in the background and remove what was deleted";
const NO_KILL: &str = "a statement is ended by whoever runs it (Ctrl-C, a timeout, or dropping its rows); SYSTEM.QUERIES lists those that run";

const REFUSED: [(&[&str], &str); 31] = [
    (&["CREATE", "FUNCTION"], NO_FUNCTIONS),
    (&["CREATE", "TEMPORARY", "FUNCTION"], NO_FUNCTIONS),
    (&["CREATE", "OR", "REPLACE", "FUNCTION"], NO_FUNCTIONS),
    (&["CREATE", "OR", "REPLACE", "TEMPORARY", "FUNCTION"], NO_FUNCTIONS),
    (&["DROP", "FUNCTION"], NO_FUNCTION),
    (&["ADD", "JAR"], NO_JARS),
    (&["ADD", "JARS"], NO_JARS),
    (&["LIST", "JARS"], NO_JARS),
    (&["DELETE", "JAR"], NO_JARS),
    (&["GRANT"], NO_USERS),
    (&["REVOKE"], NO_USERS),
    (&["CREATE", "CDC"], NO_CDC),
    (&["ALTER", "CDC"], NO_CDC),
    (&["DROP", "CDC"], NO_CDC),
    (&["TRACE", "ON"], NO_TRACE),
    (&["TRACE", "OFF"], NO_TRACE),
    (&["ALTER", "SESSION"], NO_SESSION),
    (&["EXECUTE", "UPGRADE"], NO_UPGRADE),
    (&["CREATE", "OR", "REPLACE", "TABLE"], NO_REPLACED_TABLE),
    (&["CREATE", "OR", "REPLACE", "VIEW"], NO_REPLACED_VIEW),
    (&["CREATE", "TEMPORARY", "TABLE"], NO_TEMPORARY),
    (&["CREATE", "TEMPORARY", "VIEW"], NO_TEMPORARY),
    (&["CREATE", "USER"], NO_USERS),
    (&["REPLACE", "INTO"], NO_REPLACE),
    (&["VACUUM"], NO_VACUUM),
    (&["OPTIMIZE"], NO_VACUUM),
    (&["KILL"], NO_KILL),
    (&["BEGIN"], NO_TRANSACTION),
    (&["START", "TRANSACTION"], NO_TRANSACTION),
    (&["COMMIT"], NO_TRANSACTION),
    (&["ROLLBACK"], NO_TRANSACTION),
];

/// An error if the statement is one of them.
pub(super) fn check(parser: &mut Parser) -> Result<(), ParserError> {
    let start = parser.peek_token().span.start;
    match REFUSED.iter().find(|(words, _)| parser.accept_all(words)) {
        Some((_, message)) => Err(ParserError::ParserError(format!("{message}{start}"))),
        None => Ok(()),
    }
}
