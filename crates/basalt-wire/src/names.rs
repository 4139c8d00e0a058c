// SPDX-License-Identifier: Apache-2.0
//! Names of tables and servers as clients write them.

use basalt_model::TableName;
use basalt_model::table::DEFAULT_NAMESPACE;
use bytes::Bytes;

use crate::exception::Exception;
use crate::pb;

/// The namespace of HBase's own tables.
pub const SYSTEM_NAMESPACE: &str = "hbase";

/// The table that tells where the regions are.
pub fn meta_table() -> TableName {
    TableName::new(SYSTEM_NAMESPACE, "meta")
}

/// `t` in the namespace `default`, `ns:t` elsewhere.
pub fn table_text(name: &TableName) -> String {
    match name.namespace == DEFAULT_NAMESPACE {
        true => name.name.clone(),
        false => format!("{}:{}", name.namespace, name.name),
    }
}

/// The table that [`table_text`] writes like this; `None` if it is no text.
pub fn table_of_text(text: &[u8]) -> Option<TableName> {
    let text = std::str::from_utf8(text).ok()?;
    Some(match text.split_once(':') {
        Some((namespace, name)) => TableName::new(namespace, name),
        None => TableName::in_default(text),
    })
}

/// The table of a message.
pub fn table_of(name: &pb::TableName) -> Result<TableName, Exception> {
    let text = |bytes: &Bytes, what: &str| {
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| Exception::refused(format!("the {what} of a table is not UTF-8 text")))
    };
    let namespace = text(&name.namespace, "namespace")?;
    let namespace = if namespace.is_empty() { DEFAULT_NAMESPACE.to_owned() } else { namespace };
    Ok(TableName { namespace, name: text(&name.qualifier, "name")? })
}

/// The message of a table.
pub fn table_message(name: &TableName) -> pb::TableName {
    pb::TableName {
        namespace: Bytes::copy_from_slice(name.namespace.as_bytes()),
        qualifier: Bytes::copy_from_slice(name.name.as_bytes()),
    }
}

/// Where a server is, and since when: `host,port,startcode`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerName {
    /// Name or address that clients dial.
    pub host: String,
    /// Port.
    pub port: u16,
    /// When the process began, milliseconds since the epoch.
    pub start_code: u64,
}

impl ServerName {
    /// As a message.
    pub fn message(&self) -> pb::ServerName {
        pb::ServerName {
            host_name: self.host.clone(),
            port: Some(u32::from(self.port)),
            start_code: Some(self.start_code),
        }
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl std::fmt::Display for ServerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{},{}", self.host, self.port, self.start_code)
    }
}
