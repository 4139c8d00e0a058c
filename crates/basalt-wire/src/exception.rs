// SPDX-License-Identifier: Apache-2.0
//! Errors as clients know them: Java classes. A Java client loads the class by its name and decides from it
//! whether to try again; others compare names and look at the flag.

use crate::pb;

/// An exception class of HBase's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    name: &'static str,
    do_not_retry: bool,
}

impl Class {
    /// The name with its package.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The name without its package.
    pub fn simple_name(self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// True if the same call would fail again.
    pub fn do_not_retry(self) -> bool {
        self.do_not_retry
    }
}

macro_rules! classes {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $do_not_retry:literal;)*) => {
        $($(#[$doc])* pub const $constant: Class =
            Class { name: concat!("org.apache.hadoop.hbase.", $name), do_not_retry: $do_not_retry };)*
    };
}

classes! {
    /// The preamble or the header cannot be: ends the connection.
    FATAL_CONNECTION = "ipc.FatalConnectionException", true;
    /// An authentication that is not known.
    BAD_AUTH = "ipc.BadAuthException", true;
    /// A version of the protocol that is not known.
    WRONG_VERSION = "ipc.WrongVersionException", true;
    /// The header names a service that is not there.
    UNKNOWN_SERVICE = "ipc.UnknownServiceException", true;
    /// The header names no service.
    EMPTY_SERVICE = "ipc.EmptyServiceNameException", true;
    /// A codec of cell blocks that is not known.
    UNSUPPORTED_CODEC = "ipc.UnsupportedCellCodecException", true;
    /// A compressor of cell blocks that is not known.
    UNSUPPORTED_COMPRESSOR = "ipc.UnsupportedCompressionCodecException", true;
    /// The server has no principal: answers the security preamble.
    SECURITY_NOT_ENABLED = "ipc.SecurityNotEnabledException", true;
    /// The server is going down.
    SERVER_STOPPED = "regionserver.RegionServerStoppedException", false;
    /// The region is not here, or its table is disabled.
    NOT_SERVING_REGION = "NotServingRegionException", false;
    /// A row outside of the region that was named.
    WRONG_REGION = "regionserver.WrongRegionException", false;
    /// Writes come faster than they can be stored.
    REGION_TOO_BUSY = "RegionTooBusyException", false;
    /// More calls than are worked on; the call was not made.
    CALL_QUEUE_TOO_BIG = "CallQueueTooBigException", false;
    /// The answer would be too large; the action was not done.
    MULTI_TOO_LARGE = "MultiActionResultTooLarge", false;
    /// A request larger than the server takes.
    REQUEST_TOO_BIG = "exceptions.RequestTooBigException", true;
    /// A scanner that is not there, or not any more.
    UNKNOWN_SCANNER = "UnknownScannerException", true;
    /// A scanner that lost its place.
    SCANNER_RESET = "exceptions.ScannerResetException", true;
    /// The calls of a scanner came out of order.
    OUT_OF_ORDER_SCANNER = "exceptions.OutOfOrderScannerNextException", true;
    /// A column family that the table does not have.
    NO_SUCH_FAMILY = "regionserver.NoSuchColumnFamilyException", true;
    /// A call of another time.
    UNKNOWN_PROTOCOL = "exceptions.UnknownProtocolException", true;
    /// Everything that fails again.
    DO_NOT_RETRY = "DoNotRetryIOException", true;
    /// Everything that may work later.
    HBASE_IO = "HBaseIOException", false;
    /// A table that is not there.
    TABLE_NOT_FOUND = "TableNotFoundException", true;
    /// A table that is there already.
    TABLE_EXISTS = "TableExistsException", true;
    /// A table that is disabled.
    TABLE_NOT_ENABLED = "TableNotEnabledException", true;
    /// A table that is enabled.
    TABLE_NOT_DISABLED = "TableNotDisabledException", true;
    /// A namespace that is not there.
    NAMESPACE_NOT_FOUND = "NamespaceNotFoundException", true;
    /// A namespace that is there already.
    NAMESPACE_EXISTS = "NamespaceExistException", true;
    /// A namespace that is not empty, or one of the server's own.
    CONSTRAINT = "constraint.ConstraintException", true;
    /// A family that is there already, or is not there.
    INVALID_FAMILY = "InvalidFamilyOperationException", true;
    /// A region that no table has.
    UNKNOWN_REGION = "UnknownRegionException", true;
    /// Regions that cannot be merged.
    MERGE_REGION = "exceptions.MergeRegionException", true;
    /// A snapshot that is not there.
    NO_SUCH_SNAPSHOT = "snapshot.SnapshotDoesNotExistException", true;
    /// A snapshot that is there already.
    SNAPSHOT_EXISTS = "snapshot.SnapshotExistsException", true;
    /// A snapshot that cannot be taken.
    SNAPSHOT_CREATION = "snapshot.SnapshotCreationException", true;
    /// A snapshot that cannot be restored.
    RESTORE_SNAPSHOT = "snapshot.RestoreSnapshotException", true;
    /// A filter that does not go with a limit of the scan.
    INCOMPATIBLE_FILTER = "filter.IncompatibleFilterException", true;
}

/// An error on its way to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    class: Class,
    message: String,
    overloaded: bool,
}

impl Exception {
    /// An exception of this class.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), overloaded: false }
    }

    /// A permanent failure without a class of its own.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(DO_NOT_RETRY, message)
    }

    /// Asks the client to wait longer than usual before it tries again.
    #[must_use]
    pub fn overloaded(mut self) -> Self {
        self.overloaded = true;
        self
    }

    /// The class.
    pub fn class(&self) -> Class {
        self.class
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The class and the sentence, as a Java stack trace begins.
    fn text(&self) -> String {
        format!("{}: {}", self.class.name, self.message)
    }

    /// In the header of an answer.
    pub fn to_response(&self) -> pb::ExceptionResponse {
        pb::ExceptionResponse {
            exception_class_name: Some(self.class.name.to_owned()),
            stack_trace: Some(self.text()),
            hostname: None,
            port: None,
            do_not_retry: Some(self.class.do_not_retry),
            server_overloaded: self.overloaded.then_some(true),
        }
    }

    /// Inside of a multi-action answer.
    pub fn to_pair(&self) -> pb::NameBytesPair {
        pb::NameBytesPair { name: self.class.name.to_owned(), value: Some(self.text().into()) }
    }

    /// As the result of a procedure.
    pub fn to_foreign(&self) -> pb::ForeignExceptionMessage {
        pb::ForeignExceptionMessage {
            source: Some("basalt".to_owned()),
            generic_exception: Some(pb::GenericExceptionMessage {
                class_name: Some(self.class.name.to_owned()),
                message: Some(self.message.clone()),
                error_info: None,
            }),
        }
    }
}

impl std::fmt::Display for Exception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::error::Error for Exception {}
