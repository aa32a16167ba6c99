// SPDX-License-Identifier: Apache-2.0
// Prints the names of the platforms, one a line.
#include <CL/cl.h>

#include <cstdio>
#include <vector>

int main() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return 1;
  std::vector<cl_platform_id> platforms(count);
  if (clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return 1;
  for (cl_platform_id platform : platforms) {
    char name[256] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, nullptr);
    std::printf("platform %s\n", name);
  }
  return 0;
}
