// SPDX-License-Identifier: Apache-2.0
//! Sequences: `CREATE SEQUENCE`, `NEXT VALUE FOR`, `NEXT n VALUES FOR`, `CURRENT VALUE FOR`.
//!
//! A sequence is a row of SYSTEM.SEQUENCE in Phoenix's layout. Values are taken from it in blocks: one atomic
//! change of the row moves CURRENT_VALUE behind the block ([`record`], pure; [`table`], the row), and the engine
//! deals the block out to its sessions ([`dealer`]). What is left of a block when the engine closes is given back
//! if nobody took values since; else it is a gap, as in Phoenix.
//!
//! In a query, one row of the result gets one value, however often it is mentioned. That is why the calls are not
//! functions: [`place`] puts a node below the projection that mentions sequences; the node adds one column per
//! sequence ([`node`]), and the calls become references to these columns. Anywhere but in a select list a call is
//! refused, as by Phoenix.

mod dealer;
mod node;
mod place;
mod record;
mod table;

pub(crate) use dealer::{Currents, Dealer};
pub(crate) use node::SequencePlanner;
pub(crate) use place::{Call, call_of, current, functions, place};
pub(crate) use record::Record;
pub(crate) use table::{SequenceName, before_the_first, create, drop};

use crate::dialect::CreateSequence;
use crate::error::{SqlError, code};

/// The sequence that a statement asks for, after filling in defaults and checking limits.
pub(crate) fn define(statement: &CreateSequence) -> Result<Record, SqlError> {
    let increment = statement.increment.unwrap_or(1);
    let (min, max) = (statement.min.unwrap_or(i64::MIN), statement.max.unwrap_or(i64::MAX));
    if increment == 0 {
        return Err(SqlError::coded(code::SEQUENCE_INCREMENT_ZERO, "INCREMENT BY must not be 0"));
    }
    if min > max {
        return Err(SqlError::coded(
            code::SEQUENCE_MIN_ABOVE_MAX,
            format!("MINVALUE {min} is above MAXVALUE {max}"),
        ));
    }
    let limited = statement.min.is_some() || statement.max.is_some();
    let start = statement.start.unwrap_or(match (limited, increment > 0) {
        (false, _) => 1,
        (true, true) => min,
        (true, false) => max,
    });
    if start < min || start > max {
        let message = format!("START WITH {start} is not between MINVALUE {min} and MAXVALUE {max}");
        return Err(SqlError::coded(code::SEQUENCE_START_RANGE, message));
    }
    let cache = match statement.cache {
        None => Record::CACHE_DEFAULT,
        Some(cache) if cache < 0 => {
            let message = format!("CACHE must not be negative; found {cache}");
            return Err(SqlError::coded(code::PARSER_ERROR, message));
        }
        Some(cache) => cache.max(1),
    };
    Ok(Record {
        start,
        current: start,
        increment,
        cache,
        min,
        max,
        cycle: statement.cycle,
        limit_reached: false,
    })
}

#[cfg(test)]
mod tests;
