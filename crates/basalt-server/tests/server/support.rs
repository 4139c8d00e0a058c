// SPDX-License-Identifier: Apache-2.0
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use basalt_model::{FamilyDescriptor, TableDescriptor, TableName};
use basalt_server::{Server, ServerOptions};
use basalt_store::{Database, OpenOptions};
use basalt_wire::{CellReader, WireCell, names, pb, schema};
use bytes::{BufMut, Bytes, BytesMut};
use pb::mutation_proto::{ColumnValue, MutationType, column_value::QualifierValue};
use prost::Message;
use tempfile::TempDir;

/// A served database in a directory of its own.
pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) db: Database,
    _dir: TempDir,
}

pub(crate) fn serve(options: ServerOptions) -> Served {
    serve_with(options, OpenOptions::create())
}

/// As [`serve`], with a database that is opened so.
pub(crate) fn serve_with(options: ServerOptions, open: OpenOptions) -> Served {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(&dir.path().join("db"), open).unwrap();
    let options = ServerOptions { port: 0, threads: Some(2), ..options };
    Served { server: Server::start(db.clone(), options).unwrap(), db, _dir: dir }
}

impl Served {
    pub(crate) fn client(&self, service: &str) -> Client {
        Client::connect(self.server.address(), service)
    }

    /// A table `t` with family `f`, cut at these keys; gives the names of its regions.
    pub(crate) fn table(&self, splits: &[&'static str]) -> Vec<Bytes> {
        create_table(self.server.address(), splits)
    }

    /// The names of a table's regions, as a client finds them in `hbase:meta`.
    pub(crate) fn regions(&self, table: &str) -> Vec<Bytes> {
        regions(self.server.address(), table)
    }
}

/// See [`Served::table`].
pub(crate) fn create_table(address: SocketAddr, splits: &[&'static str]) -> Vec<Bytes> {
    let split_keys = splits.iter().map(|key| Bytes::from_static(key.as_bytes())).collect();
    let table = TableDescriptor::new(TableName::in_default("t")).family(FamilyDescriptor::new("f"));
    let table_schema = schema::table_schema(&table);
    let mut master = Client::connect(address, "MasterService");
    let request = pb::CreateTableRequest { table_schema, split_keys, nonce_group: None, nonce: None };
    let created: pb::CreateTableResponse = master.call("CreateTable", &request).unwrap();
    let asked = pb::GetProcedureResultRequest { proc_id: created.proc_id() };
    let result: pb::GetProcedureResultResponse = master.call("getProcedureResult", &asked).unwrap();
    assert_eq!(result.state, pb::get_procedure_result_response::State::Finished as i32);
    regions(address, "t")
}

fn regions(address: SocketAddr, table: &str) -> Vec<Bytes> {
    let scan = pb::Scan {
        start_row: Some(format!("{table},,").into()),
        stop_row: Some(format!("{table} ,,").into()),
        column: vec![pb::Column { family: "info".into(), qualifier: Vec::new() }],
        ..Default::default()
    };
    let request = pb::ScanRequest {
        region: Some(region(b"hbase:meta,,1")),
        scan: Some(scan),
        number_of_rows: Some(i32::MAX as u32),
        ..Default::default()
    };
    let (response, cells) = Client::connect(address, "ClientService").scan(&request).unwrap();
    assert_eq!(response.more_results_in_region, Some(false));
    let mut rows: Vec<Bytes> = cells.iter().map(|cell| cell.row.clone()).collect();
    rows.dedup();
    rows
}

/// The class of an exception, without its package.
pub(crate) type Refusal = String;

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    next_call: u32,
    /// Text of the last exception.
    refused_with: String,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr, service: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let header = pb::ConnectionHeader {
            service_name: Some(service.to_owned()),
            cell_block_codec_class: Some("org.apache.hadoop.hbase.codec.KeyValueCodec".to_owned()),
            ..Default::default()
        };
        let header = header.encode_to_vec();
        let mut opening = b"HBas\0\x50".to_vec();
        opening.extend_from_slice(&(header.len() as u32).to_be_bytes());
        opening.extend_from_slice(&header);
        stream.write_all(&opening).unwrap();
        Self { stream, next_call: 0, refused_with: String::new() }
    }

    /// Sends a call without waiting for its answer; gives its number.
    pub(crate) fn send(&mut self, method: &str, message: &impl Message) -> u32 {
        self.send_with_cells(method, message, b"")
    }

    fn send_with_cells(&mut self, method: &str, message: &impl Message, cells: &[u8]) -> u32 {
        let call_id = self.next_call;
        self.next_call += 1;
        let header = pb::RequestHeader {
            call_id: Some(call_id),
            method_name: Some(method.to_owned()),
            request_param: Some(true),
            cell_block_meta: Some(pb::CellBlockMeta { length: Some(cells.len() as u32) }),
            ..Default::default()
        };
        let mut frame = BytesMut::new();
        frame.put_slice(&header.encode_length_delimited_to_vec());
        frame.put_slice(&message.encode_length_delimited_to_vec());
        frame.put_slice(cells);
        let mut bytes = (frame.len() as u32).to_be_bytes().to_vec();
        bytes.extend_from_slice(&frame);
        // A server that is gone, or does not read, is noticed when its answer is missed.
        let _ = self.stream.write_all(&bytes);
        call_id
    }

    /// The next answer: its call, and its message with what follows; `None` if the connection was closed.
    pub(crate) fn receive(&mut self) -> Option<(u32, Result<Bytes, Refusal>)> {
        let mut len = [0; 4];
        self.stream.read_exact(&mut len).ok()?;
        let mut frame = vec![0; u32::from_be_bytes(len) as usize];
        self.stream.read_exact(&mut frame).ok()?;
        let mut frame = Bytes::from(frame);
        let header = pb::ResponseHeader::decode_length_delimited(&mut frame).unwrap();
        let refusal = header.exception.as_ref().map(|exception| {
            exception.stack_trace().clone_into(&mut self.refused_with);
            exception.exception_class_name().rsplit('.').next().unwrap().to_owned()
        });
        Some((header.call_id(), refusal.map_or(Ok(frame), Err)))
    }

    /// What a call is refused with, class and text; `None` if it is answered.
    pub(crate) fn refusal(&mut self, method: &str, message: &impl Message) -> Option<(Refusal, String)> {
        self.send(method, message);
        let refusal = self.receive().expect("an answer").1.err()?;
        Some((refusal, std::mem::take(&mut self.refused_with)))
    }

    fn answer<M: Message + Default>(&mut self, call_id: u32) -> Result<(M, Bytes), Refusal> {
        let (answered, frame) = self.receive().expect("an answer");
        assert_eq!(answered, call_id);
        let mut frame = frame?;
        let message = M::decode_length_delimited(&mut frame).unwrap();
        Ok((message, frame))
    }

    pub(crate) fn call<M: Message + Default>(
        &mut self,
        method: &str,
        message: &impl Message,
    ) -> Result<M, Refusal> {
        let call_id = self.send(method, message);
        self.answer(call_id).map(|(message, _)| message)
    }

    pub(crate) fn put(&mut self, region_name: &Bytes, row: &str, value: &[u8]) -> Result<bool, Refusal> {
        let request = pb::MutateRequest {
            region: region(region_name),
            mutation: put(row, value),
            ..Default::default()
        };
        self.call::<pb::MutateResponse>("Mutate", &request).map(|response| response.processed())
    }

    /// The first value of a row.
    pub(crate) fn get(&mut self, region_name: &Bytes, row: &str) -> Result<Option<Bytes>, Refusal> {
        let get = pb::Get { row: row.to_owned().into(), ..Default::default() };
        let call_id = self.send("Get", &pb::GetRequest { region: region(region_name), get });
        let (response, block) = self.answer::<pb::GetResponse>(call_id)?;
        let count = response.result.unwrap().associated_cell_count() as usize;
        Ok(CellReader::new(block).take(count).unwrap().first().map(|cell| cell.value.clone()))
    }

    /// The answer to many actions, with the cells of its results.
    pub(crate) fn multi(
        &mut self,
        request: &pb::MultiRequest,
    ) -> Result<(pb::MultiResponse, Bytes), Refusal> {
        self.multi_with_cells(request, b"")
    }

    /// The same, of actions whose cells lie in a block.
    pub(crate) fn multi_with_cells(
        &mut self,
        request: &pb::MultiRequest,
        cells: &[u8],
    ) -> Result<(pb::MultiResponse, Bytes), Refusal> {
        let call_id = self.send_with_cells("Multi", request, cells);
        self.answer(call_id)
    }

    pub(crate) fn scan(
        &mut self,
        request: &pb::ScanRequest,
    ) -> Result<(pb::ScanResponse, Vec<WireCell>), Refusal> {
        let call_id = self.send("Scan", request);
        let (response, block) = self.answer::<pb::ScanResponse>(call_id)?;
        let count: u32 = response.cells_per_result.iter().sum();
        let cells = CellReader::new(block).take(count as usize).unwrap();
        Ok((response, cells))
    }
}

pub(crate) fn region(name: &[u8]) -> pb::RegionSpecifier {
    pb::RegionSpecifier { r#type: 1, value: Bytes::copy_from_slice(name) }
}

pub(crate) fn put(row: &str, value: &[u8]) -> pb::MutationProto {
    let qualifier_value = QualifierValue {
        qualifier: Some("q".into()),
        value: Some(Bytes::copy_from_slice(value)),
        ..Default::default()
    };
    pb::MutationProto {
        row: Some(row.to_owned().into()),
        mutate_type: Some(MutationType::Put as i32),
        column_value: vec![ColumnValue { family: "f".into(), qualifier_value: vec![qualifier_value] }],
        ..Default::default()
    }
}

/// The message of the table of this name.
pub(crate) fn table_name(name: &str) -> pb::TableName {
    names::table_message(&TableName::in_default(name))
}
