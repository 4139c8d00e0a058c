// SPDX-License-Identifier: Apache-2.0
//! Type names in expressions (`CAST(x AS UNSIGNED_INT)`, `DATE '2024-01-01'`): the same Arrow types as columns of
//! that type have.

use basalt_hfile::typed::arrow_type;
use basalt_model::SqlType;
use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType as SqlDataType, ExactNumberInfo, TimezoneInfo,
};

/// Phoenix's types; all others are left to the planner.
#[derive(Debug, Default)]
pub(crate) struct PhoenixTypes;

impl TypePlanner for PhoenixTypes {
    fn plan_type_field(&self, sql_type: &SqlDataType) -> Result<Option<FieldRef>> {
        let field = |sql_type| Field::new("", arrow_type(sql_type), true).into();
        Ok(phoenix_type(sql_type).map(field))
    }
}

fn phoenix_type(sql_type: &SqlDataType) -> Option<SqlType> {
    use SqlDataType as S;
    Some(match sql_type {
        S::Float(ExactNumberInfo::None) => SqlType::Float,
        S::Decimal(ExactNumberInfo::None)
        | S::Numeric(ExactNumberInfo::None)
        | S::Dec(ExactNumberInfo::None) => SqlType::Decimal(None),
        S::Date => SqlType::Date,
        S::Time(None, TimezoneInfo::None) => SqlType::Time,
        S::Timestamp(None, TimezoneInfo::None) => SqlType::Timestamp,
        S::Char(_) | S::Character(_) | S::Varchar(_) | S::Text => SqlType::Varchar(length(sql_type)),
        S::Binary(_) | S::Varbinary(_) => SqlType::Varbinary(None),
        S::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
            SqlType::Array(phoenix_type(element)?.as_element()?)
        }
        S::Custom(name, arguments) if arguments.is_empty() => match name.to_string().as_str() {
            "UNSIGNED_TINYINT" => SqlType::UnsignedTinyInt,
            "UNSIGNED_SMALLINT" => SqlType::UnsignedSmallInt,
            "UNSIGNED_INT" => SqlType::UnsignedInt,
            "UNSIGNED_LONG" => SqlType::UnsignedLong,
            "UNSIGNED_FLOAT" => SqlType::UnsignedFloat,
            "UNSIGNED_DOUBLE" => SqlType::UnsignedDouble,
            "UNSIGNED_DATE" => SqlType::UnsignedDate,
            "UNSIGNED_TIME" => SqlType::UnsignedTime,
            "UNSIGNED_TIMESTAMP" => SqlType::UnsignedTimestamp,
            _ => return None,
        },
        _ => return None,
    })
}

/// CAST does not shorten, as in Phoenix: the length is checked where the value is stored.
fn length(sql_type: &SqlDataType) -> Option<u32> {
    match sql_type {
        SqlDataType::Varchar(Some(CharacterLength::IntegerLength { length, .. })) => {
            u32::try_from(*length).ok()
        }
        _ => None,
    }
}
