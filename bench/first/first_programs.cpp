// SPDX-License-Identifier: Apache-2.0
#include "first_programs.h"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace tutti::bench {
namespace {

/// FNV-1a over bytes.
uint64_t digest(const void* data, std::size_t size) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}
template <typename T>
uint64_t digest(const std::vector<T>& values) {
  return digest(values.data(), values.size() * sizeof(T));
}

std::vector<cl_uint> scrambled(std::size_t count) {
  std::vector<cl_uint> values(count);
  cl_uint state = 12345;
  for (cl_uint& value : values) value = state = state * 1664525u + 1013904223u;
  return values;
}

// ---- one kernel ---------------------------------------------------------------------------------

constexpr const char* kOneSource = R"(
__kernel void iterate(__global const uint* restrict in, __global uint* restrict out, uint rounds) {
  const uint i = get_global_id(0);
  uint value = in[i];
  for (uint k = 0; k < rounds; ++k) {
    value ^= value << 13;
    value ^= value >> 17;
    value ^= value << 5;
  }
  out[i] = value + out[i];
}
)";

uint64_t run_one(const Session& session, std::size_t size, std::size_t launches) {
  const std::vector<cl_uint> input = scrambled(size);
  const DeviceArray<cl_uint> in(session, CL_MEM_READ_ONLY, size);
  const DeviceArray<cl_uint> out(session, CL_MEM_READ_WRITE, size);
  in.write(session, std::span(input));
  out.fill(session, 0);
  const Program program = session.build(kOneSource, "");
  const Kernel kernel = make_kernel(program, "iterate");
  set_args(kernel, in, out, cl_uint{250});
  for (std::size_t i = 0; i < launches; ++i) {
    enqueue(session, kernel, {{size}, {64}});
    session.finish();
  }
  std::vector<cl_uint> result(size);
  out.read(session, std::span(result));
  session.finish();
  return digest(result);
}

// ---- an FFT in the manner of SHOC: 512 points per work-group of 64, radix 8, three passes
// --------

constexpr const char* kFftSource = R"(
#define TWO_PI 6.28318530717958648f
float2 mul(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
float2 unit(float angle) { return (float2)(cos(angle), sin(angle)); }
#define FFT2(a, b) { const float2 t = a; a = t + b; b = t - b; }
#define TURN(a, s) (float2)(-(s) * (a).y, (s) * (a).x)
void fft4(float2* a, float2* b, float2* c, float2* d, float s) {
  FFT2(*a, *c);
  FFT2(*b, *d);
  *d = TURN(*d, s);
  FFT2(*a, *b);
  FFT2(*c, *d);
}
void fft8(float2* v, float s) {
  FFT2(v[0], v[4]);
  FFT2(v[1], v[5]);
  FFT2(v[2], v[6]);
  FFT2(v[3], v[7]);
  v[5] = mul(v[5], unit(s * TWO_PI / 8));
  v[6] = TURN(v[6], s);
  v[7] = mul(v[7], unit(s * TWO_PI * 3 / 8));
  fft4(&v[0], &v[1], &v[2], &v[3], s);
  fft4(&v[4], &v[5], &v[6], &v[7], s);
}
void twiddle(float2* v, int i, int n, float s) {
  const int reversed[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  for (int j = 1; j < 8; ++j) v[j] = mul(v[j], unit(s * TWO_PI * reversed[j] * i / n));
}
void exchange(float2* v, __local float* shared, int out, int out_step, int in, int in_step) {
  const int reversed[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  for (int j = 0; j < 8; ++j) shared[out + j * out_step] = v[reversed[j]].x;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = 0; j < 8; ++j) v[j].x = shared[in + j * in_step];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = 0; j < 8; ++j) shared[out + j * out_step] = v[reversed[j]].y;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = 0; j < 8; ++j) v[j].y = shared[in + j * in_step];
  barrier(CLK_LOCAL_MEM_FENCE);
}
void fft512(__global float2* work, __local float* shared, float s) {
  const int tid = get_local_id(0);
  const int hi = tid >> 3, lo = tid & 7;
  const int reversed[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  float2 v[8];
  work += get_group_id(0) * 512 + tid;
  for (int j = 0; j < 8; ++j) v[j] = work[j * 64];
  fft8(v, s);
  twiddle(v, tid, 512, s);
  exchange(v, shared, hi * 8 + lo, 66, lo * 66 + hi, 8);
  fft8(v, s);
  twiddle(v, hi, 64, s);
  exchange(v, shared, hi * 8 + lo, 72, hi * 72 + lo, 8);
  fft8(v, s);
  for (int j = 0; j < 8; ++j) work[j * 64] = v[reversed[j]];
}
__kernel void fft1D_512(__global float2* work) {
  __local float shared[8 * 8 * 9];
  fft512(work, shared, -1.0f);
}
__kernel void ifft1D_512(__global float2* work) {
  __local float shared[8 * 8 * 9];
  fft512(work, shared, 1.0f);
  work += get_group_id(0) * 512 + get_local_id(0);
  for (int j = 0; j < 8; ++j) work[j * 64] /= 512.0f;
}
__kernel void chk1D_512(__global const float2* work, int other, __global int* failed) {
  const int place = get_group_id(0) * 512 + get_local_id(0);
  for (int j = 0; j < 8; ++j) {
    const float2 a = work[place + j * 64], b = work[other + place + j * 64];
    if (a.x != b.x || a.y != b.y) *failed = 1;
  }
}
__kernel void power(__global const float2* restrict work, __global float* restrict out) {
  const int i = get_global_id(0);
  out[i] = work[i].x * work[i].x + work[i].y * work[i].y;
}
__kernel void scale(__global float2* work, float by) { work[get_global_id(0)] *= by; }
)";

uint64_t run_fft(const Session& session, std::size_t size, std::size_t launches) {
  size = round_up(size, 1024);
  std::vector<cl_float> input(2 * size);
  const std::vector<cl_uint> noise = scrambled(size);  // both halves are the same
  for (std::size_t i = 0; i < size; ++i) {
    input[i] = input[size + i] = static_cast<float>(noise[i] >> 8) / 16777216.0f - 0.5f;
  }
  const DeviceArray<cl_float> work(session, CL_MEM_READ_WRITE, 2 * size);
  const DeviceArray<cl_int> failed(session, CL_MEM_READ_WRITE, 1);
  work.write(session, std::span<const cl_float>(input));
  failed.fill(session, 0);
  const Program program = session.build(kFftSource, "-cl-mad-enable");
  const Kernel forth = make_kernel(program, "fft1D_512");
  const Kernel back = make_kernel(program, "ifft1D_512");
  const Kernel check_halves = make_kernel(program, "chk1D_512");
  set_args(forth, work);
  set_args(back, work);
  set_args(check_halves, work, static_cast<cl_int>(size / 2), failed);
  const std::size_t items = size / 8;
  for (std::size_t i = 0; i < launches; ++i) {
    enqueue(session, forth, {{items}, {64}});
    enqueue(session, back, {{items}, {64}});
    session.finish();
  }
  enqueue(session, check_halves, {{items / 2}, {64}});
  std::vector<cl_float> result(2 * size);
  std::vector<cl_int> flag(1);
  work.read(session, std::span(result));
  failed.read(session, std::span(flag));
  session.finish();
  double difference = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(result[i] - input[i])));
  }
  // Vendors round differently: right or not is all that is compared.
  return flag[0] == 0 && difference < 1e-3 ? 1 : 0;
}

// ---- a histogram of 256 bins: private counts in local memory, then their sums
// ----------------------

constexpr const char* kHistogramSource = R"(
__kernel void histogram256(__global const uint* restrict data, __local uchar* shared,
                           __global uint* restrict bins_of_groups) {
  const uint local_id = get_local_id(0), global_id = get_global_id(0);
  const uint group_id = get_group_id(0), group_size = get_local_size(0);
  for (uint i = 0; i < 256; ++i) shared[local_id * 256 + i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < 128; ++i) ++shared[local_id * 256 + (data[global_id * 128 + i] >> 24)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < 256 / group_size; ++i) {
    uint count = 0;
    for (uint j = 0; j < group_size; ++j) count += shared[j * 256 + i * group_size + local_id];
    bins_of_groups[group_id * 256 + i * group_size + local_id] = count;
  }
}
__kernel void sum_bins(__global const uint* restrict bins_of_groups, uint groups,
                       __global uint* restrict bins) {
  const uint bin = get_global_id(0);
  uint count = 0;
  for (uint group = 0; group < groups; ++group) count += bins_of_groups[group * 256 + bin];
  bins[bin] += count;
}
__kernel void histogram_atomic(__global const uint* restrict data, __global uint* bins) {
  atomic_inc(&bins[data[get_global_id(0)] >> 24]);
}
)";

uint64_t run_histogram(const Session& session, std::size_t size, std::size_t launches) {
  constexpr std::size_t kGroup = 64, kEach = 128;
  size = round_up(size, kGroup * kEach);
  const std::size_t groups = size / (kGroup * kEach);
  const std::vector<cl_uint> input = scrambled(size);
  const DeviceArray<cl_uint> data(session, CL_MEM_READ_ONLY, size);
  const DeviceArray<cl_uint> parts(session, CL_MEM_READ_WRITE, groups * 256);
  const DeviceArray<cl_uint> bins(session, CL_MEM_READ_WRITE, 256);
  data.write(session, std::span(input));
  bins.fill(session, 0);
  const Program program = session.build(kHistogramSource, "");
  const Kernel count = make_kernel(program, "histogram256");
  const Kernel sum = make_kernel(program, "sum_bins");
  set_args(count, data, LocalBytes{kGroup * 256}, parts);
  set_args(sum, parts, static_cast<cl_uint>(groups), bins);
  for (std::size_t i = 0; i < launches; ++i) {
    enqueue(session, count, {{size / kEach}, {kGroup}});
    enqueue(session, sum, {{256}, {kGroup}});
    session.finish();
  }
  std::vector<cl_uint> result(256);
  bins.read(session, std::span(result));
  session.finish();
  return digest(result);
}

// ---- heat in a plate: two kernels that take turns, rows at the border of the launch matter
// -------

constexpr const char* kHeatSource = R"(
__kernel void heat(__global const float* restrict in, __global float* restrict out) {
  const int x = get_global_id(0), y = get_global_id(1);
  const int width = get_global_size(0), height = get_global_size(1);
  const int left = max(x - 1, 0), right = min(x + 1, width - 1);
  const int up = max(y - 1, 0), down = min(y + 1, height - 1);
  out[y * width + x] = 0.25f * (in[y * width + left] + in[y * width + right] +
                                in[up * width + x] + in[down * width + x]);
}
__kernel void sources(__global float* plate) {
  const int x = get_global_id(0), y = get_global_id(1);
  const int width = get_global_size(0);
  if (x % 64 == 32 && y % 64 == 32) plate[y * width + x] = 1.0f;
}
)";

uint64_t run_heat(const Session& session, std::size_t size, std::size_t launches) {
  size = round_up(size, 64);
  const DeviceArray<cl_float> a(session, CL_MEM_READ_WRITE, size * size);
  const DeviceArray<cl_float> b(session, CL_MEM_READ_WRITE, size * size);
  a.fill(session, 0);
  const Program program = session.build(kHeatSource, "");
  const Kernel heat = make_kernel(program, "heat");
  const Kernel sources = make_kernel(program, "sources");
  for (std::size_t i = 0; i < launches; ++i) {
    const auto& from = i % 2 == 0 ? a : b;
    set_args(sources, from);
    enqueue(session, sources, {{size, size}, {16, 4}});
    set_args(heat, from, i % 2 == 0 ? b : a);
    enqueue(session, heat, {{size, size}, {16, 4}});
  }
  std::vector<cl_float> result(size * size);
  (launches % 2 == 0 ? a : b).read(session, std::span(result));
  session.finish();
  return digest(result);
}

// ---- many kernels in one program, each launched once
// -----------------------------------------------

uint64_t run_many(const Session& session, std::size_t size, std::size_t launches) {
  std::string source;
  for (std::size_t i = 0; i < launches; ++i) {
    const std::string number = std::to_string(i);
    source += "__kernel void step" + number +
              "(__global uint* data, uint by) {\n"
              "  const uint i = get_global_id(0);\n"
              "  uint value = data[i];\n"
              "  for (uint k = 0; k < by; ++k) value = rotate(value * " +
              std::to_string(2 * i + 3) + "u + (uint)get_num_groups(0), " +
              std::to_string(i % 31 + 1) + "u);\n  data[i] = value;\n}\n";
  }
  const std::vector<cl_uint> input = scrambled(size);
  const DeviceArray<cl_uint> data(session, CL_MEM_READ_WRITE, size);
  data.write(session, std::span(input));
  const Program program = session.build(source, "");
  for (std::size_t i = 0; i < launches; ++i) {
    const Kernel kernel = make_kernel(program, ("step" + std::to_string(i)).c_str());
    set_args(kernel, data, cl_uint{20});
    enqueue(session, kernel, {{size}, {64}});
  }
  std::vector<cl_uint> result(size);
  data.read(session, std::span(result));
  session.finish();
  return digest(result);
}

constexpr FirstProgram kPrograms[] = {
    {"one", "one kernel, built and launched three times", 1 << 15, 3, run_one},
    {"fft", "FFTs of 512 points, there and back, three of five kernels", 1 << 19, 4, run_fft},
    {"histogram", "a histogram by local memory and its sums", 1 << 22, 10, run_histogram},
    {"heat", "a stencil to and fro, with sources", 1024, 20, run_heat},
    {"many", "eight kernels, each launched once", 1 << 18, 8, run_many},
};

}  // namespace

std::span<const FirstProgram> first_programs() { return kPrograms; }

}  // namespace tutti::bench
