#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# client.sh BASALT   HBase's Java client against `BASALT serve`: all that ClientCheck and AdminCheck do, with cell blocks, without them, with compressed ones,
# and by way of ZooKeeper; random programs whose answers HBase itself gave once; then Survivor, over kills of the server.
#
# BASALT is the program, or the example `serve` of crates/basalt-server, which is compiled sooner.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
. "$here/server.bash"

start "$work/db"
for form in blocks inline gzip; do
  echo "ClientCheck, $form"
  "$here/run.sh" ClientCheck "rpc:$address" "$form"
done
echo AdminCheck
"$here/run.sh" AdminCheck "rpc:$address"
echo 'random programs'
# What they do wrong on purpose HBase's client writes to its log, at length.
"$here/run.sh" Programs check "rpc:$address" "$here/recorded/programs.txt.gz" "$here/recorded/known.txt" 2> "$work/programs.log" || {
  grep -A 4 -e '^program ' -e AssertionError "$work/programs.log" >&2 || tail -40 "$work/programs.log" >&2
  exit 1
}
echo 'ClientCheck, by ZooKeeper'
"$here/run.sh" ClientCheck "zk:$zookeeper"
echo 'ClientCheck, HBase 3'
HBASE_LINE=3 "$here/run.sh" ClientCheck "rpc:$address"
stop
[ "${basalt##*/}" != basalt ] || "$basalt" check "$work/db" --quiet

echo 'Survivor'
"$here/run.sh" Survivor "$work" "$basalt"
echo 'Survivor, HBase 3'
rm -rf "$work/survivor"
HBASE_LINE=3 "$here/run.sh" Survivor "$work" "$basalt"
