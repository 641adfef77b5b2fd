# Two commands on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# Everything with the version and the hash in requirements/, the tools that build the package included.
PINS := $(wildcard requirements/*.txt)

# The dashboard's sources: the Python build makes the dashboard of them (hatch_build.py).
WEB := hatch_build.py $(shell find web -name node_modules -prune -o -type f -print)
NODE_CLIENT := clients/node
BENCH_PEERS := bench/node_peers/node_modules/.package-lock.json
NODE_PACKAGES := web/node_modules/.package-lock.json $(NODE_CLIENT)/node_modules/.package-lock.json
# Node from .venv, where the machine has none that is new enough; else from the machine.
WITH_NODE := PATH="$(CURDIR)/$(BIN):$$PATH"
# The dashboard's TypeScript types, made from the API's.
WEB_TYPES := $(BIN)/python web/make_types.py
NPM := $(WITH_NODE) npm --prefix web
NPM_CLIENT := $(WITH_NODE) npm --prefix $(NODE_CLIENT)
NEW_ENOUGH := const [major, minor] = process.versions.node.split("."); process.exit(Number(major * 100 + +minor < 2019))

# In the order of the folders: the long tests come first. `tests/conftest.py` says which tests share a worker. Three
# workers for two cores, because a test often waits for a process to start.
PYTEST_WORKERS := --numprocesses 3 --dist loadgroup --no-loadscope-reorder
PYTEST := $(WITH_NODE) $(BIN)/pytest $(PYTEST_WORKERS)
# Let Python cache compiled files, even where the machine turns this off: otherwise each process that a test starts
# compiles everything again.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help run install test test-slow test-nightly coverage programs programs-slow lint lint-python lint-node format bench drill mutants pins screenshots clean

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/server  ## install and start the service; prints a link to the dashboard
	@exec $(BIN)/prshots serve

install: .venv/server  ## install the service into .venv without starting it

test: programs .venv/dev $(NODE_PACKAGES)  ## install what the tests need, and run those that take 2 minutes together
	$(NPM) test
	$(NPM_CLIENT) test
	@$(WITH_NODE) bash tests/install-tools
	$(PYTEST) -m "not slow and not nightly" $(TESTS)

test-slow: programs-slow .venv/dev $(NODE_PACKAGES)  ## run the tests of the other engines, browsers, deploy files and crashes
	@$(WITH_NODE) bash tests/install-tools slow
	$(PYTEST) -m "slow and not nightly" $(or $(TESTS),--ignore tests/unit)

test-nightly: programs-slow .venv/dev $(NODE_PACKAGES)  ## run long series, every property with more examples, and newest dependencies
	@$(WITH_NODE) bash tests/install-tools slow
	$(PYTEST) -m "nightly or hypothesis" --hypothesis-profile nightly $(TESTS)
	$(MAKE) drill DRILL='all --share 0.25'
	$(MAKE) mutants

# Measure the processes that the tests start, too. The report is also made when a test has failed.
coverage: programs .venv/dev $(NODE_PACKAGES)  ## print what the tests of make test cover, and the slowest; pages in coverage/html
	@$(WITH_NODE) bash tests/install-tools
	rm -rf coverage
	$(WITH_NODE) $(BIN)/coverage run -m pytest $(PYTEST_WORKERS) --durations 30 -m "not slow and not nightly" $(TESTS); \
	result=$$?; $(BIN)/coverage combine --quiet && $(BIN)/coverage json --quiet && $(BIN)/coverage html --quiet && \
	$(BIN)/python tests/coverage_table.py && exit $$result

# First, because it may end with what to install.
programs:
	@bash tests/install-programs

programs-slow:
	@bash tests/install-programs slow

# mypy keeps one core busy for most of the time. On the other, npm installs its packages and checks the TypeScript.
lint:  ## check style, types and import rules
	@$(MAKE) --no-print-directory --jobs 2 lint-python lint-node

lint-python: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

lint-node: .venv/dev $(NODE_PACKAGES)
	@$(WEB_TYPES) | diff web/src/lib/types.ts - || { echo "web/src/lib/types.ts is out of date: run make format"; exit 1; }
	$(NPM) run check
	$(NPM) run lint
	$(NPM_CLIENT) run check
	$(NPM_CLIENT) run lint

format: .venv/dev $(NODE_PACKAGES)  ## format the code and apply safe fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(WEB_TYPES) > web/src/lib/types.new && mv web/src/lib/types.new web/src/lib/types.ts
	$(NPM) run format
	$(NPM_CLIENT) run format
	$(NPM_CLIENT) run bundle

bench: .venv/bench $(BENCH_PEERS)  ## compare prshots with other servers; options go into BENCH='--only start --json FILE'
	$(WITH_NODE) $(BIN)/python -m bench $(BENCH)

drill: programs .venv/dev  ## break the service for long, and count: DRILL='kill --kills 1000', requests, urls, all; see DRILL=--help
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m drills $(DRILL)

mutants: programs .venv/dev  ## change one thing in the code at a time, and list what no test notices; see MUTANTS=--help
	@PYTHONPATH=$(CURDIR)/tests $(BIN)/python -m mutants $(MUTANTS)

pins: .venv/dev  ## write requirements/ again: UPGRADE='httpx rich' takes the newest of these, UPGRADE=all of all
	$(PIP) uv
	$(BIN)/python requirements/pin.py $(UPGRADE)

screenshots: programs .venv/dev  ## take screenshots of every dashboard page into screenshots/
	$(WITH_NODE) $(BIN)/python docs/images/make_dashboard.py

clean:  ## delete everything that was installed or built
	rm -rf .venv coverage web/node_modules bench/node_peers/node_modules $(NODE_CLIENT)/node_modules $(NODE_CLIENT)/dist src/prshots/server/web/dashboard

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "prshots needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv .venv

# Each stamp file records that its extra is installed with the current pins.
.venv/server .venv/dev .venv/bench: .venv/%: pyproject.toml $(PINS) $(WEB) | .venv/bin/python
	@echo "Installing prshots and requirements/$*.txt into .venv …"
	$(PIP) --require-hashes -r requirements/build.txt -r requirements/$*.txt
	@node -e '$(NEW_ENOUGH)' 2> /dev/null && command -v npm > /dev/null || $(PIP) --require-hashes -r requirements/node.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@ .venv/server

$(NODE_PACKAGES): %/node_modules/.package-lock.json: %/package-lock.json | .venv/dev
	$(WITH_NODE) npm --prefix $* ci --no-audit --no-fund

# Without them the benchmark leaves their rows out, and says so.
$(BENCH_PEERS): bench/node_peers/package-lock.json | .venv/bench
	$(WITH_NODE) npm --prefix bench/node_peers ci --no-audit --no-fund || echo "The benchmark runs without the packages in bench/node_peers."
