# SPDX-License-Identifier: Apache-2.0
# How everything is compiled. Included once, before any target.

option(TUTTI_WERROR "Warnings are errors" OFF)
set(TUTTI_SANITIZE "" CACHE STRING "address (ASan and UBSan), thread (TSan), or empty")
set_property(CACHE TUTTI_SANITIZE PROPERTY STRINGS "" address thread)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Functions and lines for back traces; descriptions of variables would cost a third of each build.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Fixed places, which scripts and the lookups relative to a library or program rely on.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/static")

find_program(TUTTI_CCACHE ccache)
if(TUTTI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What one checkout has compiled serves all others, wherever they lie.
  set(tutti_ccache env)
  if(NOT DEFINED ENV{CCACHE_BASEDIR})
    list(APPEND tutti_ccache "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}")
  endif()
  if(NOT DEFINED ENV{CCACHE_HASHDIR} AND NOT DEFINED ENV{CCACHE_NOHASHDIR})
    list(APPEND tutti_ccache CCACHE_NOHASHDIR=1)
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER ${tutti_ccache} "${TUTTI_CCACHE}")
  # Precompiled headers need the setting.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${tutti_ccache}
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "${TUTTI_CCACHE}")
endif()
# Objects that are shared so name no checkout: a debugger finds sources from the root of one's own.
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The first is for ccache. The others: GCC 12 misreads std::string's small buffer (its PR 105651),
  # and precompiled headers do not count as the system's.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>"
                      -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
                      -Wno-stringop-overread)
endif()
if(TUTTI_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>")
endif()

if(TUTTI_SANITIZE STREQUAL "address")
  # Without what tests each access once more: half of what compiling takes, and of null ASan tells.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,alignment,vptr
                      -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(TUTTI_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC warns of atomic_thread_fence under TSan; we use none, the standard library's headers do.
    add_compile_options(-Wno-tsan)
  endif()
elseif(TUTTI_SANITIZE)
  message(FATAL_ERROR "TUTTI_SANITIZE is '${TUTTI_SANITIZE}'; accepted: address, thread, empty")
endif()
# Reading headers is most of what a build costs. Where nobody works file by file: sanitizers, make ci.
if(TUTTI_SANITIZE)
  set(CMAKE_UNITY_BUILD ON)
endif()
set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
if(TUTTI_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Line numbers for reports are enough, and -O1 compiles in half the time.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  # GCC's own -W analyses give false positives on instrumented code.
  add_compile_options(-Wno-maybe-uninitialized)
endif()
