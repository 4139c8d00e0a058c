# SPDX-License-Identifier: Apache-2.0
"""Joins of 2^10 to 2^24 keys in DuckDB and Basalt: same rows, same question, same number of threads.

    make bench-join       (or: python3 tests/reference/join.py --basalt PATH [--keys-max 24] [--out FILE])

Both sides of a join have 2^n rows, each of which meets exactly one of the other side; the keys are spread over forty bits
and are no primary keys. Each size runs in a process of its own a side, which answers once unmeasured and then --runs times, or for a
second if that is more; the sides take turns (turns.py), and the median counts. The peak memory is that of the process, its start and its reading of the table included; it is never less than
that of the Python process that starts both.
"""

import sys
from pathlib import Path

import compare
import measuring
from questions import Question
from turns import in_turns

POWERS_FROM, POWERS_STEP = 10, 2
ROWS = """
    SELECT k, k * 1000003 % 1099511627689 AS own,
        (CASE WHEN k % 1024 < 512 THEN k + 512 ELSE k - 512 END) * 1000003 % 1099511627689 AS other, (k % 1000)::INTEGER AS v
    FROM (SELECT UNNEST(range({rows}))::BIGINT AS k)
"""


def question(power: int) -> Question:
    keys = 1 << power
    sql = (
        "SELECT COUNT(*) AS met FROM bench_join a JOIN bench_join b ON a.own = b.other "
        f"WHERE a.k < {keys} AND b.k < {keys} AND a.v + b.v >= 0"
    )
    return Question(name=f"join{power}", title=f"2^{power}", run="demo", answer="", sql=sql)


def generate(work: Path, power: int) -> Path:
    file = work / f"bench_join-{power}.parquet"
    if not file.exists():
        partial = file.with_suffix(".part")
        copy = f"COPY ({ROWS.format(rows=1 << power)}) TO '{partial}' (FORMAT PARQUET)"
        # In a process of its own: what this one once took would count as memory of those that it starts.
        measuring.run([sys.executable, "-c", "import duckdb, sys; duckdb.connect().execute(sys.argv[1])", copy])
        partial.rename(file)
    return file


def measure(options, work: Path) -> list[str]:
    powers = range(POWERS_FROM, options.keys_max + 1, POWERS_STEP)
    file = generate(work, powers[-1])
    compare.KEYS["bench_join"] = "k"
    sides = [compare.Duckdb(options, work), compare.Basalt(options, work)]
    for side in sides:
        side.remove()
        side.load({"bench_join": file})
    lines = []
    for power in powers:
        [medians], peaks = in_turns(sides, [question(power)], options.runs)
        seconds = compare.in_seconds("", *medians)
        memory = compare.in_bytes("", *peaks)
        cells = [f"2^{power}", seconds.duckdb, seconds.basalt, f"{seconds.ratio:.2f}", memory.duckdb, memory.basalt]
        lines.append("| " + " | ".join(cells) + f" | {memory.ratio:.2f} |")
        print(lines[-1], flush=True)
    return lines


def report(options, lines: list[str]) -> str:
    head = [
        "# Joins: DuckDB and Basalt side by side",
        "",
        f"Two sides of 2^n rows, each row with one of the other side; {options.threads} threads, median of {options.runs} runs or more; "
        + measuring.machine(),
        "Made by `make bench-join`; how it is measured: `tests/reference/join.py`.",
        "A ratio of 2 means that Basalt takes twice the time or space.",
        "",
        f"| keys | {compare.Duckdb.name} | Basalt | ratio | memory, DuckDB | memory, Basalt | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    return "\n".join(head + lines) + "\n"


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--keys-max", type=int, default=24, help="as a power of two, from 10 on")
    options = parser.parse_args()
    if options.keys_max < POWERS_FROM:
        parser.error(f"--keys-max is {options.keys_max}; it must be {POWERS_FROM} or more")
    measuring.write(options, report(options, measure(options, measuring.directory(options, "bench-join"))))


if __name__ == "__main__":
    main()
