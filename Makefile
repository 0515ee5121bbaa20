# Each target makes its own virtual environment the first time: with uv where there is one, else with venv and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
COMPILED := $(VENV)/.compiled

.DEFAULT_GOAL := help
.PHONY: help demo test test-pythons bottle bottle-mutations words reference check lint fix bench wheels binary image \
	binary-test install release release-index image-push image-index docs docs-version clean

help: ## show what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

TEMPLATE := config/plugin-template
# The scheduler, and its wings: the embedded cluster and the lab.
PACKAGES := . vsched/sim vsched/lab
EDITABLE := $(addprefix --editable ,$(PACKAGES) $(TEMPLATE))

$(STAMP): $(addsuffix /pyproject.toml,$(PACKAGES) $(TEMPLATE))
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python '>=3.11' $(VENV) && \
		uv pip install --quiet --python $(BIN)/python $(EDITABLE) --group dev; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
		$(BIN)/python -m pip install --quiet $(EDITABLE) --group dev; \
	fi
	@touch $@

demo: $(STAMP) ## an embedded cluster, the daemon and gangs of several teams, live, for about 20 seconds
	@$(BIN)/vsched demo --config $(TEMPLATE)/demo.yaml $(ARGS)

# Tests run in several processes and start hundreds more, and each would compile what it imports, were it not kept.
test: $(COMPILED) ## all tests
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal $(ARGS)

PURE := tests/model tests/kernels tests/actions tests/test_samples.py

test-pythons: $(STAMP) ## tests of decisions with each Python from 3.11 to 3.14 that is on this machine
	@helm/release/pythons $(or $(ARGS),$(PURE))

bottle: $(STAMP) ## daemons and a cluster on virtual time from SEEDS=20 seeds, with all that may go wrong
	@$(BIN)/vsched soak --virtual --seeds $(or $(SEEDS),20) --seed $(or $(SEED),1) --minutes 1 --daemons 2 --nodes 8 \
		--pods-per-minute 60 --faults config/bottle.yaml $(ARGS)

bottle-mutations: $(STAMP) ## small wrong changes to the daemon, and how many bottles it takes to find each
	@$(BIN)/python -m tests.support.mutations $(ARGS)

words: $(STAMP) ## all sentences for people, with their places (ARGS: those that match)
	@$(BIN)/python -m tests.support.sentences $(ARGS)

reference: $(STAMP) ## config/reference, made from the definitions and the figures
	@$(BIN)/python -m tests.support.reference

# Once, for all of them. What cannot be compiled the tests themselves say.
$(COMPILED): $(STAMP)
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q -j 0 vsched || true
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -q --collect-only >/dev/null || true
	@touch $@

check: lint test ## the whole gate: format, lint, types, floors, tests

lint: $(STAMP) ## format, lint, types and floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(STAMP) ## format and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## measure the decision core on this machine
	@$(BIN)/vsched bench $(ARGS)

wheels: $(STAMP) ## dist/*.whl: vsched, vsched_cluster and vsched_lab
	@for each in $(PACKAGES); do (cd $$each && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/dist) || exit; done

BUILD := build/python

binary: ## dist/vsched, the scheduler in one file that needs no Python where it runs, and dist/image, the same unpacked
	$(PYTHON) -m venv --clear $(BUILD)
	$(BUILD)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BUILD)/bin/python -m pip install --quiet . --group binary
	rm -rf dist/vsched dist/image
	$(BUILD)/bin/pyinstaller --noconfirm --log-level ERROR --workpath build/pyinstaller --distpath dist helm/image/vsched.spec
	@ls -sh dist/vsched

DOCKER ?= docker
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' vsched/__init__.py)
IMAGE ?= vsched:$(shell sed -n 's/^appVersion: *"\{0,1\}\([^"]*\)"\{0,1\}/\1/p' helm/vsched/Chart.yaml)

# The base of the image; with its digest, it is the same wherever the image is built.
BASE ?= $(shell sed -n 's/^ARG BASE=//p' helm/image/Dockerfile)

image: binary ## the image that the chart names by default, by docker (DOCKER=podman, IMAGE=..., BASE=...@sha256:...)
	$(DOCKER) build -f helm/image/Dockerfile --build-arg BASE=$(BASE) -t $(IMAGE) dist

binary-test: $(STAMP) ## whether dist/vsched and dist/image are whole
	helm/image/smoke dist/vsched $(BIN)/vsched
	helm/image/smoke dist/image/vsched $(BIN)/vsched

RELEASING := build/release/.installed
RELEASE = $(dir $(RELEASING))bin/python -m helm.release $(if $(REPOSITORY),--repository $(REPOSITORY)) $(if $(SIGN),--sign $(SIGN))

$(RELEASING): pyproject.toml
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(@D)/bin/python -m pip install --quiet --group release
	@touch $@

release: binary binary-test $(RELEASING) ## dist/release: packages, executable, SBOMs, checksums, provenance (REPOSITORY=https://..., SIGN=gpg:KEY)
	@$(RELEASE)

release-index: $(RELEASING) ## describes and signs what is in dist/release, files of other machines included
	@$(RELEASE) --index-only

image-push: ## pushes the image of this platform as IMAGE with -amd64 or -arm64 after it, from dist/image, by docker buildx
	@DOCKER=$(DOCKER) helm/release/image push $(IMAGE)

image-index: ## pushes IMAGE for all PLATFORMS (amd64 arm64) that image-push has pushed
	@DOCKER=$(DOCKER) helm/release/image index $(IMAGE) $(or $(PLATFORMS),amd64 arm64)

DOCS := build/docs/.installed

$(DOCS): pyproject.toml
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(@D)/bin/python -m pip install --quiet --group docs
	@touch $@

docs: $(DOCS) ## dist/docs: all pages as a site; a broken link is an error
	@$(dir $(DOCS))bin/python -m helm.release.pages build/pages
	@NO_MKDOCS_2_WARNING=1 $(dir $(DOCS))bin/mkdocs build --strict -f build/pages/mkdocs.yml -d $(CURDIR)/dist/docs

docs-version: docs ## commits the site to the branch "pages" as the one of this version, beside those of others
	@cd build/pages && PATH=$(CURDIR)/$(dir $(DOCS))bin:$$PATH mike deploy -b pages --update-aliases $(VERSION) latest

DESTDIR ?=
PROGRAM ?= dist/vsched

install: ## PROGRAM (dist/vsched), its names as a plugin of kubectl, and what systemd needs, under DESTDIR
	install -D -m 755 $(PROGRAM) $(DESTDIR)/usr/bin/vsched
	ln -sf vsched $(DESTDIR)/usr/bin/kubectl-vsched
	ln -sf vsched $(DESTDIR)/usr/bin/kubectl_complete-vsched
	install -D -m 644 systemd/vsched.service $(DESTDIR)/usr/lib/systemd/system/vsched.service
	install -D -m 644 systemd/vsched.sysusers $(DESTDIR)/usr/lib/sysusers.d/vsched.conf
	install -D -m 644 systemd/vsched.tmpfiles $(DESTDIR)/usr/lib/tmpfiles.d/vsched.conf
	test -e $(DESTDIR)/etc/vsched/environment || install -D -m 640 systemd/environment $(DESTDIR)/etc/vsched/environment

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build
