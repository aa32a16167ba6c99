# SPDX-License-Identifier: Apache-2.0
# For people. Each goal does the set-up it needs; `make SETUP=no …` leaves packages alone.
#
#   make demo       a picture rendered by all devices together
#   make test       what each change must pass   make ci        what .ci/run runs
#   make test-all   all tests, their variations too
#   make build      programs and libraries       make install   PREFIX=… DESTDIR=…
#   make bench      the benchmark kernels        make sanitize  the tests under ASan+UBSan and TSan
#   make package    .deb, RPM and tarball        make check-package  install them in a clean root
#   make format     rewrite the sources' format  make tidy      lint; check-layers, check-locks
#   make setup      install packages (apt-get)   make clean     remove all build folders
#   make test-debian13   the same in a root of Debian 13, as root: also demo-debian13,
#                   package-debian13, check-package-debian13; and with Debian 12: test-debian12, …
# CTEST_ARGS="-L unit" chooses tests, variations among them; CMAKE_ARGS are cmake's.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SETUP ?= yes
CMAKE_ARGS ?=
CTEST_ARGS ?=

CONFIGURE = cmake -S . -G Ninja -Wno-dev $(CMAKE_ARGS)
CTEST = ctest --output-on-failure --no-tests=error -j $(JOBS) $(CTEST_ARGS)
setup = $(if $(filter no,$(SETUP)),true,scripts/setup.sh $(1))

.PHONY: all setup build build-tests test test-all demo bench install package check-package format check-format tidy \
        sanitize sanitize-asan sanitize-tsan sanitize-core core-asan core-tsan test-core check-layers check-locks ci ci-take ci-test ci-root ci-release clean
.NOTPARALLEL:

all: build

setup:
	@$(call setup,build run test dev package root)

build:
	@$(call setup,build)
	$(CONFIGURE) -B $(BUILD) -DBUILD_TESTING=OFF
	cmake --build $(BUILD) -j $(JOBS)

build-tests:
	@$(call setup,build run test)
	$(CONFIGURE) -B $(BUILD) -DBUILD_TESTING=ON
	cmake --build $(BUILD) -j $(JOBS)

# But for what varies others (tutti_vary in cmake/TuttiTesting.cmake).
test: build-tests
	$(CTEST) $(if $(CTEST_ARGS),,-LE variation) --test-dir $(BUILD)

test-all: build-tests
	$(CTEST) --test-dir $(BUILD)

demo: build
	@$(call setup,build run)
	python3 demo/run.py --build $(BUILD)

bench: build
	@$(call setup,build run)
	scripts/bench.sh $(BUILD)

install: build
	cmake --install $(BUILD) --prefix "$(abspath $(PREFIX))"

export DESTDIR CMAKE_ARGS CTEST_ARGS

# The sanitizers' settings: scripts/sanitize.sh. One folder each, so that both stay up to date.
CONFIGURE_SANITIZED = $(CONFIGURE) -B $(BUILD)-$* -DBUILD_TESTING=ON \
                      -DTUTTI_SANITIZE=$(if $(filter asan,$*),address,thread)

sanitize-asan sanitize-tsan: sanitize-%:
	@$(call setup,build run test)
	$(CONFIGURE_SANITIZED)
	cmake --build $(BUILD)-$* -j $(JOBS)
	scripts/sanitize.sh $(CTEST) --test-dir $(BUILD)-$*

sanitize: sanitize-asan sanitize-tsan

# The part of them that fits into every run: the driver's objects, engine and backends; damaged files
# and what has no threads under ASan.
CORE_TARGETS_asan = tutti tutti-damage-tests tutti-scheduler-tests
CORE_TESTS_asan = |^damage\.|^unit\.scheduler$$
core-asan core-tsan: core-%:
	@$(call setup,build run test)
	$(CONFIGURE_SANITIZED)
	cmake --build $(BUILD)-$* -j $(JOBS) --target tutti-icd tutti-probe tutti-stub-vendor \
	  tutti-api-fuzz $(foreach part,api backend isolation device-virtual engine base platform,tutti-$(part)-tests) \
	  $(CORE_TARGETS_$*)
	mkdir -p $(BUILD)-$*/tests/cache   # what PoCL has compiled is the same here
	for folder in pocl-one unit/pocl; do ! [ -d $(BUILD)/tests/cache/$$folder ] || \
	  (cd $(BUILD)/tests/cache && cp -r --parents --update $$folder $(abspath $(BUILD)-$*)/tests/cache); done
	scripts/sanitize.sh $(CTEST) --test-dir $(BUILD)-$* \
	  -R '^unit\.(backend|isolation|device-virtual|engine-.*|base|platform)$$|^(api|fuzz)\.pocl2\.sigmoid\.force$$|^fuzz\.pocl2\.static$$$(CORE_TESTS_$*)'

sanitize-core: core-asan core-tsan

# What a change can break on the other release (make test-core-debian13): no applications, and nothing
# that neither vendors' drivers nor the compiler's release change: how launches are divided, and what
# that gains; the kernel compiler, of the same LLVM; the API's calls once more with a layer off.
test-core: CTEST_ARGS += -L 'unit|api|bench' -LE variation \
  -E '^(gains|latency|never-slower|bench-splits)\.|^bench\.pocl|\.gpus2\.|^unit\.kernel_compiler|^api\..*(off|single)$$'
test-core: test

package: $(if $(filter ci,$(MAKECMDGOALS)),,build)
	@$(call setup,build run package)
	rm -rf $(BUILD)/packages
	cd $(BUILD) && cpack

# Without root, what needs none; it says what it leaves out.
check-package: package
	@$(call setup,root)
	packaging/check-package $(if $(filter 0,$(shell id -u)),,--no-chroot) $(BUILD)/packages

# ---- other releases of Debian than this machine's ------------------------------------------------

define in_release
root-$(1):
	@$$(call setup,root)
	scripts/in_release.sh $(2)

%-$(1):
	@$$(call setup,root)
	scripts/in_release.sh $(2) make BUILD=build-$(1) JOBS=$$(JOBS) $$*
endef
$(eval $(call in_release,debian12,bookworm))
$(eval $(call in_release,debian13,trixie))

# ---- the sources ---------------------------------------------------------------------------------

check-layers:
	python3 scripts/check_layers.py

# That Clang is content with how locks are used (base/thread_annotations.h).
check-locks:
	@$(call setup,build run test dev)
	$(CONFIGURE) -B $(BUILD) -DBUILD_TESTING=ON
	python3 scripts/check_locks.py $(BUILD) $(JOBS)

format check-format:
	@$(call setup,dev)
	scripts/format.sh $(if $(filter check-format,$@),--check)

tidy:
	@$(call setup,build run test dev)
	$(CONFIGURE) -B $(BUILD) -DBUILD_TESTING=ON
	scripts/tidy.sh $(BUILD) $(JOBS)

# Cheap checks first. Warnings are errors here, and only here; sources are compiled several at once.
# One after the other: tests reckon with time.
ci: CMAKE_ARGS += -DTUTTI_WERROR=ON -DCMAKE_UNITY_BUILD=ON
ci: setup check-layers check-format ci-root ci-test check-locks check-package ci-release sanitize-core

ci-test: ci-take test
	scripts/test_cache.sh keep $(BUILD)

ci-take:
	scripts/test_cache.sh take $(BUILD) build-debian13

# All is built and tested for the other release, but for the applications, where a root of it can be
# made: else it says what it leaves out.
ifeq ($(shell id -u),0)
ci-root: root-debian13
ci-release: test-core-debian13
	scripts/test_cache.sh keep build-debian13
else
ci-root:
ci-release:
	@echo "ci: without root, nothing is built and tested on Debian 13 (make test-core-debian13)" >&2
endif

clean:
	rm -rf build build-*/
