# Each target sets up what it needs: a fresh clone, Python 3.11 and make are enough.
PYTHON ?= python3
BIN := .venv/bin
SHOWN := .venv/ready-for-demo
READY := .venv/ready

.PHONY: demo test test-long net bench real worlds table paper lint audit pins clean

demo: $(SHOWN)
	$(BIN)/tmapr demo --out runs/demo

# Files come in the order of `testpaths`, the slow ones first: at the end no worker waits for the other.
test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-long: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --hypothesis-profile=thorough tests/long tests/system tests/unit

# Before and after a change of the inside: the budget, the same results, bugs that tests must notice, and coverage of all tests.
net: $(READY)
	$(BIN)/python benchmarks/house.py
	$(BIN)/python benchmarks/same_results.py
	$(BIN)/python benchmarks/mutants.py --workers 2
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/long tests/system tests/unit
	$(BIN)/python benchmarks/coverage_by_package.py

bench: $(READY)
	$(BIN)/python benchmarks/update.py
	$(BIN)/python benchmarks/image.py
	$(BIN)/python benchmarks/perception.py
	$(BIN)/python benchmarks/check.py
	$(BIN)/python benchmarks/render.py

real: $(READY)
	$(BIN)/python benchmarks/real_images.py
	$(BIN)/python benchmarks/real_descriptors.py

worlds: $(READY)
	$(BIN)/python benchmarks/descriptor.py

FAMILIES := campus city valley
LAPS := noon,dusk,rain,overcast,night

table: $(READY) $(FAMILIES:%=data/rendered-%/experiment.toml)
	$(BIN)/tmapr compare $(FAMILIES:%=experiments/rendered-%.toml)

data/rendered-%/experiment.toml: | $(READY)
	$(BIN)/tmapr simulate data/rendered-$* --layout ms2 --family $* --seed 1 --traverses $(LAPS) --frames 600

# The paper's experiments on its own data, DATA with ms2/ and sthereo/ or either, and its tables beside ours. What is
# missing is told first; interrupted, it goes on. Days without a GPU. RUNS, WEIGHTS and OPTIONS are as in the file.
paper: $(READY)
	$(BIN)/python benchmarks/paper.py "$(DATA)" $(if $(RUNS),--runs "$(RUNS)") $(if $(WEIGHTS),--weights "$(WEIGHTS)") $(OPTIONS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Versions with hashes hold where they were found: Linux on x86-64 and Python 3.11. Elsewhere the ranges of pyproject.toml
# do. Torch goes by its version, since its builds differ from index to index and pip checks hashes of all or of none.
HERE := $(shell $(PYTHON) -c 'import platform as p; print(p.system(), p.machine(), *p.python_version_tuple()[:2], sep="-")')
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-cache-dir
PINNED := $(INSTALL) --no-deps --require-hashes --requirement
TORCH := $(shell sed -n 's/.*"\(torch==[^"]*\)".*/\1/p' pyproject.toml)

$(SHOWN): pyproject.toml requirements/demo.txt
	@echo "setting up .venv: 200 MB to download, 700 MB on disk"
	$(PYTHON) -m venv .venv
ifeq ($(HERE),Linux-x86_64-3-11)
	$(PINNED) requirements/demo.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
else
	$(INSTALL) --editable .
endif
	$(BIN)/python -m pip check
	touch $@

$(READY): requirements/test.txt $(SHOWN)
	@echo "setting up .venv for tests, training and studies: about 2 GB of packages, some minutes"
ifeq ($(HERE),Linux-x86_64-3-11)
	$(PINNED) requirements/test.txt
	$(INSTALL) $(TORCH)
else
	$(INSTALL) --editable '.[dev]'
endif
	$(BIN)/python -m pip check
	touch $@

# Licences of what is installed, and known vulnerabilities where an index answers.
audit: $(READY)
	$(BIN)/python -m pytest tests/long/test_licences.py
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	build/audit/bin/python requirements/audit.py

# Find the versions anew, after pyproject.toml changed. No address of an index is written.
COMPILE := build/pins/bin/pip-compile --quiet --generate-hashes --no-header --no-annotate --strip-extras --no-emit-index-url \
  --no-emit-trusted-host --no-emit-find-links --unsafe-package torch --build-deps-for editable pyproject.toml

pins:
	$(PYTHON) -m venv build/pins
	build/pins/bin/python -m pip install --quiet --disable-pip-version-check pip-tools
	$(COMPILE) --output-file requirements/demo.txt
	$(COMPILE) --extra dev --constraint requirements/demo.txt --output-file requirements/test.txt

clean:
	rm -rf .venv runs
