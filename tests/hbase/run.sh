#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CLASS ARGS...   compiles src/ if need be and runs basalt.CLASS against HBase, for example: run.sh ReadFiles DIR
#
# Needs a JDK (17 or newer) and, the first time, Maven. Jars stay in ~/.m2; the class path and the classes lie under
# $BASALT_CACHE/hbase, so that later runs need neither Maven nor a network. JAVA_HEAP (default 1g) is the heap's size.
# HBASE_LINE=3 takes the client of HBase 3 (pom-3.xml) and of src/ only the programs that are clients; HBASE_LINE=more takes HBase's MapReduce and
# endpoints (pom-more.xml) and the programs of more/; HBASE_LINE=tests HBase's own tests (pom-tests.xml) and the program of own/ that runs them;
# HBASE_LINE=phoenix HBase with Phoenix in it (pom-phoenix.xml) and the program of phoenix/ that asks it; HBASE_LINE=thin Phoenix's thin driver
# (pom-thin.xml) and the program of thin/.
# A class with a dot in its name is one of HBase's. HBASE_CONF is a folder with an hbase-site.xml.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${BASALT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/basalt}/hbase
pom=$here/pom.xml
mapfile -t sources < <(find "$here/src" -name '*.java' | sort)
if [ "${HBASE_LINE:-2}" = 3 ]; then
  cache=${cache}3
  pom=$here/pom-3.xml
  sources=("$here"/src/basalt/{ClientCheck,RegionCheck,Survivor,RpcBench,BareClient}.java)
fi

if [ "${HBASE_LINE:-2}" = more ]; then
  cache=${cache}-more
  pom=$here/pom-more.xml
  sources=("$here"/src/basalt/{ClientCheck,RegionCheck}.java "$here"/more/basalt/*.java)
fi

if [ "${HBASE_LINE:-2}" = tests ]; then
  cache=${cache}-tests
  pom=$here/pom-tests.xml
  mapfile -t sources < <(find "$here/own" -name '*.java' | sort)
fi

if [ "${HBASE_LINE:-2}" = phoenix ]; then
  cache=${cache}-phoenix
  pom=$here/pom-phoenix.xml
  sources=("$here"/src/basalt/RealServer.java "$here"/phoenix/basalt/*.java)
fi

if [ "${HBASE_LINE:-2}" = thin ]; then
  cache=${cache}-thin
  pom=$here/pom-thin.xml
  mapfile -t sources < <(find "$here/thin" -name '*.java' | sort)
fi

missing() {
  echo "$1 is missing; on Debian or Ubuntu: apt install openjdk-17-jdk-headless maven" >&2
  exit 2
}
command -v java >/dev/null || missing java
command -v javac >/dev/null || missing javac

mkdir -p "$cache"
# Several runs may start at once, for tests run side by side.
exec 9>"$cache/lock"
flock 9

# Does every jar of the recorded class path still exist?
class_path_holds() {
  [ -s "$cache/classpath" ] && cmp --silent "$pom" "$cache/pom.xml" || return 1
  local jar
  while IFS= read -r -d : jar; do [ -f "$jar" ] || return 1; done < <(printf '%s:' "$(<"$cache/classpath")")
}
if ! class_path_holds; then
  command -v mvn >/dev/null || missing mvn
  echo 'asking Maven for HBase (about 150 MB, once)' >&2
  mvn --quiet --batch-mode -Dstyle.color=never --file "$pom" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath -Dmdep.outputFile="$cache/classpath.new" >&2
  mv "$cache/classpath.new" "$cache/classpath"
  cp "$pom" "$cache/pom.xml"
  rm -f "$cache/classes.sum"
fi
jars=$(<"$cache/classpath")

sum=$(cat "${sources[@]}" | sha256sum)
if [ "$sum" != "$(cat "$cache/classes.sum" 2>/dev/null)" ]; then
  rm -rf "$cache/classes"
  javac -Xlint:all,-path,-classfile,-processing -proc:none --release 17 -d "$cache/classes" -cp "$jars" "${sources[@]}" >&2
  echo "$sum" > "$cache/classes.sum"
fi
flock --unlock 9
exec 9>&-

opens=()
for package in java.lang java.lang.reflect java.nio sun.nio.ch java.io java.net java.util; do
  opens+=("--add-opens=java.base/$package=ALL-UNNAMED")
done
class=$1
shift
[[ "$class" == *.* ]] || class=basalt.$class
exec java "${opens[@]}" -Xmx"${JAVA_HEAP:-1g}" -cp "${HBASE_CONF:-$here/conf}:$cache/classes:$jars" "$class" "$@"
