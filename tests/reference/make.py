# SPDX-License-Identifier: Apache-2.0
"""Records what DuckDB answers over TPC-H: to tests/queries/main-job.sql at scale factor 0.01, and to the 22 queries
of the benchmark, tests/queries/tpch.sql, at 0.1.

    make reference        (or: python3 tests/reference/make.py)

Writes tests/reference/*.json, which `cargo test` compares with Basalt's answers: nobody needs
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

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
# File of questions, scale factor, record.
RECORDS = [("main-job.sql", 0.01, "tpch-sf0.01.json"), ("tpch.sql", 0.1, "tpch-queries-sf0.1.json")]


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


def record(file: str, scale_factor: float, path: Path):
    generator = Path(sys.executable).parent / "tpchgen-cli"
    connection = duckdb.connect()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [generator, "parquet", "--scale-factor", str(scale_factor), "--output-dir", folder,
             "--tables", ",".join(TABLES), "--quiet"],
            check=True,
        )
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{folder}/{table}.parquet'")
    answers = [answer(connection, question) for question in questions(scale_factor, file)]
    record = {
        "made_by": "tests/reference/make.py",
        "duckdb": duckdb.__version__,
        "tpchgen": importlib.metadata.version("tpchgen-cli"),
        "scale_factor": scale_factor,
        "answers": answers,
    }
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(f"{path}: {len(answers)} answers of DuckDB {duckdb.__version__}")


def main():
    for file, scale_factor, name in RECORDS:
        record(file, scale_factor, Path(__file__).parent / name)


if __name__ == "__main__":
    main()
