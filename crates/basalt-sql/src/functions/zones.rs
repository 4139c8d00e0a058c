// SPDX-License-Identifier: Apache-2.0
//! Time zones by name (`Europe/Berlin`) or offset (`GMT+01:00`): CONVERT_TZ, TIMEZONE_OFFSET.

use std::str::FromStr;
use std::sync::Arc;

use chrono::{Duration, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, StringArray, TimestampMillisecondArray,
};
use datafusion::arrow::datatypes::{DataType, TimeUnit, TimestampMillisecondType};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::calendar::date_time;
use super::date_format::offset_minutes;
use super::plain::{Plain, count, is_text};

const MILLIS: DataType = DataType::Timestamp(TimeUnit::Millisecond, None);

/// A time zone.
#[derive(Debug, Clone, Copy)]
pub(super) enum Zone {
    /// Minutes east of UTC.
    Fixed(i64),
    Named(Tz),
}

impl Zone {
    /// The zone of this name; `None` if there is none.
    pub(super) fn named(name: &str) -> Option<Self> {
        match offset_minutes(name) {
            Some(minutes) => Some(Self::Fixed(minutes)),
            None => Tz::from_str(name).ok().map(Self::Named),
        }
    }

    /// Seconds between UTC and the zone's clock, at a moment in UTC.
    fn offset_at(self, moment: NaiveDateTime) -> i64 {
        match self {
            Self::Fixed(minutes) => minutes * 60,
            Self::Named(zone) => i64::from(zone.offset_from_utc_datetime(&moment).fix().local_minus_utc()),
        }
    }

    /// The same when the zone's clock shows `clock`. An hour that the clock shows twice is the first one; one that it leaves
    /// out counts as before the change.
    pub(super) fn offset_of_clock(self, clock: NaiveDateTime) -> i64 {
        match self {
            Self::Fixed(minutes) => minutes * 60,
            Self::Named(zone) => match zone.offset_from_local_datetime(&clock).earliest() {
                Some(offset) => i64::from(offset.fix().local_minus_utc()),
                None => self.offset_at(clock - Duration::days(1)),
            },
        }
    }
}

/// CONVERT_TZ(date, from, to), TIMEZONE_OFFSET(zone, date) in minutes.
pub(super) fn functions() -> [ScalarUDF; 2] {
    let coerce_convert = |name: &str, found: &[DataType]| {
        count(name, found, 3, 3)?;
        check(name, &found[0], &found[1..])?;
        Ok(vec![MILLIS, DataType::Utf8, DataType::Utf8])
    };
    let coerce_offset = |name: &str, found: &[DataType]| {
        count(name, found, 2, 2)?;
        check(name, &found[1], &found[..1])?;
        Ok(vec![DataType::Utf8, MILLIS])
    };
    [
        Plain::function("convert_tz", coerce_convert, |_| MILLIS, convert),
        Plain::function("timezone_offset", coerce_offset, |_| DataType::Int32, offset),
    ]
}

fn check(name: &str, date: &DataType, zones: &[DataType]) -> Result<()> {
    let is_date = matches!(date, DataType::Timestamp(..) | DataType::Null);
    if !is_date || !zones.iter().all(is_text) {
        return plan_err!("{} takes a date and names of time zones", name.to_uppercase());
    }
    Ok(())
}

fn column(args: &ScalarFunctionArgs, index: usize) -> Result<ArrayRef> {
    args.args[index].to_array(args.number_rows)
}

fn zone(names: &StringArray, row: usize) -> Result<Option<Zone>> {
    if names.is_null(row) {
        return Ok(None);
    }
    let name = names.value(row);
    match Zone::named(name) {
        Some(zone) => Ok(Some(zone)),
        None => exec_err!("there is no time zone {name}; write Europe/Berlin or GMT+01:00"),
    }
}

fn convert(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (dates, from, to) = (column(args, 0)?, column(args, 1)?, column(args, 2)?);
    let dates = dates.as_primitive::<TimestampMillisecondType>();
    let (from, to) = (from.as_string(), to.as_string());
    let mut converted = Vec::with_capacity(dates.len());
    for row in 0..dates.len() {
        let zones = zone(from, row)?.zip(zone(to, row)?);
        let clock = dates.is_valid(row).then(|| date_time(dates.value(row))).flatten();
        converted.push(zones.zip(clock).map(|((from, to), clock)| {
            let moment = clock - Duration::seconds(from.offset_of_clock(clock));
            (moment + Duration::seconds(to.offset_at(moment))).and_utc().timestamp_millis()
        }));
    }
    Ok(ColumnarValue::Array(Arc::new(TimestampMillisecondArray::from(converted))))
}

fn offset(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (names, dates) = (column(args, 0)?, column(args, 1)?);
    let (names, dates) = (names.as_string(), dates.as_primitive::<TimestampMillisecondType>());
    let mut minutes = Vec::with_capacity(dates.len());
    for row in 0..dates.len() {
        let moment = dates.is_valid(row).then(|| date_time(dates.value(row))).flatten();
        minutes
            .push(zone(names, row)?.zip(moment).map(|(zone, moment)| (zone.offset_at(moment) / 60) as i32));
    }
    Ok(ColumnarValue::Array(Arc::new(Int32Array::from(minutes))))
}
