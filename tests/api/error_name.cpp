// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {

std::string error_name(cl_int code) {
  switch (code) {
#define TUTTI_CASE(name) \
  case name:             \
    return #name
    TUTTI_CASE(CL_SUCCESS);
    TUTTI_CASE(CL_DEVICE_NOT_FOUND);
    TUTTI_CASE(CL_DEVICE_NOT_AVAILABLE);
    TUTTI_CASE(CL_COMPILER_NOT_AVAILABLE);
    TUTTI_CASE(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    TUTTI_CASE(CL_OUT_OF_RESOURCES);
    TUTTI_CASE(CL_OUT_OF_HOST_MEMORY);
    TUTTI_CASE(CL_PROFILING_INFO_NOT_AVAILABLE);
    TUTTI_CASE(CL_MEM_COPY_OVERLAP);
    TUTTI_CASE(CL_IMAGE_FORMAT_MISMATCH);
    TUTTI_CASE(CL_IMAGE_FORMAT_NOT_SUPPORTED);
    TUTTI_CASE(CL_BUILD_PROGRAM_FAILURE);
    TUTTI_CASE(CL_MAP_FAILURE);
    TUTTI_CASE(CL_MISALIGNED_SUB_BUFFER_OFFSET);
    TUTTI_CASE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    TUTTI_CASE(CL_COMPILE_PROGRAM_FAILURE);
    TUTTI_CASE(CL_LINKER_NOT_AVAILABLE);
    TUTTI_CASE(CL_LINK_PROGRAM_FAILURE);
    TUTTI_CASE(CL_DEVICE_PARTITION_FAILED);
    TUTTI_CASE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
    TUTTI_CASE(CL_INVALID_VALUE);
    TUTTI_CASE(CL_INVALID_DEVICE_TYPE);
    TUTTI_CASE(CL_INVALID_PLATFORM);
    TUTTI_CASE(CL_INVALID_DEVICE);
    TUTTI_CASE(CL_INVALID_CONTEXT);
    TUTTI_CASE(CL_INVALID_QUEUE_PROPERTIES);
    TUTTI_CASE(CL_INVALID_COMMAND_QUEUE);
    TUTTI_CASE(CL_INVALID_HOST_PTR);
    TUTTI_CASE(CL_INVALID_MEM_OBJECT);
    TUTTI_CASE(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    TUTTI_CASE(CL_INVALID_IMAGE_SIZE);
    TUTTI_CASE(CL_INVALID_SAMPLER);
    TUTTI_CASE(CL_INVALID_BINARY);
    TUTTI_CASE(CL_INVALID_BUILD_OPTIONS);
    TUTTI_CASE(CL_INVALID_PROGRAM);
    TUTTI_CASE(CL_INVALID_PROGRAM_EXECUTABLE);
    TUTTI_CASE(CL_INVALID_KERNEL_NAME);
    TUTTI_CASE(CL_INVALID_KERNEL_DEFINITION);
    TUTTI_CASE(CL_INVALID_KERNEL);
    TUTTI_CASE(CL_INVALID_ARG_INDEX);
    TUTTI_CASE(CL_INVALID_ARG_VALUE);
    TUTTI_CASE(CL_INVALID_ARG_SIZE);
    TUTTI_CASE(CL_INVALID_KERNEL_ARGS);
    TUTTI_CASE(CL_INVALID_WORK_DIMENSION);
    TUTTI_CASE(CL_INVALID_WORK_GROUP_SIZE);
    TUTTI_CASE(CL_INVALID_WORK_ITEM_SIZE);
    TUTTI_CASE(CL_INVALID_GLOBAL_OFFSET);
    TUTTI_CASE(CL_INVALID_EVENT_WAIT_LIST);
    TUTTI_CASE(CL_INVALID_EVENT);
    TUTTI_CASE(CL_INVALID_OPERATION);
    TUTTI_CASE(CL_INVALID_GL_OBJECT);
    TUTTI_CASE(CL_INVALID_BUFFER_SIZE);
    TUTTI_CASE(CL_INVALID_MIP_LEVEL);
    TUTTI_CASE(CL_INVALID_GLOBAL_WORK_SIZE);
    TUTTI_CASE(CL_INVALID_PROPERTY);
    TUTTI_CASE(CL_INVALID_IMAGE_DESCRIPTOR);
    TUTTI_CASE(CL_INVALID_COMPILER_OPTIONS);
    TUTTI_CASE(CL_INVALID_LINKER_OPTIONS);
    TUTTI_CASE(CL_INVALID_DEVICE_PARTITION_COUNT);
    TUTTI_CASE(CL_INVALID_PIPE_SIZE);
    TUTTI_CASE(CL_INVALID_DEVICE_QUEUE);
    TUTTI_CASE(CL_INVALID_SPEC_ID);
    TUTTI_CASE(CL_MAX_SIZE_RESTRICTION_EXCEEDED);
#undef TUTTI_CASE
    default:
      return std::to_string(code);
  }
}

testing::AssertionResult same_code(const char* expected_text, const char* actual_text,
                                   cl_int expected, cl_int actual) {
  if (expected == actual) return testing::AssertionSuccess();
  return testing::AssertionFailure() << actual_text << "\n  returned " << error_name(actual)
                                     << "\n  expected " << error_name(expected) << " ("
                                     << expected_text << ")";
}

testing::AssertionResult is_one_of(cl_int code, std::initializer_list<cl_int> allowed) {
  std::string names;
  for (const cl_int candidate : allowed) {
    if (candidate == code) return testing::AssertionSuccess();
    names += " " + error_name(candidate);
  }
  return testing::AssertionFailure() << "returned " << error_name(code) << ", allowed:" << names;
}

}  // namespace tutti::api_tests
