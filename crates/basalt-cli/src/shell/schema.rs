// SPDX-License-Identifier: Apache-2.0
//! A table as the CREATE TABLE statement that makes it.

use basalt::{ColumnRef, SortOrder, TableDescriptor, TableSchema};

/// The statement, over several lines. A table that was made without SQL is a remark.
pub(super) fn create_statement(table: &TableDescriptor) -> String {
    let Some(schema) = &table.schema else {
        return format!("-- {} was made without SQL and has no columns", table.name);
    };
    let mut lines: Vec<String> = schema.declared.iter().map(|&column| definition(schema, column)).collect();
    let key: Vec<String> = schema
        .key
        .iter()
        .map(|column| {
            format!("{}{}", quoted(&column.name), if column.order == SortOrder::Desc { " DESC" } else { "" })
        })
        .collect();
    lines.push(format!("CONSTRAINT pk PRIMARY KEY ({})", key.join(", ")));
    let name = table.name.to_string().split('.').map(quoted).collect::<Vec<_>>().join(".");
    format!("CREATE TABLE {name} (\n    {}\n);", lines.join(",\n    "))
}

fn definition(schema: &TableSchema, column: ColumnRef) -> String {
    let (name, sql_type, nullable, default) = match column {
        ColumnRef::Key(i) => {
            let column = &schema.key[i];
            (quoted(&column.name), column.sql_type, column.nullable, None)
        }
        ColumnRef::Column(i) => {
            let column = &schema.columns[i];
            let family = if column.family == schema.empty_family && column.family == "0" {
                String::new()
            } else {
                format!("{}.", quoted(&column.family))
            };
            (family + &quoted(&column.name), column.sql_type, column.nullable, column.default_sql.as_ref())
        }
    };
    let not_null = if nullable { "" } else { " NOT NULL" };
    let default = default.map_or(String::new(), |sql| format!(" DEFAULT {sql}"));
    format!("{name} {sql_type}{default}{not_null}")
}

/// Quoted only where SQL needs it.
fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && !super::words::KEYWORDS.contains(&name);
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
