# The lock is the only list that is installed from; see CONTRIBUTING.md.
PYTHON ?= python3
PORT ?= 8888
ARGS ?=
UV_VERSION := 0.13.8

VENV := .venv
BIN := $(VENV)/bin
STYLE := $(BIN)/ruff check . && $(BIN)/ty check --python $(VENV)
PYTEST = $(BIN)/python -m compileall -q hawb tests/given && PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses=2 --dist=loadscope \
  --no-loadscope-reorder --max-worker-restart=0 --override-ini=faulthandler_timeout=600 --durations=20
BY_HASH := --quiet --require-hashes --no-deps
STUDIES := $(basename $(notdir $(wildcard data/studies/results/*.json)))
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))

.DEFAULT_GOAL := help
.PHONY: help setup lab app learner site docs check test test-full test-broker test-long attack pictures bench studies dist lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/installed ## make .venv with hawb and everything it needs

lab: setup build/trusted ## open the lab in JupyterLab (PORT=8888, ARGS=--no-browser)
	$(BIN)/jupyter-lab --ip=127.0.0.1 --port=$(PORT) --allow-root --ServerApp.root_dir=notebooks \
	  --LabApp.default_url=/doc/tree/00-lab.ipynb $(ARGS)

app: setup ## the lab as a page without code; open the address that it prints (PORT=8888)
	cd notebooks && JUPYTER_PATH=$(CURDIR)/hawb/lab/jupyter ../$(BIN)/voila --template=hawb --port=$(PORT) $(ARGS) 00-lab.ipynb

learner: setup ## the lessons without solutions, into build/learner
	$(BIN)/python -m hawb.lessons.learner build/learner $(NOTEBOOKS)

site: setup build/runtime/installed ## every story as a page to be watched, and the lab in a browser, into build/site
	$(BIN)/python -m hawb.site build/site --runtime build/runtime

docs: setup build/sphinx/installed ## tutorial, how-tos and reference, into build/docs; open its index.html
	$(BIN)/python -m hawb.docs build/docs-pages
	build/sphinx/bin/sphinx-build -q -E -W --keep-going -d build/docs-pages/.doctrees build/docs-pages build/docs
	@echo build/docs/index.html

# JupyterLab shows no SVG of a notebook that is not trusted, nor what a script would draw.
build/trusted: $(NOTEBOOKS) | setup
	@mkdir -p build
	@$(BIN)/jupyter-trust $? >/dev/null
	@touch $@

check: setup ## style, types and the tests of what changed, without Spark, browsers and notebooks
	$(STYLE)
	$(BIN)/python tests/given/changed_tests.py $(ARGS)

# A file, or a notebook, is played by one process from its first test to its last, in the order of tests/conftest.py. A
# process that hangs or crashes ends the run, with the name of its test: pytest-xdist would wait for it for ever.
# Hundreds of processes import hawb, and mutants have it imported anew: so it is there as bytecode before, also where
# PYTHONDONTWRITEBYTECODE says that none of them is to keep it.
test: setup ## style, types, tests and every notebook (ARGS="-k policy")
	$(STYLE)
	export HAWB_ANSWERS=$(CURDIR)/build/answers.json; $(PYTEST) -m "not full" --nbval --nbval-current-env $(ARGS) tests $(NOTEBOOKS)

test-full: setup ## what `make test` leaves out: pictures, the wheel, Spark clusters, documentation, mutants, larger samples
	$(PYTEST) -m full $(ARGS) tests

test-broker: setup ## scenarios on a real RabbitMQ cluster, as root
	HAWB_BROKER=1 $(BIN)/pytest -m broker $(ARGS) tests

test-long: setup ## every test but those of real brokers, with the property tests at their full counts
	HAWB_LONG=1 $(BIN)/pytest $(ARGS) tests

attack: setup ## try all commands with inputs changed at random (ARGS="--seconds 3600")
	$(BIN)/python tests/attack/attack.py $(ARGS)

pictures: setup ## take the kept pictures of lab, reports and lessons anew, and PNG beside SVG in notebooks
	$(BIN)/python tests/given/notebook_pictures.py $(NOTEBOOKS)
	HAWB_PICTURES=renew $(BIN)/pytest $(ARGS) -k "test_looks or without_code" tests/house/test_looks.py \
	  tests/lab/test_page_app_browser.py

bench: setup ## measure speed
	$(BIN)/python -m benchmarks $(ARGS)

studies: setup $(STUDIES:%=study-%) ## play the larger studies anew, and keep what they come to (minutes)

study-%: setup
	rm -rf build/studies/$*
	$(BIN)/hawb study data/studies/$*.yaml --output build/studies/$* --keep data/studies/results/$*.json

# From what is locked, without a network, and the same bytes each time (tests/house/test_wheel.py).
dist: setup ## the wheel and the sdist of a release, into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist

lock: build/uv/installed ## write both locks anew, keeping their pins (ARGS=--upgrade to renew them)
	build/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group build --generate-hashes \
	  --no-annotate --no-emit-index-url --no-header $(ARGS) --output-file requirements.lock pyproject.toml
	build/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-emit-index-url --no-header $(ARGS) --output-file hawb/docs/builder/requirements.txt hawb/docs/builder/requirements.in

clean: ## remove .venv and everything else that was generated
	rm -rf $(VENV) build dist .hypothesis .pytest_cache .ruff_cache
	find . -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

# A changed lock starts from an empty environment, so that nothing outside the lock survives in it, and each file that
# is installed has a hash in the lock. setuptools comes first: pip builds pyspark with it, and fetches no other.
$(VENV)/locked: requirements.lock
	@$(call require_python)
	$(PYTHON) -m venv --clear $(VENV)
	sed -n '/^setuptools==/,/[^\\]$$/p' requirements.lock | $(BIN)/pip install $(BY_HASH) --requirement /dev/stdin
	$(BIN)/pip install $(BY_HASH) --no-build-isolation --use-pep517 --requirement requirements.lock
	touch $@

# JupyterLab would ask, over the first page of the lab, whether it may fetch its news; and Voilà serves the app alone.
$(VENV)/installed: pyproject.toml $(VENV)/locked
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/pip check
	$(BIN)/jupyter-labextension disable --log-level=ERROR @jupyterlab/apputils-extension:announcements \
	  @voila-dashboards/jupyterlab-preview
	$(BIN)/jupyter-server extension disable --sys-prefix --log-level=ERROR voila.server_extension
	-$(BIN)/python -m hawb.study.class_archive
	touch $@

# What the lab of the site runs on in a browser: from the registries, by the locks beside `hawb.site`. It takes npm.
build/runtime/installed: hawb/site/runtime/package-lock.json hawb/site/runtime/wheels.txt $(VENV)/locked
	@command -v npm >/dev/null || { echo "The lab of the site takes npm, which is not here; stories alone:" \
	  "$(BIN)/python -m hawb.site build/site" >&2; exit 1; }
	rm -rf build/runtime && mkdir -p build/runtime
	cp hawb/site/runtime/package.json hawb/site/runtime/package-lock.json build/runtime
	npm ci --prefix build/runtime --ignore-scripts --no-audit --no-fund
	$(BIN)/pip download $(BY_HASH) --only-binary=:all: --implementation cp --python-version 314 \
	  --abi cp314 --platform pyemscripten_2026_0_wasm32 --dest build/runtime --requirement hawb/site/runtime/wheels.txt
	touch $@

# What builds the documentation, by a lock of its own.
build/sphinx/installed: hawb/docs/builder/requirements.txt
	@$(call require_python)
	$(PYTHON) -m venv --clear build/sphinx
	build/sphinx/bin/pip install $(BY_HASH) --only-binary=:all: --requirement hawb/docs/builder/requirements.txt
	touch $@

build/uv/installed: Makefile
	@$(call require_python)
	$(PYTHON) -m venv --clear build/uv
	build/uv/bin/pip install --quiet uv==$(UV_VERSION)
	touch $@

define require_python
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	  echo "hawb needs Python 3.11, 3.12 or 3.13; $(PYTHON) is: $$($(PYTHON) --version 2>&1)." \
	    "Name another with: make PYTHON=/path/to/python3.13 ..." >&2; exit 1; }; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: its venv module is missing." \
	    "On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
endef
