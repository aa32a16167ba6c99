# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: reading the standard library is half of what a file costs to compile.
# Included last, when all targets exist. Every file still names what it uses: it builds without, too.
option(TUTTI_PRECOMPILE "Precompile the headers that most files include" ON)

set(tutti_standard_headers
    <algorithm> <array> <atomic> <bit> <chrono> <condition_variable> <cstdint> <cstring>
    <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view>
    <thread> <tuple> <unordered_map> <utility> <variant> <vector>)

# tutti_precompile(target header…): the standard headers and these, where the target exists.
function(tutti_precompile target)
  if(TUTTI_PRECOMPILE AND TARGET ${target})
    target_precompile_headers(${target} PRIVATE ${tutti_standard_headers} ${ARGN})
  endif()
endfunction()

# tutti_share_precompiled(owner target…): those of `owner`, which is compiled alike (a library or a
# program, the same level of optimisation). Each set costs as much as three files.
function(tutti_share_precompiled owner)
  foreach(target IN LISTS ARGN)
    if(TUTTI_PRECOMPILE AND TARGET ${owner} AND TARGET ${target})
      target_precompile_headers(${target} REUSE_FROM ${owner})
    endif()
  endforeach()
endfunction()

tutti_precompile(tutti-base <filesystem> <fmt/format.h> <fstream> <tl/expected.hpp>)
tutti_share_precompiled(tutti-base tutti-record tutti-backends tutti-scheduler-logic
                        tutti-scheduler tutti-device-virtual tutti-platform tutti-icd tutti-doctor)
tutti_precompile(tutti-compiler <llvm/IR/IRBuilder.h> <llvm/IR/Module.h>)
tutti_precompile(tutti <filesystem> <fmt/format.h> <fstream> <nlohmann/json.hpp> <tl/expected.hpp>)

# The owner has no definitions of its own: those of others would have to be the same.
tutti_precompile(tutti-record-tests <filesystem> <fstream> <gmock/gmock.h> <gtest/gtest.h>
                 <random>)
tutti_share_precompiled(tutti-record-tests tutti-base-tests tutti-platform-tests tutti-api-tests tutti-backend-tests
                        tutti-device-virtual-tests tutti-engine-tests tutti-kernel-compiler-tests
                        tutti-tools-tests)
tutti_precompile(tutti-api-fuzz <random>)
tutti_precompile(tutti-kernel-fuzz <random>)
tutti_precompile(tutti-scheduler-tests <gtest/gtest.h>)
