// SPDX-License-Identifier: Apache-2.0
//! How large a statement may be. What is written flat, `a OR b OR c` or `SELECT .. UNION ALL SELECT ..`, is a tree as deep as it is
//! long, and everybody who walks it takes stack for each step; so a text is counted before it is read.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Position, SqlError, code};

/// ANDs in a row, with those around them. Each is looked at again for every one around it.
const ANDS_MAX: usize = 2_000;
/// ORs in a row, with those around them; see [`super::chains`].
const ORS_MAX: usize = 10_000;
/// Operators of arithmetic, `||` and subscripts in a row, with those around them. Each is looked at again for every one around it.
const OPERATORS_MAX: usize = 200;
/// Queries in one another, behind one another, and in WITH.
const QUERIES_MAX: usize = 500;
/// The same of a view, for statements that name it are not long themselves.
const VIEW_ANDS_MAX: usize = 400;
const VIEW_ORS_MAX: usize = 2_000;
const VIEW_QUERIES_MAX: usize = 100;
/// `ARRAY[` in one another: the parser reads each twice.
const ARRAYS_MAX: usize = 8;

/// An error if the statement is too large.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<(), SqlError> {
    let (ands_max, ors_max, queries_max) = match is_view(tokens) {
        true => (VIEW_ANDS_MAX, VIEW_ORS_MAX, VIEW_QUERIES_MAX),
        false => (ANDS_MAX, ORS_MAX, QUERIES_MAX),
    };
    let mut size = Size { levels: vec![Level::default()], ..Size::default() };
    for token in tokens {
        size.step(&token.token);
        let too_many = if size.ors > ors_max {
            format!(
                "more than {ors_max} conditions are joined by OR; write column IN (..), or join with (VALUES ..)"
            )
        } else if size.ands > ands_max {
            format!(
                "more than {ands_max} conditions are joined by AND; write NOT IN (..), or take parts of them from a query in FROM"
            )
        } else if size.operators > OPERATORS_MAX {
            format!(
                "more than {OPERATORS_MAX} operators are in one expression; take parts of it from a query in FROM"
            )
        } else if size.queries > queries_max {
            format!("more than {queries_max} queries are in one statement")
        } else if size.arrays > ARRAYS_MAX {
            "the statement is nested too deeply".to_owned()
        } else {
            continue;
        };
        let start = token.span.start;
        let place = Position { line: start.line as usize, column: start.column as usize };
        return Err(SqlError::coded(code::PARSER_ERROR, too_many).at(Some(place)));
    }
    Ok(())
}

/// What stands open at a place of the text: of all levels of parentheses together, and of each.
#[derive(Default)]
struct Size {
    ands: usize,
    ors: usize,
    operators: usize,
    queries: usize,
    arrays: usize,
    levels: Vec<Level>,
    /// The last word was ARRAY.
    after_array: bool,
}

#[derive(Default)]
struct Level {
    ands: usize,
    ors: usize,
    operators: usize,
    is_array: bool,
}

impl Size {
    fn step(&mut self, token: &Token) {
        let word = match token {
            Token::Whitespace(_) => return,
            Token::Word(word) if word.quote_style.is_none() => word.value.as_str(),
            _ => "",
        };
        let after_array = std::mem::replace(&mut self.after_array, word == "ARRAY");
        match (token, word) {
            (_, "AND") => {
                self.end_operators();
                self.ands += 1;
                self.level().ands += 1;
            }
            (_, "OR") => {
                self.end_ands();
                self.ors += 1;
                self.level().ors += 1;
            }
            (_, "SELECT" | "VALUES") => {
                self.queries += 1;
                self.end_part();
            }
            (_, "FROM" | "WHERE" | "ON" | "HAVING" | "SET" | "WHEN" | "THEN" | "ELSE")
            | (Token::Comma, _) => {
                self.end_part();
            }
            (Token::LParen, _) => self.levels.push(Level::default()),
            (Token::LBracket, _) => {
                // Else a subscript.
                if !after_array {
                    self.add_operator();
                }
                self.arrays += usize::from(after_array);
                self.levels.push(Level { is_array: after_array, ..Level::default() });
            }
            (Token::RParen | Token::RBracket, _) if self.levels.len() > 1 => {
                self.end_part();
                self.arrays -= usize::from(self.levels.pop().is_some_and(|level| level.is_array));
            }
            (Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod, _)
            | (Token::StringConcat | Token::DoubleColon, _) => self.add_operator(),
            _ => {}
        }
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the outermost one stays")
    }

    fn add_operator(&mut self) {
        self.operators += 1;
        self.level().operators += 1;
    }

    fn end_operators(&mut self) {
        let ended = std::mem::take(&mut self.level().operators);
        self.operators -= ended;
    }

    fn end_ands(&mut self) {
        self.end_operators();
        let ended = std::mem::take(&mut self.level().ands);
        self.ands -= ended;
    }

    fn end_part(&mut self) {
        self.end_ands();
        let ended = std::mem::take(&mut self.level().ors);
        self.ors -= ended;
    }
}

/// True for CREATE .. VIEW.
fn is_view(tokens: &[TokenWithSpan]) -> bool {
    let words = tokens.iter().filter_map(|token| match &token.token {
        Token::Word(word) => Some(word.value.as_str()),
        _ => None,
    });
    let mut words = words.take(4);
    words.next() == Some("CREATE") && words.any(|word| word == "VIEW")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::tokens::tokenize;

    fn is_refused(sql: &str) -> bool {
        check(&tokenize(sql).expect("tokens")).is_err()
    }

    #[test]
    fn what_is_in_a_row_counts_and_lists_do_not() {
        let row = |part: &str, joint: &str, times: usize| vec![part; times].join(joint);
        for (joint, most) in
            [(" OR ", ORS_MAX), (" AND ", ANDS_MAX), ("+", OPERATORS_MAX), ("||", OPERATORS_MAX)]
        {
            assert!(!is_refused(&row("a", joint, most + 1)), "{joint}");
            assert!(is_refused(&row("a", joint, most + 2)), "{joint}");
            // The rest of a chain is around what is in parentheses.
            assert!(
                is_refused(&format!("{} {joint} ({})", row("a", joint, most), row("a", joint, 3))),
                "{joint}"
            );
        }
        assert!(!is_refused(&format!("UPSERT INTO t VALUES {}", row("(1+2, -3, a[1])", ", ", 10_000))));
        assert!(!is_refused(&format!(
            "SELECT CASE {} END",
            row("WHEN a + 1 > 2 AND b THEN a * 2", " ", 5_000)
        )));
        assert!(!is_refused(&format!("SELECT f({}), a OR b", row("a OR b", ", ", 5_000))));
        assert!(!is_refused(&row("a = -1 AND b", " OR ", ORS_MAX)));
        assert!(!is_refused(&row(
            "SELECT * FROM t WHERE a AND b AND c AND d AND e AND f",
            " UNION ALL ",
            QUERIES_MAX
        )));
        assert!(!is_refused(&row("SELECT 1", " UNION ", QUERIES_MAX)));
        assert!(is_refused(&row("SELECT 1", " UNION ", QUERIES_MAX + 1)));
        assert!(!is_refused(&"ARRAY[".repeat(ARRAYS_MAX)) && is_refused(&"ARRAY[(".repeat(ARRAYS_MAX + 1)));
        assert!(is_refused(&format!("a{}", "[1]".repeat(OPERATORS_MAX + 1))));
        assert!(!is_refused(")]),"));
        for (joint, most) in [(" OR ", VIEW_ORS_MAX), (" AND ", VIEW_ANDS_MAX)] {
            let view = |joints: usize| {
                format!("CREATE VIEW v AS SELECT * FROM t WHERE {}", row("a", joint, joints + 1))
            };
            assert!(!is_refused(&view(most)) && is_refused(&view(most + 1)), "{joint}");
        }
    }
}
