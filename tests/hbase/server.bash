# SPDX-License-Identifier: Apache-2.0
# For scripts that test a server of $basalt: `start` and `stop`, and a folder $work that is gone at the end, with the server.
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# start DB [PORT [OPTIONS]]: sets $server, $address and $zookeeper
start() {
  rm -f "$work/ready"
  "$basalt" serve "$1" --port "${2:-0}" --zookeeper-port 0 --ready-file "$work/ready" "${@:3}" > /dev/null 2> "$work/log" &
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
