# SPDX-License-Identifier: Apache-2.0
"""Reads the files of tests/queries: the questions that the demo, the tests and the benchmark share."""

import re
from dataclasses import dataclass
from pathlib import Path

QUERIES = Path(__file__).parent.parent / "queries"


@dataclass(frozen=True)
class Question:
    name: str
    title: str
    run: str
    answer: str
    sql: str


def questions(scale_factor: float, file: str = "main-job.sql") -> list[Question]:
    """All questions of a file in its order, with the placeholders filled in."""
    # Order keys are multiples of 32 plus 0 to 7, so a multiple of 32 is an order.
    values = {"offset": int(5_000_000 * scale_factor), "key": int(3_000_000 * scale_factor) // 32 * 32}
    found = []
    for head, sql in re.findall(r"((?:^-- \w+: .*\n)+)((?:^(?!--).*\n)+)", (QUERIES / file).read_text(), re.M):
        fields = dict(re.findall(r"^-- (\w+): (.*)$", head, re.M))
        for name, value in values.items():
            sql = sql.replace("{%s}" % name, str(value))
            fields["title"] = fields["title"].replace("{%s}" % name, f"{value:,}")
        found.append(Question(sql=sql.strip().rstrip(";"), **fields))
    return found
