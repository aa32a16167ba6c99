// SPDX-License-Identifier: Apache-2.0
// Bitonic sort, ascending. An item has a pair of elements; a group of SPAN / 2 items does in local
// memory what stays within SPAN elements. `data` has a power of two of elements, SPAN at least:
// what the input lacks is filled with the largest key.
#define SPAN 512

void order_pair(__local uint* keys, uint low, uint distance, bool ascending) {
  const uint a = keys[low];
  const uint b = keys[low + distance];
  if ((a > b) == ascending) {
    keys[low] = b;
    keys[low + distance] = a;
  }
}

// The lower element of pair `pair` when partners are `distance`, a power of two, apart.
uint lower_of(uint pair, uint distance) {
  return 2 * pair - (pair & (distance - 1));
}

// Sorts each SPAN, alternately ascending and descending.
__kernel __attribute__((reqd_work_group_size(SPAN / 2, 1, 1))) void sort_spans(
    __global const uint* restrict in, __global uint* restrict data, uint n) {
  __local uint keys[SPAN];
  const uint lid = get_local_id(0);
  const uint begin = get_group_id(0) * SPAN;
  for (uint i = lid; i < SPAN; i += SPAN / 2) {
    keys[i] = begin + i < n ? in[begin + i] : 0xffffffffu;
  }
  for (uint width = 2; width <= SPAN; width *= 2) {
    for (uint distance = width / 2; distance > 0; distance /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint low = lower_of(lid, distance);
      order_pair(keys, low, distance, ((begin + low) & width) == 0);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  data[begin + lid] = keys[lid];
  data[begin + lid + SPAN / 2] = keys[lid + SPAN / 2];
}

// One step of merging runs of `width`, between partners that are SPAN or more apart.
__kernel void sort_step(__global uint* restrict data, uint width, uint distance) {
  const uint low = lower_of(get_global_id(0), distance);
  const uint a = data[low];
  const uint b = data[low + distance];
  if ((a > b) == ((low & width) == 0)) {
    data[low] = b;
    data[low + distance] = a;
  }
}

// The remaining steps of merging runs of `width`, all within a SPAN.
__kernel __attribute__((reqd_work_group_size(SPAN / 2, 1, 1))) void sort_finish(
    __global uint* restrict data, uint width) {
  __local uint keys[SPAN];
  const uint lid = get_local_id(0);
  const uint begin = get_group_id(0) * SPAN;
  const bool ascending = (begin & width) == 0;
  keys[lid] = data[begin + lid];
  keys[lid + SPAN / 2] = data[begin + lid + SPAN / 2];
  for (uint distance = SPAN / 2; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    order_pair(keys, lower_of(lid, distance), distance, ascending);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  data[begin + lid] = keys[lid];
  data[begin + lid + SPAN / 2] = keys[lid + SPAN / 2];
}
