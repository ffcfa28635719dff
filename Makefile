# `make demo` and `make test` need only python3 (with venv) and make: each sets up .venv with what it uses.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo docs test quick lint bench engines fuzz sanitize wheels clean

# What is compiled into the package: with the system's compiler, or one from the package index, or not at all.
NATIVE := hatch_build.py $(wildcard src/stablebag/learning/solvers/native/*.[ch])

demo: .venv/.demo
	$(BIN)/stablebag demo

# Two halves at once, for two cores: the theorems, statistics and commands run beside the rest, and are shown after it.
LAWS := tests/theorems tests/statistical tests/commands
test: .venv/.test
	@$(BIN)/python -m pytest $(LAWS) > .venv/laws.log 2>&1 & laws=$$!; trap 'kill $$laws' INT TERM; \
	$(BIN)/python -m pytest tests src docs README.md $(LAWS:%=--ignore=%); rooms=$$?; \
	wait $$laws; laws=$$?; cat .venv/laws.log; exit $$((rooms || laws))

# The fast tests of every room, a minute or two: for the working day. tests/conftest.py lists what is left out as slow.
quick: .venv/.test
	$(BIN)/python -m pytest tests -m "not slow"

ENGINES ?= dask,ray,spark
# Bags fitted by dask, ray and Spark, in an environment of their own, which takes a gigabyte. Spark needs Java.
engines: .venv-engines/.engines $(if $(findstring spark,$(ENGINES)),.venv-engines/.spark)
	PYTHONPATH=$(CURDIR)/src STABLEBAG_ENGINES=$(ENGINES) .venv-engines/bin/python -m pytest tests/engines

lint: .venv/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.bench
	$(BIN)/python -m pytest benchmarks --benchmark-columns=min,median,rounds --ratios=benchmarks/measured.json
	$(BIN)/python benchmarks/how_fast.py

# Trees of random tables beside scikit-learn's, byte for byte: N of them, from number FIRST on.
N ?= 20000
FIRST ?= 0
CASES := tests/learning/solvers/tree_cases.py
fuzz: .venv/.project
	$(BIN)/python $(CASES) $(N) $(FIRST)

# The same by a library that stops at the first address or number that it must not use; for gcc.
SANITIZED := -O1 -g -std=c11 -shared -fPIC -ffp-contract=off -fvisibility=hidden \
	-fsanitize=address,undefined -fno-sanitize-recover=all
sanitize: build/sanitized.so .venv/.project
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(gcc -print-file-name=libasan.so):$$(gcc -print-file-name=libubsan.so)" \
	$(BIN)/python $(CASES) $(N) $(FIRST) $<

build/sanitized.so: $(NATIVE)
	mkdir -p build
	gcc $(SANITIZED) $(filter %.c,$^) -o $@ -lm

# A wheel for each platform, one for all others, and the source distribution.
wheels: .venv/.wheels
	rm -rf dist
	$(BIN)/python hatch_build.py dist

# The site, in docs/_build/html. A warning is an error. STABLEBAG_QUICK=1 has the long examples draw fewer bags.
docs: .venv/.docs
	rm -rf docs/_build docs/api docs/auto_examples docs/project
	$(BIN)/python -m sphinx -b html -W --keep-going -q -j 2 docs docs/_build/html
	@echo "The site is in docs/_build/html: open index.html there."

clean:
	rm -rf docs/_build docs/api docs/auto_examples docs/project
	rm -rf .venv .venv-engines build dist src/stablebag/learning/solvers/native/_native.*

# One stamp per purpose: a second run installs nothing until pyproject.toml or a C file changes.
.venv/.pip:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'  # the first that reads dependency groups
	touch $@

.venv/.project: pyproject.toml $(NATIVE) | .venv/.pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.demo: pyproject.toml $(NATIVE) | .venv/.pip
	$(BIN)/python -m pip install --quiet --editable '.[cli,report]'
	touch $@

.venv/.%: pyproject.toml | .venv/.project
	$(BIN)/python -m pip install --quiet --editable . --group $*
	touch $@

.venv-engines/.pip:
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	touch $@

.venv-engines/.%: pyproject.toml | .venv-engines/.pip
	.venv-engines/bin/python -m pip install --quiet --group $*
	touch $@
