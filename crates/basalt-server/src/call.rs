// SPDX-License-Identifier: Apache-2.0
//! From a request to its answer: the table of services and methods.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use basalt_wire::result::CellForm;
use basalt_wire::{CellReader, Compressor, Exception, Request, Response, exception, pb};
use bytes::{Bytes, BytesMut};
use prost::Message;

use crate::node::Node;
use crate::{admin, client, master, registry};

/// The codecs that the header may name; both have the same layout for cells without tags.
const CODECS: [&str; 2] =
    ["org.apache.hadoop.hbase.codec.KeyValueCodec", "org.apache.hadoop.hbase.codec.KeyValueCodecWithTags"];

/// What the header of a connection chose.
pub(crate) struct Context {
    service: Service,
    pub(crate) form: CellForm,
    compressor: Option<Compressor>,
}

/// The set of methods that a connection can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    Client,
    Registry,
    Master,
    Admin,
    /// Known, without any method here.
    Empty,
}

impl Context {
    pub(crate) fn try_new(header: pb::ConnectionHeader) -> Result<Self, Exception> {
        let service = match header.service_name() {
            "ClientService" => Service::Client,
            "ClientMetaService" => Service::Registry,
            "MasterService" => Service::Master,
            "AdminService" => Service::Admin,
            "HbckService" | "LockService" | "BootstrapNodeService" => Service::Empty,
            "" => return Err(Exception::new(exception::EMPTY_SERVICE, "the header names no service")),
            name => {
                return Err(Exception::new(
                    exception::UNKNOWN_SERVICE,
                    format!("service {name} is not known to this server"),
                ));
            }
        };
        let form = match &header.cell_block_codec_class {
            None => CellForm::Inline,
            Some(class) if class.is_empty() => CellForm::Inline,
            Some(class) if CODECS.contains(&class.as_str()) => CellForm::Block,
            Some(class) => {
                return Err(Exception::new(
                    exception::UNSUPPORTED_CODEC,
                    format!("cell codec {class} is not known to this server; expected {}", CODECS[0]),
                ));
            }
        };
        let compressor = match header.cell_block_compressor_class() {
            "" => None,
            class => Some(Compressor::of_class(class)?),
        };
        Ok(Self { service, form, compressor })
    }

    pub(crate) fn is_master(&self) -> bool {
        self.service == Service::Master
    }
}

/// The answer of a handler.
pub(crate) struct Reply {
    message: Vec<u8>,
    cells: BytesMut,
}

impl Reply {
    pub(crate) fn of(message: &impl Message) -> Result<Self, Exception> {
        Ok(Self::with_cells(message, BytesMut::new()))
    }

    pub(crate) fn with_cells(message: &impl Message, cells: BytesMut) -> Self {
        Self { message: message.encode_to_vec(), cells }
    }

    /// A message without fields.
    pub(crate) fn empty() -> Result<Self, Exception> {
        Ok(Self { message: Vec::new(), cells: BytesMut::new() })
    }
}

/// A request on its way to its handler.
pub(crate) struct Incoming {
    pub(crate) param: Bytes,
    pub(crate) cells: CellReader,
    /// How long the client waits, in milliseconds; 0 for as long as it takes.
    pub(crate) timeout_ms: u32,
}

impl Incoming {
    pub(crate) fn decode<M: Message + Default>(&self) -> Result<M, Exception> {
        M::decode(self.param.clone())
            .map_err(|error| Exception::refused(format!("the message of the call cannot be read: {error}")))
    }
}

/// True for calls that need not leave the thread of their connection if they come alone.
pub(crate) fn is_short(node: &Node, context: &Context, request: &Request) -> bool {
    match (context.service, request.header.method_name()) {
        (Service::Client, "Get") | (Service::Registry, _) => true,
        (Service::Client, "Scan") => client::scan::is_prepared(node, request),
        _ => false,
    }
}

/// Makes a call. May block.
pub(crate) fn answer(node: &Arc<Node>, context: &Context, request: Request) -> Response {
    let call_id = request.header.call_id();
    node.count_call();
    // A defect in a handler costs the call, not the server.
    let reply = catch_unwind(AssertUnwindSafe(|| dispatch(node, context, request)));
    match reply {
        Ok(Ok(reply)) => {
            let cells = reply.cells.freeze();
            let cells = match context.compressor {
                Some(compressor) if !cells.is_empty() => compressor.compress(&cells),
                _ => cells,
            };
            Response::encoded(call_id, &reply.message, cells)
        }
        Ok(Err(exception)) => Response::failure(call_id, &exception),
        Err(_) => Response::failure(
            call_id,
            &Exception::refused("the server has a defect in this call; its log says more"),
        ),
    }
}

fn dispatch(node: &Arc<Node>, context: &Context, request: Request) -> Result<Reply, Exception> {
    let Request { header, param, cells } = request;
    let method = header.method_name();
    let param = param.ok_or_else(|| Exception::refused(format!("a call of {method} without its message")))?;
    let cells = match context.compressor {
        Some(compressor) if !cells.is_empty() => compressor.decompress(cells)?,
        _ => cells,
    };
    let incoming = Incoming { param, cells: CellReader::new(cells), timeout_ms: header.timeout() };
    let reply = match context.service {
        Service::Client => client::call(node, context, method, incoming),
        Service::Registry => registry::call(node, method),
        Service::Master => master::call(node, method, &incoming),
        Service::Admin => admin::call(node, method, &incoming),
        Service::Empty => None,
    };
    // The registry's methods are there for whoever asks a master, too.
    let reply = reply.or_else(|| context.is_master().then(|| registry::call(node, method)).flatten());
    reply.unwrap_or_else(|| Err(Exception::refused(format!("method {method} is not known to this service"))))
}
