// SPDX-License-Identifier: Apache-2.0
//! Instants written as Phoenix reads them without a pattern: ISO 8601, and a blank before the time will do.
//!
//! ```text
//! instant = date [' '] ['T'] [time]      date = yyyy ['-' MM ['-' dd]] | yyyy '-' DDD | yyyy '-W' ww ['-' e]
//! time    = HH [':' mm [':' ss [('.' | ',') digits]]] [offset]
//! offset  = 'Z' | ('+' | '-') HH [[':'] mm [[':'] ss]]
//! ```
//!
//! Numbers may have fewer digits (`2024-1-2 3:4:5`), a day of the year has three. Without an offset an instant is UTC. The calendar is
//! Gregorian at all times, where Phoenix counts days before 15 October 1582 in the Julian one.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime, Weekday};
use datafusion::arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;

use super::date_format::nanos;

/// Nanoseconds since 1970 of an instant; a fraction of a second has nine digits at most.
pub(crate) fn iso(text: &str) -> Option<i128> {
    let mut rest = Rest(text);
    let date = rest.date()?;
    let has_blank = rest.accept(' ');
    let has_letter = rest.accept('T');
    if rest.0.is_empty() {
        return (!has_letter || !has_blank).then(|| nanos(date.and_time(NaiveTime::MIN)));
    }
    let time = rest.time()?;
    let offset_seconds = rest.offset()?;
    rest.0.is_empty().then(|| nanos(date.and_time(time)) - i128::from(offset_seconds) * 1_000_000_000)
}

/// The same of texts that stand where a date is wanted and may say it otherwise: a date of year, month and day, perhaps with a time, or a
/// time alone; a number is no year.
pub(crate) fn parse_instant(text: &str) -> Option<i128> {
    let text = text.trim();
    if let Ok(nanos) = string_to_timestamp_nanos(text) {
        return Some(nanos.into());
    }
    let is_date = text.matches('-').count() >= 2;
    if let Some(nanos) = iso(text).filter(|_| is_date) {
        return Some(nanos);
    }
    let time_only = ["%H:%M:%S%.f", "%H:%M"].into_iter();
    let mut times = time_only.filter_map(|format| NaiveTime::parse_from_str(text, format).ok());
    times.next().map(|time| nanos(NaiveDateTime::from(NaiveDate::default()) + (time - NaiveTime::MIN)))
}

/// What is left of a text.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn accept(&mut self, letter: char) -> bool {
        match self.0.strip_prefix(letter) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// A number of one to `digits_max` digits, and how many it has.
    fn number(&mut self, digits_max: usize) -> Option<(u32, usize)> {
        let digits = self.0.bytes().take(digits_max).take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at(digits);
        let number = number.parse().ok()?;
        self.0 = rest;
        Some((number, digits))
    }

    fn date(&mut self) -> Option<NaiveDate> {
        let year = i32::try_from(self.number(9)?.0).ok()?;
        if !self.accept('-') {
            return NaiveDate::from_ymd_opt(year, 1, 1);
        }
        if self.accept('W') {
            let (week, _) = self.number(2)?;
            let day = if self.accept('-') { self.number(1)?.0 } else { 1 };
            let day = Weekday::try_from(u8::try_from(day.checked_sub(1)?).ok()?).ok()?;
            return NaiveDate::from_isoywd_opt(year, week, day);
        }
        let (number, digits) = self.number(3)?;
        if digits == 3 {
            return NaiveDate::from_yo_opt(year, number);
        }
        let day = if self.accept('-') { self.number(2)?.0 } else { 1 };
        NaiveDate::from_ymd_opt(year, number, day)
    }

    fn time(&mut self) -> Option<NaiveTime> {
        let (hour, _) = self.number(2)?;
        let minute = if self.accept(':') { Some(self.number(2)?.0) } else { None };
        let second = if minute.is_some() && self.accept(':') { Some(self.number(2)?.0) } else { None };
        let mut nanos = 0;
        if second.is_some() && (self.accept('.') || self.accept(',')) {
            let (fraction, digits) = self.number(9)?;
            nanos = fraction * 10_u32.pow(9 - digits as u32);
        }
        NaiveTime::from_hms_nano_opt(hour, minute.unwrap_or(0), second.unwrap_or(0), nanos)
    }

    /// Seconds ahead of UTC.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.accept('Z') {
            return Some(0);
        }
        let sign = if self.accept('+') {
            1
        } else if self.accept('-') {
            -1
        } else {
            return None;
        };
        let mut seconds = i64::from(self.number(2)?.0) * 3600;
        for unit in [60, 1] {
            let separated = self.accept(':');
            if separated || !self.0.is_empty() {
                seconds += i64::from(self.number(2)?.0) * unit;
            }
        }
        Some(sign * seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(nanos: Option<i128>) -> Option<String> {
        let millis = i64::try_from(nanos?.div_euclid(1_000_000)).expect("a date of our time");
        Some(chrono::DateTime::from_timestamp_millis(millis)?.naive_utc().to_string())
    }

    #[test]
    fn dates_are_read_as_phoenix_reads_them() {
        for (text, expected) in [
            ("2024-1-2", "2024-01-02 00:00:00"),
            ("2024-01-02", "2024-01-02 00:00:00"),
            ("2024", "2024-01-01 00:00:00"),
            ("2024-03", "2024-03-01 00:00:00"),
            ("2024-060", "2024-02-29 00:00:00"),
            ("2020-W53-5", "2021-01-01 00:00:00"),
            ("2024-1-2 3:4:5.6", "2024-01-02 03:04:05.600"),
            ("2024-01-02 03", "2024-01-02 03:00:00"),
            ("2024-01-02T03:04", "2024-01-02 03:04:00"),
            ("2024-01-02T03:04:05Z", "2024-01-02 03:04:05"),
            ("2024-01-02 03:04:05,5+01:30", "2024-01-02 01:34:05.500"),
            ("2024-01-02 03:04-0200", "2024-01-02 05:04:00"),
        ] {
            assert_eq!(shown(iso(text)).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "nonsense",
            "12:00:00",
            "2024-13-01",
            "2024-02-30",
            "2024-02-28 25:00:00",
            "2024-01-02x",
            "2024-1-2 3:4:60",
            "2024-",
            "2024-01-02 03:04:05.",
            "2024-01-02 03:04:05.1234567891",
            "2023-366",
            "2024-W54",
            "2024-W01-8",
            "2024-01-02 +",
        ] {
            assert_eq!(iso(text), None, "{text}");
        }
    }

    #[test]
    fn where_a_date_is_wanted_a_number_is_no_year() {
        assert_eq!(parse_instant("2024"), None);
        assert_eq!(parse_instant("2024-03"), None);
        assert_eq!(shown(parse_instant(" 2024-1-2 ")).as_deref(), Some("2024-01-02 00:00:00"));
        assert_eq!(shown(parse_instant("12:30")).as_deref(), Some("1970-01-01 12:30:00"));
        assert_eq!(shown(parse_instant("12:30:15.5")).as_deref(), Some("1970-01-01 12:30:15.500"));
    }
}
