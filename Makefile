# Every target sets up what it needs: only Python 3.11 (or newer) and pip are assumed.
# Another interpreter: make test PYTHON=python3.12. Nothing installed outside of .venv: make test MACHINE=no

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools-installed
READY := $(VENV)/.ready
DOCS := $(VENV)/.docs-installed
BYTECODE := $(VENV)/.compiled
# Half of the tests wait most of the time: for limits to pass, for processes to end, for pages to load.
WORKERS := -n 4 --dist worksteal
# A run that a model of this size ends in a minute or two of processor time.
SHORT := --prompts src/autoreason/prompts/short --rounds 5 -k 1 --set review_every=2 --set reviewers=3 \
	--set confirmation=3 --seed 2
COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade --generate-hashes \
	--allow-unsafe --strip-extras --no-emit-options

.DEFAULT_GOAL := help
.PHONY: help demo demo-host test coverage machine lint format size bench paper docs dist lock prices clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Fetch the embedded model, refine an example brief with it and show the page of that run
	@echo "▸ the page of a recorded run, of a model ten times as large"
	@mkdir -p build && cp examples/lost-card.db build/lost-card.db
	@$(BIN)/autoreason view last --journal build/lost-card.db
	@echo "▸ the embedded model"
	@$(BIN)/autoreason models pull
	@echo "▸ a run of examples/demo.md: it ends when a round brings no new text"
	@rm -rf build/demo.db*
	@$(BIN)/autoreason run examples/demo.md $(SHORT) --journal build/demo.db
	@echo "▸ the page of this run"
	@$(BIN)/autoreason view last --journal build/demo.db

demo-host: $(READY) ## Let a scripted agent answer a whole run, in host mode and offline
	@mkdir -p build && rm -rf build/host.db*
	@AUTOREASON_JOURNAL=build/host.db $(BIN)/python examples/host_agent.py examples/demo.md --call-limit 60 \
		--set reviewers=3 --set confirmation=3 --seed 2
	@$(BIN)/autoreason show last --journal build/host.db

test: $(BYTECODE) machine ## Run every check: format, lint, types, tests
	@echo "▸ tests, and beside them format, lint and types"
	@mkdir -p build; $(MAKE) --no-print-directory lint >build/lint.log 2>&1 & lint=$$!; \
	$(BIN)/pytest -q $(WORKERS) $(if $(ALL),--all); tests=$$?; \
	wait $$lint; checks=$$?; cat build/lint.log; exit $$((tests + checks))

coverage: $(READY) machine ## Run the tests and show which lines and branches none of them reaches
	@$(BIN)/pytest -q $(WORKERS) --cov

# A browser, bubblewrap and PostgreSQL, and with npm what checks scripts, into build/node; without them the tests that
# need them are skipped. MACHINE=no installs none; ALL=1 also fetches the programs that can be models.
machine:
	@$(PYTHON) tools/machine.py $(if $(filter no,$(MACHINE)),--leave) $(if $(ALL),--all)

lint: $(READY) ## Check format, lint and types
	@echo "▸ format"
	@$(BIN)/ruff format --check --quiet --output-format concise .
	@echo "▸ lint"
	@$(BIN)/ruff check --quiet --output-format concise .
	@echo "▸ types"
	@$(BIN)/mypy --no-error-summary

format: $(READY) ## Format the code and apply the safe fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

size: ## Print how large every room is beside what it may be
	@$(PYTHON) tools/size.py

bench: $(READY) ## Run the benchmarks
	@$(BIN)/python -m benchmarks

# Suites that were begun go on: make paper MODEL=... BUDGET=20 (US dollars), OUT=paper-results
paper: $(READY) ## Run every suite of the paper: MODEL=... BUDGET=20 (US dollars)
	@$(BIN)/python -m paper -m $(MODEL) $(if $(BUDGET),--cost $(BUDGET)) --out $(or $(OUT),paper-results)

docs: $(READY) $(DOCS) ## Build the documentation site into build/site; a dead link or a page left out fails it
	@echo "▸ documentation"
	@$(BIN)/sphinx-build -q -W --keep-going -c docs -d build/doctrees . build/site
	@echo "  build/site/index.html"

dist: $(READY) ## Build what is published, into dist
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	@ls dist

lock: $(TOOLS) ## Pin the newest allowed versions in requirements/*.lock (minutes)
	@echo "▸ resolving; every file of every package gets its hash"
	@$(COMPILE) --extra docx --extra local --extra mcp --extra postgres --extra ray --extra tune --output-file requirements/dev.lock pyproject.toml requirements/dev.in
	@$(COMPILE) --output-file requirements/docs.lock requirements/docs.in

prices: $(READY) ## Take a new snapshot of model prices
	@$(BIN)/python tools/prices.py

clean: ## Remove everything these targets made
	@rm -rf $(VENV) build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A new lock starts from an empty environment, so that nothing unlisted lingers in it.
$(TOOLS): requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	@echo "▸ making $(VENV) from requirements/dev.lock (a minute, the first time)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python tools/install.py requirements/dev.lock
	@touch $@

# The build backend is in the lock too; isolation would fetch another, unchecked.
$(READY): $(TOOLS) pyproject.toml
	@echo "▸ installing autoreason into $(VENV)"
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@

# Else every worker would compile all of the tests.
$(BYTECODE): $(READY)
	@$(BIN)/pytest --collect-only -p no:cacheprovider >/dev/null 2>&1; touch $@

# Not for the tests, which would wait for it on every new machine.
$(DOCS): $(TOOLS) requirements/docs.lock
	@echo "▸ adding requirements/docs.lock to $(VENV)"
	@$(BIN)/python tools/install.py requirements/docs.lock
	@touch $@
