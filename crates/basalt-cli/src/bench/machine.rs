// SPDX-License-Identifier: Apache-2.0
//! What a reader of figures wants to know of the machine, and of processes on it. Where the system does not say, it is left out.

use std::fs;

/// Model and number of its processors.
pub(super) fn processors() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
    match model {
        Some(model) => format!("{}, {cores} cores", model.trim()),
        None => format!("{cores} cores"),
    }
}

/// How many programs wanted a processor during the last minute, on average.
pub(super) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    /// Resident now.
    pub(super) resident: u64,
    /// The most that was.
    pub(super) peak: u64,
}

/// Counts the peak of this process from now on; where the system cannot do that, it stays the one since the start.
pub(super) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Memory of the process of this number.
pub(super) fn memory_of(process: u32) -> Option<Memory> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    };
    Some(Memory { resident: bytes("VmRSS:")?, peak: bytes("VmHWM:")? })
}
