// SPDX-License-Identifier: Apache-2.0
// Escape times: irregular work, no reads, each item writes its own element.
#pragma OPENCL FP_CONTRACT OFF

__kernel void mandelbrot(__global int* restrict out, int width, int height, float left, float top,
                         float step, int limit) {
  const int x = get_global_id(0);
  const int y = get_global_id(1);
  if (x >= width || y >= height) return;

  const float cx = left + x * step;
  const float cy = top + y * step;
  float zx = 0.0f;
  float zy = 0.0f;
  int n = 0;
  while (n < limit && zx * zx + zy * zy <= 4.0f) {
    const float next = zx * zx - zy * zy + cx;
    zy = 2.0f * zx * zy + cy;
    zx = next;
    ++n;
  }
  out[y * width + x] = n;
}
