// SPDX-License-Identifier: Apache-2.0
//! The listener: binds the port, starts a task per connection, ends them all.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use basalt_store::Database;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::node::Node;
use crate::{connection, zookeeper};

/// Threads that handlers may block, at most.
const BLOCKING_THREADS: usize = 128;
/// How long calls in flight may take to end when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Connections that the operating system holds for us until they are taken.
const BACKLOG: u32 = 4096;
/// How often scanners whose lease is over are looked for, as a part of a lease.
const LEASE_CHECKS: u32 = 8;

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Port on the loopback interface; 0 for any that is free. Default 16020, HBase's.
    pub port: u16,
    /// Port that answers for ZooKeeper, read-only, to clients that are configured with a quorum; 0 for any that is free. Default none.
    pub zookeeper_port: Option<u16>,
    /// Worker threads; one per core if `None`. Handlers that wait for the disk have threads of their own.
    pub threads: Option<usize>,
    /// How long a scanner may be left alone before it is closed, in milliseconds. Default 60,000, HBase's.
    pub lease_ms: u64,
    /// Memory for answers of scans that are prepared ahead, in bytes, over all scanners. Default 128 MiB. Beyond it scans are
    /// answered one call at a time.
    pub read_ahead_bytes: u64,
    /// Memory for answers that are made or wait to be sent, in bytes, over all connections. Default 256 MiB. When a quarter of it is used,
    /// clients that do not take their answers are not read from any more, and scans answer with little at a time; when all of it is, nobody is
    /// read from until answers are taken. More lets more slow clients be served at full size.
    pub answer_bytes: u64,
    /// How long a thread stays awake for the next call of a connection whose calls follow each other within this time, in microseconds;
    /// 0 for never. Default 200. More serves slower clients sooner, and costs a core that much longer when they stop asking; at
    /// most every second worker thread stays awake.
    pub look_us: u64,
    /// Connections, at most; more are closed at once. Default 4096.
    pub connections_max: usize,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            port: 16_020,
            zookeeper_port: None,
            threads: None,
            lease_ms: 60_000,
            read_ahead_bytes: 128 << 20,
            answer_bytes: 256 << 20,
            look_us: 200,
            connections_max: 4096,
        }
    }
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The port is taken, or may not be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Threads cannot be started.
    #[error("cannot start the threads of the server")]
    Threads(#[source] std::io::Error),
}

/// A running server. [`Server::stop`] ends it; so does dropping it, without waiting for calls in flight.
pub struct Server {
    node: Arc<Node>,
    address: SocketAddr,
    zookeeper_address: Option<SocketAddr>,
    runtime: Option<Runtime>,
    stop: watch::Sender<bool>,
}

/// What a server does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Open connections.
    pub connections: usize,
    /// Open scanners.
    pub scanners: usize,
    /// Bytes of answers that are prepared ahead.
    pub read_ahead_bytes: u64,
    /// Bytes of answers that are made or wait to be sent.
    pub answer_bytes: u64,
    /// Memory for requests that are being read or worked on, in bytes.
    pub request_bytes: u64,
    /// Calls since the start.
    pub calls: u64,
}

impl Server {
    /// Listens on the loopback interface and serves `db` there until [`Server::stop`].
    pub fn start(db: Database, options: ServerOptions) -> Result<Self, ServerError> {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        if let Some(workers) = options.threads {
            threads.worker_threads(workers);
        }
        let runtime = threads
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("basalt-rpc")
            .enable_all()
            .build()
            .map_err(ServerError::Threads)?;
        let (listener, address) = bind(&runtime, options.port)?;
        let zookeeper = options.zookeeper_port.map(|port| bind(&runtime, port)).transpose()?;
        let node = Arc::new(Node::new(db, address, &options));
        let (stop, stopped) = watch::channel(false);
        runtime.spawn(accept(listener, Arc::clone(&node), stopped.clone(), options.connections_max));
        let zookeeper_address = zookeeper.as_ref().map(|(_, address)| *address);
        if let Some((listener, _)) = zookeeper {
            let node = Arc::clone(&node);
            runtime.spawn(zookeeper::accept(listener, node, stopped.clone(), options.connections_max));
        }
        runtime.spawn(end_leases(Arc::clone(&node), stopped));
        Ok(Self { node, address, zookeeper_address, runtime: Some(runtime), stop })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the server answers for ZooKeeper.
    pub fn zookeeper_address(&self) -> Option<SocketAddr> {
        self.zookeeper_address
    }

    /// The properties that a client's `hbase-site.xml` needs: two for clients that ask the server itself, and two more, if it answers for
    /// ZooKeeper, for those that can only ask there. A client that knows the first ones does not look at the others.
    pub fn client_configuration(&self) -> String {
        let registry = "org.apache.hadoop.hbase.client.RpcConnectionRegistry".to_owned();
        let mut properties = vec![
            ("hbase.client.registry.impl", registry),
            ("hbase.client.bootstrap.servers", self.address.to_string()),
        ];
        if let Some(address) = self.zookeeper_address {
            properties.push(("hbase.zookeeper.quorum", address.ip().to_string()));
            properties.push(("hbase.zookeeper.property.clientPort", address.port().to_string()));
        }
        let mut text = "<configuration>\n".to_owned();
        for (name, value) in properties {
            let property = format!("    <name>{name}</name>\n    <value>{value}</value>\n");
            text.push_str(&format!("  <property>\n{property}  </property>\n"));
        }
        text + "</configuration>\n"
    }

    /// What the server does at the moment.
    pub fn status(&self) -> Status {
        self.node.status()
    }

    /// Takes no new calls, waits for those in flight, and closes all connections. The database stays open.
    pub fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(async {
                let idle = async {
                    while self.node.status().connections > 0 {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                };
                let _ = tokio::time::timeout(STOP_TIMEOUT, idle).await;
            });
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
        self.node.scanners.close_all();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

fn bind(runtime: &Runtime, port: u16) -> Result<(TcpListener, SocketAddr), ServerError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listen = |source| ServerError::Listen { address, source };
    let listening = async {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    let listener = runtime.block_on(listening).map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    Ok((listener, address))
}

async fn accept(listener: TcpListener, node: Arc<Node>, mut stopped: watch::Receiver<bool>, most: usize) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return,
        };
        match accepted {
            Ok((stream, _)) if node.status().connections < most => {
                tokio::spawn(serve(stream, Arc::clone(&node), stopped.clone()));
            }
            // Dropped: the client sees a closed connection and tries again later.
            Ok(_) => {}
            // Out of file handles, as a rule: what is open goes on, and may end.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn serve(stream: TcpStream, node: Arc<Node>, stopped: watch::Receiver<bool>) {
    // Answers are written whole; waiting for more of them would only delay them.
    let _ = stream.set_nodelay(true);
    let _open = node.open_connection();
    connection::serve(stream, &node, stopped).await;
}

async fn end_leases(node: Arc<Node>, mut stopped: watch::Receiver<bool>) {
    let pause = (node.scanners.lease() / LEASE_CHECKS).max(Duration::from_millis(10));
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => node.scanners.end_leases(),
            _ = stopped.changed() => return,
        }
    }
}
