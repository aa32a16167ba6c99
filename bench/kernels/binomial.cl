// SPDX-License-Identifier: Apache-2.0
// European call options priced on a binomial lattice, one work-group each. An item holds one node
// of the current level in local memory; a level is the discounted mean of the next later one. An
// option is five floats: price and strike of the share, the step of its price's logarithm, and the
// discounted probabilities of going up and down. The local size must be STEPS + 1.
#define STEPS 255
#define FIELDS 5

__kernel __attribute__((reqd_work_group_size(STEPS + 1, 1, 1))) void binomial(
    __global const float* restrict options, __global float* restrict values) {
  __local float level[STEPS + 1];
  const int node = get_local_id(0);
  const int option = get_global_id(0) / (STEPS + 1);
  const float price = options[option * FIELDS];
  const float strike = options[option * FIELDS + 1];
  const float step = options[option * FIELDS + 2];
  const float up = options[option * FIELDS + 3];
  const float down = options[option * FIELDS + 4];

  float value = max(price * exp(step * (float)(2 * node - STEPS)) - strike, 0.0f);
  for (int last = STEPS; last > 0; --last) {
    level[node] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (node < last) value = up * level[node + 1] + down * value;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (node == 0) values[option] = value;
}
