PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# none, as it is empty: what one process of the tests compiles is there for the others
export PYTHONDONTWRITEBYTECODE :=

.PHONY: solve figures docs tutorials test test-browser test-full test-lowest test-tutorials test-dist dist lint format check bench bench-full clean

solve: $(STAMP)-run
	$(BIN)/dxopt batch problems --output results --force

figures: $(STAMP)-figures
	$(BIN)/python -m problems.gallery.figures
	$(BIN)/python -m problems.cabp13.figures --output figures
	$(BIN)/python -m problems.ecp14.figures --output figures
	$(BIN)/python -m problems.traces.evaluation --output figures
	$(BIN)/python -m docs.website.figures

docs: $(STAMP)-docs
	$(BIN)/python -m docs.website

tutorials: $(STAMP)-tutorials
	$(BIN)/python -m docs.tutorials

test: $(STAMP)-test
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-full: $(STAMP)-test
	$(BIN)/python -m pytest -n 3 --dist worksteal -m full

test-browser: $(STAMP)-browser
	$(BIN)/python -m pytest tests/browser tests/whole/test_website.py

test-tutorials: $(STAMP)-tutorials
	$(BIN)/python -m docs.tutorials --check

lint: $(STAMP)-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	.venv-lowest/bin/python -m pytest -n 2 --dist worksteal

dist: $(STAMP)-dist
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .

test-dist: dist
	$(BIN)/python .ci/test_dist.py dist

format: $(STAMP)-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: test lint

bench: $(STAMP)-bench
	$(BIN)/python -m benchmarks --repeat 1 --limit 20

bench-full: $(STAMP)-bench
	$(BIN)/python -m benchmarks --group full $(if $(GOWALLA),--gowalla $(GOWALLA))

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP)-run: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[solve]'
	$(BIN)/dxopt warm-up
	touch $@

# the extras of a stamp: those of its own name, where no others are listed here
EXTRAS_browser := test,browser,docs
EXTRAS_figures := frames,geo,solve
EXTRAS_lint := test,lint,data,browser,docs,tutorials

$(STAMP)-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(or $(EXTRAS_$*),$*)]'
	touch $@

clean:
	rm -rf $(VENV) .venv-lowest results figures site build dist dxopt.egg-info
