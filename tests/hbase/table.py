#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py MEASURED.jsonl CELLS EFFORT: the lines that both ScanBench programs printed, as docs/benchmarks/hfile.md."""
import collections
import json
import os
import platform
import subprocess
import sys


def rate(lines, cells, seconds):
    """Million cells per second in the shortest of all rounds and turns: noise of other programs only ever adds time."""
    return max(line[cells] / time / 1e6 for line in lines for time in line[seconds])


def seek(lines, percentile):
    return min(line["seek_ns"][percentile] for line in lines) / 1000


def cpu():
    with open("/proc/cpuinfo") as info:
        models = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    return f"{models[0] if models else platform.processor()}, {os.cpu_count()} cores"


def main():
    path, cells, effort = sys.argv[1:4]
    measured = collections.defaultdict(lambda: collections.defaultdict(list))
    for text in open(path):
        line = json.loads(text)
        measured[line["file"]][line["by"]].append(line)

    print("# Store files: Basalt beside HBase's own reader and writer")
    print()
    print(f"A file per encoding and codec, {int(cells):,} cells of the table of `crates/basalt-hfile/examples/scan_bench/table.rs`")
    print("(an integer key, two random floats, a small integer; four cells a row as Phoenix lays them out), 64 KiB blocks, a ROW bloom")
    print("filter, CRC32C. Both programs measure the same file, in turn, each on one thread; times are that")
    print("thread's time on a processor (the JVM's compiler and garbage collector run on others and are not counted), the best of all rounds. HBase is 2.6.4 with its pure-Java codecs, warmed up for as many rounds as are measured.")
    print()
    print("* scan: every cell, from the operating system's cache, checksums verified: million cells per second, and MB of plain cells per second.")
    print("  Of each cell timestamp, length of the value, and the last bytes of row, qualifier and value go into a sum; both programs must come to the same.")
    print("* seek: a random row found and a value of it read, in microseconds of the clock: median, and 99th percentile. Both keep decompressed blocks in memory.")
    print("* write: cells from memory (HBase's as its objects, Basalt's as the runs of rows that its reader makes of blocks) to a file without fsync, million cells per second.")
    print("* ×: how many times as fast Basalt is.")
    print()
    print("| encoding | codec | MB | bytes/row | scan M/s | MB/s | HBase M/s | × | seek µs | p99 | HBase µs | p99 | × | write M/s | HBase M/s | × |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, by in measured.items():
        ours, theirs = by["basalt"], by["hbase"]
        encoding, codec = name.split("-")
        sums = {line["sum"] for line in ours + theirs}
        if len(sums) != 1:
            sys.exit(f"{name}: the programs did not see the same cells, their sums are {sums}")
        size, count, raw = ours[0]["size_bytes"], ours[0]["cells"], ours[0]["raw_bytes"]
        # Million cells per second.
        scan, their_scan = rate(ours, "cells", "scan_s"), rate(theirs, "cells", "scan_s")
        median, their_median = seek(ours, "p50"), seek(theirs, "p50")
        write, their_write = rate(ours, "write_cells", "write_s"), rate(theirs, "write_cells", "write_s")
        print(
            f"| {encoding} | {codec} | {size / 1e6:.1f} | {size / (count / 4):.1f} "
            f"| {scan:.1f} | {raw * scan / count:,.0f} | {their_scan:.1f} | {scan / their_scan:.1f} "
            f"| {median:.1f} | {seek(ours, 'p99'):.1f} | {their_median:.1f} | {seek(theirs, 'p99'):.1f} | {their_median / median:.1f} "
            f"| {write:.1f} | {their_write:.1f} | {write / their_write:.1f} |"
        )
    whole = {
        name: rate(by["hbase"], "cells", "scan_process_s")
        for name, by in measured.items()
        if all("scan_process_s" in line for line in by["hbase"])
    }
    if whole:
        print()
        print("HBase's scans by the processor time of its whole process, with the collector and the compiler, million cells per second: ")
        print("; ".join(f"{name} {speed:.1f}" for name, speed in whole.items()) + ".")
    print()
    java = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.splitlines()[1].strip()
    print(f"Made by `tests/hbase/bench.sh` ({effort}) on {cpu()}, {java}.")


main()
