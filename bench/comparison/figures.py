# SPDX-License-Identifier: Apache-2.0
"""The arithmetic: from the samples of one kernel to medians, speed-ups and efficiencies."""

from statistics import median


def middle(values):
    return median(values) if values else None


def status(samples):
    if samples.failure is not None:
        return samples.failure
    return "right" if samples.total_ms else "not run"


def of_kernel(kernel, configurations, samples, time):
    """One kernel's entry of the JSON. `time`: total or kernel."""
    entries = []
    for one in configurations:
        mine = samples[one.name]
        entries.append({
            "name": one.name,
            "kind": one.kind,
            "status": status(mine),
            "total_ms": mine.total_ms,
            "kernel_ms": mine.kernel_ms,
            "median_total_ms": middle(mine.total_ms),
            "median_kernel_ms": middle(mine.kernel_ms),
            "packages": middle(mine.packages),
            "balance": middle(mine.balance),
            "reason": mine.reason,
        })
    key = f"median_{time}_ms"
    alone = [entry[key] for entry in entries if entry["kind"] == "device" and usable(entry)]
    complete = len(alone) == sum(entry["kind"] == "device" for entry in entries)
    best = min(alone) if alone else None
    # All devices busy from beginning to end: speeds add up.
    ideal = 1 / sum(1 / value for value in alone) if alone and complete else None
    for entry in entries:
        mine = entry[key] if usable(entry) else None
        entry["speedup"] = best / mine if mine and best else None
        entry["efficiency"] = ideal / mine if mine and ideal and entry["kind"] != "device" else None
    sizes = [samples[one.name].size for one in configurations if samples[one.name].size]
    return {
        "kernel": kernel.name,
        "size": sizes[0] if sizes else kernel.size,
        "best_device_ms": best,
        "ideal_ms": ideal,
        "largest_speedup": best / ideal if ideal else None,
        "configurations": entries,
    }


def usable(entry):
    return entry["status"] == "right"


def all_right(result):
    return all(entry["status"] in ("right", "not divided") or entry["kind"] == "socl"
               for kernel in result["kernels"] for entry in kernel["configurations"])
