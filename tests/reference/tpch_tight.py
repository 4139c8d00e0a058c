# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of DuckDB and Basalt to the 22 queries of TPC-H, Basalt's with little memory.

    make torture          (or: python3 tests/reference/tpch_tight.py --basalt PATH [--sf 1] [--memory 512MB])

The data is loaded and each query is asked in a process with --memory; DuckDB has what it wants. Ends with the most memory that one of Basalt's processes had.
"""

from answers import compare
from compare import Basalt, Duckdb, generate
from measuring import directory, parser, run
from questions import questions
from tpch import KEYS


class Tight(Basalt):
    """Basalt with little memory."""

    def __init__(self, options, work):
        super().__init__(options, work, KEYS)
        self.memory, self.peak_bytes = options.memory, 0

    def command(self, command, *arguments):
        return [*super().command(command, *arguments), "--memory", self.memory]


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--sf", type=float, default=1.0, help="scale factor of TPC-H")
    arguments.add_argument("--memory", default="512MB", help="memory of Basalt")
    options = arguments.parse_args()
    work = directory(options, f"tpch-sf{options.sf:g}")
    files = generate(options, work, KEYS)
    theirs, ours = Duckdb(options, work), Tight(options, work)
    for side in (theirs, ours):
        side.remove()
        side.load(files)
    asked = questions(options.sf, "tpch.sql")
    compare(asked, theirs, ours)
    peak = max(run(ours.command("sql", "-c", question.sql, "--format", "trash")).peak_bytes for question in asked)
    print(f"{len(asked)} queries of TPC-H at scale factor {options.sf:g} with {options.memory}: equal answers, at most {peak / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
