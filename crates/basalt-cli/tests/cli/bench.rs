// SPDX-License-Identifier: Apache-2.0
//! `basalt bench`: that the workloads run and say what they say in figures. How large the figures are is nobody's business here.

use super::program::Place;

fn json(place: &Place, name: &str) -> serde_json::Value {
    serde_json::from_str(&place.read(name)).expect("JSON")
}

#[test]
fn memory_is_read_by_one_thread_and_by_all() {
    let place = Place::new();
    let ran = place.run(&[
        "bench",
        "memory",
        "--megabytes",
        "4",
        "--runs",
        "1",
        "--threads",
        "2",
        "--json",
        "m.json",
    ]);
    ran.expect_ok();
    let figures = json(&place, "m.json");
    let figures = figures.as_array().expect("a list");
    assert_eq!(figures.len(), 2);
    assert!(figures.iter().all(|figure| figure["words_gb_per_s"].as_f64().is_some_and(|speed| speed > 0.0)));
}

#[test]
fn each_encoding_and_codec_gets_a_table() {
    let place = Place::new();
    let arguments = "bench encodings --rows 5000 --runs 1 --gets 20 --encodings none,columnar --codecs none,zstd --json e.json --plot e.svg --out page.md";
    let ran = place.run(&arguments.split(' ').collect::<Vec<_>>());
    ran.expect_ok();
    assert!(ran.out.contains("COLUMNAR ZSTD") && ran.out.contains("5,000 rows"), "{}", ran.out);
    assert!(place.read("e.svg").starts_with("<svg"));
    let page = place.read("page.md");
    assert!(page.contains("| COLUMNAR ZSTD |") && page.contains("(page.svg)"), "{page}");
    let figures = json(&place, "e.json");
    let tables = figures["tables"].as_array().expect("a list");
    assert_eq!(tables.len(), 4);
    for table in tables {
        assert!(table["bytes_per_row"].as_f64().is_some_and(|bytes| bytes > 5.0), "{table}");
        assert!(table["reads"].as_array().is_some_and(|reads| reads.len() >= 6), "{table}");
    }
    let left = std::fs::read_dir(place.path("")).expect("lists").flatten();
    assert!(left.into_iter().all(|entry| entry.path().is_file()), "the data is removed");
}

#[test]
fn the_questions_of_the_demo_are_asked_on_each_number_of_threads() {
    let place = Place::new();
    let arguments = "bench sql --sf 0.001 --runs 1 --threads 2 --keys-from 4 --keys-to 5 --dir data --json s.json --quiet";
    let ran = place.run(&arguments.split(' ').collect::<Vec<_>>());
    ran.expect_ok();
    assert!(ran.out.contains("join with about 2^5 keys"), "{}", ran.out);
    assert_eq!(json(&place, "s.json")["threads"], serde_json::json!([1, 2]));
}

#[test]
fn short_statements_are_answered_beside_long_ones() {
    let place = Place::new();
    let arguments = "bench beside --sf 0.01 --runs 1 --dir data --json b.json --out b.md --quiet";
    let ran = place.run(&arguments.split(' ').collect::<Vec<_>>());
    ran.expect_ok();
    assert!(ran.out.contains("beside nested loops") && ran.out.contains("TPC-H Q6"), "{}", ran.out);
    assert!(place.read("b.md").contains("| a row by its key |"), "{}", place.read("b.md"));
    let figures = json(&place, "b.json");
    let beside = figures["beside"].as_array().expect("a list");
    assert!(
        beside.iter().all(|long| long["seconds"].as_array().is_some_and(|all| all.len() == 5)),
        "{figures}"
    );
}

#[test]
fn a_changed_table_answers_as_the_one_before_it() {
    let place = Place::new();
    let arguments = "bench changes --sf 0.01 --runs 1 --dir data --json c.json --out c.md --quiet";
    let ran = place.run(&arguments.split(' ').collect::<Vec<_>>());
    ran.expect_ok();
    assert!(ran.out.contains("in 4 files") && ran.out.contains("10 % changed"), "{}", ran.out);
    assert!(place.read("c.md").contains("| TPC-H Q6 |"), "{}", place.read("c.md"));
    let figures = json(&place, "c.json");
    assert!(figures["tables"].as_array().is_some_and(|tables| tables.len() == 6), "{figures}");
}

#[test]
fn an_index_is_made_used_and_dropped() {
    let place = Place::new();
    let arguments = "bench index --sf 0.001 --runs 1 --upserts 2 --dir data --json i.json --quiet";
    let ran = place.run(&arguments.split(' ').collect::<Vec<_>>());
    ran.expect_ok();
    assert!(ran.out.contains("CREATE LOCAL INDEX") && ran.out.contains("DROP INDEX"), "{}", ran.out);
    assert!(json(&place, "i.json")["figures"].as_array().is_some_and(|figures| figures.len() >= 9));
}

#[test]
fn joins_of_ever_more_keys_are_timed() {
    let place = Place::new();
    let arguments = "bench join --keys-from 10 --keys-to 13 --runs 1 --dir data --json j.json";
    // The second run finds the rows.
    for _ in 0..2 {
        let ran = place.run(&arguments.split(' ').collect::<Vec<_>>());
        ran.expect_ok();
        assert!(ran.out.contains("2^12") && !ran.out.contains("2^13"), "{}", ran.out);
    }
    let figures = json(&place, "j.json");
    let joins = figures["joins"].as_array().expect("a list");
    assert_eq!(joins.len(), 2);
    assert!(joins.iter().all(|join| join["peak_bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20)));
}

#[test]
fn statements_of_one_row_are_timed_call_by_call() {
    let place = Place::new();
    let arguments = "bench statements --rows 50 --calls 20 --dir data --json s.json";
    let ran = place.run(&arguments.split(' ').collect::<Vec<_>>());
    ran.expect_ok();
    assert!(ran.out.contains("SELECT of one row") && ran.out.contains("ASYNC_WAL"), "{}", ran.out);
    let figures = json(&place, "s.json");
    let figures = figures["figures"].as_array().expect("a list");
    assert_eq!(figures.len(), 4);
    let took = |figure: &serde_json::Value| figure["p50_us"].as_f64().is_some_and(|micros| micros > 0.0);
    assert!(figures.iter().all(took), "{figures:?}");
}

#[test]
fn statements_and_indexes_make_a_page() {
    let place = Place::new();
    std::fs::write(place.path("s.md"), "old\n\n## Why\n\nText.\n").expect("writes");
    let arguments = "bench statements --rows 50 --calls 20 --sf 0.001 --runs 1 --upserts 2 --dir data --json s.json --out s.md --quiet";
    let ran = place.run(&arguments.split(' ').collect::<Vec<_>>());
    ran.expect_ok();
    let page = std::fs::read_to_string(place.path("s.md")).expect("a page");
    for part in [
        "SELECT of one row",
        "| CREATE LOCAL INDEX on l_extendedprice |",
        "| DROP INDEX |",
        "two local indexes",
        "## Why",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(json(&place, "s.json")["index"].as_array().is_some_and(|figures| figures.len() >= 9));
}
