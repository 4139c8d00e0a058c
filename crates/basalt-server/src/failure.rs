// SPDX-License-Identifier: Apache-2.0
//! Errors of the store as exceptions of HBase's client. The one place where that is decided.

use basalt_store::Error;
use basalt_wire::exception::{self, Exception};

/// The exception for an error, with the causes in its sentence.
pub(crate) fn of_store(error: Error) -> Exception {
    let class = match &error {
        Error::NoSuchFamily { .. } => exception::NO_SUCH_FAMILY,
        Error::NoSuchTable { .. } => exception::TABLE_NOT_FOUND,
        Error::TableDisabled { .. } => exception::TABLE_NOT_ENABLED,
        Error::TableExists { .. } => exception::TABLE_EXISTS,
        Error::NoSuchNamespace { .. } => exception::NAMESPACE_NOT_FOUND,
        Error::NamespaceExists { .. } => exception::NAMESPACE_EXISTS,
        Error::NamespaceNotEmpty { .. } => exception::CONSTRAINT,
        Error::NoSuchRegion { .. } => exception::UNKNOWN_REGION,
        Error::NoSuchSnapshot { .. } => exception::NO_SUCH_SNAPSHOT,
        Error::SnapshotExists { .. } => exception::SNAPSHOT_EXISTS,
        Error::IncompatibleFilter { .. } => exception::INCOMPATIBLE_FILTER,
        Error::Overloaded { .. } => exception::REGION_TOO_BUSY,
        Error::Closed => exception::SERVER_STOPPED,
        error if error.retryable() => exception::HBASE_IO,
        _ => exception::DO_NOT_RETRY,
    };
    let overloaded = matches!(error, Error::Overloaded { .. });
    let exception = Exception::new(class, sentence(&error));
    if overloaded { exception.overloaded() } else { exception }
}

/// The error and its causes.
fn sentence(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
