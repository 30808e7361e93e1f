#!/bin/sh
# Records the demo's traces again: the same training job with loading in the training thread, then with two workers.
# Needs Debian's python3-torch and python3-pil. Usage: demo/record.sh [FOLDER]
set -eu
cd "$(dirname "$0")"
out=${1:-traces}
for package in python3-torch python3-pil libopenblas0-pthread; do
  dpkg-query -W -f='${Status}' $package 2>/dev/null | grep -q 'ok installed' ||
    { echo "record: install $package first (apt-get install $package)" >&2; exit 1; }
done
for workers in 0 2; do
  mkdir -p "$out/loader_workers_$workers"
  OMP_NUM_THREADS=1 /usr/bin/python3 train.py --workers $workers --trace "$out/loader_workers_$workers/rank0.pt.trace.json"
  gzip -9nf "$out/loader_workers_$workers/rank0.pt.trace.json"
done
ls -l "$out"/*/
