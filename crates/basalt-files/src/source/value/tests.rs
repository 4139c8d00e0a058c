// SPDX-License-Identifier: Apache-2.0
use super::*;

fn check(sql_type: SqlType, text: &str, expected: Result<Value<'_>, &str>) {
    assert_eq!(parse(sql_type, text), expected.map_err(str::to_string), "{sql_type} from {text:?}");
}

#[test]
fn integers_must_fit() {
    check(SqlType::Integer, " -17 ", Ok(Value::Integer(-17)));
    check(SqlType::TinyInt, "128", Err("'128' does not fit TINYINT (-128 to 127)"));
    check(SqlType::UnsignedInt, "-1", Err("'-1' does not fit UNSIGNED_INT (0 to 2147483647)"));
    check(
        SqlType::BigInt,
        "9223372036854775808",
        Err("'9223372036854775808' does not fit BIGINT (-9223372036854775808 to 9223372036854775807)"),
    );
    check(SqlType::Integer, "1x", Err("'1x' is not an INTEGER"));
    check(SqlType::Integer, "", Ok(Value::Null));
}

#[test]
fn decimals_are_exact() {
    let money = SqlType::Decimal(Some((5, 2)));
    check(money, "-123.4", Ok(Value::Decimal(-12_340)));
    check(money, "1.5e2", Ok(Value::Decimal(15_000)));
    check(money, "1.500", Ok(Value::Decimal(150)));
    check(
        money,
        "1.505",
        Err("'1.505' has more than 2 digits behind the point, which DECIMAL(5,2) cannot keep"),
    );
    check(money, "1000", Err("'1000' does not fit DECIMAL(5,2)"));
    check(money, "1e40", Err("'1e40' does not fit DECIMAL(5,2)"));
    check(money, "0e999999999", Ok(Value::Decimal(0)));
    check(money, ".", Err("'.' is not a DECIMAL(5,2)"));
}

#[test]
fn a_decimal_without_precision_keeps_38_digits_wherever_its_point_is() {
    let bare = SqlType::Decimal(None);
    let wide = |digits: &str| Value::WideDecimal(i256::from_string(digits).expect("a whole number"));
    let zeros = "0".repeat(37);
    let nines = "9".repeat(38);
    check(bare, "1.5", Ok(wide(&format!("15{zeros}"))));
    check(bare, "-1e-38", Ok(wide("-1")));
    check(bare, &nines, Ok(wide(&format!("{nines}0{zeros}"))));
    check(bare, "1e37", Ok(wide(&format!("1{zeros}0{zeros}"))));
    check(bare, "0.000", Ok(wide("0")));
    check(bare, "1e38", Err("'1e38' does not fit DECIMAL"));
    check(bare, "1e-39", Err("'1e-39' has more than 38 digits behind the point, which DECIMAL cannot keep"));
}

#[test]
fn floats_do_not_overflow_in_silence() {
    check(SqlType::Float, "1.5", Ok(Value::Float(1.5)));
    check(SqlType::Float, "1e39", Err("'1e39' does not fit FLOAT"));
    check(SqlType::Double, "-Infinity", Ok(Value::Double(f64::NEG_INFINITY)));
    check(SqlType::UnsignedDouble, "-1", Err("'-1' is not an UNSIGNED_DOUBLE"));
}

#[test]
fn dates_and_times() {
    check(SqlType::Date, "1970-01-02", Ok(Value::Instant(86_400_000)));
    check(SqlType::Date, "2000-02-29 23:59:59.999", Ok(Value::Instant(951_868_799_999)));
    check(SqlType::Date, "1969-12-31T23:59Z", Ok(Value::Instant(-60_000)));
    check(SqlType::Date, "1900-02-29", Err("'1900-02-29' is not a DATE"));
    check(SqlType::Date, "2000-01-01 24:00:00", Err("'2000-01-01 24:00:00' is not a DATE"));
    check(SqlType::Timestamp, "1970-01-01 00:00:00.000000001", Ok(Value::Instant(1)));
    check(SqlType::Timestamp, "9999-01-01", Err("'9999-01-01' is not a TIMESTAMP"));
    check(SqlType::UnsignedDate, "1969-12-31", Err("'1969-12-31' is not an UNSIGNED_DATE"));
}

#[test]
fn texts_are_measured() {
    check(SqlType::Varchar(Some(3)), "größe", Err("'größe' has 5 characters, VARCHAR(3) takes 3"));
    check(SqlType::Varchar(Some(5)), "größe", Ok(Value::Text("größe")));
    check(SqlType::Char(3), "ab ", Ok(Value::Text("ab")));
    check(SqlType::Char(3), "ä", Err("'ä' has characters that CHAR cannot hold; take VARCHAR"));
    check(SqlType::Varchar(None), "", Ok(Value::Null));
}

#[test]
fn bytes_are_hex() {
    check(SqlType::Varbinary(None), "0x00fF", Ok(Value::Bytes(vec![0, 255])));
    check(SqlType::Binary(1), "0001", Err("'0001' has 2 bytes, the column takes 1"));
    check(SqlType::Varbinary(None), "0", Err("'0' is not an even number of hex digits"));
}

#[test]
fn collectors_have_the_types_of_the_engine() {
    use SqlType::*;
    for sql_type in [
        TinyInt,
        SmallInt,
        Integer,
        BigInt,
        UnsignedTinyInt,
        UnsignedSmallInt,
        UnsignedInt,
        UnsignedLong,
        Float,
        Double,
        UnsignedFloat,
        UnsignedDouble,
        Decimal(Some((12, 2))),
        Decimal(None),
        Boolean,
        Date,
        Time,
        Timestamp,
        UnsignedDate,
        UnsignedTime,
        UnsignedTimestamp,
        Char(3),
        Varchar(None),
        Binary(2),
        Varbinary(None),
    ] {
        let mut collector = Collector::new(sql_type);
        collector.append(&Value::Null);
        let array = collector.finish();
        assert_eq!((array.data_type(), array.null_count()), (&arrow_type(sql_type), 1), "{sql_type}");
    }
}
