// SPDX-License-Identifier: Apache-2.0
//! Store files that a job of the client wrote become rows of a region (HBase's bulk load). The client names files that this server
//! can open; they are read and checked, and stay where they are.
//!
//! A load is named by a token between its first call and its last. Nothing is kept for it here.

use std::path::PathBuf;

use basalt_wire::{Exception, exception, names, pb};

use crate::call::{Incoming, Reply};
use crate::failure;
use crate::node::Node;

/// Begins a load: the answer is its token.
pub(super) fn prepare(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::PrepareBulkLoadRequest = incoming.decode()?;
    let name = names::table_of(&request.table_name)?;
    node.db.table(&name).map_err(failure::of_store)?;
    let bulk_token = format!("basalt-{}-{name}", node.name.start_code);
    Reply::of(&pb::PrepareBulkLoadResponse { bulk_token })
}

/// Loads files into a region.
pub(super) fn load(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::BulkLoadHFileRequest = incoming.decode()?;
    let region = node.region(&request.region)?;
    let mut files = Vec::with_capacity(request.family_path.len());
    for pair in request.family_path {
        let family = std::str::from_utf8(&pair.family).map_err(|_| {
            Exception::new(
                exception::NO_SUCH_FAMILY,
                format!("family {} is not UTF-8 text", pair.family.escape_ascii()),
            )
        })?;
        files.push((family.to_owned(), local_path(&pair.path)?));
    }
    if files.is_empty() {
        return Err(Exception::refused("a bulk load names no file"));
    }
    node.db.ingest_files(region.table.id(), &region.range, &files).map_err(failure::of_store)?;
    Reply::of(&pb::BulkLoadHFileResponse { loaded: true })
}

/// Ends a load.
pub(super) fn cleanup(incoming: &Incoming) -> Result<Reply, Exception> {
    incoming.decode::<pb::CleanupBulkLoadRequest>()?;
    Reply::empty()
}

/// A path, or a URI of scheme `file`.
fn local_path(text: &str) -> Result<PathBuf, Exception> {
    let path = match text.strip_prefix("file:") {
        // file:/a, file:///a and file://localhost/a
        Some(rest) => match rest.strip_prefix("//") {
            Some(rest) => &rest[rest.find('/').unwrap_or(rest.len())..],
            None => rest,
        },
        None => text,
    };
    if !path.starts_with('/') {
        return Err(Exception::refused(format!(
            "{text} cannot be loaded; expected an absolute path of this machine's file system, or a file: URI"
        )));
    }
    Ok(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_of_local_files() {
        for text in ["/a/b", "file:/a/b", "file:///a/b", "file://localhost/a/b"] {
            assert_eq!(local_path(text).unwrap(), PathBuf::from("/a/b"), "{text}");
        }
        for text in ["a/b", "hdfs://name/a/b", "file:a", "file://"] {
            assert!(local_path(text).is_err(), "{text}");
        }
    }
}
