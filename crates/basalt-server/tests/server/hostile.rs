// SPDX-License-Identifier: Apache-2.0
//! Frames of peers that are broken or mean harm. Each costs its own connection, and nobody else notices.

use std::io::{Read, Write};
use std::net::TcpStream;

use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;
use prost::Message;

use crate::support::{Served, serve};

/// What comes back, up to the end of the connection.
fn exchange(served: &Served, sent: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(served.server.address()).unwrap();
    // The server may close before everything is written.
    let _ = stream.write_all(sent);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut back = Vec::new();
    let _ = stream.read_to_end(&mut back);
    back
}

/// The call and the class of an exception frame.
fn exception(back: &[u8]) -> (u32, String) {
    let mut frame = Bytes::copy_from_slice(&back[4..]);
    let header = pb::ResponseHeader::decode_length_delimited(&mut frame).unwrap();
    let class = header.exception.as_ref().unwrap().exception_class_name().to_owned();
    (header.call_id(), class.rsplit('.').next().unwrap().to_owned())
}

fn header(service: &str) -> Vec<u8> {
    let header = pb::ConnectionHeader { service_name: Some(service.to_owned()), ..Default::default() };
    let mut bytes = b"HBas\0\x50".to_vec();
    bytes.extend_from_slice(&(header.encoded_len() as u32).to_be_bytes());
    header.encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn preambles_and_headers() {
    let served = serve(ServerOptions::default());
    let class = |sent: &[u8]| exception(&exchange(&served, sent));
    assert_eq!(class(b"GET / HTTP/1.1\r\n\r\n"), (u32::MAX, "FatalConnectionException".to_owned()));
    assert_eq!(class(b"HBas\x07\x50").1, "WrongVersionException");
    assert_eq!(class(b"HBas\x00\x07").1, "BadAuthException");
    assert_eq!(class(b"Securi").1, "SecurityNotEnabledException");
    assert_eq!(class(b"HBas\0\x50\xff\xff\xff\xff").1, "FatalConnectionException");
    assert_eq!(class(b"HBas\0\x50\0\0\0\x02\xff\xff").1, "FatalConnectionException");
    assert_eq!(class(&header("NoSuchService")).1, "UnknownServiceException");
    assert_eq!(class(&header("")).1, "EmptyServiceNameException");
    let registry = exchange(&served, b"Regist");
    assert_eq!(registry.len(), 4 + 0x2e);
    assert_eq!(registry[..12], *b"\0\0\0\x2e\x06\x08\xff\xff\xff\xff\x0f\x26");
    let sasl = exchange(&served, b"HBas\0\x51\0\0\0\x03abc");
    assert_eq!(sasl, [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xa8]);
}

#[test]
fn frames() {
    let served = serve(ServerOptions::default());
    let with = |frame: &[u8]| [&header("ClientService"), frame].concat();
    let class = |frame: &[u8]| exception(&exchange(&served, &with(frame))).1;
    assert_eq!(class(b"\xff\xff\xff\xff"), "RequestTooBigException");
    assert_eq!(class(b"\x10\0\0\x01"), "RequestTooBigException");
    assert_eq!(class(b"\0\0\0\x02\xff\xff"), "FatalConnectionException");
    assert_eq!(class(b"\0\0\0\x06\x05\x08\0\x20\x01\x7f"), "FatalConnectionException");
    // A message that is none costs only the call.
    let get = |param: &[u8]| {
        let header = pb::RequestHeader {
            call_id: Some(5),
            method_name: Some("Get".into()),
            request_param: Some(true),
            ..Default::default()
        };
        let mut frame = header.encode_length_delimited_to_vec();
        frame.push(param.len() as u8);
        frame.extend_from_slice(param);
        [&(frame.len() as u32).to_be_bytes()[..], &frame].concat()
    };
    let back = exchange(&served, &with(&get(b"\xff\xff\xff")));
    assert_eq!(exception(&back), (5, "DoNotRetryIOException".to_owned()));
    // The frame is announced and never sent.
    assert!(exchange(&served, &with(b"\x0f\xff\xff\xff12345")).is_empty());
}

/// Bytes drawn at random, behind nothing, behind a good preamble and behind a good header; and good frames with single bytes changed.
/// A client that keeps its manners is served all the time.
#[test]
fn noise_harms_nobody_else() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&[]);
    let mut polite = served.client("ClientService");
    polite.put(&regions[0], "a", b"1").unwrap();
    let get = pb::GetRequest {
        region: crate::support::region(&regions[0]),
        get: pb::Get { row: "a".into(), ..Default::default() },
    };
    let request = pb::RequestHeader {
        call_id: Some(1),
        method_name: Some("Get".into()),
        request_param: Some(true),
        ..Default::default()
    };
    let mut frame = request.encode_length_delimited_to_vec();
    frame.extend_from_slice(&get.encode_length_delimited_to_vec());
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..300 {
        let mut sent = match round % 3 {
            0 => Vec::new(),
            1 => header("ClientService"),
            _ => {
                let mut good = header("ClientService");
                good.extend_from_slice(&(frame.len() as u32).to_be_bytes());
                good.extend_from_slice(&frame);
                let at = random() as usize % good.len();
                good[at] = random() as u8;
                good
            }
        };
        let noise = random() as usize % 64;
        sent.extend((0..noise).map(|_| random() as u8));
        exchange(&served, &sent);
        if round % 20 == 0 {
            assert_eq!(polite.get(&regions[0], "a"), Ok(Some(Bytes::from_static(b"1"))));
        }
    }
    assert_eq!(polite.get(&regions[0], "a"), Ok(Some(Bytes::from_static(b"1"))));
}
