#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gohbase.sh BASALT   gohbase's own integration tests against `BASALT serve`.
#
# Needs Go and, the first time, its module proxy; without them it says so and ends well. GOHBASE is a folder with gohbase's source, if it is
# somewhere already. GOHBASE_RUN is a pattern of tests.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
version=v0.0.0-20260613001017-cfe2cb9e6df3
# Tests that need several servers on one machine, or replication; one that reads the table hbase:namespace, which HBase 3 does not have either; and one
# that counts the row on which a filter ended the scan.
skipped='^TestChangingRegionServers$|^TestScannerRenewal$|^TestMoveRegion$|^TestReplication$'
skipped+='|^TestGetNonDefaultNamespace$|^TestScanWithScanMetrics$/^1_row_scanned_1_row_filtered$'

command -v go > /dev/null || { echo 'gohbase is left out: Go is missing, see https://go.dev/dl'; exit 0; }
if [ -z "${GOHBASE:-}" ]; then
  module=$(cd / && go mod download -json "github.com/tsuna/gohbase@$version" 2>&1) || {
    echo "gohbase is left out: the module proxy does not give it: $(sed -n 's/.*"Error": "\(.*\)".*/\1/p' <<< "$module")"
    exit 0
  }
  GOHBASE=$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<< "$module")
fi
. "$here/server.bash"

(cd "$GOHBASE" && go test -c -tags integration -o "$work/gohbase.test" .)
# Its tests of leases go by one of 5 seconds.
start "$work/db" 0 --lease-ms 5000
echo 'gohbase, its own tests'
if ! (cd "$GOHBASE" && "$work/gohbase.test" -host "$zookeeper" -test.v -test.timeout 5m -test.run "${GOHBASE_RUN:-.}" -test.skip "$skipped") \
    > "$work/gohbase.log" 2>&1; then
  grep -A 12 -E '^ *--- FAIL|^panic' "$work/gohbase.log" >&2 || tail -40 "$work/gohbase.log" >&2
  exit 1
fi
echo "$(grep -c '^--- PASS' "$work/gohbase.log") tests passed"
stop
