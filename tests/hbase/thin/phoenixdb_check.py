# SPDX-License-Identifier: Apache-2.0
"""phoenixdb_check.py URL   phoenixdb, Phoenix's client for Python, against `basalt serve --phoenix-port`.

What it asserts is what its users write: DB-API with and without parameters, every type, batches, commits and rollbacks, errors by class and
code, metadata.
"""

import datetime
import decimal
import sys

import phoenixdb
import phoenixdb.cursor

url = sys.argv[1]
done = 0


def check(found, wanted, what):
    global done
    assert found == wanted, f"{what}: {found!r}, not {wanted!r}"
    done += 1


def refused(kind, code, sqlstate, call, *arguments):
    global done
    try:
        call(*arguments)
    except kind as error:
        assert (error.code, error.sqlstate) == (code, sqlstate), f"{arguments}: {error.code}, {error.sqlstate}: {error}"
        done += 1
        return
    raise AssertionError(f"{arguments} was not refused")


def types(connection):
    cursor = connection.cursor()
    cursor.execute(
        "create table py.types (k bigint primary key, b boolean, ti tinyint, si smallint, i integer, ul unsigned_long, f float, d double,"
        " n decimal(12, 3), free decimal, c char(3), v varchar, bin binary(2), vb varbinary, da date, tm time, ts timestamp,"
        " li integer array, lt varchar array)"
    )
    row = [
        1, True, -7, 300, -70000, 1 << 40, 1.5, -2.25, decimal.Decimal("-12.345"), decimal.Decimal("1E+3"), "abc", "zwölf 'x'",
        b"\x00\xff", b"\x01\x02\x03", datetime.date(2026, 2, 28), datetime.time(23, 59, 58), datetime.datetime(2026, 2, 28, 12, 30, 1, 250000),
        [1, -2, 3], ["a", None, "c"],
    ]  # fmt: skip
    marks = ", ".join("?" * len(row))
    cursor.execute(f"upsert into py.types values ({marks})", row)
    check(cursor.rowcount, 1, "rows of an UPSERT")
    cursor.execute(f"upsert into py.types values ({marks})", [2] + [None] * (len(row) - 1))
    cursor.execute("select * from py.types where k = ?", [1])
    names = [column[0] for column in cursor.description]
    check(names[:3] + names[-1:], ["K", "B", "TI", "LT"], "names of columns")
    # phoenixdb does not look whether an element is NULL.
    check(cursor.fetchone(), row[:-1] + [["a", "", "c"]], "a row of all types")
    check(cursor.fetchone(), None, "the end")
    cursor.execute("select * from py.types where k = 2")
    check(cursor.fetchall(), [[2] + [None] * (len(row) - 1)], "a row of NULLs")
    for column, value in [("n", row[8]), ("v", row[11]), ("da", row[14]), ("ts", row[16]), ("d", row[7]), ("ul", row[5]), ("bin", row[12])]:
        cursor.execute(f"select k from py.types where {column} = ?", [value])
        check(cursor.fetchall(), [[1]], f"a parameter beside {column}")
    cursor.execute("select count(*), max(n), sum(i), avg(d) from py.types")
    check(cursor.fetchone()[:3], [2, decimal.Decimal("-12.345"), -70000], "totals")


def many(connection):
    cursor = connection.cursor()
    cursor.execute("create table py.many (k integer primary key, v varchar)")
    cursor.executemany("upsert into py.many values (?, ?)", [[k, f"row {k}"] for k in range(5000)])
    for size in (1, 7, 2000, 5000, 10000):
        cursor.itersize = size
        if size == 1:
            cursor.execute("select k from py.many where k < 50 order by k")
            check([row[0] for row in cursor], list(range(50)), "one row a frame")
            continue
        cursor.execute("select k, v from py.many order by k desc")
        check(cursor.fetchmany(3), [[4999, "row 4999"], [4998, "row 4998"], [4997, "row 4997"]], "some rows")
        check(len(cursor.fetchall()), 4997, f"the others by {size}")
    cursor.execute("select v from py.many where k in (?, ?) order by k limit ?", [9, 3, 5])
    check(cursor.fetchall(), [["row 3"], ["row 9"]], "IN and LIMIT")
    # A statement of its own on the number that a prepared one had.
    cursor.execute("select count(*) from py.many")
    check(cursor.fetchone(), [5000], "without parameters again")
    cursor.execute("delete from py.many where k >= ?", [10])
    check(cursor.rowcount, 4990, "rows of a DELETE")
    one, other = connection.cursor(), connection.cursor()
    one.itersize = other.itersize = 2
    one.execute("select k from py.many order by k")
    other.execute("select k from py.many order by k desc")
    check([(one.fetchone(), other.fetchone()) for _ in range(10)][8], ([8], [1]), "two cursors in turn")


def commits():
    with phoenixdb.connect(url) as connection, phoenixdb.connect(url, autocommit=True) as watching:
        cursor, watcher = connection.cursor(), watching.cursor()

        def count():
            watcher.execute("select count(*) from py.commits")
            return watcher.fetchone()[0]

        watcher.execute("create table py.commits (k integer primary key, v integer)")
        check(connection.autocommit, False, "phoenixdb's default")
        cursor.execute("upsert into py.commits values (1, 1)")
        cursor.executemany("upsert into py.commits values (?, ?)", [[2, 2], [3, 3]])
        check(count(), 0, "before the commit")
        connection.commit()
        check(count(), 3, "behind it")
        cursor.execute("delete from py.commits")
        check(cursor.rowcount, 3, "rows that are to go")
        connection.rollback()
        connection.commit()
        check(count(), 3, "after a rollback")
        cursor.execute("upsert into py.commits values (1, 0) on duplicate key update v = v + 10")
        connection.commit()
        watcher.execute("select v from py.commits where k = 1")
        check(watcher.fetchone(), [11], "ON DUPLICATE KEY at the commit")
        cursor.execute("upsert into py.commits values (9, 9)")
        connection.autocommit = True
        check(count(), 4, "autocommit commits")
    with phoenixdb.connect(url, autocommit=True, readonly=True) as connection:
        refused(phoenixdb.InternalError, 518, "25502", connection.cursor().execute, "upsert into py.commits values (5, 5)")


def errors(connection):
    execute = connection.cursor().execute
    refused(phoenixdb.ProgrammingError, 1012, "42M03", execute, "select * from py.nothing")
    refused(phoenixdb.ProgrammingError, 504, "42703", execute, "select nothing from py.many")
    refused(phoenixdb.ProgrammingError, 601, "42P00", execute, "selec 1")
    refused(phoenixdb.ProgrammingError, 1013, "42M04", execute, "create table py.many (k integer primary key)")
    refused(phoenixdb.DataError, 203, "22005", execute, "upsert into py.many values ('x', 'y')")
    refused(phoenixdb.ProgrammingError, 504, "42703", execute, "select nothing from py.many where k = ?", [1])
    # The connection is as before.
    cursor = connection.cursor()
    cursor.execute("select count(*) from py.many")
    check(cursor.fetchone(), [10], "after errors")


def metadata(connection):
    cursor = connection.cursor()
    cursor.execute("create table py.parts (a varchar not null, b integer not null, v decimal(9, 2), constraint pk primary key (a, b desc))")
    cursor.execute("create index parts_v on py.parts (v)")
    cursor.execute("create view py.some as select * from py.parts where a = 'x'")
    meta = connection.meta()
    check("PY" in [schema["TABLE_SCHEM"] for schema in meta.get_schemas()], True, "schemas")
    tables = meta.get_tables(schemaPattern="PY", typeList=["TABLE", "VIEW"])
    found = sorted((table["TABLE_NAME"], table["TABLE_TYPE"]) for table in tables)
    check(found, [("COMMITS", "TABLE"), ("MANY", "TABLE"), ("PARTS", "TABLE"), ("SOME", "VIEW"), ("TYPES", "TABLE")], "tables")
    columns = meta.get_columns(schemaPattern="PY", tableNamePattern="PARTS")
    found = [(column["COLUMN_NAME"], column["DATA_TYPE"], column["TYPE_NAME"], column["ORDINAL_POSITION"]) for column in columns]
    check(found, [("A", 12, "VARCHAR", 1), ("B", 4, "INTEGER", 2), ("V", 3, "DECIMAL", 3)], "columns")
    keys = meta.get_primary_keys(schema="PY", table="PARTS")
    check([(key["COLUMN_NAME"], key["KEY_SEQ"], key["ASC_OR_DESC"]) for key in keys], [("A", 1, "A"), ("B", 2, "D")], "a key")
    indexes = meta.get_index_info(schema="PY", table="PARTS")
    check({index["INDEX_NAME"] for index in indexes}, {"PARTS_V"}, "indexes")
    check(sorted(kind["TABLE_TYPE"] for kind in meta.get_table_types()), ["INDEX", "SEQUENCE", "SYSTEM TABLE", "TABLE", "VIEW"], "types of tables")
    check(len(meta.get_type_info()) > 20, True, "types")
    check(meta.get_catalogs(), [], "catalogs")


with phoenixdb.connect(url, autocommit=True) as shared:
    types(shared)
    many(shared)
    commits()
    errors(shared)
    metadata(shared)
print(f"{done} checks passed")
