// SPDX-License-Identifier: Apache-2.0
//! Descriptors of tables, families and namespaces. All attributes are texts; those that Basalt does not know are kept
//! and given back.

use std::collections::BTreeMap;

use basalt_model::{FamilyDescriptor, TableDescriptor, TableName};
use bytes::Bytes;

use crate::exception::Exception;
use crate::names::{table_message, table_of};
use crate::pb;

/// Coprocessors that every table has here, so that a table may ask for them: endpoints that a server answers itself.
const ENDPOINTS: [&str; 4] = [
    "org.apache.hadoop.hbase.coprocessor.AggregateImplementation",
    "org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint",
    "org.apache.hadoop.hbase.coprocessor.example.BulkDeleteEndpoint",
    "org.apache.hadoop.hbase.coprocessor.example.RowCountEndpoint",
];

/// The table that a client wants to create, or what it wants of an existing one.
pub fn table(message: pb::TableSchema) -> Result<TableDescriptor, Exception> {
    let name = message.table_name.as_ref().map(table_of).transpose()?;
    let mut table = TableDescriptor::new(name.ok_or_else(|| Exception::refused("the table has no name"))?);
    for pair in &message.attributes {
        set_table_attribute(&mut table, text(&pair.first)?, text(&pair.second)?)?;
    }
    for pair in message.configuration {
        set_table_attribute(&mut table, pair.name, pair.value)?;
    }
    for message in message.column_families {
        let family = family(message)?;
        if table.families.iter().any(|known| known.name == family.name) {
            return Err(Exception::refused(format!("column family {:?} is named twice", family.name)));
        }
        table = table.family(family);
    }
    Ok(table)
}

fn set_table_attribute(table: &mut TableDescriptor, name: String, value: String) -> Result<(), Exception> {
    if name.to_lowercase().starts_with("coprocessor$") {
        // path|class|priority|arguments
        let class = value.split('|').nth(1).unwrap_or_default().trim();
        if !ENDPOINTS.contains(&class) {
            return Err(Exception::refused(format!(
                "table attribute {name} asks for coprocessor {class}; this server runs no code of others, and has only {}",
                ENDPOINTS.join(", ")
            )));
        }
    }
    if name == "REGION_REPLICATION" && value.trim() != "1" {
        return Err(Exception::refused(format!(
            "table attribute {name} is {value:?}; expected 1, because there is one server"
        )));
    }
    // Clients send it with every table.
    if name != "IS_META" {
        table.attributes.insert(name, value);
    }
    Ok(())
}

/// A family that a client wants.
pub fn family(message: pb::ColumnFamilySchema) -> Result<FamilyDescriptor, Exception> {
    let mut family = FamilyDescriptor::of_hbase(text(&message.name)?);
    let mut set = |name: &str, value: &str| {
        family.set(name, value).map_err(|error| Exception::refused(error.to_string()))
    };
    for pair in &message.attributes {
        set(&text(&pair.first)?, &text(&pair.second)?)?;
    }
    for pair in &message.configuration {
        set(&pair.name, &pair.value)?;
    }
    Ok(family)
}

fn text(bytes: &Bytes) -> Result<String, Exception> {
    let text = std::str::from_utf8(bytes).map(str::to_owned);
    text.map_err(|_| Exception::refused(format!("{} is not UTF-8 text", bytes.escape_ascii())))
}

/// The message of a table.
pub fn table_schema(table: &TableDescriptor) -> pb::TableSchema {
    let mut attributes = vec![pair("IS_META", "false")];
    attributes.extend(table.attributes.iter().map(|(name, value)| pair(name, value)));
    pb::TableSchema {
        table_name: Some(table_message(&table.name)),
        attributes,
        column_families: table.families.iter().map(family_schema).collect(),
        configuration: Vec::new(),
    }
}

fn family_schema(family: &FamilyDescriptor) -> pb::ColumnFamilySchema {
    pb::ColumnFamilySchema {
        name: Bytes::copy_from_slice(family.name.as_bytes()),
        attributes: family.texts().iter().map(|(name, value)| pair(name, value)).collect(),
        configuration: Vec::new(),
    }
}

fn pair(name: &str, value: &str) -> pb::BytesBytesPair {
    pb::BytesBytesPair {
        first: Bytes::copy_from_slice(name.as_bytes()),
        second: Bytes::copy_from_slice(value.as_bytes()),
    }
}

/// The table `hbase:meta`, as clients may ask for it.
pub fn meta_descriptor() -> TableDescriptor {
    let family = |name: &str| FamilyDescriptor {
        in_memory: true,
        versions_max: 3,
        ..FamilyDescriptor::of_hbase(name)
    };
    let meta = TableDescriptor::new(TableName::new("hbase", "meta"));
    meta.family(family("info")).family(family("table"))
}

/// The message of a namespace with these properties.
pub fn namespace(name: &str, properties: BTreeMap<String, String>) -> pb::NamespaceDescriptor {
    let configuration =
        properties.into_iter().map(|(name, value)| pb::NameStringPair { name, value }).collect();
    pb::NamespaceDescriptor { name: Bytes::copy_from_slice(name.as_bytes()), configuration }
}

#[cfg(test)]
mod tests;
