// SPDX-License-Identifier: Apache-2.0
//! Figures as a table for people and as JSON for programs.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::failure::Result;
use crate::output::render;
use crate::statement::terminal_width;

/// A table of figures that grows row by row.
pub(super) struct Sheet<'a> {
    headings: Vec<&'a str>,
    /// Columns from this one on are numbers.
    numbers_from: usize,
    rows: Vec<Vec<String>>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(headings: &[&'a str], numbers_from: usize) -> Self {
        Self { headings: headings.to_vec(), numbers_from, rows: vec![] }
    }

    /// Adds a row, a text for each heading.
    pub(super) fn row(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.headings.len());
        self.rows.push(row);
    }

    /// As a table of Markdown.
    pub(super) fn markdown(&self) -> String {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let rule = (0..self.headings.len()).map(|at| if at < self.numbers_from { "---" } else { "--:" });
        let rows = self.rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
        line(self.headings.clone()) + &line(rule.collect()) + &rows.collect::<String>()
    }

    /// To standard output.
    pub(super) fn print(&self) {
        let width = std::io::stdout().is_terminal().then(terminal_width);
        print!("{}", render(&self.headings, &self.rows, self.numbers_from, width));
    }
}

/// The middle one of some figures; of an even number the upper of the two.
pub(super) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The figure below which this share of all lies.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Writes figures to a file, if there is one to write to.
pub(super) fn write_json(path: Option<&Path>, figures: &Value) -> Result<()> {
    match path {
        Some(path) => std::fs::write(path, format!("{figures:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(Into::into),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_tail() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(vec![]).is_nan());
        let sorted: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(
            (percentile(&sorted, 0.5), percentile(&sorted, 0.99), percentile(&sorted, 1.0)),
            (50.0, 99.0, 99.0)
        );
    }
}
