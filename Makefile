# kprof needs Python 3.10 or newer and make; everything it installs goes into .venv.
#
#   make demo                 make test PYTEST_ARGS="-k roofline -x"
#   make demo PYTHON=python3.12

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
# Two at a time: reading a report starts processes of its own, more would only wait for each other.
PYTEST_JOBS ?= 2
PYTEST_ARGS ?=

INSTALLED := $(VENV)/.kprof-installed
TEST_NEEDS := $(VENV)/.kprof-test-needs
# A Python with torch beside kprof's own, as the programs have that kprof runs.
TORCH := $(VENV)/torch
TORCH_NEEDS := $(VENV)/.kprof-torch

# A Python that was upgraded away, or a checkout that was moved, leaves an environment behind that
# points nowhere: set it up again.
$(shell test -x $(PY) && test "$$(cat $(VENV)/.kprof-here 2>/dev/null)" = "$(CURDIR)" || \
  rm -f $(VENV)/.kprof-*)

.DEFAULT_GOAL := help
.PHONY: help demo test mutate lint format docs bench clean
.DELETE_ON_ERROR:

help: ## Show what make can do here.
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-13s %s\n", $$1, $$2}'

demo: $(INSTALLED) ## Install kprof into .venv, diagnose a sample kernel, print the report's path.
	@$(PY) -m kprof demo

test: $(TEST_NEEDS) $(TORCH_NEEDS) ## Run every test, lint and type checks among them.
	@$(PY) -m pytest -n $(PYTEST_JOBS) --dist loadfile $(PYTEST_ARGS)

mutate: $(TEST_NEEDS) ## Change thresholds and remove guards of the rules; list what no test notices.
	@$(PY) scripts/mutate_rules.py $(RULES)

lint: $(TEST_NEEDS) ## Run the linter, the format check and the type checker alone.
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy

format: $(TEST_NEEDS) ## Format the code and apply the linter's safe fixes.
	@$(PY) -m ruff check --fix
	@$(PY) -m ruff format

docs: $(TEST_NEEDS) ## Bring the generated parts of docs/ and the JSON Schema up to date.
	@$(PY) -m kprof.schema
	@$(PY) scripts/generate_docs.py
	@$(PY) -m scripts.operator_pages

bench: $(TEST_NEEDS) ## Measure the promised numbers; REPORT=FILE reads that report.
	@$(PY) benchmarks/help_time.py
ifdef REPORT
	@$(PY) benchmarks/read_speed.py "$(REPORT)"
	@$(PY) benchmarks/rules_speed.py "$(REPORT)"
else
	@echo "reading speed not measured: make bench REPORT=FILE.ncu-rep (the larger, the better)"
endif
	@if command -v ncu >/dev/null; then $(PY) benchmarks/profile_overhead.py; \
	  else echo "cost of profiling not measured: no ncu on PATH"; fi

clean: ## Remove what was installed and built here.
	rm -rf $(VENV) build dist htmlcov .coverage .mypy_cache .pytest_cache .ruff_cache *.egg-info
	find kprof rules reports sample_kernels tests benchmarks scripts -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.kprof-here:
	@scripts/create_venv.sh $(VENV) "$(PYTHON)"
	@echo "$(CURDIR)" > $@

$(INSTALLED): pyproject.toml $(VENV)/.kprof-here
	@echo "Installing kprof into $(VENV)" >&2
	@$(PIP) install --quiet --editable .
	@touch $@

# pip can read dependency groups since 25.1.
$(TEST_NEEDS): pyproject.toml $(INSTALLED)
	@echo "Installing what the tests need into $(VENV)" >&2
	@$(PIP) install --quiet --upgrade 'pip>=25.1'
	@$(PIP) install --quiet --group dev
	@touch $@

# Wished for: without it the tests that run torch skip.
$(TORCH_NEEDS): | $(INSTALLED)
	@echo "Installing torch into $(TORCH)" >&2
	@$(PY) -m venv --clear $(TORCH) && \
	  $(TORCH)/bin/python -m pip --disable-pip-version-check install --quiet torch==2.13.0 numpy || \
	  echo "torch cannot be installed: its tests will skip" >&2
	@touch $@
