# SPDX-License-Identifier: Apache-2.0
"""Times DuckDB and Basalt side by side: same data, same questions, same machine, same number of threads.

    make bench            (or: python3 tests/reference/compare.py --basalt PATH [--sf 1] [--leave-out sort] [--out FILE])

Each side loads LINEITEM and ORDERS from the same Parquet files into a durable database; their answers are compared; then each answers every
question of tests/queries/main-job.sql once unmeasured and then --runs times, or for a second if that is more, in one process; the median
counts. The sides take turns at every question, again and again (turns.py), and never answer at the same time. Basalt's times are those that `basalt sql
--timing` prints, DuckDB's are taken around the call in Python; both produce the whole answer. Loads, upserts and the
time to the first row are taken from outside, so the start of each program is in them.
"""

import json
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
from answers import check
from measuring import directory, machine, parser, run, show_seconds, write
from questions import Question, questions
from turns import Session, basalt_session, duckdb_session, in_turns

KEYS = {"lineitem": "l_orderkey,l_linenumber", "orders": "o_orderkey"}
UPSERT_ROWS = 200_000
UPSERT_BATCH = 1_000
HERE = Path(__file__).parent


def seconds_to_first_row(command: list, header_lines: int) -> float:
    start = time.monotonic()
    process = subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    for _ in range(header_lines + 1):
        if not process.stdout.readline():
            sys.exit(f"{' '.join(process.args)}: ended before the first row")
    seconds = time.monotonic() - start
    process.kill()
    process.wait()
    return seconds


class Duckdb:
    name = f"DuckDB {duckdb.__version__}"

    def __init__(self, options, work: Path):
        self.threads, self.work = options.threads, work
        self.database = work / "duckdb.db"

    def task(self, task: str, *arguments) -> list:
        return [sys.executable, HERE / "duckdb_side.py", task, self.database, self.threads, *arguments]

    def load(self, files: dict[str, Path]) -> tuple[dict[str, float], int]:
        ended = run(self.task("load", *(f"{table}={file}" for table, file in files.items())))
        return json.loads(ended.stdout), ended.peak_bytes

    def session(self) -> Session:
        return duckdb_session(self.task("ask"))

    def first_row(self, sql: str) -> float:
        return seconds_to_first_row(self.task("first-row", sql), header_lines=0)

    def upsert(self, rows: int) -> tuple[float, int]:
        run(self.task("run", self.file("CREATE TABLE upserts (pk INTEGER PRIMARY KEY, v1 FLOAT, v2 FLOAT)\n")))
        ended = run(self.task("run", self.file(upserts("INSERT", rows))))
        return ended.seconds, ended.peak_bytes

    def file(self, text: str) -> Path:
        file = self.work / "statements.sql"
        file.write_text(text)
        return file

    def disk_bytes(self) -> int:
        return self.database.stat().st_size

    def remove(self):
        for file in self.work.glob("duckdb.db*"):
            file.unlink()


class Basalt:
    name = "Basalt"

    def __init__(self, options, work: Path, keys: dict[str, str] = KEYS):
        self.program, self.threads, self.work = options.basalt, options.threads, work
        self.database, self.keys = work / "basalt.db", keys

    def command(self, command: str, *arguments) -> list:
        return [self.program, command, self.database, *arguments, "--threads", self.threads]

    def load(self, files: dict[str, Path]) -> tuple[dict[str, float], int]:
        seconds, peak = {}, 0
        for table, file in files.items():
            ended = run(self.command("load", table, file, "--create", "--primary-key", self.keys[table], "--quiet"))
            seconds[table], peak = ended.seconds, max(peak, ended.peak_bytes)
        return seconds, peak

    def session(self) -> Session:
        return basalt_session(self.command("sql", "--format", "arrow", "--timing"))

    def first_row(self, sql: str) -> float:
        return seconds_to_first_row(self.command("sql", "-c", sql, "--format", "csv"), header_lines=1)

    def upsert(self, rows: int) -> tuple[float, int]:
        run(self.command("sql", "-c", "CREATE TABLE upserts (pk INTEGER PRIMARY KEY, v1 FLOAT, v2 FLOAT)"))
        file = self.work / "statements.sql"
        file.write_text(upserts("UPSERT", rows))
        ended = run(self.command("sql", "-f", file, "--quiet"))
        return ended.seconds, ended.peak_bytes

    def table_bytes(self, table: str) -> int:
        sql = f"SELECT SUM(size_bytes) FROM SYSTEM.TABLE_STATS WHERE table_name = '{table}'"
        return int(run(self.command("sql", "-c", sql, "--format", "csv")).stdout.split()[1])

    def disk_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.database.rglob("*") if file.is_file())

    def remove(self):
        shutil.rmtree(self.database, ignore_errors=True)


def upserts(verb: str, rows: int) -> str:
    """Statements of a thousand rows each, one a line."""
    lines = []
    for start in range(0, rows, UPSERT_BATCH):
        values = ",".join(f"({pk},{pk * 0.37 % 1:.6f},{pk * 0.73 % 1:.6f})" for pk in range(start, start + UPSERT_BATCH))
        lines.append(f"{verb} INTO upserts VALUES {values};\n")
    return "".join(lines)


def generate(options, work: Path, tables) -> dict[str, Path]:
    files = {table: work / f"{table}.parquet" for table in tables}
    if not all(file.exists() for file in files.values()):
        tables = ",".join(tables)
        run([options.basalt, "tpch", work, "--sf", f"{options.sf:g}", "--tables", tables, "--format", "parquet"])
    return files


@dataclass
class Row:
    what: str
    duckdb: str
    basalt: str
    ratio: float


def in_seconds(what: str, duckdb_seconds: float, basalt_seconds: float) -> Row:
    return Row(what, show_seconds(duckdb_seconds), show_seconds(basalt_seconds), basalt_seconds / duckdb_seconds)


def in_rows_a_second(what: str, rows: int, duckdb_seconds: float, basalt_seconds: float) -> Row:
    show = lambda seconds: f"{rows / seconds / 1e3:,.0f}k rows/s ({show_seconds(seconds)})"
    return Row(what, show(duckdb_seconds), show(basalt_seconds), basalt_seconds / duckdb_seconds)


def in_bytes(what: str, duckdb_bytes: int, basalt_bytes: int) -> Row:
    show = lambda n: f"{n / 1e6:,.0f} MB"
    return Row(what, show(duckdb_bytes), show(basalt_bytes), basalt_bytes / duckdb_bytes)


def wanted(options, asked: list[Question]) -> list[Question]:
    """Those that --leave-out does not name."""
    unknown = set(options.leave_out) - {question.name for question in asked}
    if unknown:
        sys.exit(f"--leave-out: no question is called {', '.join(sorted(unknown))}")
    return [question for question in asked if question.name not in options.leave_out]


def measure(options, work: Path) -> list[Row]:
    files = generate(options, work, KEYS)
    sides = [Duckdb(options, work), Basalt(options, work)]
    for side in sides:
        side.remove()
    table = []

    loads = [side.load(files) for side in sides]
    connection = duckdb.connect()
    for name, file in files.items():
        rows = connection.execute(f"SELECT COUNT(*) FROM '{file}'").fetchone()[0]
        table.append(in_rows_a_second(f"load {name.upper()} ({rows:,} rows)", rows, *(load[0][name] for load in loads)))
    table.append(in_bytes("peak memory of the load", *(load[1] for load in loads)))
    table.append(in_bytes("size on disk", *(side.disk_bytes() for side in sides)))
    what = "LINEITEM on disk, beside a ZSTD Parquet file that DuckDB writes"
    table.append(in_bytes(what, parquet_bytes(files["lineitem"], work), sides[1].table_bytes("LINEITEM")))

    asked = wanted(options, [question for question in questions(options.sf) if question.run == "demo"])
    check(asked, *sides)
    medians, peaks = in_turns(sides, asked, options.runs)
    for question, seconds in zip(asked, medians, strict=True):
        table.append(in_seconds(question.title, *seconds))
    for question in questions(options.sf):
        if question.run == "first-row":
            runs = zip(*([side.first_row(question.sql) for side in sides] for _ in range(options.runs)))
            table.append(in_seconds(f"{question.title} (program start included)", *map(statistics.median, runs)))
    table.append(in_bytes("peak memory of the questions", *peaks))

    upserted = [side.upsert(UPSERT_ROWS) for side in sides]
    what = f"upsert of {UPSERT_ROWS:,} rows, durable batches of {UPSERT_BATCH:,}"
    table.append(in_rows_a_second(what, UPSERT_ROWS, *(seconds for seconds, _ in upserted)))
    return table


def alone(options, work: Path) -> list[tuple[str, str, str]]:
    """What has no peer: the three-column table beside this machine's memory, and a row by its key through the library. With the aims."""
    file = work / "figures.json"
    bench = [options.basalt, "bench"]
    shared = ["--dir", work, "--json", file, "--quiet"]
    table = ["encodings", "--encodings", "COLUMNAR", "--codecs", "NONE", "--runs", options.runs, "--threads", options.threads]
    run([*bench, *table, *shared])
    figures = json.loads(file.read_text())
    [columnar] = figures["tables"]

    def sum_seconds(threads: int) -> float:
        wanted = {"from": "warm", "columns": "v1", "threads": threads}
        [seconds] = (read["seconds"] for read in columnar["reads"] if wanted.items() <= read.items())
        return seconds

    share = figures["rows"] * 4 / sum_seconds(1) / 1e9 / figures["memory_gb_per_s"]
    run([*bench, "points", "--encoding", "COLUMNAR", "--compression", "ZSTD", *shared])
    points = {figure["question"]: figure["figure"] for figure in json.loads(file.read_text())["basalt"]}
    rows = f"{figures['rows']:,} rows"
    found = [
        (f"an INTEGER key and two random FLOATs, {rows}", "7.0 bytes a row", f"{columnar['bytes_per_row']:.2f}"),
        ("SUM of one of them, one thread, in decoded bytes beside what it reads of memory", "60 %", f"{share:.0%}"),
        ("a row of 100 bytes by its key through the library, of a million in the cache, p50", "5 µs", f"{points['get, 1 threads, p50']:.1f} µs"),
    ]
    if options.threads > 1:
        what = f"the sum by {options.threads} threads beside one"
        found.insert(2, (what, "1.8 times by two", f"{sum_seconds(1) / sum_seconds(options.threads):.2f}"))
    return found


def parquet_bytes(file: Path, work: Path) -> int:
    """Bytes of the same rows in Parquet as DuckDB writes it with ZSTD, in a process of its own as `check` compares."""
    written = work / "zstd.parquet"
    copy = f"COPY (SELECT * FROM '{file}') TO '{written}' (FORMAT parquet, COMPRESSION zstd)"
    run([sys.executable, "-c", "import duckdb, sys; duckdb.execute(sys.argv[1])", copy])
    size = written.stat().st_size
    written.unlink()
    return size


def conditions(options) -> str:
    return f"TPC-H scale factor {options.sf:g}, {options.threads} threads, median of {options.runs} runs or more; {machine()}"


def head(options) -> list[str]:
    left_out = f" LEAVE_OUT='{' '.join(options.leave_out)}'" if options.leave_out else ""
    return [
        "# The main job: DuckDB and Basalt side by side",
        "",
        conditions(options),
        f"Made by `make bench SF={options.sf:g}{left_out}`; how it is measured: `tests/reference/compare.py`.",
        "A ratio of 2 means that Basalt takes twice the time or space.",
    ]


def report(head: list[str], table: list[Row], found: list[tuple[str, str, str]]) -> str:
    lines = [*head, "", f"| | {Duckdb.name} | {Basalt.name} | ratio |", "|---|--:|--:|--:|"]
    lines += [f"| {row.what.replace('*', chr(92) + '*')} | {row.duckdb} | {row.basalt} | {row.ratio:.2f} |" for row in table]
    if found:
        lines += ["", f"| {Basalt.name} alone | aim | found |", "|---|--:|--:|"]
        lines += [f"| {what} | {aim} | {figure} |" for what, aim, figure in found]
    return "\n".join(lines) + "\n"


def main(description: str, measure, head, name: str, alone=None):
    """A page of what `measure` finds over TPC-H, in a directory of its own for the data of `name`."""
    arguments = parser(description)
    arguments.add_argument("--sf", type=float, default=1.0, help="scale factor of TPC-H")
    arguments.add_argument("--leave-out", nargs="*", default=[], metavar="NAME", help="questions that are not asked")
    options = arguments.parse_args()
    work = directory(options, f"{name}-sf{options.sf:g}")
    table = measure(options, work)
    text = report(head(options), table, alone(options, work) if alone else [])
    print(text)
    write(options, text)


if __name__ == "__main__":
    main(__doc__, measure, head, "bench", alone)
