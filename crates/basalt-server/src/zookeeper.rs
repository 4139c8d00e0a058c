// SPDX-License-Identifier: Apache-2.0
//! Answers for ZooKeeper: clients that know a cluster only by its quorum ask there where the master and `hbase:meta` are. Nothing can
//! be written, and nothing ever changes while the server runs, so that watches need not be kept.

use std::sync::Arc;
use std::time::Duration;

use basalt_wire::pb;
use basalt_wire::zookeeper::{self, Outcome, PACKET_LEN_MAX};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::node::Node;

/// Clients send a ping in every third part of their session's time, which is 3 minutes at most.
const IDLE: Duration = Duration::from_secs(200);

pub(crate) async fn accept(
    listener: TcpListener,
    node: Arc<Node>,
    mut stopped: watch::Receiver<bool>,
    most: usize,
) {
    let nodes: Arc<[zookeeper::Node]> = nodes(&node).into();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return,
        };
        match accepted {
            Ok((stream, _)) if node.status().connections < most => {
                let (node, nodes, mut stopped) = (Arc::clone(&node), Arc::clone(&nodes), stopped.clone());
                tokio::spawn(async move {
                    let _open = node.open_connection();
                    tokio::select! {
                        // Whatever ended it, the client notices.
                        _ = serve(stream, &nodes) => {}
                        _ = stopped.changed() => {}
                    }
                });
            }
            Ok(_) => {}
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn serve(mut stream: TcpStream, nodes: &[zookeeper::Node]) -> Option<()> {
    let first = read_packet(&mut stream).await?;
    stream.write_all(&zookeeper::connect(first, 1)?).await.ok()?;
    loop {
        match zookeeper::answer(read_packet(&mut stream).await?, nodes)? {
            Outcome::Answer(packet) => stream.write_all(&packet).await.ok()?,
            Outcome::Last(packet) => return stream.write_all(&packet).await.ok(),
        }
    }
}

async fn read_packet(stream: &mut TcpStream) -> Option<bytes::Bytes> {
    let len = timeout(IDLE, stream.read_u32()).await.ok()?.ok()?;
    if len > PACKET_LEN_MAX {
        return None;
    }
    let mut packet = vec![0; len as usize];
    timeout(IDLE, stream.read_exact(&mut packet)).await.ok()?.ok()?;
    Some(packet.into())
}

/// What clients read, by path.
fn nodes(node: &Node) -> Vec<zookeeper::Node> {
    let server = node.name.message();
    let id = pb::ClusterId { cluster_id: node.cluster_id.clone() };
    let master = pb::Master { master: server.clone(), rpc_version: Some(0), info_port: None };
    let open = pb::region_state::State::Open as i32;
    let meta = pb::MetaRegionServer { server, rpc_version: Some(0), state: Some(open) };
    let running = pb::ClusterUp { start_date: node.name.start_code.to_string() };
    let empty = bytes::Bytes::new;
    [
        ("/hbase", empty()),
        ("/hbase/backup-masters", empty()),
        ("/hbase/hbaseid", zookeeper::node_data(&id)),
        ("/hbase/master", zookeeper::node_data(&master)),
        ("/hbase/meta-region-server", zookeeper::node_data(&meta)),
        ("/hbase/rs", empty()),
        (&format!("/hbase/rs/{}", node.name), zookeeper::node_data(&pb::RegionServerInfo::default())),
        ("/hbase/running", zookeeper::node_data(&running)),
    ]
    .into_iter()
    .map(|(path, data)| zookeeper::Node { path: path.to_owned(), data })
    .collect()
}
