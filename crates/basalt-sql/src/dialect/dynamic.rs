// SPDX-License-Identifier: Apache-2.0
//! Dynamic columns, `FROM t (x VARCHAR, f.y INTEGER)`: sqlparser would read arguments of a function there. Before it
//! sees them, the definitions become one quoted name, from which [`definitions`] reads them again:
//!
//! ```text
//! FROM t ( x VARCHAR , f . y INTEGER )   ->   FROM t ( "$columns X VARCHAR , F . Y INTEGER" )
//! ```

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::cursor::Cursor;
use super::definition::parse_column;
use super::statement::ColumnDef;
use super::types::is_type_name;
use super::{parser_of, tokens};
use crate::error::SqlError;

/// What the quoted name begins with.
const MARK: &str = "$columns ";

/// The definitions in a name that [`collapse`] made; `None` if it is another.
pub(crate) fn definitions(name: &str) -> Option<Result<Vec<ColumnDef>, SqlError>> {
    let text = name.strip_prefix(MARK)?;
    Some(parse(text))
}

/// The quoted name for these definitions.
pub(crate) fn name_of(definitions: &[String]) -> String {
    format!("{MARK}{}", definitions.join(", "))
}

fn parse(text: &str) -> Result<Vec<ColumnDef>, SqlError> {
    let mut parser = parser_of(tokens::tokenize(text)?);
    let mut columns = vec![];
    let read = loop {
        match parse_column(&mut parser) {
            Ok(column) => columns.push(column),
            Err(error) => break Err(error),
        }
        if !parser.accept_symbol(",") {
            break parser.expect_end();
        }
    };
    match read {
        Ok(()) => Ok(columns),
        Err(error) => Err(SqlError::from_parser(error, text)),
    }
}

/// Replaces all definitions of dynamic columns behind FROM, JOIN and commas.
pub(super) fn collapse(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(&token.token, "FROM")) {
        return tokens;
    }
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // Positions in `kept` of what is not white space.
    let mut solid: Vec<usize> = vec![];
    let mut rest = tokens.into_iter().peekable();
    let mut tail: Vec<TokenWithSpan> = vec![];
    while let Some(token) = rest.next() {
        let opens = token.token == Token::LParen && follows_table(&kept, &solid);
        let white = matches!(token.token, Token::Whitespace(_));
        if !white {
            solid.push(kept.len());
        }
        kept.push(token);
        if !opens {
            continue;
        }
        let mut depth = 1;
        while let Some(token) = rest.next_if(|token| token.token != Token::EOF) {
            depth += i32::from(token.token == Token::LParen) - i32::from(token.token == Token::RParen);
            let closed = depth == 0;
            tail.push(token);
            if closed {
                break;
            }
        }
        let inside = if depth == 0 { &tail[..tail.len() - 1] } else { &[] };
        if defines_columns(inside) {
            let close = tail.pop();
            let text: Vec<_> = tail.drain(..).map(|token| token.token.to_string()).collect();
            let name = Word {
                value: format!("{MARK}{}", text.concat()),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            };
            let span = kept.last().expect("the parenthesis").span;
            tail.push(TokenWithSpan { token: Token::Word(name), span });
            tail.extend(close);
        }
        for token in tail.drain(..) {
            if !matches!(token.token, Token::Whitespace(_)) {
                solid.push(kept.len());
            }
            kept.push(token);
        }
    }
    kept
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value == word)
}

/// True if `[FROM | JOIN | ,] name[.name]` was read last.
fn follows_table(kept: &[TokenWithSpan], solid: &[usize]) -> bool {
    let token = |back: usize| solid.len().checked_sub(back).map(|at| &kept[solid[at]].token);
    let is_name = |back| matches!(token(back), Some(Token::Word(_)));
    let before = |back| {
        token(back)
            .is_some_and(|token| *token == Token::Comma || is_word(token, "FROM") || is_word(token, "JOIN"))
    };
    is_name(1) && (before(2) || token(2) == Some(&Token::Period) && is_name(3) && before(4))
}

/// True for `name[.name] TYPE ..`.
fn defines_columns(inside: &[TokenWithSpan]) -> bool {
    let mut solid =
        inside.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    let is_name = |token: Option<&Token>| matches!(token, Some(Token::Word(_)));
    let is_type = |token: Option<&Token>| matches!(token, Some(Token::Word(word)) if word.quote_style.is_none() && is_type_name(&word.value));
    let first = solid.next();
    let reserved = ["SELECT", "DISTINCT", "ALL", "NOT", "WITH", "VALUES"];
    if !is_name(first) || first.is_some_and(|token| reserved.iter().any(|word| is_word(token, word))) {
        return false;
    }
    match solid.next() {
        Some(Token::Period) => is_name(solid.next()) && is_type(solid.next()),
        second => is_type(second),
    }
}
