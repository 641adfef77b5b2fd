# Two commands on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run install test lint format bench clean

run: .venv/server  ## install what is needed and start everything
	@exec $(BIN)/prshots serve

install: .venv/server  ## only install

test: .venv/dev  ## install what the tests need, and run them
	@bash tests/install-tools
	$(BIN)/pytest $(TESTS)

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/bench  ## measure against the peers, in one table
	$(BIN)/python -m bench $(BENCH)

clean:
	rm -rf .venv

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "prshots needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv .venv

# Each stamp file stands for "this extra is installed as of these pins".
.venv/server: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing prshots into .venv …"
	$(PIP) --editable '.[server]'
	@touch $@

.venv/dev: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing prshots and its tests' needs into .venv …"
	$(PIP) --editable '.[server,dev]'
	@touch $@ .venv/server

.venv/bench: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing prshots and the benchmark's peers into .venv …"
	$(PIP) --editable '.[server,bench]'
	@touch $@ .venv/server
