// SPDX-License-Identifier: Apache-2.0
//! `basalt [DB]` without a terminal: a script with commands in it.

use crate::program::Place;

#[test]
fn a_script_may_mix_statements_and_commands() {
    let place = Place::new();
    let script = "create table item (id integer primary key, name varchar);\n\
                  upsert into item values (1, 'lamp');\n\
                  .mode csv\n\
                  select *\nfrom item;\n\
                  .mode line\n\
                  select * from item;\n\
                  .schema item\n\
                  .quit\n\
                  select 'not reached';\n";
    let ran = place.run_with(&["db"], script);
    ran.expect_ok();
    assert_eq!(
        ran.out,
        "ID,NAME\n1,lamp\n  ID = 1\nNAME = lamp\n\
         CREATE TABLE ITEM (\n    ID INTEGER NOT NULL,\n    NAME VARCHAR,\n    CONSTRAINT pk PRIMARY KEY (ID)\n);\n"
    );
}

#[test]
fn the_schema_that_is_shown_makes_the_same_table() {
    let ddl = "CREATE TABLE s.odd (k BIGINT NOT NULL, b DECIMAL(10,3), \"Mixed\" CHAR(3), x.c BINARY(4), a VARCHAR NOT NULL \
               CONSTRAINT pk PRIMARY KEY (k DESC, a))";
    let shown = |place: &Place| place.run_with(&["db"], ".schema s.odd\n").out;
    let first = Place::with(ddl);
    let second = Place::with(&shown(&first));
    assert!(shown(&first).contains("PRIMARY KEY (K DESC, A)"), "{}", shown(&first));
    assert_eq!(shown(&second), shown(&first));
}

#[test]
fn the_first_error_ends_a_script() {
    let place = Place::new();
    let ran =
        place.run_with(&["db"], ".mode csv\nselect 1 as a;\nselect nothing from nowhere;\nselect 2 as b;\n");
    ran.expect_error(1, &["standard input, statement at line 3", "NOWHERE"]);
    assert_eq!(ran.out, "A\n1\n");
    place.run_with(&["db"], ".tabels\n").expect_error(1, &["did you mean .tables?"]);
}

#[test]
fn read_runs_a_file() {
    let place = Place::new();
    place.write("a.sql", ".mode csv\nselect 1 as a;\n");
    let ran = place.run_with(&["db"], ".read a.sql\nselect 2 as b;\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "A\n1\nB\n2\n"), "{ran:?}");
}

#[test]
fn without_a_directory_the_database_is_temporary_and_leaves_nothing() {
    let place = Place::new();
    let ran = place.run_with(
        &[],
        ".mode csv\ncreate table t (k integer primary key);\nupsert into t values (7);\nselect * from t;\n",
    );
    assert_eq!((ran.code, ran.out.as_str()), (0, "K\n7\n"), "{ran:?}");
    assert_eq!(place.files(""), Vec::<std::path::PathBuf>::new());
}
