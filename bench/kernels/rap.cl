// SPDX-License-Identifier: Apache-2.0
// Resource allocation problems, one per item: `budget` units are dealt out to projects so that the
// profits' sum is largest, by dynamic programming. A problem's projects are those from first[p] to
// first[p + 1]; profit has UNITS + 1 entries per kind of project, for 0 to UNITS units. Problems
// differ in projects and budget, so work is irregular.
#define UNITS 15
#define LARGEST_BUDGET 63

__kernel void rap(__global const uint* restrict first, __global const uint* restrict kind,
                  __global const uint* restrict weight, __global const uint* restrict budget,
                  __global const uint* restrict profit, __global uint* restrict out, uint n) {
  const uint p = get_global_id(0);
  if (p >= n) return;
  // best[b]: the most that the projects so far yield for b units.
  uint best[LARGEST_BUDGET + 1];
  const int units = min(budget[p], (uint)LARGEST_BUDGET);
  for (int b = 0; b <= units; ++b) best[b] = 0;
  for (uint project = first[p]; project < first[p + 1]; ++project) {
    __global const uint* mine = profit + kind[project] * (UNITS + 1);
    const uint factor = weight[project];
    for (int b = units; b > 0; --b) {
      uint most = best[b];
      for (int x = 1; x <= min(b, UNITS); ++x) most = max(most, best[b - x] + factor * mine[x]);
      best[b] = most;
    }
  }
  out[p] = best[units];
}
