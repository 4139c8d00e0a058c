// SPDX-License-Identifier: Apache-2.0
//! Snapshots of tables.

use basalt_model::TableName;
use basalt_store::TableSnapshot;
use basalt_wire::names::{table_of_text, table_text};
use basalt_wire::{Exception, exception, pb};

use super::{namespaces, tables};
use crate::call::{Incoming, Reply};
use crate::failure;
use crate::meta::is_meta;
use crate::node::Node;

/// How long a client without procedures may wait for a snapshot, in milliseconds.
const EXPECTED_MS: i64 = 300_000;
/// The version of HBase's snapshots.
const VERSION: i32 = 2;

pub(super) fn take(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::SnapshotRequest = incoming.decode()?;
    let table = table_in(&request.snapshot)?;
    let name = &request.snapshot.name;
    let proc_id = node.procedures.run((request.nonce_group, request.nonce), node.db.now_ms(), || {
        if is_meta(&table) || node.db.table(&table).is_err() {
            let message =
                format!("table {} is not there; no snapshot can be taken of it", table_text(&table));
            return Err(Exception::new(exception::SNAPSHOT_CREATION, message));
        }
        node.db.create_snapshot(name, &table).map_err(failure::of_store)
    })?;
    let proc_id = i64::try_from(proc_id).ok();
    Reply::of(&pb::SnapshotResponse { expected_timeout: EXPECTED_MS, proc_id })
}

pub(super) fn list(node: &Node) -> Result<Reply, Exception> {
    let snapshots = node.db.snapshots().iter().map(description).collect();
    Reply::of(&pb::GetCompletedSnapshotsResponse { snapshots })
}

pub(super) fn is_done(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::IsSnapshotDoneRequest = incoming.decode()?;
    let name = request.snapshot.map(|snapshot| snapshot.name).unwrap_or_default();
    let found = find(node, &name)?;
    Reply::of(&pb::IsSnapshotDoneResponse { done: Some(true), snapshot: Some(description(&found)) })
}

pub(super) fn delete(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::DeleteSnapshotRequest = incoming.decode()?;
    node.db.drop_snapshot(&request.snapshot.name).map_err(failure::of_store)?;
    Reply::of(&pb::DeleteSnapshotResponse {})
}

/// Of a table that is there, which must be that of the snapshot, and disabled; else a new table is made.
pub(super) fn restore(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::RestoreSnapshotRequest = incoming.decode()?;
    let name = &request.snapshot.name;
    let proc_id = node.procedures.run((request.nonce_group, request.nonce), node.db.now_ms(), || {
        let snapshot = find(node, name)?;
        let target = match &request.snapshot.table {
            Some(_) => table_in(&request.snapshot)?,
            None => snapshot.table.clone(),
        };
        if node.db.table(&target).is_err() {
            namespaces::check_exists(node, &target.namespace)?;
            tables::check_name(&target)?;
            return node.db.clone_snapshot(name, &target).map(drop).map_err(failure::of_store);
        }
        if target != snapshot.table {
            let (target, table) = (table_text(&target), table_text(&snapshot.table));
            let message = format!("snapshot {name} is one of table {table}; {target} is there already");
            return Err(Exception::new(exception::TABLE_EXISTS, message));
        }
        tables::disabled(node, &target)?;
        node.db.restore_snapshot(name).map(drop).map_err(failure::of_store)
    })?;
    Reply::of(&pb::RestoreSnapshotResponse { proc_id })
}

fn find(node: &Node, name: &str) -> Result<TableSnapshot, Exception> {
    let found = node.db.snapshots().into_iter().find(|snapshot| snapshot.name == name);
    found.ok_or_else(|| Exception::new(exception::NO_SUCH_SNAPSHOT, format!("there is no snapshot {name:?}")))
}

fn table_in(snapshot: &pb::SnapshotDescription) -> Result<TableName, Exception> {
    let table = table_of_text(snapshot.table().as_bytes()).filter(|table| !table.name.is_empty());
    table.ok_or_else(|| Exception::refused(format!("snapshot {:?} names no table", snapshot.name)))
}

fn description(snapshot: &TableSnapshot) -> pb::SnapshotDescription {
    pb::SnapshotDescription {
        name: snapshot.name.clone(),
        table: Some(table_text(&snapshot.table)),
        creation_time: Some(snapshot.created_ms),
        r#type: Some(pb::snapshot_description::Type::Flush as i32),
        version: Some(VERSION),
        owner: None,
        ttl: Some(0),
        max_file_size: None,
    }
}
