#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenCV's transparent API: the same operations on a UMat (the virtual device) and on the CPU.

usage: opencv_check.py LEAST_SPLIT
"""

import sys

import split_report

# In a process of its own, since OpenCV chooses its device once. TOLERANCE: how many grey levels an
# element may differ, and how many in a thousand may differ by more (edges are decided by rounding).
CHILD = """
import sys
import cv2
import numpy

cv2.setNumThreads(1)
cv2.ocl.setUseOpenCL(True)
if not cv2.ocl.useOpenCL():
    sys.exit("OpenCV takes no OpenCL device")
print("device:", cv2.ocl.Device_getDefault().name())
random = numpy.random.default_rng(20)
image = cv2.GaussianBlur(random.integers(0, 256, (241, 323, 3), dtype=numpy.uint8), (0, 0), 1.5)
affine = numpy.float32([[0.9, 0.1, 3], [-0.1, 0.9, 5]])
operations = {
    "gaussian": (lambda m: cv2.GaussianBlur(m, (9, 9), 2), 1, 0),
    "resize": (lambda m: cv2.resize(m, (160, 100), interpolation=cv2.INTER_LINEAR), 1, 0),
    "grey": (lambda m: cv2.cvtColor(m, cv2.COLOR_BGR2GRAY), 0, 0),
    "median": (lambda m: cv2.medianBlur(m, 5), 0, 0),
    "canny": (lambda m: cv2.Canny(cv2.cvtColor(m, cv2.COLOR_BGR2GRAY), 50, 150), 0, 10),
    "warp": (lambda m: cv2.warpAffine(m, affine, (300, 200)), 8, 0),
    "erode": (lambda m: cv2.erode(m, numpy.ones((5, 5), numpy.uint8)), 0, 0),
    "filter": (lambda m: cv2.filter2D(m, -1, numpy.ones((7, 7), numpy.float32) / 49), 1, 0),
    "add": (lambda m: cv2.add(m, m), 0, 0),
    "threshold": (lambda m: cv2.threshold(m, 100, 255, cv2.THRESH_BINARY)[1], 0, 0),
    "bilateral": (lambda m: cv2.bilateralFilter(m, 5, 20, 20), 1, 0),
    "histogram": (lambda m: cv2.calcHist([m], [0], None, [256], [0, 256]), 0, 0),
}
wrong = 0
for name, (operation, tolerance, strays) in operations.items():
    expected = operation(image).astype(float)
    seen = operation(cv2.UMat(image)).get().astype(float)
    difference = abs(expected - seen)
    far = int((difference > tolerance).sum())
    if far * 1000 > strays * difference.size:
        print(f"{name}: {far} of {difference.size} elements differ, by up to {difference.max()}")
        wrong += 1
print(f"{len(operations) - wrong} of {len(operations)} operations agree with the CPU")
sys.exit(1 if wrong else 0)
"""


def main():
    # OpenCV takes GPUs only, unless told otherwise.
    text, entries = split_report.run([sys.executable, "-c", CHILD],
                                     environment={"TUTTI_DEVICE_TYPE": "gpu"})
    if "(Tutti" not in text:
        sys.exit(f"not on Tutti:\n{text}")
    print(text.strip())
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(int(sys.argv[1]))


if __name__ == "__main__":
    main()
