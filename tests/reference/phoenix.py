# SPDX-License-Identifier: Apache-2.0
"""Times HBase with Phoenix and Basalt side by side: same rows, same statements, same machine.

    make bench-phoenix    (or: python3 tests/reference/phoenix.py --basalt PATH [--sf 0.1] [--out FILE])

Both make the tables of tests/queries/tpch-tables.sql and one of two random floats a row, fill them from the same files, and answer every statement of tests/queries/phoenix.sql
once unmeasured and --runs times measured; the median counts, and the answers are compared. HBase is a process of its own on the loopback interface with 4 GiB of heap,
asked by Phoenix's driver, its tables flushed and compacted before; its time ends with the last value of the last row. Basalt runs the
statements in its own process, as programs that embed it do; its times are those that `basalt sql --timing` prints. The two never run at the same time.
"""

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from decimal import Decimal, InvalidOperation
from pathlib import Path

from measuring import directory, machine, parser, run, show_seconds, statement_seconds, write
from questions import QUERIES, questions

HERE = Path(__file__).parent
SCRIPTS = HERE.parent / "hbase"
TABLES = ["lineitem", "orders", "floats"]
FLOATS = "CREATE TABLE floats (k INTEGER NOT NULL PRIMARY KEY, v1 FLOAT, v2 FLOAT)"
# How HBase keeps the table of floats, one after the other; the last is what all else is asked of.
STORED = [("NONE", "NONE"), ("FAST_DIFF", "ZSTD"), ("FAST_DIFF", "NONE")]
HBASE_HEAP = "4g"
PATIENCE_SECONDS = 180


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


class Phoenix:
    """HBase in a process that ends with this object, and what its driver measured."""

    def __init__(self, work: Path):
        self.work, self.data = work, work / "hbase"
        shutil.rmtree(self.data, ignore_errors=True)
        ready = work / "ready"
        ready.unlink(missing_ok=True)
        self.environment = os.environ | {"HBASE_LINE": "phoenix", "HBASE_CONF": str(SCRIPTS / "phoenix" / "conf")}
        with (work / "hbase.log").open("w") as log:
            command = [SCRIPTS / "run.sh", "RealServer", self.data, ready]
            environment = self.environment | {"JAVA_HEAP": HBASE_HEAP}
            self.server = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        patience = time.monotonic() + PATIENCE_SECONDS
        while not (ready.exists() and ready.read_text().endswith("\n")):
            if self.server.poll() is not None or time.monotonic() > patience:
                self.stop()
                sys.exit(f"HBase did not start; see {work / 'hbase.log'}")
            time.sleep(0.2)
        self.address = ready.read_text().strip()

    def stop(self):
        self.server.terminate()
        try:
            self.server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()

    def tasks(self, tasks: list[tuple]) -> list[dict]:
        file = self.work / "tasks.tsv"
        file.write_text("".join("\t".join(map(str, task)) + "\n" for task in tasks))
        command = [SCRIPTS / "run.sh", "PhoenixBench", self.address, file]
        ended = subprocess.run(command, env=self.environment | {"JAVA_HEAP": "2g"}, capture_output=True, text=True)
        if ended.returncode != 0:
            sys.exit(f"PhoenixBench: exit code {ended.returncode}\n{ended.stderr[-4000:]}")
        return [json.loads(line) for line in ended.stdout.splitlines()]

    def disk_bytes(self, table: str) -> int:
        """Of what the compaction wrote, one file a region; the files before it stay for some minutes."""
        regions = (self.data / "hbase" / "data" / "default" / table.upper()).glob("*/0")
        newest = (max(region.iterdir(), key=lambda file: file.stat().st_mtime) for region in regions)
        return sum(file.stat().st_size for file in newest)

    def peak_bytes(self) -> int:
        # run.sh becomes the JVM.
        return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.server.pid}/status").read_text())[1]) * 1024


class Basalt:
    def __init__(self, options, work: Path):
        self.program, self.database, self.work = options.basalt, work / "basalt.db", work
        self.threads = ["--threads", options.threads]
        shutil.rmtree(self.database, ignore_errors=True)
        run([self.program, "sql", self.database, "--quiet", "-c", ";".join(definitions())])

    def load(self, table: str, file: Path) -> float:
        return run([self.program, "load", self.database, table, file, "--quiet", *self.threads]).seconds

    def ask(self, sql: str, runs: int) -> float:
        file = self.work / "question.sql"
        file.write_text(f"{sql};\n" * (1 + runs))
        command = [self.program, "sql", self.database, "-f", file, "--format", "arrow", "--timing", *self.threads]
        return statistics.median(statement_seconds(run(command, keep_output=False).stderr)[1:])

    def answer(self, sql: str) -> list[list[str]]:
        ended = run([self.program, "sql", self.database, "-c", sql, "--format", "tsv", *self.threads])
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


def check(question, ours: list[list[str]], theirs: dict):
    if len(ours) != theirs["rows"]:
        sys.exit(f"{question.name}: Basalt answers {len(ours)} rows, Phoenix {theirs['rows']}")
    if question.answer == "count":
        return
    for mine, row in zip(ours, theirs["answer"]):
        if not all(same(*values) for values in zip(mine, row, strict=True)):
            sys.exit(f"{question.name}: Basalt answers {mine}, Phoenix {row}")


def times(theirs: float, ours: float) -> str:
    ratio = theirs / ours
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def measure(options, work: Path) -> list[str]:
    files = make_files(options, work)
    asked = questions(options.sf, "phoenix.sql")
    basalt = Basalt(options, work)
    loaded = {table: basalt.load(table, file) for table, file in files.items()}
    lines = ["| | Phoenix | Basalt | times as fast, or as small |", "|---|--:|--:|--:|"]

    phoenix = Phoenix(work)
    try:
        setup = [("run", sql) for sql in definitions()]
        setup += [("load", table.upper(), file, 2) for table, file in files.items()]
        setup += [("store", table.upper(), *STORED[-1]) for table in ("lineitem", "orders")]
        for found in phoenix.tasks(setup):
            if found["task"] == "load":
                table = found["subject"].lower()
                rate = lambda seconds: f"{found['rows'] / seconds / 1e3:,.0f}k rows/s"
                what = f"fill {table.upper()} ({found['rows']:,} rows)"
                lines.append(f"| {what} | {rate(found['whole'])} | {rate(loaded[table])} | {times(found['whole'], loaded[table])} |")
        for table in ("lineitem", "orders"):
            sizes = phoenix.disk_bytes(table), basalt.disk_bytes(table)
            lines.append(f"| {table.upper()} on disk | {sizes[0] / 1e6:,.1f} MB | {sizes[1] / 1e6:,.1f} MB | {times(*sizes)} |")

        floats = [question for question in asked if "FROM floats" in question.sql]
        for encoding, compression in STORED:
            tasks = [("store", "FLOATS", encoding, compression)]
            tasks += [("ask", question.name, options.runs, " ".join(question.sql.split())) for question in floats]
            answers = phoenix.tasks(tasks)[1:]
            sizes = [side.disk_bytes("floats") / options.rows for side in (phoenix, basalt)]
            kept = encoding if compression == "NONE" else f"{encoding} and {compression}"
            kept = "neither encoding nor codec" if encoding == compression else kept
            lines.append(f"| a row of a key and two random floats, {kept} | {sizes[0]:.1f} bytes | {sizes[1]:.1f} bytes | {times(*sizes)} |")
            lines += asked_lines(basalt, options.runs, floats, answers, f", {kept}")
        others = [question for question in asked if question not in floats]
        answers = phoenix.tasks([("ask", question.name, options.runs, " ".join(question.sql.split())) for question in others])
        lines += asked_lines(basalt, options.runs, others, answers, "")
        lines.append(f"| memory of the server at most | {phoenix.peak_bytes() / 1e6:,.0f} MB | none | |")
    finally:
        phoenix.stop()
    return lines


def asked_lines(basalt: Basalt, runs: int, asked, answers: list[dict], suffix: str) -> list[str]:
    lines = []
    for question, found in zip(asked, answers, strict=True):
        check(question, basalt.answer(question.sql), found)
        theirs, ours = statistics.median(found["seconds"]), basalt.ask(question.sql, runs)
        title = question.title.replace("*", "\\*") + suffix
        lines.append(f"| {title} | {show_seconds(theirs)} | {show_seconds(ours)} | {times(theirs, ours)} |")
    return lines


def head(options) -> list[str]:
    return [
        "# HBase with Phoenix, and Basalt, side by side",
        "",
        f"TPC-H scale factor {options.sf:g} and {options.rows:,} rows of a key and two random floats, {options.threads} threads, median of {options.runs} runs; {machine()}",
        f"Made by `make bench-phoenix PHOENIX_SF={options.sf:g}`; how it is measured: `tests/reference/phoenix.py`. HBase 2.6.1 with Phoenix 5.2.1.",
        "",
    ]


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--sf", type=float, default=0.1, help="scale factor of TPC-H")
    arguments.add_argument("--rows", type=int, default=1 << 20, help="rows of the table of floats")
    options = arguments.parse_args()
    text = "\n".join(head(options) + measure(options, directory(options, f"phoenix-sf{options.sf:g}"))) + "\n"
    print(text)
    write(options, text)


if __name__ == "__main__":
    main()
