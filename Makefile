# `make demo` and `make test` need only python3 (with venv) and make: each sets up .venv with what it uses.
PYTHON ?= python3
BIN := .venv/bin

# Settings that would hide what OpenBLAS does on this processor; tests/kernels.py chooses among its kernels.
unexport OPENBLAS_CORETYPE OPENBLAS_L2_SIZE NVPL_BLAS_DEBUG_CPU_TYPE

.PHONY: demo docs test proofs lowest compatibility golden lint bench engines fuzz hostile sanitize wheels release clean

# What is compiled into the package: with the system's compiler, or one from the package index, or not at all.
NATIVE := hatch_build.py $(wildcard src/stablebag/fast/native/*.[ch])

demo: .venv/.demo
	$(BIN)/stablebag demo

# Every room, every theorem on the first of its grid, one run of every command, README: less than five minutes on two cores.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
test: .venv/.test
	$(PYTEST) tests src README.md -m "not slow"

# What takes longer, less than fifteen minutes on two cores: all bags of all grids, statistical tests, every wrong argument,
# learners that harm, solvers beside scikit-learn, the report in a browser, the code in docs, the tests of numbers with
# OpenBLAS's kernels for other processors, and, meanwhile, the site.
proofs: .venv/.test .venv/.docs
	@STABLEBAG_QUICK=1 $(MAKE) docs > .venv/docs.log 2>&1 & site=$$!; trap 'kill $$site' INT TERM; \
	$(PYTEST) tests docs -m slow; tests=$$?; \
	$(BIN)/python tests/kernels.py; kernels=$$?; \
	wait $$site; site=$$?; [ $$site -eq 0 ] || { cat .venv/docs.log; echo "The site could not be made."; }; \
	exit $$((tests || kernels || site))

# The fast tests with the lowest version of everything that pyproject.toml declares; `make test` has the newest.
lowest: .venv-lowest/.lowest
	.venv-lowest/bin/python -m pytest -n $(WORKERS) --dist worksteal tests -m "not slow"

# What users combine the package with: as in `make test`, and CatBoost and MLflow, which take 440 MB more.
compatibility: .venv/.compatibility
	$(BIN)/python -m pytest tests/compatibility

# The bags, predictions and certificates that an upgrade has to keep, written anew; the changelog says why.
golden: .venv/.project
	$(BIN)/python tests/golden/models.py

ENGINES ?= dask,ray,spark
# Bags fitted by dask, ray and Spark, or by some (ENGINES=dask,ray), in an environment of their own, which takes a gigabyte.
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

# Trees of random tables beside scikit-learn's, byte for byte: N of them, from number FIRST on.
N ?= 20000
FIRST ?= 0
CASES := tests/fast/tree_cases.py
fuzz: .venv/.project
	$(BIN)/python $(CASES) $(N) $(FIRST)

# What nobody should pass, to every parameter of every public name: all of it, where `make proofs` takes a sample; and two
# wrongs at once TIMES times as often, and each time others.
TIMES ?= 20
hostile: .venv/.test
	STABLEBAG_HOSTILE=$(TIMES) $(BIN)/python -m pytest tests/hostile

# Trees by a library that stops at the first address or number that it must not use; for gcc.
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

# A wheel and the source distribution as `pip` would make them, their metadata checked, and each installed in an empty
# environment and tried from outside of the checkout. What is uploaded are those of `make wheels`.
VERSION = $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' $(CURDIR)/src/stablebag/__init__.py)
release: .venv/.release
	rm -rf build/release
	$(BIN)/python -m build --outdir build/release
	$(BIN)/python -m twine check --strict build/release/*
	for file in build/release/*; do \
	    rm -rf build/empty && $(PYTHON) -m venv build/empty && build/empty/bin/python -m pip install --quiet $$file && \
	    cp tests/smoke.py build/empty && (cd build/empty && bin/python -I smoke.py $(VERSION)) || exit 1; \
	done

# The site, in docs/_build/html. A warning is an error. STABLEBAG_QUICK=1 has the long examples draw fewer bags.
docs: .venv/.docs
	rm -rf docs/_build docs/api docs/auto_examples docs/project
	$(BIN)/python -m sphinx -b html -W --keep-going -q -j 2 docs docs/_build/html
	@echo "The site is in docs/_build/html: open index.html there."

clean:
	rm -rf docs/_build docs/api docs/auto_examples docs/project
	rm -rf .venv .venv-engines .venv-lowest build dist src/stablebag/fast/native/_native.*

# One stamp per purpose: a second run installs nothing until pyproject.toml or a C file changes.
.venv/.pip:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'  # the first that reads dependency groups
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
