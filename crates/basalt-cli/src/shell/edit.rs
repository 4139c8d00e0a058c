// SPDX-License-Identifier: Apache-2.0
//! The line editor: prompt, keys, history, and when Enter runs a statement instead of beginning a new line.

use std::borrow::Cow;
use std::path::PathBuf;

use basalt::{Engine, split_statements};
use nu_ansi_term::{Color, Style};
use reedline::{
    ColumnarMenu, DefaultHinter, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent, ReedlineMenu,
    ValidationResult, Validator, default_emacs_keybindings,
};

use super::complete::NameCompleter;
use super::highlight::SqlHighlighter;
use crate::connection::Connection;
use crate::failure::Result;

/// Lines of history that are kept.
const HISTORY_LINES: usize = 10_000;
const MENU: &str = "completion";

/// The editor of a database's shell.
pub(super) fn editor(engine: Engine) -> Result<Reedline> {
    let mut keys = default_emacs_keybindings();
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext]),
    );
    let menu = Box::new(ColumnarMenu::default().with_name(MENU));
    let mut editor = Reedline::create()
        .with_completer(Box::new(NameCompleter { engine }))
        .with_menu(ReedlineMenu::EngineCompleter(menu))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_validator(Box::new(StatementValidator))
        .with_edit_mode(Box::new(Emacs::new(keys)));
    if std::env::var_os("NO_COLOR").is_none() {
        let hint = DefaultHinter::default().with_style(Style::new().dimmed());
        editor = editor.with_highlighter(Box::new(SqlHighlighter)).with_hinter(Box::new(hint));
    }
    // A home that cannot be written to costs the history, not the shell.
    if let Some(history) =
        history_file().and_then(|file| FileBackedHistory::with_file(HISTORY_LINES, file).ok())
    {
        editor = editor.with_history(Box::new(history));
    }
    Ok(editor)
}

fn history_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match set("BASALT_HISTORY") {
        Some(file) => Some(file.into()),
        None => set("HOME").map(|home| PathBuf::from(home).join(".basalt_history")),
    }
}

/// Enter runs what is a command or ends with a semicolon.
struct StatementValidator;

impl Validator for StatementValidator {
    fn validate(&self, text: &str) -> ValidationResult {
        if is_complete(text) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

/// True if the text can be run as it stands.
pub(super) fn is_complete(text: &str) -> bool {
    text.trim().is_empty()
        || text.trim_start().starts_with(['.', '\\'])
        || !split_statements(text).is_incomplete()
}

/// `shop> `, and below it `   -> ` for the lines that follow.
pub(super) struct DatabasePrompt {
    name: String,
}

impl DatabasePrompt {
    pub(super) fn new(connection: &Connection) -> Self {
        let name = if connection.is_temporary() { None } else { connection.path.file_name() };
        Self { name: name.map_or("basalt".into(), |name| name.to_string_lossy().into_owned()) }
    }
}

impl Prompt for DatabasePrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Owned(format!("{}> ", "-".repeat(self.name.chars().count().max(1))))
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "nothing found, ",
        };
        Cow::Owned(format!("({found}search: {}) ", search.term))
    }

    fn get_prompt_color(&self) -> Color {
        Color::Default
    }

    fn get_indicator_color(&self) -> Color {
        Color::Default
    }
}
