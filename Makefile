# make demo | test | lint | bench | clean      needs Python >= 3.11 with pip, and make; uses a C compiler if there is one
#
# Every target builds the environment in .venv by itself. Another interpreter: make PYTHON=python3.13 …

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first interpreter on the path that runs and is new enough.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed-dev
READY_BENCH := $(VENV)/.installed-bench
KERNEL_SOURCES := $(wildcard setup.py src/softcount/kernels/*.c src/softcount/kernels/*.h)

# Test processes do not share their cores with BLAS threads.
WORKERS ?= 2
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS)
# The tests that say what a kernel must do, run once more without the compiled ones.
FALLBACK_TESTS := $(wildcard tests/kernels tests/laws tests/families)

.PHONY: help demo test test-compiled test-fallback lint format bench bench-compare bench-scaling study-unlabeled clean distclean

help:
	@echo "make demo    build the environment and do the whole job on embedded messages"
	@echo "make test    all tests, with compiled kernels and without"
	@echo "make lint    style, types, import contracts, shape of the tree"
	@echo "make format  put the style right where that can be done mechanically"
	@echo "make bench   every workload beside its rivals"
	@echo "make bench-compare REF=main   what is more than a tenth slower than it was at REF"
	@echo "make bench-scaling   how the time grows with rows, classes, columns and entries"
	@echo "make study-unlabeled   what unlabeled rows are worth: tables and figures of the documentation"
	@echo "make clean   remove what builds and runs left behind; make distclean removes .venv too"

demo: $(READY)
	$(BIN)/softcount demo --folder build/demo

test: test-compiled test-fallback

test-compiled: $(READY)
	@echo "== tests and docstring examples"
	$(PYTEST) --doctest-modules tests src $(ARGS)

test-fallback: $(READY)
ifneq ($(FALLBACK_TESTS),)
	@echo "== kernels, laws and families once more, NumPy kernels only"
	SOFTCOUNT_KERNELS=numpy $(PYTEST) $(FALLBACK_TESTS) $(ARGS)
endif

lint: $(READY)
	@echo "== ruff";         $(BIN)/ruff check .
	@echo "== ruff format";  $(BIN)/ruff format --check .
	@echo "== mypy";         $(BIN)/mypy
	@echo "== import-linter"; $(BIN)/lint-imports
	@echo "== tree";         $(BIN)/python tools/check_tree.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The tables and figures of docs/explanation/unlabeled-rows.md; ARGS=--quick shows a few of them in a minute.
study-unlabeled: $(READY)
	nice -n 10 $(BIN)/python -m studies.unlabeled $(ARGS)

# ARGS=--quick takes a minute or two; names of workloads in ARGS run these only. pomegranate takes part where it is
# installed: .venv/bin/python -m pip install -e '.[bench-torch]' brings it, and PyTorch.
bench: $(READY_BENCH)
	$(BIN)/python -m benchmarks $(ARGS)

# What has become slower since REF, a branch, tag or commit: it is built apart, and both do the same work in turn.
bench-compare: $(READY_BENCH)
	@test -n "$(REF)" || { echo "say with what: make bench-compare REF=main" >&2; exit 2; }
	$(BIN)/python -m benchmarks.compare $(REF) $(ARGS)

# Times against rows, classes, columns and entries, with the exponents.
bench-scaling: $(READY_BENCH)
	$(BIN)/python -m benchmarks.scaling $(ARGS)

clean:
	rm -rf build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	rm -f src/softcount/kernels/*.so $(READY) $(READY_BENCH)
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "no Python >= 3.11 found; name one: make PYTHON=/path/to/python3.13" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Compiles the kernels in place too, so their sources count.
$(READY): pyproject.toml $(KERNEL_SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

$(READY_BENCH): $(READY)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev,bench]'
	@touch $@
