# Gnomon's commands for people who work on it. `make` lists them; `make demo` and `make test` need
# nothing before them but git, make and a Debian or Ubuntu machine. docs/testing.md says more.
#
# What was done once is remembered by a stamp in .venv/stamps and done again when what it depends
# on changes, or when what it had installed is no longer there: that is looked at every time. ARGS is passed on: make test ARGS="tests/unit -k events"

VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP    := $(BIN)/python -m pip --disable-pip-version-check

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
export PATH := $(CURDIR)/$(BIN):$(PATH)
# pytest keeps what it makes of the test modules beside them: to make it anew takes six seconds of
# each worker.
unexport PYTHONDONTWRITEBYTECODE

PREFIX ?= /usr/local

# How many tests run at once; 0 is one after the other, in the process that shows them. Five keep
# two cores busy: tests wait a good part of their time.
WORKERS ?= 5
AT_ONCE := -n $(WORKERS) --dist loadfile --no-loadscope-reorder --costs

# A test that hangs is ended, after saying where it hangs.
HANGS := -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

# All that a build reads; folders too, whose times change when a file comes or goes.
SOURCES := $(shell find src native packaging/*.py CMakeLists.txt pyproject.toml \( -name __pycache__ -o -path '*/view/web' -o -path '*/view/static' \) -prune -o ! -name '*.so' -print)
WEB := src/gnomon/view/web
WEB_SOURCES := $(shell find $(WEB) -name node_modules -prune -o ! -path '$(WEB)/package*.json' -print)
C_FILES := $(shell find native examples benchmarks tests -name '*.[ch]' 2>/dev/null)

.PHONY: FORCE help setup build install demo test test-long fuzz test-guest test-bare bench lint format docs pin clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMPS)/perf $(STAMPS)/promtool $(STAMPS)/requirements-dev ## Debian packages and the virtual environment .venv

build: $(STAMPS)/built ## compile and install Gnomon into .venv

install: build ## install Gnomon below PREFIX (/usr/local): commands, libraries, headers, completion
	@packaging/install.sh $(VENV) "$(PREFIX)"

demo: build ## count real programs on real input and print the reports
	@bash examples/demo.sh

test: setup build ## every test that this machine can run (ARGS are pytest's)
	@packaging/setup.sh tracefs
	@$(BIN)/python -m pytest -q $(AT_ONCE) $(HANGS) $(ARGS)

test-long: setup $(STAMPS)/packages-long build ## what `make test` leaves out: what takes minutes or fetches sources, more examples
	@packaging/setup.sh tracefs
	@$(BIN)/python -m pytest -q -m 'long or hypothesis' --hypothesis-profile=fuzz $(AT_ONCE) $(HANGS) $(ARGS)

fuzz: setup build ## the property tests alone, with new examples, ROUNDS times (10), and damaged files
	@for round in $$(seq $${ROUNDS:-10}); do echo "fuzz: round $$round"; \
	$(BIN)/python -m pytest -q -m 'hypothesis and not long' --hypothesis-profile=fuzz $(HANGS) $(ARGS); done
	@$(BIN)/python -m pytest -q -m long -k damaged_files tests/native/test_unwind.py tests/native/test_symbol_damage.py tests/native/test_perf_data_damage.py tests/unit/symbols/test_damaged_perf_maps.py tests/unit/sampling/test_damaged_samples.py tests/unit/sampling/test_damaged_perf_data.py tests/unit/store/test_damaged_profiles.py tests/unit/store/test_gmon_files.py tests/unit/io/test_darshan_logs.py $(HANGS)

test-guest: $(STAMPS)/packages-guest $(STAMPS)/requirements-dev ## hardware counters in emulated arm64 and POWER machines that have a PMU
	@cd tests && $(CURDIR)/$(BIN)/python -m guest $(ARGS)

test-bare: ## make demo and make test in a bare Debian 12 root (needs root and debootstrap)
	@bash packaging/bare-root.sh $(ARGS)

bench: setup build ## benchmarks: medians and ratios, beside the floor and the peer
	@$(BIN)/python -m benchmarks $(ARGS)

lint: $(STAMPS)/requirements-dev ## ruff, mypy and clang-format, changing nothing
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/clang-format --dry-run -Werror $(C_FILES)

format: $(STAMPS)/requirements-dev ## rewrite the code in the house's format
	@$(BIN)/ruff check --select I --fix
	@$(BIN)/ruff format
	@$(BIN)/clang-format -i $(C_FILES)

docs: $(STAMPS)/requirements-dev build ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "documentation: site/index.html (with search: python3 -m http.server -d site)"

pin: ## choose the versions in packaging/requirements*.txt anew (needs Python 3.11)
	@packaging/pin.sh python3.11

clean: ## remove all that make made: .venv, build/, site/ and caches
	rm -rf $(VENV) build site $(WEB)/node_modules src/gnomon/view/static .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Looked at every time. Its stamp is renewed only if something was installed, and with it what
# depends on it.
FORCE:

$(STAMPS)/packages-%: FORCE
	@mkdir -p $(@D); packaging/setup.sh packages $* $@

$(STAMPS)/packages-test $(STAMPS)/packages-long $(STAMPS)/packages-guest: $(STAMPS)/packages-build

$(STAMPS)/venv: FORCE | $(STAMPS)/packages-build
	@if [ -e $@ ] && $(BIN)/python -c '' 2>/dev/null && [ -x $(BIN)/pip ]; then exit 0; fi; \
	python=$$(packaging/setup.sh python); \
	echo "setup: virtual environment $(VENV) for $$python"; \
	anew=; if [ -L $(BIN)/python ] || [ -e $(BIN)/python ]; then anew=--clear; fi; \
	"$$python" -m venv $$anew $(VENV); \
	mkdir -p $(@D); touch $@

$(STAMPS)/requirements: packaging/requirements.txt $(STAMPS)/venv FORCE
	@packaging/setup.sh pinned $(BIN) $@ $< $(STAMPS)/venv || { \
	echo "setup: Python packages that Gnomon needs"; \
	$(PIP) install -qq -r $<; touch $@; }

$(STAMPS)/requirements-dev: packaging/requirements-dev.txt $(STAMPS)/requirements FORCE
	@packaging/setup.sh pinned $(BIN) $@ $< $(STAMPS)/requirements || { \
	echo "setup: Python packages for tests, linters and documentation"; \
	$(PIP) install -qq -r $<; touch $@; }

$(STAMPS)/perf: FORCE | $(STAMPS)/packages-test $(STAMPS)/venv
	@packaging/setup.sh perf $(BIN)
	@touch $@

$(STAMPS)/promtool: FORCE | $(STAMPS)/packages-test $(STAMPS)/venv
	@packaging/setup.sh promtool $(BIN)
	@touch $@

# Node stands in .venv/bin too: the machine's, or where that is missing or old, one from a wheel.
$(STAMPS)/node: packaging/requirements-node.txt FORCE | $(STAMPS)/requirements
	@packaging/setup.sh node $(BIN) $@ $<

# `gone FILE` depends on something new if the file is not there.
gone = $(if $(wildcard $(1)),,FORCE)

$(STAMPS)/web-packages: $(call gone,$(WEB)/node_modules/.package-lock.json) $(WEB)/package.json $(WEB)/package-lock.json $(WEB)/.npmrc $(STAMPS)/node
	@echo "build: packages that the view's page is made with"
	@npm ci --silent --no-progress --prefix $(WEB)
	@touch $@

$(STAMPS)/web: $(call gone,src/gnomon/view/static/index.html) $(WEB_SOURCES) $(STAMPS)/web-packages
	@echo "build: the page that gnomon view serves"
	@begun=$$(mktemp $@.XXXXXX); \
	npm run --silent --prefix $(WEB) build >$@.log 2>&1 || { cat $@.log; rm "$$begun"; exit 1; }; \
	mv "$$begun" $@

# Not editable: the hooks of an editable installation cost every start of `gnomon` some 10 ms. The
# stamp is as old as the build's beginning, so that an edit made meanwhile is built next time.
$(STAMPS)/built: $(call gone,$(BIN)/gnomon) $(SOURCES) $(STAMPS)/requirements $(STAMPS)/web
	@echo "build: compiling and installing gnomon into $(VENV)"
	@begun=$$(mktemp $@.XXXXXX); \
	flock $(STAMPS) $(PIP) install -qq --no-build-isolation --no-deps . || { rm "$$begun"; exit 1; }; \
	mv "$$begun" $@
