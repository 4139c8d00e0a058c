// SPDX-License-Identifier: Apache-2.0
//! Date patterns as Java's SimpleDateFormat reads them (`yyyy-MM-dd HH:mm:ss.SSS`): dates from texts and back.
//!
//! Letters: G era, y year, M month (`MMM`, `MMMM` names), d day, H hour 0-23, k hour 1-24, K hour 0-11, h hour 1-12, a AM/PM, m minute,
//! s second, S millisecond, D day of the year, z, Z, X offset from UTC. Only printed: E weekday, u its number (1 is Monday), F which of its
//! kind in the month, w and W weeks of the year and of the month, Y the year of the week (weeks begin on Sunday, the first one has January 1, as in
//! Java's default). `'` quotes text. As in Java a number takes as many digits as there are, unless another number follows directly.

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MINUTE_NANOS: i128 = 60_000_000_000;

/// All letters.
const LETTERS: &str = "GyYMwWdDFEuaHkKhmsSzZX";

/// A pattern, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DateFormat {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// A letter and how often it stands there.
    Field(char, usize),
    Text(String),
}

impl DateFormat {
    /// Takes a pattern apart.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut letters = pattern.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => parts.push(Part::Text(quoted(&mut letters))),
                letter if letter.is_ascii_alphabetic() => {
                    if !LETTERS.contains(letter) {
                        return Err(format!(
                            "letter {letter} of the date pattern {pattern} is not supported"
                        ));
                    }
                    let mut width = 1;
                    while letters.next_if_eq(&letter).is_some() {
                        width += 1;
                    }
                    parts.push(Part::Field(letter, width));
                }
                other => parts.push(Part::Text(other.to_string())),
            }
        }
        Ok(Self { parts })
    }

    /// The instant that a text stands for, in nanoseconds since 1970 UTC. Behind the last part anything may follow.
    pub(super) fn parse(&self, text: &str) -> Option<i128> {
        let mut fields = Fields::default();
        let mut rest = text;
        for (index, part) in self.parts.iter().enumerate() {
            rest = match part {
                Part::Text(text) => rest.strip_prefix(text.as_str())?,
                Part::Field(letter, width) => {
                    let number_follows = matches!(self.parts.get(index + 1), Some(Part::Field(next, _)) if next.is_ascii_alphabetic() && !"aEGzZX".contains(*next));
                    fields.take(*letter, *width, number_follows, rest)?
                }
            };
        }
        fields.instant()
    }

    /// An instant as text.
    pub(super) fn format(&self, instant: NaiveDateTime) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Field(letter, width) => text.push_str(&field_text(*letter, *width, instant)),
            }
        }
        text
    }
}

/// Text up to the closing quote; two quotes are one.
fn quoted(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    if letters.next_if_eq(&'\'').is_some() {
        return "'".to_owned();
    }
    while let Some(letter) = letters.next() {
        if letter == '\'' && letters.next_if_eq(&'\'').is_none() {
            break;
        }
        text.push(letter);
    }
    text
}

fn field_text(letter: char, width: usize, instant: NaiveDateTime) -> String {
    let number = match letter {
        'y' if width == 2 => i64::from(instant.year().rem_euclid(100)),
        'y' => i64::from(instant.year()),
        'M' if width >= 3 => return name(&MONTHS, instant.month0() as usize, width),
        'M' => i64::from(instant.month()),
        'd' => i64::from(instant.day()),
        'D' => i64::from(instant.ordinal()),
        'H' => i64::from(instant.hour()),
        'h' => i64::from(instant.hour12().1),
        'k' => i64::from(if instant.hour() == 0 { 24 } else { instant.hour() }),
        'K' => i64::from(instant.hour() % 12),
        'u' => i64::from(instant.weekday().number_from_monday()),
        'F' => i64::from(instant.day0() / 7 + 1),
        'w' => i64::from(week_of_year(instant).1),
        'W' => i64::from(week_of(instant.day0(), instant)),
        'Y' if width == 2 => i64::from(week_of_year(instant).0.rem_euclid(100)),
        'Y' => i64::from(week_of_year(instant).0),
        'G' => return if instant.year() > 0 { "AD" } else { "BC" }.to_owned(),
        'm' => i64::from(instant.minute()),
        's' => i64::from(instant.second()),
        'S' => i64::from(instant.nanosecond() / 1_000_000),
        'a' => return if instant.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        'E' => return name(&WEEKDAYS, instant.weekday().num_days_from_monday() as usize, width.max(3)),
        'X' => return "Z".to_owned(),
        'Z' => return "+0000".to_owned(),
        _ => return "UTC".to_owned(),
    };
    format!("{number:0width$}")
}

/// The week, counted from 1, of a day that is `day0` days behind the first one, whose week begins on a Sunday.
fn week_of(day0: u32, instant: NaiveDateTime) -> u32 {
    let weekday = instant.weekday().num_days_from_sunday();
    let first = (weekday + 7 - day0 % 7) % 7;
    (day0 + first) / 7 + 1
}

/// The year that a week counts for, and its number there.
fn week_of_year(instant: NaiveDateTime) -> (i32, u32) {
    let left = Days::new(u64::from(6 - instant.weekday().num_days_from_sunday()));
    let saturday = instant.checked_add_days(left).unwrap_or(instant);
    match saturday.year() > instant.year() {
        true => (saturday.year(), 1),
        false => (instant.year(), week_of(instant.ordinal0(), instant)),
    }
}

fn name(names: &[&str], index: usize, width: usize) -> String {
    let whole = names[index];
    if width == 3 { whole[..3].to_owned() } else { whole.to_owned() }
}

/// What was read so far.
#[derive(Debug)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: Option<i64>,
    hour: i64,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    millis: i64,
    offset_minutes: i64,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            year: 1970,
            month: 1,
            day: 1,
            day_of_year: None,
            hour: 0,
            afternoon: None,
            minute: 0,
            second: 0,
            millis: 0,
            offset_minutes: 0,
        }
    }
}

impl Fields {
    /// Reads one field; returns what is behind it.
    fn take<'a>(
        &mut self,
        letter: char,
        width: usize,
        number_follows: bool,
        text: &'a str,
    ) -> Option<&'a str> {
        match letter {
            'M' if width >= 3 => return self.take_month(text),
            'a' => {
                let (half, rest) = text.split_at_checked(2)?;
                self.afternoon = Some(half.eq_ignore_ascii_case("PM"));
                return (half.eq_ignore_ascii_case("AM") || self.afternoon == Some(true)).then_some(rest);
            }
            'E' => return Some(text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic())),
            'G' => return text.strip_prefix("AD"),
            'u' | 'F' | 'w' | 'W' | 'Y' => return None,
            'z' | 'Z' | 'X' => {
                let end = text.find(' ').unwrap_or(text.len());
                self.offset_minutes = offset_minutes(&text[..end])?;
                return Some(&text[end..]);
            }
            _ => {}
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let digits = if number_follows { digits.min(width) } else { digits };
        let (number, rest) = text.split_at(digits);
        let number: i64 = number.parse().ok()?;
        match letter {
            // Two digits are a year of the last eighty or the next twenty.
            'y' if width <= 2 && digits == 2 => self.year = if number < 46 { 2000 } else { 1900 } + number,
            'y' => self.year = number,
            'M' => self.month = number,
            'd' => self.day = number,
            'D' => self.day_of_year = Some(number),
            'h' => self.hour = number % 12,
            'k' => self.hour = number % 24,
            'H' | 'K' => self.hour = number,
            'm' => self.minute = number,
            's' => self.second = number,
            _ => self.millis = number,
        }
        Some(rest)
    }

    fn take_month<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (found, rest) = text.split_at(letters);
        let same = |name: &&str| found.eq_ignore_ascii_case(name) || found.eq_ignore_ascii_case(&name[..3]);
        self.month = MONTHS.iter().position(same)? as i64 + 1;
        Some(rest)
    }

    fn instant(&self) -> Option<i128> {
        let year = i32::try_from(self.year).ok()?;
        let date = match self.day_of_year {
            Some(day) => NaiveDate::from_ymd_opt(year, 1, 1)?
                .checked_add_days(Days::new(u64::try_from(day.checked_sub(1)?).ok()?))?,
            None => {
                NaiveDate::from_ymd_opt(year, u32::try_from(self.month).ok()?, u32::try_from(self.day).ok()?)?
            }
        };
        let hour = self.hour + if self.afternoon == Some(true) && self.hour < 12 { 12 } else { 0 };
        let part = |number: i64| u32::try_from(number).ok();
        let time = NaiveTime::from_hms_milli_opt(
            part(hour)?,
            part(self.minute)?,
            part(self.second)?,
            part(self.millis)?,
        )?;
        Some(nanos(date.and_time(time)) - i128::from(self.offset_minutes) * MINUTE_NANOS)
    }
}

/// Nanoseconds since 1970 of a date and time in UTC.
pub(super) fn nanos(instant: NaiveDateTime) -> i128 {
    let instant = instant.and_utc();
    i128::from(instant.timestamp()) * 1_000_000_000 + i128::from(instant.timestamp_subsec_nanos())
}

/// `UTC`, `GMT`, `GMT+1`, `GMT-05:30`, `+0100`, `Z`: minutes ahead of UTC.
pub(super) fn offset_minutes(zone: &str) -> Option<i64> {
    let rest = zone.strip_prefix("GMT").or_else(|| zone.strip_prefix("UTC")).unwrap_or(zone);
    if rest.is_empty() || rest == "Z" {
        return Some(0);
    }
    let (sign, digits) = match rest.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "0"),
    };
    Some(sign * (hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(pattern: &str, text: &str) -> Option<String> {
        let nanos = DateFormat::new(pattern).expect("a pattern").parse(text)?;
        let millis = i64::try_from(nanos / 1_000_000).expect("a date of our time");
        Some(chrono::DateTime::from_timestamp_millis(millis)?.naive_utc().to_string())
    }

    #[test]
    fn patterns_read_dates() {
        for (pattern, text, expected) in [
            ("yyyy-MM-dd", "2020-01-02", "2020-01-02 00:00:00"),
            ("yyyyMMdd HHmm", "20200102 0304", "2020-01-02 03:04:00"),
            ("HH:mm:ss", "03:04:05", "1970-01-01 03:04:05"),
            ("dd.MM.yyyy", "2.1.2020", "2020-01-02 00:00:00"),
            ("d MMM yy", "2 Mar 20", "2020-03-02 00:00:00"),
            ("yyyy-MM-dd hh:mm a", "2020-01-02 12:30 PM", "2020-01-02 12:30:00"),
            ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2020-01-02T03:04:05.678+01:00", "2020-01-02 02:04:05.678"),
            ("yyyy-DDD", "2020-060", "2020-02-29 00:00:00"),
            ("yyyy-MM-dd kk:mm G", "2020-01-02 24:30 AD", "2020-01-02 00:30:00"),
            ("yyyy-MM-dd KK:mm a", "2020-01-02 00:30 PM", "2020-01-02 12:30:00"),
        ] {
            assert_eq!(parsed(pattern, text).as_deref(), Some(expected), "{text} as {pattern}");
        }
        for (pattern, text) in [
            ("YYYY-ww", "2020-05"),
            ("yyyy-MM-dd", "nope"),
            ("yyyy-MM-dd", "2020-13-01"),
            ("HH:mm", "25:00"),
            ("a", "é"),
        ] {
            assert_eq!(parsed(pattern, text), None, "{text} as {pattern}");
        }
        assert!(DateFormat::new("yyyy-QQ").is_err());
    }

    #[test]
    fn weeks_begin_on_sunday_and_the_first_has_the_first_of_january() {
        let text = |year, month, day| {
            let date = NaiveDate::from_ymd_opt(year, month, day).and_then(|date| date.and_hms_opt(0, 0, 0));
            DateFormat::new("YYYY-w W").expect("a pattern").format(date.expect("a date"))
        };
        // 2023 begins on a Sunday, 2024 on a Monday, 2022 on a Saturday.
        assert_eq!(
            [text(2023, 1, 1), text(2023, 1, 7), text(2023, 1, 8)],
            ["2023-1 1", "2023-1 1", "2023-2 2"]
        );
        assert_eq!(
            [text(2023, 12, 30), text(2023, 12, 31), text(2024, 1, 6)],
            ["2023-52 5", "2024-1 6", "2024-1 1"]
        );
        assert_eq!(
            [text(2022, 1, 1), text(2022, 1, 2), text(2021, 12, 25)],
            ["2022-1 1", "2022-2 2", "2021-52 4"]
        );
    }

    #[test]
    fn patterns_write_dates() {
        let instant =
            NaiveDate::from_ymd_opt(2023, 5, 7).and_then(|date| date.and_hms_milli_opt(15, 4, 5, 60));
        let text =
            |pattern: &str| DateFormat::new(pattern).expect("a pattern").format(instant.expect("a date"));
        assert_eq!(text("yyyy-MM-dd HH:mm:ss.SSS"), "2023-05-07 15:04:05.060");
        assert_eq!(text("k K u F w W Y G"), "15 3 7 1 19 2 2023 AD");
        assert_eq!(text("EEE, d MMMM yy 'at' h''mm a"), "Sun, 7 May 23 at 3'04 PM");
    }
}
