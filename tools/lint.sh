#!/bin/sh
# Formatting, include directions and clang-tidy; warnings are errors.
set -eu
cd "$(dirname "$0")/.."
python3 tools/check_layers.py
git ls-files '*.cc' '*.h' | xargs clang-format-16 --dry-run --Werror
cmake --preset tidy >/dev/null
cmake --build --preset tidy
