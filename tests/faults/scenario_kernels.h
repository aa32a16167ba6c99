// SPDX-License-Identifier: Apache-2.0
// The scenarios' kernels, in one program, so that vendors compile it once.
#pragma once

namespace tutti::faults {

inline constexpr char kKernels[] = R"(
kernel void in_place(global uint* x) {
  const size_t i = get_global_id(0);
  x[i] = x[i] * 3 + 1;
}
kernel void add(global const uint* a, global const uint* b, global uint* out) {
  const size_t i = get_global_id(0);
  out[i] = a[i] + b[i];
}
kernel void next(global const uint* in, global uint* out, uint step) {
  const size_t i = get_global_id(0);
  out[i] = in[i] * 5 + step;
}
kernel void neighbours(global const uint* in, global uint* out, uint n) {
  const size_t i = get_global_id(0);
  const uint left = i > 0 ? in[i - 1] : 0, right = i + 1 < n ? in[i + 1] : 0;
  out[i] = left + 2 * in[i] + right;
}
kernel void count(global const uint* in, global uint* counters) {
  atomic_add(&counters[in[get_global_id(0)] % 16], 1u);
}
kernel void greatest(global const uint* in, global uint* most) {
  const uint value = in[get_global_id(0)];
  atomic_max(&most[value % 16], value);
}
kernel void scatter(global const uint* where, global const uint* in, global uint* out) {
  const size_t i = get_global_id(0);
  out[where[i]] = in[i] + 7;
}
kernel void to_image(global const uint* in, write_only image2d_t out, uint width) {
  const int x = get_global_id(0) % width, y = get_global_id(0) / width;
  write_imageui(out, (int2)(x, y), (uint4)(in[get_global_id(0)] + 1, 0, 0, 0));
}
kernel void from_image(read_only image2d_t in, global uint* out, uint width) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  const int x = get_global_id(0) % width, y = get_global_id(0) / width;
  out[get_global_id(0)] = read_imageui(in, s, (int2)(x, y)).x * 2;
}
)";

}  // namespace tutti::faults
