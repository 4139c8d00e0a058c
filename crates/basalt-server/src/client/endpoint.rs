// SPDX-License-Identifier: Apache-2.0
//! Services that people load into HBase's tables as coprocessors, made here by the server itself; every table has them.
//!
//! | service | methods |
//! |---|---|
//! | AggregateService | GetMax, GetMin, GetSum, GetRowNum, GetAvg, GetStd, GetMedian |
//! | RowCountService | getRowCount, getKeyValueCount |
//! | BulkDeleteService | delete |
//! | MultiRowMutationService | MutateRows |
//!
//! Each concerns the rows of one region; clients call it for every region that they are interested in and put the answers
//! together. Code of others is not run: an unknown service is refused by its name.

mod aggregate;
mod bulk_delete;
mod count;
mod rows;

use basalt_store::Rows;
use basalt_wire::{Exception, exception, pb, read};
use prost::Message;

use super::scan::clip;
use crate::call::{Incoming, Reply};
use crate::failure;
use crate::node::Node;
use crate::regions::Region;

/// Where the messages of a service are, in Java.
const AGGREGATE: &str = "org.apache.hadoop.hbase.shaded.protobuf.generated.AggregateProtos$AggregateResponse";
const COUNT: &str = "org.apache.hadoop.hbase.coprocessor.example.generated.ExampleProtos$CountResponse";
const BULK_DELETE: &str =
    "org.apache.hadoop.hbase.coprocessor.example.generated.BulkDeleteProtos$BulkDeleteResponse";
const MUTATE_ROWS: &str =
    "org.apache.hadoop.hbase.shaded.protobuf.generated.MultiRowMutationProtos$MutateRowsResponse";

pub(super) fn call(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::CoprocessorServiceRequest = incoming.decode()?;
    let region = node.region(&request.region)?;
    let value = answer(node, &region, &request.call)?;
    Reply::of(&pb::CoprocessorServiceResponse { region: region.specifier(), value })
}

/// Services of a whole server: there are none.
pub(super) fn refuse_of_server(incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::CoprocessorServiceRequest = incoming.decode()?;
    Err(unknown_service(&request.call.service_name, "this server"))
}

/// The answer of a service, with the name of its class.
pub(super) fn answer(
    node: &Node,
    region: &Region,
    call: &pb::CoprocessorServiceCall,
) -> Result<pb::NameBytesPair, Exception> {
    let method = call.method_name.as_str();
    let (name, value) = match call.service_name.as_str() {
        "AggregateService" => (AGGREGATE, aggregate::call(region, method, decode(call)?)?.map(encoded)),
        "RowCountService" => (COUNT, count::call(region, method)?.map(encoded)),
        "BulkDeleteService" => {
            (BULK_DELETE, bulk_delete::call(node, region, method, decode(call)?)?.map(encoded))
        }
        "MultiRowMutationService" => {
            (MUTATE_ROWS, rows::call(node, region, method, decode(call)?)?.map(encoded))
        }
        service => {
            let place = format!("region {}", region.name.full().escape_ascii());
            return Err(unknown_service(service, &place));
        }
    };
    let value = value.ok_or_else(|| {
        let service = &call.service_name;
        Exception::new(exception::UNKNOWN_PROTOCOL, format!("service {service} has no method {method}"))
    })?;
    Ok(pb::NameBytesPair { name: name.to_owned(), value: Some(value.into()) })
}

fn unknown_service(service: &str, place: &str) -> Exception {
    Exception::new(
        exception::UNKNOWN_PROTOCOL,
        format!("no service {service} on {place}: this server runs no coprocessors of others"),
    )
}

fn encoded(message: impl Message) -> Vec<u8> {
    message.encode_to_vec()
}

fn decode<M: Message + Default>(call: &pb::CoprocessorServiceCall) -> Result<M, Exception> {
    M::decode(call.request.clone()).map_err(|error| {
        let (service, method) = (&call.service_name, &call.method_name);
        Exception::refused(format!("the message of {service}.{method} cannot be read: {error}"))
    })
}

/// The rows of a scan that lie in the region.
fn scan(region: &Region, message: pb::Scan) -> Result<Rows, Exception> {
    let mut scan = read::scan(message)?;
    clip(&mut scan, region);
    region.table.scan(&scan).map_err(failure::of_store)
}
