// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/first_launches.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace tutti::backends {
namespace {

// Kernels that are launched in ever other shapes are compiled where they are launched.
constexpr size_t kMostShapes = 32;
// PoCL has other code for grids as wide as this or wider.
constexpr size_t kWideGrid = 65535;

/// What a driver may compile a kernel anew for.
struct Shape {
  uint32_t dims = 0;
  bool local = false, shifted = false, wide = false;
  std::array<size_t, 3> sizes{};  // the global ones where the driver chooses the local ones by them
  auto operator<=>(const Shape&) const = default;
};

Shape shape_of(const Launch& launch) {
  const auto& global = launch.global;
  return {launch.dims, launch.local.has_value(),
          (launch.offset[0] | launch.offset[1] | launch.offset[2]) != 0,
          std::max({global[0], global[1], global[2]}) >= kWideGrid,
          launch.local ? *launch.local : global};
}

/// Of one kernel; for one thread at a time.
class FirstLaunches {
 public:
  FirstLaunches(VendorBuilder& builder, std::shared_ptr<const BuiltText> text, std::string kernel)
      : builder_(builder), text_(std::move(text)), kernel_(std::move(kernel)) {}

  /// Has it compiled, once for each shape. False: it will do nothing more.
  bool compile(const Launch& launch) {
    if (!known_.insert(shape_of(launch)).second) return true;
    const std::string text = launch_text(kernel_, launch);
    return !text.empty() && builder_.launch_ahead(*text_, text) && known_.size() < kMostShapes;
  }

 private:
  VendorBuilder& builder_;
  std::shared_ptr<const BuiltText> text_;
  std::string kernel_;
  std::set<Shape> known_;
};

void append(std::string& text, const std::array<size_t, 3>& sizes) {
  text += fmt::format(" {} {} {}", sizes[0], sizes[1], sizes[2]);
}

std::array<size_t, 3> read_sizes(std::istream& text) {
  std::array<size_t, 3> sizes{};
  for (size_t& size : sizes) text >> size;
  return sizes;
}

bool set_arguments(const VendorFunctions& cl, cl_kernel kernel, cl_mem buffer, std::istream& text) {
  char kind = 0;
  uint64_t size = 0;
  for (cl_uint i = 0; text >> kind >> size; ++i) {
    const std::vector<std::byte> zeros(kind == 'v' ? size : 0);
    const cl_int code = kind == 'b' ? cl.clSetKernelArg(kernel, i, sizeof buffer, &buffer)
                        : kind == 'l'
                            ? cl.clSetKernelArg(kernel, i, cl.local_memory_size(size), nullptr)
                            : cl.clSetKernelArg(kernel, i, size, zeros.data());
    if (code != CL_SUCCESS) return false;
  }
  return true;
}

}  // namespace

MakeAhead first_launches(VendorBuilder& builder, BuiltText text) {
  return [&builder, shared = std::make_shared<const BuiltText>(std::move(text))](
             const std::string& kernel) -> CompileAhead {
    return [first = FirstLaunches(builder, shared, kernel)](const Launch& launch) mutable {
      return first.compile(launch);
    };
  };
}

std::string launch_text(const std::string& kernel, const Launch& launch) {
  std::string text = fmt::format("{} {}", kernel, launch.dims);
  append(text, launch.offset);
  append(text, launch.global);
  append(text, launch.local.value_or(std::array<size_t, 3>{}));
  for (const Argument& argument : launch.arguments) {
    switch (argument.kind) {
      case Argument::Kind::kBytes:
        text += fmt::format(" v {}", argument.bytes.size());
        break;
      case Argument::Kind::kLocal:
        text += fmt::format(" l {}", argument.local_size);
        break;
      case Argument::Kind::kMemory:
        if (argument.memory != nullptr && !argument.memory->is_buffer()) return {};
        text += " b 0";
        break;
      case Argument::Kind::kSampler:
      case Argument::Kind::kQueue:
        return {};
      case Argument::Kind::kReached:
        break;
    }
  }
  return text;
}

void launch_in_helper(const VendorDevice& device, cl_context context, cl_program program,
                      const std::string& launch) {
  const VendorFunctions& cl = *device.cl;
  if (!cl.clCreateUserEvent) return;
  std::istringstream text(launch);
  std::string name;
  cl_uint dims = 0;
  text >> name >> dims;
  const auto offset = read_sizes(text), global = read_sizes(text), local = read_sizes(text);
  if (!text || dims < 1 || dims > 3) return;
  constexpr size_t kBufferSize = 4096;
  cl_int code = CL_SUCCESS;
  const OwnedKernel kernel(cl.clCreateKernel(program, name.c_str(), &code), cl.clReleaseKernel);
  if (code != CL_SUCCESS) return;
  const OwnedMemory buffer(
      cl.clCreateBuffer(context, CL_MEM_READ_WRITE, kBufferSize, nullptr, &code),
      cl.clReleaseMemObject);
  if (code != CL_SUCCESS || !set_arguments(cl, kernel.get(), buffer.get(), text)) return;
  const auto queue = create_vendor_queue(cl, context, device.device, 0);
  if (!queue) return;
  const cl_event never = cl.clCreateUserEvent(context, &code);
  if (code != CL_SUCCESS) return;
  const bool shifted = (offset[0] | offset[1] | offset[2]) != 0;
  cl.clEnqueueNDRangeKernel(*queue, kernel.get(), dims, shifted ? offset.data() : nullptr,
                            global.data(), local[0] != 0 ? local.data() : nullptr, 1, &never,
                            nullptr);
  // Queue and event stay as long as the process: called off, the command would be freed, and PoCL
  // 3.1 goes on looking at it.
}

}  // namespace tutti::backends
