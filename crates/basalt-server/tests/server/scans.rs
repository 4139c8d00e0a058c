// SPDX-License-Identifier: Apache-2.0
use std::time::{Duration, Instant};

use basalt_server::ServerOptions;
use basalt_wire::pb;
use bytes::Bytes;
use prost::Message;

use crate::support::{Client, Served, region, serve};

fn filled(options: ServerOptions, rows: usize, value: &[u8]) -> (Served, Bytes) {
    let served = serve(options);
    let name = served.table(&[]).remove(0);
    let table = served.db.open_table(&basalt_model::TableName::in_default("t")).unwrap();
    let put = |i: usize| {
        let value = Bytes::copy_from_slice(value);
        (table.id(), basalt_model::Put::new(format!("r{i:06}")).add("f", "q", value).into())
    };
    let puts: Vec<_> = (0..rows).map(put).collect();
    served.db.mutate(&puts, basalt_model::Durability::Skip).unwrap();
    (served, name)
}

fn open(name: &Bytes, rows: u32) -> pb::ScanRequest {
    pb::ScanRequest {
        region: Some(region(name)),
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(rows),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        ..Default::default()
    }
}

fn next(id: u64, rows: u32, seq: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(id),
        number_of_rows: Some(rows),
        next_call_seq: Some(seq),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        ..Default::default()
    }
}

#[test]
fn every_row_comes_once_whatever_the_size_of_the_answers() {
    let (served, name) = filled(ServerOptions::default(), 1000, b"value");
    for rows in [1, 7, 100, 333, 5000] {
        let mut client = served.client("ClientService");
        let (first, mut cells) = client.scan(&open(&name, rows)).unwrap();
        let mut more = first.more_results_in_region();
        for seq in 0.. {
            if !more {
                break;
            }
            let (response, batch) = client.scan(&next(first.scanner_id(), rows, seq)).unwrap();
            assert!(batch.len() <= rows as usize);
            cells.extend(batch);
            more = response.more_results_in_region();
        }
        assert_eq!(cells.len(), 1000, "{rows} rows per answer");
        assert!(cells.windows(2).all(|pair| pair[0].row < pair[1].row));
        assert_eq!(served.server.status().scanners, 0);
    }
}

#[test]
fn calls_out_of_order_are_refused_and_late_ones_forgiven() {
    let (served, name) = filled(ServerOptions::default(), 100, b"value");
    let mut client = served.client("ClientService");
    let (first, _) = client.scan(&open(&name, 10)).unwrap();
    let id = first.scanner_id();
    assert_eq!(client.scan(&next(id, 10, 3)).unwrap_err(), "OutOfOrderScannerNextException");
    client.scan(&next(id, 1000, 0)).unwrap();
    // The scan is done. The same call again would be one whose answer was lost: it must not look like the end.
    assert_eq!(client.scan(&next(id, 1000, 0)).unwrap_err(), "UnknownScannerException");
    let (late, cells) = client.scan(&next(id, 1000, 1)).unwrap();
    assert_eq!((late.more_results_in_region, cells.len()), (Some(false), 0));
    assert_eq!(client.scan(&next(12345, 10, 0)).unwrap_err(), "UnknownScannerException");
}

#[test]
fn a_scanner_goes_with_its_lease_unless_it_is_renewed() {
    let options = ServerOptions { lease_ms: 400, ..ServerOptions::default() };
    let (served, name) = filled(options, 2000, b"value");
    let mut client = served.client("ClientService");
    let (kept, _) = client.scan(&open(&name, 10)).unwrap();
    let (left, _) = client.scan(&open(&name, 10)).unwrap();
    assert_eq!((kept.ttl(), served.server.status().scanners), (400, 2));
    for seq in 0..20 {
        let renew = pb::ScanRequest { renew: Some(true), ..next(kept.scanner_id(), 0, seq) };
        let (response, cells) = client.scan(&renew).unwrap();
        assert_eq!((response.more_results_in_region, cells.len()), (None, 0));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(client.scan(&next(left.scanner_id(), 10, 0)).unwrap_err(), "UnknownScannerException");
    assert_eq!(client.scan(&next(kept.scanner_id(), 10, 20)).unwrap().1.len(), 10);
    let until = Instant::now() + Duration::from_secs(20);
    while served.server.status().scanners > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((served.server.status().scanners, served.server.status().read_ahead_bytes), (0, 0));
}

/// A filter that drops everything, and a lease so short that its half passes at once: the answers are heartbeats until the
/// end, and say where the scan stands.
#[test]
fn while_a_filter_drops_everything_the_client_hears_a_heartbeat() {
    let options = ServerOptions { lease_ms: 1, ..ServerOptions::default() };
    let (served, name) = filled(options, 50_000, b"value");
    let mut client = served.client("ClientService");
    let nothing = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.RandomRowFilter".to_owned(),
        serialized_filter: Some(pb::RandomRowFilter { chance: -1.0 }.encode_to_vec().into()),
    };
    let mut request = open(&name, 10);
    request.track_scan_metrics = Some(true);
    request.scan =
        Some(pb::Scan { filter: Some(nothing), need_cursor_result: Some(true), ..Default::default() });
    let (response, cells) = client.scan(&request).unwrap();
    assert!(cells.is_empty());
    assert_eq!((response.heartbeat_message, response.more_results_in_region), (Some(true), Some(true)));
    assert!(response.cursor.unwrap().row.unwrap().starts_with(b"r0"));
    let filtered = response.scan_metrics.unwrap().metrics[1].value();
    assert!((1..50_000).contains(&filtered), "{filtered}");
}

#[test]
fn a_limit_ends_the_scan_in_one_round_trip() {
    let (served, name) = filled(ServerOptions::default(), 100, b"value");
    let mut client = served.client("ClientService");
    let request = pb::ScanRequest { limit_of_rows: Some(5), ..open(&name, i32::MAX as u32) };
    let (response, cells) = client.scan(&request).unwrap();
    assert_eq!((cells.len(), response.more_results), (5, Some(false)));
    assert_eq!(served.server.status().scanners, 0);
    let all = pb::ScanRequest { close_scanner: Some(true), ..open(&name, 1000) };
    assert_eq!(client.scan(&all).unwrap().1.len(), 100);
    assert_eq!(served.server.status().scanners, 0);
}

/// A client that wants two thousand million rows at once, of which each is large, gets them in answers of a bounded size, and what is
/// prepared for it is bounded too.
#[test]
fn greed_is_bounded() {
    let (served, name) = filled(ServerOptions::default(), 400, &[7; 100_000]);
    let mut client = served.client("ClientService");
    let mut request = open(&name, i32::MAX as u32);
    request.scan = Some(pb::Scan { max_result_size: Some(i64::MAX as u64), ..Default::default() });
    let (first, mut cells) = client.scan(&request).unwrap();
    let answer_rows = cells.len();
    assert!(answer_rows < 250, "{answer_rows} rows of 100 kB in one answer");
    for seq in 0.. {
        assert!(served.server.status().read_ahead_bytes < 40 << 20);
        let (response, batch) = client.scan(&next(first.scanner_id(), i32::MAX as u32, seq)).unwrap();
        cells.extend(batch);
        if !response.more_results_in_region() {
            break;
        }
    }
    assert_eq!(cells.len(), 400);
}

#[test]
fn a_dropped_table_ends_its_scans() {
    let (served, name) = filled(ServerOptions::default(), 5000, b"value");
    let mut client: Client = served.client("ClientService");
    let (first, _) = client.scan(&open(&name, 10)).unwrap();
    served.db.drop_table(&basalt_model::TableName::in_default("t")).unwrap();
    assert_eq!(client.scan(&next(first.scanner_id(), 10, 0)).unwrap_err(), "NotServingRegionException");
    assert_eq!(served.server.status().scanners, 0);
}

/// Rows are cut into batches that are just full: none of them says that its row is over, and still no row too many is given.
#[test]
fn a_limit_of_rows_counts_rows_that_end_with_a_full_batch() {
    let served = serve(ServerOptions::default());
    let regions = served.table(&[]);
    let table = served.db.open_table(&basalt_model::TableName::in_default("t")).unwrap();
    for row in ["a", "b", "c", "d", "e"] {
        table.put(basalt_model::Put::new(row).add("f", "q1", "1").add("f", "q2", "2")).unwrap();
    }
    let mut client = served.client("ClientService");
    for (batch, limit, expected) in
        [(2, 3, "aabbcc"), (1, 2, "aabb"), (3, 4, "aabbccdd"), (2, 9, "aabbccddee")]
    {
        let request = pb::ScanRequest {
            region: Some(region(&regions[0])),
            scan: Some(pb::Scan { batch_size: Some(batch), ..Default::default() }),
            number_of_rows: Some(100),
            limit_of_rows: Some(limit),
            ..Default::default()
        };
        let (response, cells) = client.scan(&request).unwrap();
        let rows: Vec<u8> = cells.iter().map(|cell| cell.row[0]).collect();
        assert_eq!(String::from_utf8(rows).unwrap(), expected, "batch {batch}, limit {limit}");
        assert_eq!(response.more_results(), limit == 9);
    }
}

fn metric(response: &pb::ScanResponse, name: &str) -> i64 {
    let metrics = &response.scan_metrics.as_ref().unwrap().metrics;
    metrics.iter().find(|metric| metric.name() == name).unwrap_or_else(|| panic!("no {name}")).value()
}

/// What a scan says of itself: its rows, and where they came from, first the file and then the cache.
#[test]
fn a_scan_tells_what_it_read() {
    let (served, name) = filled(ServerOptions::default(), 2000, &[7; 1000]);
    served.db.flush(None).unwrap();
    let mut client = served.client("ClientService");
    let mut request = open(&name, i32::MAX as u32);
    request.track_scan_metrics = Some(true);
    let (cold, _) = client.scan(&request).unwrap();
    assert_eq!((metric(&cold, "ROWS_SCANNED"), metric(&cold, "ROWS_FILTERED")), (2000, 0));
    assert!(metric(&cold, "BYTES_READ_FROM_FS") > 0);
    assert!(metric(&cold, "BLOCK_READ_OPS_COUNT") > 0);
    assert_eq!(metric(&cold, "BLOCK_BYTES_SCANNED"), metric(&cold, "BYTES_READ_FROM_FS"));
    let (warm, _) = client.scan(&request).unwrap();
    assert_eq!((metric(&warm, "BYTES_READ_FROM_FS"), metric(&warm, "BLOCK_READ_OPS_COUNT")), (0, 0));
    let cached = metric(&warm, "BYTES_READ_FROM_BLOCK_CACHE");
    assert!(cached > 2_000, "{cached}");
    let times = metric(&warm, "RPC_SCAN_PROCESSING_TIME") + metric(&warm, "RPC_SCAN_QUEUE_WAIT_TIME");
    assert!((0..60_000).contains(&times), "{times} ms");
    request.track_scan_metrics = None;
    assert_eq!(client.scan(&request).unwrap().0.scan_metrics, None);
}

/// The row on which a filter ends the scan is filtered, and not scanned.
#[test]
fn rows_that_a_filter_leaves_out_are_counted_with_the_one_that_ends_it() {
    let (served, name) = filled(ServerOptions::default(), 100, b"value");
    let mut client = served.client("ClientService");
    let filter = |name: &str, message: Vec<u8>| pb::Filter {
        name: format!("org.apache.hadoop.hbase.filter.{name}"),
        serialized_filter: Some(message.into()),
    };
    let prefix = pb::PrefixFilter { prefix: Some(Bytes::from_static(b"r00001")) };
    for (filter, scanned, filtered) in [
        (filter("PrefixFilter", prefix.encode_to_vec()), 20, 11),
        (filter("PageFilter", pb::PageFilter { page_size: 3 }.encode_to_vec()), 3, 0),
        (filter("RandomRowFilter", pb::RandomRowFilter { chance: -1.0 }.encode_to_vec()), 100, 100),
    ] {
        let mut request = open(&name, 1000);
        request.track_scan_metrics = Some(true);
        request.scan = Some(pb::Scan { filter: Some(filter.clone()), ..Default::default() });
        let (response, _) = client.scan(&request).unwrap();
        let counted = (metric(&response, "ROWS_SCANNED"), metric(&response, "ROWS_FILTERED"));
        assert_eq!(counted, (scanned, filtered), "{}", filter.name);
    }
}

/// A row that is cut is read to its end as it was, also by another scanner that goes on with it, while the first one is open and for a lease after it
/// was lost.
#[test]
fn a_scan_that_goes_on_in_the_middle_of_a_row_reads_what_it_read_before() {
    let options = ServerOptions { lease_ms: 1_000, ..ServerOptions::default() };
    let served = serve(options);
    let name = served.table(&[]).remove(0);
    let table = served.db.open_table(&basalt_model::TableName::in_default("t")).unwrap();
    let write = |value: &str| {
        let columns = ["a", "b", "c", "d"].into_iter();
        table
            .put(columns.fold(basalt_model::Put::new("r"), |put, q| put.add("f", q, value.to_owned())))
            .unwrap();
        served.db.flush(None).unwrap();
        served.db.compact(None, true).unwrap();
    };
    write("old");
    let mut client = served.client("ClientService");
    let cut = pb::Scan { max_result_size: Some(1), ..Default::default() };
    let (first, cells) = client.scan(&pb::ScanRequest { scan: Some(cut), ..open(&name, 10) }).unwrap();
    assert_eq!((cells.len(), &first.partial_flag_per_result[..]), (1, &[true][..]));
    let point = first.mvcc_read_point();
    assert!(point > 0);
    write("new");
    let value_at = |client: &mut Client, mvcc_read_point| {
        let scan = pb::Scan { start_row: Some("r".into()), mvcc_read_point, ..Default::default() };
        let request = pb::ScanRequest { scan: Some(scan), close_scanner: Some(true), ..open(&name, 10) };
        let (_, cells) = client.scan(&request).unwrap();
        assert!(cells.len() == 4 && cells.iter().all(|cell| cell.value == cells[0].value));
        String::from_utf8(cells[0].value.to_vec()).unwrap()
    };
    assert_eq!(value_at(&mut client, Some(point)), "old");
    assert_eq!(value_at(&mut client, None), "new");
    let until = Instant::now() + Duration::from_secs(20);
    while served.server.status().scanners > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(served.server.status().scanners, 0);
    assert_eq!(value_at(&mut client, Some(point)), "old", "its lease is just over");
    // Nothing is kept for ever.
    while value_at(&mut client, Some(point)) == "old" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(value_at(&mut client, Some(point)), "new");
}
