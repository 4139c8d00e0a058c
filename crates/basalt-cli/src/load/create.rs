// SPDX-License-Identifier: Apache-2.0
//! `load --create`: a CREATE TABLE statement from the columns of a file.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use basalt_files::{Format, Inferred, Options, has_names, infer, of_schema, shown};

use crate::args::LoadArgs;
use crate::connection::Connection;
use crate::failure::{Failure, Result};
use crate::statement::failure;
use crate::tpch::Table;

/// Creates `table` with the columns of the file, the named ones being the primary key.
pub(crate) fn create_table(
    connection: &Connection,
    table: &str,
    file: &Path,
    key: &[String],
    options: &Options,
) -> Result<()> {
    let columns = in_key_order(columns_of(file, options)?, key, || Ok(has_names(file, options)?))?;
    let text = statement(table, &columns, key)?;
    let (session, sql) = (Arc::clone(&connection.session), text.clone());
    let outcome = connection.interruptible(async move { session.execute(&sql).await });
    match outcome {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(failure(error, &text, 0)),
        Err(interrupt) => Err(Failure::cancelled(interrupt.exit_code())),
    }
}

/// The columns of a file. A `.tbl` file has no names: those of the TPC-H table are taken that it is named after.
fn columns_of(file: &Path, options: &Options) -> anyhow::Result<Vec<Inferred>> {
    if options.format_of(file)? != Format::Tbl {
        return Ok(infer(file, options)?);
    }
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match Table::by_file_stem(&stem) {
        Some(table) => Ok(of_schema(&table.arrow_schema())?),
        None => Err(anyhow!(
            "{} has no names of columns and is not named after a TPC-H table; create the table first",
            shown(file)
        )),
    }
}

/// SQL wants the columns of the primary key in the order of the key. If the file has them in another, they go to the front, which
/// only a file with names survives.
fn in_key_order(
    mut columns: Vec<Inferred>,
    key: &[String],
    has_names: impl Fn() -> anyhow::Result<bool>,
) -> Result<Vec<Inferred>> {
    let part_of =
        |column: &Inferred| key.iter().position(|part| part.trim().eq_ignore_ascii_case(&column.name));
    if columns.iter().filter_map(part_of).is_sorted() {
        return Ok(columns);
    }
    if !has_names()? {
        return Err(Failure::input(anyhow!(
            "the primary key has its columns in another order than the file, which names none; create the table first"
        )));
    }
    // Stable: the other columns keep their order behind those of the key.
    columns.sort_by_key(|column| part_of(column).unwrap_or(usize::MAX));
    Ok(columns)
}

/// The command line lacks `--primary-key`: says so and lists the columns to choose from.
pub(super) fn primary_key_missing(args: &LoadArgs) -> Failure {
    let columns = match columns_of(&args.files[0], &args.options()) {
        Ok(columns) => columns.iter().map(|column| column.name.to_uppercase()).collect::<Vec<_>>().join(", "),
        Err(error) => return Failure::from(error),
    };
    Failure::usage(format!(
        "--create needs --primary-key A,B: the columns by which rows are sorted and told apart; {} has {columns}",
        args.files[0].display()
    ))
}

/// The CREATE TABLE statement. Names fold to upper case, as unquoted ones do in SQL.
fn statement(table: &str, columns: &[Inferred], key: &[String]) -> Result<String> {
    let is_in_key = |name: &str| key.iter().any(|part| part.trim().eq_ignore_ascii_case(name));
    for (i, part) in key.iter().enumerate() {
        let part = part.trim();
        if !columns.iter().any(|column| column.name.eq_ignore_ascii_case(part)) {
            let known =
                columns.iter().map(|column| column.name.to_uppercase()).collect::<Vec<_>>().join(", ");
            return Err(Failure::input(anyhow!(
                "the primary key has a column {part}, which the file has not; it has {known}"
            )));
        }
        if key[..i].iter().any(|earlier| earlier.trim().eq_ignore_ascii_case(part)) {
            return Err(Failure::input(anyhow!("the primary key has the column {part} twice")));
        }
    }
    let definitions = columns.iter().map(|column| {
        let not_null = if is_in_key(&column.name) { " NOT NULL" } else { "" };
        format!("{} {}{not_null}", quoted(&column.name), column.sql_type)
    });
    let key = key.iter().map(|part| quoted(part.trim())).collect::<Vec<_>>().join(", ");
    let definitions = definitions.collect::<Vec<_>>().join(", ");
    let table = table.split('.').map(quoted).collect::<Vec<_>>().join(".");
    Ok(format!("CREATE TABLE {table} ({definitions}, CONSTRAINT pk PRIMARY KEY ({key}))"))
}

/// A name in quotes, so that a column may be called `date`; in upper case unless it was quoted before.
fn quoted(name: &str) -> String {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(exact) => format!("\"{exact}\""),
        None => format!("\"{}\"", name.to_uppercase().replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests;
