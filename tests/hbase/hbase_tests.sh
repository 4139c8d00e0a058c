#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hbase_tests.sh BASALT OUT [CLASS...]   HBase's own tests against `BASALT serve`; one line per test goes to OUT, a line per class to the terminal.
#
# Without classes, those of own/classes.txt. SECONDS_EACH (default 300) is what one class may take.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
out=$2
shift 2
[ $# -gt 0 ] || mapfile -t classes < <(grep -v '^#' "$here/own/classes.txt")
[ $# -eq 0 ] || classes=("$@")
. "$here/server.bash"

mkdir "$work/conf"
cp "$here/conf/log4j.properties" "$work/conf"
: > "$out"
start "$work/db"
for class in "${classes[@]}"; do
  HBASE_CONF=$work/conf HBASE_LINE=tests "$here/run.sh" HBaseTests "$address" "$zookeeper" "${SECONDS_EACH:-300}" "$class" 2> "$work/$class.log" \
    | grep -P '^\S+\t\S.*\t(passed|failed|skipped|ignored|unfinished)\t' >> "$out" || true
  printf '%s:%s\n' "$class" "$(grep -P "^$class\t" "$out" | cut -f 3 | sort | uniq -c | tr '\n' ' ')"
done
stop
