// SPDX-License-Identifier: Apache-2.0
//! What Tab offers: commands of the shell, words of SQL, tables, and the columns of the tables that the statement names.

use basalt::{ColumnRef, Engine};
use reedline::{Completer, CompletionResult, Span, Suggestion};

use super::words::{COMMANDS, FUNCTIONS, KEYWORDS};

/// Words behind which a table is named.
const BEFORE_TABLES: &[&str] =
    &["FROM", "JOIN", "INTO", "TABLE", "DESCRIBE", ".SCHEMA", ".DESCRIBE", "\\D", ","];
const MODES: &[&str] = &["arrow", "csv", "json", "jsonl", "line", "markdown", "table", "trash", "tsv"];

/// A table and its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableNames {
    pub(super) table: String,
    pub(super) columns: Vec<String>,
}

/// Completes from the tables that the database has at that moment.
pub(super) struct NameCompleter {
    pub(super) engine: Engine,
}

impl NameCompleter {
    fn names(&self) -> Vec<TableNames> {
        let tables = self.engine.database().tables();
        let named = tables.iter().map(|(_, table)| TableNames {
            table: table.name.to_string(),
            columns: table
                .schema
                .iter()
                .flat_map(|schema| {
                    schema.declared.iter().map(|column| match *column {
                        ColumnRef::Key(i) => schema.key[i].name.clone(),
                        ColumnRef::Column(i) => schema.columns[i].name.clone(),
                    })
                })
                .collect(),
        });
        named.collect()
    }
}

impl Completer for NameCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let (start, words) = candidates(&line[..pos], line, &self.names());
        let suggestions: Vec<Suggestion> = words
            .into_iter()
            .map(|word| Suggestion {
                append_whitespace: !word.ends_with('('),
                value: word,
                span: Span::new(start, pos),
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}

/// Where the word begins that ends `before`, and what it may become. `line` is the whole text, in which tables may be named
/// behind the cursor. What is offered is in the case that was typed.
pub(super) fn candidates(before: &str, line: &str, names: &[TableNames]) -> (usize, Vec<String>) {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\\' | '?' | '"');
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| is_word(*c))
        .last()
        .map_or(before.len(), |(at, _)| at);
    // A dot begins a command at the beginning of a line, and a column behind a table's name.
    let is_command = before.trim_start().starts_with(['.', '\\']);
    let start = if is_command && before[..start].trim() == "." { start - 1 } else { start };
    let typed = &before[start..];
    if is_command {
        return (start, in_command(before, start, typed, names));
    }
    let previous = before[..start].trim_end();
    let mut offered: Vec<String> = Vec::new();
    if previous.len() == start && previous.ends_with('.') {
        let owner = previous.trim_end_matches('.').rsplit(|c: char| !is_word(c)).next().unwrap_or_default();
        offered.extend(columns_of(names, |table| table.eq_ignore_ascii_case(owner)));
        if offered.is_empty() {
            offered.extend(columns_of(names, |table| mentions(line, table)));
        }
    } else if BEFORE_TABLES.iter().any(|word| last_word(previous).eq_ignore_ascii_case(word))
        && !typed_columns(previous)
    {
        offered.extend(names.iter().map(|names| names.table.clone()));
    } else {
        offered.extend(columns_of(names, |table| mentions(line, table)));
        if !typed.is_empty() {
            if offered.is_empty() {
                offered.extend(columns_of(names, |_| true));
            }
            offered.extend(KEYWORDS.iter().map(|word| word.to_string()));
            offered.extend(FUNCTIONS.iter().map(|word| format!("{word}(")));
            offered.extend(names.iter().map(|names| names.table.clone()));
        }
    }
    (start, matching(offered, typed))
}

fn in_command(before: &str, start: usize, typed: &str, names: &[TableNames]) -> Vec<String> {
    let command = before[..start].trim();
    let offered = match command {
        "" => COMMANDS.iter().map(|word| word.to_string()).collect(),
        ".mode" => MODES.iter().map(|word| word.to_string()).collect(),
        ".timer" => vec!["on".to_string(), "off".to_string()],
        ".schema" | ".describe" | "\\d" => names.iter().map(|names| names.table.clone()).collect(),
        _ => Vec::new(),
    };
    matching(offered, typed)
}

fn last_word(text: &str) -> &str {
    if text.ends_with(',') {
        return ",";
    }
    text.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default()
}

/// True if a comma at the end of `text` separates columns, not tables: no FROM stands behind the last SELECT.
fn typed_columns(text: &str) -> bool {
    let upper = text.to_uppercase();
    text.ends_with(',')
        && (upper.rfind("FROM") <= upper.rfind("SELECT") || upper.rfind("BY") > upper.rfind("FROM"))
}

fn mentions(line: &str, table: &str) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')))
        .any(|word| word.eq_ignore_ascii_case(table))
}

fn columns_of(names: &[TableNames], wanted: impl Fn(&str) -> bool) -> Vec<String> {
    names.iter().filter(|names| wanted(&names.table)).flat_map(|names| names.columns.clone()).collect()
}

fn matching(mut offered: Vec<String>, typed: &str) -> Vec<String> {
    let upper = typed.to_uppercase();
    offered.retain(|word| word.to_uppercase().starts_with(&upper));
    let is_lower = !typed.is_empty() && typed.chars().all(|c| !c.is_uppercase());
    if is_lower {
        // Only what folds to upper case again may be written in lower case.
        for word in &mut offered {
            if !word.chars().any(char::is_lowercase) {
                *word = word.to_lowercase();
            }
        }
    }
    offered.sort();
    offered.dedup();
    offered
}
