// SPDX-License-Identifier: Apache-2.0
//! Rows (ClientService).

use std::sync::Arc;

use basalt_wire::Exception;

use crate::call::{Context, Incoming, Reply};
use crate::node::Node;

mod bulk_load;
mod endpoint;
mod get;
mod gets;
mod multi;
mod mutate;
pub(crate) mod scan;

/// The answer of a method, but for scans, which [`scan::begin`] begins; `None` if there is no such method.
pub(crate) fn call(
    node: &Arc<Node>,
    context: &Context,
    method: &str,
    incoming: Incoming,
) -> Option<Result<Reply, Exception>> {
    Some(match method {
        "Get" => get::call(node, context, &incoming),
        "Mutate" => mutate::call(node, context, incoming),
        "PrepareBulkLoad" => bulk_load::prepare(node, &incoming),
        "BulkLoadHFile" => bulk_load::load(node, &incoming),
        "CleanupBulkLoad" => bulk_load::cleanup(&incoming),
        "ExecService" => endpoint::call(node, &incoming),
        "ExecRegionServerService" => endpoint::refuse_of_server(&incoming),
        "Multi" => multi::call(node, context, incoming),
        _ => return None,
    })
}
