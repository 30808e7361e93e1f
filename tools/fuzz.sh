#!/bin/sh
# Fuzzes every importer, two at a time. Usage: tools/fuzz.sh SECONDS_PER_TARGET [importer ...]
# Corpora live in build/fuzz-corpus/<importer>; a finding is left in build/fuzz-findings/ and fails the run.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
cmake --preset fuzz >/dev/null
cmake --build build/fuzz --target fuzz_all
names=$*
[ -n "$names" ] || names=$(for f in build/fuzz/bin/fuzz_*; do echo "${f##*/fuzz_}"; done)
mkdir -p build/fuzz-findings
for name in $names; do
  corpus=build/fuzz-corpus/$name
  mkdir -p "$corpus"
  # Seeds: two bytes that choose the split, then a small sample written for this project.
  for seed in tests/fixtures/import/"$name".*; do
    [ -e "$seed" ] && { printf '01'; cat "$seed"; } >"$corpus/seed-${seed##*/}"
  done
done
export seconds
echo "$names" | tr ' ' '\n' | xargs -P 2 -I{} sh -c '
  if build/fuzz/bin/fuzz_{} -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=16384 -verbosity=0 \
      -artifact_prefix=build/fuzz-findings/{}- build/fuzz-corpus/{} >build/fuzz-findings/{}.log 2>&1; then
    echo "fuzz: {} held"
  else
    echo "fuzz: {} FAILED, see build/fuzz-findings/{}.log"; exit 1
  fi'
