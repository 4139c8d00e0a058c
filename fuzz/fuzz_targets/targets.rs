// SPDX-License-Identifier: Apache-2.0
//! One program a crate: `hfile`, `model`, `store` and `wire` run the targets of their crates' modules `fuzzing`. BASALT_FUZZ_TARGET names
//! the target (`hfile_tags` or `tags`); `BASALT_FUZZ_TARGET=list` prints the names of all. With BASALT_FUZZ_SEEDS=FOLDER a program
//! writes the inputs that its target begins with into a folder, and ends.
//!
//! An input may take a second of the processor. libFuzzer's own limit is one of the clock on the wall, which on a loaded
//! machine goes on while the fuzzer waits; it is left to catch what never returns.
#![no_main]

use std::sync::OnceLock;

type Target = fn(&[u8]);

static TARGET: OnceLock<Target> = OnceLock::new();

const PROGRAM: &str = env!("CARGO_BIN_NAME");

fn targets() -> Vec<(&'static str, Target)> {
    match PROGRAM {
        "hfile" => basalt_hfile::fuzzing::TARGETS.to_vec(),
        "model" => basalt_model::fuzzing::TARGETS.to_vec(),
        #[cfg(feature = "store")]
        "store" => basalt_store::fuzzing::TARGETS.to_vec(),
        "wire" => basalt_wire::fuzzing::TARGETS.to_vec(),
        other => panic!("no crate's targets run in {other}"),
    }
}

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    match PROGRAM {
        "model" => basalt_model::fuzzing::seeds(),
        #[cfg(feature = "store")]
        "store" => basalt_store::fuzzing::seeds(),
        "wire" => basalt_wire::fuzzing::seeds(),
        // Those are files of the repository.
        _ => Vec::new(),
    }
}

fn write_seeds(target: &str, folder: &str) {
    let of_target = seeds().into_iter().filter(|(name, _)| *name == target);
    for (at, (_, input)) in of_target.enumerate() {
        std::fs::write(format!("{folder}/seed_{at}"), input).expect("seeds are written");
    }
}

/// The target that the environment names.
fn chosen() -> Target {
    let name = std::env::var("BASALT_FUZZ_TARGET").expect("BASALT_FUZZ_TARGET names a target, or is `list`");
    if name == "list" {
        targets().iter().for_each(|(name, _)| println!("{PROGRAM}_{name}"));
        std::process::exit(0);
    }
    let name = name.strip_prefix(PROGRAM).and_then(|rest| rest.strip_prefix('_')).unwrap_or(&name);
    if let Ok(folder) = std::env::var("BASALT_FUZZ_SEEDS") {
        write_seeds(name, &folder);
        std::process::exit(0);
    }
    let found = targets().into_iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no target of {PROGRAM} is named {name}")).1
}

/// Nanoseconds that this thread has had a processor.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

libfuzzer_sys::fuzz_target!(
    init: {
        TARGET.get_or_init(chosen);
    },
    |data: &[u8]| {
        let start = cpu_nanos();
        TARGET.get_or_init(chosen)(data);
        let nanos = cpu_nanos() - start;
        assert!(nanos < 1_000_000_000, "{nanos} ns for {} bytes", data.len());
    }
);
