# Everything a newcomer and CI run. `make demo` and `make test` install what they need first.
.DEFAULT_GOAL := help
.PHONY: help install demo walk test explore lint bundle bench soak faults refund-experiment costs mutants guarantees lock clean

PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/python -m uv
# Through the environment and unexpanded: a file's name is never a command, neither make's nor the shell's.
export DEMO_FILE := $(or $(value FILE),examples/prospects.csv)
# Three on two cores: the tests of the local cloud wait more than they compute. As they stand, so that those begin first.
WORKERS := -n 3 --dist loadfile --no-loadscope-reorder
UV_PIN := $(shell sed -n 's/^uv==\([0-9.]*\).*/\1/p' requirements.in)

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST) | expand -t 24

install: .venv/.installed ## .venv with everything pinned

.venv/.installed: requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; name one with make PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_PIN)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

demo: install ## A CSV through the real stacks and handlers on a local cloud; FILE=... for your own
	@$(BIN)/prospects local demo -- "$$DEMO_FILE"

walk: install ## What goes wrong, and what an operator does then, step by step on a local cloud
	@$(BIN)/python -m examples.walk

test: install ## All tests, with lint and types
	@started=$$(date +%s); $(MAKE) --no-print-directory lint && $(BIN)/pytest $(WORKERS); code=$$?; \
	echo "make test took $$(( $$(date +%s) - started )) s"; exit $$code

explore: install ## Every arrival at every crash point, in four modes; make test takes the first and the last
	@$(BIN)/pytest $(WORKERS) --explore=all tests/effects

lint: install ## Format, rules, types and layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bundle: install ## The arm64 asset as it ships, into build/
	@$(BIN)/python -m stacks.bundle build/bundle

bench: install build/peers/.installed ## The bars of speed, memory and requests, measured beside peers; ROWS=...
	@$(BIN)/python -m bench $(if $(ROWS),--rows $(ROWS))

build/peers/.installed: requirements-bench.txt
	@$(BIN)/python -m venv build/peers
	@$(UV) pip install --quiet --python build/peers/bin/python --require-hashes -r requirements-bench.txt
	@touch $@

soak: install ## A large file through the local cloud while intake is killed; ROWS=...
	@$(BIN)/python -m bench.soak $(if $(ROWS),--rows $(ROWS))

faults: install ## The fault matrix: ours and two naive stacks under the same faults on local clouds; ONLY=... PACE=...
	@$(BIN)/python -m bench.matrix $(if $(ONLY),--only $(ONLY)) $(if $(PACE),--pace $(PACE))

refund-experiment: install ## A refund that is made, then fails, then is run again: the naive tools and ours; RUNS=... ONLY=... HANDLERS=...
	@$(BIN)/python -m bench.refund_experiment $(if $(RUNS),--runs $(RUNS)) $(if $(ONLY),--only $(ONLY)) $(if $(HANDLERS),--handlers $(HANDLERS))

costs: install ## docs/costs.md, from counted calls and the price list
	@$(BIN)/python -m bench.costs

mutants: install ## Every small change to the effect core must fail a test; long
	@$(BIN)/python -m bench.mutants

guarantees: install ## The generated parts of docs/guarantees.md: moves, retries, the score of the mutants
	@$(BIN)/python -m bench.guarantees

lock: ## The requirements*.txt, anew from the *.in
	@$(UV) pip compile --quiet --no-header --generate-hashes --python-version 3.13 --python-platform aarch64-manylinux_2_34 functions/requirements.in -o functions/requirements.txt
	@$(UV) pip compile --quiet --no-header --generate-hashes --universal --python-version 3.11 -c functions/requirements.txt requirements.in -o requirements.txt
	@$(UV) pip compile --quiet --no-header --generate-hashes --universal --python-version 3.11 -c requirements.txt requirements-dev.in -o requirements-dev.txt
	@$(UV) pip compile --quiet --no-header --generate-hashes --universal --python-version 3.11 requirements-bench.in -o requirements-bench.txt

clean: ## Everything that was made here
	@rm -rf .venv build cdk.out results .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis mutants
