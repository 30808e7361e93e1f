#!/bin/sh
# Fuzzes every importer and the collectors, two at a time. Usage: tools/fuzz.sh SECONDS_PER_TARGET [importer or "collectors" ...]
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
# The collectors' seeds are what this machine's own kernel says.
if [ -d build/fuzz-corpus/collectors ]; then
  number=0
  sed -n 's/^    {"[a-z_]*", "\([^"]*\)"},$/\1/p' fuzz/fuzz_collectors.cc | sed 's|^proc/1[1]*/|proc/self/|' | while read -r file; do
    { printf "\\$(printf %03o $number)"; timeout 1 head -c 4000 "/$file"; timeout 1 head -c 4000 "/$file"; } 2>/dev/null \
      >"build/fuzz-corpus/collectors/seed-$number" || true
    number=$((number + 1))
  done
fi
export seconds
echo "$names" | tr ' ' '\n' | xargs -P 2 -I{} sh -c '
  if build/fuzz/bin/fuzz_{} -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=16384 -verbosity=0 \
      -artifact_prefix=build/fuzz-findings/{}- build/fuzz-corpus/{} >build/fuzz-findings/{}.log 2>&1; then
    echo "fuzz: {} held"
  else
    echo "fuzz: {} FAILED, see build/fuzz-findings/{}.log"; exit 1
  fi'
