// SPDX-License-Identifier: Apache-2.0
//! Avatica's protocol as values: what Phoenix's thin clients send as the body of an HTTP request, and what they get back.
//!
//! Body, both ways: a [`pb::WireMessage`], the name of a message (`org.apache.calcite.avatica.proto.Requests$OpenConnectionRequest`) and its
//! bytes. An answer's status is 200, or 500 of an [`pb::ErrorResponse`].

use bytes::Bytes;
use prost::Message;

/// The messages, generated from `proto/avatica.proto` and checked in, as those of [`crate::pb`] are.
pub mod pb {
    #![allow(missing_docs, clippy::all)]

    include!("../proto/avatica_pb.generated");
}

const REQUESTS: &str = "org.apache.calcite.avatica.proto.Requests$";
const RESPONSES: &str = "org.apache.calcite.avatica.proto.Responses$";

/// Why a body is no request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AvaticaError {
    /// It is no message at all.
    #[error("the body is no protobuf message of Avatica's; a JDBC URL needs serialization=PROTOBUF")]
    NoMessage,
    /// JSON.
    #[error("the body is JSON, and this port speaks protobuf; put serialization=PROTOBUF into the JDBC URL")]
    Json,
    /// A message that nobody knows.
    #[error("message {name} is none of the requests of Avatica 1.26")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// Its bytes are not what the name says.
    #[error("the bytes of {name} are none: {source}")]
    Malformed {
        /// Its name.
        name: &'static str,
        /// What is wrong.
        source: prost::DecodeError,
    },
}

macro_rules! messages {
    ($(#[$doc:meta])* $kind:ident, $prefix:ident: $($name:ident)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum $kind {
            $($name(pb::$name),)*
        }

        $(impl From<pb::$name> for $kind {
            fn from(message: pb::$name) -> Self {
                Self::$name(message)
            }
        })*

        impl $kind {
            /// The name of the message, without what all have before it.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)*
                }
            }

            /// As the body of an HTTP message.
            pub fn encode(&self) -> Bytes {
                let (name, wrapped_message) = match self {
                    $(Self::$name(message) => (stringify!($name), message.encode_to_vec()),)*
                };
                let wire = pb::WireMessage { name: format!("{}{name}", $prefix), wrapped_message: wrapped_message.into() };
                wire.encode_to_vec().into()
            }

            /// From the body of an HTTP message.
            pub fn decode(body: Bytes) -> Result<Self, AvaticaError> {
                if body.first() == Some(&b'{') {
                    return Err(AvaticaError::Json);
                }
                let wire = pb::WireMessage::decode(body).map_err(|_| AvaticaError::NoMessage)?;
                match wire.name.strip_prefix($prefix) {
                    $(Some(stringify!($name)) => {
                        let message = pb::$name::decode(wire.wrapped_message);
                        let malformed = |source| AvaticaError::Malformed { name: stringify!($name), source };
                        message.map(Self::$name).map_err(malformed)
                    })*
                    _ if wire.name.is_empty() => Err(AvaticaError::NoMessage),
                    _ => Err(AvaticaError::Unknown { name: wire.name }),
                }
            }
        }
    };
}

messages! {
    /// What a client asks.
    Request, REQUESTS:
    CatalogsRequest DatabasePropertyRequest SchemasRequest TablesRequest TableTypesRequest ColumnsRequest TypeInfoRequest
    PrepareAndExecuteRequest PrepareRequest FetchRequest CreateStatementRequest CloseStatementRequest OpenConnectionRequest
    CloseConnectionRequest ConnectionSyncRequest ExecuteRequest SyncResultsRequest CommitRequest RollbackRequest
    PrepareAndExecuteBatchRequest ExecuteBatchRequest
}

messages! {
    /// What it gets.
    Response, RESPONSES:
    ResultSetResponse ExecuteResponse PrepareResponse FetchResponse CreateStatementResponse CloseStatementResponse
    OpenConnectionResponse CloseConnectionResponse ConnectionSyncResponse DatabasePropertyResponse ErrorResponse
    SyncResultsResponse CommitResponse RollbackResponse ExecuteBatchResponse
}

#[cfg(test)]
mod tests;
