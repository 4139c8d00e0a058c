// SPDX-License-Identifier: Apache-2.0
//! What no well-behaved client sends, and what clients that lost something do. Real clients ask in `tests/hbase/thin.sh`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use basalt_avatica::{AvaticaServer, ServerOptions};
use basalt_sql::{Engine, EngineOptions};
use basalt_store::{Database, OpenOptions};
use basalt_wire::avatica::{Request, Response, pb};
use bytes::Bytes;

struct Fixture {
    server: AvaticaServer,
    _dir: tempfile::TempDir,
}

fn served(options: ServerOptions) -> Fixture {
    let dir = tempfile::tempdir().expect("a folder");
    let db = Database::open(dir.path(), OpenOptions::create()).expect("opens");
    let engine = Engine::try_new(db, EngineOptions::default()).expect("an engine");
    let server = AvaticaServer::start(engine, ServerOptions { port: 0, ..options }).expect("listens");
    Fixture { server, _dir: dir }
}

/// Status and body of the answer to these bytes.
fn sent(fixture: &Fixture, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let mut socket = TcpStream::connect(fixture.server.address()).expect("connects");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    let _ = socket.write_all(head.as_bytes());
    // A server that refuses what is too long need not read it.
    let _ = socket.write_all(body);
    let mut answer = vec![];
    let _ = socket.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let at = answer.windows(4).position(|window| window == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    (status, answer[at..].to_vec())
}

fn posted(fixture: &Fixture, body: &[u8]) -> (u16, Vec<u8>) {
    let head =
        format!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    sent(fixture, &head, body)
}

/// The answer to a request; an error as what the client is told.
fn asked(fixture: &Fixture, request: impl Into<Request>) -> Result<Response, pb::ErrorResponse> {
    let (status, body) = posted(fixture, &request.into().encode());
    match Response::decode(Bytes::from(body)).expect("a message") {
        Response::ErrorResponse(error) => {
            assert_eq!(status, 500);
            Err(error)
        }
        response => {
            assert_eq!(status, 200);
            Ok(response)
        }
    }
}

fn opened(fixture: &Fixture, id: &str) {
    let open = pb::OpenConnectionRequest { connection_id: id.to_owned(), ..Default::default() };
    asked(fixture, open).expect("opens");
}

fn statement(fixture: &Fixture, id: &str) -> u32 {
    let create = pb::CreateStatementRequest { connection_id: id.to_owned() };
    match asked(fixture, create).expect("a statement") {
        Response::CreateStatementResponse(created) => created.statement_id,
        other => panic!("{other:?}"),
    }
}

fn executed(
    fixture: &Fixture,
    id: &str,
    statement_id: u32,
    sql: &str,
) -> Result<pb::ExecuteResponse, pb::ErrorResponse> {
    let execute = pb::PrepareAndExecuteRequest {
        connection_id: id.to_owned(),
        sql: sql.to_owned(),
        statement_id,
        first_frame_max_size: 2,
        ..Default::default()
    };
    match asked(fixture, execute)? {
        Response::ExecuteResponse(executed) => Ok(executed),
        other => panic!("{other:?}"),
    }
}

fn fetched(
    fixture: &Fixture,
    id: &str,
    statement_id: u32,
    offset: u64,
) -> Result<pb::FetchResponse, pb::ErrorResponse> {
    let fetch = pb::FetchRequest {
        connection_id: id.to_owned(),
        statement_id,
        offset,
        frame_max_size: 3,
        ..Default::default()
    };
    match asked(fixture, fetch)? {
        Response::FetchResponse(fetched) => Ok(fetched),
        other => panic!("{other:?}"),
    }
}

fn filled(fixture: &Fixture, id: &str) -> u32 {
    opened(fixture, id);
    let number = statement(fixture, id);
    for sql in ["create table t (k integer primary key)", "upsert into t values (1), (2), (3), (4), (5), (6)"]
    {
        executed(fixture, id, number, sql).expect(sql);
    }
    number
}

#[test]
fn rows_come_frame_by_frame_and_once() {
    let fixture = served(ServerOptions::default());
    let number = filled(&fixture, "c");
    let first = executed(&fixture, "c", number, "select k from t order by k").expect("rows");
    let result = &first.results[0];
    let frame = result.first_frame.as_ref().expect("a frame");
    assert_eq!((frame.offset, frame.done, frame.rows.len(), result.update_count), (0, false, 2, u64::MAX));
    let next = fetched(&fixture, "c", number, 2).expect("rows").frame.expect("a frame");
    assert_eq!((next.offset, next.rows.len()), (2, 3));
    let again = fetched(&fixture, "c", number, 2).expect_err("they were given");
    assert!(again.error_message.contains("rows from 2 on were asked for, and 5 were sent"), "{again:?}");
    let last = fetched(&fixture, "c", number, 5).expect("rows").frame.expect("a frame");
    assert_eq!((last.rows.len(), last.done), (1, true));
    let end = fetched(&fixture, "c", number, 6).expect("no rows").frame.expect("a frame");
    assert!(end.done && end.rows.is_empty());
    // A client that lost the connection asks for the rest of a query.
    let state =
        pb::QueryState { sql: "select k from t order by k".to_owned(), has_sql: true, ..Default::default() };
    let sync = |offset| {
        let connection_id = "c".to_owned();
        pb::SyncResultsRequest { connection_id, statement_id: number, state: Some(state.clone()), offset }
    };
    let more = asked(&fixture, sync(4)).expect("rows");
    assert_eq!(more, pb::SyncResultsResponse { missing_statement: false, more_results: true }.into());
    assert_eq!(fetched(&fixture, "c", number, 4).expect("rows").frame.expect("a frame").rows.len(), 2);
    let more = asked(&fixture, sync(6)).expect("no rows");
    assert_eq!(more, pb::SyncResultsResponse::default().into());
}

#[test]
fn what_is_not_there_is_told_so_that_clients_go_on() {
    let fixture = served(ServerOptions::default());
    let number = filled(&fixture, "c");
    let unknown = executed(&fixture, "other", 1, "select 1").expect_err("not open");
    assert_eq!(unknown.error_code, 1, "{unknown:?}");
    assert!(executed(&fixture, "c", 77, "select k from t").expect("an answer").missing_statement);
    assert!(fetched(&fixture, "c", 77, 0).expect("an answer").missing_statement);
    let twice = pb::OpenConnectionRequest { connection_id: "c".to_owned(), ..Default::default() };
    assert!(asked(&fixture, twice).expect_err("open already").error_message.contains("open already"));
    for _ in 0..2 {
        let close = pb::CloseStatementRequest { connection_id: "c".to_owned(), statement_id: number };
        asked(&fixture, close).expect("closes");
    }
    for _ in 0..2 {
        asked(&fixture, pb::CloseConnectionRequest { connection_id: "c".to_owned() }).expect("closes");
    }
    assert_eq!(fixture.server.connections(), 0);
}

#[test]
fn errors_have_phoenix_codes_and_places() {
    let fixture = served(ServerOptions::default());
    let number = filled(&fixture, "c");
    let error = executed(&fixture, "c", number, "select k\nfrom nothing").expect_err("no such table");
    assert_eq!((error.error_code, error.sql_state.as_str()), (1012, "42M03"));
    assert!(error.error_message.starts_with("ERROR 1012 (42M03): "), "{error:?}");
    assert!(error.error_message.contains("line 2, column 6"), "{error:?}");
}

fn count(fixture: &Fixture, number: u32) -> i64 {
    let counted = executed(fixture, "c", number, "select count(*) from t").expect("counts");
    let rows = &counted.results[0].first_frame.as_ref().expect("a frame").rows;
    rows[0].value[0].scalar_value.as_ref().expect("a value").number_value
}

/// Rows of VALUES are one commit, of which a mistake leaves nothing; statements that read see those before them.
#[test]
fn batches_are_committed_as_a_whole_or_statement_by_statement() {
    let fixture = served(ServerOptions::default());
    let number = filled(&fixture, "c");
    let batch = |sql: &str, values: &[i64]| {
        let prepare =
            pb::PrepareRequest { connection_id: "c".to_owned(), sql: sql.to_owned(), ..Default::default() };
        let Response::PrepareResponse(prepared) = asked(&fixture, prepare).expect("prepares") else {
            panic!("another")
        };
        let integer = |number_value: i64| pb::TypedValue {
            r#type: pb::Rep::Long.into(),
            number_value,
            ..Default::default()
        };
        let of = |value: &i64| pb::UpdateBatch { parameter_values: vec![integer(*value)] };
        pb::ExecuteBatchRequest {
            connection_id: "c".to_owned(),
            statement_id: prepared.statement.expect("a statement").id,
            updates: values.iter().map(of).collect(),
        }
    };
    asked(&fixture, batch("upsert into t values (?)", &[70, 1 << 40])).expect_err("no INTEGER");
    assert_eq!(count(&fixture, number), 6, "the first of a batch whose second failed");
    asked(&fixture, batch("upsert into t values (?)", &[70, 71])).expect("two rows");
    assert_eq!(count(&fixture, number), 8);
    asked(&fixture, batch("upsert into t select k + ? from t where k > 69", &[10, 100]))
        .expect("two and four rows");
    assert_eq!(count(&fixture, number), 14);
    let texts = pb::PrepareAndExecuteBatchRequest {
        connection_id: "c".to_owned(),
        statement_id: number,
        sql_commands: ["upsert into t values (9)", "delete from t where k = 9"].map(str::to_owned).to_vec(),
    };
    asked(&fixture, texts).expect("one after the other");
    assert_eq!(count(&fixture, number), 14);
}

#[test]
fn what_is_no_request_harms_nobody() {
    let fixture = served(ServerOptions::default());
    let number = filled(&fixture, "c");
    let (status, body) = posted(&fixture, b"{\"request\":\"openConnection\"}");
    let text = String::from_utf8_lossy(&body).into_owned();
    assert!(status == 500 && text.contains("serialization=PROTOBUF"), "{status} {text}");
    assert_eq!(sent(&fixture, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"").0, 400);
    let open = pb::OpenConnectionRequest { connection_id: "page".to_owned(), ..Default::default() };
    let open = Request::from(open).encode();
    let from_a_page = format!(
        "POST / HTTP/1.1\r\nHost: x\r\nOrigin: http://a.page\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        open.len()
    );
    assert_eq!((sent(&fixture, &from_a_page, &open).0, fixture.server.connections()), (403, 1));
    let large =
        format!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", 65 << 20);
    // Who goes on sending may lose the answer.
    let refused = sent(&fixture, &large, &vec![0; 65 << 20]).0;
    assert!([413, 0].contains(&refused), "{refused}");
    assert_eq!(sent(&fixture, "no HTTP at all\r\n\r\n", b"").0, 400);
    let mut dice = 7u64;
    for length in 0..300 {
        let body: Vec<u8> = (0..length)
            .map(|_| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (dice >> 33) as u8
            })
            .collect();
        assert_eq!(posted(&fixture, &body).0, 500);
    }
    // A client that goes away in the middle of a message.
    let mut socket = TcpStream::connect(fixture.server.address()).expect("connects");
    socket.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf").expect("sends");
    drop(socket);
    assert!(executed(&fixture, "c", number, "select k from t").is_ok());
    let Fixture { server, .. } = fixture;
    server.stop();
}

#[test]
fn limits_hold_and_idle_connections_are_closed() {
    let idle = Duration::from_secs(3);
    let fixture = served(ServerOptions { connections_max: 2, idle, ..ServerOptions::default() });
    opened(&fixture, "a");
    opened(&fixture, "b");
    let third = || pb::OpenConnectionRequest { connection_id: "c".to_owned(), ..Default::default() };
    let refused = asked(&fixture, third()).expect_err("two are the most");
    assert!(refused.error_message.contains("which is the most"), "{refused:?}");
    let begun = Instant::now();
    while asked(&fixture, third()).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody asked a and b for anything");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fixture.server.connections(), 1);
}
