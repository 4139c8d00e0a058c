// SPDX-License-Identifier: Apache-2.0
//! Types: what a client is told of a column or of a parameter, and in which of Avatica's forms values go.

use arrow::datatypes::{DataType, Field, Schema};
use basalt_files::type_name;
use basalt_wire::avatica::pb::{self, Rep};

/// Phoenix counts array types from here, by their elements' numbers.
const ARRAY_FIRST: i32 = 3_000;
/// `java.sql.Types.ARRAY`.
const ARRAY: i32 = 2_003;

/// A type as JDBC has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Type {
    /// Of `java.sql.Types`, or Phoenix's own.
    pub(crate) number: i32,
    /// As Phoenix writes it: `DECIMAL`, `INTEGER ARRAY`.
    pub(crate) name: String,
    /// The form in which a column is declared.
    rep: Rep,
    /// The form of a value.
    pub(crate) of_value: Rep,
    class: &'static str,
    precision: Option<u32>,
    scale: Option<u32>,
    pub(crate) element: Option<Box<Type>>,
}

impl Type {
    /// Of a SQL type as it is written: `VARCHAR(9)`, `DECIMAL(9,2)`, `UNSIGNED_INT`, `BIGINT ARRAY`.
    pub(crate) fn of_sql(written: &str) -> Self {
        if let Some(element) = written.strip_suffix(" ARRAY").or_else(|| written.strip_suffix("[]")) {
            return Self::array_of(Self::of_sql(element));
        }
        let (name, numbers) = written.split_once('(').unwrap_or((written, ""));
        let mut numbers = numbers.trim_end_matches(')').split(',').map(|number| number.trim().parse().ok());
        let (precision, scale) = (numbers.next().flatten(), numbers.next().flatten());
        let (number, rep, of_value, class) = by_name(name.trim());
        Self { number, name: name.trim().to_owned(), rep, of_value, class, precision, scale, element: None }
    }

    fn array_of(element: Self) -> Self {
        Self {
            number: ARRAY,
            name: format!("{} ARRAY", element.name),
            rep: Rep::Array,
            of_value: Rep::Array,
            class: "java.sql.Array",
            precision: None,
            scale: None,
            element: Some(Box::new(element)),
        }
    }

    /// Of a column of an answer.
    pub(crate) fn of_field(field: &Field) -> Self {
        match field.data_type() {
            DataType::List(element) | DataType::LargeList(element) if !is_declared(field) => {
                Self::array_of(Self::of_field(element))
            }
            _ => Self::of_sql(&type_name(field)),
        }
    }

    /// Elements of arrays are objects to Java, for they may be NULL.
    fn message(&self, is_element: bool) -> pb::AvaticaType {
        pb::AvaticaType {
            id: self.number as u32,
            name: self.name.clone(),
            rep: if is_element { self.of_value } else { self.rep }.into(),
            component: self.element.as_ref().map(|element| Box::new(element.message(true))),
        }
    }

    fn is_signed(&self) -> bool {
        matches!(
            self.of_value,
            Rep::Byte | Rep::Short | Rep::Integer | Rep::Long | Rep::Float | Rep::Double | Rep::BigDecimal
        ) && !self.name.starts_with("UNSIGNED")
            && !matches!(self.number, 91..=93)
    }

    /// What a client is told of a parameter.
    pub(crate) fn parameter(&self, position: usize) -> pb::AvaticaParameter {
        let number = match &self.element {
            Some(element) => ARRAY_FIRST + element.number,
            None => self.number,
        };
        pb::AvaticaParameter {
            signed: self.is_signed(),
            precision: self.precision.unwrap_or(0),
            scale: self.scale.unwrap_or(0),
            parameter_type: number as u32,
            type_name: self.name.clone(),
            class_name: self.class.to_owned(),
            name: format!("?{}", position + 1),
        }
    }
}

fn is_declared(field: &Field) -> bool {
    type_name(field).ends_with("ARRAY")
}

/// Number, form of the column, form of its values, Java's class.
fn by_name(name: &str) -> (i32, Rep, Rep, &'static str) {
    match name {
        "BOOLEAN" => (16, Rep::PrimitiveBoolean, Rep::Boolean, "java.lang.Boolean"),
        "TINYINT" => (-6, Rep::PrimitiveByte, Rep::Byte, "java.lang.Byte"),
        "UNSIGNED_TINYINT" => (11, Rep::PrimitiveByte, Rep::Byte, "java.lang.Byte"),
        "SMALLINT" => (5, Rep::PrimitiveShort, Rep::Short, "java.lang.Short"),
        "UNSIGNED_SMALLINT" => (13, Rep::PrimitiveShort, Rep::Short, "java.lang.Short"),
        "INTEGER" => (4, Rep::PrimitiveInt, Rep::Integer, "java.lang.Integer"),
        "UNSIGNED_INT" => (9, Rep::PrimitiveInt, Rep::Integer, "java.lang.Integer"),
        "BIGINT" => (-5, Rep::PrimitiveLong, Rep::Long, "java.lang.Long"),
        "UNSIGNED_LONG" => (10, Rep::PrimitiveLong, Rep::Long, "java.lang.Long"),
        // A REAL would be read wrongly by Python's client; FLOAT is wide enough for any.
        "FLOAT" => (6, Rep::PrimitiveDouble, Rep::Double, "java.lang.Double"),
        "UNSIGNED_FLOAT" => (14, Rep::PrimitiveDouble, Rep::Double, "java.lang.Double"),
        "DOUBLE" => (8, Rep::PrimitiveDouble, Rep::Double, "java.lang.Double"),
        "UNSIGNED_DOUBLE" => (15, Rep::PrimitiveDouble, Rep::Double, "java.lang.Double"),
        "DECIMAL" => (3, Rep::Number, Rep::BigDecimal, "java.math.BigDecimal"),
        "DATE" => (91, Rep::PrimitiveInt, Rep::Integer, "java.sql.Date"),
        "UNSIGNED_DATE" => (19, Rep::PrimitiveInt, Rep::Integer, "java.sql.Date"),
        "TIME" => (92, Rep::PrimitiveInt, Rep::Integer, "java.sql.Time"),
        "UNSIGNED_TIME" => (18, Rep::PrimitiveInt, Rep::Integer, "java.sql.Time"),
        "TIMESTAMP" => (93, Rep::PrimitiveLong, Rep::Long, "java.sql.Timestamp"),
        "UNSIGNED_TIMESTAMP" => (20, Rep::PrimitiveLong, Rep::Long, "java.sql.Timestamp"),
        "CHAR" => (1, Rep::String, Rep::String, "java.lang.String"),
        "BINARY" => (-2, Rep::ByteString, Rep::ByteString, "[B"),
        "VARBINARY" => (-3, Rep::ByteString, Rep::ByteString, "[B"),
        // Whatever there may be besides goes as text.
        _ => (12, Rep::String, Rep::String, "java.lang.String"),
    }
}

/// What a client is told of a statement: its columns, if it answers rows, and its parameters.
pub(crate) fn signature(
    sql: &str,
    columns: Option<&Schema>,
    parameters: Vec<pb::AvaticaParameter>,
) -> pb::Signature {
    let columns = columns.map_or(vec![], |schema| {
        schema.fields().iter().enumerate().map(|(at, field)| column(at, field)).collect()
    });
    pb::Signature {
        columns,
        sql: sql.to_owned(),
        parameters,
        cursor_factory: Some(pb::CursorFactory { style: pb::cursor_factory::Style::List.into() }),
        statement_type: statement_type(sql).into(),
    }
}

fn column(at: usize, field: &Field) -> pb::ColumnMetaData {
    let of = Type::of_field(field);
    let shown = of.precision.unwrap_or(40);
    pb::ColumnMetaData {
        ordinal: at as u32,
        case_sensitive: of.rep == Rep::String,
        searchable: true,
        nullable: u32::from(field.is_nullable()),
        signed: of.is_signed(),
        display_size: shown,
        label: field.name().clone(),
        column_name: field.name().clone(),
        precision: of.precision.unwrap_or(0),
        scale: of.scale.unwrap_or(0),
        read_only: true,
        column_class_name: of.class.to_owned(),
        r#type: Some(of.message(false)),
        ..pb::ColumnMetaData::default()
    }
}

/// By the first word.
fn statement_type(sql: &str) -> pb::StatementType {
    use pb::StatementType::{Alter, Create, Delete, Drop, Insert, Merge, OtherDdl, Select, Update, Upsert};
    let word: String = words(sql).chars().take_while(char::is_ascii_alphabetic).collect();
    match word.to_ascii_uppercase().as_str() {
        "UPSERT" => Upsert,
        "INSERT" => Insert,
        "UPDATE" => Update,
        "DELETE" => Delete,
        "MERGE" => Merge,
        "CREATE" => Create,
        "DROP" => Drop,
        "ALTER" => Alter,
        "TRUNCATE" | "USE" | "DECLARE" | "OPEN" | "CLOSE" | "COPY" | "ANALYZE" => OtherDdl,
        _ => Select,
    }
}

/// The text from its first word on: without blanks, comments and parentheses before it.
fn words(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        let text = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        rest = if let Some(comment) = text.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, behind)| behind)
        } else if let Some(comment) = text.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, behind)| behind)
        } else {
            return text;
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_by_their_text() {
        for (written, number, precision, scale) in [
            ("VARCHAR(9)", 12, Some(9), None),
            ("DECIMAL(9,2)", 3, Some(9), Some(2)),
            ("DECIMAL(9, 2)", 3, Some(9), Some(2)),
            ("UNSIGNED_LONG", 10, None, None),
            ("JSON", 12, None, None),
        ] {
            let found = Type::of_sql(written);
            assert_eq!((found.number, found.precision, found.scale), (number, precision, scale), "{written}");
        }
        let array = Type::of_sql("BIGINT ARRAY");
        assert_eq!((array.number, array.parameter(0).parameter_type as i32), (2_003, 2_995));
    }

    #[test]
    fn the_first_word_tells_what_a_statement_is() {
        for (sql, found) in [
            ("select 1", pb::StatementType::Select),
            (" -- why\n /* x */ (SELECT 1)", pb::StatementType::Select),
            ("/*+ hint */ upsert into t values (1)", pb::StatementType::Upsert),
            ("Drop table t", pb::StatementType::Drop),
            ("", pb::StatementType::Select),
        ] {
            assert_eq!(statement_type(sql), found, "{sql}");
        }
    }
}
