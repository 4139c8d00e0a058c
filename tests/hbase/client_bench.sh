#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# client_bench.sh BASALT OUT [ROWS]   HBase and Basalt, one after the other, answer the same client (RpcBench) on the same data -> OUT, Markdown.
#
# Both start empty, on this machine's file system; each loads, flushes, compacts and is read once before anything is timed. HBase's log is
# not synced on a local file system, Basalt's is; the table says so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
out=$2
rows=${3:-1000000}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; wait 2>/dev/null; rm -rf "$work"' EXIT

ready() {
  until [ -s "$1" ]; do
    kill -0 "$server" || { echo 'the server did not start' >&2; exit 1; }
    sleep 0.2
  done
}
memory() { awk '/VmHWM/ { printf "%d", $2 / 1024 }' "/proc/$1/status"; }

"$basalt" serve "$work/basalt" --port 0 --ready-file "$work/basalt.ready" --quiet > "$work/basalt.log" &
server=$!
ready "$work/basalt.ready"
"$here/run.sh" RpcBench "rpc:$(head -1 "$work/basalt.ready")" "$rows" > "$work/basalt.tsv"
memory_basalt=$(memory "$server")
kill "$server"; wait "$server"; server=

JAVA_HEAP=${SERVER_HEAP:-4g} "$here/run.sh" RealServer "$work/real" "$work/real.ready" > "$work/real.log" 2>&1 &
server=$!
ready "$work/real.ready"
"$here/run.sh" RpcBench "zk:$(head -1 "$work/real.ready")" "$rows" > "$work/real.tsv"
memory_real=$(memory "$server")

{
  echo "# HBase's client: HBase and Basalt"
  echo
  echo "\`tests/hbase/client_bench.sh BASALT FILE $rows\` wrote this file: $rows rows of 100 bytes, HBase 2.6.4 with a heap of ${SERVER_HEAP:-4g} and Basalt, one after the other,"
  echo "asked by the same Java client on the same machine ($(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg) at the end). HBase does not sync its log here; Basalt does."
  echo
  echo '| | HBase | Basalt | unit | Basalt / HBase |'
  echo '|---|--:|--:|---|--:|'
  paste "$work/real.tsv" "$work/basalt.tsv" | awk -F'\t' '{ printf "| %s | %s | %s | %s | %.2f |\n", $1, $2, $5, $3, $5 / $2 }'
  awk -v a="$memory_real" -v b="$memory_basalt" 'BEGIN { printf "| largest resident memory of the server | %d | %d | MiB | %.2f |\n", a, b, b / a }'
} > "$out"
