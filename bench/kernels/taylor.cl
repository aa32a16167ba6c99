// SPDX-License-Identifier: Apache-2.0
// sin(x + y) by its Taylor series in two variables about (0, 0): the sum over all i, j of
// x^i/i! * y^j/j! * d, where d is the sine's (i+j)-th derivative at 0: 0, 1, 0, -1, 0, ...
__kernel void taylor(__global const float2* restrict points, __global float* restrict out, int order,
                     uint n) {
  const uint item = get_global_id(0);
  if (item >= n) return;
  const float2 p = points[item];
  float sum = 0.0f;
  float x_power = 1.0f;
  for (int i = 0; i <= order; ++i) {
    float y_power = 1.0f;
    float row = 0.0f;
    for (int j = 0; i + j <= order; ++j) {
      const int turn = (i + j) & 3;
      if (turn == 1) row += y_power;
      if (turn == 3) row -= y_power;
      y_power *= p.y / (float)(j + 1);
    }
    sum += x_power * row;
    x_power *= p.x / (float)(i + 1);
  }
  out[item] = sum;
}
