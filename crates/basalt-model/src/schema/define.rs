// SPDX-License-Identifier: Apache-2.0
//! From column definitions, as CREATE TABLE has them, to a [`TableSchema`]: families, qualifier numbers, the
//! empty cell, and every rule that Phoenix has for primary keys.
//!
//! Qualifiers are counted from 11 over all families of a table, in declaration order, and written in
//! COLUMN_ENCODED_BYTES bytes; the numbers 0 to 10 are reserved and always take four bytes:
//!
//! ```text
//! bytes   first column (11)   limit           empty cell
//! 0       its name            none            5f30 ("_0")
//! 1       8b                  255             00000000
//! 2       800b                65,535          00000000
//! 3       00000b              16,777,215      00000000
//! 4       0000000b            2,147,483,647   00000000
//! ```

use std::collections::BTreeMap;

use super::{ColumnRef, ColumnSchema, KeyColumn, SortOrder, TableSchema};
use crate::FAMILY_LEN_MAX;
use crate::table::FamilyDescriptor;
use crate::types::{SqlType, decimal};

/// The number of a table's first column.
pub const QUALIFIER_FIRST: u32 = 11;
/// The family of columns that name none.
pub const DEFAULT_FAMILY: &str = "0";
/// Bytes of a qualifier where the table does not say.
pub const QUALIFIER_BYTES_DEFAULT: u8 = 2;

/// One column as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Column name, upper case unless it was quoted.
    pub name: String,
    /// Family, if the column was declared as `family.name`.
    pub family: Option<String>,
    /// Declared type.
    pub sql_type: SqlType,
    /// True for NOT NULL.
    pub not_null: bool,
    /// Source text of DEFAULT.
    pub default_sql: Option<String>,
    /// The bytes of its value.
    pub default_value: Option<Vec<u8>>,
}

impl ColumnDefinition {
    /// A nullable column without a default, in the default family.
    pub fn new(name: impl Into<String>, sql_type: SqlType) -> Self {
        Self {
            name: name.into(),
            family: None,
            sql_type,
            not_null: false,
            default_sql: None,
            default_value: None,
        }
    }

    /// The same column, NOT NULL.
    pub fn not_null(mut self) -> Self {
        self.not_null = true;
        self
    }

    /// The same column in a family.
    pub fn in_family(mut self, family: impl Into<String>) -> Self {
        self.family = Some(family.into());
        self
    }
}

/// One column of PRIMARY KEY (…).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    /// Column name.
    pub name: String,
    /// ASC or DESC.
    pub order: SortOrder,
}

impl KeyPart {
    /// An ascending key column.
    pub fn asc(name: impl Into<String>) -> Self {
        Self { name: name.into(), order: SortOrder::Asc }
    }

    /// A descending key column.
    pub fn desc(name: impl Into<String>) -> Self {
        Self { name: name.into(), order: SortOrder::Desc }
    }
}

/// What CREATE TABLE says about columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaDefinition {
    /// All columns in the order declared.
    pub columns: Vec<ColumnDefinition>,
    /// The primary key in key order.
    pub key: Vec<KeyPart>,
    /// DEFAULT_COLUMN_FAMILY, else [`DEFAULT_FAMILY`].
    pub default_family: Option<String>,
    /// COLUMN_ENCODED_BYTES: 0 to 4.
    pub qualifier_bytes: u8,
    /// Names of the key columns declared ROW_TIMESTAMP; there can be one.
    pub row_timestamp: Vec<String>,
}

impl SchemaDefinition {
    /// A definition with Phoenix's defaults.
    pub fn new(columns: Vec<ColumnDefinition>, key: Vec<KeyPart>) -> Self {
        let qualifier_bytes = QUALIFIER_BYTES_DEFAULT;
        Self { columns, key, default_family: None, qualifier_bytes, row_timestamp: vec![] }
    }
}

/// Why a table cannot have these columns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// No PRIMARY KEY.
    #[error("a table needs a primary key")]
    NoKey,
    /// PRIMARY KEY names a column that is not declared.
    #[error("primary key column {name} is not a column of the table")]
    UnknownKeyColumn {
        /// The name.
        name: String,
    },
    /// PRIMARY KEY names a column twice.
    #[error("primary key names column {name} twice")]
    RepeatedKeyColumn {
        /// The name.
        name: String,
    },
    /// PRIMARY KEY in another order than the columns.
    #[error("primary key columns must be in the order of their declaration; {name} is not")]
    KeyOrder {
        /// The first column out of order.
        name: String,
    },
    /// A nullable INTEGER, CHAR, DATE, … in a key of several columns.
    #[error("primary key column {name} of type {sql_type} must be NOT NULL, since it has a fixed width")]
    NullableFixedWidth {
        /// The column.
        name: String,
        /// Its type.
        sql_type: SqlType,
    },
    /// VARBINARY or an array before the end of a key.
    #[error("column {name} of type {sql_type} must be the last one of the primary key")]
    VarbinaryNotLast {
        /// The column.
        name: String,
        /// Its type.
        sql_type: SqlType,
    },
    /// JSON in a key: the same value can be written in many ways.
    #[error("column {name} of type JSON cannot be in a key; JSON_VALUE({name}, '$.member') in an index can")]
    JsonInKey {
        /// The column.
        name: String,
    },
    /// An array in a key, DESC.
    #[error("primary key column {name} of type {sql_type} cannot be DESC")]
    DescendingArray {
        /// The column.
        name: String,
        /// Its type.
        sql_type: SqlType,
    },
    /// A NOT NULL or fixed-width column that comes to a key later.
    #[error(
        "column {name} cannot come to the primary key, whose rows have no value for it: only nullable columns of variable width can"
    )]
    AppendedNotNull {
        /// The column.
        name: String,
    },
    /// ROW_TIMESTAMP for two columns.
    #[error("only one column can be the ROW_TIMESTAMP; {name} is a second one")]
    RepeatedRowTimestamp {
        /// The second column.
        name: String,
    },
    /// ROW_TIMESTAMP of a type that is no time.
    #[error(
        "column {name} of type {sql_type} cannot be the ROW_TIMESTAMP: only DATE, TIME, TIMESTAMP, BIGINT and UNSIGNED_LONG can, and the unsigned forms of the former"
    )]
    RowTimestampType {
        /// The column.
        name: String,
        /// Its type.
        sql_type: SqlType,
    },
    /// ROW_TIMESTAMP with a DEFAULT.
    #[error(
        "column {name} is the ROW_TIMESTAMP and cannot have a DEFAULT: where it is left out it is the time of the statement"
    )]
    RowTimestampDefault {
        /// The column.
        name: String,
    },
    /// A key column with a family.
    #[error("primary key column {name} may not have a column family; found {family}")]
    KeyFamily {
        /// The column.
        name: String,
        /// The family given.
        family: String,
    },
    /// Two columns of one name.
    #[error("column {name} is declared twice")]
    DuplicateColumn {
        /// The name, with its family.
        name: String,
    },
    /// A column without a name.
    #[error("a column has an empty name")]
    EmptyName,
    /// A family name that no store file can have.
    #[error(
        "column family name {name:?} must have 1 to {FAMILY_LEN_MAX} bytes, none of them ':', '/' or a control character, and \
         no dot at the front"
    )]
    FamilyName {
        /// The name.
        name: String,
    },
    /// CHAR(0), BINARY(0), VARCHAR(0), …
    #[error("column {name}: the length of {sql_type} must be at least 1")]
    ZeroLength {
        /// The column.
        name: String,
        /// Its type.
        sql_type: SqlType,
    },
    /// DECIMAL with impossible precision or scale.
    #[error(
        "column {name}: {sql_type} must have a precision of 1 to 38 and a scale of 0 up to the precision"
    )]
    Precision {
        /// The column.
        name: String,
        /// Its type.
        sql_type: SqlType,
    },
    /// COLUMN_ENCODED_BYTES other than 0 to 4.
    #[error("COLUMN_ENCODED_BYTES must be 0 (NONE), 1, 2, 3 or 4; found {found}")]
    QualifierBytes {
        /// The number given.
        found: u8,
    },
    /// More columns than COLUMN_ENCODED_BYTES can number.
    #[error("column {name} is one too many for COLUMN_ENCODED_BYTES = {qualifier_bytes}")]
    TooManyColumns {
        /// The first column without a number.
        name: String,
        /// Bytes of a qualifier.
        qualifier_bytes: u8,
    },
    /// DROP COLUMN of a key column.
    #[error("primary key column {name} cannot be dropped")]
    DropKeyColumn {
        /// The column.
        name: String,
    },
}

impl SchemaError {
    /// Phoenix's error code, where it has one.
    pub fn phoenix_code(&self) -> Option<u16> {
        Some(match self {
            Self::NoKey => 509,
            Self::RepeatedKeyColumn { .. } => 1007,
            Self::KeyOrder { .. } => 1004,
            Self::VarbinaryNotLast { .. } => 1005,
            Self::AppendedNotNull { .. } => 1006,
            Self::RepeatedRowTimestamp { .. } => 527,
            Self::RowTimestampType { .. } => 530,
            Self::RowTimestampDefault { .. } => 1032,
            Self::KeyFamily { .. } => 1003,
            Self::DuplicateColumn { .. } => 514,
            Self::ZeroLength { .. } => 208,
            Self::Precision { .. } => 209,
            Self::DropKeyColumn { .. } => 506,
            _ => return None,
        })
    }
}

/// The bytes of qualifier number `number`, or `None` if `bytes` bytes cannot hold it.
pub fn numbered_qualifier(number: u32, bytes: u8) -> Option<Vec<u8>> {
    if number < QUALIFIER_FIRST {
        return Some(number.to_be_bytes().to_vec());
    }
    Some(match bytes {
        1 => vec![u8::try_from(number).ok()? ^ 0x80],
        2 => (u16::try_from(number).ok()? ^ 0x8000).to_be_bytes().to_vec(),
        3 if number <= 0x00ff_ffff => number.to_be_bytes()[1..].to_vec(),
        4 if number <= i32::MAX as u32 => number.to_be_bytes().to_vec(),
        _ => return None,
    })
}

impl TableSchema {
    /// The schema of some column definitions.
    ///
    /// ```
    /// use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
    /// use basalt_model::{SqlType, TableSchema};
    ///
    /// let columns = vec![
    ///     ColumnDefinition::new("PK", SqlType::Integer),
    ///     ColumnDefinition::new("V1", SqlType::Float),
    /// ];
    /// let schema = TableSchema::try_new(SchemaDefinition::new(columns, vec![KeyPart::asc("PK")])).unwrap();
    /// assert_eq!(schema.columns[0].qualifier, [0x80, 0x0b]);
    /// ```
    pub fn try_new(definition: SchemaDefinition) -> Result<Self, SchemaError> {
        let SchemaDefinition { columns, key, default_family, qualifier_bytes, row_timestamp } = definition;
        if qualifier_bytes > 4 {
            return Err(SchemaError::QualifierBytes { found: qualifier_bytes });
        }
        let default_family = default_family.unwrap_or_else(|| DEFAULT_FAMILY.to_owned());
        check_family(&default_family)?;
        let empty_qualifier = match qualifier_bytes {
            0 => b"_0".to_vec(),
            _ => vec![0; 4],
        };
        let mut schema = TableSchema {
            key: key_columns(&columns, &key)?,
            columns: Vec::new(),
            declared: Vec::new(),
            empty_family: default_family.clone(),
            empty_qualifier,
            qualifier_next: QUALIFIER_FIRST,
            qualifier_bytes,
            key_defaults: BTreeMap::new(),
            row_timestamp: None,
        };
        for column in columns {
            if let Some(index) = schema.key.iter().position(|key| key.name == column.name)
                && !schema.declared.contains(&ColumnRef::Key(index))
            {
                check_type(&column.name, column.sql_type)?;
                schema.declared.push(ColumnRef::Key(index));
                schema.key_defaults.extend(column.default_sql.map(|sql| (column.name, sql)));
                continue;
            }
            schema.push_column(column, &default_family)?;
        }
        if let Some(first) = schema.columns.first() {
            schema.empty_family = first.family.clone();
        }
        schema.set_row_timestamp(&row_timestamp)?;
        Ok(schema)
    }

    fn set_row_timestamp(&mut self, names: &[String]) -> Result<(), SchemaError> {
        use SqlType::*;
        if let [_, second, ..] = names {
            return Err(SchemaError::RepeatedRowTimestamp { name: second.clone() });
        }
        let Some(name) = names.first() else { return Ok(()) };
        let Some(index) = self.key.iter().position(|column| column.name == *name) else {
            return Err(SchemaError::UnknownKeyColumn { name: name.clone() });
        };
        let sql_type = self.key[index].sql_type;
        match sql_type {
            Date | Time | Timestamp | BigInt | UnsignedLong | UnsignedDate | UnsignedTime
            | UnsignedTimestamp => {}
            _ => return Err(SchemaError::RowTimestampType { name: name.clone(), sql_type }),
        }
        if self.key_defaults.contains_key(name) {
            return Err(SchemaError::RowTimestampDefault { name: name.clone() });
        }
        self.row_timestamp = Some(index);
        Ok(())
    }

    /// Adds a column outside of the key, as ALTER TABLE ADD does; it gets the next number. `default_family`
    /// is the family of a column that names none.
    pub fn push_column(&mut self, column: ColumnDefinition, default_family: &str) -> Result<(), SchemaError> {
        let family = column.family.unwrap_or_else(|| default_family.to_owned());
        if column.name.is_empty() {
            return Err(SchemaError::EmptyName);
        }
        check_family(&family)?;
        check_type(&column.name, column.sql_type)?;
        let in_key = self.key.iter().any(|key| key.name == column.name);
        if in_key || self.find(Some(&family), &column.name).is_ok() {
            let name = if in_key { column.name } else { format!("{family}.{}", column.name) };
            return Err(SchemaError::DuplicateColumn { name });
        }
        let qualifier = match self.qualifier_bytes {
            0 => Some(column.name.clone().into_bytes()),
            bytes => numbered_qualifier(self.qualifier_next, bytes),
        };
        let too_many = || SchemaError::TooManyColumns {
            name: column.name.clone(),
            qualifier_bytes: self.qualifier_bytes,
        };
        let qualifier = qualifier.ok_or_else(too_many)?;
        self.qualifier_next += 1;
        self.declared.push(ColumnRef::Column(self.columns.len()));
        self.columns.push(ColumnSchema {
            name: column.name,
            family,
            qualifier,
            sql_type: column.sql_type,
            nullable: !column.not_null,
            default_sql: column.default_sql,
            default_value: column.default_value,
        });
        Ok(())
    }

    /// Adds a column at the end of the key, as ALTER TABLE ADD … PRIMARY KEY does. Keys that are there end before it,
    /// which is NULL.
    pub fn push_key_column(&mut self, column: ColumnDefinition, order: SortOrder) -> Result<(), SchemaError> {
        let ColumnDefinition { name, family, sql_type, not_null, .. } = column;
        if let Some(family) = family {
            return Err(SchemaError::KeyFamily { name, family });
        }
        if self.find(None, &name).is_ok() {
            return Err(SchemaError::DuplicateColumn { name });
        }
        check_type(&name, sql_type)?;
        if sql_type == SqlType::Json {
            return Err(SchemaError::JsonInKey { name });
        }
        let last = self.key.last().expect("a key has a column");
        if matches!(last.sql_type, SqlType::Varbinary(_) | SqlType::Array(_)) {
            return Err(SchemaError::VarbinaryNotLast { name: last.name.clone(), sql_type: last.sql_type });
        }
        if not_null || sql_type.fixed_width().is_some() {
            return Err(SchemaError::AppendedNotNull { name });
        }
        if matches!(sql_type, SqlType::Array(_)) && order == SortOrder::Desc {
            return Err(SchemaError::DescendingArray { name, sql_type });
        }
        self.declared.push(ColumnRef::Key(self.key.len()));
        self.key.push(KeyColumn { name, sql_type, order, nullable: true });
        Ok(())
    }

    /// Adds a column of which the table knows nothing: its cells bear its name.
    pub fn push_dynamic(
        &mut self,
        column: ColumnDefinition,
        default_family: &str,
    ) -> Result<(), SchemaError> {
        if self.find(column.family.as_deref(), &column.name).is_ok() {
            return Err(SchemaError::DuplicateColumn { name: column.name });
        }
        let (qualifier_bytes, qualifier_next) = (self.qualifier_bytes, self.qualifier_next);
        self.qualifier_bytes = 0;
        let pushed = self.push_column(column, default_family);
        (self.qualifier_bytes, self.qualifier_next) = (qualifier_bytes, qualifier_next);
        pushed
    }

    /// The same columns over cells that were not written in SQL.
    pub fn without_empty_cell(mut self) -> Self {
        self.empty_qualifier.clear();
        self
    }

    /// Removes a column outside of the key. Its number is never used again; its cells stay and are ignored.
    pub fn drop_column(&mut self, column: ColumnRef) -> Result<ColumnSchema, SchemaError> {
        let dropped = match column {
            ColumnRef::Key(index) => {
                return Err(SchemaError::DropKeyColumn { name: self.key[index].name.clone() });
            }
            ColumnRef::Column(index) => index,
        };
        self.declared.retain(|&other| other != column);
        for other in &mut self.declared {
            if let ColumnRef::Column(index) = other
                && *index > dropped
            {
                *index -= 1;
            }
        }
        Ok(self.columns.remove(dropped))
    }
}

/// The key columns in key order, or why there is no such key.
fn key_columns(columns: &[ColumnDefinition], key: &[KeyPart]) -> Result<Vec<KeyColumn>, SchemaError> {
    if key.is_empty() {
        return Err(SchemaError::NoKey);
    }
    let mut found: Vec<KeyColumn> = Vec::with_capacity(key.len());
    let mut last_position = None;
    for (i, part) in key.iter().enumerate() {
        if found.iter().any(|column| column.name == part.name) {
            return Err(SchemaError::RepeatedKeyColumn { name: part.name.clone() });
        }
        let position = columns.iter().position(|column| column.name == part.name);
        let position = position.ok_or_else(|| SchemaError::UnknownKeyColumn { name: part.name.clone() })?;
        let column = &columns[position];
        if let Some(family) = &column.family {
            return Err(SchemaError::KeyFamily { name: column.name.clone(), family: family.clone() });
        }
        if last_position.is_some_and(|last| last > position) {
            return Err(SchemaError::KeyOrder { name: part.name.clone() });
        }
        last_position = Some(position);
        let (name, sql_type) = (column.name.clone(), column.sql_type);
        if sql_type == SqlType::Json {
            return Err(SchemaError::JsonInKey { name });
        }
        if matches!(sql_type, SqlType::Varbinary(_) | SqlType::Array(_)) && i + 1 < key.len() {
            return Err(SchemaError::VarbinaryNotLast { name, sql_type });
        }
        if matches!(sql_type, SqlType::Array(_)) && part.order == SortOrder::Desc {
            return Err(SchemaError::DescendingArray { name, sql_type });
        }
        // The only column of a key is never null, because a key of nulls alone is none.
        let nullable = key.len() > 1 && !column.not_null;
        if nullable && sql_type.fixed_width().is_some() {
            return Err(SchemaError::NullableFixedWidth { name, sql_type });
        }
        found.push(KeyColumn { name, sql_type, order: part.order, nullable });
    }
    Ok(found)
}

fn check_family(name: &str) -> Result<(), SchemaError> {
    if FamilyDescriptor::is_name(name) {
        return Ok(());
    }
    Err(SchemaError::FamilyName { name: name.to_owned() })
}

fn check_type(name: &str, sql_type: SqlType) -> Result<(), SchemaError> {
    use SqlType::*;
    if let Array(element) = sql_type {
        return check_type(name, element.into());
    }
    let name = name.to_owned();
    match sql_type {
        Char(0) | Varchar(Some(0)) | Binary(0) | Varbinary(Some(0)) => {
            Err(SchemaError::ZeroLength { name, sql_type })
        }
        Decimal(Some((precision, scale)))
            if !(1..=decimal::DIGITS_MAX as u8).contains(&precision)
                || !(0..=precision as i8).contains(&scale) =>
        {
            Err(SchemaError::Precision { name, sql_type })
        }
        _ => Ok(()),
    }
}
