# SPDX-License-Identifier: Apache-2.0
"""Times HBase with Phoenix, DuckDB, RocksDB and Basalt side by side: same rows, same questions, same machine, one run.

    make bench-peers    (or: python3 tests/reference/peers.py --basalt PATH [--rocksdb PROGRAM] [--sf 0.1] [--rows N] [--out FILE])

All make the tables of tests/queries/tpch-tables.sql and one of two random floats a row, fill them from the same files, and answer every
statement of tests/queries/peers.sql once unmeasured and --runs times measured (DuckDB and Basalt in turns, for a second if that is more); the median counts, and the answers are compared with Basalt's. RocksDB, which
knows no SQL, has the floats alone: eight bytes under a key of four, read by an iterator (bench/rocksdb/floats.cc). HBase is a process of its
own on the loopback interface with 4 GiB of heap, asked by Phoenix's driver, its tables flushed and compacted before; its time ends with the last value of the
last row. The others answer in their own process, as programs that embed them ask; Basalt's times are those that `basalt sql --timing` prints. No two of
them ever run at the same time.
"""

import random
import re
import shutil
import statistics
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path

import answers
from compare import Duckdb as DuckdbSide
from measuring import directory, machine, parser, run, show_seconds, write
from phoenix_side import Phoenix
from questions import QUERIES, questions
from turns import Session, basalt_session, in_turns

TABLES = ["lineitem", "orders", "floats"]
FLOATS = "CREATE TABLE floats (k INTEGER NOT NULL PRIMARY KEY, v1 FLOAT, v2 FLOAT)"
# How HBase keeps the table of floats, one after the other; the last is what all else is asked of.
STORED = [("NONE", "NONE"), ("FAST_DIFF", "ZSTD"), ("FAST_DIFF", "NONE")]
NONE = "—"


def make_files(options, work: Path) -> dict[str, Path]:
    """The rows of each table, fields that end in `|`."""
    files = {table: work / f"{table}.tbl" for table in TABLES}
    if not (files["lineitem"].exists() and files["orders"].exists()):
        run([options.basalt, "tpch", work, "--sf", f"{options.sf:g}", "--tables", "lineitem,orders", "--format", "tbl"])
    rows = random.Random(1)
    with files["floats"].open("w") as out:
        for key in range(options.rows):
            out.write(f"{key}|{rows.random():.9g}|{rows.random():.9g}|\n")
    return files


def definitions() -> list[str]:
    text = re.sub(r"^--.*\n", "", (QUERIES / "tpch-tables.sql").read_text(), flags=re.M)
    return [" ".join(sql.split()) for sql in text.split(";") if sql.strip()] + [FLOATS]


class Basalt:
    def __init__(self, options, work: Path):
        self.program, self.database, self.work = options.basalt, work / "basalt.db", work
        self.threads = ["--threads", options.threads]
        shutil.rmtree(self.database, ignore_errors=True)
        run([self.program, "sql", self.database, "--quiet", "-c", ";".join(definitions())])

    def command(self, command: str, *arguments) -> list:
        return [self.program, command, self.database, *arguments, *self.threads]

    def load(self, table: str, file: Path) -> float:
        return run(self.command("load", table, file, "--quiet")).seconds

    def session(self) -> Session:
        return basalt_session(self.command("sql", "--format", "arrow", "--timing"))

    def answer(self, sql: str) -> list[list[str]]:
        ended = run(self.command("sql", "-c", sql, "--format", "tsv"))
        return [line.split("\t") for line in ended.stdout.splitlines()[1:]]

    def disk_bytes(self, table: str) -> int:
        folder = self.database / "data" / "default" / table.upper()
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def same(ours: str, theirs) -> bool:
    """The same value, however it is written; sums of floats depend on the order in which they are added up."""
    if theirs is None or ours == theirs:
        return ours == theirs or ours in ("", "NULL")
    try:
        a, b = Decimal(ours), Decimal(theirs)
    except InvalidOperation:
        return False
    return a == b or abs(a - b) <= abs(b) * Decimal("1e-6") and "." in theirs


def check_phoenix(question, ours: list[list[str]], theirs: dict):
    if len(ours) != theirs["rows"]:
        sys.exit(f"{question.name}: Basalt answers {len(ours)} rows, Phoenix {theirs['rows']}")
    if question.answer == "count":
        return
    for mine, row in zip(ours, theirs["answer"]):
        if not all(same(*values) for values in zip(mine, row, strict=True)):
            sys.exit(f"{question.name}: Basalt answers {mine}, Phoenix {row}")


class Duckdb(DuckdbSide):
    """Filled from the same files; a table takes what it lets the database grow by."""

    def load(self, table: str, file: Path) -> float:
        [definition] = [sql for sql in definitions() if re.search(rf" {table} \(", sql)]
        columns = re.findall(r"(\w+) (BIGINT|INTEGER|VARCHAR|DATE|FLOAT|DECIMAL\(\d+, \d+\))", definition.split("(", 1)[1])
        named = ", ".join(f"'{name}': '{sql_type}'" for name, sql_type in [*columns, ("line_end", "VARCHAR")])
        create = f"CREATE TABLE {table} AS SELECT * EXCLUDE line_end FROM read_csv('{file}', delim='|', header=false, columns={{{named}}})"
        before = self.disk_bytes() if self.database.exists() else 0
        seconds = run(self.task("run", self.file(f"{create}\nCHECKPOINT\n"))).seconds
        self.sizes[table] = self.disk_bytes() - before
        return seconds

    def __init__(self, options, work: Path):
        super().__init__(options, work)
        self.sizes = {}
        self.remove()
        run(self.task("run", self.file("CREATE MACRO to_date(day) AS CAST(day AS DATE)\n")))


class Rocksdb:
    """The table of floats by key: what its program prints."""

    def __init__(self, options, work: Path, file: Path):
        database = work / "rocksdb"
        shutil.rmtree(database, ignore_errors=True)
        printed = run([options.rocksdb, database, file, options.runs]).stdout
        self.found = {name: float(value) for name, value in (line.split("\t") for line in printed.splitlines())}


class Table:
    """The page's table: a line a question, a column a peer."""

    def __init__(self, peers: list[str]):
        self.lines = [f"| | {' | '.join(peers)} | Basalt | times as fast, or as small |", "|---|" + "--:|" * (len(peers) + 2)]

    def add(self, title: str, ours: float, theirs: list[float | None], show, less_is_more: bool = True):
        shown = [NONE if value is None else show(value) for value in theirs]
        ratios = [NONE if value is None else times(value, ours) if less_is_more else times(ours, value) for value in theirs]
        title = title.replace("*", "\\*")
        self.lines.append(f"| {title} | {' | '.join(shown)} | {show(ours)} | {' · '.join(ratios)} |")


def times(theirs: float, ours: float) -> str:
    ratio = theirs / ours
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def thousands(rate: float) -> str:
    return f"{rate / 1e3:,.0f}k rows/s"


def measure(options, work: Path) -> list[str]:
    files = make_files(options, work)
    asked = questions(options.sf, "peers.sql")
    floats = [question for question in asked if "FROM floats" in question.sql]
    others = [question for question in asked if question not in floats]
    basalt, duckdb = Basalt(options, work), Duckdb(options, work)
    rows = {table: file.read_bytes().count(b"\n") for table, file in files.items()}
    loaded = {table: basalt.load(table, file) for table, file in files.items()}
    loaded_by_duckdb = {table: duckdb.load(table, file) for table, file in files.items()}
    rocksdb = Rocksdb(options, work, files["floats"]).found if options.rocksdb else {}
    answers.check(asked, duckdb, basalt)
    medians, _ = in_turns([duckdb, basalt], asked, options.runs)
    by_duckdb, ours = (dict(zip((question.name for question in asked), seconds)) for seconds in zip(*medians))

    table = Table(["Phoenix", "DuckDB", "RocksDB"])
    phoenix = Phoenix(work)
    try:
        setup = [("run", sql) for sql in definitions()]
        setup += [("load", table.upper(), file, 2) for table, file in files.items()]
        setup += [("store", table.upper(), *STORED[-1]) for table in ("lineitem", "orders")]
        for found in phoenix.tasks(setup):
            if found["task"] == "load":
                name = found["subject"].lower()
                theirs = [found["rows"] / found["whole"], rows[name] / loaded_by_duckdb[name]]
                theirs.append(rocksdb.get("load") if name == "floats" else None)
                title = f"fill {name.upper()} ({rows[name]:,} rows)"
                table.add(title, rows[name] / loaded[name], theirs, thousands, less_is_more=False)
        for name in ("lineitem", "orders"):
            theirs = [phoenix.disk_bytes(name), duckdb.sizes[name], None]
            table.add(f"{name.upper()} on disk", basalt.disk_bytes(name), theirs, megabytes)
        for encoding, compression in STORED:
            kept = encoding if compression == "NONE" else f"{encoding} and {compression}"
            kept = "neither encoding nor codec" if encoding == compression else kept
            tasks = [("store", "FLOATS", encoding, compression), *ask_tasks(floats, options.runs)]
            found = phoenix.tasks(tasks)[1:]
            sizes = [phoenix.disk_bytes("floats"), duckdb.sizes["floats"], rocksdb.get("bytes")]
            sizes = [None if size is None else size / options.rows for size in sizes]
            title = f"a row of a key and two random floats; in HBase with {kept}"
            table.add(title, basalt.disk_bytes("floats") / options.rows, sizes, lambda size: f"{size:.1f} bytes")
            for question, answer in zip(floats, found, strict=True):
                check_phoenix(question, basalt.answer(question.sql), answer)
                theirs = [statistics.median(answer["seconds"]), by_duckdb[question.name], rocksdb.get(question.name)]
                table.add(f"{question.title}; in HBase with {kept}", ours[question.name], theirs, show_seconds)
        found = phoenix.tasks(ask_tasks(others, options.runs))
        for question, answer in zip(others, found, strict=True):
            check_phoenix(question, basalt.answer(question.sql), answer)
            theirs = [statistics.median(answer["seconds"]), by_duckdb[question.name], None]
            table.add(question.title, ours[question.name], theirs, show_seconds)
        peak = megabytes(phoenix.peak_bytes())
    finally:
        phoenix.stop()
    return [*table.lines, "", f"The last column says it of Phoenix, DuckDB and RocksDB. HBase's server took {peak} of memory at most."]


def ask_tasks(asked, runs: int) -> list[tuple]:
    return [("ask", question.name, runs, " ".join(question.sql.split())) for question in asked]


def head(options) -> list[str]:
    return [
        "# HBase with Phoenix, DuckDB, RocksDB and Basalt, side by side",
        "",
        f"TPC-H scale factor {options.sf:g} and {options.rows:,} rows of a key and two random floats, {options.threads} threads, median of {options.runs} runs or more; {machine()}",
        f"Made by `make bench-peers PEERS_SF={options.sf:g}`; how it is measured: `tests/reference/peers.py`. HBase 2.6.1 with Phoenix 5.2.1, {DuckdbSide.name}.",
        "",
    ]


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--sf", type=float, default=0.1, help="scale factor of TPC-H")
    arguments.add_argument("--rows", type=int, default=1 << 20, help="rows of the table of floats")
    arguments.add_argument("--rocksdb", type=Path, help="bench/rocksdb/floats.cc, compiled; without it RocksDB's column is empty")
    options = arguments.parse_args()
    text = "\n".join(head(options) + measure(options, directory(options, f"peers-sf{options.sf:g}"))) + "\n"
    print(text)
    write(options, text)


if __name__ == "__main__":
    main()
