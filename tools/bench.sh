#!/bin/sh
# Runs every bench program and prints what it measures: ratios to other programs in the same run, and
# whole processes. Meant for a quiet machine. With real files at hand it takes those, too.
set -eu
cd "$(dirname "$0")/.."
bin=build/bench/bin
data=${FIRSTWAIT_SHARED:-../shared}/data
echo "load before: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors"
for program in "$bin"/*_bench; do
  printf '\n== %s\n' "${program##*/}"
  "$program"
done
if [ -d "$data" ]; then
  printf '\n== real files\n'
  "$bin/trace_bench" "$data"/traces/loader_workers_*/*.gz "$data"/traces/hardware_diff/*.gz
  "$bin/whatif_bench" "$data"/whatif/*.parquet
fi

printf '\n== the agent beside node_exporter and netdata\n'
bench/agent_overhead.py --agent "$bin/firstwait-agent"
