# Thin names for the CMake presets and the scripts in tools/. Two of them do all the set-up on a fresh Debian 12, as
# root or with sudo: `make demo` and `make test`.
.PHONY: build deps demo test lint bench fuzz lab clean
.DEFAULT_GOAL := build
FUZZ_SECONDS ?= 600

deps:
	tools/deps.sh build

build: deps
	cmake --preset release
	cmake --build --preset release

# The recorded traces of a PyTorch job, then the case study live: a data set moves to slow storage, and what that costs is
# found and mended.
demo: build
	tools/deps.sh lab
	cmake --preset release
	cmake --build --preset release
	demo/run.sh
	build/release/bin/firstwait demo --out build/demo

# Unit tests under AddressSanitizer and UBSan, the program as a user runs it, ten seconds of fuzzing an importer.
test:
	tools/deps.sh test
	tools/test.sh

lint:
	tools/deps.sh test
	tools/lint.sh

bench:
	tools/deps.sh bench
	cmake --preset bench
	cmake --build --preset bench
	tools/bench.sh

# Real faults on a real job, and the scoreboard (lab/README.md). Root for all of it; what is not permitted is skipped.
lab: build
	tools/deps.sh lab
	cmake --preset release
	cmake --build --preset release
	lab/lab matrix

fuzz:
	tools/deps.sh test
	tools/fuzz.sh $(FUZZ_SECONDS)

clean:
	rm -rf build
