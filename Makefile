# Each target sets up what it needs: a fresh clone, Python 3.11 and make are enough.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test test-long bench real worlds table lint clean

demo: $(READY)
	$(BIN)/tmapr demo --out runs/demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-long: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "long or not long"

bench: $(READY)
	$(BIN)/python benchmarks/update.py
	$(BIN)/python benchmarks/image.py
	$(BIN)/python benchmarks/perception.py
	$(BIN)/python benchmarks/check.py
	$(BIN)/python benchmarks/bag.py
	$(BIN)/python benchmarks/render.py
	$(BIN)/python benchmarks/training.py

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

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv runs
