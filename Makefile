# SPDX-License-Identifier: Apache-2.0
#
# The front door. Each command does its own set-up; the builds themselves are in CMakePresets.json.

JOBS ?= $(shell nproc)
BUILD := build/release

# One GPU architecture keeps the everyday build short: that of this machine's GPU, if it has one.
CUDA_ARCH ?= $(or $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
	head -n 1 | tr -dc 0-9),90)
BENCH_ARGS ?= --benchmark_min_time=0.2
PROFILE_ARGS ?= --json $(BUILD)/profile.json
PYTHON ?= python3

.PHONY: help setup configure demo test test-slow gpu-test bench profile figures mutants format \
	format-check clean
.DEFAULT_GOAL := help

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 22

demo: configure  ## replay a synthetic workload and print what the cache did
	cmake --build $(BUILD) -j $(JOBS) --target kvpage-replay
	$(BUILD)/tools/kvpage-replay

test: configure  ## build everything and run the tests (GPU tests skip where there is no GPU)
	cmake --build --preset release -j $(JOBS)
	ctest --preset release -j $(JOBS)

test-slow: configure  ## the slow tests, and small projects that use an installed kvpage
	cmake --build --preset release -j $(JOBS)
	ctest --preset release-slow -j $(JOBS)

gpu-test: configure  ## the GPU tests, where a missing GPU is a failure
	cmake --build --preset release -j $(JOBS)
	ctest --preset release-gpu

bench: configure  ## build and run the benchmarks (BENCH_ARGS=... for other options)
	cmake --build $(BUILD) -j $(JOBS) --target kvpage_bench
	@for b in $(BUILD)/bench/*_bench; do echo "== $$b"; $$b $(BENCH_ARGS) || exit 1; done

profile: configure  ## profile the kernels of docs/performance.md with ncu (PROFILE_ARGS=...)
	cmake --build $(BUILD) -j $(JOBS) --target profile_kernels
	tools/profile/profile_kernels.py $(PROFILE_ARGS)

figures:  ## draw docs/figures from bench/results (PYTHON=... for one with matplotlib)
	$(PYTHON) tools/plot/plot.py

mutants: setup  ## break the algorithms on purpose and see that the tests notice (MUTANTS_ARGS=...)
	python3 tools/mutants/mutants.py $(MUTANTS_ARGS)

format:  ## format the code (clang-format 14)
	tools/format.sh

format-check:  ## fail if the code is not formatted
	tools/format.sh --check

clean:  ## delete the builds
	rm -rf build

setup:
	@tools/setup.sh build

configure: setup
	cmake --preset release -D CMAKE_CUDA_ARCHITECTURES=$(CUDA_ARCH)
