// SPDX-License-Identifier: Apache-2.0
//! What tests share whose writers are processes of their own, started anew from the same program after every kill: lines
//! `@word number number` from the child to the parent, and what the parent asks in the end.

use std::io::Write;
use std::path::Path;

use basalt_store::{Env, Severity, check};

/// SplitMix64: no two numbers are mixed to the same.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// Tells the parent; one write, so that a kill leaves the line whole or without its end.
pub(crate) fn say(word: &str, a: u64, b: u64) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("@{word} {a} {b}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

/// Word and two numbers of a line of the child; `None` for others, and for one that the kill cut off.
pub(crate) fn message(line: &str) -> Option<(&str, u64, u64)> {
    // The harness prints the name of the test without a line end before the first message.
    let mut words = line.split_once('@')?.1.split(' ');
    Some((words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Says what a run did, also when it passes: the runner keeps what goes through `println!` to itself then.
pub(crate) fn report(line: std::fmt::Arguments<'_>) {
    let mut uncaptured = std::io::stderr();
    writeln!(uncaptured, "{line}").unwrap();
}

/// Fails if any file of the database is damaged.
pub(crate) fn assert_undamaged(dir: &Path) {
    let mut damages = Vec::new();
    check(dir, &Env::local(), &mut |finding| {
        if finding.severity == Severity::Damage {
            damages.push(finding.to_string());
        }
    })
    .unwrap();
    assert!(damages.is_empty(), "{damages:?}");
}
