// SPDX-License-Identifier: Apache-2.0
// Many words searched in a text at once: Aho and Corasick's automaton without failure links (PFAC).
// An item begins at one byte of the text and follows the words' tree until no word goes on: work
// depends on the text. `next` has 256 entries per state, 0 where no word goes on (state 0 is the
// root, which nobody comes back to); `word` is 1 + the number of the word that ends at a state, or
// 0. The longest word that begins at a byte counts.
__kernel void aho(__global const uchar* restrict text, __global const uint* restrict next,
                  __global const uint* restrict word, __global uint* restrict found, uint length) {
  const uint begin = get_global_id(0);
  if (begin >= length) return;
  uint state = 0;
  uint longest = 0;
  for (uint i = begin; i < length; ++i) {
    state = next[256 * state + text[i]];
    if (state == 0) break;
    if (word[state] != 0) longest = word[state];
  }
  found[begin] = longest;
}
