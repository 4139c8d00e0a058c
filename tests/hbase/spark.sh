#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# spark.sh BASALT   Spark in one process, asked from Python, reads a table of `BASALT serve` through HBase's TableInputFormat.
#
# Needs Python 3 with venv, and, the first time, PyPI: about 450 MB. They lie under $BASALT_CACHE/spark.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
basalt=$1
rows=${SPARK_ROWS:-30000}
base=${BASALT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/basalt}
cache=$base/spark
. "$here/server.bash"

python=$cache/python/bin/python3
if ! cmp --silent "$here/spark/requirements.txt" "$cache/requirements.txt"; then
  python3 -m venv "$cache/python"
  echo 'asking PyPI for Spark (about 450 MB, once)' >&2
  "$python" -m pip install --quiet --requirement "$here/spark/requirements.txt"
  cp "$here/spark/requirements.txt" "$cache/requirements.txt"
fi
spark=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')

start "$work/db"
HBASE_LINE=more "$here/run.sh" SparkTable "rpc:$address" "$rows"

# Of HBase's class path what Spark does not bring itself.
jars=$(tr : '\n' < "$base/hbase-more/classpath" | grep -E '/(org/apache/hbase|org/apache/yetus|io/opentelemetry|com/google/protobuf)/' | grep -v -e '-tests\.jar$' | paste -sd :)
mkdir -p "$work/classes"
javac -proc:none --release 17 -d "$work/classes" -cp "$jars:$spark/jars/*" "$here/spark/basalt/SparkRow.java"
opens=$(printf -- '--add-opens=java.base/%s=ALL-UNNAMED ' java.lang java.nio sun.nio.ch)
PYSPARK_PYTHON=$python PYSPARK_DRIVER_PYTHON=$python SPARK_LOCAL_IP=127.0.0.1 \
  PYSPARK_SUBMIT_ARGS="--driver-class-path $work/classes:$jars --driver-java-options '$opens' pyspark-shell" \
  "$python" "$here/spark/read_table.py" "$address" "$rows"
