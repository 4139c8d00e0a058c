// SPDX-License-Identifier: Apache-2.0
//! Namespaces. Two exist always: `default`, and `hbase` for the system's own tables.

use basalt_model::table::DEFAULT_NAMESPACE;
use basalt_store::NamespaceProperties;
use basalt_wire::names::{SYSTEM_NAMESPACE, meta_table, table_message};
use basalt_wire::{Exception, exception, pb, schema};

use super::procedures::Nonce;
use crate::call::{Incoming, Reply};
use crate::failure;
use crate::node::Node;

/// Names of properties that HBase acts upon: limits of tables and regions, and servers to be on.
const QUOTA_PREFIX: &str = "hbase.namespace.quota.";
const SERVER_GROUP: &str = "hbase.rsgroup.name";

/// All namespaces, sorted.
pub(super) fn all(node: &Node) -> Vec<String> {
    let mut names = node.db.namespaces();
    names.push(SYSTEM_NAMESPACE.to_owned());
    names.sort();
    names.dedup();
    names
}

/// An exception unless the namespace exists.
pub(super) fn check_exists(node: &Node, name: &str) -> Result<(), Exception> {
    match all(node).iter().any(|known| known == name) {
        true => Ok(()),
        false => Err(Exception::new(exception::NAMESPACE_NOT_FOUND, name)),
    }
}

pub(super) fn create(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::CreateNamespaceRequest = incoming.decode()?;
    let name = name_of(&request.namespace_descriptor)?;
    let nonce = (request.nonce_group, request.nonce);
    let proc_id = run(node, nonce, || {
        let properties = properties_of(request.namespace_descriptor)?;
        if name == SYSTEM_NAMESPACE {
            return Err(Exception::new(exception::NAMESPACE_EXISTS, name.clone()));
        }
        node.db.create_namespace_with(&name, properties).map_err(failure::of_store)
    })?;
    Reply::of(&pb::CreateNamespaceResponse { proc_id: Some(proc_id) })
}

pub(super) fn modify(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::ModifyNamespaceRequest = incoming.decode()?;
    let name = name_of(&request.namespace_descriptor)?;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        check_exists(node, &name)?;
        let properties = properties_of(request.namespace_descriptor)?;
        if name == SYSTEM_NAMESPACE {
            let message = format!("namespace {name} is one of the system's own and cannot be changed");
            return Err(Exception::new(exception::CONSTRAINT, message));
        }
        node.db.set_namespace_properties(&name, properties).map_err(failure::of_store)
    })?;
    Reply::of(&pb::ModifyNamespaceResponse { proc_id: Some(proc_id) })
}

pub(super) fn delete(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::DeleteNamespaceRequest = incoming.decode()?;
    let name = &request.namespace_name;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        if [DEFAULT_NAMESPACE, SYSTEM_NAMESPACE].contains(&name.as_str()) {
            let message = format!("namespace {name} is one of the system's own and cannot be deleted");
            return Err(Exception::new(exception::CONSTRAINT, message));
        }
        node.db.drop_namespace(name).map_err(failure::of_store)
    })?;
    Reply::of(&pb::DeleteNamespaceResponse { proc_id: Some(proc_id) })
}

pub(super) fn descriptor(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetNamespaceDescriptorRequest = incoming.decode()?;
    check_exists(node, &request.namespace_name)?;
    let namespace_descriptor = message(node, &request.namespace_name);
    Reply::of(&pb::GetNamespaceDescriptorResponse { namespace_descriptor })
}

pub(super) fn descriptors(node: &Node) -> Result<Reply, Exception> {
    let namespace_descriptor = all(node).iter().map(|name| message(node, name)).collect();
    Reply::of(&pb::ListNamespaceDescriptorsResponse { namespace_descriptor })
}

pub(super) fn names(node: &Node) -> Result<Reply, Exception> {
    Reply::of(&pb::ListNamespacesResponse { namespace_name: all(node) })
}

pub(super) fn table_descriptors(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::ListTableDescriptorsByNamespaceRequest = incoming.decode()?;
    check_exists(node, &request.namespace_name)?;
    let mut table_schema = Vec::new();
    if request.namespace_name == SYSTEM_NAMESPACE {
        table_schema.push(schema::table_schema(&schema::meta_descriptor()));
    }
    for (_, descriptor) in node.db.tables() {
        if descriptor.name.namespace == request.namespace_name {
            table_schema.push(schema::table_schema(&descriptor));
        }
    }
    Reply::of(&pb::ListTableDescriptorsByNamespaceResponse { table_schema })
}

pub(super) fn table_names(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::ListTableNamesByNamespaceRequest = incoming.decode()?;
    check_exists(node, &request.namespace_name)?;
    let mut table_name = Vec::new();
    if request.namespace_name == SYSTEM_NAMESPACE {
        table_name.push(table_message(&meta_table()));
    }
    let tables = node.db.tables();
    let own = tables.iter().filter(|(_, descriptor)| descriptor.name.namespace == request.namespace_name);
    table_name.extend(own.map(|(_, descriptor)| table_message(&descriptor.name)));
    Reply::of(&pb::ListTableNamesByNamespaceResponse { table_name })
}

fn run(node: &Node, nonce: Nonce, change: impl FnOnce() -> Result<(), Exception>) -> Result<u64, Exception> {
    node.procedures.run(nonce, node.db.now_ms(), change)
}

fn message(node: &Node, name: &str) -> pb::NamespaceDescriptor {
    schema::namespace(name, node.db.namespace_properties(name))
}

fn name_of(message: &pb::NamespaceDescriptor) -> Result<String, Exception> {
    let name = std::str::from_utf8(&message.name).map(str::to_owned);
    name.map_err(|_| Exception::refused("the name of the namespace is not UTF-8 text"))
}

/// The properties that a client gives; those that HBase acts upon are refused, because nothing would act upon them here.
fn properties_of(message: pb::NamespaceDescriptor) -> Result<NamespaceProperties, Exception> {
    let mut properties = NamespaceProperties::new();
    for pb::NameStringPair { name, value } in message.configuration {
        if name.starts_with(QUOTA_PREFIX) || name == SERVER_GROUP {
            let message =
                format!("namespace property {name} is refused: this server has no quotas and no groups");
            return Err(Exception::refused(message));
        }
        properties.insert(name, value);
    }
    Ok(properties)
}
