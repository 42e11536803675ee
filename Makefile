# `make demo` and `make test` need Python 3.11 or newer and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# mypy wants the folders below the one name they install under; links show it that.
TYPECHECK := .typecheck
FOLDERS := instances models solvers experiments

.PHONY: demo test lint bench results readme docs clean

demo: $(READY)
	"$(BIN)/kanopy" demo

test: $(READY)
	"$(BIN)/kanopy" compile
	"$(BIN)/python" -m pytest -n 2 --dist worksteal

lint: $(READY)
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	rm -rf $(TYPECHECK) && mkdir -p $(TYPECHECK)/kanopy
	cd $(TYPECHECK)/kanopy && for f in ../../kanopy/* $(addprefix ../../,$(FOLDERS)); do ln -s "$$f" .; done
	cd $(TYPECHECK) && "../$(BIN)/mypy" --config-file ../pyproject.toml --cache-dir ../.mypy_cache -p kanopy

# Speeds, then proofs beside the papers: the quick ones, or with FULL=1 all, hours that can be resumed.
bench: $(READY)
	@missed=0; \
	"$(BIN)/python" -m kanopy.experiments.benchmarks || missed=1; \
	"$(BIN)/python" -m kanopy.experiments.bench_branch_and_price $(if $(FULL),--full --out proofs.csv) || missed=1; \
	exit $$missed

# The full runs of the catalogue, the cheapest first: minutes to days, to be stopped and resumed at will.
results: $(READY)
	"$(BIN)/python" -m kanopy.experiments.full

# Put the table of methods and the demo's picture into the README.
readme: $(READY)
	"$(BIN)/python" -m kanopy.experiments.readme

# The documentation as site/index.html, which needs no server and no network.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 "$(BIN)/python" -m mkdocs build --strict --quiet

# The stamp is newer than pyproject.toml exactly when everything it names is installed.
$(READY): pyproject.toml
	"$(PYTHON)" -c "import sys; sys.exit(sys.version_info < (3, 11) and 'kanopy needs Python 3.11 or newer')"
	"$(PYTHON)" -m venv "$(VENV)"
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch "$(READY)"

clean:
	rm -rf $(VENV) $(TYPECHECK) build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache
