// SPDX-License-Identifier: Apache-2.0
//! Regular expressions as clients of HBase and Phoenix write them, which is Java's way, in words that mean the same to the crate `regex`.
//!
//! | Java | meaning | here |
//! |---|---|---|
//! | `\d` `\w` `\s` and their opposites | of ASCII only | `[0-9]`, `[0-9A-Za-z_]`, `[\t-\r ]` |
//! | `\p{Alpha}`, `\p{Lower}`, … (POSIX) | of ASCII only | `[[:alpha:]]` |
//! | `$` | the end, or before the line's end that is the last | `(?:\r\n\|[\n\r\u{85}\u{2028}\u{2029}])?\z` |
//! | `\Z` | the same | the same |
//! | `\Q…\E` | what is between, as it stands | escaped |
//! | `\h`, `\v`, `\R` | blanks; line ends | sets of them |
//!
//! `$` is left as it is in patterns of several lines, and where a match is cut out of a text and not only looked for. All else is left as it is: `.` stands for
//! fewer characters in Java where it does not stand for all, which is not imitated. What the crate does not have (look-around, references to groups, possessive quantifiers) it refuses by name; `(?i)` folds the letters of
//! all languages, where Java's folds those of ASCII.
//!
//! ```
//! use basalt_model::java_pattern::translated;
//! assert_eq!(translated(r"^\d+\Q.\E$", true).unwrap(), r"^[0-9]+\.(?:\r\n|[\n\r\u{85}\u{2028}\u{2029}])?\z");
//! assert!(translated("a*+", true).unwrap_err().contains("possessive"));
//! ```

use std::iter::Peekable;
use std::str::Chars;

const LINE_END: &str = r"(?:\r\n|[\n\r\u{85}\u{2028}\u{2029}])";

/// POSIX classes by the name that Java has for them.
const POSIX: [&str; 13] = [
    "Lower", "Upper", "ASCII", "Alpha", "Digit", "Alnum", "Punct", "Graph", "Print", "Blank", "Cntrl",
    "XDigit", "Space",
];

/// The pattern for `regex`; `only_whether` if nobody asks what of a text matches it. An error is a sentence about what cannot be had.
pub fn translated(pattern: &str, only_whether: bool) -> Result<String, String> {
    let rest = pattern.chars().peekable();
    let mut translation =
        Translation { rest, out: String::new(), sets: 0, line_end_counts: only_whether, after_repeat: false };
    translation.run()?;
    Ok(translation.out)
}

struct Translation<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    /// How many `[` are open.
    sets: usize,
    /// `$` may stand before the last line end.
    line_end_counts: bool,
    /// What was written last says how often something may come.
    after_repeat: bool,
}

impl Translation<'_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(next) = self.rest.next() {
            let after_repeat = std::mem::take(&mut self.after_repeat);
            match next {
                '\\' => self.escape()?,
                '[' => self.open_set(),
                ']' if self.sets > 0 => {
                    self.sets -= 1;
                    self.out.push(']');
                }
                _ if self.sets > 0 => self.in_set(next),
                '+' if after_repeat => return Err("possessive quantifiers are not supported".to_owned()),
                '*' | '+' | '?' => {
                    self.out.push(next);
                    self.after_repeat = !after_repeat;
                }
                '{' => self.count(),
                '(' => self.group(),
                '$' => self.end(),
                other => self.out.push(other),
            }
        }
        Ok(())
    }

    /// How often, `{2,3}`, up to its end.
    fn count(&mut self) {
        self.out.push('{');
        self.braced();
        self.after_repeat = true;
    }

    /// What follows a `{`, with its `}`.
    fn braced(&mut self) {
        for next in self.rest.by_ref() {
            self.out.push(next);
            if next == '}' {
                return;
            }
        }
    }

    /// What `(?` begins has a `?` that repeats nothing, and may be flags.
    fn group(&mut self) {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
            let mut flags = self.rest.clone().take_while(char::is_ascii_lowercase);
            self.line_end_counts &= !flags.any(|flag| flag == 'm');
        }
    }

    fn end(&mut self) {
        if self.line_end_counts { self.last_end() } else { self.out.push('$') }
    }

    fn last_end(&mut self) {
        self.out.push_str(LINE_END);
        self.out.push_str(r"?\z");
    }

    /// A `]` that comes first is a member.
    fn open_set(&mut self) {
        self.sets += 1;
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        if self.rest.next_if_eq(&']').is_some() {
            self.out.push_str(r"\]");
        }
    }

    /// Of two signs that are operators to the crate, and not to Java, the first one is escaped.
    fn in_set(&mut self, next: char) {
        if matches!(next, '-' | '~') && self.rest.peek() == Some(&next) {
            self.out.push('\\');
        }
        self.out.push(next);
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(escaped) = self.rest.next() else { return Err("a \\ stands at the end".to_owned()) };
        match escaped {
            'd' => self.set("0-9", false),
            'D' => self.set("0-9", true),
            'w' => self.set("0-9A-Za-z_", false),
            'W' => self.set("0-9A-Za-z_", true),
            's' => self.set(r"\t-\r ", false),
            'S' => self.set(r"\t-\r ", true),
            'h' => self.set(r" \t\u{a0}\u{1680}\u{180e}\u{2000}-\u{200a}\u{202f}\u{205f}\u{3000}", false),
            'v' => self.set(r"\n-\r\u{85}\u{2028}\u{2029}", false),
            'R' if self.sets == 0 => self.out.push_str(LINE_END),
            'Z' if self.sets == 0 => self.last_end(),
            // Edges of words to the crate.
            '<' | '>' => self.out.push(escaped),
            'Q' => self.quoted(),
            'p' | 'P' => self.property(escaped == 'P'),
            '1'..='9' | 'k' if self.sets == 0 => {
                return Err(format!("references to groups, as \\{escaped}, are not supported"));
            }
            other => {
                self.out.extend(['\\', other]);
                if matches!(other, 'x' | 'u') && self.rest.next_if_eq(&'{').is_some() {
                    self.out.push('{');
                    self.braced();
                }
            }
        }
        Ok(())
    }

    /// A set of its own, also within another one: beside its members a `-` would make a range.
    fn set(&mut self, members: &str, negated: bool) {
        self.out.extend([if negated { "[^" } else { "[" }, members, "]"]);
    }

    fn quoted(&mut self) {
        while let Some(next) = self.rest.next() {
            if next == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            if next.is_ascii_punctuation() && !matches!(next, '<' | '>') {
                self.out.push('\\');
            }
            self.out.push(next);
        }
    }

    /// Behind `\p` or `\P`.
    fn property(&mut self, negated: bool) {
        let ahead: String = self.rest.clone().take_while(|next| *next != '}').collect();
        let Some(class) = ahead.strip_prefix('{').filter(|name| POSIX.contains(name)) else {
            self.out.extend(['\\', if negated { 'P' } else { 'p' }]);
            if self.rest.next_if_eq(&'{').is_some() {
                self.out.push('{');
                self.braced();
            }
            return;
        };
        self.rest.nth(ahead.chars().count());
        let class = class.to_ascii_lowercase();
        self.out.push_str(&match (negated, self.sets > 0) {
            (false, true) => format!("[:{class}:]"),
            (false, false) => format!("[[:{class}:]]"),
            (true, true) => format!("[:^{class}:]"),
            (true, false) => format!("[^[:{class}:]]"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expected: &str) {
        assert_eq!(translated(pattern, true).as_deref(), Ok(expected), "{pattern}");
    }

    #[test]
    fn what_means_the_same_stays() {
        for pattern in [
            "",
            "a.c",
            "(?i)a|b",
            "[a-z&&[^x]]",
            "a{2,3}?",
            "(?<n>x)",
            r"\x41\u0041\t\.\bz\b",
            r"\p{L}\p{IsGreek}",
        ] {
            check(pattern, pattern);
        }
    }

    #[test]
    fn classes_are_those_of_ascii() {
        check(r"\d\D", "[0-9][^0-9]");
        check(r"[\w.-]+", "[[0-9A-Za-z_].-]+");
        check(r"[^\s\D]", r"[^[\t-\r ][^0-9]]");
        check(r"\p{L}+\P{IsGreek}+\x{41}+", r"\p{L}+\P{IsGreek}+\x{41}+");
        check(r"\p{Alpha}\P{Lower}[\p{Digit}x]", "[[:alpha:]][^[:lower:]][[:digit:]x]");
    }

    #[test]
    fn the_end_may_be_before_a_last_line_end() {
        check("a$", &format!(r"a{LINE_END}?\z"));
        check(r"a\$[$]", r"a\$[$]");
        check("(?im)a$", "(?im)a$");
        assert_eq!(translated("a$", false).as_deref(), Ok("a$"));
    }

    #[test]
    fn what_is_quoted_stands_for_itself() {
        check(r"\Qa.b*\E+", r"a\.b\*+");
        check(r"x\Q[", r"x\[");
        check(r"\Q<a>\E\<", "<a><");
    }

    #[test]
    fn signs_of_sets_that_only_the_crate_knows_are_members() {
        check("[a--z~~]", r"[a\--z\~~]");
        check("[]a]", r"[\]a]");
        check("[^]a]", r"[^\]a]");
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        for (pattern, word) in
            [("a*+", "possessive"), ("a{2}+b", "possessive"), (r"(a)\1", "groups"), ("a\\", "end")]
        {
            let error = translated(pattern, true).expect_err(pattern);
            assert!(error.contains(word), "{pattern}: {error}");
        }
        check("(?:a)+b", "(?:a)+b");
        check("a+?b", "a+?b");
    }
}
