// SPDX-License-Identifier: Apache-2.0
// Breadth-first search by levels over a graph in compressed rows. Flags, one byte per vertex, tell
// who is in the frontier, who comes next and who was reached. A vertex may be found by several
// others in one launch: each of them writes the same 1.
#define UNREACHED 0xffffffffu

__kernel void bfs_start(__global uint* restrict level, __global uchar* restrict frontier,
                        __global uchar* restrict next, __global uchar* restrict reached,
                        uint source, uint n) {
  const uint v = get_global_id(0);
  if (v >= n) return;
  level[v] = v == source ? 0 : UNREACHED;
  frontier[v] = v == source;
  next[v] = 0;
  reached[v] = v == source;
}

__kernel void bfs_expand(__global const uint* restrict first_edge,
                         __global const uint* restrict target, __global uchar* restrict frontier,
                         __global uchar* restrict next, __global const uchar* restrict reached,
                         uint n) {
  const uint v = get_global_id(0);
  if (v >= n || !frontier[v]) return;
  frontier[v] = 0;
  for (uint edge = first_edge[v]; edge < first_edge[v + 1]; ++edge) {
    const uint other = target[edge];
    if (!reached[other]) next[other] = 1;
  }
}

__kernel void bfs_advance(__global uint* restrict level, __global uchar* restrict frontier,
                          __global uchar* restrict next, __global uchar* restrict reached,
                          __global uint* restrict found, uint depth, uint n) {
  const uint v = get_global_id(0);
  if (v >= n || !next[v]) return;
  next[v] = 0;
  frontier[v] = 1;
  reached[v] = 1;
  level[v] = depth;
  *found = 1;
}
