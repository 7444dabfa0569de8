# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_OUT ?= demo_tables
TWO := -n 2 --dist loadfile # two processes, each with an engine of its own

.PHONY: demo test quick long mutants simulations fuzz soak matrix bench check format sample docs site dist lock audit clean

demo: $(VENV)/.demo ## evaluate the sample data on the embedded engine (no Java)
	$(BIN)/ndcg-spark demo --engine sail --out $(DEMO_OUT)

test: $(VENV)/.dev ## all tests but the `long` ones: kernels, the three engines, spark-submit, a browser
	tools/ensure_browser.sh
	JAVA_HOME=$$(tools/ensure_java.sh $(BIN)/python) && export JAVA_HOME && \
	$(BIN)/python -m pytest -q $(TWO) && \
	$(BIN)/python -m pytest -q $(TWO) --engine spark -m every_engine && \
	$(BIN)/python -m pytest -q --engine connect tests/engine/test_engines.py tests/evaluation/test_summaries.py

quick: $(VENV)/.dev ## the tests that need no engine, in half a minute
	$(BIN)/python -m pytest -q -m "not spark and not slow"

mutants: $(VENV)/.dev ## break the numbers on purpose: which breaks do the tests not notice? (half an hour)
	$(BIN)/python tools/mutants.py $(MUTANTS)

simulations: $(VENV)/.dev ## what intervals, tests and verdicts promise, against simulated data (minutes)
	$(BIN)/python -m tools.simulations $(SIMULATIONS)

fuzz: $(VENV)/.dev ## ten million random names, texts and configurations (an hour; FUZZ="0.1" for fewer)
	$(BIN)/python -m tools.fuzz $(or $(FUZZ),10)

soak: $(VENV)/.dev ## 200 nights with kills at any moment, against one clean run (half an hour)
	$(BIN)/python -m tools.soak $(SOAK)

matrix: ## the end-to-end tests on every supported line of Spark (an hour; MATRIX="3.5 4.0" for some)
	$(PYTHON) -m tools.matrix $(MATRIX)

bench: $(VENV)/.bench ## all benchmarks against the peers; BENCH="--rows 2_000_000" for a small one
	JAVA_HOME=$$(tools/ensure_java.sh $(BIN)/python) $(BIN)/python -m benchmarks $(BENCH)

check: $(VENV)/.dev ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

sample: $(VENV)/.dev ## make the sample data anew (seeded: the same files)
	$(BIN)/python tools/make_sample.py

docs: $(VENV)/.dev ## the references of measures, errors, commands and Python
	$(BIN)/python tools/make_docs.py

site: $(VENV)/.dev ## docs/ as a site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict

long: $(VENV)/.dev ## the tests of minutes: faults on a cluster, what is shipped
	JAVA_HOME=$$(tools/ensure_java.sh $(BIN)/python) && export JAVA_HOME && \
	$(BIN)/python -m pytest -q -m long

dist: $(VENV)/.dev ## wheel, source archive, and the zip for `spark-submit --py-files` with the jobs
	$(BIN)/python -m build -q --no-isolation --outdir dist
	$(BIN)/python tools/make_zip.py dist

lock: $(VENV)/.dev ## dev.lock anew: the versions that development and CI install
	$(BIN)/uv pip compile -q pyproject.toml --extra dev --extra bench --universal --upgrade \
	    --python-version 3.11 --no-annotate --custom-compile-command 'make lock' -o dev.lock

audit: $(VENV)/.dev ## known weaknesses in what dev.lock names (asks PyPI's advisory database)
	$(BIN)/pip-audit --strict --disable-pip --no-deps -r dev.lock

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[sail]'
	touch $@

$(VENV)/.dev: $(VENV)/.venv pyproject.toml dev.lock
	$(BIN)/python -m pip install -q -c dev.lock -e '.[dev]'
	$(BIN)/python -m pip install -q --no-deps recommenders==1.2.1 # its evaluation needs pandas and scikit-learn only
	touch $@ $(VENV)/.demo

$(VENV)/.bench: $(VENV)/.venv pyproject.toml dev.lock
	$(BIN)/python -m pip install -q -c dev.lock -e '.[bench]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) .matrix bench_data dist build .pytest_cache .mypy_cache .ruff_cache *.egg-info $(DEMO_OUT)
