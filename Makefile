# Each target sets up what it needs; nothing has to be installed by hand but Python (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# The exports need no more than the CPU; name another build of torch where this one is too large.
TORCH ?= torch==2.13.0
# The checker of accessibility is fetched, never kept in the repository.
AXE := build/axe/node_modules/axe-core/axe.min.js

.PHONY: browser demo release-check test test-slow test-bounds test-cluster test-heavy lint bench bench-quick studies studies-quick docs docs-output figures fuzz clean

$(STAMPS)/base: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -e .
	@touch $@

$(STAMPS)/dev: $(STAMPS)/base
	$(BIN)/pip install --quiet -e '.[dev]'
	@touch $@

$(STAMPS)/bench: $(STAMPS)/dev
	$(BIN)/pip install --quiet -e '.[bench]'
	@touch $@

$(STAMPS)/fuzz: $(STAMPS)/dev
	$(BIN)/pip install --quiet -e '.[fuzz]'
	@touch $@

$(STAMPS)/heavy: $(STAMPS)/dev
	$(BIN)/pip install --quiet '$(TORCH)' -e '.[heavy]'
	@# wefe asks for old releases of numpy, which it does not need
	$(BIN)/pip install --quiet --no-deps wefe plotly semantic_version
	@touch $@

demo: $(STAMPS)/base  ## count the demo corpus and show what comes out
	$(BIN)/firth demo

browser:  ## chromium and axe-core for the browser tests, where they can be had; tests say so when they are skipped
	@command -v chromium > /dev/null || { test "$$(id -u)" = 0 && apt-get update -qq > /dev/null && apt-get install -y -qq chromium > /dev/null; } \
	  || echo "chromium is not here and cannot be installed: the browser tests will be skipped"
	@test -f $(AXE) || { command -v npm > /dev/null && npm install --silent --ignore-scripts --prefix build/axe axe-core@4 > /dev/null 2>&1; } \
	  || echo "axe-core is not here and npm cannot fetch it: the tests of accessibility will be skipped"

test: $(STAMPS)/dev lint browser  ## the whole test suite
	$(BIN)/pytest -n 2 --dist loadgroup -m 'not slow and not cluster'

test-slow: $(STAMPS)/dev  ## the long tests too
	$(BIN)/pytest -n 2 --dist loadgroup -m 'not cluster'

test-bounds: $(STAMPS)/dev  ## the suite with every index of the kernels checked: a wrong one would corrupt memory
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds $(BIN)/pytest -n 2 --dist loadgroup -m 'not slow and not cluster' --ignore tests/browser

test-cluster: $(STAMPS)/dev  ## every recipe, and every kind of loss, on Ray clusters that the tests start and stop
	$(BIN)/pytest -n 0 tests/runtime/cluster

test-heavy: $(STAMPS)/heavy  ## exports in the libraries that need torch, the notebooks in Jupyter, WEAT beside wefe
	$(BIN)/pytest -m slow tests/vectors/test_exports_heavy.py tests/notebook tests/ask/test_associate.py

# Seconds for each target, and which ones; see tests/fuzz/targets.py.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= $$($(BIN)/python -c 'from tests.fuzz.targets import TARGETS; print(*[target.name for target in TARGETS])')

fuzz: $(STAMPS)/fuzz  ## every reader, guided by coverage
	@for target in $(FUZZ_TARGETS); do \
	  echo "== $$target"; $(BIN)/python -m tests.fuzz.guided $$target -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 || exit 1; done

# An environment of its own: its tools must not change the versions that the tests run with.
RELEASE := build/release-env

release-check:  ## both packages, built twice with the same bytes, and tried in fresh environments, with each extra alone
	@test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip install --quiet --upgrade pip
	$(RELEASE)/bin/pip install --quiet --group release
	$(RELEASE)/bin/python -m tools.release_check $(RELEASE_FLAGS)

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMPS)/bench  ## speed and memory beside other tools
	$(BIN)/python -m benchmarks

bench-quick: $(STAMPS)/bench  ## instructions of kernels and CPU time beside other tools (minutes)
	$(BIN)/python -m benchmarks.quick

studies: $(STAMPS)/bench  ## the experiments of the five papers, into docs/studies (hours; goes on where it stopped)
	$(BIN)/python -m studies

studies-quick: $(STAMPS)/bench  ## the same on a small corpus, into build/studies/quick (minutes)
	$(BIN)/python -m studies --quick

docs: $(STAMPS)/dev  ## the documentation, in site/
	$(BIN)/mkdocs build --strict

docs-output: $(STAMPS)/dev  ## write what the tutorial and the how-to pages print into them
	$(BIN)/python -m tests.docs.pages

figures: $(STAMPS)/dev  ## write measured figures into the READMEs and the pages, from the files of results
	$(BIN)/python -m benchmarks.tables

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
