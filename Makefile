# `make demo` and `make test` need only python3 (with venv) and make. Each target installs what it uses in .venv.
PYTHON ?= python3
BIN := .venv/bin

# Settings that would change which OpenBLAS kernels run; tests/kernels.py chooses them itself.
unexport OPENBLAS_CORETYPE OPENBLAS_L2_SIZE NVPL_BLAS_DEBUG_CPU_TYPE

.PHONY: demo docs test proofs lowest compatibility golden lint bench engines fuzz hostile sanitize wheels release clean

# The C files of the package. They are compiled with the system's compiler, with one from the package index, or not at all.
NATIVE := hatch_build.py $(wildcard src/stablebag/fast/native/*.[ch])

demo: .venv/.demo
	$(BIN)/stablebag demo

# Every room, every theorem on its first case, one run of every command, README: less than five minutes on two cores.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
test: .venv/.test
	$(PYTEST) tests src README.md -m "not slow"

# The slow tests, less than fifteen minutes on two cores: all bags of all cases, statistical tests, every wrong argument,
# harmful learners, solvers against scikit-learn, the report in a browser, the code in docs, and the tests of numbers with
# OpenBLAS's kernels for other processors. The site is built meanwhile.
proofs: .venv/.test .venv/.docs
	@STABLEBAG_QUICK=1 $(MAKE) docs > .venv/docs.log 2>&1 & site=$$!; trap 'kill $$site' INT TERM; \
	$(PYTEST) tests docs -m slow; tests=$$?; \
	$(BIN)/python tests/kernels.py; kernels=$$?; \
	wait $$site; site=$$?; [ $$site -eq 0 ] || { cat .venv/docs.log; echo "Building the site failed."; }; \
	exit $$((tests || kernels || site))

# The fast tests with the lowest versions that pyproject.toml declares; `make test` uses the newest.
lowest: .venv-lowest/.lowest
	.venv-lowest/bin/python -m pytest -n $(WORKERS) --dist worksteal tests -m "not slow"

# Other libraries: those in `make test`, and CatBoost and MLflow, which take 440 MB more.
compatibility: .venv/.compatibility
	$(BIN)/python -m pytest tests/compatibility

# Write the pinned bags, predictions and certificates again, after an intended change; the changelog says why.
golden: .venv/.project
	$(BIN)/python tests/golden/models.py

ENGINES ?= dask,ray,spark
# Fit bags with dask, ray and Spark, or with some of them (ENGINES=dask,ray). Uses a separate environment of one gigabyte.
# Spark needs Java.
engines: .venv-engines/.engines $(if $(findstring spark,$(ENGINES)),.venv-engines/.spark)
	PYTHONPATH=$(CURDIR)/src STABLEBAG_ENGINES=$(ENGINES) .venv-engines/bin/python -m pytest tests/engines

lint: .venv/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.bench
	$(BIN)/python -m pytest benchmarks --benchmark-columns=min,median,rounds --ratios=benchmarks/measured.json
	$(BIN)/python benchmarks/how_fast.py

# Compare N trees on random tables with scikit-learn's, byte for byte, starting with number FIRST.
N ?= 20000
FIRST ?= 0
CASES := tests/fast/tree_cases.py
fuzz: .venv/.project
	$(BIN)/python $(CASES) $(N) $(FIRST)

# Pass every wrong value to every parameter of every public name; `make proofs` passes a sample. Pairs of wrong values are
# random, and TIMES times as many.
TIMES ?= 20
hostile: .venv/.test
	STABLEBAG_HOSTILE=$(TIMES) $(BIN)/python -m pytest tests/hostile

# The same with a library that stops at the first invalid address or undefined operation (gcc).
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

# Build a wheel and the source distribution as `pip` would, check their metadata, install each in an empty environment and
# try it from outside the checkout. Upload the files that `make wheels` builds.
VERSION = $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' $(CURDIR)/src/stablebag/__init__.py)
release: .venv/.release
	rm -rf build/release
	$(BIN)/python -m build --outdir build/release
	$(BIN)/python -m twine check --strict build/release/*
	for file in build/release/*; do \
	    rm -rf build/empty && $(PYTHON) -m venv build/empty && build/empty/bin/python -m pip install --quiet $$file && \
	    cp tests/smoke.py build/empty && (cd build/empty && bin/python -I smoke.py $(VERSION)) || exit 1; \
	done

# Build the site in docs/_build/html. A warning is an error. With STABLEBAG_QUICK=1, long examples draw fewer bags.
docs: .venv/.docs
	rm -rf docs/_build docs/api docs/auto_examples docs/project
	$(BIN)/python -m sphinx -b html -W --keep-going -q -j 2 docs docs/_build/html
	@echo "Open docs/_build/html/index.html."

clean:
	rm -rf docs/_build docs/api docs/auto_examples docs/project
	rm -rf .venv .venv-engines .venv-lowest build dist src/stablebag/fast/native/_native.*

# One stamp file per purpose: a second run installs nothing unless pyproject.toml or a C file has changed.
.venv/.pip:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'  # the first version that reads dependency groups
	touch $@

.venv/.project: pyproject.toml src/stablebag/__init__.py $(NATIVE) | .venv/.pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.demo: pyproject.toml $(NATIVE) | .venv/.pip
	$(BIN)/python -m pip install --quiet --editable '.[cli,report]'
	touch $@

.venv/.%: pyproject.toml | .venv/.project
	$(BIN)/python -m pip install --quiet --editable . --group $*
	touch $@

.venv-lowest/.lowest: pyproject.toml tests/lowest.py $(NATIVE)
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(PYTHON) tests/lowest.py > .venv-lowest/pins.txt
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/pins.txt --editable '.[all]' --group lowest
	touch $@

.venv-engines/.pip:
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	touch $@

.venv-engines/.%: pyproject.toml | .venv-engines/.pip
	.venv-engines/bin/python -m pip install --quiet --group $*
	touch $@
