# Everything a newcomer needs is set up by the target that needs it; the second time is quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := adapter scaler wire testbed tests benchmarks
DEMO_SECONDS ?= 240
# All but the peers, which only tests and benchmarks run.
DEMO_ASSETS := helm etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok prometheus
export DEMO_SECONDS
PIN := --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

.DEFAULT_GOAL := help
.PHONY: help demo test check bench lint format unit assets constraints clean

help:  ## Show what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP): constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11")'
	@echo "Setting up $(VENV) (once)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --progress-bar off --require-hashes -r constraints.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

assets: $(STAMP)  ## Build the control plane's programs once (ten to fifteen minutes on two cores)
	@$(BIN)/python -m testbed build

demo: $(STAMP)  ## Scale two workloads on real metrics, live; DEMO_SECONDS=240
	@$(BIN)/python -m testbed build $(DEMO_ASSETS)
	@$(BIN)/python -m testbed demo

test: check assets  ## Everything: check, then the tests against real programs
	$(BIN)/python -m pytest tests/conformance tests/process tests/e2e

check: $(STAMP)  ## Format, lint, types, import contracts, unit tests (under a minute)
	@$(MAKE) --no-print-directory --output-sync=target -j2 lint unit

lint: $(STAMP)  ## Format, lint, types and import contracts
	$(BIN)/ruff format --check --quiet $(SOURCES)
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(STAMP)  ## Unit tests and house rules
	$(BIN)/python -m pytest -q tests/unit tests/tidy

format: $(STAMP)  ## Lay the sources out
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix --quiet $(SOURCES)

bench: assets  ## Comparisons with the peers, side by side
	$(BIN)/python -m benchmarks

constraints: $(STAMP)  ## Pin every dependency anew, with hashes
	$(BIN)/uv pip compile $(PIN) --all-extras pyproject.toml -o constraints.txt
	$(BIN)/uv pip compile $(PIN) --constraints constraints.txt pyproject.toml -o constraints-runtime.txt

clean:  ## Remove the virtual environment and what was built in the checkout
	rm -rf $(VENV) out build dist *.egg-info
