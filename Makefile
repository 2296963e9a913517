# Every command sets up what it needs: a virtual environment in .venv/ with the locked dependencies.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
RUN := .venv/bin/python
TESTS ?= tests
WORKERS ?= 2
# The tests start some hundreds of programs: compiled once, not by each of them, whatever this shell says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-quick fuzz soak soak-tests soak-queries soak-faults check format bench lock setup clean

setup:
	@$(PYTHON) tools/bootstrap.py

demo: setup  ## the main job, end to end
	@$(RUN) -m demo

test: setup  ## every test, at most 15 minutes on 2 cores
	@$(RUN) -m pytest $(TESTS) -n $(WORKERS) --dist worksteal -q

test-quick: setup  ## something of every room, at most 2 minutes: what tests/quick.txt lists
	@$(RUN) -m pytest @tests/quick.txt -n $(WORKERS) --dist worksteal -q

fuzz: setup  ## new random programs for both languages, one minute
	@$(RUN) tools/fuzz.py --seconds 60

soak: setup  ## random histories of a graph against its model: of many processes, then of one until you stop it
	@PYTHONPATH=tests $(RUN) -m company.soak
	@HYPOTHESIS_PROFILE=soak $(RUN) -m pytest tests/write/test_model.py -q --timeout 0

soak-tests: setup  ## every test at its full size, with many more processes, commits and random cases
	@OMNIGRAPH_TEST_SIZE=full $(RUN) -m pytest $(TESTS) -n $(WORKERS) --dist worksteal -q --timeout 1800

soak-queries: setup  ## random queries over random graphs against the oracle, until you stop it
	@PYTHONPATH=tests $(RUN) -m query.differential.soak

soak-faults: setup  ## every fault at every call of every operation, on disk and on S3; FAULTS="--every 10" for a part
	@status=0; for storage in local s3; do \
	  PYTHONPATH=tests $(RUN) -m faults.soak --storage $$storage $(FAULTS) || status=1; done; exit $$status

check: setup  ## format, lint, types, import contracts
	@$(RUN) -m ruff format --check src tests tools bench demo
	@$(RUN) -m ruff check src tests tools bench demo
	@$(RUN) -m mypy
	@.venv/bin/lint-imports

format: setup  ## rewrite the sources in the house's format
	@$(RUN) -m ruff check --fix -q src tests tools bench demo
	@$(RUN) -m ruff format src tests tools bench demo

bench:  ## every benchmark, beside what it is compared with; BENCH=--quick for a short run
	@$(PYTHON) tools/bootstrap.py --bench
	@$(RUN) -m bench $(BENCH)

lock: setup  ## resolve the dependencies again and write requirements.lock
	@$(RUN) tools/lock.py

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
