#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh: Basalt's and HBase's reader and writer on the same files, in turn -> docs/benchmarks/hfile.md
#
# For every encoding and codec one file of CELLS cells (default 4194304) is written; then both programs measure the files of
# an encoding, one after the other, TURNS times (default 2). Nothing else should be running. Takes about a quarter of an hour.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
cells=${CELLS:-4194304}
turns=${TURNS:-2}
effort=(--rounds "${ROUNDS:-3}" --seeks "${SEEKS:-100000}" --write-cells "${WRITE_CELLS:-1000000}")
out=${OUT:-$repository/docs/benchmarks/hfile.md}

cd "$repository"
[ -n "${SCAN_BENCH:-}" ] || cargo build --release --locked --quiet --workspace --example scan_bench
target=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
ours=${SCAN_BENCH:-$target/release/examples/scan_bench}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for encoding in ${ENCODINGS:-NONE PREFIX DIFF FAST_DIFF ROW_INDEX_V1}; do
  files=()
  for codec in ${CODECS:-NONE GZ SNAPPY LZ4 ZSTD}; do
    files+=("$work/$encoding-$codec.hfile")
    "$ours" make "$cells" "$encoding" "$codec" "${files[-1]}"
  done
  # One JVM per encoding: its compiler then sees one decoder only, as if there were no other.
  for ((turn = 0; turn < turns; turn++)); do
    "$ours" run "${effort[@]}" "${files[@]}"
    JAVA_HEAP=${JAVA_HEAP:-3g} "$here/run.sh" ScanBench "${effort[@]}" "${files[@]}"
  done
  rm "${files[@]}"
done | tee "$work/measured.jsonl" >&2
mkdir -p "$(dirname "$out")"
[ -z "${KEEP:-}" ] || cp "$work/measured.jsonl" "$KEEP"
python3 "$here/table.py" "$work/measured.jsonl" "$cells" "${effort[*]}, $turns turns" > "$work/hfile.md"
# What people wrote below the table stays.
[ ! -e "$out" ] || sed -n '/^## /,$p' "$out" >> "$work/hfile.md"
mv "$work/hfile.md" "$out"
echo "written: $out" >&2
