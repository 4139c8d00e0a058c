# SPDX-License-Identifier: Apache-2.0
"""Whether both programs give the same answer to a question: looked at before anything is timed."""

import csv
import io
import multiprocessing
import sys

import duckdb
from make import canonical
from measuring import run

# Averages are rounded otherwise here and there.
TOLERANCE = 1e-4
# Of an answer that is as long as the table the first rows are compared, in the column that it is ordered by.
FIRST_ROWS = 10_000


def same(expected, found: str) -> bool:
    expected, found = canonical(expected), found.removesuffix(" 00:00:00.000")
    if expected is None or str(expected) == found:
        return found == ("" if expected is None else str(expected))
    try:
        expected, found = float(expected), float(found)
    except ValueError:
        return False
    return abs(expected - found) <= TOLERANCE * max(1.0, abs(expected))


def compared(question) -> str:
    """The statement whose answers must be equal: the question's, or one of what is defined of it."""
    kind, _, column = question.answer.partition(" ")
    match kind:
        case "rows":
            return question.sql
        case "count":
            return f"SELECT COUNT(*) AS n FROM ({question.sql}) AS answer"
        case "ordered":
            return f"SELECT {column} FROM ({question.sql} LIMIT {FIRST_ROWS}) AS answer ORDER BY {column}"
        case _:
            sys.exit(f"{question.name}: no such kind of answer: {question.answer}")


def check(asked, theirs, ours):
    """Ends the program at the first answer that differs. In a process of its own: what this one once took would count as memory of those that it starts."""
    process = multiprocessing.get_context("spawn").Process(target=compare, args=(asked, theirs, ours))
    process.start()
    process.join()
    if process.exitcode != 0:
        sys.exit(process.exitcode)


def compare(asked, theirs, ours):
    connection = duckdb.connect(str(theirs.database), read_only=True)
    for question in asked:
        sql = compared(question)
        expected = connection.execute(sql).fetchall()
        text = run(ours.command("sql", "-c", sql, "--format", "csv")).stdout
        found = list(csv.reader(io.StringIO(text)))[1:]
        equal = len(expected) == len(found) and all(
            len(row) == len(mine) and all(map(same, row, mine)) for row, mine in zip(expected, found, strict=True)
        )
        if not equal:
            sys.exit(f"{question.name}: DuckDB gives {len(expected)} rows, Basalt {len(found)}, and they differ")
