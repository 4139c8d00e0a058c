// SPDX-License-Identifier: Apache-2.0
//! What there is, for clients that ask: schemas, tables, columns, keys, indexes, types. Each answer is a query over SYSTEM.CATALOG, with
//! the columns that JDBC has, in its order.

use basalt_wire::avatica::{Request, pb};

use crate::failure::Failure;

/// A question of this kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Listing {
    Catalogs,
    Schemas { schema: Option<String> },
    Tables { schema: Option<String>, table: Option<String>, types: Option<Vec<String>> },
    TableTypes,
    Columns { schema: Option<String>, table: Option<String>, column: Option<String> },
    TypeInfo,
    PrimaryKeys { schema: Option<String>, table: String },
    Indexes { schema: Option<String>, table: String, unique: bool },
}

/// The listing that a request asks for, if it does. A pattern counts if it says so or has any text.
pub(crate) fn listing(request: &Request) -> Option<Listing> {
    let pattern = |text: &str, has: bool| (has || !text.is_empty()).then(|| text.to_owned());
    Some(match request {
        Request::CatalogsRequest(_) => Listing::Catalogs,
        Request::SchemasRequest(of) => {
            Listing::Schemas { schema: pattern(&of.schema_pattern, of.has_schema_pattern) }
        }
        Request::TablesRequest(of) => Listing::Tables {
            schema: pattern(&of.schema_pattern, of.has_schema_pattern),
            table: pattern(&of.table_name_pattern, of.has_table_name_pattern),
            types: (of.has_type_list || !of.type_list.is_empty()).then(|| of.type_list.clone()),
        },
        Request::TableTypesRequest(_) => Listing::TableTypes,
        Request::ColumnsRequest(of) => Listing::Columns {
            schema: pattern(&of.schema_pattern, of.has_schema_pattern),
            table: pattern(&of.table_name_pattern, of.has_table_name_pattern),
            column: pattern(&of.column_name_pattern, of.has_column_name_pattern),
        },
        Request::TypeInfoRequest(_) => Listing::TypeInfo,
        _ => return None,
    })
}

/// The listing that the state of a statement asks for: keys and indexes, which have no requests of their own.
pub(crate) fn operation(state: &pb::QueryState) -> Result<Listing, Failure> {
    let text = |at: usize| {
        let argument = state.args.get(at)?;
        let is_text = argument.r#type() == pb::meta_data_operation_argument::ArgumentType::String;
        is_text.then(|| argument.string_value.clone())
    };
    let table = || text(2).ok_or_else(|| Failure::protocol("keys and indexes are asked for by table"));
    let schema = text(1).filter(|schema| !schema.is_empty());
    match state.op() {
        pb::MetaDataOperation::GetPrimaryKeys => Ok(Listing::PrimaryKeys { schema, table: table()? }),
        pb::MetaDataOperation::GetIndexInfo => {
            let unique = state.args.get(3).is_some_and(|argument| argument.bool_value);
            Ok(Listing::Indexes { schema, table: table()?, unique })
        }
        other => {
            Err(Failure::protocol(format!("{} is not answered as rows of a statement", other.as_str_name())))
        }
    }
}

/// JDBC's names of the letters of SYSTEM.CATALOG.
const TYPE: &str = "CASE table_type WHEN 'u' THEN 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'i' THEN 'INDEX' ELSE 'SYSTEM TABLE' END";
/// A type without its length, as JDBC has its names.
const NAME: &str = "REGEXP_REPLACE(type_name, '\\\\(.*\\\\)', '')";

impl Listing {
    /// As a query.
    pub(crate) fn sql(&self) -> String {
        match self {
            Self::Catalogs => "SELECT CAST('' AS VARCHAR) AS table_cat FROM system.catalog LIMIT 0".to_owned(),
            Self::Schemas { schema } => format!(
                "SELECT DISTINCT table_schem, CAST(NULL AS VARCHAR) AS table_catalog FROM system.catalog \
                 WHERE column_name IS NULL{} ORDER BY table_schem",
                like("table_schem", schema.as_deref())
            ),
            Self::TableTypes => "SELECT DISTINCT * FROM (VALUES ('INDEX'), ('SEQUENCE'), ('SYSTEM TABLE'), ('TABLE'), ('VIEW')) AS t (table_type) ORDER BY table_type".to_owned(),
            Self::Tables { schema, table, types } => {
                let types = types.as_ref().map_or(String::new(), |types| {
                    let listed: Vec<_> = types.iter().map(|name| quoted(name)).collect();
                    format!(" AND {TYPE} IN ({})", if listed.is_empty() { "NULL".to_owned() } else { listed.join(", ") })
                });
                format!(
                    "SELECT CAST(NULL AS VARCHAR) AS table_cat, table_schem, table_name, {TYPE} AS table_type, CAST(NULL AS VARCHAR) AS remarks, \
                     CAST(NULL AS VARCHAR) AS type_cat, CAST(NULL AS VARCHAR) AS type_schem, CAST(NULL AS VARCHAR) AS type_name, \
                     CAST(NULL AS VARCHAR) AS self_referencing_col_name, CAST(NULL AS VARCHAR) AS ref_generation, \
                     CASE index_state WHEN 'a' THEN 'ACTIVE' WHEN 'b' THEN 'BUILDING' WHEN 'i' THEN 'INACTIVE' WHEN 'x' THEN 'DISABLE' END AS index_state, \
                     view_statement FROM system.catalog WHERE table_type IS NOT NULL{}{}{types} ORDER BY 4, 2, 3",
                    like("table_schem", schema.as_deref()),
                    like("table_name", table.as_deref()),
                )
            }
            Self::Columns { schema, table, column } => format!(
                "SELECT CAST(NULL AS VARCHAR) AS table_cat, table_schem, table_name, column_name, \
                 CASE WHEN data_type > 2900 THEN 2003 ELSE data_type END AS data_type, {NAME} AS type_name, column_size, \
                 CAST(NULL AS INTEGER) AS buffer_length, decimal_digits, 10 AS num_prec_radix, nullable, CAST(NULL AS VARCHAR) AS remarks, \
                 column_def, CAST(NULL AS INTEGER) AS sql_data_type, CAST(NULL AS INTEGER) AS sql_datetime_sub, \
                 CAST(NULL AS INTEGER) AS char_octet_length, ordinal_position, CASE nullable WHEN 0 THEN 'NO' ELSE 'YES' END AS is_nullable, \
                 CAST(NULL AS VARCHAR) AS scope_catalog, CAST(NULL AS VARCHAR) AS scope_schema, CAST(NULL AS VARCHAR) AS scope_table, \
                 CAST(NULL AS SMALLINT) AS source_data_type, 'NO' AS is_autoincrement, column_family, data_type AS type_id, key_seq \
                 FROM system.catalog WHERE column_name IS NOT NULL{}{}{} ORDER BY 2, 3, 17",
                like("table_schem", schema.as_deref()),
                like("table_name", table.as_deref()),
                like("column_name", column.as_deref()),
            ),
            Self::PrimaryKeys { schema, table } => format!(
                "SELECT CAST(NULL AS VARCHAR) AS table_cat, table_schem, table_name, column_name, key_seq, CAST(NULL AS VARCHAR) AS pk_name, \
                 CASE sort_order WHEN 1 THEN 'D' ELSE 'A' END AS asc_or_desc, data_type, {NAME} AS type_name, column_size, data_type AS type_id \
                 FROM system.catalog WHERE key_seq IS NOT NULL AND table_name = {} AND {} ORDER BY column_name",
                quoted(table),
                of_schema(schema.as_deref()),
            ),
            Self::Indexes { schema, table, unique } => format!(
                "SELECT CAST(NULL AS VARCHAR) AS table_cat, c.table_schem, i.data_table_name AS table_name, x.is_unique <> 'YES' AS non_unique, \
                 CAST(NULL AS VARCHAR) AS index_qualifier, c.table_name AS index_name, CAST(3 AS SMALLINT) AS type, \
                 c.key_seq AS ordinal_position, c.column_name, CASE c.sort_order WHEN 1 THEN 'D' ELSE 'A' END AS asc_or_desc, \
                 CAST(NULL AS INTEGER) AS cardinality, CAST(NULL AS INTEGER) AS pages, CAST(NULL AS VARCHAR) AS filter_condition, \
                 c.data_type, {} AS type_name, c.data_type AS type_id \
                 FROM system.catalog AS c JOIN system.catalog AS i ON i.table_name = c.table_name AND i.table_type = 'i' \
                 AND COALESCE(i.table_schem, '-') = COALESCE(c.table_schem, '-') \
                 JOIN information_schema.indexes AS x ON x.index_name = c.table_name \
                 WHERE c.key_seq IS NOT NULL AND i.data_table_name = {} AND {}{} ORDER BY 6, 8",
                NAME.replace("type_name", "c.type_name"),
                quoted(table),
                of_schema(schema.as_deref()).replace("table_schem", "c.table_schem"),
                if *unique { " AND x.is_unique = 'YES'" } else { "" },
            ),
            Self::TypeInfo => type_info(),
        }
    }
}

/// A condition behind others, if there is a pattern. The empty one is the default schema.
fn like(column: &str, pattern: Option<&str>) -> String {
    match pattern {
        None => String::new(),
        Some("") => format!(" AND {column} IS NULL"),
        Some(pattern) => format!(" AND {column} LIKE {}", quoted(pattern)),
    }
}

fn of_schema(schema: Option<&str>) -> String {
    schema.map_or_else(
        || "table_schem IS NULL".to_owned(),
        |schema| format!("table_schem = {}", quoted(schema)),
    )
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Names and numbers of the types, with the columns of `getTypeInfo` that mean something here.
fn type_info() -> String {
    const TYPES: [(&str, i32); 23] = [
        ("BIGINT", -5),
        ("BINARY", -2),
        ("BOOLEAN", 16),
        ("CHAR", 1),
        ("DATE", 91),
        ("DECIMAL", 3),
        ("DOUBLE", 8),
        ("FLOAT", 6),
        ("INTEGER", 4),
        ("SMALLINT", 5),
        ("TIME", 92),
        ("TIMESTAMP", 93),
        ("TINYINT", -6),
        ("UNSIGNED_DATE", 19),
        ("UNSIGNED_DOUBLE", 15),
        ("UNSIGNED_FLOAT", 14),
        ("UNSIGNED_INT", 9),
        ("UNSIGNED_LONG", 10),
        ("UNSIGNED_SMALLINT", 13),
        ("UNSIGNED_TIMESTAMP", 20),
        ("UNSIGNED_TINYINT", 11),
        ("VARBINARY", -3),
        ("VARCHAR", 12),
    ];
    let rows: Vec<_> = TYPES.iter().map(|(name, number)| format!("('{name}', {number})")).collect();
    format!(
        "SELECT type_name, CAST(data_type AS INTEGER) AS data_type, CAST(NULL AS INTEGER) AS \"PRECISION\", CAST(NULL AS VARCHAR) AS literal_prefix, \
         CAST(NULL AS VARCHAR) AS literal_suffix, CAST(NULL AS VARCHAR) AS create_params, CAST(1 AS SMALLINT) AS nullable, \
         TRUE AS case_sensitive, CAST(3 AS SMALLINT) AS searchable, type_name LIKE 'UNSIGNED%' AS unsigned_attribute, FALSE AS fixed_prec_scale, \
         FALSE AS auto_increment, type_name AS local_type_name FROM (VALUES {}) AS t (type_name, data_type) ORDER BY 2",
        rows.join(", ")
    )
}

/// What clients ask once about the database itself.
pub(crate) fn properties() -> pb::DatabasePropertyResponse {
    let text = |name: &str, value: &str| pb::DatabasePropertyElement {
        key: Some(pb::DatabaseProperty { name: name.to_owned(), functions: vec![] }),
        value: Some(pb::TypedValue {
            r#type: pb::Rep::String.into(),
            string_value: value.to_owned(),
            ..pb::TypedValue::default()
        }),
    };
    let number = |name: &str, number_value: i64| pb::DatabasePropertyElement {
        key: Some(pb::DatabaseProperty { name: name.to_owned(), functions: vec![] }),
        value: Some(pb::TypedValue {
            r#type: pb::Rep::Integer.into(),
            number_value,
            ..pb::TypedValue::default()
        }),
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let props = vec![
        text("GET_NUMERIC_FUNCTIONS", "ABS,CBRT,CEIL,EXP,FLOOR,LN,LOG,POWER,RAND,ROUND,SIGN,SQRT,TRUNC"),
        text(
            "GET_STRING_FUNCTIONS",
            "INSTR,LENGTH,LOWER,LPAD,LTRIM,REGEXP_REPLACE,REGEXP_SUBSTR,REVERSE,RTRIM,SUBSTR,TRIM,UPPER",
        ),
        text("GET_SYSTEM_FUNCTIONS", "COALESCE,NVL"),
        text(
            "GET_TIME_DATE_FUNCTIONS",
            "CURRENT_DATE,CURRENT_TIME,DAYOFMONTH,HOUR,MINUTE,MONTH,NOW,SECOND,TO_CHAR,TO_DATE,WEEK,YEAR",
        ),
        text("GET_S_Q_L_KEYWORDS", "UPSERT,SALT_BUCKETS,INCLUDE"),
        number("GET_DEFAULT_TRANSACTION_ISOLATION", 2),
        text("AVATICA_VERSION", "1.26.0"),
        text("GET_DRIVER_NAME", "Basalt"),
        text("GET_DRIVER_VERSION", version),
        number("GET_DRIVER_MAJOR_VERSION", major),
        number("GET_DRIVER_MINOR_VERSION", minor),
        text("GET_DATABASE_PRODUCT_NAME", "Basalt"),
        text("GET_DATABASE_PRODUCT_VERSION", version),
        number("GET_DATABASE_MAJOR_VERSION", major),
        number("GET_DATABASE_MINOR_VERSION", minor),
    ];
    pb::DatabasePropertyResponse { props }
}
