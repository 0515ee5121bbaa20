# Each target makes its own virtual environment the first time: with uv where there is one, else with venv and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test check lint fix bench clean

help: ## show what there is
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(STAMP): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python '>=3.11' $(VENV) && \
		uv pip install --quiet --python $(BIN)/python --editable . --group dev; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
		$(BIN)/python -m pip install --quiet --editable . --group dev; \
	fi
	@touch $@

demo: $(STAMP) ## an embedded cluster, the daemon and gangs of several teams, live, for about 20 seconds
	@$(BIN)/vsched demo $(ARGS)

test: $(STAMP) ## all tests
	@$(BIN)/pytest $(ARGS)

check: lint test ## the whole gate: format, lint, types, floors, tests

lint: $(STAMP) ## format, lint, types and floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(STAMP) ## format and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## measure the decision core on this machine
	@$(BIN)/vsched bench $(ARGS)

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
