// SPDX-License-Identifier: Apache-2.0
//! Units of time in the proleptic Gregorian calendar, UTC; instants are milliseconds since 1970-01-01.

use std::str::FromStr;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime};

use super::rounding::Toward;

const DAY_MS: i64 = 86_400_000;

/// A unit that dates are rounded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// So many milliseconds, counted from 1970.
    Millis(i64),
    /// Begins on Monday.
    Week,
    Month,
    Year,
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name.to_uppercase().as_str() {
            "MILLISECOND" => Self::Millis(1),
            "SECOND" => Self::Millis(1_000),
            "MINUTE" => Self::Millis(60_000),
            "HOUR" => Self::Millis(3_600_000),
            "DAY" => Self::Millis(DAY_MS),
            "WEEK" => Self::Week,
            "MONTH" => Self::Month,
            "YEAR" => Self::Year,
            _ => {
                return Err(format!(
                    "{name} is no unit of time; there are MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH and YEAR"
                ));
            }
        })
    }
}

impl Unit {
    /// The beginning of a unit next to `millis`; as it is where the calendar ends.
    pub(super) fn round(self, millis: i64, multiplier: i64, toward: Toward) -> i64 {
        let neighbours = match self {
            Self::Millis(unit) => {
                let step = unit.saturating_mul(multiplier);
                let below = millis.div_euclid(step) * step;
                Some((below, below.saturating_add(step)))
            }
            _ => self.neighbours(millis),
        };
        let Some((below, above)) = neighbours else { return millis };
        match toward {
            Toward::Down => below,
            Toward::Up if below == millis => millis,
            Toward::Up => above,
            Toward::Nearest if millis - below >= above - millis => above,
            Toward::Nearest => below,
        }
    }

    fn neighbours(self, millis: i64) -> Option<(i64, i64)> {
        let date = date_time(millis)?.date();
        let first = match self {
            Self::Week => date.checked_sub_days(Days::new(date.weekday().num_days_from_monday().into()))?,
            Self::Month => date.with_day(1)?,
            Self::Year | Self::Millis(_) => date.with_ordinal(1)?,
        };
        let next = match self {
            Self::Week => first.checked_add_days(Days::new(7))?,
            Self::Month => first.checked_add_months(Months::new(1))?,
            Self::Year | Self::Millis(_) => first.checked_add_months(Months::new(12))?,
        };
        Some((midnight(first), midnight(next)))
    }
}

/// Date and time of an instant, unless the calendar ends before.
pub(super) fn date_time(millis: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_millis(millis).map(|instant| instant.naive_utc())
}

fn midnight(date: NaiveDate) -> i64 {
    NaiveDateTime::from(date).and_utc().timestamp_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> i64 {
        let parsed = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S");
        parsed.expect("a date").and_utc().timestamp_millis()
    }

    #[test]
    fn dates_are_rounded_to_units() {
        let value = millis("2023-05-17 10:11:12");
        for (unit, toward, expected) in [
            ("DAY", Toward::Down, "2023-05-17 00:00:00"),
            ("DAY", Toward::Nearest, "2023-05-17 00:00:00"),
            ("HOUR", Toward::Up, "2023-05-17 11:00:00"),
            ("WEEK", Toward::Down, "2023-05-15 00:00:00"),
            ("MONTH", Toward::Nearest, "2023-06-01 00:00:00"),
            ("YEAR", Toward::Up, "2024-01-01 00:00:00"),
        ] {
            let unit: Unit = unit.parse().expect("a unit");
            assert_eq!(unit.round(value, 1, toward), millis(expected), "{unit:?} {toward:?}");
        }
        let six_hours = Unit::Millis(3_600_000).round(value, 6, Toward::Down);
        assert_eq!(six_hours, millis("2023-05-17 06:00:00"));
        assert!("FORTNIGHT".parse::<Unit>().is_err());
    }

    #[test]
    fn before_1970_down_is_still_down() {
        let value = millis("1969-07-20 20:17:40");
        assert_eq!(Unit::Millis(DAY_MS).round(value, 1, Toward::Down), millis("1969-07-20 00:00:00"));
        assert_eq!(Unit::Year.round(i64::MAX, 1, Toward::Down), i64::MAX);
    }
}
