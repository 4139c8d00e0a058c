// SPDX-License-Identifier: Apache-2.0
//! A box for people.
//!
//! On a terminal the first rows are kept and the rest is counted; the box is drawn at the end, cut to the width of the
//! terminal ([`fit`]). Into a pipe everything is printed: the first thousand rows decide the widths, then rows go out as they
//! come, and a wider cell later on moves the border of its own row only.

mod fit;

use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Sink;
use super::grouped;
use basalt_files::{ColumnText, Kind, kind_of, type_name};
use fit::{Plan, fit};

/// Rows that decide the widths of a table in a pipe.
const SAMPLE_ROWS: usize = 1_000;
/// Longest cell that is kept of a value; what a box shows is always shorter.
const CELL_CHARS_MAX: usize = 10_000;

/// How a table may look where it goes to.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableStyle {
    /// Columns of the terminal; `None` into a pipe: nothing is cut.
    pub(crate) width: Option<usize>,
    /// Rows that are shown; `None`: all.
    pub(crate) rows_max: Option<usize>,
    /// NULLs and types are dimmed.
    pub(crate) color: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cell {
    text: String,
    is_null: bool,
}

pub(super) struct TableSink<'a> {
    style: TableStyle,
    columns: Vec<Heading>,
    kept: Vec<Vec<Cell>>,
    rows: u64,
    /// Set once the sample is full and rows are printed as they come.
    flowing: Option<Plan>,
    out: &'a mut dyn Write,
}

struct Heading {
    name: String,
    type_name: String,
    is_number: bool,
}

impl<'a> TableSink<'a> {
    pub(super) fn new(schema: SchemaRef, style: TableStyle, out: &'a mut dyn Write) -> Self {
        let columns = schema
            .fields()
            .iter()
            .map(|field| Heading {
                name: shown(field.name()),
                type_name: type_name(field),
                is_number: matches!(kind_of(field.data_type()), Kind::Number | Kind::Float),
            })
            .collect();
        Self { style, columns, kept: Vec::new(), rows: 0, flowing: None, out }
    }

    fn plan(&self) -> Plan {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.name.width()).collect();
        if self.shows_types() {
            for (width, column) in widths.iter_mut().zip(&self.columns) {
                *width = (*width).max(column.type_name.width());
            }
        }
        for row in &self.kept {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        fit(&widths, self.style.width)
    }

    fn shows_types(&self) -> bool {
        self.style.width.is_some()
    }

    fn print_head(&mut self, plan: &Plan) -> io::Result<()> {
        let mut text = plan.rule('┌', '┬', '┐');
        plan.row(&mut text, |column, width| centred(&self.columns[column].name, width));
        if self.shows_types() {
            plan.row(&mut text, |column, width| {
                dimmed(self.style.color, &centred(&self.columns[column].type_name, width))
            });
        }
        text.push_str(&plan.rule('├', '┼', '┤'));
        self.out.write_all(text.as_bytes())
    }

    fn print_rows(&mut self, plan: &Plan) -> io::Result<()> {
        let mut text = String::new();
        for row in self.kept.drain(..) {
            plan.row(&mut text, |column, width| {
                let cell = &row[column];
                let padded = aligned(&cell.text, width, self.columns[column].is_number, plan.cuts());
                dimmed(self.style.color && cell.is_null, &padded)
            });
        }
        self.out.write_all(text.as_bytes())
    }

    fn print_foot(&mut self, plan: &Plan, shown: u64, complete: bool) -> io::Result<()> {
        self.out.write_all(plan.rule('└', '┴', '┘').as_bytes())?;
        if self.style.width.is_some() {
            writeln!(self.out, "{}", count_line(self.rows, shown, self.columns.len(), plan, complete))?;
        }
        self.out.flush()
    }
}

impl Sink for TableSink<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.rows += batch.num_rows() as u64;
        let wanted = match self.style.rows_max {
            Some(rows_max) => rows_max.saturating_sub(self.kept.len()).min(batch.num_rows()),
            None => batch.num_rows(),
        };
        let columns: Vec<_> = batch.columns().iter().map(ColumnText::new).collect();
        self.kept.extend((0..wanted).map(|row| columns.iter().map(|column| cell(column, row)).collect()));
        if self.style.rows_max.is_some() {
            return Ok(());
        }
        if self.flowing.is_none() && self.kept.len() >= SAMPLE_ROWS {
            let plan = self.plan();
            self.print_head(&plan)?;
            self.flowing = Some(plan);
        }
        if let Some(plan) = self.flowing.take() {
            self.print_rows(&plan)?;
            self.flowing = Some(plan);
        }
        Ok(())
    }

    fn end(&mut self, complete: bool) -> io::Result<()> {
        if !complete && self.rows == 0 {
            return Ok(());
        }
        let shown = self.kept.len() as u64;
        let plan = match self.flowing.take() {
            Some(plan) => plan,
            None => {
                let plan = self.plan();
                self.print_head(&plan)?;
                plan
            }
        };
        self.print_rows(&plan)?;
        self.print_foot(&plan, shown, complete)
    }
}

/// Draws a small table of texts; the first `numbers_from` columns are text, the others numbers.
pub(crate) fn render(
    headings: &[&str],
    rows: &[Vec<String>],
    numbers_from: usize,
    width: Option<usize>,
) -> String {
    let widths: Vec<usize> = (0..headings.len())
        .map(|i| rows.iter().map(|row| row[i].width()).chain([headings[i].width()]).max().unwrap_or(0))
        .collect();
    let plan = fit(&widths, width);
    let mut text = plan.rule('┌', '┬', '┐');
    plan.row(&mut text, |column, width| centred(headings[column], width));
    text.push_str(&plan.rule('├', '┼', '┤'));
    for row in rows {
        plan.row(&mut text, |column, width| {
            aligned(&shown(&row[column]), width, column >= numbers_from, true)
        });
    }
    text.push_str(&plan.rule('└', '┴', '┘'));
    text
}

fn cell(column: &ColumnText<'_>, row: usize) -> Cell {
    if column.is_null(row) {
        return Cell { text: "NULL".into(), is_null: true };
    }
    let mut text = String::new();
    column.write(row, &mut text);
    Cell { text: shown(&text), is_null: false }
}

/// The text on one line: control characters would break the box.
fn shown(text: &str) -> String {
    if !text.chars().any(char::is_control) && text.len() <= CELL_CHARS_MAX {
        return text.into();
    }
    text.chars()
        .take(CELL_CHARS_MAX)
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

fn count_line(rows: u64, shown: u64, columns: usize, plan: &Plan, complete: bool) -> String {
    let plural = |n: u64, one: &str| format!("{} {one}{}", grouped(n), if n == 1 { "" } else { "s" });
    let mut line = plural(rows, "row");
    if !complete {
        line = format!("stopped after {line}");
    }
    if shown < rows {
        line.push_str(&format!(" ({} shown)", grouped(shown)));
    }
    if plan.shown_columns() < columns {
        line.push_str(&format!(", {} ({} shown)", plural(columns as u64, "column"), plan.shown_columns()));
    }
    line
}

fn dimmed(yes: bool, text: &str) -> String {
    if yes { format!("\x1b[2m{text}\x1b[0m") } else { text.into() }
}

fn aligned(text: &str, width: usize, right: bool, cuts: bool) -> String {
    let (text, used) = if cuts { cut(text, width) } else { (text.to_string(), text.width()) };
    let space = " ".repeat(width.saturating_sub(used));
    if right { space + &text } else { text + &space }
}

fn centred(text: &str, width: usize) -> String {
    let (text, used) = cut(text, width);
    let space = width.saturating_sub(used);
    format!("{}{text}{}", " ".repeat(space / 2), " ".repeat(space - space / 2))
}

/// The text in at most `width` columns of the terminal, with `…` where it was cut, and the columns it takes.
fn cut(text: &str, width: usize) -> (String, usize) {
    let whole = text.width();
    if whole <= width {
        return (text.into(), whole);
    }
    let mut used = 0;
    let mut short = String::new();
    for c in text.chars() {
        let next = c.width().unwrap_or(0);
        if used + next + 1 > width {
            break;
        }
        used += next;
        short.push(c);
    }
    short.push('…');
    (short, used + 1)
}
