// SPDX-License-Identifier: Apache-2.0
//! Tables: what there is, and changes of it.

use basalt_model::{TableDescriptor, TableId, TableName};
use basalt_wire::names::{meta_table, table_message, table_of, table_text};
use basalt_wire::{Exception, exception, pb, schema};
use regex::Regex;

use super::namespaces;
use super::procedures::Nonce;
use crate::call::{Incoming, Reply};
use crate::failure;
use crate::meta::is_meta;
use crate::node::Node;

/// Which tables a client asks about.
struct Wanted {
    names: Vec<TableName>,
    regex: Option<Regex>,
    namespace: Option<String>,
    system: bool,
}

impl Wanted {
    fn try_new(
        names: &[pb::TableName],
        regex: Option<&str>,
        namespace: Option<&str>,
        system: bool,
    ) -> Result<Self, Exception> {
        // Java matches the whole text; what a client sends may be an alternative at its top.
        let whole = |pattern: &str| {
            let compiled = Regex::new(&format!("^(?:{pattern})$"));
            compiled.map_err(|error| {
                Exception::refused(format!("the pattern {pattern:?} cannot be read: {error}"))
            })
        };
        Ok(Self {
            names: names.iter().map(table_of).collect::<Result<_, _>>()?,
            regex: regex.map(whole).transpose()?,
            namespace: namespace.filter(|name| !name.is_empty()).map(str::to_owned),
            system,
        })
    }

    fn has(&self, name: &TableName) -> bool {
        if !self.names.is_empty() {
            return self.names.contains(name);
        }
        let of_namespace = self.namespace.as_ref().is_none_or(|namespace| *namespace == name.namespace);
        of_namespace
            && (self.system || !is_meta(name))
            && self.regex.as_ref().is_none_or(|regex| regex.is_match(&table_text(name)))
    }

    fn find(&self, node: &Node) -> Vec<TableDescriptor> {
        let meta = schema::meta_descriptor();
        let mut found = if self.has(&meta.name) { vec![meta] } else { Vec::new() };
        let tables = node.db.tables().into_iter().map(|(_, descriptor)| descriptor);
        found.extend(tables.filter(|table| self.has(&table.name)).map(|table| (*table).clone()));
        found
    }
}

pub(super) fn names(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetTableNamesRequest = incoming.decode()?;
    let system = request.include_sys_tables();
    let wanted = Wanted::try_new(&[], request.regex.as_deref(), request.namespace.as_deref(), system)?;
    let table_names = wanted.find(node).iter().map(|table| table_message(&table.name)).collect();
    Reply::of(&pb::GetTableNamesResponse { table_names })
}

pub(super) fn descriptors(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetTableDescriptorsRequest = incoming.decode()?;
    let system = request.include_sys_tables();
    let wanted = Wanted::try_new(
        &request.table_names,
        request.regex.as_deref(),
        request.namespace.as_deref(),
        system,
    )?;
    let table_schema = wanted.find(node).iter().map(schema::table_schema).collect();
    Reply::of(&pb::GetTableDescriptorsResponse { table_schema })
}

/// The tables that are enabled, or those that are not.
fn by_state(node: &Node, enabled: bool) -> Vec<TableDescriptor> {
    let tables = node.db.tables().into_iter();
    let wanted = tables.filter(|(id, _)| node.db.is_table_enabled(*id).ok() == Some(enabled));
    wanted.map(|(_, descriptor)| (*descriptor).clone()).collect()
}

pub(super) fn descriptors_by_state(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::ListTableDescriptorsByStateRequest = incoming.decode()?;
    let table_schema = by_state(node, request.is_enabled).iter().map(schema::table_schema).collect();
    Reply::of(&pb::ListTableDescriptorsByStateResponse { table_schema })
}

pub(super) fn names_by_state(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::ListTableNamesByStateRequest = incoming.decode()?;
    let table_names =
        by_state(node, request.is_enabled).iter().map(|table| table_message(&table.name)).collect();
    Reply::of(&pb::ListTableNamesByStateResponse { table_names })
}

pub(super) fn state(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetTableStateRequest = incoming.decode()?;
    let enabled = match table_of(&request.table_name)? {
        name if is_meta(&name) => true,
        name => node.db.is_table_enabled(find(node, &name)?.0).map_err(failure::of_store)?,
    };
    let state = if enabled { pb::table_state::State::Enabled } else { pb::table_state::State::Disabled };
    Reply::of(&pb::GetTableStateResponse { table_state: pb::TableState { state: state as i32 } })
}

pub(super) fn alter_status(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetSchemaAlterStatusRequest = incoming.decode()?;
    let regions = node.regions_of(&table_of(&request.table_name)?)?.len();
    let total_regions = Some(u32::try_from(regions).unwrap_or(u32::MAX));
    Reply::of(&pb::GetSchemaAlterStatusResponse { yet_to_update_regions: Some(0), total_regions })
}

pub(super) fn create(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::CreateTableRequest = incoming.decode()?;
    let descriptor = schema::table(request.table_schema)?;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        namespaces::check_exists(node, &descriptor.name.namespace)?;
        check_name(&descriptor.name)?;
        let created = node.db.create_table_split(descriptor, &request.split_keys);
        created.map(drop).map_err(failure::of_store)
    })?;
    Reply::of(&pb::CreateTableResponse { proc_id: Some(proc_id) })
}

pub(super) fn modify(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::ModifyTableRequest = incoming.decode()?;
    let name = table_of(&request.table_name)?;
    let mut wanted = schema::table(request.table_schema)?;
    wanted.name = name.clone();
    let proc_id = run(node, (request.nonce_group, request.nonce), || alter(node, &name, |_| Ok(wanted)))?;
    Reply::of(&pb::ModifyTableResponse { proc_id: Some(proc_id) })
}

pub(super) fn add_family(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::AddColumnRequest = incoming.decode()?;
    let family = schema::family(request.column_families)?;
    let name = table_of(&request.table_name)?;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        alter(node, &name, |table| match has_family(&table, &family.name) {
            true => Err(invalid_family(&table, &family.name, "exists already")),
            false => Ok(table.family(family)),
        })
    })?;
    Reply::of(&pb::AddColumnResponse { proc_id: Some(proc_id) })
}

pub(super) fn modify_family(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::ModifyColumnRequest = incoming.decode()?;
    let family = schema::family(request.column_families)?;
    let name = table_of(&request.table_name)?;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        alter(node, &name, |table| match has_family(&table, &family.name) {
            true => Ok(table.family(family)),
            false => Err(invalid_family(&table, &family.name, "does not exist")),
        })
    })?;
    Reply::of(&pb::ModifyColumnResponse { proc_id: Some(proc_id) })
}

pub(super) fn delete_family(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::DeleteColumnRequest = incoming.decode()?;
    let family = String::from_utf8_lossy(&request.column_name).into_owned();
    let name = table_of(&request.table_name)?;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        alter(node, &name, |mut table| {
            if !has_family(&table, &family) {
                return Err(invalid_family(&table, &family, "does not exist"));
            }
            if table.families.len() == 1 {
                return Err(invalid_family(&table, &family, "is the only one and cannot be deleted"));
            }
            table.families.retain(|known| known.name != family);
            Ok(table)
        })
    })?;
    Reply::of(&pb::DeleteColumnResponse { proc_id: Some(proc_id) })
}

pub(super) fn enable(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::EnableTableRequest = incoming.decode()?;
    let name = table_of(&request.table_name)?;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        let id = disabled(node, &name)?;
        node.db.set_table_enabled(id, true).map_err(failure::of_store)
    })?;
    Reply::of(&pb::EnableTableResponse { proc_id: Some(proc_id) })
}

pub(super) fn disable(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::DisableTableRequest = incoming.decode()?;
    let name = table_of(&request.table_name)?;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        let (id, _) = find(node, &name)?;
        if !node.db.is_table_enabled(id).map_err(failure::of_store)? {
            return Err(Exception::new(exception::TABLE_NOT_ENABLED, table_text(&name)));
        }
        node.db.set_table_enabled(id, false).map_err(failure::of_store)
    })?;
    Reply::of(&pb::DisableTableResponse { proc_id: Some(proc_id) })
}

pub(super) fn delete(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::DeleteTableRequest = incoming.decode()?;
    let name = table_of(&request.table_name)?;
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        disabled(node, &name)?;
        node.db.drop_table(&name).map_err(failure::of_store)
    })?;
    Reply::of(&pb::DeleteTableResponse { proc_id: Some(proc_id) })
}

pub(super) fn truncate(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::TruncateTableRequest = incoming.decode()?;
    let (name, keep) = (table_of(&request.table_name)?, request.preserve_splits());
    let proc_id = run(node, (request.nonce_group, request.nonce), || {
        disabled(node, &name)?;
        let id = node.db.truncate_table(&name, keep).map_err(failure::of_store)?;
        // As in HBase, an empty table is one to be used.
        node.db.set_table_enabled(id, true).map_err(failure::of_store)
    })?;
    Reply::of(&pb::TruncateTableResponse { proc_id: Some(proc_id) })
}

pub(super) fn flush(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::FlushTableRequest = incoming.decode()?;
    let name = table_of(&request.table_name)?;
    // Before it gets its number: other changes need not wait for it, and to flush twice does no harm.
    if !is_meta(&name) {
        node.db.flush(Some(find(node, &name)?.0)).map_err(failure::of_store)?;
    }
    let proc_id = run(node, (request.nonce_group, request.nonce), || Ok(()))?;
    Reply::of(&pb::FlushTableResponse { proc_id: Some(proc_id) })
}

fn run(node: &Node, nonce: Nonce, change: impl FnOnce() -> Result<(), Exception>) -> Result<u64, Exception> {
    node.procedures.run(nonce, node.db.now_ms(), change)
}

fn find(node: &Node, name: &TableName) -> Result<(TableId, std::sync::Arc<TableDescriptor>), Exception> {
    if is_meta(name) {
        return Err(Exception::refused("hbase:meta is made up by this server and cannot be changed"));
    }
    node.db.table(name).map_err(|_| Exception::new(exception::TABLE_NOT_FOUND, table_text(name)))
}

/// A table that nobody uses; an exception if it is not disabled.
pub(super) fn disabled(node: &Node, name: &TableName) -> Result<TableId, Exception> {
    let (id, _) = find(node, name)?;
    match node.db.is_table_enabled(id).map_err(failure::of_store)? {
        false => Ok(id),
        true => Err(Exception::new(exception::TABLE_NOT_DISABLED, table_text(name))),
    }
}

fn alter(
    node: &Node,
    name: &TableName,
    change: impl FnOnce(TableDescriptor) -> Result<TableDescriptor, Exception>,
) -> Result<(), Exception> {
    let (id, before) = find(node, name)?;
    if before.schema.is_some() {
        return Err(Exception::refused(format!(
            "table {} was made in SQL; change it with ALTER TABLE",
            table_text(name)
        )));
    }
    let after = change((*before).clone())?;
    node.db.alter_table(id, after).map_err(failure::of_store)
}

fn has_family(table: &TableDescriptor, family: &str) -> bool {
    table.families.iter().any(|known| known.name == family)
}

fn invalid_family(table: &TableDescriptor, family: &str, what: &str) -> Exception {
    let message = format!("column family {family:?} of table {} {what}", table_text(&table.name));
    Exception::new(exception::INVALID_FAMILY, message)
}

/// The names that HBase's clients allow.
pub(super) fn check_name(name: &TableName) -> Result<(), Exception> {
    let known = |letter: char| letter.is_alphanumeric() || ['_', '-', '.'].contains(&letter);
    let wrong = name.name.is_empty() || !name.name.chars().all(known) || name.name.starts_with(['.', '-']);
    if wrong || *name == meta_table() {
        return Err(Exception::refused(format!(
            "{:?} cannot be the name of a table: it must have letters, digits, '_', '-' and '.', and not begin with one of the last two",
            name.name
        )));
    }
    Ok(())
}
