# The chores of the repository. `make` alone lists them.
#
# Everything is compiled with one profile (release) and as one workspace, so that DataFusion and its
# dependencies are compiled once, whichever target comes first. What is compiled, generated and loaded
# lies under $(CACHE), outside of the clone; set CARGO_TARGET_DIR or BASALT_CACHE to move it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c

CACHE := $(or $(BASALT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/basalt)
export BASALT_CACHE := $(CACHE)
export CARGO_TARGET_DIR ?= $(CACHE)/target
CARGO := cargo
PYTHON := $(CACHE)/python/bin/python3

.PHONY: help bench-peers bench-tpch bench-encodings build demo test test-hbase test-client test-thin test-clients-more test-hbase-tests test-spark proto lint fmt bench bench-hfile bench-rpc bench-join bench-columnar bench-points bench-store reference torture fuzz sanitize toolchain

help:
	@echo 'make build      compile the workspace; the program is then $(CARGO_TARGET_DIR)/release/basalt'
	@echo 'make demo       load TPC-H SF 1 and time a dozen queries on it; SF=0.1 for a smaller one'
	@echo 'make test       all that continuous integration runs: format, lints, tidiness, tests'
	@echo 'make test-hbase part of it: real HBase reads what Basalt writes (needs a JDK and Maven); SEED=2 for other files'
	@echo 'make test-client part of it: the HBase client talks to `basalt serve` (needs a JDK and Maven)'
	@echo 'make test-thin   part of it: phoenixdb and the thin JDBC driver talk to it (needs Python 3, a JDK and Maven)'
	@echo 'make test-clients-more MapReduce, endpoints, PerformanceEvaluation and gohbase talk to it (needs a JDK, Maven, Go)'
	@echo 'make test-hbase-tests HBase talks to it in its own tests; one line per test in $(CACHE)/hbase-tests.tsv (needs a JDK and Maven)'
	@echo 'make test-spark pyspark reads a table of it (needs a JDK, Maven, Python 3, and about 450 MB from PyPI)'
	@echo 'make lint       formatting, clippy and `cargo xtask tidy`'
	@echo 'make fmt        format the sources'
	@echo 'make bench      DuckDB and Basalt side by side -> docs/benchmarks/main-job.md; SF=10 LEAVE_OUT=sort for ten times the rows without the sort that takes minutes (needs Python 3)'
	@echo 'make bench-tpch DuckDB and Basalt over the 22 queries of TPC-H -> docs/benchmarks/tpch.md (needs Python 3)'
	@echo 'make bench-peers HBase with Phoenix, DuckDB, RocksDB and Basalt asked the same -> docs/benchmarks/peers.md (needs a JDK, Maven, Python 3, librocksdb-dev)'
	@echo 'make bench-hfile HBase and Basalt on the same store files -> docs/benchmarks/hfile.md (needs a JDK, Maven, Python 3)'
	@echo 'make bench-rpc  HBase and Basalt asked by the same HBase client -> docs/benchmarks/rpc.md; ROWS=100000 for a quick run (needs a JDK, Maven)'
	@echo 'make bench-join DuckDB and Basalt joining 2^10 to 2^24 keys -> docs/benchmarks/join.md; KEYS_MAX=20 for a quick run (needs Python 3)'
	@echo 'make bench-encodings every block encoding with every codec -> docs/benchmarks/encodings.md; TABLE_ROWS=32000000 for a larger table'
	@echo 'make bench-columnar size and speed of COLUMNAR: the three-column table, and LINEITEM beside its Parquet file'
	@echo 'make bench-points single rows beside RocksDB; POINTS=1000000 ENCODING=NONE COMPRESSION=NONE (needs librocksdb-dev)'
	@echo 'make bench-store opening after a crash, a database of 1,000 regions -> docs/benchmarks/store.md'
	@echo 'make reference  compute the recorded answers of tests/reference again (needs Python 3)'
	@echo 'make sanitize   the tests of the crate that has unsafe code, with AddressSanitizer'
	@echo 'make fuzz       every fuzz target of store file, log, manifest and protocol for TIME=600 seconds each, JOBS=1 at once (needs cargo-fuzz)'
	@echo 'make torture    kill -9 thousands of times (KILLS=3000), the big linked list (NODES=25000000), power losses (SEEDS=50), joins, sorts and DISTINCT with 256 MB (MANY=16777216 rows), clients that come and go, twice for LOAD_SECONDS=120'

build: toolchain
	$(CARGO) build --release --workspace --locked

SF ?= 1
demo: build
	$(CARGO_TARGET_DIR)/release/basalt demo $(CACHE)/demo-sf$(SF) --sf $(SF)

test: toolchain
	$(CARGO) xtask ci
	$(MAKE) --no-print-directory test-hbase
	$(MAKE) --no-print-directory test-client
	$(MAKE) --no-print-directory test-thin

# Built as a part of the workspace, for the same reason as everything else.
SEED ?= 1
HBASE_FILES := $(CACHE)/hbase/files
test-hbase: toolchain
	$(CARGO) build --release --workspace --locked --example write_matrix
	rm -rf $(HBASE_FILES)
	$(CARGO_TARGET_DIR)/release/examples/write_matrix $(HBASE_FILES) $(SEED)
	@tests/hbase/run.sh ReadFiles $(HBASE_FILES) || { \
	    echo 'HBase and Basalt disagree; the files are in $(HBASE_FILES), again: make test-hbase SEED=$(SEED)' >&2; exit 1; }

test-client: build
	tests/hbase/client.sh $(CARGO_TARGET_DIR)/release/basalt

test-thin: build
	tests/hbase/thin.sh $(CARGO_TARGET_DIR)/release/basalt

test-clients-more: build
	tests/hbase/clients_more.sh $(CARGO_TARGET_DIR)/release/basalt
	tests/hbase/gohbase.sh $(CARGO_TARGET_DIR)/release/basalt

test-hbase-tests: build
	tests/hbase/hbase_tests.sh $(CARGO_TARGET_DIR)/release/basalt $(CACHE)/hbase-tests.tsv

test-spark: build
	tests/hbase/spark.sh $(CARGO_TARGET_DIR)/release/basalt

# The code of HBase's messages, from the .proto files; checked in, so that only who changes them compiles a protobuf compiler.
proto: toolchain
	$(CARGO) run --release --locked --manifest-path crates/basalt-wire/proto/generate/Cargo.toml

lint: toolchain
	$(CARGO) xtask lint

fmt: toolchain
	$(CARGO) fmt --all

LEAVE_OUT ?=
bench: build $(PYTHON)
	$(PYTHON) tests/reference/compare.py --basalt $(CARGO_TARGET_DIR)/release/basalt --sf $(SF) \
	    --leave-out $(LEAVE_OUT) --out docs/benchmarks/main-job$(if $(filter-out 1,$(SF)),-sf$(SF)).md

KEYS_MAX ?= 24
bench-join: build $(PYTHON)
	$(PYTHON) tests/reference/join.py --basalt $(CARGO_TARGET_DIR)/release/basalt --keys-max $(KEYS_MAX) \
	    --out docs/benchmarks/join.md

bench-tpch: build $(PYTHON)
	$(PYTHON) tests/reference/tpch.py --basalt $(CARGO_TARGET_DIR)/release/basalt --sf $(SF) \
	    --out docs/benchmarks/tpch.md

PEERS_SF ?= 0.1
PEERS_ROWS ?= 1048576
bench-peers: build $(PYTHON) $(CACHE)/points/floats
	$(PYTHON) tests/reference/peers.py --basalt $(CARGO_TARGET_DIR)/release/basalt --rocksdb $(CACHE)/points/floats \
	    --sf $(PEERS_SF) --rows $(PEERS_ROWS) --out docs/benchmarks/peers.md

$(CACHE)/points/floats: bench/rocksdb/floats.cc
	@mkdir -p $(@D)
	c++ -O2 -std=c++17 -o $@ $< -lrocksdb -lpthread || { \
	    echo 'RocksDB is missing; on Debian or Ubuntu: apt install librocksdb-dev' >&2; exit 1; }

bench-hfile: toolchain
	tests/hbase/bench.sh

ROWS ?= 1000000
bench-rpc: build
	$(CARGO_TARGET_DIR)/release/basalt bench rpc --rows $(ROWS)

bench-encodings: build
	$(CARGO_TARGET_DIR)/release/basalt bench encodings --rows $(or $(TABLE_ROWS),8000000) --memory $(or $(MEMORY),18GB) --out docs/benchmarks/encodings.md

COLUMNAR := $(CACHE)/columnar-sf$(SF)
bench-columnar: build
	$(CARGO) build --release --workspace --locked --example columnar_bench
	$(CARGO_TARGET_DIR)/release/examples/columnar_bench
	tests/reference/columnar.sh $(CARGO_TARGET_DIR)/release/basalt $(COLUMNAR) $(SF)

POINTS ?= 1000000
ENCODING ?= NONE
COMPRESSION ?= NONE
bench-points: build
	bench/points.sh $(CARGO_TARGET_DIR)/release/basalt $(CACHE) --rows $(POINTS) --encoding $(ENCODING) --compression $(COMPRESSION)

bench-store: toolchain
	$(CARGO) bench --workspace --locked --bench store -- $(CURDIR)/docs/benchmarks/store.md

reference: $(PYTHON)
	$(PYTHON) tests/reference/make.py

KILLS ?= 3000
NODES ?= 25000000
SEEDS ?= 50
MANY ?= 16777216
LOAD_SECONDS ?= 120
torture: build $(PYTHON)
	BASALT_KILLS=$(KILLS) $(CARGO) test --release --workspace --locked --test kills --test crash -- --nocapture
	BASALT_NODES=$(NODES) $(CARGO) test --release --workspace --locked --test linked_list -- --nocapture
	BASALT_SEEDS=$(SEEDS) $(CARGO) test --release --workspace --locked --test store -- --nocapture cut_off
	BASALT_ROWS=$(MANY) $(CARGO) test --release --workspace --locked --test statements -- --nocapture what_phoenix
	BASALT_LOAD_SECONDS=$(LOAD_SECONDS) $(CARGO) test --release --workspace --locked --test clients_come_and_go
	$(PYTHON) tests/reference/tpch_tight.py --basalt $(CARGO_TARGET_DIR)/release/basalt --sf 1 --memory 512MB

# The sanitizer is an unstable option of the compiler; what is built with it lies apart. libdeflate has the same constant table twice.
SANITIZED := $(shell rustc -vV | sed -n 's/^host: //p')
sanitize: toolchain
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/sanitized \
	    ASAN_OPTIONS=detect_odr_violation=0 \
	    $(CARGO) test --release --locked -p basalt-hfile --lib --target $(SANITIZED)

TIME ?= 600
TARGETS ?=
JOBS ?= 1
fuzz: toolchain
	TIME=$(TIME) JOBS=$(JOBS) fuzz/run.sh $(TARGETS)

# Only `bench`, `reference` and `test-thin` need Python; the packages go into an environment of their own.
$(PYTHON): tests/reference/requirements.txt
	@command -v python3 >/dev/null || { echo 'python3 is missing; on Debian or Ubuntu: apt install python3 python3-venv' >&2; exit 1; }
	python3 -m venv $(CACHE)/python
	$(PYTHON) -m pip install --quiet --requirement $<
	@touch $@

# Says what is missing before a compiler does.
toolchain:
	@command -v cargo >/dev/null || { \
	    echo 'cargo is missing: install Rust 1.95 or newer, see https://rustup.rs' >&2; exit 1; }
	@command -v cc >/dev/null || { \
	    echo 'a C compiler is missing (for zstd and mimalloc); on Debian or Ubuntu: apt install build-essential' >&2; exit 1; }
	@version=$$(rustc --version | cut -d' ' -f2); \
	  printf '1.95.0\n%s\n' "$${version%%-*}" | sort --check=quiet --version-sort || { \
	    echo "rustc is $$version; Basalt needs 1.95 or newer: rustup update stable" >&2; exit 1; }
