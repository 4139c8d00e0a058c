// SPDX-License-Identifier: Apache-2.0
//! Sockets and HTTP.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use basalt_sql::Engine;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use crate::connections::Connections;
use crate::exchange;

/// A request of more bytes is refused.
const BODY_BYTES_MAX: usize = 64 << 20;
/// How long a client may take for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// How long requests in flight may take once the server is stopped.
const STOP_TIME: Duration = Duration::from_secs(5);
/// How often idle connections are looked for.
const SWEEP_TIME: Duration = Duration::from_secs(15);

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// 8765, as Phoenix's query server has it; 0 for any that is free.
    pub port: u16,
    /// Threads; one per core, and two at least, if `None`.
    pub threads: Option<usize>,
    /// Sockets at a time.
    pub sockets_max: usize,
    /// Connections of clients at a time.
    pub connections_max: usize,
    /// A connection that nobody asks anything for so long is closed.
    pub idle: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let idle = Duration::from_secs(600);
        Self { port: 8765, threads: None, sockets_max: 1024, connections_max: 4096, idle }
    }
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The port is taken, or may not be used.
    #[error("cannot listen for Phoenix's clients on {address}")]
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

/// A running server. [`AvaticaServer::stop`] ends it; so does dropping it, without waiting for requests in flight.
pub struct AvaticaServer {
    address: SocketAddr,
    connections: Arc<Connections>,
    runtime: Option<Runtime>,
    stop: watch::Sender<bool>,
    /// All of its permits are back when no socket is open.
    sockets: Arc<Semaphore>,
    sockets_max: usize,
}

impl AvaticaServer {
    /// Listens on the loopback interface and serves the engine there.
    pub fn start(engine: Engine, options: ServerOptions) -> Result<Self, ServerError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.threads.unwrap_or(cores).max(2))
            .thread_name("basalt-avatica")
            .enable_all()
            .build()
            .map_err(ServerError::Threads)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let listen = |source| ServerError::Listen { address, source };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let connections = Arc::new(Connections::new(engine, options.connections_max, options.idle));
        let sockets_max = options.sockets_max.max(1);
        let sockets = Arc::new(Semaphore::new(sockets_max));
        let (stop, stopped) = watch::channel(false);
        runtime.spawn(accept(listener, Arc::clone(&connections), Arc::clone(&sockets), stopped.clone()));
        runtime.spawn(sweep(Arc::clone(&connections), stopped));
        Ok(Self { address, connections, runtime: Some(runtime), stop, sockets, sockets_max })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that clients have open.
    pub fn connections(&self) -> usize {
        self.connections.count()
    }

    /// Takes no more requests, lets those in flight end for some seconds, and closes everything. What was not committed is lost.
    pub fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            let all = u32::try_from(self.sockets_max).unwrap_or(u32::MAX);
            // Sockets that are not closed by then are closed with the threads.
            let ended =
                async { tokio::time::timeout(STOP_TIME, self.sockets.acquire_many(all)).await.is_ok() };
            let _ = runtime.block_on(ended);
            runtime.shutdown_timeout(STOP_TIME);
        }
        self.connections.close_all();
    }
}

impl Drop for AvaticaServer {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for AvaticaServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AvaticaServer").field("address", &self.address).finish_non_exhaustive()
    }
}

async fn accept(
    listener: TcpListener,
    connections: Arc<Connections>,
    sockets: Arc<Semaphore>,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        // Who comes when all sockets are in use waits until one is free.
        let Ok(permit) = Arc::clone(&sockets).acquire_owned().await else { return };
        let socket = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return,
        };
        let Ok((socket, _)) = socket else {
            // No file handles are left, or the client is gone already.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (connections, stopped) = (Arc::clone(&connections), stopped.clone());
        tokio::spawn(async move {
            serve(socket, connections, stopped).await;
            drop(permit);
        });
    }
}

async fn serve(socket: TcpStream, connections: Arc<Connections>, mut stopped: watch::Receiver<bool>) {
    let _ = socket.set_nodelay(true);
    let answer = service_fn(move |request| {
        let connections = Arc::clone(&connections);
        async move { Ok::<_, Infallible>(answered(request, &connections).await) }
    });
    let http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(socket), answer);
    tokio::pin!(http);
    tokio::select! {
        // What is wrong with a socket concerns its client alone.
        _ = http.as_mut() => return,
        _ = stopped.changed() => http.as_mut().graceful_shutdown(),
    }
    let _ = http.await;
}

async fn answered(request: Request<Incoming>, connections: &Arc<Connections>) -> Response<Full<Bytes>> {
    if request.method() != Method::POST {
        let text = "Phoenix's thin clients connect here, by POST: jdbc:phoenix:thin:url=http://..;serialization=PROTOBUF\n";
        return plain(StatusCode::BAD_REQUEST, text);
    }
    // Browsers name the page that asks, and no page of anybody's may ask a database on the same machine.
    if request.headers().contains_key(ORIGIN) {
        return plain(StatusCode::FORBIDDEN, "pages in browsers are not answered\n");
    }
    let body = match Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return plain(StatusCode::PAYLOAD_TOO_LARGE, "a request has 64 MiB at most\n"),
    };
    let (is_right, body) = exchange::answer(body, connections).await;
    let status = if is_right { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/octet-stream;charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}

async fn sweep(connections: Arc<Connections>, mut stopped: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(SWEEP_TIME) => connections.close_idle(),
            _ = stopped.changed() => return,
        }
    }
}
