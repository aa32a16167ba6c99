# SPDX-License-Identifier: Apache-2.0
# Tests that are OpenCL clients, and the device configurations that they run on.
#
#   tutti_add_client_test(
#     NAME name                   ctest's name becomes NAME.DEVICES[.BALANCER][.SPLIT]
#     COMMAND command arg…        an OpenCL program; it sees the Tutti platform alone
#     DEVICES configuration       one of those below
#     [BALANCER spec]             TUTTI_BALANCER
#     [SPLIT auto|force|never]    TUTTI_SPLIT
#     [BATCHES on|off]            TUTTI_BATCHES
#     [ENVIRONMENT NAME=VALUE …]
#     [UNTIMED]                   it fails by no time: it may share the cores with other tests
#     [FOREIGN]                   the command is not built here: sanitizers are preloaded
#     [TIMEOUT seconds]           only turns a hang into a failure; default 300
#     [LABELS label…])
#
# A configuration is made of the vendors' own settings:
#   pocl1      one one-core PoCL device             rusticl    llvmpipe alone
#   pocl2      two of them                          oclgrind   the checking interpreter alone
#   mixed3     two of them and llvmpipe             checked    Oclgrind and one PoCL device
#   pthread    PoCL with all cores, asynchronous    none       no vendor driver at all
#   interpreted  Oclgrind and llvmpipe: kernels are ready soon
#   interpreters  three Oclgrinds with libraries of their own: equal, and slow enough to be split over
#   four       three Oclgrinds and llvmpipe
#   gpus2      two one-core PoCL devices that look like GPUs, with memory of their own; no sanitizers
#   pointers1, pointers2  pocl1, pocl2 with extensions of pointers; no sanitizers
#   sharing1, sharing2  one and two of PoCL's asynchronous devices with semaphores and what else is
#                       shared with other interfaces; no sanitizers
#   sharinggpu  the one, with memory of its own
# A configuration whose drivers are not installed is an error: `make setup` installs them all. What a
# release of Debian does not have stands in tests/unavailable.txt; its tests are there, but disabled.

set(TUTTI_TEST_VENDORS "/etc/OpenCL/vendors" CACHE PATH "Where pocl.icd and rusticl.icd lie")

# What tests/unavailable.txt says of this release: `tutti_unavailable`, a list of names, and
# `tutti_unavailable_NAME`, the reason.
cmake_host_system_information(RESULT tutti_release QUERY DISTRIB_INFO)
set(tutti_unavailable)
file(STRINGS "${CMAKE_SOURCE_DIR}/tests/unavailable.txt" tutti_lines REGEX "^[a-z]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             "${CMAKE_SOURCE_DIR}/tests/unavailable.txt")
foreach(line IN LISTS tutti_lines)
  if(NOT line MATCHES "^([a-z]+) +([a-z0-9-]+) +(.+)$")
    message(FATAL_ERROR "tests/unavailable.txt: not RELEASE NAME REASON: ${line}")
  endif()
  if(CMAKE_MATCH_1 STREQUAL tutti_release_VERSION_CODENAME)
    list(APPEND tutti_unavailable "${CMAKE_MATCH_2}")
    set(tutti_unavailable_${CMAKE_MATCH_2} "${CMAKE_MATCH_3}")
  endif()
endforeach()

# PoCL's devices with one core and without threads, and with all cores: the names that POCL_DEVICES
# takes in every version. The devices themselves are called cpu-minimal and cpu since PoCL 4.
set(TUTTI_POCL_ONE "POCL_DEVICES=basic")
set(TUTTI_POCL_TWO "POCL_DEVICES=basic basic")
set(TUTTI_POCL_THREADS "POCL_DEVICES=pthread")

# Oclgrind has a driver library, but Debian installs no .icd file for it.
find_library(TUTTI_OCLGRIND_ICD NAMES oclgrind-rt-icd PATH_SUFFIXES oclgrind)
if("oclgrind" IN_LIST tutti_unavailable)
  message(STATUS "Tests that need Oclgrind are disabled: ${tutti_unavailable_oclgrind}")
  if(TUTTI_OCLGRIND_ICD)
    message(FATAL_ERROR "Oclgrind is there: take it out of tests/unavailable.txt")
  endif()
elseif(NOT TUTTI_OCLGRIND_ICD)
  message(FATAL_ERROR "Oclgrind is not installed: make setup")
endif()

set(tutti_test_folder "${CMAKE_BINARY_DIR}/tests")
file(WRITE "${tutti_test_folder}/empty.toml" "# The tests must not depend on the user's settings.\n")
file(MAKE_DIRECTORY "${tutti_test_folder}/no-vendors" "${tutti_test_folder}/cache")

set(tutti_devices_pocl1 "TUTTI_VENDORS=${TUTTI_TEST_VENDORS}/pocl.icd" "${TUTTI_POCL_ONE}")
set(tutti_devices_pocl2 "TUTTI_VENDORS=${TUTTI_TEST_VENDORS}/pocl.icd" "${TUTTI_POCL_TWO}")
set(tutti_devices_pthread "TUTTI_VENDORS=${TUTTI_TEST_VENDORS}/pocl.icd" "${TUTTI_POCL_THREADS}")
set(tutti_devices_mixed3
    "TUTTI_VENDORS=${TUTTI_TEST_VENDORS}/pocl.icd:${TUTTI_TEST_VENDORS}/rusticl.icd"
    "${TUTTI_POCL_TWO}" "RUSTICL_ENABLE=llvmpipe")
set(tutti_devices_rusticl "TUTTI_VENDORS=${TUTTI_TEST_VENDORS}/rusticl.icd"
    "RUSTICL_ENABLE=llvmpipe")
set(tutti_devices_oclgrind "TUTTI_VENDORS=${TUTTI_OCLGRIND_ICD}" "OCLGRIND_NUM_THREADS=1")
set(tutti_devices_checked "TUTTI_VENDORS=${TUTTI_OCLGRIND_ICD}:${TUTTI_TEST_VENDORS}/pocl.icd"
    "${TUTTI_POCL_ONE}" "OCLGRIND_NUM_THREADS=1")
set(tutti_devices_interpreted
    "TUTTI_VENDORS=${TUTTI_OCLGRIND_ICD}:${TUTTI_TEST_VENDORS}/rusticl.icd"
    "OCLGRIND_NUM_THREADS=1" "RUSTICL_ENABLE=llvmpipe")
# tests/kernels makes the copies.
set(TUTTI_OCLGRIND_COPIES "${CMAKE_BINARY_DIR}/tests/oclgrind")
set(tutti_oclgrinds "${TUTTI_OCLGRIND_ICD}:${TUTTI_OCLGRIND_COPIES}/l1boclgrind-rt-icd.so:\
${TUTTI_OCLGRIND_COPIES}/l2boclgrind-rt-icd.so")
set(tutti_devices_interpreters "TUTTI_VENDORS=${tutti_oclgrinds}"
    "OCLGRIND_NUM_THREADS=1" "LD_LIBRARY_PATH=${TUTTI_OCLGRIND_COPIES}")
set(tutti_devices_four "TUTTI_VENDORS=${tutti_oclgrinds}:${TUTTI_TEST_VENDORS}/rusticl.icd"
    "OCLGRIND_NUM_THREADS=1" "LD_LIBRARY_PATH=${TUTTI_OCLGRIND_COPIES}" "RUSTICL_ENABLE=llvmpipe")
# tests/kernels builds the library.
set(tutti_devices_gpus2 ${tutti_devices_pocl2} "TUTTI_TEST_APART=gpus" "TUTTI_TEST_POINTERS=1"
    "LD_PRELOAD=$<TARGET_FILE:tutti-test-apart>")
foreach(count IN ITEMS 1 2)
  set(tutti_devices_pointers${count} ${tutti_devices_pocl${count}} "TUTTI_TEST_APART=none"
      "TUTTI_TEST_POINTERS=1" "LD_PRELOAD=$<TARGET_FILE:tutti-test-apart>")
endforeach()
foreach(count IN ITEMS 1 2)
  set(tutti_devices_sharing${count} "TUTTI_VENDORS=${TUTTI_TEST_VENDORS}/pocl.icd"
      "TUTTI_TEST_APART=none" "LD_PRELOAD=$<TARGET_FILE:tutti-test-apart>")
endforeach()
list(TRANSFORM tutti_devices_sharing1 REPLACE "APART=none" "APART=gpus"
     OUTPUT_VARIABLE tutti_devices_sharinggpu)
list(APPEND tutti_devices_sharinggpu "POCL_DEVICES=pthread" "TUTTI_TEST_SHARING=alone")
list(APPEND tutti_devices_sharing1 "POCL_DEVICES=pthread" "TUTTI_TEST_SHARING=alone")
list(APPEND tutti_devices_sharing2 "POCL_DEVICES=pthread pthread" "TUTTI_TEST_SHARING=several")
set(tutti_devices_none "TUTTI_VENDORS=${tutti_test_folder}/no-vendors")

# How many of the machine's cores a configuration keeps busy; ctest -j reckons with it.
set(tutti_cores_pocl1 1)
set(tutti_cores_pocl2 2)
set(tutti_cores_pthread 2)
set(tutti_cores_mixed3 2)
set(tutti_cores_rusticl 1)
set(tutti_cores_oclgrind 1)
set(tutti_cores_interpreted 2)
set(tutti_cores_interpreters 2)
set(tutti_cores_four 2)
set(tutti_cores_checked 2)
set(tutti_cores_gpus2 2)
set(tutti_cores_pointers1 1)
set(tutti_cores_pointers2 2)
set(tutti_cores_sharing1 1)
set(tutti_cores_sharing2 2)
set(tutti_cores_sharinggpu 1)
set(tutti_cores_none 1)

# Sanitizers must be loaded first; a program that is not ours does not do it.
if(TUTTI_SANITIZE STREQUAL "address")
  set(tutti_sanitizer_library asan)
elseif(TUTTI_SANITIZE STREQUAL "thread")
  set(tutti_sanitizer_library tsan)
endif()
if(tutti_sanitizer_library)
  execute_process(
    COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=lib${tutti_sanitizer_library}.so"
    OUTPUT_VARIABLE TUTTI_SANITIZER_PRELOAD OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH "${TUTTI_SANITIZER_PRELOAD}" TUTTI_SANITIZER_PRELOAD)
  # Beside it, for programs in C: ASan looks for the C++ run time once, when it starts.
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=libstdc++.so"
                  OUTPUT_VARIABLE tutti_cxx_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH "${tutti_cxx_runtime}" tutti_cxx_runtime)
  string(APPEND TUTTI_SANITIZER_PRELOAD ":${tutti_cxx_runtime}")
endif()

# What the sanitizers themselves cannot stand. `rusticl`: the test's process loads Mesa.
function(tutti_spare_sanitizer name rusticl)
  if(TUTTI_SANITIZE STREQUAL "thread")
    # GCC 12's run time sometimes takes the thread-local block of a thread that starts during a
    # dlopen (PoCL's, of each kernel) for terabytes, and gives up. Nothing of ours is then wrong.
    set_tests_properties("${name}" PROPERTIES
      SKIP_REGULAR_EXPRESSION "ThreadSanitizer failed to allocate")
    if(rusticl)
      # Mesa's LLVM takes more than 64 locks at once, the most that the detector can follow.
      set_tests_properties("${name}" PROPERTIES
        ENVIRONMENT_MODIFICATION "TSAN_OPTIONS=path_list_append:detect_deadlocks=0")
    endif()
  endif()
endfunction()

# tutti_add_unit_test(TARGET [PART FILTER]): a unit test program, which sees the vendors' drivers, but
# not Tutti as a platform; or the part of its tests that GoogleTest's filter chooses.
function(tutti_add_unit_test target)
  set(cache "${tutti_test_folder}/cache/unit")
  file(MAKE_DIRECTORY "${cache}")
  # It only turns a hang into a failure.
  set(timeout 900)
  if(TUTTI_SANITIZE)
    set(timeout 3600)
  endif()
  string(REGEX REPLACE "^tutti-(.*)-tests?$" "unit.\\1" name "${target}")
  set(arguments)
  if(ARGC GREATER 1)
    string(APPEND name "-${ARGV1}")
    set(arguments "--gtest_filter=${ARGV2}")
  endif()
  add_test(NAME "${name}" COMMAND ${target} ${arguments})
  set_tests_properties("${name}" PROPERTIES
    ENVIRONMENT "${TUTTI_POCL_TWO};RUSTICL_ENABLE=llvmpipe;LP_NUM_THREADS=1;\
OCLGRIND_NUM_THREADS=1;POCL_CACHE_DIR=${cache}/pocl;TUTTI_CACHE=${cache}/tutti;TUTTI_MODEL=process"
    TIMEOUT ${timeout}
    LABELS unit)
  tutti_spare_sanitizer("${name}" ON)
endfunction()

function(tutti_add_client_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "FOREIGN;UNTIMED" "NAME;DEVICES;BALANCER;SPLIT;BATCHES;ISOLATE;TIMEOUT"
                        "COMMAND;ENVIRONMENT;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tutti_add_client_test: unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT DEFINED tutti_devices_${arg_DEVICES})
    message(FATAL_ERROR "tutti_add_client_test: no configuration '${arg_DEVICES}'")
  endif()

  set(name "${arg_NAME}.${arg_DEVICES}")
  set(cache "${tutti_test_folder}/cache/${arg_DEVICES}")
  file(MAKE_DIRECTORY "${cache}")
  # PoCL compiles a kernel once for all configurations of its one-core devices. Not for its others:
  # its key does not hold everything that they differ in.
  set(pocl_cache "${tutti_test_folder}/cache/pocl-one")
  if(arg_DEVICES MATCHES "pthread|sharing")
    set(pocl_cache "${tutti_test_folder}/cache/pocl-threads")
  endif()
  set(environment
      "OCL_ICD_VENDORS=${CMAKE_BINARY_DIR}/etc/OpenCL/vendors"
      "OCL_ICD_FILENAMES="
      "LP_NUM_THREADS=1"
      "TUTTI_CONFIG=${tutti_test_folder}/empty.toml"
      "TUTTI_CACHE=${cache}/tutti"
      "TUTTI_MODEL=process"
      "TUTTI_NEIGHBOURS=off"  # other tests run beside this one
      "TUTTI_BOARD=user"      # and other users need not know
      "POCL_CACHE_DIR=${pocl_cache}"
      ${tutti_devices_${arg_DEVICES}})
  if(arg_BALANCER)
    string(REPLACE ":" "-" balancer "${arg_BALANCER}")
    string(APPEND name ".${balancer}")
    list(APPEND environment "TUTTI_BALANCER=${arg_BALANCER}")
  endif()
  if(arg_SPLIT)
    string(APPEND name ".${arg_SPLIT}")
    list(APPEND environment "TUTTI_SPLIT=${arg_SPLIT}")
  endif()
  if(DEFINED arg_BATCHES)  # `off` is a false value
    string(APPEND name ".batches-${arg_BATCHES}")
    list(APPEND environment "TUTTI_BATCHES=${arg_BATCHES}")
  endif()
  if(arg_ISOLATE)
    string(APPEND name ".isolated")
    list(APPEND environment "TUTTI_ISOLATE=${arg_ISOLATE}")
  endif()
  if(arg_FOREIGN AND tutti_sanitizer_library)
    list(APPEND environment "LD_PRELOAD=${TUTTI_SANITIZER_PRELOAD}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(TUTTI_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 4")
  endif()

  # What is split by force does not depend on how fast devices are.
  set(cores ${tutti_cores_${arg_DEVICES}})
  if(arg_UNTIMED OR arg_SPLIT STREQUAL "force")
    set(cores 1)
  endif()
  add_test(NAME "${name}" COMMAND ${arg_COMMAND})
  set_tests_properties("${name}" PROPERTIES
    ENVIRONMENT "${environment};${arg_ENVIRONMENT}"
    PROCESSORS ${cores}
    TIMEOUT ${arg_TIMEOUT}
    LABELS "${arg_LABELS}")
  if(arg_DEVICES MATCHES "oclgrind|checked|interpret|four" AND NOT TUTTI_OCLGRIND_ICD)
    set_tests_properties("${name}" PROPERTIES DISABLED ON)
  endif()
  if(arg_DEVICES MATCHES "mixed3|rusticl|interpreted|four")
    tutti_spare_sanitizer("${name}" ON)
  else()
    tutti_spare_sanitizer("${name}" OFF)
  endif()
  if(arg_FOREIGN AND TUTTI_SANITIZE STREQUAL "address")
    # Interpreters and linkers free nothing before they end. Our own clients do.
    set_tests_properties("${name}" PROPERTIES
      ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=path_list_append:detect_leaks=0")
  endif()
endfunction()

# tutti_run_after(FIRST TEST…), of this folder: what FIRST has let PoCL compile, the others find. At
# the same time each would compile all of it.
function(tutti_run_after first)
  foreach(name IN LISTS ARGN)
    if(TEST "${first}" AND TEST "${name}")
      set_tests_properties("${name}" PROPERTIES DEPENDS "${first}")
    endif()
  endforeach()
endfunction()

# tutti_vary(TEST…), of this folder: tests that vary what others test. They have the label `variation`,
# and are left to `make test-all`.
function(tutti_vary)
  foreach(name IN LISTS ARGN)
    if(TEST "${name}")  # some are left out with a sanitizer
      set_property(TEST "${name}" APPEND PROPERTY LABELS variation)
    endif()
  endforeach()
endfunction()

# tutti_set_costs(TEST:SECONDS…), of this folder, on two cores: the longest tests begin first, so that
# none of them is left alone at the end.
function(tutti_set_costs)
  foreach(case IN LISTS ARGN)
    string(REPLACE ":" ";" words "${case}")
    list(POP_FRONT words name)
    if(TEST "${name}")  # some are left out with a sanitizer
      set_tests_properties("${name}" PROPERTIES COST ${words})
    endif()
  endforeach()
endfunction()
