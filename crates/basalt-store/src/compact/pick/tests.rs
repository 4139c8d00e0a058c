// SPDX-License-Identifier: Apache-2.0
//! Cases live in `testdata/pick/*.txt`: what they are about behind `#`, files one a line
//! (`id first-last size seq-seq [deletes=percent] [newest=timestamp] [created=ms] [ingest=seq] [own=first/half]`), options behind `set`, and below `----`
//! what is picked. `UPDATE_TESTDATA=1 cargo test -p basalt-store pick` writes what is picked now.
#![allow(clippy::disallowed_methods, reason = "the cases lie beside this file, outside of any database")]

use std::fmt::Write as _;
use std::path::PathBuf;

use basalt_model::Seq;

use super::*;
use crate::OwnTtl;

#[test]
fn testdata_pick() {
    let dir = PathBuf::from("testdata/pick");
    let mut cases = 0;
    for entry in std::fs::read_dir(dir).expect("the folder is part of the crate") {
        let path = entry.expect("the folder is readable").path();
        let text = std::fs::read_to_string(&path).expect("the file is readable");
        let mut actual = String::new();
        for case in text.split_inclusive("\n\n") {
            let (input, _) = case.split_once("----\n").expect("a case has a line of dashes");
            let end = if case.ends_with("\n\n") { "\n" } else { "" };
            write!(actual, "{input}----\n{}\n{end}", answer(input)).expect("memory does not fail");
            cases += 1;
        }
        if std::env::var_os("UPDATE_TESTDATA").is_some() {
            std::fs::write(&path, &actual).expect("the file is writable");
        } else {
            assert_eq!(actual, text, "{}", path.display());
        }
    }
    assert!(cases >= 10, "only {cases} cases were found");
}

fn answer(input: &str) -> String {
    let mut options = PickOptions::default();
    let mut files = Vec::new();
    let mut all_asked = false;
    for line in input.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix("set ") {
            Some("major") => all_asked = true,
            Some(settings) => settings.split(' ').for_each(|setting| set(&mut options, setting)),
            None => files.push(file(line)),
        }
    }
    let picked = if all_asked { major(&files) } else { pick(&files, &options) };
    let Some(pick) = picked else { return "nothing".into() };
    let ids: Vec<String> = pick.inputs.iter().map(|id| id.0.to_string()).collect();
    let all = if pick.all { ", all of their rows" } else { "" };
    format!("{:?}: {}{all}", pick.reason, ids.join(" "))
}

fn set(options: &mut PickOptions, setting: &str) {
    let (name, value) = setting.split_once('=').expect("name=value");
    match name {
        "files_max" => options.files_max = value.parse().expect("a number"),
        "depth_max" => options.depth_max = value.parse().expect("a number"),
        "expired_below" => options.expired_below = value.parse().expect("a number"),
        "now_ms" => options.now_ms = value.parse().expect("a number"),
        "ttl_ms" => options.ttl_ms = value.parse().expect("a number"),
        "ingested_bytes_max" => options.ingested_bytes_max = value.parse().expect("a number"),
        "markers_leave" => options.markers_leave = value.parse().expect("true or false"),
        other => panic!("unknown option {other}"),
    }
}

fn file(line: &str) -> FileMeta {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_else(|| panic!("too few words in {line:?}"));
    let id = FileId(word().parse().expect("an id"));
    let (first, last) = word().split_once('-').expect("first-last");
    let size_bytes = bytes(word());
    let (seq_min, seq_max) = word().split_once('-').expect("seq-seq");
    let seq = |text: &str| Seq(text.parse().expect("a sequence number"));
    let (mut deletes, mut timestamp_max, mut created_ms, mut seq_override) = (0, 1_000, 0, None);
    let mut own_ttl = None;
    for word in words {
        match word.split_once('=').expect("name=value") {
            ("deletes", percent) => deletes = percent.parse().expect("a number"),
            ("ingest", number) => seq_override = Some(seq(number)),
            ("created", moment) => created_ms = moment.parse().expect("a moment"),
            ("own", text) => {
                let (first, half) = text.split_once('/').expect("first/half");
                own_ttl =
                    Some(OwnTtl { first_ms: first.parse().expect("a moment"), half_ms: half.parse().ok() });
            }
            ("newest", timestamp) => timestamp_max = timestamp.parse().expect("a timestamp"),
            other => panic!("unknown property {other:?}"),
        }
    }
    FileMeta {
        id,
        size_bytes,
        cells: 100,
        rows: 100,
        deletes,
        raw_bytes: size_bytes,
        first_row: Bytes::copy_from_slice(first.as_bytes()),
        last_row: Bytes::copy_from_slice(last.as_bytes()),
        timestamp_min: 0,
        timestamp_max,
        seq_min: seq(seq_min),
        seq_max: seq(seq_max),
        own_ttl,
        seq_override,
        created_ms,
        dir: None,
        part: None,
    }
}

fn bytes(text: &str) -> u64 {
    let (number, unit) = text.split_at(text.len() - 1);
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        other => panic!("unknown unit {other}"),
    };
    number.parse::<u64>().expect("a number") << shift
}
