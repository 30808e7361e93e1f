#!/bin/sh
# The demo: diagnoses the recorded traces of one PyTorch job, before and after loading moved to workers, and compares.
# `demo/record.sh` records them again.
set -eu
cd "$(dirname "$0")/.."
firstwait=build/release/bin/firstwait
say() { printf '\n%s\n\n' "$*"; }

say "1. A small training job is slow. Its profiler trace (demo/traces/loader_workers_0) says why:"
$firstwait diagnose demo/traces/loader_workers_0
say "2. The same job with two loader workers (demo/traces/loader_workers_2):"
$firstwait diagnose demo/traces/loader_workers_2
say "3. Did it help?"
$firstwait compare demo/traces/loader_workers_0 demo/traces/loader_workers_2
$firstwait diagnose demo/traces/loader_workers_0 --format html --out build/demo-report.html
say "The first report as a page: build/demo-report.html"
