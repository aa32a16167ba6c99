// SPDX-License-Identifier: Apache-2.0
// A ray tracer: spheres that mirror each other above a chequered plane, sun and shadows. Each item
// follows one ray from bounce to bounce, so work is irregular. A sphere is two float4: centre and
// radius; colour and how much it mirrors (0 to 1). A pixel is RGBA, red in the lowest byte.
#define NEAREST 0.001f
#define FARTHEST 60.0f

// The distance to a sphere along a ray of unit direction; FARTHEST when it is not met before.
float sphere_distance(float4 sphere, float3 origin, float3 direction) {
  const float3 to_centre = sphere.xyz - origin;
  const float along = dot(to_centre, direction);
  const float3 aside = to_centre - along * direction;
  const float inside = sphere.w * sphere.w - dot(aside, aside);
  if (inside <= 0.0f) return FARTHEST;
  const float root = sqrt(inside);
  if (along - root > NEAREST) return along - root;
  return along + root > NEAREST ? along + root : FARTHEST;
}

__kernel void ray(__global const float4* restrict spheres, __global uint* restrict out, int count,
                  int bounces, int width, int height) {
  const int column = get_global_id(0);
  const int row = get_global_id(1);
  if (column >= width || row >= height) return;

  const float3 sun = (float3)(0.48f, 0.80f, -0.36f);
  float3 origin = (float3)(0.17f, 2.03f, -9.11f);
  float3 direction = normalize((float3)((2 * column + 1 - width) / (float)width,
                                        (height - 2 * row - 1) / (float)width - 0.1f, 1.5f));
  float3 colour = (float3)(0.0f);
  float3 strength = (float3)(1.0f);
  for (int bounce = 0; bounce <= bounces; ++bounce) {
    int met = -1;
    float distance = FARTHEST;
    for (int i = 0; i < count; ++i) {
      const float one = sphere_distance(spheres[2 * i], origin, direction);
      if (one < distance) {
        distance = one;
        met = i;
      }
    }
    const float plane = direction.y < 0.0f ? -origin.y / direction.y : FARTHEST;
    const bool on_plane = plane > NEAREST && plane < distance;
    if (on_plane) distance = plane;
    if (distance >= FARTHEST) {
      colour += strength * mix((float3)(0.9f, 0.9f, 1.0f), (float3)(0.2f, 0.4f, 0.9f),
                               max(direction.y, 0.0f));
      break;
    }

    const float3 point = origin + distance * direction;
    float3 normal = (float3)(0.0f, 1.0f, 0.0f);
    float4 paint;
    if (on_plane) {
      // Askew, so that no edge of the chequers follows a row of pixels.
      const int odd = ((int)floor(0.8f * point.x + 0.6f * point.z) +
                       (int)floor(0.8f * point.z - 0.6f * point.x)) & 1;
      paint = odd ? (float4)(0.85f, 0.85f, 0.8f, 0.1f) : (float4)(0.15f, 0.15f, 0.2f, 0.1f);
    } else {
      normal = (point - spheres[2 * met].xyz) / spheres[2 * met].w;
      paint = spheres[2 * met + 1];
    }
    float light = max(dot(normal, sun), 0.0f);
    for (int i = 0; i < count && light > 0.0f; ++i) {
      if (sphere_distance(spheres[2 * i], point, sun) < FARTHEST) light = 0.0f;
    }
    colour += strength * paint.xyz * ((0.15f + 0.85f * light) * (1.0f - paint.w));
    strength *= paint.w;
    if (strength.x < 0.01f) break;
    origin = point;
    direction -= 2.0f * dot(direction, normal) * normal;
  }
  const uint4 pixel = convert_uint4(convert_uchar4_sat_rte((float4)(colour, 1.0f) * 255.0f));
  out[row * width + column] = pixel.x | pixel.y << 8 | pixel.z << 16 | pixel.w << 24;
}
