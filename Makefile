# Each target sets up what it needs. Later runs reuse it.
# The probe takes three seconds: it runs once, and only if an environment is made.
PYTHON ?= $(eval PYTHON := $$(shell python3 testbed/fastest_python.py))$(PYTHON)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEPENDENCIES := $(VENV)/.dependencies
SOURCES := adapter scaler wire kubectl_loadline testbed tests benchmarks
DEMO_SECONDS ?= 240
SEEDS ?= 0..1000
SECONDS ?= 7200
UNTIL ?=
ONLY ?=
PAGE_AUTOSCALERS ?= 10
PACKAGES ?=
# Without the programs that only tests and benchmarks run: prometheus-adapter.
DEMO_ASSETS := helm etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok prometheus
export DEMO_SECONDS PAGE_AUTOSCALERS
# A seed of the simulation is the same run each time.
export PYTHONHASHSEED = 0
# Beside the programs of the testbed: other Pythons and dependencies, and what two tools know of files by a hash of their content. That
# saves a new clone a minute of processor time: 27 s of types, and 5 s of constants in each process that runs property tests.
CACHE := $(or $(LOADLINE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/loadline)
ENVIRONMENTS := $(CACHE)/environments
export MYPY_CACHE_DIR := $(CACHE)/mypy
export HYPOTHESIS_STORAGE_DIRECTORY := $(CACHE)/hypothesis
# Tests start the programs hundreds of times: with bytecode, also where the environment turns it off, a start takes 0.5 s of processor
# time, and 1.8 s without it.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
# In the order in which they begin, two at a time.
CHECKS := lint unit-scaler unit-others site
# Modules stay whole, and so do directories whose modules share a cluster (tests/shared_clusters.py). They wait for programs most of the
# time: with three processes, a processor was idle after the others had computed.
REAL_PROCESSES := -n 4 --dist loadfile --no-loadscope-reorder
# The programs in Go collect garbage less often, which takes more memory: it saves an eighth of the processor time of the control
# planes, and a third of Helm's. Each of them runs on one processor, which saves 7%: less is spent on looking for work.
GO_PROGRAMS := GOGC=400 GOMAXPROCS=1
# Tests that start the real programs, but none that must be built.
WITHOUT_BUILT_PROGRAMS := tests/process/adapter/test_check_stdin.py tests/process/scaler/test_program.py
PIN := --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

WITH_HASHES := --quiet --no-deps --require-hashes

.DEFAULT_GOAL := help
.PHONY: help demo test computing simulated real test-kubernetes upstream-diff test-python test-dependencies test-arm64 test-backends test-page simulate texts soak model mutants check bench lint format unit unit-scaler unit-others site wheel assets constraints clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(DEPENDENCIES): constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11")'
	@echo "Setting up $(VENV) with $(PYTHON) (once)"
	@$(PYTHON) -m venv --clear $(VENV)
	@# uv installs them in 4 s, pip in 30 s.
	@sed -n '/^uv==/,/[^\\]$$/p' constraints.txt > $(VENV)/uv.txt
	@$(BIN)/python -m pip install $(WITH_HASHES) --progress-bar off --no-compile -r $(VENV)/uv.txt
	@$(BIN)/uv pip install --python $(BIN)/python $(WITH_HASHES) -r constraints.txt || { \
	  echo "uv cannot install the dependencies, perhaps because it does not read pip.conf: pip installs them" >&2; \
	  $(BIN)/python -m pip install $(WITH_HASHES) --progress-bar off --no-compile -r constraints.txt; }
	@touch $@

$(STAMP): $(DEPENDENCIES) pyproject.toml
	@# With "compat", the packages are found by a path, and each start of Python saves 15 ms of importing a finder.
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --config-settings editable_mode=compat -e .
	@touch $@

assets: $(STAMP)  ## Build the programs of the control planes (15 to 25 minutes on two cores, once)
	@$(BIN)/python -m testbed build

demo: $(STAMP)  ## Scale two workloads live on real metrics (DEMO_SECONDS=240)
	@$(BIN)/python -m testbed preview $(DEMO_ASSETS)
	@$(BIN)/python -m testbed build $(DEMO_ASSETS)
	@$(BIN)/python -m testbed demo

test: assets  ## Run `check`, conformance vectors, the simulation, real processes, and a real control plane, side by side (11 to 25 minutes on two cores)
	@$(MAKE) --no-print-directory -j2 computing real

# What needs a processor runs beside what waits for programs most of the time, and gives way to it. The simulation begins while the
# last unit tests run: after them, a processor would be idle for a minute.
computing: $(STAMP)
	@nice -n 15 $(MAKE) --no-print-directory --output-sync=target -j2 $(CHECKS) simulated

simulated: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --junitxml=out/junit/simulated.xml tests/simulation tests/conformance

real: assets
	@# The modules are compiled once: four processes that begin together would each do it, which takes 14 s more of processor time.
	@$(BIN)/python -m pytest -q --collect-only tests/process tests/e2e > /dev/null 2>&1 || true
	$(GO_PROGRAMS) $(BIN)/python -m pytest $(REAL_PROCESSES) --junitxml=out/junit/real.xml tests/process tests/e2e

test-kubernetes: assets  ## Run the tests that need a control plane with another Kubernetes (VERSION=1.35)
	@test -n "$(VERSION)" || { echo "Name a minor version of Kubernetes: make $@ VERSION=1.35" >&2; exit 2; }
	$(GO_PROGRAMS) LOADLINE_KUBERNETES=$(VERSION) $(BIN)/python -m pytest $(REAL_PROCESSES) tests/process tests/e2e

upstream-diff: $(STAMP)  ## Show what changed upstream in the files that Loadline follows (VERSION=1.38.0)
	@test -n "$(VERSION)" || { echo "Name a version of Kubernetes: make $@ VERSION=1.38.0" >&2; exit 2; }
	@$(BIN)/python -m testbed.upstream_diff $(VERSION)

test-backends: $(STAMP)  ## Build VictoriaMetrics and Thanos and compare them with Prometheus (five minutes of building, once)
	@$(BIN)/python -m testbed build prometheus victoria-metrics thanos
	$(BIN)/python -m pytest tests/backends

test-page: $(STAMP)  ## Test the page of `kubectl loadline ui` in a real Chromium, with axe-core (PAGE_AUTOSCALERS=10,1000)
	@$(BIN)/python -m testbed build etcd kube-apiserver kubectl prometheus promtool
	AXE=$$($(BIN)/python -m testbed.axe) $(BIN)/python -m pytest -s tests/browser

# $(1): the name of the environment, $(2): its Python, $(3): what is installed.
define environment
	$(BIN)/uv venv --quiet --seed --clear --no-python-downloads --python $(2) "$(ENVIRONMENTS)/$(1)"
	$(BIN)/uv pip install --quiet --python "$(ENVIRONMENTS)/$(1)" $(3)
	$(BIN)/uv pip install --quiet --python "$(ENVIRONMENTS)/$(1)" --no-deps --no-build-isolation --editable .
endef

test-python: $(STAMP)  ## Run the unit tests with another Python (PYTHON_VERSION=3.13, or the path of an interpreter)
	@test -n "$(PYTHON_VERSION)" || { echo "Name a version of Python: make $@ PYTHON_VERSION=3.13" >&2; exit 2; }
	@$(BIN)/uv python find --quiet --no-python-downloads $(PYTHON_VERSION) >/dev/null || { \
	  echo "There is no Python $(PYTHON_VERSION) on the PATH. Name its path: make $@ PYTHON_VERSION=/opt/python/bin/python3.13" >&2; exit 2; }
	$(call environment,python$(subst /,-,$(PYTHON_VERSION)),$(PYTHON_VERSION),--require-hashes -r constraints.txt)
	"$(ENVIRONMENTS)/python$(subst /,-,$(PYTHON_VERSION))/bin/python" -m pytest -q -n 2 tests/unit

test-dependencies: $(STAMP)  ## Run unit tests with the oldest or the newest allowed dependencies (RESOLUTION=lowest-direct or highest)
	@case "$(RESOLUTION)" in lowest-direct|highest) ;; *) echo "Name which: make $@ RESOLUTION=lowest-direct (or highest)" >&2; exit 2;; esac
	$(call environment,$(RESOLUTION),$(BIN)/python,--resolution $(RESOLUTION) --all-extras -r pyproject.toml)
	"$(ENVIRONMENTS)/$(RESOLUTION)/bin/python" -m pytest -q -n 2 tests/unit $(WITHOUT_BUILT_PROGRAMS)

test-arm64: $(STAMP)  ## Download the wheels of the image for arm64: fails if a dependency has none
	@rm -rf out/arm64
	@$(BIN)/python -m pip download --quiet --progress-bar off --only-binary=:all: --no-deps --dest out/arm64 \
	  --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 --require-hashes -r constraints-runtime.txt
	@cd out/arm64 && echo "$$(ls *aarch64.whl | wc -l) wheels for aarch64, $$(ls *-any.whl | wc -l) of pure Python"

simulate: $(STAMP)  ## Run the scaler under simulated faults, on two processors (SEEDS=0..1000)
	$(BIN)/python -m tests.simulation --processes 2 --seeds $(SEEDS)

texts: $(STAMP)  ## List all texts that the programs show people, with file and line
	@$(BIN)/python -m testbed.user_facing_texts

soak: assets  ## Run simulations, comparisons and properties with new seeds (UNTIL=07:30 or SECONDS=7200; ONLY=simulation)
	$(BIN)/python -m testbed.soak $(if $(UNTIL),--until $(UNTIL),--seconds $(SECONDS)) $(foreach name,$(ONLY),--only $(name))

model: $(STAMP)  ## Check the model of the sharing protocol exhaustively with TLC; needs Java (nine minutes on two cores)
	$(BIN)/python -m testbed.protocol_model

mutants: $(STAMP)  ## Put small mistakes into the code, which tests must find (PACKAGES="shards proof"; default: all)
	$(BIN)/python -m testbed.mutants $(PACKAGES)

check: $(STAMP)  ## Check formatting, lint, strict types, import contracts, unit and style tests, and the documentation site (four minutes on two cores)
	@$(MAKE) --no-print-directory --output-sync=target -j2 $(CHECKS)

lint: $(STAMP)  ## Check formatting, lint, strict types and import contracts
	$(BIN)/ruff format --check --quiet $(SOURCES)
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(STAMP)  ## Run unit tests and style tests
	@$(MAKE) --no-print-directory --output-sync=target -j2 unit-scaler unit-others

# Half of the processor time each. Two processes of one pytest would each import all of the modules.
unit-scaler: $(STAMP)
	$(BIN)/python -m pytest -q --junitxml=out/junit/$@.xml tests/unit/scaler

unit-others: $(STAMP)
	$(GO_PROGRAMS) $(BIN)/python -m pytest -q --junitxml=out/junit/$@.xml --ignore=tests/unit/scaler tests/unit tests/tidy tests/conformance/scaler_protocol

site: $(STAMP)  ## Build the documentation site into out/site; fails on a broken link
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(STAMP)  ## Format the source code
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix --quiet $(SOURCES)

bench: assets  ## Compare performance with prometheus-adapter and kube-controller-manager (about 45 minutes)
	$(BIN)/python -m benchmarks

wheel: $(STAMP)  ## Build the wheel of the plugin and of both programs into out/wheel
	@rm -rf out/wheel
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir out/wheel .
	@ls out/wheel

constraints: $(STAMP)  ## Update the pinned versions and hashes of all dependencies
	$(BIN)/uv pip compile $(PIN) --all-extras pyproject.toml -o constraints.txt
	$(BIN)/uv pip compile $(PIN) --constraints constraints.txt pyproject.toml -o constraints-runtime.txt

clean:  ## Remove the virtual environment and build output
	rm -rf $(VENV) out build dist *.egg-info
