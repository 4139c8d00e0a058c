#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clients_more.sh BASALT   The clients that take longer to fetch or to run, against `BASALT serve`: HBase's endpoints and MapReduce in local mode,
# and PerformanceEvaluation.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

mkdir "$work/conf"
cp "$here/conf/log4j.properties" "$work/conf"
"$basalt" serve "$work/db" --port 0 --ready-file "$work/ready" > /dev/null 2> "$work/log" &
server=$!
until [ -s "$work/ready" ]; do
  kill -0 "$server" || { echo 'the server did not start' >&2; exit 1; }
  sleep 0.05
done
address=$(head -1 "$work/ready")
cat > "$work/conf/hbase-site.xml" << END
<configuration>
  <property><name>hbase.client.registry.impl</name><value>org.apache.hadoop.hbase.client.RpcConnectionRegistry</value></property>
  <property><name>hbase.client.bootstrap.servers</name><value>$address</value></property>
</configuration>
END

echo 'endpoints and MapReduce'
HBASE_LINE=more "$here/run.sh" MoreCheck "rpc:$address"

rows=${PE_ROWS:-20000}
for command in sequentialWrite randomWrite sequentialRead randomRead scan; do
  echo "PerformanceEvaluation $command"
  HBASE_CONF=$work/conf HBASE_LINE=more "$here/run.sh" org.apache.hadoop.hbase.PerformanceEvaluation \
    --nomapred --rows="$rows" --presplit=3 "$command" 2 > "$work/pe.log" 2>&1 || { tail -40 "$work/pe.log" >&2; exit 1; }
done
