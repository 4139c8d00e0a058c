// SPDX-License-Identifier: Apache-2.0
//! The words that the shell knows: for completion and colours. What the engine understands is the engine's business.

/// Commands of the shell.
pub(super) const COMMANDS: &[&str] = &[
    ".describe", ".exit", ".help", ".maxrows", ".mode", ".quit", ".read", ".schema", ".tables", ".timer", "\\?", "\\d",
    "\\dt", "\\h", "\\i", "\\q", "\\timing", "\\x",
];

/// Words of SQL and the names of types.
pub(super) const KEYWORDS: &[&str] = &[
    "ALL", "ANALYZE", "AND", "ANY", "AS", "ASC", "BETWEEN", "BIGINT", "BINARY", "BOOLEAN", "BY", "CASE", "CAST", "CHAR",
    "CONSTRAINT", "CREATE", "CROSS", "CURRENT", "DATE", "DECIMAL", "DEFAULT", "DELETE", "DESC", "DESCRIBE", "DISTINCT",
    "DOUBLE", "DROP", "ELSE", "END", "EXCEPT", "EXISTS", "EXPLAIN", "FALSE", "FETCH", "FIRST", "FLOAT", "FOR", "FROM",
    "FULL", "GROUP", "HAVING", "IF", "IN", "INCREMENT", "INNER", "INSERT", "INTEGER", "INTERSECT", "INTERVAL", "INTO",
    "IS", "JOIN", "KEY", "LAST", "LEFT", "LIKE", "LIMIT", "NEXT", "NOT", "NULL", "NULLS", "OFFSET", "ON", "OR", "ORDER",
    "OUTER", "OVER", "PARTITION", "PRIMARY", "RECURSIVE", "RIGHT", "ROLLUP", "SELECT", "SEQUENCE", "SHOW", "SMALLINT",
    "START", "TABLE", "TABLES", "THEN", "TIME", "TIMESTAMP", "TINYINT", "TRUE", "UNION", "UNSIGNED_INT",
    "UNSIGNED_LONG", "UPSERT", "USING", "VALUE", "VALUES", "VARBINARY", "VARCHAR", "WHEN", "WHERE", "WITH",
];

/// Functions; completed with their parenthesis.
pub(super) const FUNCTIONS: &[&str] = &[
    "ABS", "AVG", "CEIL", "COALESCE", "CONCAT", "COUNT", "DATE_TRUNC", "FLOOR", "LENGTH", "LOWER", "MAX", "MIN",
    "NULLIF", "RAND", "RANK", "ROUND", "ROW_NUMBER", "STDDEV", "SUBSTR", "SUM", "TO_CHAR", "TO_DATE", "TRIM", "UPPER",
];
