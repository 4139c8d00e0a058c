#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Basalt and RocksDB on the same rows and questions, one after the other on the same disk, as a table on standard output.
#
#   bench/points.sh BASALT_BENCH CACHE [ROWS [ENCODING [COMPRESSION]]]
#
# BASALT_BENCH is the compiled bench `points` of basalt-store; CACHE a directory for RocksDB's program and the databases.
set -euo pipefail
bench=$1 cache=$2 rows=${3:-1000000} encoding=${4:-NONE} compression=${5:-NONE}
here=$(cd "$(dirname "$0")" && pwd)
work=$cache/points
mkdir -p "$work"
if ! [ "$work/rocksdb" -nt "$here/rocksdb/points.cc" ]; then
    c++ -O2 -std=c++17 -o "$work/rocksdb" "$here/rocksdb/points.cc" -lrocksdb -lpthread || {
        echo 'RocksDB is missing; on Debian or Ubuntu: apt install librocksdb-dev' >&2
        exit 1
    }
fi
run() {
    rm -rf "$work/db" && mkdir "$work/db"
    "$@"
}
run "$work/rocksdb" "$work/db" "$rows" >"$work/rocksdb.tsv"
run "$bench" "$work/db" "$rows" "$encoding" "$compression" >"$work/basalt.tsv"
rm -rf "$work/db"
echo "| $rows rows, $encoding, $compression | Basalt | RocksDB | unit | Basalt / RocksDB |"
echo '|---|--:|--:|---|--:|'
join -t $'\t' -j 1 <(sort -t $'\t' -k 1,1 "$work/basalt.tsv") <(sort -t $'\t' -k 1,1 "$work/rocksdb.tsv") |
    awk -F '\t' '{ printf "| %s | %s | %s | %s | %.2f |\n", $1, $2, $4, $3, $2 / $4 }'
