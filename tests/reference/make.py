# SPDX-License-Identifier: Apache-2.0
"""Records what DuckDB answers to tests/queries/main-job.sql over TPC-H at scale factor 0.01.

    make reference        (or: python3 tests/reference/make.py)

Writes tests/reference/tpch-sf0.01.json, which `cargo test` compares with Basalt's answers: nobody needs
DuckDB or Python to run the tests. The data comes from tpchgen-cli, the program of the library that
`basalt tpch` uses, of the same version.

Values: whole numbers and decimals are text in their shortest form ("12.5", never "12.50"), dates are ISO
text, results of floating point (AVG) are JSON numbers and compared with a tolerance. An answer of many rows
is kept as two digests, see `digest`.
"""

import datetime
import decimal
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
from questions import questions

SCALE_FACTOR = 0.01
TABLES = ["lineitem", "orders"]
RECORD = Path(__file__).parent / "tpch-sf0.01.json"


def canonical(value):
    match value:
        case None | str() | float():
            return value
        case int():
            return str(value)
        case decimal.Decimal():
            text = format(value, "f")
            return text.rstrip("0").rstrip(".") if "." in text else text
        case datetime.date():
            return value.isoformat()
    raise TypeError(f"no form for {value!r}")


def fnv1a(text: str) -> int:
    """64-bit FNV-1a: ten lines in any language, so that the test needs no library for it."""
    digest = 0xCBF29CE484222325
    for byte in text.encode():
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return digest


def digest(rows: list[list], ordered_by: int) -> dict:
    """`rows_digest`: sum of the rows' digests, whatever their order (a row is its values joined by "|").
    `order_digest`: digest of the ordered column from first to last, one value a line."""
    total = sum(fnv1a("|".join(row)) for row in rows) & 0xFFFFFFFFFFFFFFFF
    column = "".join(row[ordered_by] + "\n" for row in rows)
    return {"rows_digest": f"{total:016x}", "order_digest": f"{fnv1a(column):016x}"}


def answer(connection, question) -> dict:
    cursor = connection.execute(question.sql)
    columns = [column[0] for column in cursor.description]
    rows = [[canonical(value) for value in row] for row in cursor.fetchall()]
    record = {"name": question.name, "sql": question.sql, "columns": columns, "row_count": len(rows)}
    match question.answer.split():
        case ["rows"]:
            record["rows"] = rows
        case ["ordered", column]:
            record["ordered_by"] = column
            record |= digest(rows, columns.index(column))
        case ["count"]:
            pass
        case _:
            raise ValueError(f"{question.name}: no such kind of answer: {question.answer}")
    return record


def main():
    generator = Path(sys.executable).parent / "tpchgen-cli"
    connection = duckdb.connect()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [generator, "parquet", "--scale-factor", str(SCALE_FACTOR), "--output-dir", folder,
             "--tables", ",".join(TABLES), "--quiet"],
            check=True,
        )
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{folder}/{table}.parquet'")
    record = {
        "made_by": "tests/reference/make.py",
        "duckdb": duckdb.__version__,
        "tpchgen": importlib.metadata.version("tpchgen-cli"),
        "scale_factor": SCALE_FACTOR,
        "answers": [answer(connection, question) for question in questions(SCALE_FACTOR)],
    }
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(f"{RECORD}: {len(record['answers'])} answers of DuckDB {duckdb.__version__}")


if __name__ == "__main__":
    main()
