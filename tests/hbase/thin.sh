#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# thin.sh BASALT   Phoenix's thin clients against `BASALT serve --phoenix-port`: phoenixdb of Python, and the thin JDBC driver.
#
# Needs Python 3 with venv and a JDK; the first time also PyPI, Maven and Maven Central.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
cache=${BASALT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/basalt}/thin
. "$here/server.bash"

python=$cache/python/bin/python3
if ! cmp --silent "$here/thin/requirements.txt" "$cache/requirements.txt"; then
  python3 -m venv "$cache/python" || {
    echo 'python3 with venv is missing; on Debian or Ubuntu: apt install python3-venv' >&2
    exit 2
  }
  # Without Kerberos, see thin/without_kerberos.
  "$python" -m pip install --quiet --no-deps --requirement <(grep phoenixdb "$here/thin/requirements.txt")
  "$python" -m pip install --quiet $(grep -v phoenixdb "$here/thin/requirements.txt") 2> "$cache/pip.log" || { cat "$cache/pip.log" >&2; exit 1; }
  cp "$here/thin/requirements.txt" "$cache/requirements.txt"
fi

start "$work/db" 0 --phoenix-port 0
phoenix=$(sed -n 2p "$work/ready")
echo 'phoenixdb'
PYTHONPATH=$here/thin/without_kerberos "$python" "$here/thin/phoenixdb_check.py" "http://$phoenix/"
echo 'the thin JDBC driver'
HBASE_LINE=thin "$here/run.sh" ThinCheck "$phoenix"
stop
"$basalt" check "$work/db" --quiet
