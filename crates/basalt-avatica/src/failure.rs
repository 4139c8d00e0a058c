// SPDX-License-Identifier: Apache-2.0
//! What a client hears of what went wrong.

use basalt_sql::SqlError;
use basalt_wire::avatica::pb;

/// Avatica's number for a connection that the server does not know: clients may open it again.
const MISSING_CONNECTION: u32 = 1;
/// Avatica's number for all others.
const UNKNOWN: u32 = u32::MAX;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u32,
    sqlstate: String,
}

impl Failure {
    /// A request that makes no sense.
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: UNKNOWN, sqlstate: "08P01".to_owned() }
    }

    /// Of a connection that is not open, or no longer.
    pub(crate) fn no_connection(id: &str) -> Self {
        let message = format!(
            "NoSuchConnectionException: connection {id} is not open; it may have been idle for too long"
        );
        Self { message, code: MISSING_CONNECTION, sqlstate: "08003".to_owned() }
    }

    /// A limit of the server.
    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: UNKNOWN, sqlstate: "53300".to_owned() }
    }

    /// One of Phoenix's codes.
    pub(crate) fn coded(number: u32, sqlstate: &str, message: &str) -> Self {
        let message = format!("ERROR {number} ({sqlstate}): {message}");
        Self { message, code: number, sqlstate: sqlstate.to_owned() }
    }

    pub(crate) fn into_message(self) -> pb::ErrorResponse {
        pb::ErrorResponse {
            exceptions: vec![self.message.clone()],
            has_exceptions: true,
            error_message: self.message,
            severity: pb::Severity::ErrorSeverity.into(),
            error_code: self.code,
            sql_state: self.sqlstate,
        }
    }
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        match error.code().map(|code| (u32::try_from(code.number).unwrap_or(UNKNOWN), code.sqlstate)) {
            Some((number, sqlstate)) => Self::coded(number, sqlstate, &error.to_string()),
            None => Self { message: error.to_string(), code: UNKNOWN, sqlstate: error.sqlstate().to_owned() },
        }
    }
}
