# SPDX-License-Identifier: Apache-2.0
# The constants of the OpenCL headers that are installed, by family, as lines for a table:
#   TUTTI_CL_CONSTANT("cl_mem_flags", CL_MEM_READ_WRITE)
# A family is what the comment above the constants begins with; the compiler knows the values.
#   tutti_cl_constants(OUTPUT HEADER...)

function(tutti_cl_constants output)
  set(lines "")
  foreach(header IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
    file(READ "${header}" text)
    # Characters that lists give a meaning to.
    string(REGEX REPLACE "[][;]" " " text "${text}")
    string(REGEX MATCHALL
           "\n(#define[ \t]+CL_[A-Z0-9_]+[ \t]+[-(0-9]|/\\* *(cl_[a-z_]+|Error Codes|command execution))"
           found "${text}")
    set(family "none")
    foreach(item IN LISTS found)
      if(item MATCHES "/\\* *([A-Za-z_]+)")
        set(family "${CMAKE_MATCH_1}")
      elseif(item MATCHES "#define[ \t]+(CL_[A-Z0-9_]+)")
        string(APPEND lines "#ifdef ${CMAKE_MATCH_1}\nTUTTI_CL_CONSTANT(\"${family}\", ${CMAKE_MATCH_1})\n#endif\n")
      endif()
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT "${output}" CONTENT "${lines}" @ONLY)
endfunction()
