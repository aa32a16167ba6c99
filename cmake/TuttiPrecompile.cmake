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

tutti_precompile(tutti-platform <fmt/format.h> <tl/expected.hpp>)
tutti_precompile(tutti-backends <fmt/format.h> <tl/expected.hpp>)
tutti_precompile(tutti-scheduler <fmt/format.h> <tl/expected.hpp>)
tutti_precompile(tutti-scheduler-logic)
tutti_precompile(tutti-device-virtual <fmt/format.h> <tl/expected.hpp>)
tutti_precompile(tutti-icd)
tutti_precompile(tutti-compiler <llvm/IR/IRBuilder.h> <llvm/IR/Module.h>)

foreach(tests IN ITEMS api backend device-virtual engine kernel-compiler platform scheduler)
  tutti_precompile(tutti-${tests}-tests <CL/cl.h> <gtest/gtest.h>)
endforeach()
