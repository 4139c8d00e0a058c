#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Size of LINEITEM in COLUMNAR, with and without ZSTD, beside the Parquet file that it was loaded from.
#   columnar.sh BASALT DIRECTORY SCALE_FACTOR
set -euo pipefail
basalt=$1 dir=$2 sf=$3
mkdir -p "$dir"
[ -f "$dir/lineitem.parquet" ] || "$basalt" tpch "$dir" --sf "$sf"
echo "lineitem.parquet: $(stat --format %s "$dir/lineitem.parquet") bytes"
for codec in NONE ZSTD; do
  rm -rf "$dir/$codec"
  "$basalt" sql "$dir/$codec" -c "CREATE TABLE lineitem (
    l_orderkey BIGINT NOT NULL, l_linenumber INTEGER NOT NULL, l_partkey BIGINT, l_suppkey BIGINT,
    l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2),
    l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE,
    l_shipinstruct VARCHAR, l_shipmode VARCHAR, l_comment VARCHAR
    CONSTRAINT pk PRIMARY KEY (l_orderkey, l_linenumber)) DATA_BLOCK_ENCODING='COLUMNAR', COMPRESSION='$codec'"
  "$basalt" load --quiet "$dir/$codec" LINEITEM "$dir/lineitem.parquet"
  find "$dir/$codec/data" -type f -size +4k | while read -r file; do
    echo "COLUMNAR, $codec: $(stat --format %s "$file") bytes"
    "$basalt" hfile stat "$file" | sed -n '/^sections of row groups/,/^$/p'
  done
done
