// SPDX-License-Identifier: Apache-2.0
//! One request and its answer.

use std::sync::Arc;

use basalt_wire::avatica::{Request, Response, pb};
use bytes::Bytes;

use crate::connections::Connections;
use crate::failure::Failure;

/// The answer to a body; false if it is an error.
pub(crate) async fn answer(body: Bytes, connections: &Arc<Connections>) -> (bool, Bytes) {
    let answered = match Request::decode(body) {
        Ok(request) => respond(request, connections).await,
        Err(error) => Err(Failure::protocol(error.to_string())),
    };
    match answered {
        Ok(response) => (true, response.encode()),
        Err(failure) => (false, Response::from(failure.into_message()).encode()),
    }
}

async fn respond(request: Request, connections: &Arc<Connections>) -> Result<Response, Failure> {
    match request {
        Request::OpenConnectionRequest(open) => {
            connections.open(&open.connection_id, &open.info)?;
            Ok(pb::OpenConnectionResponse {}.into())
        }
        Request::CloseConnectionRequest(close) => {
            connections.close(&close.connection_id);
            Ok(pb::CloseConnectionResponse {}.into())
        }
        request => {
            let connection = connections.find(id_of(&request))?;
            let mut connection = connection.lock().await;
            connection.respond(request).await
        }
    }
}

/// The connection that a request is of.
fn id_of(request: &Request) -> &str {
    match request {
        Request::CatalogsRequest(request) => &request.connection_id,
        Request::DatabasePropertyRequest(request) => &request.connection_id,
        Request::SchemasRequest(request) => &request.connection_id,
        Request::TablesRequest(request) => &request.connection_id,
        Request::TableTypesRequest(request) => &request.connection_id,
        Request::ColumnsRequest(request) => &request.connection_id,
        Request::TypeInfoRequest(request) => &request.connection_id,
        Request::PrepareAndExecuteRequest(request) => &request.connection_id,
        Request::PrepareRequest(request) => &request.connection_id,
        Request::FetchRequest(request) => &request.connection_id,
        Request::CreateStatementRequest(request) => &request.connection_id,
        Request::CloseStatementRequest(request) => &request.connection_id,
        Request::OpenConnectionRequest(request) => &request.connection_id,
        Request::CloseConnectionRequest(request) => &request.connection_id,
        Request::ConnectionSyncRequest(request) => &request.connection_id,
        Request::ExecuteRequest(request) => {
            request.statement_handle.as_ref().map_or("", |handle| &handle.connection_id)
        }
        Request::SyncResultsRequest(request) => &request.connection_id,
        Request::CommitRequest(request) => &request.connection_id,
        Request::RollbackRequest(request) => &request.connection_id,
        Request::PrepareAndExecuteBatchRequest(request) => &request.connection_id,
        Request::ExecuteBatchRequest(request) => &request.connection_id,
    }
}
