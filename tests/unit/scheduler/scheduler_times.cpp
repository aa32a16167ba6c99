// SPDX-License-Identifier: Apache-2.0
// How long the scheduler's logic takes in the path of a launch.
#include <benchmark/benchmark.h>

#include "kernel_maker.h"
#include "scheduler/balance/balancer.h"
#include "scheduler/memory/residency_map.h"

namespace tutti::scheduler::test {
namespace {

/// if (i < n) out[i] = in[i], 1-D.
KernelMaker copy_kernel() {
  KernelMaker k;
  const auto in = k.buffer("in", 4 << 20);
  const auto out = k.buffer("out", 4 << 20);
  const auto n = k.scalar("n", 1 << 20);
  const auto i = k.trunc(k.gid(0));
  const std::vector<Guard> guards{{Compare::kSLt, i, k.arg(n)}};
  const auto offset = k.times(k.sext(i), 4);
  k.load(in, offset, 4, guards);
  k.store(out, offset, 4, guards);
  return k;
}

/// c[y·n + x] += a[y·n + k] · b[k·n + x], 2-D with guards on both.
KernelMaker gemm_kernel() {
  KernelMaker k;
  const auto a = k.buffer("a", 4 << 20);
  const auto b = k.buffer("b", 4 << 20);
  const auto c = k.buffer("c", 4 << 20);
  const auto n = k.arg(k.scalar("n", 1024));
  const auto x = k.trunc(k.gid(0));
  const auto y = k.trunc(k.gid(1));
  const std::vector<Guard> guards{{Compare::kSLt, x, n}, {Compare::kSLt, y, n}};
  const auto loop = k.add_loop(k.plus(n, -1));
  const auto row = k.mul(y, n);
  const auto inner = k.loop(loop, 32);
  k.load(a, k.times(k.sext(k.add(row, inner)), 4), 4, guards, {loop});
  k.load(b, k.times(k.sext(k.add(k.mul(inner, n), x)), 4), 4, guards, {loop});
  k.store(c, k.times(k.sext(k.add(row, x)), 4), 4, guards);
  return k;
}

/// A five-point stencil with the folded border guards.
KernelMaker stencil_kernel() {
  KernelMaker k;
  const auto in = k.buffer("in", 4 << 20);
  const auto out = k.buffer("out", 4 << 20);
  const auto n = k.arg(k.scalar("n", 1024));
  const auto x = k.trunc(k.gid(0));
  const auto y = k.trunc(k.gid(1));
  const std::vector<Guard> guards{{Compare::kULt, k.plus(x, -1), k.plus(n, -2)},
                                  {Compare::kULt, k.plus(y, -1), k.plus(n, -2)}};
  const auto centre = k.add(k.mul(y, n), x);
  for (const auto at :
       {centre, k.plus(centre, 1), k.plus(centre, -1), k.add(centre, n), k.sub(centre, n)}) {
    k.load(in, k.times(k.sext(at), 4), 4, guards);
  }
  k.store(out, k.times(k.sext(centre), 4), 4, guards);
  return k;
}

/// for (i = gid; i < n; i += global size) out[i] = …: strips.
KernelMaker grid_stride_kernel() {
  KernelMaker k;
  const auto out = k.buffer("out", 16 << 20);
  const auto n = k.arg(k.scalar("n", 4 << 20));
  const auto last = k.op(ExprKind::kUDiv, k.sub(k.plus(k.zext(n), -1), k.gid(0)), k.global_size(0));
  const auto loop = k.add_loop(last, false);
  const auto i = k.add(k.gid(0), k.mul(k.loop(loop), k.global_size(0)));
  k.store(out, k.times(i, 4), 4, {{Compare::kULt, k.gid(0), k.zext(n)}}, {loop});
  return k;
}

/// out[index[i]] = in[i]: compared.
KernelMaker scatter_kernel() {
  KernelMaker k;
  const auto index = k.buffer("index", 4 << 20);
  const auto out = k.buffer("out", 4 << 20);
  k.load(index, k.times(k.gid(0), 4));
  k.store(out, k.times(k.sext(k.unknown(32)), 4));
  return k;
}

void evaluate(benchmark::State& state, const KernelMaker& kernel, const LaunchShape& shape) {
  const auto values = kernel.values();
  auto k = kernel;
  for (auto _ : state) {
    benchmark::DoNotOptimize(LaunchAccess::evaluate(k.summary(), shape, values));
  }
}

void package(benchmark::State& state, const KernelMaker& kernel, const LaunchShape& shape) {
  const auto access = kernel.evaluate(shape);
  if (access.verdict().mode == MergeMode::kWhole) state.SkipWithError("not split");
  for (auto _ : state) {
    benchmark::DoNotOptimize(access.package(access.verdict().dimension, 3, 5));
  }
}

const LaunchShape k1d = launch_1d(1 << 20, 256);
const LaunchShape k2d = launch_2d(1024, 1024, 16, 16);

BENCHMARK_CAPTURE(evaluate, copy, copy_kernel(), k1d);
BENCHMARK_CAPTURE(evaluate, gemm, gemm_kernel(), k2d);
BENCHMARK_CAPTURE(evaluate, stencil, stencil_kernel(), k2d);
BENCHMARK_CAPTURE(evaluate, grid_stride, grid_stride_kernel(), k1d);
BENCHMARK_CAPTURE(evaluate, scatter, scatter_kernel(), k1d);
BENCHMARK_CAPTURE(package, copy, copy_kernel(), k1d);
BENCHMARK_CAPTURE(package, gemm, gemm_kernel(), k2d);
BENCHMARK_CAPTURE(package, stencil, stencil_kernel(), k2d);
BENCHMARK_CAPTURE(package, grid_stride, grid_stride_kernel(), k1d);

void residency_whole(benchmark::State& state) {
  ResidencyMap map(1 << 20);
  for (auto _ : state) {
    map.set_exclusive(1, 0, 1 << 20);
    benchmark::DoNotOptimize(map.valid_at(1, 0, 1 << 20));
    map.add_copy(kHostPlace, 0, 1 << 20);
    benchmark::DoNotOptimize(map.valid_everywhere_in(0, 1 << 20));
  }
}
BENCHMARK(residency_whole);

void residency_pieces(benchmark::State& state) {
  const auto pieces = static_cast<uint64_t>(state.range(0));
  ResidencyMap map(pieces * 4096);
  for (auto _ : state) {
    for (uint64_t i = 0; i < pieces; ++i) {
      map.set_exclusive(1 + static_cast<Place>(i % 2), i * 4096, (i + 1) * 4096);
    }
    benchmark::DoNotOptimize(map.missing_at(kHostPlace, 0, map.size()));
  }
}
BENCHMARK(residency_pieces)->Arg(4)->Arg(64);

void residency_columns(benchmark::State& state) {
  const auto rows = static_cast<uint64_t>(state.range(0));
  ResidencyMap map(rows * 8192);
  const ByteStrips left{{0, map.size()}, 0, 8192, 4096}, right{{0, map.size()}, 4096, 8192, 4096};
  for (auto _ : state) {
    map.set_exclusive(1, 0, map.size() / 2);
    map.set_exclusive(2, map.size() / 2, map.size());
    map.add_copy(kHostPlace, left);
    map.add_copy(1, left);
    map.add_copy(2, right);
    map.set_exclusive(1, left);
    map.set_exclusive(2, right);
    benchmark::DoNotOptimize(map.missing_at(kHostPlace, 0, map.size()));
  }
}
BENCHMARK(residency_columns)->Arg(2048);

void sigmoid_launch(benchmark::State& state) {
  int packages = 0;
  for (auto _ : state) {
    const auto balancer = make_balancer({}, 4096, {{1, 1}, {1, 1}});
    uint64_t left = 4096;
    packages = 0;
    for (double now = 0; left > 0; now += 1) {
      const auto device = static_cast<uint32_t>(packages++ % 2);
      const uint64_t count = balancer->next_package(device, left, now);
      balancer->finished({device, count, now, now + static_cast<double>(count)});
      left -= count;
    }
  }
  state.counters["packages"] = packages;
}
BENCHMARK(sigmoid_launch);

}  // namespace
}  // namespace tutti::scheduler::test
