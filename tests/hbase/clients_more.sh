#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clients_more.sh BASALT   The clients that take longer to fetch or to run, against `BASALT serve`: HBase's endpoints and MapReduce in local mode,
# and PerformanceEvaluation.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
. "$here/server.bash"

mkdir "$work/conf"
cp "$here/conf/log4j.properties" "$work/conf"
start "$work/db"
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
