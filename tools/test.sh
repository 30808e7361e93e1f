#!/bin/sh
# What `make test` runs once the packages are there. Stops at the first part that fails.
set -eu
cd "$(dirname "$0")/.."
step() { printf '\n== %s\n' "$*"; }

step "include directions"
python3 tools/check_layers.py

step "the program (release)"
cmake --preset release >/dev/null
cmake --build --preset release

step "unit tests under AddressSanitizer and UBSan"
cmake --preset asan >/dev/null
cmake --build --preset asan
ctest --preset asan

step "the program as a user runs it"
FIRSTWAIT=build/release/bin/firstwait python3 -m unittest discover -s tests/program -t tests/program

step "fuzzing, ten seconds an importer"
tools/fuzz.sh 10
