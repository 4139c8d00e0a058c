# SPDX-License-Identifier: Apache-2.0
"""What all comparisons share: processes and their times, options, the pages that they write."""

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Ended:
    """A process that ended well."""

    stdout: str
    stderr: str
    seconds: float
    peak_bytes: int


def run(command: list, keep_output: bool = True) -> Ended:
    start = time.monotonic()
    output = subprocess.PIPE if keep_output else subprocess.DEVNULL
    process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=subprocess.PIPE, text=True)
    stdout = process.stdout.read() if keep_output else ""
    stderr = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(process.args)}: exit code {process.returncode}\n{stderr}")
    return Ended(stdout, stderr, seconds, usage.ru_maxrss * 1024)


def statement_seconds(stderr: str) -> list[float]:
    """The times that --timing prints, one line a statement."""
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
    return [float(n) * units[unit] for n, unit in re.findall(r"^Time: ([\d.]+) (s|ms|µs)", stderr, re.M)]


def show_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def machine() -> str:
    """When and where: the end of a page's first sentence."""
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return (
        f"{time.strftime('%Y-%m-%d')}, {processor[1] if processor else platform.machine()}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}."
    )


def notes(page: Path) -> str:
    """What people wrote below the figures, from the first `## ` on."""
    before = page.read_text() if page.exists() else ""
    at = before.find("\n## ")
    return before[at:] if at >= 0 else ""


def parser(description: str) -> argparse.ArgumentParser:
    """What every comparison is told."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--basalt", type=Path, required=True, help="the program")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work", type=Path, help="directory for data and databases; the latter are removed first")
    parser.add_argument("--out", type=Path, help="write the table there, too; what the page has below its first `## ` stays")
    return parser


def directory(options, name: str) -> Path:
    """Where data and databases go."""
    cache = Path(os.environ.get("BASALT_CACHE") or Path.home() / ".cache" / "basalt")
    work = options.work or cache / name
    work.mkdir(parents=True, exist_ok=True)
    return work


def write(options, text: str):
    """Writes the page, if one is wanted."""
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + notes(options.out))
