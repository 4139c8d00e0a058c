# SPDX-License-Identifier: Apache-2.0
"""Programs that are asked in turns, each in a process of its own that answers a statement when it is told one.

What else runs on a machine comes and goes within seconds: sides that answer all their questions one after the other meet different
neighbours. Here each question goes to one side, then to the other, again and again; they never answer at the same time.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from measuring import statement_seconds

# A question is asked until it was asked --runs times and this long.
SECONDS_AT_LEAST = 1.0


class Session:
    """A running program; `ask` gives the seconds that it says a statement took."""

    def __init__(self, command: list, write: Callable[[str], str], stream: str, read: Callable[[str], float | None]):
        self.command = [str(word) for word in command]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": None} | {stream: subprocess.PIPE}
        self.process = subprocess.Popen(self.command, text=True, **pipes)
        self.write, self.read, self.lines = write, read, getattr(self.process, stream)

    def ask(self, sql: str) -> float:
        self.process.stdin.write(self.write(sql))
        self.process.stdin.flush()
        said = []
        for line in self.lines:
            seconds = self.read(line)
            if seconds is not None:
                return seconds
            said.append(line)
        sys.exit(f"{' '.join(self.command)}: ended without an answer to {sql}\n{''.join(said)}")

    def end(self) -> int:
        """Peak memory in bytes of the process, which has ended."""
        self.process.stdin.close()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.lines.close()
        if self.process.returncode != 0:
            sys.exit(f"{' '.join(self.command)}: exit code {self.process.returncode}")
        return usage.ru_maxrss * 1024


def duckdb_session(command: list) -> Session:
    """duckdb_side.py told to `ask`."""
    return Session(command, lambda sql: json.dumps(sql) + "\n", "stdout", float)


def basalt_session(command: list) -> Session:
    """`basalt sql --timing` that reads statements from its standard input."""
    return Session(command, lambda sql: f"{sql};\n", "stderr", lambda line: next(iter(statement_seconds(line)), None))


def in_turns(sides: list, asked: list, runs: int) -> tuple[list[list[float]], list[int]]:
    """The median seconds of each side for each question, and the peak bytes of each side.

    Every side answers a question once unmeasured first.
    """
    sessions = [side.session() for side in sides]
    medians = []
    for question in asked:
        for session in sessions:
            session.ask(question.sql)
        times = [[] for _ in sessions]
        start = time.monotonic()
        while len(times[0]) < runs or time.monotonic() - start < SECONDS_AT_LEAST:
            for session, mine in zip(sessions, times, strict=True):
                mine.append(session.ask(question.sql))
        medians.append([statistics.median(mine) for mine in times])
    return medians, [session.end() for session in sessions]
