// SPDX-License-Identifier: Apache-2.0
#include "tools/device_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/cl_error_name.h"
#include "base/clock.h"

namespace tutti::tools {
namespace {

using namespace backends;
using platform::FoundDevice;

constexpr uint64_t kTransferBytes = uint64_t{64} << 20;
constexpr double kTransferSeconds = 0.3;  // for each kind of transfer
constexpr double kLaunchSeconds = 0.2;
constexpr size_t kMostLaunches = 500;
constexpr double kPeakSeconds = 0.05;  // the shortest launch whose time is believed
constexpr int kPeakRepeats = 3;
constexpr int kMostRounds = 1 << 24;
constexpr int kFewestRounds = 8;  // of 8 steps: enough for the values to settle

// Eight independent chains, so that no unit waits for its own last result. Each x tends to 1 and,
// with 24 bits or 53, is exactly 1 after 54 steps: the sums prove that the work was done.
constexpr char kSource[] = R"(
#define STEP(x) x = MULTIPLY_ADD(x, half_, half_);
#define STEPS(x) STEP(x) STEP(x) STEP(x) STEP(x)
#define ROUND STEPS(a) STEPS(b) STEPS(c) STEPS(d) STEPS(e) STEPS(f) STEPS(g) STEPS(h)
#define PEAK(name, type, scalar, sum)                                     \
  kernel void name(global scalar* out, scalar start, int rounds) {        \
    const size_t id = get_global_id(0);                                   \
    type half_ = (type)(0.5f * start);                                    \
    type a = (type)(start + (scalar)(id & 7)), b = a + half_, c = b + half_, d = c + half_; \
    type e = d + half_, f = e + half_, g = f + half_, h = g + half_;      \
    for (int i = 0; i < rounds; ++i) { ROUND ROUND }                      \
    type all = a + b + c + d + e + f + g + h;                             \
    out[id] = sum;                                                        \
  }
#define SUM8 (all.s0 + all.s1 + all.s2 + all.s3 + all.s4 + all.s5 + all.s6 + all.s7)
kernel void nothing(global int* out) { if (get_global_id(0) > 1) out[0] = 1; }
#ifdef DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
PEAK(peak1, double, double, all)
PEAK(peak8, double8, double, SUM8)
#else
PEAK(peak1, float, float, all)
PEAK(peak8, float8, float, SUM8)
#endif
)";
constexpr double kFlopsPerRound = 8 * 8 * 2;  // and lane

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One vendor context and queue, and the calls that are needed. Errors name the call.
class Meter {
 public:
  Meter(const FoundDevice& device, uint32_t number)
      : device_(device), cl_(*device.device.cl), number_(number) {}

  Status open() {
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(device_.device.platform), 0};
    cl_int code = CL_SUCCESS;
    const cl_context context =
        cl_.clCreateContext(properties, 1, &device_.device.device, nullptr, nullptr, &code);
    TUTTI_TRY(check("clCreateContext", code));
    watch_process_exit();
    context_ = {context, cl_.clReleaseContext};
    auto queue = create_vendor_queue(cl_, context, device_.device.device, 0);
    if (!queue) return check(queue.error().message.c_str(), queue.error().code);
    queue_ = {*queue, cl_.clReleaseCommandQueue};
    return {};
  }

  Result<OwnedMemory> allocate(uint64_t size, cl_mem_flags flags) {
    cl_int code = CL_SUCCESS;
    OwnedMemory memory(cl_.clCreateBuffer(context_.get(), flags, size, nullptr, &code),
                       cl_.clReleaseMemObject);
    TUTTI_TRY(check("clCreateBuffer", code));
    return memory;
  }

  /// GB/s of blocking transfers between a buffer and `host`, the median of several.
  Result<double> transfer_rate(bool write, const OwnedMemory& memory, uint64_t size, void* host) {
    std::vector<double> rates;
    const uint64_t begin = now_ns();
    // The first one pays for what is made at first use, and does not count.
    for (bool first = true;
         first || rates.empty() || seconds_between(begin, now_ns()) < kTransferSeconds;
         first = false) {
      const uint64_t start = now_ns();
      const cl_int code = write ? cl_.clEnqueueWriteBuffer(queue_.get(), memory.get(), CL_TRUE, 0,
                                                           size, host, 0, nullptr, nullptr)
                                : cl_.clEnqueueReadBuffer(queue_.get(), memory.get(), CL_TRUE, 0,
                                                          size, host, 0, nullptr, nullptr);
      TUTTI_TRY(check(write ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", code));
      const double seconds = std::max(1e-9, seconds_between(start, now_ns()));
      if (!first) rates.push_back(static_cast<double>(size) / seconds * 1e-9);
    }
    return median_of(std::move(rates));
  }

  Result<void*> map(const OwnedMemory& memory, uint64_t size) {
    if (!cl_.clEnqueueMapBuffer || !cl_.clEnqueueUnmapMemObject) {
      return fail(CL_INVALID_OPERATION, "the driver has no clEnqueueMapBuffer");
    }
    cl_int code = CL_SUCCESS;
    void* host =
        cl_.clEnqueueMapBuffer(queue_.get(), memory.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                               size, 0, nullptr, nullptr, &code);
    TUTTI_TRY(check("clEnqueueMapBuffer", code));
    return host;
  }
  Status unmap(const OwnedMemory& memory, void* host) {
    TUTTI_TRY(
        check("clEnqueueUnmapMemObject",
              cl_.clEnqueueUnmapMemObject(queue_.get(), memory.get(), host, 0, nullptr, nullptr)));
    return finish();
  }

  Result<OwnedProgram> build(const std::string& options) {
    const char* source = kSource;
    cl_int code = CL_SUCCESS;
    OwnedProgram program(cl_.clCreateProgramWithSource(context_.get(), 1, &source, nullptr, &code),
                         cl_.clReleaseProgram);
    TUTTI_TRY(check("clCreateProgramWithSource", code));
    // PoCL on processors without AVX-512 warns of double8, and writes to stderr how often.
    const std::string all =
        vendor_build_options(device_.traits, device_.device.quirks, options + " -w", number_);
    TUTTI_TRY(check("clBuildProgram", cl_.clBuildProgram(program.get(), 1, &device_.device.device,
                                                         all.c_str(), nullptr, nullptr)));
    return program;
  }
  Result<OwnedKernel> kernel(const OwnedProgram& program, const char* name) const {
    cl_int code = CL_SUCCESS;
    OwnedKernel made(cl_.clCreateKernel(program.get(), name, &code), cl_.clReleaseKernel);
    TUTTI_TRY(check("clCreateKernel", code));
    return made;
  }
  template <typename T>
  Status set(const OwnedKernel& kernel, cl_uint index, const T& value) {
    return check("clSetKernelArg", cl_.clSetKernelArg(kernel.get(), index, sizeof value, &value));
  }
  /// How many items a group of the kernel may have; a power of two, at most 64.
  Result<size_t> group_size(const OwnedKernel& kernel) const {
    size_t most = 0;
    TUTTI_TRY(check(
        "clGetKernelWorkGroupInfo",
        cl_.clGetKernelWorkGroupInfo(kernel.get(), device_.device.device, CL_KERNEL_WORK_GROUP_SIZE,
                                     sizeof most, &most, nullptr)));
    return std::bit_floor(std::clamp<size_t>(most, 1, 64));
  }
  /// Seconds from the launch until it has ended.
  Result<double> launch(const OwnedKernel& kernel, size_t global, size_t local) {
    const uint64_t start = now_ns();
    TUTTI_TRY(check("clEnqueueNDRangeKernel",
                    cl_.clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 1, nullptr, &global,
                                               &local, 0, nullptr, nullptr)));
    TUTTI_TRY(finish());
    return std::max(1e-9, seconds_between(start, now_ns()));
  }
  Status read(const OwnedMemory& memory, uint64_t size, void* host) {
    return check("clEnqueueReadBuffer",
                 cl_.clEnqueueReadBuffer(queue_.get(), memory.get(), CL_TRUE, 0, size, host, 0,
                                         nullptr, nullptr));
  }
  Status finish() { return check("clFinish", cl_.clFinish(queue_.get())); }

  /// CL_DEVICE_SINGLE_FP_CONFIG or CL_DEVICE_DOUBLE_FP_CONFIG; 0 where there is none.
  cl_device_fp_config precision(cl_device_info what) const {
    cl_device_fp_config config = 0;
    const cl_int code =
        cl_.clGetDeviceInfo(device_.device.device, what, sizeof config, &config, nullptr);
    return code == CL_SUCCESS ? config : 0;
  }
  const DeviceTraits& traits() const { return device_.traits; }

 private:
  static Status check(const char* call, cl_int code) {
    if (code == CL_SUCCESS) return {};
    return fail(code, fmt::format("{}: {}", call, cl_error_name(code)));
  }

  const FoundDevice& device_;
  const VendorFunctions& cl_;
  const uint32_t number_;
  Owned<cl_context> context_;
  OwnedQueue queue_;
};

uint64_t transfer_size(const DeviceTraits& traits) {
  return std::max<uint64_t>(
      4096, std::min({kTransferBytes, traits.max_allocation / 4, traits.global_memory / 8}));
}

Status measure_pageable(Meter& meter, DeviceMeasurement& result) {
  const uint64_t size = transfer_size(meter.traits());
  TUTTI_ASSIGN(const OwnedMemory memory, meter.allocate(size, CL_MEM_READ_WRITE));
  std::vector<char> host(size, 1);
  TUTTI_ASSIGN(result.write, meter.transfer_rate(true, memory, size, host.data()));
  TUTTI_ASSIGN(result.read, meter.transfer_rate(false, memory, size, host.data()));
  return {};
}

Status measure_pinned(Meter& meter, DeviceMeasurement& result) {
  const uint64_t size = transfer_size(meter.traits());
  TUTTI_ASSIGN(const OwnedMemory memory, meter.allocate(size, CL_MEM_READ_WRITE));
  TUTTI_ASSIGN(const OwnedMemory pinned,
               meter.allocate(size, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR));
  TUTTI_ASSIGN(void* const host, meter.map(pinned, size));
  std::fill_n(static_cast<char*>(host), size, 1);
  TUTTI_ASSIGN(result.pinned_write, meter.transfer_rate(true, memory, size, host));
  TUTTI_ASSIGN(result.pinned_read, meter.transfer_rate(false, memory, size, host));
  return meter.unmap(pinned, host);
}

Status measure_launch(Meter& meter, DeviceMeasurement& result) {
  TUTTI_ASSIGN(const OwnedProgram program, meter.build("-D MULTIPLY_ADD=mad"));
  TUTTI_ASSIGN(const OwnedKernel kernel, meter.kernel(program, "nothing"));
  TUTTI_ASSIGN(const OwnedMemory memory, meter.allocate(64, CL_MEM_READ_WRITE));
  TUTTI_TRY(meter.set(kernel, 0, memory.get()));
  TUTTI_TRY(meter.launch(kernel, 1, 1));  // pays for what is made at first use
  std::vector<double> times;
  const uint64_t begin = now_ns();
  while (times.empty() ||
         (times.size() < kMostLaunches && seconds_between(begin, now_ns()) < kLaunchSeconds)) {
    TUTTI_ASSIGN(const double seconds, meter.launch(kernel, 1, 1));
    times.push_back(seconds);
  }
  result.launch = median_of(std::move(times)) * 1e6;
  return {};
}

/// GFLOP/s of one kernel, whose items compute with `lanes` values at once.
template <typename T>
Result<double> peak_of(Meter& meter, const OwnedProgram& program, const char* name, int lanes) {
  TUTTI_ASSIGN(const OwnedKernel kernel, meter.kernel(program, name));
  // One size for all launches: CPU drivers compile for each.
  TUTTI_ASSIGN(const size_t local, meter.group_size(kernel));
  // Some waves of work-groups, but begun with a few items: an interpreter would need minutes.
  const size_t most = std::max<size_t>(1, meter.traits().compute_units) * 4096;
  size_t items = 64;
  int rounds = kFewestRounds;
  TUTTI_ASSIGN(const OwnedMemory memory, meter.allocate(most * sizeof(T), CL_MEM_READ_WRITE));
  TUTTI_TRY(meter.set(kernel, 0, memory.get()));
  TUTTI_TRY(meter.set(kernel, 1, T{1}));
  TUTTI_TRY(meter.set(kernel, 2, cl_int{rounds}));
  TUTTI_TRY(meter.launch(kernel, items, local));  // pays for what is made at first use
  double best = 0;
  for (int repeat = 0; repeat < kPeakRepeats;) {
    TUTTI_TRY(meter.set(kernel, 2, cl_int{rounds}));
    TUTTI_ASSIGN(const double seconds, meter.launch(kernel, items, local));
    if (seconds < kPeakSeconds && rounds < kMostRounds) {
      if (items < most) {
        items = std::min(most, items * 4);
      } else {
        rounds *= 2;
      }
      continue;
    }
    best = std::max(best, kFlopsPerRound * lanes * rounds * static_cast<double>(items) / seconds);
    ++repeat;
  }
  std::vector<T> values(items);
  TUTTI_TRY(meter.read(memory, items * sizeof(T), values.data()));
  const T expected = static_cast<T>(8 * lanes);
  if (std::any_of(values.begin(), values.end(), [=](T value) { return value != expected; })) {
    return fail(CL_INVALID_VALUE, "the device computed wrong values");
  }
  return best * 1e-9;
}

/// The best of the ways to write it: which one is fast differs from vendor to vendor.
template <typename T>
Status measure_peak(Meter& meter, cl_device_fp_config precision, const std::string& options,
                    std::optional<double>& result) {
  double best = 0;
  for (const char* function : {"mad", "fma"}) {
    // Without an instruction for it, fma() is a page of code: llvmpipe compiles for minutes.
    if (function == std::string_view("fma") && (precision & CL_FP_FMA) == 0) continue;
    TUTTI_ASSIGN(const OwnedProgram program,
                 meter.build(options + " -cl-mad-enable -D MULTIPLY_ADD=" + function));
    TUTTI_ASSIGN(const double vector, peak_of<T>(meter, program, "peak8", 8));
    best = std::max(best, vector);
    if (meter.traits().type == CL_DEVICE_TYPE_CPU) continue;  // its units are vectors
    TUTTI_ASSIGN(const double scalar, peak_of<T>(meter, program, "peak1", 1));
    best = std::max(best, scalar);
  }
  result = best;
  return {};
}

}  // namespace

DeviceMeasurement measure(const FoundDevice& device, uint32_t number,
                          const std::function<void(const std::string&)>& progress) {
  DeviceMeasurement result;
  if (device.apart) {
    result.errors.emplace_back("it is in a process of its own (TUTTI_ISOLATE)");
    return result;
  }
  Meter meter(device, number);
  const auto part = [&](const char* what, const auto& act) {
    progress(what);
    const Status status = act();
    if (!status) result.errors.push_back(fmt::format("{}: {}", what, status.error().message));
    return status.has_value();
  };
  if (!part("opening", [&] { return meter.open(); })) return result;
  part("transfers", [&] { return measure_pageable(meter, result); });
  if (device.traits.type != CL_DEVICE_TYPE_CPU) {
    part("pinned transfers", [&] { return measure_pinned(meter, result); });
  }
  part("launch latency", [&] { return measure_launch(meter, result); });
  part("single precision", [&] {
    return measure_peak<float>(meter, meter.precision(CL_DEVICE_SINGLE_FP_CONFIG), "",
                               result.single_precision);
  });
  if (const auto precision = meter.precision(CL_DEVICE_DOUBLE_FP_CONFIG); precision != 0) {
    part("double precision", [&] {
      return measure_peak<double>(meter, precision, "-D DOUBLE", result.double_precision);
    });
  }
  return result;
}

}  // namespace tutti::tools
