# SPDX-License-Identifier: Apache-2.0
# tutti_embed_text(<target> <file>): makes, at build time, a header "<file>.h" (relative to an
# include directory that the target gets) with the file's text as one string:
#   kernels/gemm.cl  ->  #include "kernels/gemm.cl.h", tutti::embedded::kernels_gemm_cl
# The same file, run with cmake -P, is the build step.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ "${EMBED_INPUT}" text)
  file(WRITE "${EMBED_OUTPUT}" "// Generated from ${EMBED_LABEL}: edit that.
#pragma once

namespace tutti::embedded {
inline constexpr char ${EMBED_SYMBOL}[] = R\"__embed__(${text})__embed__\";
}  // namespace tutti::embedded
")
  return()
endif()

set(TUTTI_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE} CACHE INTERNAL "build step of tutti_embed_text")

function(tutti_embed_text target file)
  set(input ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${file}.h)
  string(MAKE_C_IDENTIFIER ${file} symbol)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DEMBED_INPUT=${input} -DEMBED_OUTPUT=${output}
            -DEMBED_LABEL=${file} -DEMBED_SYMBOL=${symbol} -P ${TUTTI_EMBED_SCRIPT}
    DEPENDS ${input} ${TUTTI_EMBED_SCRIPT}
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded)
endfunction()
