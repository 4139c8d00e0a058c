#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [TARGET...]: every fuzz target (or those named, as hfile_tags or wire_cells) for TIME seconds, JOBS at once; a line for each.
#
# Needs cargo-fuzz (cargo install cargo-fuzz) and, for its compiler flags, a nightly compiler or RUSTC_BOOTSTRAP=1, which is set here.
# PROGRAMS=DIR takes programs that are compiled already. New inputs are kept in $OUT/corpus, failures in $OUT/artifacts, logs in
# $OUT/logs; OUT is $BASALT_CACHE/fuzz unless it is set. MERGE=1 adds to the corpus of the repository what reaches code that
# nothing there does, from inputs of at most 2 KiB.
set -euo pipefail
cd "$(dirname "$0")"
export RUSTC_BOOTSTRAP=1
# libdeflate has the same constant table in two of its translation units.
export ASAN_OPTIONS=detect_odr_violation=0
cache=${BASALT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/basalt}/fuzz
export OUT=${OUT:-$cache} TIME=${TIME:-600} MAX_LEN=${MAX_LEN:-16384} MERGE=${MERGE:-}

if [ -z "${PROGRAMS:-}" ]; then
  command -v cargo-fuzz >/dev/null || { echo 'cargo-fuzz is missing: cargo install cargo-fuzz' >&2; exit 2; }
  (unset CARGO_TARGET_DIR; cargo fuzz build --fuzz-dir . --target-dir "$cache/target")
  PROGRAMS=$cache/target/$(rustc -vV | sed -n 's/^host: //p')/release
fi
export PROGRAMS

# run_target TARGET: the first word of its name is that of the crate and the program.
run_target() {
  local target=$1
  local crate=${target%%_*} name=${target#*_}
  local log=$OUT/logs/$target.log found=$OUT/corpus/$target seeds=../crates/basalt-$crate/testdata/corpus/$name
  export BASALT_FUZZ_TARGET=$target
  mkdir -p "$found" "$seeds" "$OUT/artifacts/$target" "$OUT/logs"
  BASALT_FUZZ_SEEDS=$found "$PROGRAMS/$crate"
  local dictionary=()
  [ ! -e "$crate.dict" ] || dictionary=(-dict="$crate.dict")
  # 64 MiB for one allocation and 512 MiB for the process, most of it the sanitizer's own. The programs themselves hold an input to a second.
  local outcome=sound
  "$PROGRAMS/$crate" "$found" "$seeds" "${dictionary[@]}" -artifact_prefix="$OUT/artifacts/$target/" -max_total_time="$TIME" \
    -timeout=600 -malloc_limit_mb=64 -rss_limit_mb=512 -max_len="$MAX_LEN" -print_final_stats=1 -verbosity=0 >"$log" 2>&1 ||
    outcome="FAILED, see $log"
  if [ -n "$MERGE" ]; then
    local small
    small=$(mktemp -d)
    find "$found" -type f -size -2049c -exec cp -t "$small" {} +
    "$PROGRAMS/$crate" -merge=1 -timeout=600 "$seeds" "$small" >>"$log" 2>&1 || outcome="$outcome, not merged"
    rm -rf "$small"
  fi
  rmdir "$seeds" 2>/dev/null || true
  local runs
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | head -1)
  echo "$target: ${runs:-?} inputs in $TIME s, $outcome"
  [ "$outcome" = sound ]
}
export -f run_target

{
  if [ $# -gt 0 ]; then
    printf '%s\n' "$@"
  else
    for crate in hfile model store wire; do BASALT_FUZZ_TARGET=list "$PROGRAMS/$crate"; done
  fi
} | xargs -P "${JOBS:-1}" -I{} bash -c 'set -euo pipefail; run_target {}'
