// SPDX-License-Identifier: Apache-2.0
//! Number patterns as Java's DecimalFormat reads them (`#,##0.00`, `$#,##0.00;($#,##0.00)`): numbers to texts and back.
//!
//! ```text
//! pattern := part [; part for negative numbers]
//! part    := text [# , 0 and one .] [E and 0s] text
//! ```
//!
//! `0` is a digit in any case, `#` one if it is needed, `,` says how many digits stand in a group, `%` in the text around
//! shows hundredths, `'` quotes, `E0` writes a power of ten. What is cut off is rounded, halves to the even digit.

mod exponent;

use exponent::Exponent;

/// What TO_CHAR(number) uses if no pattern is given.
pub(super) const STANDARD: &str = "#,##0.###";

/// A pattern, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberFormat {
    before: String,
    after: String,
    /// Around negative numbers, if the pattern has a part of its own for them.
    negative: Option<(String, String)>,
    whole_min: usize,
    fraction_min: usize,
    fraction_max: usize,
    /// Digits in a group; 0 for no groups.
    group: usize,
    /// Digits by which the point is moved to the right: 2 for `%`.
    shift: usize,
    /// For `E0`: the number is written with a power of ten.
    exponent: Option<Exponent>,
}

/// The parts of one half of a pattern.
struct Half {
    before: String,
    digits: String,
    after: String,
    shift: usize,
    /// Zeros behind `E`; 0 without an `E`.
    exponent_digits: usize,
}

impl NumberFormat {
    /// Takes a pattern apart.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let mut rest = pattern.chars().peekable();
        let first = half(&mut rest, pattern)?;
        let negative = match rest.next() {
            Some(_) => Some(half(&mut rest, pattern)?).map(|half| (half.before, half.after)),
            None => None,
        };
        let digits = with_a_zero(&first.digits);
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        if fraction.contains(['.', ',']) || fraction.trim_start_matches('0').contains('0') {
            return Err(format!("the number pattern {pattern} has digits in an order that says nothing"));
        }
        let zeros = |text: &str| text.chars().filter(|&digit| digit == '0').count();
        let group = whole.rsplit_once(',').map_or(0, |(_, group)| group.len());
        Ok(Self {
            whole_min: zeros(whole),
            fraction_min: zeros(fraction),
            fraction_max: fraction.len(),
            group,
            shift: first.shift,
            exponent: (first.exponent_digits > 0).then(|| Exponent {
                digits_min: first.exponent_digits,
                whole_max: whole.chars().filter(|&digit| digit != ',').count(),
            }),
            before: first.before,
            after: first.after,
            negative,
        })
    }

    /// A number, written out in decimal digits, in this form.
    pub(super) fn format(&self, number: &str) -> String {
        let negative = number.starts_with('-');
        let number = number.trim_start_matches(['-', '+']);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
        let mut point = whole.len() + self.shift;
        digits.resize(digits.len().max(point), 0);
        if let Some(exponent) = &self.exponent {
            let text = exponent.format(digits, point, self.whole_min, [self.fraction_min, self.fraction_max]);
            return self.around(negative, &text);
        }
        round(&mut digits, &mut point, self.fraction_max);
        let text = |digits: &[u8]| digits.iter().map(|digit| char::from(digit + b'0')).collect::<String>();
        let (whole, fraction) = (text(&digits[..point]), text(&digits[point..]));
        let whole = whole.trim_start_matches('0');
        let mut fraction = fraction.trim_end_matches('0').to_owned();
        while fraction.len() < self.fraction_min {
            fraction.push('0');
        }
        let mut whole = format!("{whole:0>width$}", width = self.whole_min);
        if whole.is_empty() && fraction.is_empty() {
            whole.push('0');
        }
        let whole = self.grouped(&whole);
        let point = if fraction.is_empty() { "" } else { "." };
        self.around(negative, &format!("{whole}{point}{fraction}"))
    }

    /// With the texts of the pattern around the digits.
    fn around(&self, negative: bool, digits: &str) -> String {
        match (&self.negative, negative) {
            (Some((before, after)), true) => format!("{before}{digits}{after}"),
            (None, true) => format!("-{}{digits}{}", self.before, self.after),
            (_, false) => format!("{}{digits}{}", self.before, self.after),
        }
    }

    fn grouped(&self, whole: &str) -> String {
        if self.group == 0 {
            return whole.to_owned();
        }
        let mut grouped = String::new();
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at).is_multiple_of(self.group) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        grouped
    }

    /// The number that a text in this form stands for, in decimal digits; `None` if the text has another form. As in Java
    /// a power of ten may follow the digits of any pattern.
    pub(super) fn parse(&self, text: &str) -> Option<String> {
        let text = text.trim();
        let inside = |before: &str, after: &str| text.strip_prefix(before)?.strip_suffix(after);
        let negative = match &self.negative {
            Some((before, after)) => inside(before, after),
            None => inside(&format!("-{}", self.before), &self.after),
        };
        let (sign, digits) = match (negative, inside(&self.before, &self.after)) {
            (Some(digits), _) => ("-", digits),
            (None, Some(digits)) => ("", digits),
            (None, None) => return None,
        };
        let digits: String = digits.chars().filter(|&letter| letter != ',').collect();
        let (digits, power) = exponent::split(&digits)?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        // By how many digits the point moves, `before` to the left or `behind` to the right.
        let moved = power - self.shift as i32;
        let before = moved.min(0).unsigned_abs() as usize;
        let behind = moved.max(0).unsigned_abs() as usize;
        let all = format!("{:0>zeros$}{whole}{fraction}{:0>behind$}", "", "", zeros = before + 1);
        let (whole, fraction) = all.split_at(1 + whole.len() + behind);
        let whole = whole[..whole.len() - 1].trim_start_matches('0').to_owned() + &whole[whole.len() - 1..];
        Some(format!("{sign}{whole}.{fraction}0"))
    }
}

/// As Java reads a pattern with a point and without `0`: `#.##` is `0.##`, `.##` is `.0#`.
fn with_a_zero(digits: &str) -> String {
    match digits.find('.') {
        Some(point) if !digits.contains('0') => {
            let (whole, fraction) = digits.split_at(point);
            match (whole.strip_suffix('#'), fraction.strip_prefix(".#")) {
                (Some(whole), _) => format!("{whole}0{fraction}"),
                (None, Some(fraction)) => format!("{whole}.0{fraction}"),
                (None, None) => digits.to_owned(),
            }
        }
        _ => digits.to_owned(),
    }
}

fn half(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, pattern: &str) -> Result<Half, String> {
    let mut half = Half {
        before: String::new(),
        digits: String::new(),
        after: String::new(),
        shift: 0,
        exponent_digits: 0,
    };
    while let Some(&letter) = rest.peek() {
        if letter == ';' {
            break;
        }
        rest.next();
        match letter {
            '#' | '0' | ',' | '.' if half.after.is_empty() && half.exponent_digits == 0 => {
                half.digits.push(letter);
            }
            'E' if half.digits.contains(['#', '0']) && half.after.is_empty() && half.exponent_digits == 0 => {
                half.exponent_digits = std::iter::from_fn(|| rest.next_if_eq(&'0')).count();
                if half.exponent_digits == 0 {
                    return Err(format!("E in the number pattern {pattern} needs zeros behind it"));
                }
            }
            '#' | '0' | '\u{2030}' => {
                return Err(format!("{letter} in the number pattern {pattern} is not supported here"));
            }
            _ => {
                let around = if half.digits.is_empty() { &mut half.before } else { &mut half.after };
                match letter {
                    '\'' if rest.next_if_eq(&'\'').is_some() => around.push('\''),
                    '\'' => around.extend(rest.by_ref().take_while(|&letter| letter != '\'')),
                    '%' => {
                        half.shift = 2;
                        around.push('%');
                    }
                    _ => around.push(letter),
                }
            }
        }
    }
    match half.digits.contains(['#', '0']) {
        true => Ok(half),
        false => Err(format!("the number pattern {pattern} has no digits; write # and 0")),
    }
}

/// Keeps `keep` digits behind the point. Halves go to the even digit.
fn round(digits: &mut Vec<u8>, point: &mut usize, keep: usize) {
    let end = *point + keep;
    let Some((&next, behind)) = digits.get(end..).and_then(<[u8]>::split_first) else { return };
    let odd = end > 0 && digits[end - 1] % 2 == 1;
    let up = next > 5 || next == 5 && (odd || behind.iter().any(|&digit| digit > 0));
    digits.truncate(end);
    if !up {
        return;
    }
    for digit in digits.iter_mut().rev() {
        *digit = (*digit + 1) % 10;
        if *digit > 0 {
            return;
        }
    }
    digits.insert(0, 1);
    *point += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(pattern: &str, number: &str) -> String {
        NumberFormat::new(pattern).expect("a pattern").format(number)
    }

    #[test]
    fn numbers_are_written_as_in_java() {
        for (pattern, number, text) in [
            ("#,##0.00", "1234.5", "1,234.50"),
            ("#,##0.00", "-1234567.899", "-1,234,567.90"),
            ("000", "7", "007"),
            ("000", "-7", "-007"),
            ("#,##0.###", "12.3456", "12.346"),
            ("#,##0.###", "0", "0"),
            ("#.##", "0.5", "0.5"),
            ("#.00", "0.5", ".50"),
            (".##", "0", ".0"),
            ("#", "0", "0"),
            ("0", "9.5", "10"),
            ("0", "8.5", "8"),
            ("0", "999.5", "1000"),
            ("0.0%", "0.1234", "12.3%"),
            ("$#,##0.00;($#,##0.00)", "-1234.5", "($1,234.50)"),
            ("'#'0", "5", "#5"),
            ("00.0#", "3.999", "04.0"),
        ] {
            assert_eq!(formatted(pattern, number), text, "{number} as {pattern}");
        }
    }

    #[test]
    fn texts_are_read_in_their_pattern() {
        let parsed = |pattern: &str, text: &str| NumberFormat::new(pattern).expect("a pattern").parse(text);
        assert_eq!(parsed("$#,##0.00", "$1,234.50").as_deref(), Some("1234.500"));
        assert_eq!(parsed("$#,##0.00", "-$1.5").as_deref(), Some("-1.50"));
        assert_eq!(parsed("0%", "12%").as_deref(), Some("0.120"));
        assert_eq!(parsed("#0;(#0)", "(7)").as_deref(), Some("-7.0"));
        assert_eq!(parsed("$0", "7"), None);
        assert_eq!(parsed("0", "x"), None);
        assert_eq!(parsed("0.0E0", "1.25E3").as_deref(), Some("1250.000"));
        assert_eq!(parsed("0.0E0", "-1.5E-3").as_deref(), Some("-0.00150"));
        assert_eq!(parsed("0%", "5E1%").as_deref(), Some("0.50"));
        assert_eq!(parsed("0.0E0", "1.5E"), None);
        assert_eq!(parsed("0.0E0", "1E999999999"), None, "no number has that many digits");
        assert!(NumberFormat::new("abc").is_err() && NumberFormat::new("0E").is_err());
    }
}
