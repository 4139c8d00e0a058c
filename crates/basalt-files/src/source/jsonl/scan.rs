// SPDX-License-Identifier: Apache-2.0
//! One flat JSON object (RFC 8259) as pairs of key and value, without a tree in between. Errors name the column of the line.

use std::borrow::Cow;

/// Deepest nesting of a value that is kept as it stands.
const DEPTH_MAX: usize = 64;

/// A value of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scanned<'a> {
    Null,
    /// A number, `true`, `false`, or an array or object as it stands.
    Plain(&'a str),
    /// A text, unescaped.
    Text(Cow<'a, str>),
}

/// Reads the one object of `line`.
pub(super) fn object(line: &str) -> Result<Vec<(Cow<'_, str>, Scanned<'_>)>, String> {
    let mut scanner = Scanner { text: line, at: 0 };
    let mut pairs = Vec::new();
    scanner.expect(b'{')?;
    if !scanner.takes(b'}') {
        loop {
            scanner.skip_space();
            let key = scanner.string()?;
            scanner.expect(b':')?;
            pairs.push((key, scanner.value()?));
            if !scanner.takes(b',') {
                break;
            }
        }
        scanner.expect(b'}')?;
    }
    scanner.skip_space();
    if scanner.at < line.len() { Err(scanner.wrong("the end of the line")) } else { Ok(pairs) }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.takes(byte) { Ok(()) } else { Err(self.wrong(&format!("'{}'", byte as char))) }
    }

    fn wrong(&self, expected: &str) -> String {
        let found = match self.text[self.at..].chars().next() {
            Some(c) if !c.is_control() => format!("'{c}'"),
            _ => "the end of the line".into(),
        };
        format!(
            "is not a JSON object: expected {expected} at character {}, found {found}",
            self.characters() + 1
        )
    }

    fn characters(&self) -> usize {
        self.text[..self.at].chars().count()
    }

    fn value(&mut self) -> Result<Scanned<'a>, String> {
        self.skip_space();
        let start = self.at;
        match self.peek() {
            Some(b'"') => Ok(Scanned::Text(self.string()?)),
            Some(b'{' | b'[') => {
                self.skip_nested(0)?;
                Ok(Scanned::Plain(&self.text[start..self.at]))
            }
            _ => match self.word()? {
                "null" => Ok(Scanned::Null),
                word => Ok(Scanned::Plain(word)),
            },
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        if matches!(word, "null" | "true" | "false") || is_number(word) {
            return Ok(word);
        }
        self.at = start;
        Err(self.wrong("a value"))
    }

    fn skip_nested(&mut self, depth: usize) -> Result<(), String> {
        let close = if self.takes(b'{') {
            b'}'
        } else {
            self.expect(b'[')?;
            b']'
        };
        if depth == DEPTH_MAX {
            return Err(format!("is nested deeper than {DEPTH_MAX} levels"));
        }
        if self.takes(close) {
            return Ok(());
        }
        loop {
            self.skip_space();
            if close == b'}' {
                self.string()?;
                self.expect(b':')?;
                self.skip_space();
            }
            match self.peek() {
                Some(b'"') => drop(self.string()?),
                Some(b'{' | b'[') => self.skip_nested(depth + 1)?,
                _ => drop(self.word()?),
            }
            if !self.takes(b',') {
                return self.expect(close);
            }
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, String> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a text in quotes"));
        }
        self.at += 1;
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(length) if rest[length] == b'"' => {
                self.at = start + length + 1;
                Ok(self.text[start..start + length].into())
            }
            Some(length) => self.escaped(start, length),
            None => {
                self.at = self.text.len();
                Err(self.wrong("'\"'"))
            }
        }
    }

    /// A text with escapes, the first of which stands `clean` bytes behind `start`.
    fn escaped(&mut self, start: usize, clean: usize) -> Result<Cow<'a, str>, String> {
        let mut out = self.text[start..start + clean].to_string();
        self.at = start + clean;
        loop {
            let rest = &self.text[self.at..];
            let Some(next) = rest.chars().next() else { return Err(self.wrong("'\"'")) };
            self.at += next.len_utf8();
            match next {
                '"' => return Ok(out.into()),
                '\\' => out.push(self.escape()?),
                other => out.push(other),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let byte = self.peek();
        self.at += 1;
        Ok(match byte {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            _ => {
                self.at -= 1;
                return Err(self.wrong("an escape such as \\n"));
            }
        })
    }

    fn code_point(&mut self) -> Result<char, String> {
        let high = self.hex4()?;
        let code = if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.hex4()?;
            0x10000 + ((high - 0xd800) << 10) + low.wrapping_sub(0xdc00)
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| self.wrong("a character behind \\u"))
    }

    fn hex4(&mut self) -> Result<u32, String> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.wrong("four hex digits"))?;
        self.at += 4;
        Ok(code)
    }
}

fn is_number(word: &str) -> bool {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    unsigned.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests;
