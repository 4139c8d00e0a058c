// SPDX-License-Identifier: Apache-2.0
//! Colours of a statement while it is typed: words of SQL, literals, comments.

use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

use super::words::{FUNCTIONS, KEYWORDS};

pub(super) struct SqlHighlighter;

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let mut styled = StyledText::new();
        for (kind, text) in pieces(line) {
            styled.push((style(kind), text.to_string()));
        }
        styled
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Keyword,
    Function,
    Literal,
    Number,
    Comment,
    Plain,
}

fn style(kind: Kind) -> Style {
    match kind {
        Kind::Keyword => Color::Blue.bold(),
        Kind::Function => Color::Cyan.normal(),
        Kind::Literal => Color::Green.normal(),
        Kind::Number => Color::Purple.normal(),
        Kind::Comment => Style::new().dimmed(),
        Kind::Plain => Style::new(),
    }
}

/// Cuts a text into pieces of one kind; together they are the text.
pub(super) fn pieces(text: &str) -> Vec<(Kind, &str)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            '\'' => (Kind::Literal, quoted(rest, '\'')),
            '"' => (Kind::Plain, quoted(rest, '"')),
            '-' | '/' if rest.starts_with("--") || rest.starts_with("//") => {
                (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
            }
            '/' if rest.starts_with("/*") => (Kind::Comment, rest.find("*/").map_or(rest.len(), |at| at + 2)),
            c if c.is_ascii_digit() => (Kind::Number, run(rest, |c| c.is_ascii_alphanumeric() || c == '.')),
            c if c.is_alphabetic() || c == '_' => {
                let length = run(rest, |c| c.is_alphanumeric() || c == '_');
                (word_kind(&rest[..length]), length)
            }
            c => (Kind::Plain, c.len_utf8()),
        };
        pieces.push((kind, &rest[..length]));
        rest = &rest[length..];
    }
    pieces
}

fn word_kind(word: &str) -> Kind {
    let upper = word.to_uppercase();
    match upper.as_str() {
        upper if KEYWORDS.contains(&upper) => Kind::Keyword,
        upper if FUNCTIONS.contains(&upper) => Kind::Function,
        _ => Kind::Plain,
    }
}

fn quoted(text: &str, quote: char) -> usize {
    text[1..].find(quote).map_or(text.len(), |at| at + 2)
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}
