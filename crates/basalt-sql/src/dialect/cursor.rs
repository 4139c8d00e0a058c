// SPDX-License-Identifier: Apache-2.0
//! Word-wise steps over sqlparser's token stream. Words are compared after folding, so a quoted `"SELECT"` is
//! never a keyword.

use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// Steps that the statement parsers need beyond sqlparser's own.
pub(super) trait Cursor {
    /// True if the next token is this unquoted word.
    fn at(&self, word: &str) -> bool;
    /// True if the next token is one of these unquoted words.
    fn at_any(&self, words: &[&str]) -> bool;
    /// Takes the word if it is next.
    fn accept(&mut self, word: &str) -> bool;
    /// Takes the words if all of them are next.
    fn accept_all(&mut self, words: &[&str]) -> bool;
    /// Takes the word or fails.
    fn expect(&mut self, word: &str) -> Result<(), ParserError>;
    /// True if the next token is written like this.
    fn at_symbol(&self, symbol: &str) -> bool;
    /// Takes the symbol if it is next.
    fn accept_symbol(&mut self, symbol: &str) -> bool;
    /// Takes the symbol or fails.
    fn expect_symbol(&mut self, symbol: &str) -> Result<(), ParserError>;
    /// Fails unless the text ends here.
    fn expect_end(&self) -> Result<(), ParserError>;
    /// One name, folded or quoted.
    fn name_part(&mut self) -> Result<String, ParserError>;
    /// A whole number with an optional sign.
    fn signed_integer(&mut self) -> Result<i64, ParserError>;
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value == word)
}

fn is_symbol(token: &Token, symbol: &str) -> bool {
    match token {
        Token::Comma => symbol == ",",
        Token::LParen => symbol == "(",
        Token::RParen => symbol == ")",
        Token::Period => symbol == ".",
        Token::SemiColon => symbol == ";",
        Token::Eq => symbol == "=",
        Token::Minus => symbol == "-",
        Token::Plus => symbol == "+",
        _ => false,
    }
}

impl Cursor for Parser<'_> {
    fn at(&self, word: &str) -> bool {
        is_word(&self.peek_token_ref().token, word)
    }

    fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at(word))
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.at(word);
        if found {
            self.advance_token();
        }
        found
    }

    fn accept_all(&mut self, words: &[&str]) -> bool {
        for (taken, word) in words.iter().enumerate() {
            if !self.accept(word) {
                (0..taken).for_each(|_| self.prev_token());
                return false;
            }
        }
        true
    }

    fn expect(&mut self, word: &str) -> Result<(), ParserError> {
        if self.accept(word) { Ok(()) } else { self.expected(word, self.peek_token()) }
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        is_symbol(&self.peek_token_ref().token, symbol)
    }

    fn accept_symbol(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance_token();
        }
        found
    }

    fn expect_symbol(&mut self, symbol: &str) -> Result<(), ParserError> {
        if self.accept_symbol(symbol) { Ok(()) } else { self.expected(symbol, self.peek_token()) }
    }

    fn expect_end(&self) -> Result<(), ParserError> {
        if self.peek_token_ref().token == Token::EOF {
            Ok(())
        } else {
            self.expected("end of statement", self.peek_token())
        }
    }

    fn name_part(&mut self) -> Result<String, ParserError> {
        let next = self.next_token();
        match next.token {
            Token::Word(word) => Ok(word.value),
            _ => self.expected("a name", next),
        }
    }

    fn signed_integer(&mut self) -> Result<i64, ParserError> {
        let negative = self.accept_symbol("-");
        if !negative {
            self.accept_symbol("+");
        }
        let next = self.next_token();
        let Token::Number(digits, _) = &next.token else {
            return self.expected("a whole number", next);
        };
        let text = if negative { format!("-{digits}") } else { digits.clone() };
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.expected("a whole number of at most 64 bits", next),
        }
    }
}
