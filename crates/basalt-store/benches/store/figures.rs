// SPDX-License-Identifier: Apache-2.0
//! Tables of figures, printed as they come and written into a page of Markdown.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// All tables so far.
#[derive(Default)]
pub(crate) struct Figures {
    text: String,
}

impl Figures {
    pub(crate) fn title(&mut self, columns: &[&str]) {
        self.line("");
        self.row(columns);
        let rest = "--:|".repeat(columns.len() - 1);
        self.line(&format!("|---|{rest}"));
    }

    pub(crate) fn row(&mut self, cells: &[impl AsRef<str>]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    fn line(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// What the page has from its first `## ` on stays.
    pub(crate) fn write(&self, page: &Path) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let before = fs::read_to_string(page).unwrap_or_default();
        let kept = before.find("\n## ").map_or("", |at| &before[at..]);
        let head = format!(
            "# The store: opening, regions at rest, and floods of writes\n\n`make bench-store`, {cores} cores.\n"
        );
        fs::write(page, head + &self.text + kept).expect("the page can be written");
    }
}

/// Processor time of this process, user and system, to a hundredth of a second.
pub(crate) fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks =
        |at: usize| behind_name.split_whitespace().nth(at).and_then(|ticks| ticks.parse::<u64>().ok());
    // Fields 14 and 15 of proc_pid_stat(5); the first behind the name is field 3.
    let ticks = ticks(11).unwrap_or_default() + ticks(12).unwrap_or_default();
    Duration::from_millis(ticks * 10)
}
