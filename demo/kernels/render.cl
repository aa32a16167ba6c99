// SPDX-License-Identifier: Apache-2.0
// A view of the Mandelbrot set, coloured by smooth escape time and lit as a relief by the distance
// estimate. Eight samples per pixel run in the eight lanes of a vector.
//
// The arithmetic is addition, multiplication and comparison of floats only (no division, root or
// built-in function, no fusing), which IEEE 754 defines to the last bit: every conforming device
// computes the same picture.
#pragma OPENCL FP_CONTRACT OFF

#define BAILOUT 65536.0f  // radius 256, squared; its logarithm is in smooth_time

/// 1/sqrt(x) for normal x > 0: an estimate from the bits, and Newton's iteration.
float inverse_root(float x) {
  float y = as_float(0x5f375a86 - (as_int(x) >> 1));
  for (int i = 0; i < 4; ++i) y = y * (1.5f - 0.5f * x * y * y);
  return y;
}

/// log2(x) for normal x > 0, to about 1e-5: the exponent, and a polynomial over the mantissa that is
/// exact at both ends.
float logarithm(float x) {
  const int bits = as_int(x);
  const float u = as_float((bits & 0x007fffff) | 0x3f800000) - 1.0f;
  float q = 0.02569126f;
  q = q * u - 0.09720183f;
  q = q * u + 0.18410083f;
  q = q * u - 0.27656950f;
  q = q * u + 0.44265407f;
  return (float)((bits >> 23) - 127) + u * (1.0f + (1.0f - u) * q);
}

float ramp(float t, float from, float inverse_width) {
  const float u = clamp((t - from) * inverse_width, 0.0f, 1.0f);
  return u * u * (3.0f - 2.0f * u);
}

float3 blend(float3 a, float3 b, float t) { return a + (b - a) * t; }

/// A cycle of colours over t in [0, 1), in linear light.
float3 palette(float t) {
  const float3 night = (float3)(0.002f, 0.008f, 0.045f);
  const float3 blue = (float3)(0.015f, 0.130f, 0.520f);
  const float3 ice = (float3)(0.820f, 0.950f, 1.000f);
  const float3 gold = (float3)(1.000f, 0.420f, 0.020f);
  const float3 wine = (float3)(0.130f, 0.006f, 0.016f);
  float3 colour = blend(night, blue, ramp(t, 0.00f, 1.0f / 0.22f));
  colour = blend(colour, ice, ramp(t, 0.22f, 1.0f / 0.23f));
  colour = blend(colour, gold, ramp(t, 0.45f, 1.0f / 0.20f));
  colour = blend(colour, wine, ramp(t, 0.65f, 1.0f / 0.18f));
  return blend(colour, night, ramp(t, 0.83f, 1.0f / 0.17f));
}

/// The colour of one sample that ended at z with derivative d after n iterations.
float3 shade(int n, int limit, float zx, float zy, float dx, float dy, float pixels_per_unit) {
  const float z2 = zx * zx + zy * zy;
  if (n >= limit || z2 <= BAILOUT) return (float3)(0.0f, 0.0f, 0.004f);

  const float log_z2 = logarithm(z2);
  const float time = (float)n + 1.0f - logarithm(log_z2 * 0.0625f);
  const float turns = 0.62f * logarithm(time + 8.0f) + 0.10f;
  float3 colour = palette(turns - (float)(int)turns);

  // The gradient of the potential points along z/d: the slope's direction for the light.
  const float inverse_d = inverse_root(dx * dx + dy * dy + 1e-20f);
  const float ux = dx * inverse_d;
  const float uy = dy * inverse_d;
  const float inverse_z = inverse_root(z2);
  const float nx = (zx * ux + zy * uy) * inverse_z;
  const float ny = (zy * ux - zx * uy) * inverse_z;
  const float lambert = (nx * -0.60f + ny * -0.64f + 1.15f) * (1.0f / 2.03f);
  const float shine = lambert * lambert;
  colour *= 0.28f + 0.95f * lambert;
  colour += (float3)(0.30f, 0.26f, 0.20f) * (shine * shine * shine * shine);

  // Distance to the set in pixels: the set's hairs darken instead of flickering.
  const float distance =
      z2 * inverse_z * log_z2 * 0.34657359f * inverse_d * pixels_per_unit;
  return colour * (0.12f + 0.88f * ramp(distance, 0.0f, 0.5f));
}

uint channel(float linear) {
  const float x = clamp(linear, 0.0f, 1.0f) + 1e-12f;
  return (uint)(x * inverse_root(x) * 255.0f + 0.5f);
}

__kernel void render(__global uint* restrict image, int width, int height, float centre_x,
                     float centre_y, float step, float pixels_per_unit, int limit) {
  const int x = get_global_id(0);
  const int y = get_global_id(1);
  if (x >= width || y >= height) return;

  // One sample in every eighth of the pixel's rows and columns.
  const float8 jitter_x = (float8)(0.0625f, 0.4375f, 0.8125f, 0.1875f, 0.5625f, 0.9375f, 0.3125f,
                                   0.6875f);
  const float8 jitter_y = (float8)(0.0625f, 0.1875f, 0.3125f, 0.4375f, 0.5625f, 0.6875f, 0.8125f,
                                   0.9375f);
  const float8 cx = centre_x + ((float)(2 * x - width) * 0.5f + jitter_x) * step;
  const float8 cy = centre_y - ((float)(2 * y - height) * 0.5f + jitter_y) * step;
  float8 zx = 0.0f;
  float8 zy = 0.0f;
  float8 dx = 0.0f;
  float8 dy = 0.0f;
  int8 count = 0;
  int8 running = -1;
  for (int n = 0; n < limit && any(running); ++n) {
    const float8 next_dx = 2.0f * (zx * dx - zy * dy) + 1.0f;
    const float8 next_dy = 2.0f * (zx * dy + zy * dx);
    const float8 next_zx = zx * zx - zy * zy + cx;
    const float8 next_zy = 2.0f * zx * zy + cy;
    dx = select(dx, next_dx, running);
    dy = select(dy, next_dy, running);
    zx = select(zx, next_zx, running);
    zy = select(zy, next_zy, running);
    count -= running;
    running = zx * zx + zy * zy <= BAILOUT;
  }

  float3 sum = 0.0f;
#define ADD(lane)                                                                        \
  sum += shade(count.lane, limit, zx.lane, zy.lane, dx.lane, dy.lane, pixels_per_unit)
  ADD(s0);
  ADD(s1);
  ADD(s2);
  ADD(s3);
  ADD(s4);
  ADD(s5);
  ADD(s6);
  ADD(s7);
#undef ADD
  sum *= 0.125f;
  image[y * width + x] =
      channel(sum.x) | channel(sum.y) << 8 | channel(sum.z) << 16 | 0xff000000u;
}
