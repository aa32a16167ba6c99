// SPDX-License-Identifier: Apache-2.0
// One step of gravity between all pairs: every item reads everything and writes its own elements.
// position.w is the mass; velocity.w is passed on.
__kernel void nbody(__global const float4* restrict position, __global const float4* restrict velocity,
                    __global float4* restrict new_position, __global float4* restrict new_velocity,
                    int n, float dt, float softening2) {
  const int i = get_global_id(0);
  if (i >= n) return;

  const float4 me = position[i];
  float ax = 0.0f;
  float ay = 0.0f;
  float az = 0.0f;
  for (int j = 0; j < n; ++j) {
    const float4 other = position[j];
    const float dx = other.x - me.x;
    const float dy = other.y - me.y;
    const float dz = other.z - me.z;
    const float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening2);
    const float s = other.w * inverse * inverse * inverse;
    ax += s * dx;
    ay += s * dy;
    az += s * dz;
  }

  float4 v = velocity[i];
  v.x += ax * dt;
  v.y += ay * dt;
  v.z += az * dt;
  new_velocity[i] = v;
  new_position[i] = (float4)(me.x + v.x * dt, me.y + v.y * dt, me.z + v.z * dt, me.w);
}
