// SPDX-License-Identifier: Apache-2.0
// The block matching of BM3D: for each reference block of a grey image, the MOST most similar
// blocks in a window around it. A reference block begins at every STEP-th column and row. Blocks
// whose squared differences add up to more than `threshold` do not count, nor does the block itself.
// out: MOST pairs of distance and offset for each block, the nearest first, blocks in rows of
// `across`; an offset is (dy + WINDOW) * (2 * WINDOW + 1) + dx + WINDOW. Pairs left over are NONE.
#define BLOCK 8
#define STEP 3
#define WINDOW 9
#define MOST 8
#define NONE 0xffffffffu

__kernel void bm3d(__global const uchar* restrict image, __global uint2* restrict out, int width,
                   int height, int across, int down, uint threshold) {
  const int column = get_global_id(0);
  const int row = get_global_id(1);
  if (column >= across || row >= down) return;
  const int x = column * STEP;
  const int y = row * STEP;

  uint2 best[MOST];
  for (int i = 0; i < MOST; ++i) best[i] = (uint2)(NONE, NONE);
  for (int dy = max(-WINDOW, -y); dy <= min(WINDOW, height - BLOCK - y); ++dy) {
    for (int dx = max(-WINDOW, -x); dx <= min(WINDOW, width - BLOCK - x); ++dx) {
      if (dx == 0 && dy == 0) continue;
      // A block that is no better than the worst of the best, or not similar, is left early.
      const uint bound = min(best[MOST - 1].x, threshold + 1);
      uint distance = 0;
      for (int j = 0; j < BLOCK && distance < bound; ++j) {
        const int mine = (y + j) * width + x;
        const int other = mine + dy * width + dx;
        for (int i = 0; i < BLOCK; ++i) {
          const int difference = (int)image[mine + i] - (int)image[other + i];
          distance += difference * difference;
        }
      }
      if (distance >= bound) continue;
      int place = MOST - 1;
      while (place > 0 && best[place - 1].x > distance) {
        best[place] = best[place - 1];
        --place;
      }
      best[place] = (uint2)(distance, (dy + WINDOW) * (2 * WINDOW + 1) + dx + WINDOW);
    }
  }
  for (int i = 0; i < MOST; ++i) out[(row * across + column) * MOST + i] = best[i];
}
