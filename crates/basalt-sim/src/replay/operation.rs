// SPDX-License-Identifier: Apache-2.0
//! Carries one recorded operation out.

use anyhow::{Result, bail};
use basalt_model::Mutation;
use basalt_store::{Error, Row, Table};
use serde_json::{Value, json};

use super::client::{self, Asked};
use super::{Place, answer, parse};

/// The answer, in recorded form.
pub(super) fn run(place: &mut Place, of: &Value) -> Result<Value> {
    let table = &place.table;
    Ok(match of["op"].as_str().unwrap_or_default() {
        "flush" => done(table.flush()),
        "major_compact" => done(table.major_compact()),
        "split" => split(table, &parse::hex(&of["row"])?)?,
        "merge" => merge(table)?,
        "check_and_mutate" => match table.check_and_mutate(&parse::check_and_mutate(of)?) {
            Ok(outcome) if outcome.applied => checked(&of["mutation"], &outcome.row),
            Ok(_) => json!({"success": false, "cells": null}),
            Err(error) => answer::error(&error),
        },
        "batch" => batch(table, of)?,
        "scan" => match scan(place, of)? {
            Ok(rows) => rows.iter().map(answer::cells).collect(),
            Err(error) => answer::error(&error),
        },
        _ => match action(table, of, false)? {
            Ok(answer) => answer,
            Err(error) => answer::error(&error),
        },
    })
}

fn scan(place: &mut Place, of: &Value) -> Result<Result<Vec<Row>, Error>> {
    let mut scan = parse::scan(of)?;
    let asked = match (scan.limit, scan.batch) {
        (Some(limit), Some(batch)) => Some(Asked {
            limit,
            batch: batch as usize,
            caching: of["caching"].as_u64().map_or(usize::MAX, |caching| caching as usize),
        }),
        _ => None,
    };
    if asked.is_some() {
        scan.limit = None;
    }
    let mut rows = match place.table.scan(&scan) {
        Ok(rows) => rows,
        Err(error) => return Ok(Err(error)),
    };
    let found = match &asked {
        Some(asked) => client::limited(&mut rows, asked),
        None => rows.by_ref().collect(),
    };
    if let Err(Error::Filter(_)) = &found {
        place.abandoned.push(rows);
    }
    Ok(found)
}

fn batch(table: &Table, of: &Value) -> Result<Value> {
    let Some(actions) = of["actions"].as_array() else { bail!("a batch without actions") };
    // A filter that cannot be is refused before anything is sent.
    for get in actions.iter().filter(|of| of["op"] == "get") {
        let filter = parse::get(get)?.options.filter;
        if let Some(Err(error)) = filter.map(|filter| filter.check()) {
            return Ok(answer::error(&Error::BadFilter(error)));
        }
    }
    let mut answers = Vec::with_capacity(actions.len());
    for of in actions {
        match action(table, of, true)? {
            Ok(answer) => answers.push(answer),
            // HBase's server breaks the whole call off; what came before in the list is done.
            Err(error @ Error::Filter(_)) => {
                return Ok(actions.iter().map(|_| answer::error(&error)).collect());
            }
            Err(error) => answers.push(answer::error(&error)),
        }
    }
    Ok(Value::Array(answers))
}

/// Splits the region of a row there; says whether it could be.
fn split(table: &Table, row: &[u8]) -> Result<Value> {
    let (db, id) = (table.database(), table.id());
    let regions = db.regions(id)?;
    let region = regions.iter().rfind(|region| *region.range.start <= *row);
    let Some(region) = region.filter(|region| region.range.start != row) else { return Ok(json!(false)) };
    db.split_region(id, region.id, Some(row))?;
    Ok(json!(true))
}

/// Merges the first two regions; says whether there were two.
fn merge(table: &Table) -> Result<Value> {
    let (db, id) = (table.database(), table.id());
    let [first, second, ..] = &db.regions(id)?[..] else { return Ok(json!(false)) };
    db.merge_regions(id, [first.id, second.id])?;
    Ok(json!(true))
}

fn done(result: Result<(), Error>) -> Value {
    match result {
        Ok(()) => Value::Null,
        Err(error) => answer::error(&error),
    }
}

/// An operation on one row. A batch answers puts and deletes with an empty list of cells, not with null.
fn action(table: &Table, of: &Value, in_batch: bool) -> Result<Result<Value, Error>> {
    let op = of["op"].as_str().unwrap_or_default();
    Ok(match op {
        "get" => {
            let get = parse::get(of)?;
            if of["existence_only"] == true {
                table.exists(&get).map(Value::Bool)
            } else {
                table.get(&get).map(|row| answer::cells(&row))
            }
        }
        "row_mutations" => table.mutate_row(parse::mutations(of)?).map(|row| answer::cells(&row)),
        "put" | "delete" => {
            table.mutate_row([parse::mutation(of)?]).map(|_| if in_batch { json!([]) } else { Value::Null })
        }
        "increment" | "append" => {
            let mutation: Mutation = parse::mutation(of)?;
            table.mutate_row([mutation]).map(|row| results(of, &row))
        }
        other => bail!("not an operation: {other}"),
    })
}

/// What a conditional change that was made answers: cells only where there can be any.
fn checked(mutation: &Value, row: &Row) -> Value {
    let gives = mutation["op"] == "increment" || mutation["op"] == "append";
    let cells = if gives { results(mutation, row) } else { Value::Null };
    json!({"success": true, "cells": cells})
}

/// New values, unless the caller did not want them.
fn results(of: &Value, row: &Row) -> Value {
    if of["return_results"] == false { json!([]) } else { answer::cells(row) }
}
