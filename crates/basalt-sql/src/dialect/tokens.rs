// SPDX-License-Identifier: Apache-2.0
//! Text to tokens: folding of names, hints, and where a name stands in the text.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Expr, Spanned};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace, Word};

use super::PhoenixDialect;
use crate::error::{Position, SqlError};
use crate::split::comments_with_dashes;

/// Cuts the text into tokens and folds unquoted words to upper case.
pub(super) fn tokenize(sql: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    let mut tokens = Vec::with_capacity(sql.len() / 4);
    Tokenizer::new(&PhoenixDialect, &comments_with_dashes(sql))
        .with_unescape(false)
        .tokenize_with_location_into_buf_with_mapper(&mut tokens, fold)
        .map_err(|error| SqlError::from_tokenizer(error, sql))?;
    free_at(&mut tokens);
    bits(&mut tokens).map_err(|error| SqlError::from_parser(error, sql))?;
    Ok(tokens)
}

/// `B'00001111'` is bytes, eight binary digits each, between which blanks may stand. sqlparser reads a name and a text.
fn bits(tokens: &mut Vec<TokenWithSpan>) -> Result<(), ParserError> {
    for at in (1..tokens.len()).rev() {
        let [before, text] = &tokens[at - 1..=at] else { continue };
        let (Token::Word(word), Token::SingleQuotedString(digits)) = (&before.token, &text.token) else {
            continue;
        };
        if word.value != "B" || word.quote_style.is_some() || before.span.end != text.span.start {
            continue;
        }
        let digits: Vec<char> = digits.chars().filter(|digit| !digit.is_ascii_whitespace()).collect();
        if !digits.iter().all(|digit| matches!(digit, '0' | '1')) || !digits.len().is_multiple_of(8) {
            let place = before.span.start;
            let text = format!("B'..' takes the digits 0 and 1, eight for each byte{place}");
            return Err(ParserError::ParserError(text));
        }
        let half = |bits: &[char]| bits.iter().fold(0, |number, bit| 2 * number + u32::from(*bit == '1'));
        let hex = digits.chunks(4).filter_map(|bits| char::from_digit(half(bits), 16)).collect();
        tokens[at - 1].token = Token::HexStringLiteral(hex);
        tokens[at - 1].span.end = tokens[at].span.end;
        tokens.remove(at);
    }
    Ok(())
}

/// What a literal stands for: a doubled quote is one, and behind a backslash are the letters that Phoenix knows; before others it is a backslash, as
/// it is before `%` and `_`, where LIKE reads it.
fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(ch) = chars.next() {
        let next = chars.peek().copied();
        let stands_for = match (ch, next) {
            ('\'', Some('\'')) => Some('\''),
            ('\\', Some(letter)) => match letter {
                'n' => Some('\n'),
                't' => Some('\t'),
                'r' => Some('\r'),
                'b' => Some('\u{8}'),
                'f' => Some('\u{c}'),
                '\'' | '"' | '\\' => Some(letter),
                _ => None,
            },
            _ => None,
        };
        if stands_for.is_some() {
            chars.next();
        }
        text.push(stands_for.unwrap_or(ch));
    }
    text
}

/// AT is a name, too: sqlparser would read it behind a table as another system's word for versions of it. Only before TIME ZONE
/// it is a word of SQL.
fn free_at(tokens: &mut [TokenWithSpan]) {
    for position in 0..tokens.len() {
        let Token::Word(Word { keyword: Keyword::AT, .. }) = &tokens[position].token else { continue };
        let mut behind = tokens[position + 1..].iter().map(|token| &token.token);
        let next = behind.find(|token| !matches!(token, Token::Whitespace(_)));
        let before_zone = matches!(next, Some(Token::Word(Word { keyword: Keyword::TIME, .. })));
        if let Token::Word(word) = &mut tokens[position].token
            && !before_zone
        {
            word.keyword = Keyword::NoKeyword;
        }
    }
}

fn fold(mut token: TokenWithSpan) -> TokenWithSpan {
    match &mut token.token {
        Token::SingleQuotedString(raw) if raw.contains(['\'', '\\']) => *raw = unescaped(raw),
        Token::NationalStringLiteral(raw) => token.token = Token::SingleQuotedString(unescaped(raw)),
        Token::HexStringLiteral(digits) => digits.retain(|digit| !digit.is_ascii_whitespace()),
        Token::Word(word) if word.quote_style.is_some() && word.value.contains('"') => {
            word.value = word.value.replace("\"\"", "\"");
        }
        _ => {}
    }
    if let Token::Word(word) = &mut token.token
        && word.quote_style.is_none()
    {
        if word.value.chars().any(char::is_lowercase) {
            word.value = word.value.to_uppercase();
        }
        // sqlparser would read `f(NEXT VALUE FOR s)` as an argument named NEXT.
        // sqlparser would read them behind a table as other systems' words for versions of it; here they are aliases.
        if matches!(word.keyword, Keyword::VALUE | Keyword::BEFORE | Keyword::CHANGES) {
            word.keyword = Keyword::NoKeyword;
        }
    }
    token
}

/// The hints of `/*+ A B(x) */` comments, one text per hint, in upper case.
pub(super) fn hints(tokens: &[TokenWithSpan]) -> Vec<String> {
    let mut hints = Vec::new();
    for token in tokens {
        if let Token::Whitespace(Whitespace::MultiLineComment(comment)) = &token.token
            && let Some(text) = comment.strip_prefix('+')
        {
            split_hints(text, &mut hints);
        }
    }
    hints
}

/// Cuts at blanks and commas outside of parentheses.
fn split_hints(text: &str, hints: &mut Vec<String>) {
    let mut depth = 0;
    let mut hint = String::new();
    for ch in text.chars() {
        depth += i32::from(ch == '(') - i32::from(ch == ')');
        if depth == 0 && (ch.is_whitespace() || ch == ',') {
            if !hint.is_empty() {
                hints.push(std::mem::take(&mut hint));
            }
        } else {
            hint.extend(ch.to_uppercase());
        }
    }
    if !hint.is_empty() {
        hints.push(hint);
    }
}

/// Where each name first stands in the text, so that an error found later can point at it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenMap(Arc<Places>);

#[derive(Debug, Default)]
struct Places {
    first: HashMap<String, Position>,
    /// Words that have no dot before or behind them.
    alone: HashMap<String, Position>,
    /// Words behind a dot, by the one before it and their own.
    behind_dot: HashMap<(String, String), Position>,
}

impl TokenMap {
    /// Longest statement that is mapped; errors in the names of larger ones carry no position.
    const TOKENS_MAX: usize = 2_000;

    pub(super) fn new(tokens: &[TokenWithSpan]) -> Self {
        let (mut first, mut alone, mut behind_dot) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut before: &Token = &Token::EOF;
        // The word before a dot that was just passed.
        let mut qualifier: Option<&Word> = None;
        let mut tokens = tokens.iter().take(Self::TOKENS_MAX).peekable();
        while let Some(token) = tokens.next() {
            match &token.token {
                Token::Whitespace(_) => continue,
                Token::Word(word) => {
                    let start = position(token.span.start);
                    first.entry(word.value.clone()).or_insert(start);
                    let has_dot = tokens.peek().is_some_and(|next| next.token == Token::Period);
                    match (qualifier.take(), before) {
                        (Some(before), Token::Period) => {
                            behind_dot.entry((before.value.clone(), word.value.clone())).or_insert(start);
                        }
                        _ if !has_dot => {
                            alone.entry(word.value.clone()).or_insert(start);
                        }
                        _ => {}
                    }
                    qualifier = has_dot.then_some(word);
                }
                Token::SingleQuotedString(file) if names_a_file(before) => {
                    first.entry(format!("'{file}'")).or_insert_with(|| position(token.span.start));
                }
                _ => {}
            }
            before = &token.token;
        }
        Self(Arc::new(Places { first, alone, behind_dot }))
    }

    /// Position of a file's name.
    pub(crate) fn find_file(&self, path: &str) -> Option<Position> {
        self.0.first.get(&format!("'{path}'")).copied()
    }

    /// Position of a column's name, which is behind its table's or stands alone.
    pub(crate) fn find_column(&self, table: Option<&str>, name: &str) -> Option<Position> {
        let found = match table {
            Some(table) => self.0.behind_dot.get(&(table.to_owned(), name.to_owned())),
            None => self.0.alone.get(name),
        };
        found.copied().or_else(|| self.find(name))
    }

    /// Position of the first token that is this name.
    pub(crate) fn find(&self, name: &str) -> Option<Position> {
        self.0.first.get(name).or_else(|| self.0.first.get(&name.to_uppercase())).copied()
    }
}

/// True if a text behind this token is a file's name.
fn names_a_file(before: &Token) -> bool {
    matches!(before, Token::Word(word) if matches!(word.value.as_str(), "FROM" | "JOIN" | "TO"))
}

/// Where an expression begins, as far as the parser tells.
pub(crate) fn place_of(expr: &Expr) -> Option<Position> {
    Some(expr.span().start).filter(|start| start.line > 0).map(position)
}

/// sqlparser's location as ours.
pub(crate) fn position(location: Location) -> Position {
    Position { line: location.line as usize, column: location.column as usize }
}
