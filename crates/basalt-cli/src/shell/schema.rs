// SPDX-License-Identifier: Apache-2.0
//! A table or index as the statement that makes it.

use basalt::{ColumnRef, IndexDescriptor, IndexPart, IndexSource, SortOrder, TableDescriptor, TableSchema};

/// The statement that makes an index again.
fn create_index(table: &TableDescriptor, index: &IndexDescriptor) -> String {
    let column = |family: Option<&str>, name: &str| match family {
        Some(family) if family != "0" => format!("{}.{}", quoted(family), quoted(name)),
        _ => quoted(name),
    };
    let part = |part: &IndexPart| {
        let value = match &part.source {
            IndexSource::Column(family, name) => column(family.as_deref(), name),
            IndexSource::Expression(text) => text.clone(),
        };
        value + if part.order == SortOrder::Desc { " DESC" } else { "" }
    };
    let parts: Vec<String> = index.parts.iter().map(part).collect();
    let included = index.copies.iter().filter(|copy| copy.family.is_some());
    let included: Vec<String> = included.map(|copy| column(copy.family.as_deref(), &copy.name)).collect();
    let kind = match (index.local, index.unique) {
        (true, true) => "LOCAL UNIQUE INDEX",
        (true, false) => "LOCAL INDEX",
        (false, true) => "UNIQUE INDEX",
        (false, false) => "INDEX",
    };
    let on = index.on.to_string().split('.').map(quoted).collect::<Vec<_>>().join(".");
    let mut text = format!("CREATE {kind} {} ON {on} ({})", quoted(&table.name.name), parts.join(", "));
    if !included.is_empty() {
        text += &format!(" INCLUDE ({})", included.join(", "));
    }
    if let Some(condition) = &index.condition {
        text += &format!(" WHERE {condition}");
    }
    text + ";"
}

/// The statement, over several lines. A table that was made without SQL is a remark.
pub(super) fn create_statement(table: &TableDescriptor) -> String {
    if let Some(index) = &table.index {
        return create_index(table, index);
    }
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
