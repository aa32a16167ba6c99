// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "steps.h"

namespace tutti::api_fuzz {
namespace {

constexpr size_t kMostPrograms = 4, kMostKernels = 12;

// Few different texts: vendors compile slowly, and keep what they compiled.
constexpr const char* kGood = R"CLC(
kernel void add(global const int* in, global int* out, int n, local int* scratch) {
  size_t i = get_global_id(0) + get_global_size(0) * get_global_id(1);
  scratch[0] = n;
  if (i < (size_t)n) out[i] = in[i] + 1;
}
kernel void count(global int* out, int n) {
  if (get_global_id(0) < (size_t)n) atomic_inc(out);
}
)CLC";
constexpr const char* kBad = "kernel void add(global int* out) { out[0] = undeclared; }";

void create_program(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context || w.all(Kind::kProgram).size() >= kMostPrograms) return;
  const bool good = !w.random.one_in(5);
  const char* texts[] = {good ? kGood : kBad, nullptr};
  cl_uint count = 1;
  Expected expected;
  if (w.random.one_in(10)) {
    count = w.random.pick<cl_uint>({0, 2});
    expected.error(CL_INVALID_VALUE);
  }
  cl_int code = 1;
  cl_program made =
      clCreateProgramWithSource(context->as<cl_context>(), count, texts, nullptr, &code);
  w.check("clCreateProgramWithSource", expected, code);
  if (made == nullptr) return;
  w.add(Kind::kProgram, made, context)->built = false;
}

bool has_kernels(const World& w, const ObjectRef& program) {
  const auto& kernels = w.all(Kind::kKernel);
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const ObjectRef& kernel) { return kernel->program == program; });
}

void build(World& w) {
  const ObjectRef program = w.any(Kind::kProgram);
  if (!program) return;
  const auto& devices = program->context->devices;
  std::vector<cl_device_id> list;
  for (uint64_t i = w.random.below(3); i > 0; --i) {
    list.push_back(w.random.pick(devices)->as<cl_device_id>());
  }
  size_t length = 0;
  clGetProgramInfo(program->as<cl_program>(), CL_PROGRAM_SOURCE, 0, nullptr, &length);
  const bool good = length == std::string(kGood).size() + 1;
  Expected expected;
  expected.error_if(!good, CL_BUILD_PROGRAM_FAILURE);
  expected.error_if(has_kernels(w, program), CL_INVALID_OPERATION);
  const char* options = w.random.pick<const char*>({nullptr, "", "-cl-mad-enable"});
  auto count = static_cast<cl_uint>(list.size());
  switch (w.random.below(12)) {
    case 0:
      options = "--no-such-option";
      expected.error(CL_INVALID_BUILD_OPTIONS);
      break;
    case 1:
      list.push_back(w.wrong<cl_device_id>(Kind::kDevice, true));
      ++count;
      expected.error(CL_INVALID_DEVICE);
      break;
    case 2:
      count = count == 0 ? 1 : 0;
      expected.error_if(count == 1 || !list.empty(), CL_INVALID_VALUE);
      break;
    default:
      break;
  }
  const cl_int code =
      clBuildProgram(program->as<cl_program>(), count, list.empty() ? nullptr : list.data(),
                     options, nullptr, nullptr);
  w.check("clBuildProgram", expected, code);
  if (code == CL_SUCCESS) {
    program->built = true;
  } else if (code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS) {
    program->built = false;
  }
}

void create_kernel(World& w) {
  const ObjectRef program = w.any(Kind::kProgram);
  if (!program || w.all(Kind::kKernel).size() >= kMostKernels) return;
  const char* name = w.random.pick<const char*>({"add", "add", "add", "count", "nothing", nullptr});
  Expected expected;
  expected.error_if(!program->built, CL_INVALID_PROGRAM_EXECUTABLE);
  expected.error_if(name == nullptr, CL_INVALID_VALUE);
  expected.error_if(name != nullptr && std::string(name) == "nothing", CL_INVALID_KERNEL_NAME);
  cl_int code = 1;
  cl_kernel made = clCreateKernel(program->as<cl_program>(), name, &code);
  w.check("clCreateKernel", expected, code);
  if (made == nullptr) return;
  const ObjectRef kernel = w.add(Kind::kKernel, made, program->context);
  kernel->program = program;
}

void clone_kernel(World& w) {
  const ObjectRef kernel = w.any(Kind::kKernel);
  if (!kernel || w.all(Kind::kKernel).size() >= kMostKernels) return;
  cl_int code = 1;
  cl_kernel made = clCloneKernel(kernel->as<cl_kernel>(), &code);
  w.check("clCloneKernel", {}, code);
  if (made == nullptr) return;
  const ObjectRef clone = w.add(Kind::kKernel, made, kernel->context);
  clone->program = kernel->program;
  clone->arguments_set = kernel->arguments_set;
}

void set_argument(World& w) {
  const ObjectRef kernel = w.any(Kind::kKernel);
  if (!kernel) return;
  const std::string kinds = arguments_of(kernel);
  const auto index = static_cast<cl_uint>(w.random.below(kinds.size()));
  const auto handle = kernel->as<cl_kernel>();
  Expected expected;
  if (w.random.one_in(15)) {
    expected.error(CL_INVALID_ARG_INDEX);
    const cl_uint beyond =
        static_cast<cl_uint>(kinds.size()) + static_cast<cl_uint>(w.random.below(3));
    w.check("clSetKernelArg", expected,
            clSetKernelArg(handle, w.random.one_in(3) ? UINT32_MAX : beyond, 4, &index));
    return;
  }
  std::array<unsigned char, 64> value{};
  const bool odd_size = w.random.one_in(8);
  cl_int code = 0;
  if (kinds[index] == 'm') {
    cl_mem memory = nullptr;
    const ObjectRef buffer = w.any(Kind::kMemory);
    if (buffer) memory = buffer->as<cl_mem>();
    if (w.random.one_in(10)) {
      memory = w.wrong<cl_mem>(Kind::kMemory, true);
      if (memory != nullptr) expected.error(CL_INVALID_MEM_OBJECT);
    } else if (buffer && buffer->context != kernel->context) {
      expected.error(CL_INVALID_CONTEXT);
    }
    expected.error_if(odd_size, CL_INVALID_ARG_SIZE);
    code = clSetKernelArg(handle, index, odd_size ? w.random.below(8) : sizeof memory, &memory);
  } else if (kinds[index] == 'i') {
    expected.error_if(odd_size, CL_INVALID_ARG_SIZE);
    const bool without = w.random.one_in(10);
    expected.error_if(without, CL_INVALID_ARG_VALUE);
    code = clSetKernelArg(handle, index, odd_size ? 5 + w.random.below(50) : 4,
                          without ? nullptr : value.data());
  } else {
    expected.error_if(odd_size, CL_INVALID_ARG_SIZE);
    const bool with = w.random.one_in(10);
    expected.error_if(with, CL_INVALID_ARG_VALUE);
    code = clSetKernelArg(handle, index, odd_size ? 0 : 64, with ? value.data() : nullptr);
  }
  w.check("clSetKernelArg", expected, code);
  if (code == CL_SUCCESS) kernel->arguments_set |= uint64_t{1} << index;
}

// Whether the last build of the kernel's program was for what the queue's device has, only the
// driver knows: builds of some devices are allowed to leave others out.
void launch(World& w) {
  QueueChoice on;
  if (!choose_queue(w, on)) return;
  const ObjectRef kernel = w.any_of(Kind::kKernel, on.queue->context);
  const ObjectRef in = w.any_of(Kind::kMemory, on.queue->context);
  const ObjectRef out = w.any_of(Kind::kMemory, on.queue->context);
  if (!kernel || !in || !out) return;
  const std::string kinds = arguments_of(kernel);
  const auto handle = kernel->as<cl_kernel>();
  World::WaitList waits = w.wait_list(on.queue->context);
  Expected expected = waits.expected;
  expected.error_if(on.wrong, CL_INVALID_COMMAND_QUEUE);
  if (kernel->arguments_set + 1 != uint64_t{1} << kinds.size() && w.random.one_in(3)) {
    expected.error(CL_INVALID_KERNEL_ARGS);
  } else {
    // Of our own choice, so that no kernel leaves its buffers.
    if (out->size < sizeof(cl_int)) return;
    w.check("clSetKernelArg", {}, choose_arguments(kernel, in, out));
  }
  cl_uint dims = 1 + static_cast<cl_uint>(w.random.below(2));
  size_t local[3] = {w.random.pick<size_t>({1, 4, 16}), 1, 1};
  size_t global[3] = {local[0] * (1 + w.random.below(64)), 1 + w.random.below(4), 1};
  size_t offset[3] = {w.random.below(8), 0, 0};
  const size_t* local_given = w.random.one_in(3) ? nullptr : local;
  switch (w.random.below(20)) {
    case 0:
      dims = w.random.pick<cl_uint>({0, 4, UINT32_MAX});
      expected.error(CL_INVALID_WORK_DIMENSION);
      break;
    case 1:
      offset[0] = SIZE_MAX - w.random.below(2);
      global[0] = std::max<size_t>(global[0], 4);
      expected.error(CL_INVALID_GLOBAL_OFFSET);
      expected.error_if(global[0] % local[0] != 0, CL_INVALID_WORK_GROUP_SIZE);
      break;
    case 2:
      local[0] = 4;
      global[0] = 4 * w.random.below(50) + 1;
      local_given = local;
      expected.error(CL_INVALID_WORK_GROUP_SIZE);
      break;
    case 3:
      local[0] = w.random.pick<size_t>({0, size_t{1} << 20, size_t{1} << 40});
      global[0] = std::max<size_t>(local[0], 64);
      local_given = local;
      expected.error(CL_INVALID_WORK_GROUP_SIZE);
      expected.error(CL_INVALID_WORK_ITEM_SIZE);
      break;
    case 4:
      global[0] = 0;  // computes nothing
      local_given = nullptr;
      break;
    default:
      break;
  }
  cl_event event = nullptr;
  const bool valid = expected.success();
  const cl_int code =
      clEnqueueNDRangeKernel(on.handle, handle, dims, offset, global, local_given, waits.count,
                             waits.list(), w.random.one_in(2) ? &event : nullptr);
  if (code == CL_INVALID_PROGRAM_EXECUTABLE) return;
  w.check("clEnqueueNDRangeKernel", expected, code);
  if (valid && code == CL_SUCCESS) w.enqueued(on.queue, waits, event);
}

}  // namespace

std::string arguments_of(const ObjectRef& kernel) {
  std::array<char, 64> name{};
  clGetKernelInfo(kernel->as<cl_kernel>(), CL_KERNEL_FUNCTION_NAME, name.size(), name.data(),
                  nullptr);
  return std::string(name.data()) == "add" ? "mmil" : "mi";
}

cl_int choose_arguments(const ObjectRef& kernel, const ObjectRef& in, const ObjectRef& out) {
  const auto handle = kernel->as<cl_kernel>();
  const auto first = in->as<cl_mem>();
  const auto second = out->as<cl_mem>();
  const auto n = static_cast<cl_int>(std::min(in->size, out->size) / sizeof(cl_int));
  const std::string kinds = arguments_of(kernel);
  const bool adds = kinds == "mmil";
  cl_uint index = 0;
  cl_int code = adds ? clSetKernelArg(handle, index++, sizeof first, &first) : CL_SUCCESS;
  if (code == CL_SUCCESS) code = clSetKernelArg(handle, index++, sizeof second, &second);
  if (code == CL_SUCCESS) code = clSetKernelArg(handle, index++, sizeof n, &n);
  if (code == CL_SUCCESS && adds) code = clSetKernelArg(handle, index, 64, nullptr);
  if (code == CL_SUCCESS) kernel->arguments_set = (uint64_t{1} << kinds.size()) - 1;
  return code;
}

Steps program_steps() {
  return {
      {"create a program", 2, create_program}, {"build", 2, build},
      {"create a kernel", 5, create_kernel},   {"clone a kernel", 2, clone_kernel},
      {"set an argument", 8, set_argument},    {"launch", 20, launch},
  };
}

}  // namespace tutti::api_fuzz
