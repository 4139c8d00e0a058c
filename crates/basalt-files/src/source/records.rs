// SPDX-License-Identifier: Apache-2.0
//! Text cut into records and fields: CSV (RFC 4180), TSV with backslash escapes, and TPC-H's `.tbl`.
//!
//! The splitter looks at each record twice at most: once to find its end, once when a field has to be unquoted. Records lie in one
//! buffer that is filled from the front; a record is never longer than [`RECORD_BYTES_MAX`], which is how a quote that is never
//! closed is noticed before it has eaten the file.
//!
//! ```text
//! csv   1,"say ""hi""",        three fields: `1`, `say "hi"`, nothing (NULL); `""` is the empty text
//! tsv   1\tsay\\thi\t\\N       three fields: `1`, `say<tab>hi`, NULL
//! tbl   1|say hi|              two fields: each ends in `|`
//! ```

use std::borrow::Cow;
use std::io::Read;

use crate::error::{Context, Error};

/// Longest record.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// What is read at once.
const READ_BYTES: usize = 1 << 20;

/// How fields are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Csv { delimiter: u8 },
    Tsv,
    Tbl,
}

impl Dialect {
    fn delimiter(self) -> u8 {
        match self {
            Self::Csv { delimiter } => delimiter,
            Self::Tsv => b'\t',
            Self::Tbl => b'|',
        }
    }
}

/// Why text cannot be cut into records.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    #[error("cannot read")]
    Io(#[from] std::io::Error),
    #[error("line {line}: the record is longer than {} MiB; is a quote never closed?", RECORD_BYTES_MAX >> 20)]
    TooLong { line: u64 },
}

impl<T> Context<T> for Result<T, RecordError> {
    fn with_context(self, what: impl FnOnce() -> String) -> crate::error::Result<T> {
        self.map_err(|error| match error {
            RecordError::Io(source) => Error::Io { what: what(), source },
            too_long => Error::Contents { what: what(), source: too_long.into() },
        })
    }
}

/// One field: its bytes in the record, and whether it was quoted.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    quoted: bool,
}

/// Cuts `input` into records.
pub(super) struct Records<R> {
    input: R,
    dialect: Dialect,
    buffer: Vec<u8>,
    /// The bytes of `buffer` that are not yet taken.
    start: usize,
    filled: usize,
    at_end: bool,
    line: u64,
    spans: Vec<Span>,
    started: bool,
}

/// A record in the buffer of its reader.
pub(super) struct Record<'a> {
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    /// Its bytes with the line end.
    pub(super) raw: &'a [u8],
    /// What is wrong with its quotes.
    pub(super) defect: Option<&'static str>,
    dialect: Dialect,
    spans: &'a [Span],
}

impl<R: Read> Records<R> {
    pub(super) fn new(input: R, dialect: Dialect) -> Self {
        Self {
            input,
            dialect,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            at_end: false,
            line: 1,
            spans: Vec::new(),
            started: false,
        }
    }

    /// How fields are told apart.
    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The next record; lines of nothing are passed over.
    pub(super) fn next_record(&mut self) -> Result<Option<Record<'_>>, RecordError> {
        if !self.started {
            self.started = true;
            self.fill()?;
            if self.buffer[..self.filled].starts_with(b"\xef\xbb\xbf") {
                self.start = 3;
            }
        }
        loop {
            let Some((length, defect)) = self.find_end()? else { return Ok(None) };
            let from = self.start;
            let line = self.line;
            self.start += length;
            self.line += self.buffer[from..self.start].iter().filter(|&&byte| byte == b'\n').count() as u64;
            if !self.buffer[from..self.start].iter().all(|byte| matches!(byte, b'\n' | b'\r')) {
                let raw = &self.buffer[from..from + length];
                return Ok(Some(Record { line, raw, defect, dialect: self.dialect, spans: &self.spans }));
            }
        }
    }

    /// The length of the next record and what is wrong with its quotes; reads as much as it takes to see its end.
    fn find_end(&mut self) -> Result<Option<(usize, Option<&'static str>)>, RecordError> {
        loop {
            self.spans.clear();
            let unread = &self.buffer[self.start..self.filled];
            let found = split(unread, self.dialect, self.at_end, &mut self.spans);
            if found.is_some() || self.at_end {
                return Ok(found);
            }
            if unread.len() > RECORD_BYTES_MAX {
                return Err(RecordError::TooLong { line: self.line });
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), RecordError> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        if self.buffer.len() < self.filled + READ_BYTES {
            // Doubling keeps the rescans of a long record linear in its length.
            self.buffer.resize((self.filled * 2).max(self.filled + READ_BYTES), 0);
        }
        // A pipe may give a few bytes at a time: read until a line ends, else the scan would start over for each piece.
        while self.filled < self.buffer.len() {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(0) => {
                    self.at_end = true;
                    return Ok(());
                }
                Ok(taken) => {
                    self.filled += taken;
                    if self.buffer[self.filled - taken..self.filled].contains(&b'\n') {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Record<'_> {
    /// Number of fields.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Field `index`; `None` for NULL. The bytes are known to be UTF-8 if `raw` is.
    pub(super) fn field(&self, index: usize) -> Result<Option<Cow<'_, str>>, std::str::Utf8Error> {
        let span = self.spans[index];
        let text = std::str::from_utf8(&self.raw[span.start..span.end])?;
        Ok(match self.dialect {
            _ if text.is_empty() && !span.quoted => None,
            Dialect::Csv { .. } if span.quoted && text.contains('"') => {
                Some(text.replace("\"\"", "\"").into())
            }
            Dialect::Tsv if text == "\\N" => None,
            Dialect::Tsv if text.contains('\\') => Some(unescaped(text).into()),
            _ => Some(text.into()),
        })
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

/// Finds the end of the first record of `bytes` and the fields in it; `None` if the end is not there yet.
/// Returns the length with the line end, and what is wrong with the quotes.
fn split(
    bytes: &[u8],
    dialect: Dialect,
    at_end: bool,
    spans: &mut Vec<Span>,
) -> Option<(usize, Option<&'static str>)> {
    if bytes.is_empty() {
        return None;
    }
    let delimiter = dialect.delimiter();
    let quotes = matches!(dialect, Dialect::Csv { .. });
    let mut defect = None;
    let mut at = 0;
    loop {
        // `at` is the first byte of a field.
        let mut span = Span { start: at, end: at, quoted: false };
        if quotes && bytes.get(at) == Some(&b'"') {
            span = Span { start: at + 1, end: at + 1, quoted: true };
            match closing_quote(bytes, at + 1) {
                Some(close) if close + 1 < bytes.len() || at_end => {
                    span.end = close;
                    at = close + 1;
                }
                _ if !at_end => return None,
                _ => {
                    span.end = bytes.len();
                    spans.push(span);
                    return Some((bytes.len(), Some("a quote is never closed")));
                }
            }
        }
        let rest = &bytes[at..];
        let stop = memchr::memchr2(delimiter, b'\n', rest);
        if stop.is_none() && !at_end {
            return None;
        }
        let stop_at = at + stop.unwrap_or(rest.len());
        let ends_record = stop.is_none() || bytes[stop_at] == b'\n';
        let text_end =
            if ends_record && stop_at > at && bytes[stop_at - 1] == b'\r' { stop_at - 1 } else { stop_at };
        if span.quoted {
            if text_end > at {
                defect = Some("text follows a closing quote");
            }
        } else {
            span.end = text_end;
        }
        // The last `|` of a .tbl line ends a field; nothing begins there.
        let is_tail = dialect == Dialect::Tbl && ends_record && span.start == span.end && !spans.is_empty();
        if !is_tail {
            spans.push(span);
        }
        if ends_record {
            return Some(((stop_at + 1).min(bytes.len()), defect));
        }
        at = stop_at + 1;
    }
}

/// The quote that closes the field which begins at `from`; doubled quotes are part of the field.
fn closing_quote(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let quote = at + memchr::memchr(b'"', bytes.get(at..)?)?;
        if bytes.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}

#[cfg(test)]
mod tests;
