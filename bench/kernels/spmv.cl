// SPDX-License-Identifier: Apache-2.0
// y = A * x, A in CSR form: reads through indices, each item writes its own element.
__kernel void spmv(__global const int* restrict row_start, __global const int* restrict column,
                   __global const float* restrict value, __global const float* restrict x,
                   __global float* restrict y, int rows) {
  const int row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = row_start[row]; k < row_start[row + 1]; ++k) sum += value[k] * x[column[k]];
  y[row] = sum;
}
