#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# thin.sh BASALT   Phoenix's thin clients against `BASALT serve --phoenix-port`: phoenixdb of Python, and the thin JDBC driver.
#
# Needs Python 3 with venv and a JDK; the first time also PyPI, Maven and Maven Central. A client that cannot be had is left out, and said so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
base=${BASALT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/basalt}
cache=$base/thin
. "$here/server.bash"

python=$cache/python/bin/python3
mkdir -p "$cache"
# phoenixdb without its Kerberos, see thin/without_kerberos; what else it needs.
fetch_python() {
  cmp --silent "$here/thin/requirements.txt" "$cache/requirements.txt" && return
  python3 -m venv "$cache/python" &&
    "$python" -m pip install --quiet --no-deps --requirement "$here/thin/requirements.txt" &&
    "$python" -m pip install --quiet certifi charset_normalizer idna urllib3 &&
    cp "$here/thin/requirements.txt" "$cache/requirements.txt"
}

start "$work/db" 0 --phoenix-port 0
phoenix=$(sed -n 2p "$work/ready")
if fetch_python > "$work/pip.log" 2>&1; then
  echo 'phoenixdb'
  PYTHONPATH=$here/thin/without_kerberos "$python" "$here/thin/phoenixdb_check.py" "http://$phoenix/"
else
  echo "phoenixdb is left out: $(tail -1 "$work/pip.log")"
fi
if [ -s "$base/hbase-thin/classpath" ] || HBASE_LINE=thin "$here/run.sh" java.lang.Object > "$work/maven.log" 2>&1 || [ -s "$base/hbase-thin/classpath" ]; then
  echo 'the thin JDBC driver'
  HBASE_LINE=thin "$here/run.sh" ThinCheck "$phoenix" 2> "$work/java.log" || {
    grep -v SLF4J "$work/java.log" >&2
    exit 1
  }
else
  echo "the thin JDBC driver is left out: $(tail -1 "$work/maven.log")"
fi
stop
"$basalt" check "$work/db" --quiet
