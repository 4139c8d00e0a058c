// SPDX-License-Identifier: Apache-2.0
//! The progress bar: rows, bytes, rate and time left of anything that takes longer than a second.
//!
//! Whoever does the work counts into atomics; a thread of its own looks at them ten times a second and draws on stderr. Nothing is
//! drawn when stderr is no terminal or the user asked for quiet, and the line is wiped when the work ends.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::grouped;

/// What is quick needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const REDRAW: Duration = Duration::from_millis(100);
/// Length of the bar in steps; indicatif counts in integers.
const STEPS: u64 = 1_000;

/// How far the work has come.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reading {
    /// What is going on: `lineitem.parquet`, `flush`, …
    pub(crate) label: String,
    /// Rows so far.
    pub(crate) rows: u64,
    /// Bytes so far.
    pub(crate) bytes: u64,
    /// The part that is done, 0 to 1, when it is known.
    pub(crate) fraction: Option<f64>,
}

/// Counters for work that has none of its own.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) rows: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Bytes to come; 0 when that is not known.
    pub(crate) bytes_total: AtomicU64,
}

impl Counters {
    /// The counters as a reading.
    pub(crate) fn read(&self, label: String) -> Reading {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let total = self.bytes_total.load(Ordering::Relaxed);
        let fraction = (total > 0).then(|| (bytes as f64 / total as f64).min(1.0));
        Reading { label, rows: self.rows.load(Ordering::Relaxed), bytes, fraction }
    }
}

/// A bar that is drawn until it is dropped.
pub(crate) struct Bar {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Starts to watch `read`; draws nothing if `quiet` or if stderr is no terminal.
    pub(crate) fn start(quiet: bool, read: impl Fn() -> Reading + Send + 'static) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self { stop: None, thread: None };
        }
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let started = Instant::now();
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            loop {
                let reading = read();
                bar.set_style(style(reading.fraction.is_some()));
                bar.set_position((reading.fraction.unwrap_or(0.0) * STEPS as f64) as u64);
                bar.set_message(describe(&reading, started.elapsed()));
                bar.tick();
                if stopped.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            bar.finish_and_clear();
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A bar that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

fn style(has_fraction: bool) -> ProgressStyle {
    let template = if has_fraction { "{bar:24.cyan/dim} {msg}" } else { "{spinner:.cyan} {msg}" };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .progress_chars("━━─")
}

/// `orders  1,250,000 rows  80.5 MB  410k rows/s  41%  0:03 left`
fn describe(reading: &Reading, elapsed: Duration) -> String {
    let mut parts = vec![reading.label.clone()];
    let seconds = elapsed.as_secs_f64().max(0.001);
    if reading.rows > 0 {
        parts.push(format!("{} rows", grouped(reading.rows)));
    }
    if reading.bytes > 0 {
        parts.push(size(reading.bytes));
    }
    if reading.rows > 0 {
        parts.push(format!("{} rows/s", short(reading.rows as f64 / seconds)));
    }
    match reading.fraction {
        Some(fraction) if fraction > 0.0 => {
            let left = seconds / fraction * (1.0 - fraction);
            parts.push(format!("{:.0}%", fraction * 100.0));
            parts.push(format!("{} left", clock(left)));
        }
        _ => parts.push(clock(seconds)),
    }
    parts.join("  ")
}

/// A number of bytes with one decimal: `80.5 MB` (powers of 1,000, as disks are sold).
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// A rate in three digits or so: `950`, `41.2k`, `3.10M`.
pub(crate) fn short(number: f64) -> String {
    match number {
        n if n < 1e3 => format!("{n:.0}"),
        n if n < 1e5 => format!("{:.1}k", n / 1e3),
        n if n < 1e6 => format!("{:.0}k", n / 1e3),
        n => format!("{:.2}M", n / 1e6),
    }
}

/// A duration as people read it: `640 µs`, `12.3 ms`, `4.56 s`, `2 min 05 s`.
pub(crate) fn duration(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    match seconds {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.2} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

fn clock(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..3_600 => format!("{}:{:02}", whole / 60, whole % 60),
        _ => format!("{}:{:02}:{:02}", whole / 3_600, whole / 60 % 60, whole % 60),
    }
}

#[cfg(test)]
mod tests;
