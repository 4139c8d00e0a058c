# SPDX-License-Identifier: Apache-2.0
"""DuckDB's half of compare.py, each task in a process of its own so that its memory can be measured.

    duckdb_side.py load DB THREADS TABLE=FILE...   seconds by table, as JSON
    duckdb_side.py ask DB THREADS                  reads a statement a line, as JSON, and prints the seconds that its answer took
    duckdb_side.py first-row DB THREADS SQL        prints the first row, then waits to be killed
    duckdb_side.py run DB THREADS FILE             runs each line of a file as a statement of its own
"""

import json
import sys
import time
from pathlib import Path

import duckdb


def load(connection, files):
    seconds = {}
    for table, file in (pair.split("=", 1) for pair in files):
        start = time.monotonic()
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{file}'")
        connection.execute("CHECKPOINT")
        seconds[table] = time.monotonic() - start
    print(json.dumps(seconds))


def ask(connection):
    for line in sys.stdin:
        start = time.monotonic()
        for _ in connection.sql(json.loads(line)).to_arrow_reader():
            pass
        print(time.monotonic() - start, flush=True)


def first_row(connection, sql):
    print(*connection.execute(sql).fetchone(), flush=True)
    sys.stdin.read()


def run(connection, file):
    for line in Path(file).read_text().splitlines():
        connection.execute(line)


def main():
    task, database, threads, *arguments = sys.argv[1:]
    connection = duckdb.connect(database, config={"threads": int(threads)})
    match task:
        case "load":
            load(connection, arguments)
        case "ask":
            ask(connection)
        case "first-row":
            first_row(connection, *arguments)
        case "run":
            run(connection, *arguments)
        case _:
            sys.exit(f"no such task: {task}")


if __name__ == "__main__":
    main()
