# Every verb of this repository. CI and the git hooks call the same ones as people do.
#
#   make demo    everything it needs, then the demo
#   make test    everything it needs, then every check and every test
#
# Needs Python 3.11 or newer, make, and network access to Python packages. What else there is, is
# used: Node for the tests of `supabase db push`, Debian's packages for PostgreSQL 15, PgBouncer and
# pgTAP. Without them their tests are skipped, and say so; with CI=true such a skip is a failure.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
# Test processes; two suit two cores. `make test WORKERS=0` runs all in one, for a debugger.
WORKERS ?= 2
# More for pytest: `make test-unit ARGS='-k cursor -x'`.
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.ready-for-demo
NODE_READY := $(if $(shell command -v npm),node_modules/.ready)
PYTEST := $(BIN)/python -m pytest
PARALLEL := $(if $(filter-out 0,$(WORKERS)),-n $(WORKERS) --dist loadgroup)

say = @printf '\033[1m== %s\033[0m\n' "$(1)"
ifdef NO_COLOR
say = @printf '== %s\n' "$(1)"
endif

##@ First

.PHONY: help
help: ## Show this index
	@awk 'BEGIN { FS = ":.*## "; print "make <verb>" } \
	    /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: $(if $(wildcard $(READY)),$(READY),$(DEMO_READY)) ## The demo, with everything it needs
	@$(BIN)/strongroom demo $(ARGS)

.PHONY: test
test: setup lint types verify ## Every check and every test, with everything they need
	$(call say,every test)
	@$(PYTEST) $(PARALLEL) tests $(ARGS)
	@$(MAKE) test-frameworks

.PHONY: setup
setup: $(READY) $(NODE_READY) ## Make .venv (and node_modules, where there is npm) ready for development

# A virtual environment, on Debian also where python3-venv is missing but pip is there.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("$(PYTHON) is Python " \
	    + sys.version.split()[0] + ", and 3.11 is needed: make PYTHON=python3.12 ...")'
	$(call say,making $(VENV))
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	    echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv"; \
	    exit 1; } >&2

# What takes long is told, and what pip says only when it fails.
define install
	$(call say,installing $(1); about a minute on a fresh machine)
	@log=$$(mktemp); $(PIP) install --quiet --editable '$(2)' >"$$log" 2>&1 \
	    || { cat "$$log"; rm -f "$$log"; exit 1; } >&2; rm -f "$$log"
endef

$(READY): pyproject.toml | $(BIN)/python
	$(call install,strongroom and its development tools,.[dev])
	@touch $@

$(DEMO_READY): pyproject.toml | $(BIN)/python
	$(call install,strongroom and its embedded PostgreSQL,.[embedded])
	@touch $@

node_modules/.ready: package.json package-lock.json
	$(call say,installing the Supabase CLI)
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@

##@ Tests by kind

.PHONY: test-unit
test-unit: $(READY) ## Models, importing, ingestion, in-memory adapter, command line without a server
	@$(PYTEST) $(wildcard tests/unit tests/importing tests/ingestion) $(ARGS)

.PHONY: test-conformance
test-conformance: $(READY) ## The shared suite, on every adapter, server and role
	@$(PYTEST) $(PARALLEL) tests/conformance $(ARGS)

.PHONY: test-migrations
test-migrations: $(READY) ## Up, down, up again; drift; every way of installing
	@$(PYTEST) $(PARALLEL) tests/migrations $(ARGS)

.PHONY: test-concurrency
test-concurrency: $(READY) ## Crashes, cancellation, races
	@$(PYTEST) tests/concurrency $(ARGS)

.PHONY: test-worker
test-worker: $(READY) ## The durable worker, in memory, on PostgreSQL, and as a process
	@$(PYTEST) tests/worker $(ARGS)

# How long `make soak` kills workers; CI takes a minute of it.
SECONDS_OF_SOAK := $(or $(if $(filter environment,$(origin SECONDS)),,$(SECONDS)),300)

.PHONY: soak
soak: $(READY) ## Workers are killed at random: make soak SECONDS=600; prints what it counted
	@STRONGROOM_SOAK_SECONDS=$(SECONDS_OF_SOAK) $(PYTEST) tests/soak $(ARGS)

.PHONY: test-push
test-push: setup ## `supabase db push`, advisors and lint, with the real CLI (Node)
	@$(PYTEST) tests/push tests/platform $(ARGS)

.PHONY: test-supabase
test-supabase: $(READY) ## The whole suite over Supabase's API, and Realtime, with the real clients, on stand-ins (or STRONGROOM_TEST_SUPABASE_URL)
	@$(PYTEST) $(PARALLEL) tests/conformance/test_supabase.py tests/platform/test_postgrest.py \
	    tests/platform/test_realtime.py tests/platform/test_realtime_hints.py \
	    tests/platform/test_storage.py tests/platform/test_blocking.py \
	    tests/conformance/test_blocking_api.py $(ARGS)

.PHONY: test-adapters
test-adapters: setup ## Redis, BullMQ, and every blob store: the suite's sections and kills, on servers that it starts (Debian's redis-server, Node)
	@$(PYTEST) $(PARALLEL) tests/adapters tests/conformance/test_blob_stores.py tests/platform/test_storage.py $(ARGS)

.PHONY: test-web
test-web: setup ## examples/chat-web in Chromium: two tenants, live, over dropped sockets (Node, Debian's chromium)
	@$(PYTEST) tests/web $(ARGS)

.PHONY: supabase-up
supabase-up: $(NODE_READY) ## Supabase's own containers with this schema; needs a container engine
	@node_modules/.bin/supabase start || { echo "Supabase's containers did not start. Without a container engine: \`make demo\`, or" \
	    "plain PostgreSQL or a hosted project, as SUPABASE.md says." >&2; exit 1; }

.PHONY: test-pgtap
test-pgtap: $(READY) ## The stories of supabase/tests, by pg_prove (Debian's packages)
	@$(PYTEST) tests/pgtap $(ARGS)

# The frameworks bring their own pytest plugins and pin what others want newer: they have an
# environment of their own, so that the other tests stay what they are.
FRAMEWORKS := .venv-frameworks
FRAMEWORKS_READY := $(FRAMEWORKS)/.ready
$(FRAMEWORKS_READY): pyproject.toml | $(BIN)/python
	$(call say,installing the agent frameworks; a minute or two on a fresh machine)
	@$(BIN)/python -m venv $(FRAMEWORKS)
	@log=$$(mktemp); $(FRAMEWORKS)/bin/python -m pip --disable-pip-version-check install --quiet \
	    --editable '.[frameworks]' >"$$log" 2>&1 \
	    || { cat "$$log"; rm -f "$$log"; exit 1; } >&2; rm -f "$$log"
	@touch $@

.PHONY: test-frameworks
test-frameworks: $(FRAMEWORKS_READY) ## Every agent framework: its own suite where it has one, ours, and its example
	@$(FRAMEWORKS)/bin/python -m pytest tests/frameworks -W default::DeprecationWarning $(ARGS)

.PHONY: test-cli
test-cli: $(READY) ## The command line, in this process and as a process
	@$(PYTEST) tests/cli $(ARGS)

.PHONY: test-packaging
test-packaging: $(READY) ## Build the wheel, install it elsewhere, run the demo there
	@$(PYTEST) tests/packaging $(ARGS)

##@ Checks

# The generated files are checked by `verify`; SQL bodies by plpgsql_check in test-push.
PYTHON_CODE := python tests scripts $(wildcard bench examples)

.PHONY: fmt
fmt: $(READY) ## Format the Python code
	@$(BIN)/ruff check --quiet --fix $(PYTHON_CODE) || true
	@$(BIN)/ruff format $(PYTHON_CODE)

.PHONY: lint
lint: $(READY) ## Python style, import contracts, SQL style and risky SQL
	$(call say,lint)
	@$(BIN)/ruff check --quiet $(PYTHON_CODE)
	@$(BIN)/ruff format --check --quiet $(PYTHON_CODE)
	@$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache
	@# Two at a time; xargs says when one of them has complained.
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	    ls sql/migrations/*.sql $$(find supabase/tests -name '*.sql') | xargs -P 2 -n 12 \
	    $(BIN)/sqlfluff lint --disable-progress-bar --config .sqlfluff >"$$log" 2>&1 \
	    && ! grep WARNING "$$log" >&2 || { grep -v ' PASS$$' "$$log" >&2; exit 1; }
	@$(BIN)/squawk --config .squawk.toml sql/migrations/*.up.sql

.PHONY: types
types: $(READY) ## Types, strictly
	$(call say,types)
	@$(BIN)/mypy

.PHONY: verify
verify: $(READY) ## Fail when a generated file is stale
	$(call say,generated files)
	@failed=0; for generator in $(sort $(wildcard scripts/generate_*.py)); do \
	    $(BIN)/python $$generator --check || { echo "stale: $$generator" >&2; failed=1; }; \
	done; exit $$failed
	@for check in $(sort $(wildcard scripts/check_*.py)); do $(BIN)/python $$check; done

.PHONY: generate
generate: $(READY) ## Write the generated files again
	@for generator in $(sort $(wildcard scripts/generate_*.py)); do \
	    echo $$generator; $(BIN)/python $$generator; done

##@ More

.PHONY: bench
bench: $(READY) ## strongroom beside its floor and its peers, as ratios in one run
	@$(PIP) install --quiet --editable '.[dev,bench]'
	@$(BIN)/python -m bench $(ARGS)

.PHONY: docs
docs: $(READY) ## Generate the reference and the diagram, and say where they are
	@$(BIN)/python scripts/generate_snapshot.py
	@ls -1 sql/snapshot/*.md sql/snapshot/*.svg

.PHONY: ci
ci: ## What CI runs: the same as `test`, and no skip for want of a package
	@CI=true $(MAKE) test

.PHONY: clean
clean: ## Remove what can be made again (.venv and node_modules stay)
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .cache
	@find . -name __pycache__ -not -path './.venv/*' -not -path './node_modules/*' \
	    -prune -exec rm -rf {} +
