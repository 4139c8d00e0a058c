// SPDX-License-Identifier: Apache-2.0
//! Where clients begin (ClientMetaService): who the cluster is, where its master is, where `hbase:meta` is. All of it is
//! this server.

use basalt_wire::{Exception, names, pb};

use crate::call::Reply;
use crate::meta;
use crate::node::Node;

/// The answer of a method; `None` if there is no such method.
pub(crate) fn call(node: &Node, method: &str) -> Option<Result<Reply, Exception>> {
    Some(match method {
        "GetClusterId" => Reply::of(&pb::GetClusterIdResponse { cluster_id: Some(node.cluster_id.clone()) }),
        "GetActiveMaster" => {
            Reply::of(&pb::GetActiveMasterResponse { server_name: Some(node.name.message()) })
        }
        "GetMasters" => Reply::of(&pb::GetMastersResponse {
            master_servers: vec![pb::GetMastersResponseEntry {
                server_name: node.name.message(),
                is_active: true,
            }],
        }),
        "GetBootstrapNodes" => {
            Reply::of(&pb::GetBootstrapNodesResponse { server_name: vec![node.name.message()] })
        }
        "GetMetaRegionLocations" => Reply::of(&meta_locations(node)),
        _ => return None,
    })
}

fn meta_locations(node: &Node) -> pb::GetMetaRegionLocationsResponse {
    let location = pb::RegionLocation {
        region_info: meta::region_info_of_meta(),
        server_name: Some(node.name.message()),
        seq_num: -1,
    };
    debug_assert_eq!(location.region_info.table_name, names::table_message(&names::meta_table()));
    pb::GetMetaRegionLocationsResponse { meta_locations: vec![location] }
}
