# SPDX-License-Identifier: Apache-2.0
"""HBase with Phoenix, for peers.py: a server in a process of its own, and Phoenix's driver in another."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

SCRIPTS = Path(__file__).parent.parent / "hbase"
HBASE_HEAP = "4g"
PATIENCE_SECONDS = 180


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
