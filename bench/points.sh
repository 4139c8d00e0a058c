#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Basalt and RocksDB on the same rows and questions, one after the other on the same disk, as a table on standard output.
#
#   bench/points.sh BASALT CACHE [ARGUMENT...]
#
# BASALT is the program; CACHE a directory for RocksDB's program and the databases; the arguments are those of `basalt bench points`.
set -euo pipefail
basalt=$1 cache=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
work=$cache/points
mkdir -p "$work"
if ! [ "$work/rocksdb" -nt "$here/rocksdb/points.cc" ]; then
    c++ -O2 -std=c++17 -o "$work/rocksdb" "$here/rocksdb/points.cc" -lrocksdb -lpthread || {
        echo 'RocksDB is missing; on Debian or Ubuntu: apt install librocksdb-dev' >&2
        exit 1
    }
fi
exec "$basalt" bench points --rocksdb "$work/rocksdb" --dir "$work" "$@"
