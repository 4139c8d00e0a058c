#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# client.sh BASALT   HBase's Java client against `BASALT serve`: all that ClientCheck does, with cell blocks, without them, with compressed ones,
# and by way of ZooKeeper; random programs whose answers HBase itself gave once; then Survivor, over kills of the server.
#
# BASALT is the program, or the example `serve` of crates/basalt-server, which is compiled sooner.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# start DB PORT: sets $server, $address and $zookeeper
start() {
  rm -f "$work/ready"
  "$basalt" serve "$1" --port "$2" --zookeeper-port 0 --ready-file "$work/ready" > /dev/null 2> "$work/log" &
  server=$!
  until [ -s "$work/ready" ]; do
    kill -0 "$server" || { echo 'the server did not start' >&2; exit 1; }
    sleep 0.05
  done
  address=$(head -1 "$work/ready")
  zookeeper=$(sed -n 's/.*ZooKeeper at //p' "$work/log")
}

stop() {
  kill "$server"
  wait "$server" || { echo "the server ended with code $? after SIGTERM" >&2; exit 1; }
  server=
}

start "$work/db" 0
for form in blocks inline gzip; do
  echo "ClientCheck, $form"
  "$here/run.sh" ClientCheck "rpc:$address" "$form"
done
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
