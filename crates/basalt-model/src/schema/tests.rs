// SPDX-License-Identifier: Apache-2.0
use super::*;

fn define(columns: &[(&str, SqlType, bool)], key: &[KeyPart]) -> Result<TableSchema, SchemaError> {
    let columns = columns.iter().map(|&(name, sql_type, not_null)| {
        let (family, name) = name.split_once('.').map_or((None, name), |(f, n)| (Some(f.to_owned()), n));
        ColumnDefinition {
            name: name.into(),
            family,
            sql_type,
            not_null,
            default_sql: None,
            default_value: None,
        }
    });
    TableSchema::try_new(SchemaDefinition::new(columns.collect(), key.to_vec()))
}

const INT: SqlType = SqlType::Integer;
const TEXT: SqlType = SqlType::Varchar(None);

#[test]
fn columns_are_numbered_from_eleven_over_all_families() {
    let schema = define(
        &[("K", INT, false), ("CF.V3", TEXT, false), ("V1", INT, false), ("CF.V2", INT, false)],
        &[KeyPart::asc("K")],
    )
    .unwrap();
    let found: Vec<_> = schema.columns.iter().map(|c| (c.family.as_str(), c.qualifier.as_slice())).collect();
    assert_eq!(found, [("CF", &[0x80, 0x0b][..]), ("0", &[0x80, 0x0c]), ("CF", &[0x80, 0x0d])]);
    assert_eq!((schema.empty_family.as_str(), schema.empty_qualifier.as_slice()), ("CF", &[0; 4][..]));
    assert_eq!(schema.qualifier_next, 14);
    assert_eq!(schema.families(), ["0", "CF"]);
    assert!(!schema.key[0].nullable);
}

#[test]
fn the_empty_cell_lies_in_the_first_family_declared() {
    let columns = [("K", INT, false), ("ZZ.V3", INT, false), ("AA.V1", INT, false)];
    assert_eq!(define(&columns, &[KeyPart::asc("K")]).unwrap().empty_family, "ZZ");
    assert_eq!(define(&columns[..1], &[KeyPart::asc("K")]).unwrap().empty_family, "0");
}

#[test]
fn qualifiers_have_the_width_that_the_table_says() {
    use define::numbered_qualifier;
    let expected: [(u8, &[u8], u32); 4] = [
        (1, &[0x8b], 255),
        (2, &[0x80, 0x0b], 65_535),
        (3, &[0, 0, 0x0b], 16_777_215),
        (4, &[0, 0, 0, 0x0b], 2_147_483_647),
    ];
    for (bytes, first, limit) in expected {
        assert_eq!(numbered_qualifier(11, bytes).as_deref(), Some(first));
        assert_eq!(numbered_qualifier(limit, bytes).map(|q| q.len()), Some(bytes as usize));
        assert_eq!(numbered_qualifier(limit + 1, bytes), None);
        assert_eq!(numbered_qualifier(0, bytes).as_deref(), Some(&[0; 4][..]));
    }
    assert_eq!(numbered_qualifier(12, 2).as_deref(), Some(&[0x80, 0x0c][..]));
}

#[test]
fn named_qualifiers_are_the_names() {
    let columns = vec![ColumnDefinition::new("K", INT), ColumnDefinition::new("V", INT)];
    let mut definition = SchemaDefinition::new(columns, vec![KeyPart::asc("K")]);
    definition.qualifier_bytes = 0;
    let schema = TableSchema::try_new(definition.clone()).unwrap();
    assert_eq!(schema.columns[0].qualifier, b"V");
    assert_eq!(schema.empty_qualifier, b"_0");
    definition.qualifier_bytes = 5;
    assert_eq!(TableSchema::try_new(definition).unwrap_err(), SchemaError::QualifierBytes { found: 5 });
}

#[test]
fn one_column_too_many_for_one_byte_is_refused() {
    let mut columns = vec![ColumnDefinition::new("K", INT)];
    columns.extend((0..246).map(|i| ColumnDefinition::new(format!("V{i}"), INT)));
    let mut definition = SchemaDefinition::new(columns, vec![KeyPart::asc("K")]);
    definition.qualifier_bytes = 1;
    let error = TableSchema::try_new(definition.clone()).unwrap_err();
    assert_eq!(error, SchemaError::TooManyColumns { name: "V245".into(), qualifier_bytes: 1 });
    definition.columns.pop();
    assert_eq!(TableSchema::try_new(definition).unwrap().columns[244].qualifier, [0x7f]);
}

#[track_caller]
fn refused(columns: &[(&str, SqlType, bool)], key: &[KeyPart], code: Option<u16>, message: &str) {
    let error = define(columns, key).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.phoenix_code()), (message, code));
}

#[test]
fn impossible_keys_are_refused_with_phoenix_codes() {
    let (k, j) = (("K", INT, true), ("J", INT, true));
    let key = |names: &[&str]| names.iter().map(|&name| KeyPart::asc(name)).collect::<Vec<_>>();
    refused(&[k], &[], Some(509), "a table needs a primary key");
    refused(&[k, j], &key(&["K", "ZZ"]), None, "primary key column ZZ is not a column of the table");
    refused(&[k, j], &key(&["K", "K"]), Some(1007), "primary key names column K twice");
    refused(
        &[k, j],
        &key(&["J", "K"]),
        Some(1004),
        "primary key columns must be in the order of their declaration; K is not",
    );
    refused(
        &[("A", TEXT, false), ("B", INT, false), ("C", TEXT, false)],
        &key(&["A", "B", "C"]),
        None,
        "primary key column B of type INTEGER must be NOT NULL, since it has a fixed width",
    );
    refused(
        &[("B", SqlType::Varbinary(None), true), j],
        &key(&["B", "J"]),
        Some(1005),
        "column B of type VARBINARY must be the last one of the primary key",
    );
    refused(
        &[("A.K", INT, true)],
        &key(&["K"]),
        Some(1003),
        "primary key column K may not have a column family; found A",
    );
}

#[test]
fn impossible_columns_are_refused_with_phoenix_codes() {
    let key = [KeyPart::asc("K")];
    let k = ("K", INT, true);
    refused(&[k, k], &key, Some(514), "column K is declared twice");
    refused(&[k, ("V", INT, false), ("V", TEXT, false)], &key, Some(514), "column 0.V is declared twice");
    let zero = "column C: the length of CHAR(0) must be at least 1";
    refused(&[k, ("C", SqlType::Char(0), false)], &key, Some(208), zero);
    let digits =
        "column M: DECIMAL(50,2) must have a precision of 1 to 38 and a scale of 0 up to the precision";
    refused(&[k, ("M", SqlType::Decimal(Some((50, 2))), false)], &key, Some(209), digits);
    assert!(define(&[k, ("", INT, false)], &key).is_err());
    assert!(define(&[k, ("a:b.V", INT, false)], &key).is_err());
}

#[test]
fn names_are_found_with_and_without_family() {
    let columns = [("K", INT, true), ("A.V", INT, false), ("B.V", INT, false), ("W", TEXT, false)];
    let schema = define(&columns, &[KeyPart::asc("K")]).unwrap();
    assert_eq!(schema.find(None, "K"), Ok(ColumnRef::Key(0)));
    assert_eq!(schema.find(Some("B"), "V"), Ok(ColumnRef::Column(1)));
    assert_eq!(schema.find(None, "W"), Ok(ColumnRef::Column(2)));
    assert_eq!(schema.find(None, "V").unwrap_err().phoenix_code(), 502);
    assert_eq!(schema.find(Some("C"), "V").unwrap_err().to_string(), "column C.V does not exist");
    assert_eq!(schema.find(Some("0"), "K").unwrap_err().phoenix_code(), 504);
    assert_eq!(schema.display_name(ColumnRef::Column(1)), "B.V");
    assert_eq!(schema.display_name(ColumnRef::Column(2)), "W");
}

#[test]
fn a_dropped_number_is_never_used_again() {
    let columns = [("V0", INT, false), ("K", INT, true), ("V1", INT, false), ("V2", INT, false)];
    let mut schema = define(&columns, &[KeyPart::asc("K")]).unwrap();
    let dropped = schema.drop_column(ColumnRef::Column(1)).unwrap();
    assert_eq!(dropped.name, "V1");
    schema.push_column(ColumnDefinition::new("V3", TEXT), "0").unwrap();
    let names: Vec<_> = schema.declared_order().iter().map(|&c| schema.name(c)).collect();
    assert_eq!(names, ["V0", "K", "V2", "V3"]);
    assert_eq!(schema.columns[2].qualifier, [0x80, 0x0e]);
    assert_eq!(schema.drop_column(ColumnRef::Key(0)).unwrap_err().phoenix_code(), Some(506));
}
