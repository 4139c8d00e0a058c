#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [TARGET...]: every fuzz target (or those named, as hfile_tags or wire_cells) for TIME seconds, one after the other; a line for each at the end.
#
# Needs cargo-fuzz (cargo install cargo-fuzz) and, for its compiler flags, a nightly compiler or RUSTC_BOOTSTRAP=1, which is set here.
# New inputs are kept in fuzz/corpus, failures in fuzz/artifacts, logs in $BASALT_CACHE/fuzz. MERGE=1 adds to the corpus of the
# repository what reaches code that nothing there does, from inputs of at most 2 KiB.
set -euo pipefail
cd "$(dirname "$0")"
command -v cargo-fuzz >/dev/null || { echo 'cargo-fuzz is missing: cargo install cargo-fuzz' >&2; exit 2; }
export RUSTC_BOOTSTRAP=1
# libdeflate has the same constant table in two of its translation units.
export ASAN_OPTIONS=detect_odr_violation=0
cache=${BASALT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/basalt}/fuzz
unset CARGO_TARGET_DIR
mkdir -p "$cache/logs"

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/^name = "\(hfile\|wire\)_\(.*\)"$/\1_\2/p' Cargo.toml)
status=0
for target in "${targets[@]}"; do
  cargo fuzz build --fuzz-dir . --target-dir "$cache/target" "$target"
  program=$cache/target/$(rustc -vV | sed -n 's/^host: //p')/release/$target
  # The protocol's targets begin with nothing; HBase's files are in the repository.
  seeds=../crates/basalt-hfile/testdata/corpus/${target#hfile_}
  [ -d "$seeds" ] || seeds=corpus/$target
  mkdir -p "corpus/$target" "artifacts/$target"
  log=$cache/logs/$target.log
  # 64 MiB for one allocation and 512 MiB for the process, most of it the sanitizer's own. The programs themselves hold an input to a second.
  if "$program" "corpus/$target" "$seeds" -artifact_prefix="artifacts/$target/" -max_total_time="${TIME:-600}" -timeout=600 \
      -malloc_limit_mb=64 -rss_limit_mb=512 -max_len="${MAX_LEN:-16384}" -print_final_stats=1 -verbosity=0 >"$log" 2>&1; then
    outcome=sound
  else
    outcome="FAILED, see $log"
    status=1
  fi
  if [ -n "${MERGE:-}" ]; then
    small=$(mktemp -d)
    find "corpus/$target" -type f -size -2049c -exec cp -t "$small" {} +
    "$program" -merge=1 -timeout=600 "$seeds" "$small" >>"$log" 2>&1 || status=1
    rm -rf "$small"
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | head -1)
  echo "$target: ${runs:-?} inputs in ${TIME:-600} s, $outcome"
done
exit $status
