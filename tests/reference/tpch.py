# SPDX-License-Identifier: Apache-2.0
"""Times DuckDB and Basalt over the 22 queries of TPC-H, after comparing their answers.

    make bench-tpch       (or: python3 tests/reference/tpch.py --basalt PATH [--sf 1] [--out FILE])

Both load the eight tables from the same Parquet files into a durable database and answer every query of tests/queries/tpch.sql
once unmeasured and then --runs times, or for a second if that is more, in one process each and in turns; the median counts. How times are taken: compare.py.
"""

from answers import check
from compare import Basalt, Duckdb, conditions, generate, in_seconds, main, wanted
from questions import questions
from turns import in_turns

KEYS = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey,ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey,l_linenumber",
}


def measure(options, work):
    files = generate(options, work, KEYS)
    sides = [Duckdb(options, work), Basalt(options, work, KEYS)]
    for side in sides:
        side.remove()
        side.load(files)
    asked = wanted(options, questions(options.sf, "tpch.sql"))
    check(asked, *sides)
    medians, _ = in_turns(sides, asked, options.runs)
    table = [in_seconds(f"{question.name.upper()}, {question.title}", *pair) for question, pair in zip(asked, medians, strict=True)]
    table.append(in_seconds("all of them", *map(sum, zip(*medians))))
    return table


def head(options):
    return [
        "# TPC-H: DuckDB and Basalt side by side",
        "",
        f"The 22 queries of tests/queries/tpch.sql, answers compared before; {conditions(options)}",
        f"Made by `make bench-tpch SF={options.sf:g}`; how it is measured: `tests/reference/tpch.py`.",
        "A ratio of 2 means that Basalt takes twice the time.",
    ]


if __name__ == "__main__":
    main(__doc__, measure, head, "tpch")
