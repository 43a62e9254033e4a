# The commands of daily work. Everything is built by CMake, with the presets of CMakePresets.json.

JOBS ?= $(shell nproc)
RUNS ?= 1000000
CRASH_SECONDS ?= 600
PREFIX ?= /usr/local
build = cmake --preset $(1) >/dev/null && cmake --build --preset $(1) -j $(JOBS)
sources = $(shell find include src tests examples bench -name '*.[hic]pp' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help deps build dev run test test-fast simulate crash mutants tsan asan clang package install bench bench-server format lint clean

help: ## List these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps: ## Install the Debian packages that are missing; does nothing if all are there
	@tools/deps build

build: deps ## Build the library, the tests and the examples as users get them
	@$(call build,release)

dev: deps ## The same for daily work: debuggable, with the lock order checked
	@$(call build,dev)

run: deps ## Build and start the server at http://127.0.0.1:8077, with a demo; Ctrl-C ends it
	@cmake --preset release >/dev/null && cmake --build --preset release -j $(JOBS) --target handoff_program
	@build/release/handoff serve --demo

test: deps ## Everything: release, TSan, ASan and UBSan, clang, lint, packaging; ends with the counts
	@tools/deps test
	@tools/test

test-fast: deps ## The release tests only: under a minute once built
	@tools/test release

simulate: deps ## The simulated tests with a million schedules each, or RUNS=...: some hours
	@cmake --preset release >/dev/null && cmake --build --preset release -j $(JOBS) --target sim_tests
	@seq 0 $$(($(JOBS) - 1)) | HANDOFF_RUNS=$(RUNS) GTEST_TOTAL_SHARDS=$(JOBS) xargs -P $(JOBS) -I{} \
	  env GTEST_SHARD_INDEX={} build/release/tests/sim_tests

crash: deps ## Kill processes that enqueue and work, at random, for CRASH_SECONDS=600: no task is lost or completed twice
	@cmake --preset release >/dev/null && cmake --build --preset release -j $(JOBS) --target tasks_tests
	@HANDOFF_CRASH_SECONDS=$(CRASH_SECONDS) build/release/tests/tasks_tests --gtest_filter='Crashes.LoseNothing*'

tsan: deps ## The concurrent tests under ThreadSanitizer
	@tools/test tsan

asan: deps ## Coroutines, channels and the server as g++ builds them, under AddressSanitizer
	@tools/test asan

clang: deps ## All tests as clang 19 builds them, under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/test clang

package: build ## Use the library from outside, in every way we promise
	@tests/package/run build/release

install: deps ## Install the program `handoff` to PREFIX=/usr/local, as bin/handoff; DESTDIR is honoured
	@cmake --preset release >/dev/null && cmake --build --preset release -j $(JOBS) --target handoff_program
	@cmake --install build/release --prefix $(PREFIX) --component program

bench: deps ## Build the benchmarks and their peers, then run them; options in BENCH="--quick"
	@tools/deps bench
	@$(call build,bench)
	@bench/run $(BENCH)

bench-server: deps ## Build the server and its floor, then compare them under load; options in BENCH="--quick"
	@tools/deps bench
	@cmake --preset bench >/dev/null && cmake --build --preset bench -j $(JOBS) --target handoff_program \
	  bench_server_beast bench_server_transport bench_server_load bench_tasks_bulk_handoff bench_tasks_pickup_handoff
	@bench/server/run $(BENCH)

mutants: deps ## Plant known bugs in a copy of the library: the simulated tests must find each; options in MUTANTS="--only mutex"
	@tools/mutants $(MUTANTS)

format: deps ## Format the C++ files in place
	@clang-format-19 -i $(sources)

lint: deps ## Check the formatting and the rules of CONTRIBUTING.md
	@tools/lint
	@tools/mutants --check

clean: ## Delete everything that was built
	@rm -rf build web/dist web/node_modules
