// SPDX-License-Identifier: Apache-2.0
//! `FROM (a, b JOIN c ON ..)`, a list of tables in parentheses, which sqlparser does not read: there it reads joins. Before it sees them, commas become joins
//! of all rows:
//!
//! ```text
//! FROM ( a , b JOIN c ON .. )   ->   FROM ( a CROSS JOIN ( b JOIN c ON .. ) )
//! ```

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Words behind which no table of the same FROM follows.
const ENDS: [&str; 14] = [
    "SELECT",
    "WHERE",
    "GROUP",
    "HAVING",
    "QUALIFY",
    "WINDOW",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "RETURNING",
];

/// What stands in one pair of parentheses, or around all.
#[derive(Default)]
struct Level {
    /// Tables are listed here.
    lists: bool,
    /// Commas become joins.
    is_nested: bool,
    /// A table or a list of them comes next.
    wants_table: bool,
    /// Its last join has a parenthesis that is not closed.
    is_open: bool,
}

/// Replaces the commas of such lists.
pub(super) fn joined(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !may_have_list(&tokens) {
        return tokens;
    }
    let mut made = Vec::with_capacity(tokens.len() + 8);
    let mut levels = vec![Level::default()];
    let mut after_distinct = false;
    for at in 0..tokens.len() {
        let token = &tokens[at];
        if matches!(token.token, Token::Whitespace(_)) {
            made.push(token.clone());
            continue;
        }
        let like = |written: Token| TokenWithSpan { token: written, span: token.span };
        let is_inside = levels.len() > 1;
        let level = levels.last_mut().expect("the outermost one stays");
        let wants_table = std::mem::take(&mut level.wants_table);
        let word = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => word.value.as_str(),
            _ => "",
        };
        // IS DISTINCT FROM.
        let is_comparison = std::mem::replace(&mut after_distinct, word == "DISTINCT");
        match &token.token {
            Token::LParen => {
                let is_nested = wants_table && !begins_query(&tokens[at + 1..]);
                levels.push(Level { lists: is_nested, is_nested, wants_table: is_nested, is_open: false });
            }
            Token::RParen if is_inside => {
                if levels.pop().is_some_and(|level| level.is_open) {
                    made.push(like(Token::RParen));
                }
            }
            Token::Comma if level.lists => {
                level.wants_table = true;
                if level.is_nested {
                    let close = std::mem::replace(&mut level.is_open, true).then_some(Token::RParen);
                    let words = [Token::make_keyword("CROSS"), Token::make_keyword("JOIN"), Token::LParen];
                    made.extend(close.into_iter().chain(words).map(like));
                    continue;
                }
            }
            _ => match word {
                "FROM" if !is_comparison => (level.lists, level.wants_table) = (true, true),
                "JOIN" | "LATERAL" => level.wants_table = level.lists,
                word if ENDS.contains(&word) => level.lists = false,
                _ => {}
            },
        }
        made.push(token.clone());
    }
    made
}

/// True if a parenthesis stands where a table may.
fn may_have_list(tokens: &[TokenWithSpan]) -> bool {
    let mut solid =
        tokens.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    let mut before = solid.next();
    let mut has_from = false;
    solid.any(|token| {
        let last = before.replace(token);
        let is_word = |word: &str| matches!(last, Some(Token::Word(found)) if found.value == word);
        has_from |= is_word("FROM");
        *token == Token::LParen
            && has_from
            && (is_word("FROM") || is_word("JOIN") || last == Some(&Token::Comma))
    })
}

/// True for a query, which has parentheses of its own.
fn begins_query(tokens: &[TokenWithSpan]) -> bool {
    let first = tokens.iter().map(|token| &token.token).find(|token| !matches!(token, Token::Whitespace(_)));
    matches!(first, Some(Token::Word(word)) if word.quote_style.is_none()
        && matches!(word.value.as_str(), "SELECT" | "WITH" | "VALUES"))
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    /// The tokens with a blank between them.
    fn spaced(tokens: Vec<TokenWithSpan>) -> String {
        let solid = tokens.into_iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
        solid.map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn check(sql: &str, wanted: &str) {
        let read = |sql| tokenize(sql).expect("tokens");
        assert_eq!(spaced(joined(read(sql))), spaced(read(wanted)));
    }

    #[test]
    fn commas_in_parentheses_behind_from_become_joins() {
        check("SELECT 1 FROM (A, B)", "SELECT 1 FROM (A CROSS JOIN (B))");
        check(
            "SELECT 1 FROM (A, B X JOIN C ON D IN (1, 2), E) WHERE F IN (3, 4)",
            "SELECT 1 FROM (A CROSS JOIN (B X JOIN C ON D IN (1, 2)) CROSS JOIN (E)) WHERE F IN (3, 4)",
        );
        check("SELECT 1 FROM A, (B, (C, D))", "SELECT 1 FROM A, (B CROSS JOIN ((C CROSS JOIN (D))))");
        check("SELECT 1 FROM A JOIN (B, C) ON 1 = 1", "SELECT 1 FROM A JOIN (B CROSS JOIN (C)) ON 1 = 1");
    }

    #[test]
    fn other_commas_stay() {
        for sql in [
            "SELECT 1 FROM (SELECT A, B FROM C, D) X, (VALUES (1, 2), (3, 4)) Y",
            "SELECT 1 FROM A, B (C VARCHAR, D INTEGER) ORDER BY E, (F), G",
            "SELECT 1 FROM A JOIN B USING (C, D) WHERE (A, B) IN ((1, 2), (3, 4)) GROUP BY A, (B, C)",
            "SELECT 1 FROM ((SELECT A, B FROM C) ORDER BY A, B) X",
            "SELECT EXTRACT(DAY FROM (A)), (1, 2) FROM (T)",
            "SELECT A IS DISTINCT FROM B, (C, D) FROM (T)",
            "DELETE FROM A WHERE B IN (1, 2) RETURNING C, (D, E)",
        ] {
            check(sql, sql);
        }
    }
}
