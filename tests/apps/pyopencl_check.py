#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyOpenCL's arrays, elementwise kernels, reductions and scans on the virtual device, against numpy.

Integer results must be equal; float results within the rounding that another order of sums allows.
No number of Python's own meets a float array: PyOpenCL then makes kernels with double arguments, also
for devices without fp64 (it does so on Rusticl alone as well).
"""

import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pyopencl.clmath as cl_math
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import ExclusiveScanKernel, InclusiveScanKernel

SIZES = (1, 63, 1000, 100_003)


def equal(found, expected):
    np.testing.assert_array_equal(found, expected)


def close(found, expected, rtol=1e-5):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-6)


def check_arrays(queue, random):
    for n in SIZES:
        a = random.random(n, dtype=np.float32)
        b = random.random(n, dtype=np.float32)
        da = cl_array.to_device(queue, a)
        db = cl_array.to_device(queue, b)
        close((da + db).get(), a + b)
        close((da - db).get(), a - b)
        close((da / (db + da)).get(), a / (b + a))
        close((da * db + da).get(), a * b + a)
        da += cl_array.to_device(queue, np.ones(n, np.float32))
        close(da.get(), a + 1)
        equal((da > db).get().astype(bool), (a + 1) > b)
        close(cl_math.sqrt(db).get(), np.sqrt(b))
        close(cl_array.sum(db).get(), b.sum(), rtol=1e-4)
        close(cl_array.max(db).get(), b.max())
        close(cl_array.dot(da, db).get(), np.dot(a + 1, b), rtol=1e-4)
        equal(cl_array.arange(queue, n, dtype=np.int32).get(), np.arange(n, dtype=np.int32))
        equal(cl_array.zeros(queue, n, np.int32).get(), np.zeros(n, np.int32))
        index = random.permutation(n).astype(np.int32)
        equal(cl_array.take(db, cl_array.to_device(queue, index)).get(), b[index])
        equal(da[: n // 2].get(), (a + 1)[: n // 2])


def check_elementwise(context, queue, random):
    linear = ElementwiseKernel(
        context, "float a, float *x, float b, float *y, float *z", "z[i] = a*x[i] + b*y[i]",
        "linear")
    collatz = ElementwiseKernel(
        context, "uint *start, int *steps",
        "uint v = start[i]; int s = 0; while (v != 1) { v = v % 2 ? 3*v + 1 : v / 2; ++s; } steps[i] = s",
        "collatz")
    for n in SIZES:
        x = cl_array.to_device(queue, random.random(n, dtype=np.float32))
        y = cl_array.to_device(queue, random.random(n, dtype=np.float32))
        z = cl_array.empty_like(x)
        linear(5, x, 6, y, z)
        close(z.get(), 5 * x.get() + 6 * y.get())
    start = np.arange(1, 5001, dtype=np.uint32)
    steps = cl_array.zeros(queue, len(start), np.int32)
    collatz(cl_array.to_device(queue, start), steps)
    expected = []
    for value in start.tolist():
        count = 0
        while value != 1:
            value = 3 * value + 1 if value % 2 else value // 2
            count += 1
        expected.append(count)
    equal(steps.get(), expected)


def check_reduction(context, queue, random):
    dot = ReductionKernel(context, np.float32, neutral="0", reduce_expr="a+b",
                          map_expr="x[i]*y[i]", arguments="__global float *x, __global float *y")
    largest = ReductionKernel(context, np.int32, neutral="INT_MIN", reduce_expr="max(a, b)",
                              map_expr="x[i]", arguments="__global int *x")
    total = ReductionKernel(context, np.uint32, neutral="0", reduce_expr="a+b", map_expr="x[i]",
                            arguments="__global uint *x")
    for n in SIZES:
        x = random.random(n, dtype=np.float32)
        y = random.random(n, dtype=np.float32)
        close(dot(cl_array.to_device(queue, x), cl_array.to_device(queue, y)).get(),
              np.dot(x.astype(np.float64), y), rtol=1e-4)
        ints = random.integers(-2**31, 2**31, n, dtype=np.int32)
        equal(largest(cl_array.to_device(queue, ints)).get(), ints.max())
        uints = random.integers(0, 2**32, n, dtype=np.uint32)
        equal(total(cl_array.to_device(queue, uints)).get(), uints.sum(dtype=np.uint32))


def check_scan(context, queue, random):
    inclusive = InclusiveScanKernel(context, np.int32, "a+b", "0")
    exclusive = ExclusiveScanKernel(context, np.int32, "a+b", "0")
    running_max = InclusiveScanKernel(context, np.int32, "max(a, b)", "INT_MIN")
    for n in SIZES:
        values = random.integers(-1000, 1000, n, dtype=np.int32)
        expected = values.cumsum(dtype=np.int32)
        array = cl_array.to_device(queue, values)
        inclusive(array)
        equal(array.get(), expected)
        array = cl_array.to_device(queue, values)
        exclusive(array)
        equal(array.get(), expected - values)
        array = cl_array.to_device(queue, values)
        running_max(array)
        equal(array.get(), np.maximum.accumulate(values))


def main():
    platforms = cl.get_platforms()
    if [platform.name for platform in platforms] != ["Tutti"]:
        sys.exit(f"platforms: {platforms}")
    context = cl.Context(platforms[0].get_devices())
    queue = cl.CommandQueue(context)
    random = np.random.default_rng(20261121)
    for name, check, arguments in (
            ("arrays", check_arrays, (queue, random)),
            ("elementwise", check_elementwise, (context, queue, random)),
            ("reduction", check_reduction, (context, queue, random)),
            ("scan", check_scan, (context, queue, random))):
        check(*arguments)
        print(f"{name}: right")


if __name__ == "__main__":
    main()
