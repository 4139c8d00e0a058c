// SPDX-License-Identifier: Apache-2.0
//! Cutting a text into statements, for files and for the shell, without parsing them.
//!
//! A `;` ends a statement unless it stands in a text literal, a quoted name or a comment (`-- ..`, `// ..`, `/* .. */`). What follows the last
//! `;` is returned apart: a file runs it, a shell waits for more.

use std::borrow::Cow;
use std::ops::Range;

/// One statement and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementText<'a> {
    /// The text without the `;` and without blanks and comments before it.
    pub text: &'a str,
    /// Where it begins, in bytes from the start of the whole text.
    pub offset: usize,
}

/// What a text consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split<'a> {
    /// Statements that ended with `;`, without empty ones.
    pub statements: Vec<StatementText<'a>>,
    /// What follows the last `;`, unless it is only blanks and comments.
    pub rest: Option<StatementText<'a>>,
    /// What the rest has opened and not closed.
    pub open: Option<OpenPart>,
}

impl Split<'_> {
    /// True if a shell should ask for another line.
    pub fn is_incomplete(&self) -> bool {
        self.rest.is_some() || self.open.is_some()
    }
}

/// Something that was begun and has no end yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenPart {
    /// `'…`
    Literal,
    /// `"…`
    QuotedName,
    /// `/*…`
    Comment,
}

/// Cuts `text` into statements.
pub fn split_statements(text: &str) -> Split<'_> {
    let mut split = Split { statements: vec![], rest: None, open: None };
    let (mut start, mut at) = (None, 0);
    while at < text.len() {
        let part = next_part(text, at);
        match part.kind {
            Kind::Semicolon => {
                if let Some(start) = start.take() {
                    split.statements.push(statement(text, start..at));
                }
            }
            // A hint belongs to the statement, but no statement begins with one.
            Kind::Blank => {}
            Kind::Text => {
                start.get_or_insert(at);
            }
        }
        split.open = part.open;
        at = part.end;
    }
    split.rest = start.map(|start| statement(text, start..text.len()));
    split
}

fn statement(text: &str, range: Range<usize>) -> StatementText<'_> {
    StatementText { text: text[range.clone()].trim_end(), offset: range.start }
}

/// The same text, of the same length, with every `//` that begins a comment written `--`, which is all that sqlparser reads.
pub(crate) fn comments_with_dashes(text: &str) -> Cow<'_, str> {
    if !text.contains("//") {
        return Cow::Borrowed(text);
    }
    let mut dashed = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let end = next_part(text, at).end;
        match text[at..end].strip_prefix("//") {
            Some(comment) => dashed.extend(["--", comment]),
            None => dashed.push_str(&text[at..end]),
        }
        at = end;
    }
    Cow::Owned(dashed)
}

enum Kind {
    Semicolon,
    Blank,
    Text,
}

struct Part {
    kind: Kind,
    end: usize,
    open: Option<OpenPart>,
}

fn next_part(text: &str, at: usize) -> Part {
    let rest = &text[at..];
    let bytes = rest.as_bytes();
    let first = rest.chars().next().map_or(1, char::len_utf8);
    let part = |kind, len, open| Part { kind, end: at + len, open };
    match bytes[0] {
        b';' => part(Kind::Semicolon, 1, None),
        b'\'' => quoted(rest, at, b'\'', OpenPart::Literal),
        b'"' => quoted(rest, at, b'"', OpenPart::QuotedName),
        b'-' | b'/' if bytes.get(1) == bytes.first() => {
            part(Kind::Blank, rest.find('\n').unwrap_or(rest.len()), None)
        }
        b'/' if bytes.get(1) == Some(&b'*') => match rest[2..].find("*/") {
            Some(len) => part(Kind::Blank, len + 4, None),
            None => part(Kind::Blank, rest.len(), Some(OpenPart::Comment)),
        },
        byte if byte.is_ascii_whitespace() => part(Kind::Blank, 1, None),
        _ => part(Kind::Text, first, None),
    }
}

/// A doubled quote is read as two quoted parts that touch, which cuts at the same places. In a literal what stands behind a backslash does not end it.
fn quoted(rest: &str, at: usize, quote: u8, open: OpenPart) -> Part {
    let bytes = rest.as_bytes();
    let mut end = 1;
    while end < bytes.len() && bytes[end] != quote {
        end += if bytes[end] == b'\\' && open == OpenPart::Literal { 2 } else { 1 };
    }
    match end < bytes.len() {
        true => Part { kind: Kind::Text, end: at + end + 1, open: None },
        false => Part { kind: Kind::Text, end: at + rest.len(), open: Some(open) },
    }
}

#[cfg(test)]
mod tests;
