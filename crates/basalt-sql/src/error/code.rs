// SPDX-License-Identifier: Apache-2.0
//! Phoenix's error codes and SQLSTATEs (5.2) for the mistakes that Basalt recognises, and SQLSTATEs of the others.

use super::ErrorKind;

/// SQLSTATE of what is not supported.
pub(super) const NOT_SUPPORTED: &str = "0A000";
/// SQLSTATE of what may succeed when it is tried again.
pub(super) const TRY_AGAIN: &str = "40001";

/// SQLSTATE of mistakes that Phoenix has no code for, by whose they are.
pub(super) fn state_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Statement => "42000",
        ErrorKind::Damaged => "XX001",
        ErrorKind::Storage => "58030",
        ErrorKind::Resources => "53000",
        ErrorKind::Internal => "XX000",
    }
}

/// A code of Phoenix with its SQLSTATE; drivers and scripts look at these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhoenixCode {
    /// Phoenix's number.
    pub number: i32,
    /// Five characters of SQLSTATE.
    pub sqlstate: &'static str,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $sqlstate:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: PhoenixCode = PhoenixCode { number: $number, sqlstate: $sqlstate };)*

        /// The code of this number, for errors of crates that know the number alone.
        pub(crate) fn by_number(number: u16) -> Option<PhoenixCode> {
            [$($name),*].into_iter().find(|code| code.number == i32::from(number))
        }
    };
}

codes! {
    /// A value that its type cannot take.
    ILLEGAL_DATA = 201, "22000";
    /// Division by a zero literal.
    DIVIDE_BY_ZERO = 202, "22012";
    /// A value of another type than the column or operator takes.
    TYPE_MISMATCH = 203, "22005";
    /// A column among the values of an UPSERT.
    VALUE_NOT_CONSTANT = 204, "22008";
    /// A value longer or larger than the column.
    DATA_EXCEEDS_CAPACITY = 206, "22003";
    /// CHAR or BINARY without a length.
    MISSING_LENGTH = 207, "22004";
    /// A length of zero or less.
    NONPOSITIVE_LENGTH = 208, "22006";
    /// A precision or scale that DECIMAL cannot have.
    DECIMAL_PRECISION = 209, "22003";
    /// More rows than a session without autocommit may keep.
    TOO_MANY_UNCOMMITTED = 729, "LIM01";
    /// More bytes than that.
    TOO_MUCH_UNCOMMITTED = 730, "LIM02";
    /// A subquery of several columns where one was wanted.
    SUBQUERY_COLUMNS = 216, "22016";
    /// NULL in a NOT NULL column.
    CONSTRAINT_VIOLATION = 218, "23018";
    /// More than one row where one was wanted.
    SINGLE_ROW_SUBQUERY = 301, "23000";
    /// Two tables of one name in one query.
    AMBIGUOUS_TABLE = 501, "42000";
    /// A column name that two tables have.
    AMBIGUOUS_COLUMN = 502, "42702";
    /// No such column.
    COLUMN_NOT_FOUND = 504, "42703";
    /// A change of a view that takes none.
    READ_ONLY = 505, "42000";
    /// CREATE TABLE without a primary key.
    PRIMARY_KEY_MISSING = 509, "42888";
    /// PRIMARY KEY twice.
    PRIMARY_KEY_TWICE = 510, "42889";
    /// DROP COLUMN of a key column.
    KEY_COLUMN_DROPPED = 506, "42817";
    /// SELECT DISTINCT ordered by what it does not select.
    ORDER_NOT_SELECTED = 511, "42890";
    /// UNION of queries with other numbers of columns.
    UNION_COLUMN_COUNT = 525, "42902";
    /// UNION of queries with columns of other types.
    UNION_COLUMN_TYPE = 526, "42903";
    /// A column declared twice.
    COLUMN_EXISTS = 514, "42892";
    /// Text that is no statement.
    PARSER_ERROR = 601, "42P00";
    /// A token that should have been there.
    MISSING_TOKEN = 602, "42P00";
    /// A token that does not fit.
    UNWANTED_TOKEN = 603, "42P00";
    /// Another token than expected.
    MISMATCHED_TOKEN = 604, "42P00";
    /// No such schema.
    SCHEMA_NOT_FOUND = 722, "43M05";
    /// The schema is there already.
    SCHEMA_EXISTS = 721, "42M04";
    /// A schema that still has tables.
    SCHEMA_NOT_EMPTY = 723, "43M06";
    /// A qualifier that is neither table nor family.
    FAMILY_NOT_FOUND = 1001, "42I01";
    /// A key column with a family.
    KEY_WITH_FAMILY = 1003, "42J01";
    /// PRIMARY KEY in another order than the columns.
    KEY_ORDER = 1004, "42J02";
    /// VARBINARY before another key column.
    VARBINARY_IN_KEY = 1005, "42J03";
    /// A column that comes to a key later and is not nullable.
    APPENDED_KEY = 1006, "42J04";
    /// Two columns declared ROW_TIMESTAMP.
    ROW_TIMESTAMP_REPEATED = 527, "42904";
    /// ROW_TIMESTAMP of a column that comes later.
    ROW_TIMESTAMP_LATER = 529, "42906";
    /// ROW_TIMESTAMP of a type that is no time.
    ROW_TIMESTAMP_TYPE = 530, "42907";
    /// ROW_TIMESTAMP in a view.
    ROW_TIMESTAMP_OF_VIEW = 531, "42908";
    /// ROW_TIMESTAMP with a DEFAULT.
    ROW_TIMESTAMP_DEFAULT = 1032, "42Y90";
    /// An index of a table with a ROW_TIMESTAMP.
    ROW_TIMESTAMP_INDEX = 1088, "44A19";
    /// An expression that may have another value each time, in an index.
    NOT_DETERMINISTIC = 521, "42898";
    /// No such index.
    INDEX_NOT_FOUND = 1042, "42M06";
    /// A NOT NULL column outside the key, or a column twice in the key.
    INVALID_NOT_NULL = 1007, "42K01";
    /// A table or view that others are over, or one that is not of the kind that is dropped.
    HAS_VIEWS = 1010, "42M01";
    /// No such table.
    TABLE_NOT_FOUND = 1012, "42M03";
    /// The table is there already.
    TABLE_EXISTS = 1013, "42M04";
    /// An aggregate function in GROUP BY.
    AGGREGATE_IN_GROUP_BY = 1016, "42Y26";
    /// An aggregate function in WHERE.
    AGGREGATE_IN_WHERE = 1017, "42Y26";
    /// A column that is neither grouped nor aggregated.
    NOT_GROUPED = 1018, "42Y27";
    /// HAVING without aggregation.
    ONLY_AGGREGATE_IN_HAVING = 1019, "42Y26";
    /// Another number of values than columns.
    VALUE_COUNT = 1020, "42Y60";
    /// SALT_BUCKETS outside of 0 to 256.
    SALT_BUCKETS = 1021, "42Y80";
    /// A view with a primary key of its own.
    KEY_OF_VIEW = 1036, "42J04";
    /// A column that a view fixes.
    VIEW_COLUMN = 1046, "43A03";
    /// The sequence is there already.
    SEQUENCE_EXISTS = 1200, "42Z00";
    /// No such sequence.
    SEQUENCE_NOT_FOUND = 1201, "42Z01";
    /// START WITH something else than a whole number.
    SEQUENCE_START = 1202, "42Z02";
    /// INCREMENT BY something else than a whole number.
    SEQUENCE_INCREMENT = 1203, "42Z03";
    /// MINVALUE that is no whole number.
    SEQUENCE_MIN = 1208, "42Z08";
    /// MAXVALUE that is no whole number.
    SEQUENCE_MAX = 1209, "42Z09";
    /// NEXT n VALUES FOR with an n that is no number above 0.
    SEQUENCE_COUNT = 1215, "42Z15";
    /// NEXT VALUE where it has no meaning.
    SEQUENCE_PLACE = 1205, "42Z05";
    /// CURRENT VALUE before NEXT VALUE.
    SEQUENCE_NO_CURRENT = 1206, "42Z06";
    /// MINVALUE above MAXVALUE.
    SEQUENCE_MIN_ABOVE_MAX = 1210, "42Z10";
    /// START WITH outside of MINVALUE and MAXVALUE.
    SEQUENCE_START_RANGE = 1211, "42Z11";
    /// The largest value was given out.
    SEQUENCE_MAX_REACHED = 1212, "42Z12";
    /// The smallest value was given out.
    SEQUENCE_MIN_REACHED = 1213, "42Z13";
    /// INCREMENT BY 0.
    SEQUENCE_INCREMENT_ZERO = 1214, "42Z14";
    /// NEXT n VALUES FOR a cycling sequence.
    SEQUENCE_BULK_CYCLE = 1216, "42Z16";
    /// ON DUPLICATE KEY UPDATE of a key column.
    KEY_UPDATED = 1218, "42Z18";
    /// A column that ON DUPLICATE KEY UPDATE sets twice.
    UPDATED_TWICE = 1221, "42Z21";
    /// A value for a parameter that the statement does not have, or a place in ORDER BY that the select list does not have.
    PARAMETER_INDEX = 2003, "INT04";
    /// A parameter without a value.
    PARAMETER_UNBOUND = 2004, "INT05";
    /// The statement took longer than it may.
    TIMED_OUT = 6000, "TIM01";
    /// No such function.
    FUNCTION_NOT_FOUND = 6001, "42F01";
    /// CREATE FUNCTION.
    FUNCTIONS_NOT_ALLOWED = 6003, "42F03";
}
