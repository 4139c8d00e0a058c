// SPDX-License-Identifier: Apache-2.0
//! Directories: made, opened again, locked, damaged, none at all; `basalt check` and `basalt hfile`.

use std::io::Write;
use std::process::Stdio;

use crate::program::Place;

const ROWS: &str =
    "CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR); UPSERT INTO t VALUES (1, 'one'), (2, 'two')";

#[test]
fn rows_are_there_when_the_database_is_opened_again() {
    let place = Place::with(ROWS);
    assert_eq!(place.rows("SELECT v FROM t ORDER BY k"), ["one", "two"]);
}

#[test]
fn a_second_process_hears_who_has_the_database() {
    let place = Place::with(ROWS);
    let mut holder = place
        .command(&["sql", "db", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = holder.stdin.take().expect("piped");
    stdin.write_all(b"SELECT 1 AS a;\n").expect("it listens");
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(holder.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut stdout, &mut line).expect("it answers, so the database is open");
    place.sql("SELECT 1").expect_error(3, &["in use", &holder.id().to_string()]);
    drop(stdin);
    holder.wait().expect("it ends");
    place.sql("SELECT 1").expect_ok();
}

#[test]
fn a_directory_that_is_no_database_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir(place.path("photos")).expect("writable");
    place.write("photos/cat.jpg", "meow");
    place.run(&["sql", "photos", "-c", "SELECT 1"]).expect_error(3, &["photos", "not a Basalt database"]);
    place.run(&["check", "photos"]).expect_error(3, &["photos"]);
    place.run(&["check", "nowhere"]).expect_error(3, &["nowhere"]);
    assert_eq!(place.files("photos").len(), 1);
    assert!(!place.path("nowhere").exists(), "a check makes nothing");
}

/// A database with a store file: what is loaded goes straight to one.
fn loaded() -> Place {
    let place = Place::with("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)");
    let rows: String = (0..5_000).map(|i| format!("{i},value number {i}\n")).collect();
    place.write("rows.csv", rows);
    place.run(&["load", "db", "t", "rows.csv", "--quiet"]).expect_ok();
    place
}

fn store_file(place: &Place) -> std::path::PathBuf {
    let data = place.path("db").join("data");
    let files = place.files("db");
    files.into_iter().find(|file| file.starts_with(&data)).expect("a store file")
}

#[test]
fn a_sound_database_passes_the_check() {
    let place = loaded();
    let ran = place.run(&["check", "db"]);
    assert!(ran.code == 0 && ran.out.starts_with("sound: 1 tables, 1 store files"), "{ran:?}");
    let json = place.run(&["check", "db", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&json.out).expect("valid JSON");
    assert_eq!((json.code, &report["sound"], &report["damages"]), (0, &true.into(), &0.into()), "{json:?}");
}

#[test]
fn a_flipped_byte_is_found_named_and_never_returned() {
    let place = loaded();
    let file = store_file(&place);
    let name = file.file_name().expect("a file").to_string_lossy().into_owned();
    let sound = std::fs::read(&file).expect("readable");
    let rows = place.sql("SELECT * FROM t").out;
    let mut noticed = 0;
    for eighth in 0..8 {
        let mut bytes = sound.clone();
        bytes[sound.len() * eighth / 8 + 40] ^= 0x40;
        std::fs::write(&file, bytes).expect("writable");
        let ran = place.run(&["check", "db"]);
        ran.expect_error(3, &["damaged"]);
        assert!(ran.out.contains(&name) && ran.out.starts_with("damage: "), "{ran:?}");
        place.run(&["hfile", "verify", &file.to_string_lossy()]).expect_error(3, &["damaged"]);
        // A query that does not need the byte does not read it; one that does names the file.
        let ran = place.sql("SELECT * FROM t");
        if ran.code == 0 {
            assert_eq!(ran.out, rows);
        } else {
            ran.expect_error(3, &[&name]);
            noticed += 1;
        }
    }
    assert!(noticed > 1, "{noticed} of 8 damages were met by a query of all rows");
    place.sql("SELECT 1").expect_ok();
}

#[test]
fn a_store_file_can_be_looked_into_and_converted() {
    let place = loaded();
    let file = store_file(&place).to_string_lossy().into_owned();
    let verified = place.run(&["hfile", "verify", &file]);
    assert!(verified.code == 0 && verified.out.ends_with(": sound\n"), "{verified:?}");
    let stat = place.run(&["hfile", "stat", &file, "--format", "json"]);
    let facts: serde_json::Value = serde_json::from_str(&stat.out).expect("valid JSON");
    assert_eq!(facts["cells"]["rows"], 5_000, "{stat:?}");
    let dumped = place.run(&["hfile", "dump", &file, "--format", "json"]);
    assert_eq!(dumped.out.lines().count() as u64, facts["cells"]["count"].as_u64().expect("a number"));
    let options = ["--encoding", "fast_diff", "--compression", "none"];
    place.run(&[&["hfile", "convert", &file, "new.hfile"], &options[..]].concat()).expect_ok();
    assert_eq!(place.run(&["hfile", "dump", "new.hfile", "--format", "json"]).out, dumped.out);
    place.run(&["hfile", "convert", &file, "new.hfile"]).expect_error(1, &["exists already"]);
    let blocks = |place: &Place, file: &str| {
        let stat = place.run(&["hfile", "stat", file, "--format", "json"]);
        let facts: serde_json::Value = serde_json::from_str(&stat.out).expect("valid JSON");
        facts["blocks"]["count"].as_u64().expect("a number")
    };
    for option in ["--block-size", "--block-bytes"] {
        let small = format!("small{option}.hfile");
        place.run(&["hfile", "convert", "new.hfile", &small, option, "2048"]).expect_ok();
        assert!(blocks(&place, &small) > 10 * blocks(&place, "new.hfile"), "{option}");
        assert_eq!(place.run(&["hfile", "dump", &small, "--format", "json"]).out, dumped.out);
    }
    place.run(&["hfile", "stat", "rows.csv"]).expect_error(3, &["rows.csv"]);
}

#[test]
fn quiet_says_nothing_and_otherwise_a_new_database_is_announced() {
    let place = Place::new();
    assert!(place.run(&["sql", "one", "-c", "SELECT 1"]).err.contains("created a database in one"));
    assert_eq!(place.run(&["sql", "two", "-c", "SELECT 1", "--quiet"]).err, "");
}
