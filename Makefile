# Every target sets up .venv by itself: it is made when missing and updated when pyproject.toml or
# constraints.txt changed. Another interpreter: make test PYTHON=python3.12 (after `make clean`).

PYTHON ?= python3
# How pytest runs: -n auto is one process per core, and a core that is done takes over from the others.
PYTEST_ARGS ?= -n auto --dist worksteal

# Parts of `make test-all` that cannot run here: make test-all WITHOUT='test-agents test-browser'
WITHOUT ?=

# In CI no test runs twice: `make test COVERED=yes` measures what it covers, `make test-all COVERED=yes` adds the rest.
COVERED ?=

# The quick tests as on a machine that has no bubblewrap: make unit WITHOUT_BWRAP=yes
WITHOUT_BWRAP ?=

# Of the comparison with other optimizers, or of oracles: make bench-oracles BENCH_ARGS=bfcl
BENCH_ARGS ?=

# Real clients to fetch for their tests, all when empty; CI leaves two out, which are 400 MB and two minutes.
AGENTS ?=

# Of the attacks, some classes or a slice: make test-trust TRUST_ARGS='--quick disk'
TRUST_ARGS ?=

# How versions are pinned: for all systems, with the hashes of all files and the extras that are asked for (without them
# pip 23 takes a newer release and refuses its hash), and without the address they came from.
PINS := --quiet --universal --no-strip-extras --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

# Else every process that a test starts would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

RUN := .venv/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo demo-llm demo-review test test-all test-workflows check format unit coverage simulations wheel-test test-agents test-browser test-oracles \
  .venv/programs test-llm test-trust transcripts bench bench-peers bench-oracles docs constraints audit sbom clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

demo: .venv/installed  ## train the example skill offline and show what it learned
	@$(RUN) -m benchmarks.demo

demo-llm: .venv/installed  ## train a skill for a real language model on this machine: about three minutes, after 1.1 GB
	$(RUN) -m tools.fetch_llm qwen-1.5b
	@$(RUN) -m benchmarks.llm --measure qwen-1.5b --house tickets

demo-review: .venv/installed  ## a night over three skills, offline
	@$(RUN) -m benchmarks.review_demo

test: check unit  ## what to run before a commit: about three minutes on two cores

test-all: $(filter-out $(WITHOUT),test-workflows test-oracles coverage simulations wheel-test test-agents test-browser)  ## all the rest, which CI runs too: a quarter of an hour

check: .venv/installed  ## format, lint, types, layers, house rules
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	.venv/bin/lint-imports --no-logo --no-cache
	$(RUN) -m tools.check_house_rules

format: .venv/installed  ## rewrite the sources to the format that `check` asks for
	$(RUN) -m ruff check --fix --exit-zero --quiet .
	$(RUN) -m ruff format .

unit: .venv/installed $(if $(WITHOUT_BWRAP),.venv/programs)  ## the tests that are quick, and which of them take longest
	$(if $(WITHOUT_BWRAP),PATH="$(CURDIR)/.venv/programs") $(RUN) -m pytest -m 'not (slow or process or docs or agents or browser or llm)' --durations=10 $(PYTEST_ARGS) $(if $(COVERED),--cov --cov-report= --cov-fail-under=0)

coverage: .venv/installed  ## all tests but simulations, agents and browser, with branch coverage and its floor
	$(RUN) -m pytest -m '$(if $(COVERED),(process or docs) and )not (slow or agents or browser or llm)' --durations=30 \
	  --cov --cov-report=$(if $(COVERED),,term-missing) $(if $(COVERED),--cov-append) $(PYTEST_ARGS)

simulations: .venv/installed  ## the tests that draw thousands of runs; coverage would make each three times as long
	$(RUN) -m pytest -m slow --durations=10 $(PYTEST_ARGS)

test-agents: .venv/installed  ## the real agents against loopback models; what checks MCP servers
	$(RUN) -m tools.fetch_agents $(AGENTS)
	$(RUN) -m pytest tests/agents tests/contrib -m agents -n auto --dist worksteal -rP

test-browser: .venv/installed  ## reports in headless Chromium: network, console, hostile text, accessibility, size
	@command -v "$${CHROMIUM:-chromium}" >/dev/null || command -v chromium-browser google-chrome google-chrome-stable >/dev/null || { \
	  echo 'expected Chromium, found none; install it (Debian: apt-get install chromium) or name it: CHROMIUM=/path/to/it' >&2; exit 1; }
	$(RUN) -m tools.fetch_agents axe
	$(RUN) -m pytest tests/browser -rP

test-llm: .venv/installed  ## a skill trained for a real language model, about ten minutes; in neither of the above
	-$(RUN) -m tools.fetch_llm qwen-1.5b
	$(RUN) -m pytest tests/benchmarks/test_llm.py -m llm -rsP

transcripts: .venv/installed  ## rewrite docs/examples/ by sessions in the real Claude Code and Codex
	$(RUN) -m tools.fetch_agents
	WRITE_TRANSCRIPTS=1 $(RUN) -m pytest tests/agents/test_sessions.py

test-trust: .venv/installed  ## attacks, kills, faults and hostile input as one table; ten minutes
	$(RUN) -m benchmarks.trust $(TRUST_ARGS)

test-workflows: .venv/installed  ## schemas of the workflows and actions, and what is unsafe in them
	$(RUN) -m check_jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RUN) -m check_jsonschema --quiet --builtin-schema vendor.github-actions .github/actions/*/action.yml
	.venv/bin/zizmor --offline --quiet --no-progress --persona pedantic .github

test-oracles: .venv/installed  ## a part of the published benchmarks that pip brings, without a model; skipped where it cannot
	@PIP_RETRIES=1 PIP_DEFAULT_TIMEOUT=15 $(RUN) -m benchmarks.published.oracle bfcl --items 67 --skip-offline

wheel-test: .venv/installed  ## build the wheel, install it elsewhere, use it
	$(RUN) -m tools.check_wheel

bench: .venv/installed  ## measure speed, print ratios
	@$(RUN) -m benchmarks.performance

bench-peers: .venv/installed  ## the goals of learning, beside other optimizers in the same simulated worlds
	@$(RUN) -m benchmarks.goals --gepa $(BENCH_ARGS)

bench-oracles: .venv/installed  ## published benchmarks without a model: gold answers pass, others fail
	@$(RUN) -m benchmarks.published.oracle $(BENCH_ARGS)

docs: .venv/installed  ## rewrite the generated parts of docs/
	$(RUN) -m tools.generate_docs
	$(RUN) -m tools.generate_examples

constraints:  ## resolve every pin anew, with hashes: constraints.txt, and requirements.txt for the action
	@rm -rf .venv-pins && $(PYTHON) -m venv .venv-pins
	@.venv-pins/bin/python -m pip --disable-pip-version-check -qq install uv
	@for pinned in 'constraints.txt pyproject.toml --group dev' 'requirements.txt pyproject.toml --group build --extra github' \
	  'tools/audit-requirements.txt --group audit'; do \
	  set -- $$pinned; file=$$1; shift; \
	  .venv-pins/bin/uv pip compile $(PINS) "$$@" --output-file .venv-pins/new || exit 1; \
	  { grep '^# ' $$file; cat .venv-pins/new; } > .venv-pins/whole && mv .venv-pins/whole $$file && rm .venv-pins/new; \
	done
	@rm -rf .venv-pins

audit: .venv-audit/installed  ## known faults of what is pinned; asks the package index, so CI runs it and no test does
	.venv-audit/bin/python -m pip_audit --require-hashes --disable-pip --requirement requirements.txt
	.venv-audit/bin/python -m pip_audit --require-hashes --disable-pip --requirement constraints.txt

sbom: .venv-audit/installed  ## list the parts of a release in dist/, as CycloneDX
	@mkdir -p dist
	.venv-audit/bin/python -m cyclonedx_py requirements requirements.txt --pyproject pyproject.toml --output-reproducible --output-file dist/skillopt-mcp.cdx.json

.venv-audit/installed: tools/audit-requirements.txt
	@$(PYTHON) -m venv --clear .venv-audit
	@.venv-audit/bin/python -m pip --disable-pip-version-check -qq install --require-hashes --requirement $<
	@touch $@

clean:  ## remove all that make and the tools produced
	rm -rf .venv .venv-pins .venv-audit .demo .agents-cache .llm-cache .bench-venvs .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist

# Links to all programs on the PATH but bubblewrap's; the first of a name counts, as on the PATH.
.venv/programs: .venv/installed
	@rm -rf $@ && mkdir $@
	@IFS=:; for folder in $$PATH; do ln -s "$$folder"/* $@ 2>/dev/null; done; rm -f $@/bwrap

# Last of all, so that a set-up that was interrupted is done again.
.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'skillopt needs Python 3.11 or newer, and "$(PYTHON)" is not one; name it: make PYTHON=python3.12 ...' >&2; exit 1; }
	@$(RUN) -m pip --version >/dev/null 2>&1 || { \
	  echo 'Setting up .venv, once: a hundred packages, one to three minutes ...' >&2; $(PYTHON) -m venv --clear .venv; }
	@{ $(RUN) -m pip --disable-pip-version-check install --require-hashes --requirement constraints.txt; echo $$? > .venv/ended; } \
	  | awk '/^Collecting/ { printf "\r%d packages found", ++found } /^Installing/ { printf "; installing them" } \
	    END { if (found) print "" }' >&2; exit $$(cat .venv/ended)
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
