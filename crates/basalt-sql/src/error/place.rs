// SPDX-License-Identifier: Apache-2.0
//! Where a statement says what an error without a place is about: by the names in its words.

use super::Position;
use crate::dialect::TokenMap;

/// What stands before a name that the statement has, too.
const BEFORE_NAMES: [&str; 7] =
    ["column ", "sequence ", "schema ", "cursor ", "FETCH from ", "predicate '", "alias "];

/// The place of the first thing in the message that the statement names.
pub(super) fn of(message: &str, tokens: &TokenMap) -> Option<Position> {
    let behind = |before: &'static str| message.split(before).skip(1).map(name_at);
    let named = BEFORE_NAMES.into_iter().flat_map(behind).find_map(|name| tokens.find(name));
    // A function, or the word of a clause.
    let first = message.split(' ').next().filter(|word| is_upper(word));
    named.or_else(|| first.and_then(|word| tokens.find(word)))
}

/// The name at the beginning of a text, without what stands before its last dot.
fn name_at(text: &str) -> &str {
    let is_part = |ch: char| ch.is_alphanumeric() || matches!(ch, '_' | '$' | '.');
    let name = text.split(|ch| !is_part(ch)).next().unwrap_or_default().trim_end_matches('.');
    name.rsplit('.').next().unwrap_or(name)
}

fn is_upper(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|ch| ch.is_ascii_uppercase() || ch == '_' || ch.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect;

    #[test]
    fn what_a_message_names_is_found_in_the_statement() {
        let place = |sql: &str, message: &str| {
            let tokens = dialect::parse(sql).expect("a statement").tokens;
            of(message, &tokens).map(|position| position.column)
        };
        let insert = "UPSERT INTO t (k, n) VALUES (1, 'x')";
        assert_eq!(place(insert, "row 2, column N: INTEGER cannot take it"), Some(19));
        assert_eq!(place(insert, "column 0.N: INTEGER cannot take it"), Some(19));
        assert_eq!(place(insert, "column M: it has no value"), None);
        let query = "SELECT SUM(s) FROM t LIMIT 1";
        assert_eq!(place(query, "SUM cannot take a value of type VARCHAR"), Some(8));
        assert_eq!(place(query, "LIMIT must be >= 0"), Some(22));
        assert_eq!(place(query, "Sum is nothing that it names"), None);
        assert_eq!(place("DROP SEQUENCE q", "sequence Q does not exist"), Some(15));
    }
}
