#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pyclesperanto: filters, morphology, thresholds, labels, projections and a rotation of pictures in two
and three dimensions: as numpy computes them here, and byte for byte what the vendor's driver gives
without Tutti. Its wheels come from the package index.

usage: pyclesperanto_check.py FOLDER LEAST_SPLIT      keeps the wheels in FOLDER
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import package_index
import split_report

VERSION = "0.25.1"
KERNELS = {  # pyclesperanto_opencl, by interpreter: Debian 12's, Debian 13's
    "cp311": "1d16ba1b5978b263cf87bd958e7a2d4bde6b75497d488ce2f064765c6ef0ccb0",
    "cp313": "2f3ba3bbd900457cb3e9fd25bc010e78b103a4ba1f3bb12b60a3a52072c45f4b",
}
PLAIN = {  # project: file, SHA-256
    "pyclesperanto": (f"pyclesperanto-{VERSION}-py3-none-any.whl",
                      "2992b3361e316da85f0d60f8c5395baaf7f36e3b643958807d4b0d3743b823c3"),
    "toolz": ("toolz-1.2.0-py3-none-any.whl",
              "890f820b1cb8152785aaf9386d8707770110809035800985ca65cb24ce1120ef"),
}
SHAPES = ((101, 67), (13, 45, 39))

# The pictures are the first two arrays of the file. Smooth ones have few labels.
CHILD = """
import sys
import numpy
import pyclesperanto as cle

cle.select_device()
random = numpy.random.default_rng(5)
out = {}
for shape in SHAPES:
    a, b = (random.random(shape, dtype=numpy.float32) for _ in range(2))
    z = 2 if len(shape) == 3 else 0
    ga, gb = cle.push(a), cle.push(b)
    smooth = cle.gaussian_blur(ga, sigma_x=2, sigma_y=2, sigma_z=z)
    mask = cle.threshold_otsu(smooth)
    results = {
        "a": a, "b": b, "smooth": smooth, "mask": mask,
        "weighted": cle.add_images_weighted(ga, gb, factor1=2, factor2=-1),
        "product": cle.multiply_images(ga, gb),
        "maximum": cle.maximum_box(ga, radius_x=2, radius_y=2, radius_z=z),
        "mean": cle.mean_box(ga, radius_x=2, radius_y=2, radius_z=z),
        "median": cle.median_box(ga, radius_x=1, radius_y=1, radius_z=min(z, 1)),
        "top hat": cle.top_hat_box(ga, radius_x=3, radius_y=3, radius_z=z),
        "difference": cle.difference_of_gaussian(ga, sigma1_x=1, sigma1_y=1, sigma1_z=z / 2,
                                                 sigma2_x=2, sigma2_y=2, sigma2_z=z),
        "labels": cle.connected_component_labeling(mask),
        "voronoi": cle.voronoi_otsu_labeling(ga, spot_sigma=2, outline_sigma=2),
        "rotated": cle.rotate(ga, angle_z=30),
        "transposed": cle.transpose_xy(ga),
        "sum along y": cle.sum_y_projection(ga),
        "maximum along x": cle.maximum_x_projection(ga),
        "sum": numpy.array(cle.sum_of_all_pixels(ga)),
    }
    for name, result in results.items():
        out[f"{name} {len(shape)}"] = numpy.asarray(
            result if isinstance(result, numpy.ndarray) else cle.pull(result))
numpy.savez(sys.argv[1], **out)
""".replace("SHAPES", repr(SHAPES))


def windows(picture, radii):
    """Each element's neighbours, in a last axis; the edge goes on outside."""
    padded = np.pad(picture, [(radius, radius) for radius in radii], mode="edge")
    seen = sliding_window_view(padded, [2 * radius + 1 for radius in radii])
    return seen.reshape(*picture.shape, -1)


def gaussian(picture, sigmas):
    result = picture.astype(float)
    for axis, sigma in enumerate(sigmas):
        if sigma:
            radius = int(sigma * 8) // 2  # CLIc's
            weights = np.exp(-np.arange(-radius, radius + 1) ** 2 / (2 * sigma**2))
            radii = [radius if other == axis else 0 for other in range(picture.ndim)]
            result = windows(result, radii) @ (weights / weights.sum())
    return result


def components(mask):
    """Labels of what touches, at corners, too: the least index of each."""
    nothing = mask.size + 1
    labels = np.where(mask, np.arange(1, nothing).reshape(mask.shape), nothing)
    while True:
        least = np.where(mask, windows(labels, (1,) * mask.ndim).min(-1), nothing)
        if (least == labels).all():
            return np.where(mask, labels, 0)
        labels = least


def otsu(picture):
    """The threshold that sets its histogram's halves apart most."""
    counts, edges = np.histogram(picture, 256)
    centres = (edges[1:] + edges[:-1]) / 2
    below, above = np.cumsum(counts), counts.sum() - np.cumsum(counts)
    moment = np.cumsum(counts * centres)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = below * above * (moment / below - (moment[-1] - moment) / above) ** 2
    return centres[np.nanargmax(apart)]


def expected(a, b):
    box = {2: (2, 2), 3: (2, 2, 2)}[a.ndim]
    small = (1,) * a.ndim
    large = {2: (3, 3), 3: (2, 3, 3)}[a.ndim]
    eroded = windows(a, large).min(-1)
    return {
        "smooth": gaussian(a, box), "weighted": 2 * a - b, "product": a * b,
        "maximum": windows(a, box).max(-1), "mean": windows(a, box).mean(-1),
        "median": np.median(windows(a, small), -1),
        "top hat": a - windows(eroded, large).max(-1),
        "difference": gaussian(a, small) - gaussian(a, box),
        "transposed": a.swapaxes(-1, -2), "sum along y": a.sum(-2), "maximum along x": a.max(-1),
        "sum": a.sum(dtype=float),
    }


def check(found, dimensions):
    """How many results agree with numpy's."""
    of = {name.rsplit(" ", 1)[0]: found[name] for name in found if name.endswith(f" {dimensions}")}
    right = expected(of["a"], of["b"])
    for name, value in right.items():
        seen = of[name].squeeze()
        if seen.shape != value.shape or not np.allclose(seen, value, rtol=1e-4, atol=1e-5):
            sys.exit(f"{name} in {dimensions} dimensions: {seen.shape}, {value.shape}, by up to "
                     f"{abs(seen - value).max() if seen.shape == value.shape else '?'}")
    # A mask is right when one threshold explains it, within a step of the histogram of Otsu's.
    smooth, mask = of["smooth"], of["mask"].astype(bool)
    step = (smooth.max() - smooth.min()) / 256
    if (smooth[~mask].max() > smooth[mask].min() or
            not smooth[~mask].max() - 2 * step < otsu(smooth) < smooth[mask].min() + 2 * step):
        sys.exit(f"not Otsu's threshold: {smooth[~mask].max()} to {smooth[mask].min()}, not {otsu(smooth)}")
    labels, parts = of["labels"], components(mask)
    pairs = len(np.unique(np.stack([labels.ravel(), parts.ravel()]), axis=1).T)
    if pairs != len(np.unique(labels)) or pairs != len(np.unique(parts)):
        sys.exit(f"{len(np.unique(labels))} labels for {len(np.unique(parts))} components")
    return len(right) + 2


def wheels(folder):
    tag = package_index.python_tag()
    yield package_index.fetch(
        folder, "pyclesperanto-opencl",
        f"pyclesperanto_opencl-{VERSION}-{tag}-{tag}-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        package_index.known(KERNELS, tag))
    for project, (name, digest) in PLAIN.items():
        yield package_index.fetch(folder, project, name, digest)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for wheel in wheels(Path(sys.argv[1])):
            package_index.unpack_wheel(wheel, folder)
        # It asks for a class of matplotlib's at once, to show pictures with, which nobody does here.
        (folder / "matplotlib").mkdir()
        (folder / "matplotlib" / "__init__.py").touch()
        (folder / "matplotlib" / "colors.py").write_text("ListedColormap = None\n")
        # Its cache of compiled kernels lies in the home, and must not hide builds.
        environment = {"PYTHONPATH": temporary, "HOME": temporary}
        command = [sys.executable, "-B", "-W", "ignore", "-c", CHILD]
        _, entries = split_report.run([*command, folder / "together.npz"], environment=environment)
        split_report.run_natively([*command, folder / "alone.npz"],
                                  environment={**environment, "HOME": str(folder / "alone")})
        found, alone = ({**np.load(folder / f"{name}.npz")} for name in ("together", "alone"))
    for name, result in alone.items():
        if result.dtype != found[name].dtype or result.tobytes() != found[name].tobytes():
            sys.exit(f"{name}: not what the vendor's driver gives without Tutti")
    agree = sum(check(found, len(shape)) for shape in SHAPES)
    print(f"{len(found)} results as without Tutti, {agree} of them as numpy's")
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(int(sys.argv[2]))


if __name__ == "__main__":
    main()
