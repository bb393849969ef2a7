# A thin front of CMake (CMakePresets.json): `make` or `make help` lists what there is.
SHELL := /bin/bash
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
# Sanitizers want addresses where they expect them; not every container lets a program ask for that.
FIXED_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)

# Random evaluations that a sanitized run compares with NumPy.
asan tsan: export TEST_CASES ?= 60

comma := ,

# $(call build,PRESET,FOLDER[,TARGET]): configure once, then build.
define build
@[ -e $(2)/build.ninja ] || [ -e $(2)/Makefile ] || \
    cmake --preset $(1) -G "$$(command -v ninja >/dev/null && echo Ninja || echo 'Unix Makefiles')"
@cmake --build $(2) --parallel $(JOBS) $(if $(3),--target $(3))
endef

.PHONY: help demo test build debug sanitize asan tsan tsan-threads fuzz bench links opencl-links opencl-work opencl-figures opencl-shared verb-limits remap-memory install format lint gallery model maps pairs verbs golden golden-write cases cases-workers nests kill stealing delays storm starts endure programs siege simulate chroot-test clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## install what is needed, build as much of it, run the main job and check its result
	@scripts/install-deps
	$(call build,release,build,dcl_command examples-03_transpose_add)
	@scripts/demo

test: build ## install what is needed, build, run all tests
	ctest --preset release --parallel $(JOBS)

build: ## install what is needed, build the release in build/
	@scripts/install-deps
	$(call build,release,build)

debug: ## the same with assertions, in build-debug/
	@scripts/install-deps
	$(call build,debug,build-debug)

sanitize: asan tsan ## all tests under the address, undefined behaviour and thread sanitizers

asan: ## all tests under the address and undefined behaviour sanitizers, in build-asan/
	@scripts/install-deps
	$(call build,asan,build-asan)
	$(FIXED_ADDRESSES) ctest --preset asan --parallel $(JOBS) $(CTEST)

tsan: ## all tests under the thread sanitizer, in build-tsan/
	@scripts/install-deps
	$(call build,tsan,build-tsan)
	$(FIXED_ADDRESSES) ctest --preset tsan --parallel $(JOBS)

tsan-threads: ## the few tests that need the thread sanitizer most, in build-tsan/
	@scripts/install-deps
	$(call build,tsan,build-tsan,test-net test-runtime test-worker test-fleet)
	$(FIXED_ADDRESSES) ctest --preset tsan -R '^(net|threads|worker|fleet)$$'

fuzz: ## fuzz messages, sessions, loop nests, the OpenCL server and its driver at once, for MINUTES (30), in build-fuzz/ (clang)
	@scripts/install-deps --fuzz
	$(call build,fuzz,build-fuzz,message_fuzz session_fuzz loops_fuzz regions_fuzz remote_fuzz driver_fuzz)
	@minutes=$(or $(MINUTES),30); failed=0; \
	test/fuzz/run build-fuzz message_fuzz $$minutes >build-fuzz/message_fuzz.log 2>&1 & message=$$!; \
	test/fuzz/run build-fuzz session_fuzz $$minutes >build-fuzz/session_fuzz.log 2>&1 & session=$$!; \
	test/fuzz/run build-fuzz loops_fuzz $$minutes >build-fuzz/loops_fuzz.log 2>&1 & loops=$$!; \
	test/fuzz/run build-fuzz regions_fuzz $$minutes -close_fd_mask=2 >build-fuzz/regions_fuzz.log 2>&1 & regions=$$!; \
	test/fuzz/run build-fuzz remote_fuzz $$minutes >build-fuzz/remote_fuzz.log 2>&1 & remote=$$!; \
	test/fuzz/run build-fuzz driver_fuzz $$minutes -timeout=60 -close_fd_mask=2 >build-fuzz/driver_fuzz.log 2>&1 & driver=$$!; \
	wait $$message || failed=1; wait $$session || failed=1; wait $$loops || failed=1; wait $$regions || failed=1; wait $$remote || failed=1; wait $$driver || failed=1; \
	for log in build-fuzz/message_fuzz.log build-fuzz/session_fuzz.log build-fuzz/loops_fuzz.log build-fuzz/regions_fuzz.log build-fuzz/remote_fuzz.log build-fuzz/driver_fuzz.log; do \
	    echo "== $$log"; grep -E 'ERROR|SUMMARY|runtime error|^fuzz:|written to|DONE|^stat::number' $$log; done; exit $$failed

bench: build ## run the benchmarks, one after the other
	@set -e; for program in build/bench/*; do \
	    if [ -f "$$program" ] && [ -x "$$program" ]; then echo "== $$program"; "$$program"; fi; done

links: build ## elements between two workers over tcp, against ZeroMQ alone; most of it needs root
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) bench/links.py build/dcl build/bench/links || [ $$? -eq 77 ]

opencl-links: build ## writes and reads by the OpenCL driver over cables of 100 Mbit/s to 2.5 Gbit/s, against ZeroMQ alone; needs root
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) bench/opencl_links.py build/dcl build/bench/links || [ $$? -eq 77 ]

opencl-work: build ## products and Fourier transforms by the OpenCL driver over tcp and a cable, against a local device that sleeps, beside the paper's figures; SVG=FILE: draws them, too
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) bench/opencl_work.py $(if $(SVG),--svg $(SVG)) build/dcl build/bench/links || [ $$? -eq 77 ]

opencl-figures: build ## the OpenCL driver by length of the kernel, number of servers and size of transfers, beside native runs; SVG=FILE: draws them, too
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) bench/opencl_figures.py $(if $(SVG),--svg $(SVG)) build/dcl build/bench/links || [ $$? -eq 77 ]

opencl-shared: build ## two programs on one device by the OpenCL driver, against one
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) bench/opencl_shared.py build/dcl build/bench/links

verb-limits: build ## reductions, scans, products and stencils against OpenMP and OpenBLAS, each ratio beside its limit; BEFORE: words before each program
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) bench/verb_limits.py build/bench $(BEFORE)

remap-memory: build ## measure the memory that dcl_remap and A + B^T take beside arrays of MEGABYTES (1024)
	build/bench/remap_memory $(MEGABYTES)

install: build ## install below PREFIX (/usr/local), staged in DESTDIR when that is set
	DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

format: ## format all C files (clang-format 14)
	@scripts/install-deps --format
	@scripts/format

lint: ## check the layers and the format
	@scripts/check-layers
	@scripts/install-deps --format
	@scripts/format --check

gallery: build ## draw the pictures of docs/maps.md anew
	@scripts/gallery build/dcl docs/maps.md docs

model: ## check the model of the protocol, and that its broken variants are caught (spin)
	@scripts/install-deps --model
	@scripts/check-model

maps: build ## compare N (20000) random maps with a slow table of owners and offsets, from SEED (a new one)
	@TEST_DCL=build/dcl TEST_CASES=$(or $(N),20000) $(if $(SEED),TEST_SEED=$(SEED)) \
	    $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/oracle/oracle_test.py

pairs: build ## all operations on all pairs of kinds of maps, in all ranks, on 1-5 nodes, from SEED; many minutes
	@TEST_DCL=build/dcl TEST_LONG=1 $(if $(N),TEST_CASES=$(N)) $(if $(SEED),TEST_SEED=$(SEED)) \
	    $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/pairs/pairs_test.py

verbs: build ## compare N (20000) cases of all verbs, operators, types and maps with plain loops, KERNELS (300) texts, in JOBS processes
	@TEST_DCL=build/dcl TEST_CASES=$(or $(N),20000) TEST_KERNELS=$(or $(KERNELS),300) $(if $(SEED),TEST_SEED=$(SEED)) \
	    $(if $(JOBS),TEST_JOBS=$(JOBS)) TEST_PLACES=$(or $(PLACES),-$(comma)local$(comma)tcp) $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/verbs/verbs_test.py

golden: build ## run 2000 generated cases and compare results and counters with test/golden/golden.txt; some minutes
	build/test/golden test/golden/golden.txt $(if $(CASE),case $(CASE))

golden-write: build ## write test/golden/golden.txt anew: what is found now is right from then on
	build/test/golden test/golden/golden.txt write

cases: build ## compare N (5000) random evaluations with NumPy, from SEED (a new one)
	@TEST_DCL=build/dcl TEST_CASES=$(or $(N),5000) $(if $(SEED),TEST_SEED=$(SEED)) \
	    $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/eval/generator.py

cases-workers: build ## compare N (60) random evaluations under each kind of worker processes with one process, from SEED
	@failed=0; for place in $(or $(WORKERS),local:2 local:3 tcp:2 tcp-keys:2 hosts:3); do \
	    TEST_DCL=build/dcl TEST_WORKERS=$$place TEST_CASES=$(or $(N),60) $(if $(SEED),TEST_SEED=$(SEED)) \
	        $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/eval/generator.py; \
	    code=$$?; [ $$code -eq 0 ] || [ $$code -eq 77 ] || failed=1; done; exit $$failed

kill: build ## kill and stop worker processes and programs at random moments, N (200, 200, 50, 20) rounds, from SEED
	@TEST_WORKER_KILLS=$(or $(N),200) TEST_PROGRAM_KILLS=$(or $(N),200) TEST_WORKER_STOPS=$(or $(N),50) \
	    TEST_PROGRAM_STOPS=$(or $(N),20) TEST_SILENCE_MS=4000 $(if $(SEED),TEST_SEED=$(SEED)) $(if $(WORKERS),TEST_WORKERS=$(WORKERS)) \
	    $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/processes/kill_test.py build/dcl build/test/processes

stealing: build ## compare pairs of programs and N (20) evaluations per kind of workers, and kill N workers, all with DCL_STEAL=always
	@failed=0; export TEST_SETTINGS='DCL_STEAL=always DCL_TILE_BYTES=4096'; \
	ctest --test-dir build -R '^pairs$$' --output-on-failure || failed=1; \
	$(MAKE) --no-print-directory cases-workers N=$(or $(N),20) WORKERS="$(or $(WORKERS),local:3 tcp:2)" || failed=1; \
	TEST_SETTINGS='DCL_STEAL=always DCL_TILE_BYTES=512' TEST_WORKER_KILLS=$(or $(N),20) TEST_PROGRAM_KILLS=$(or $(N),20) TEST_WORKER_STOPS=5 TEST_PROGRAM_STOPS=5 \
	    TEST_SILENCE_MS=4000 $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/processes/kill_test.py build/dcl build/test/processes || failed=1; \
	exit $$failed

delays: build ## run the examples N (30) times with DCL_STEAL=always, stop their processes at random; same output as without, from SEED
	@TEST_RUNS=$(or $(N),30) $(if $(SEED),TEST_SEED=$(SEED)) $(if $(WORKERS),TEST_WORKERS=$(WORKERS)) \
	    $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/processes/delays.py build/examples

storm: ## kill worker processes during joins, reads, writes and saves, N (500) rounds, from SEED, under the address sanitizer
	@scripts/install-deps
	$(call build,asan,build-asan)
	@TEST_ROUNDS=$(or $(N),500) TEST_SLOW=5 $(if $(SEED),TEST_SEED=$(SEED)) ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:intercept_tls_get_addr=0 \
	    LSAN_OPTIONS=print_suppressions=0:suppressions=$(CURDIR)/test/sanitize/lsan.supp POCL_ENABLE_UNINIT=1 \
	    $(FIXED_ADDRESSES) $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/processes/storm_test.py \
	    build-asan/dcl build-asan/test/processes

crowd: build ## open a session of N (1024) worker processes, run a stencil, close it; needs Clang
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) test/processes/crowd_test.py build/dcl build/test/processes \
	    build/test/stub_opencl.so $(or $(N),1024)

endure: build ## the OpenCL driver: N (100) losses, N / 2 stops, 10 N sessions and loads
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) test/icd/endure.py build/dcl build/test/icd $(or $(N),100)

programs: build ## programs of others on the OpenCL driver, where they are installed: natively, over local:1 and tcp:1; takes an hour
	@$$(ls /usr/bin/python3 2>/dev/null || echo python3) test/icd/programs.py build/dcl build/test/icd $(NAMES)

starts: build ## start and stop a cluster of worker processes N (1000) times
	@TEST_STARTS=$(or $(N),1000) $(if $(WORKERS),TEST_WORKERS=$(WORKERS)) \
	    $$(ls /usr/bin/python3 2>/dev/null || echo python3) test/processes/start_test.py build/dcl build/test/processes

siege: build ## strangers, other users, bad networks and slips against workers over tcp, the long forms
	@failed=0; for test in test/security/*_test.py; do echo "== $$test"; \
	    TEST_LONG=1 TEST_DCL=build/dcl TEST_SECURITY_CLIENT=build/test/security_client \
	        $$(ls /usr/bin/python3 2>/dev/null || echo python3) $$test; \
	    code=$$?; [ $$code -eq 0 ] || [ $$code -eq 77 ] || failed=1; done; exit $$failed

simulate: build ## run N (10000) random programs on simulated clusters, from SEED (1); LENDING=3: nodes lend all they may
	@TEST_SEEDS=$(or $(N),10000) TEST_LENDING=$(or $(LENDING),0) TEST_SEED=$(or $(SEED),1) TEST_SECONDS=0 build/test/test-workqueue --filter 'simulation/*'

nests: build ## compare N (2000) random loop nests with an interpreter, and their plans with isl's scheduler, from SEED (1); an hour. RUN=0: plans only
	@scripts/random-nests $(or $(SEED),1) $(or $(N),2000) $(or $(RUN),1)

chroot-test: ## make demo and make test in a fresh Debian 12 (root; needs the network and some minutes)
	@scripts/install-deps --chroot
	@scripts/chroot-test

clean: ## remove everything that was built
	rm -rf build build-debug build-asan build-tsan build-fuzz
