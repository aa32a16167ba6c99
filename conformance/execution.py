# SPDX-License-Identifier: Apache-2.0
"""Runs cases: one process each, several at a time, with limits, natively or under Tutti."""

import concurrent.futures
import dataclasses
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import suites

VENDOR_FILES = {"pocl": "/etc/OpenCL/vendors/pocl.icd", "rusticl": "/etc/OpenCL/vendors/rusticl.icd"}
# What chooses a vendor's devices, and what is chosen unless the user says otherwise. Natively another
# vendor shows all its devices; Tutti's own choice works for everybody.
DEVICE_VARIABLES = {"pocl": "POCL_DEVICES", "rusticl": "RUSTICL_ENABLE"}
DEFAULT_DEVICES = {"pocl": "basic", "rusticl": "llvmpipe"}
# The CTS asks for the default device, which Rusticl does not name although it has one.
NATIVE_ONLY = {"rusticl": {"CL_DEVICE_TYPE": "CL_DEVICE_TYPE_CPU"}}
OURS = ("TUTTI_", "POCL_", "RUSTICL_", "OCL_ICD_")
RUN_FAILED = 125  # exit status of `tutti run` when it cannot start the program on the driver
KEPT_OUTPUT = 4 << 20  # bytes


@dataclasses.dataclass(frozen=True)
class Configuration:
    title: str
    prefix: tuple  # what stands before the command
    environment: dict


def vendor_name(vendor):
    """Of one vendor, or of several with a plus sign between them."""
    return "+".join(one if one in VENDOR_FILES else Path(one).stem for one in vendor.split("+"))


def clean_environment(extra):
    """The user's environment without what steers loaders and drivers."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {"LP_NUM_THREADS": "1", **kept, **extra}


def per_vendor(text, vendors):
    """A list with the part of `text` (parts have a plus sign between them) of each vendor."""
    parts = text.split("+") if text else []
    if len(parts) > len(vendors):
        raise suites.SuiteError(f"more parts than vendors: {text}")
    return parts + [""] * (len(vendors) - len(parts))


def named(vendor, version):
    """A vendor as titles name it."""
    return f"{vendor_name(vendor)} {version}".rstrip()


def native_configuration(vendor, version, icd, devices, extra, work):
    # One loader takes a file, the other wants a folder.
    folder = work / f"vendor-{vendor_name(vendor)}"
    folder.mkdir(exist_ok=True)
    shutil.copy(icd, folder / icd.name)
    environment = {"OCL_ICD_VENDORS": str(folder), "POCL_CACHE_DIR": str(work / "native-pocl"),
                   **NATIVE_ONLY.get(vendor, {})}
    if vendor in DEVICE_VARIABLES:
        environment[DEVICE_VARIABLES[vendor]] = devices
    return Configuration(f'{named(vendor, version)} "{devices}"', (),
                         clean_environment({**environment, **extra}))


def make_configurations(vendor, version, devices, native_devices, split, seed, balancer, tutti, extra,
                        work):
    """(each vendor's own driver, Tutti on all of them, how many devices Tutti was told to take).
    `work` is a folder for caches; each configuration has its own, as PoCL's key does not hold
    everything that its devices differ in."""
    vendors = vendor.split("+")
    versions = per_vendor(version, vendors)
    icds = [Path(VENDOR_FILES.get(one, one)).resolve() for one in vendors]
    devices = [chosen or DEFAULT_DEVICES.get(one, "")
               for one, chosen in zip(vendors, per_vendor(devices, vendors))]
    native_devices = [chosen or (of_tutti.split() or [""])[0] for of_tutti, chosen in
                      zip(devices, per_vendor(native_devices, vendors))]
    work.mkdir(parents=True, exist_ok=True)
    (work / "empty.toml").write_text("# The user's settings must not count.\n")
    for cache in ("native-pocl", "tutti-pocl"):
        (work / cache).mkdir(exist_ok=True)
    natives = [native_configuration(one, of_one, icd, chosen, extra, work)
               for one, of_one, icd, chosen in zip(vendors, versions, icds, native_devices)]

    under = {"TUTTI_VENDORS": ":".join(map(str, icds)), "TUTTI_CONFIG": str(work / "empty.toml"),
             "TUTTI_CACHE": str(work / "tutti"), "POCL_CACHE_DIR": str(work / "tutti-pocl")}
    for one, chosen in zip(vendors, devices):
        if one in DEVICE_VARIABLES:
            under[DEVICE_VARIABLES[one]] = chosen
        elif chosen:
            under["TUTTI_DEVICES"] = chosen
    title = "Tutti on " + " and ".join(f'{named(one, of_one)} "{chosen}"'
                                       for one, of_one, chosen in zip(vendors, versions, devices))
    if split:
        under["TUTTI_SPLIT"] = split
        title += f", split {split}"
    if split == "force":
        under["TUTTI_SEED"] = str(seed)
    if balancer:
        under["TUTTI_BALANCER"] = balancer
        title += f", balancer {balancer}"
    return (natives,
            Configuration(title, (str(tutti), "run", "--"), clean_environment({**under, **extra})),
            sum(len(chosen.split()) for chosen in devices))


def run_case(case, configuration, limit, logs=None):
    """A dict with outcome, seconds and, where there are any, parts."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        report = Path(folder, "report.json")
        environment = {**configuration.environment, suites.RESULTS_VARIABLE: str(report)}
        start = time.monotonic()
        with open(Path(folder, "output"), "w+b") as output:
            process = subprocess.Popen([*configuration.prefix, *case.command], env=environment,
                                       cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            timed_out = False
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:
                kill_group(process)
            seconds = time.monotonic() - start
            output.seek(max(0, output.seek(0, os.SEEK_END) - KEPT_OUTPUT))
            text = output.read().decode(errors="replace")
        ending = suites.Ending(process.returncode, timed_out, text,
                               report.read_text() if report.exists() else "")
    if configuration.prefix and process.returncode == RUN_FAILED and text.startswith("tutti run: "):
        raise suites.SuiteError(text.strip())
    outcome, parts = suites.read_outcome(case, ending)
    if logs and outcome != "pass":
        Path(logs).mkdir(parents=True, exist_ok=True)
        file = Path(logs, case.name.replace("/", "+").replace(" ", "_") + ".log")
        file.write_text(f"{text}\n[{outcome}, exit status {process.returncode}]\n")
    result = {"outcome": outcome, "seconds": round(seconds, 2)}
    return {**result, "parts": parts} if parts else result


def kill_group(process):
    """Ends the process and what it started, if anything is left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_cases(cases, job, jobs, progress):
    """Calls job(case), which returns the outcome to show, for all cases, several at a time. When it
    is interrupted, what has begun ends first."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(job, case): case for case in cases}
        try:
            for future in concurrent.futures.as_completed(futures):
                outcome = future.result()
                progress.step(futures[future].name, None if outcome == "same" else outcome)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    progress.done()
