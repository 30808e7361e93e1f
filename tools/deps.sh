#!/bin/sh
# Installs what building, testing and the demo need and is missing: Debian packages, and DuckDB's library from npm.
# Usage: tools/deps.sh [build|test|bench|lab]. Needs root or sudo only when a package is missing.
set -eu
cd "$(dirname "$0")/.."
what=${1:-build}
packages="g++ cmake ninja-build pkg-config libfmt-dev libsimdjson-dev libisal-dev libzstd-dev libcli11-dev
  libyaml-cpp-dev libpugixml-dev libpcre2-dev libboost-dev libeigen3-dev libcurl4-openssl-dev
  libprotozero-dev npm ca-certificates"
[ "$what" = test ] || [ "$what" = bench ] && packages="$packages libgtest-dev libgmock-dev clang-16 libclang-rt-16-dev
  clang-tidy-16 clang-format-16 python3 ccache mold python3-torch libopenblas0-pthread libfuse3-dev fuse3 iproute2 iptables ethtool"
[ "$what" = bench ] && packages="$packages prometheus-node-exporter netdata"
[ "$what" = lab ] && packages="$packages python3 libfuse3-dev fuse3 iproute2 iptables ethtool"
missing=""
for p in $packages; do
  [ "$p" = npm ] && command -v npm >/dev/null 2>&1 && continue
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
if [ -n "$missing" ]; then
  echo "deps: installing$missing"
  root=""
  [ "$(id -u)" = 0 ] || root=sudo
  if [ -n "$root" ] && ! command -v sudo >/dev/null 2>&1; then
    echo "deps: run as root, or install these yourself:$missing" >&2
    exit 1
  fi
  $root apt-get update -qq
  # RUNLEVEL: what is installed to be measured is not started as a service.
  $root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
library=.deps/duckdb/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so
if [ ! -e "$library" ]; then
  echo "deps: fetching DuckDB's library with npm"
  mkdir -p .deps/duckdb
  cp tools/duckdb/package.json tools/duckdb/package-lock.json .deps/duckdb/
  (cd .deps/duckdb && npm ci --silent --no-audit --no-fund)
fi
echo "deps: complete ($what)"
