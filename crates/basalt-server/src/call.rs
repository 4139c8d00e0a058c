// SPDX-License-Identifier: Apache-2.0
//! From a request to its answer: the table of services and methods.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use basalt_wire::result::CellForm;
use basalt_wire::{CellReader, Compressor, Exception, Request, Response, exception, pb};
use bytes::{Bytes, BytesMut};
use prost::Message;

use crate::client::scan::{self, ReadAhead};
use crate::node::Node;
use crate::{admin, client, master, refusals, registry};

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

    /// The frame for what a handler says.
    fn answer(&self, call_id: u32, reply: Result<Reply, Exception>) -> Answer {
        let reply = match reply {
            Ok(reply) => reply,
            Err(exception) => {
                return Answer { response: Response::failure(call_id, &exception), ahead: None };
            }
        };
        let cells = reply.cells.freeze();
        let cells = match self.compressor {
            Some(compressor) if !cells.is_empty() => compressor.compress(&cells),
            _ => cells,
        };
        Answer { response: Response::encoded(call_id, &reply.message, cells), ahead: reply.ahead }
    }
}

/// The answer of a handler.
pub(crate) struct Reply {
    message: Vec<u8>,
    cells: BytesMut,
    ahead: Option<ReadAhead>,
}

impl Reply {
    pub(crate) fn of(message: &impl Message) -> Result<Self, Exception> {
        Ok(Self::with_cells(message, BytesMut::new()))
    }

    pub(crate) fn with_cells(message: &impl Message, cells: BytesMut) -> Self {
        Self::encoded(message.encode_to_vec(), cells)
    }

    /// A message that is encoded already.
    pub(crate) fn encoded(message: Vec<u8>, cells: BytesMut) -> Self {
        Self { message, cells, ahead: None }
    }

    /// A message without fields.
    pub(crate) fn empty() -> Result<Self, Exception> {
        Ok(Self { message: Vec::new(), cells: BytesMut::new(), ahead: None })
    }

    /// What is to be done once the answer is sent.
    pub(crate) fn then(self, ahead: Option<ReadAhead>) -> Self {
        Self { ahead, ..self }
    }
}

/// An answer on its way to its client.
pub(crate) struct Answer {
    pub(crate) response: Response,
    /// What is to be done once it is sent.
    pub(crate) ahead: Option<ReadAhead>,
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

/// What became of a call when it was begun.
pub(crate) enum Begun {
    Answered(Answer),
    /// It may block.
    Waiting(Waiting),
}

/// A call, or what is left of it.
pub(crate) struct Waiting {
    call_id: u32,
    rest: Rest,
}

enum Rest {
    All(Request),
    Scan(Box<scan::Reading>),
}

/// Messages of many gets are short up to this length, in bytes.
const SHORT_MULTI_LEN: usize = 1 << 10;

/// Begins a call. It is answered at once if that takes no longer than another thread would need to take it over, as far as one can
/// tell; `apart`: never.
pub(crate) fn begin(node: &Arc<Node>, context: &Context, request: Request, apart: bool) -> Begun {
    let call_id = request.header.call_id();
    let waiting = |rest| Begun::Waiting(Waiting { call_id, rest });
    match (context.service, request.header.method_name()) {
        _ if apart || context.compressor.is_some() => waiting(Rest::All(request)),
        (Service::Client, "Scan") => {
            node.count_call();
            match guarded(|| scan::begin(node, context.form, &incoming(context, request)?)) {
                Ok(scan::Begun::Answered(reply)) => Begun::Answered(context.answer(call_id, Ok(reply))),
                Ok(scan::Begun::Reading(reading)) => waiting(Rest::Scan(reading)),
                Err(exception) => Begun::Answered(context.answer(call_id, Err(exception))),
            }
        }
        (Service::Client, "Get") | (Service::Registry, _) => Begun::Answered(answer(node, context, request)),
        (Service::Client, "Multi") if is_few_gets(&request) => {
            Begun::Answered(answer(node, context, request))
        }
        _ => waiting(Rest::All(request)),
    }
}

fn is_few_gets(request: &Request) -> bool {
    let Some(param) = request.param.as_ref().filter(|param| param.len() <= SHORT_MULTI_LEN) else {
        return false;
    };
    let Ok(multi) = pb::MultiRequest::decode(param.clone()) else { return false };
    multi.region_action.iter().flat_map(|region| &region.action).all(|action| action.get.is_some())
}

impl Waiting {
    /// Makes the call. May block.
    pub(crate) fn answer(self, node: &Arc<Node>, context: &Context) -> Answer {
        match self.rest {
            Rest::All(request) => answer(node, context, request),
            Rest::Scan(reading) => {
                context.answer(self.call_id, guarded(|| reading.finish(node, context.form)))
            }
        }
    }
}

/// Makes a call. May block.
fn answer(node: &Arc<Node>, context: &Context, request: Request) -> Answer {
    let call_id = request.header.call_id();
    node.count_call();
    context.answer(call_id, guarded(|| dispatch(node, context, request)))
}

/// A defect in a handler costs the call, not the server.
fn guarded<T>(handler: impl FnOnce() -> Result<T, Exception>) -> Result<T, Exception> {
    catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|_| {
        Err(Exception::refused("the server has a defect in this call; its log says more"))
    })
}

/// The message of a call and its cells.
fn incoming(context: &Context, request: Request) -> Result<Incoming, Exception> {
    let Request { header, param, cells } = request;
    let param = param.ok_or_else(|| Exception::refused("a call without its message"))?;
    let cells = match context.compressor {
        Some(compressor) if !cells.is_empty() => compressor.decompress(cells)?,
        _ => cells,
    };
    Ok(Incoming { param, cells: CellReader::new(cells), timeout_ms: header.timeout() })
}

fn dispatch(node: &Arc<Node>, context: &Context, mut request: Request) -> Result<Reply, Exception> {
    let method = request.header.method_name.take().unwrap_or_default();
    let method = method.as_str();
    let incoming = incoming(context, request)?;
    let reply = match context.service {
        Service::Client if method == "Scan" => Some(whole_scan(node, context, &incoming)),
        Service::Client => client::call(node, context, method, incoming),
        Service::Registry => registry::call(node, method),
        Service::Master => master::call(node, method, &incoming),
        Service::Admin => admin::call(node, method, &incoming),
        Service::Empty => None,
    };
    // The registry's methods are there for whoever asks a master, too.
    let reply = reply.or_else(|| context.is_master().then(|| registry::call(node, method)).flatten());
    reply.unwrap_or_else(|| {
        let unknown = || Exception::refused(format!("method {method} is not known to this service"));
        Err(refusals::of_method(method).unwrap_or_else(unknown))
    })
}

fn whole_scan(node: &Arc<Node>, context: &Context, incoming: &Incoming) -> Result<Reply, Exception> {
    match scan::begin(node, context.form, incoming)? {
        scan::Begun::Answered(reply) => Ok(reply),
        scan::Begun::Reading(reading) => reading.finish(node, context.form),
    }
}
