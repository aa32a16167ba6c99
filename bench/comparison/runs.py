# SPDX-License-Identifier: Apache-2.0
"""What is run: the devices, the kernels, and the configurations, each of which is one command and
one environment of tutti-bench."""

import dataclasses
import json
import os
import signal
import subprocess
from pathlib import Path

# Where Debian's libsocl-1.3-0 puts it. The package registers no .icd file.
SOCL_LIBRARIES = ["/usr/lib/x86_64-linux-gnu/libsocl-1.3.so.0"]
# Not the vendors': what stands in front of them.
FRONT_PLATFORMS = ("Tutti", "SOCL")


class UsageError(Exception):
    """The text is for the user."""


def measure_each(programs, measure):
    """Calls measure(program) for each. An interrupt, or SIGTERM, ends that: what was measured before
    counts. Returns a line that says so, or None."""
    done = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for program in programs:
            measure(program)
            done += 1
    except KeyboardInterrupt:
        return f"Interrupted: {done} of {len(programs)} were measured."
    return None


def busy(load, cores):
    """Lines that say that others were computing; none where they were not. `load`: the average before
    the first run."""
    if load <= 0.5:
        return []
    return [f"Others were computing: the load average was {load:.1f} before the first run, on {cores} "
            "cores. The figures are not worth much."]


def heading(devices, load, interrupted):
    """What stands above a table: the devices, and what its reader has to know. `load`: as for
    busy(); `interrupted`: of measure_each()."""
    lines = [f"device {device.index}: {device.name} ({device.platform})" for device in devices]
    lines += busy(load, os.cpu_count())
    if interrupted:
        lines.append(interrupted)
    return "\n".join(lines) + "\n\n"


@dataclasses.dataclass
class Device:
    index: int  # of `tutti devices`
    platform: str
    name: str
    native: str  # PLATFORM/DEVICE for tutti-bench, by indices

    def description(self):
        return {"index": self.index, "platform": self.platform, "name": self.name}


@dataclasses.dataclass
class Kernel:
    name: str
    size: int  # 0: the benchmark's own


@dataclasses.dataclass
class Samples:
    """What the runs of one kernel in one configuration gave."""
    total_ms: list = dataclasses.field(default_factory=list)
    kernel_ms: list = dataclasses.field(default_factory=list)
    packages: list = dataclasses.field(default_factory=list)  # of the last launch, one per run
    balance: list = dataclasses.field(default_factory=list)  # likewise; split launches only
    reason: str = ""  # Tutti's, for the split or for not splitting
    size: int = 0
    failure: str = None  # "wrong: …", "failed: …", "not divided"


@dataclasses.dataclass
class Configuration:
    name: str
    kind: str  # device, tutti, hand, socl
    command: list
    environment: dict
    timeout: float
    summary: Path = None  # where Tutti writes its summary

    def run(self, kernel, samples):
        command = self.command + ([f"--size={kernel.size}"] if kernel.size else [])
        try:
            process = subprocess.run([*command, kernel.name], env=self.environment, text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, timeout=self.timeout, check=False)
        except subprocess.TimeoutExpired:
            samples.failure = f"failed: no end within {self.timeout:g} s"
            return
        try:
            result = json.loads(process.stdout)["results"][0]
        except (ValueError, KeyError, IndexError):
            result = {}
        if process.returncode == 0:
            self.take(result, samples)
        elif "cannot be divided" in result.get("error", ""):
            samples.failure = "not divided"
        elif process.returncode == 1 and "first_wrong" in result:
            samples.failure = f"wrong: {result['wrong']} of {result['checked']}: " \
                              f"{result['first_wrong']}"
        else:
            last = (process.stderr.strip() or "no message").splitlines()[-1]
            samples.failure = f"failed: status {process.returncode}: {last}"

    def take(self, result, samples):
        samples.size = result["size"]
        samples.total_ms += result["total_ms"]["all"]
        samples.kernel_ms += result["kernel_ms"]["all"]
        if self.summary is not None:
            launch = main_launch(json.loads(self.summary.read_text()))
            samples.packages.append(launch["packages"])
            samples.reason = launch["reason"]
            if launch["balance"] is not None:
                samples.balance.append(launch["balance"])


def main_launch(summary):
    """Packages, load balance and reason of the kernel whose last split launch took longest; of
    the first kernel when none was split."""
    longest = None
    for kernel in summary["kernels"]:
        if kernel["split"] == 0:
            continue
        packages = kernel["last"]["packages"]
        start = min(package["start_ns"] for package in packages)
        ends = {}
        for package in packages:
            device = package["device"]
            ends[device] = max(ends.get(device, 0), package["end_ns"] - start)
        # A device that computed nothing did not end: one device alone has no balance.
        balance = min(ends.values()) / max(ends.values()) if len(ends) > 1 else None
        launch = {"packages": len(packages), "balance": balance, "reason": kernel["reason"]}
        if longest is None or max(ends.values()) > longest[0]:
            longest = (max(ends.values()), launch)
    if longest is None:
        return {"packages": 1, "balance": None, "reason": summary["kernels"][0]["reason"]}
    return longest[1]


class Setting:
    """The programs, the devices and the environment that all configurations share."""

    def __init__(self, arguments, folder):
        self.bench = arguments.bench or arguments.build / "bin" / "tutti-bench"
        self.tutti = arguments.tutti or arguments.build / "bin" / "tutti"
        for program in (self.bench, self.tutti):
            if not os.access(program, os.X_OK):
                raise UsageError(f"no {program}: build first, or name the folder with --build")
        self.folder = folder
        self.launches = arguments.launches
        self.timeout = arguments.timeout
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("TUTTI_DEVICES", "TUTTI_BALANCER", "TUTTI_SUMMARY",
                                            "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES")}
        self.vendors = self.native_vendors("vendors")
        self.listing = self.ask(self.native(self.vendors), self.bench, "--list", "--json")
        self.devices = self.find_devices(arguments.devices)

    def native_vendors(self, name, extra=()):
        """A folder with an .icd file for each vendor that Tutti is to use, as TUTTI_VENDORS says."""
        folder = self.folder / name
        folder.mkdir()
        entries = self.environment.get("TUTTI_VENDORS", "/etc/OpenCL/vendors").split(":")
        for entry in map(Path, filter(None, [*entries, *extra])):
            # As the driver: a name alone is a file in the system's folder.
            if len(entry.parts) == 1 and entry.suffix == ".icd":
                entry = Path("/etc/OpenCL/vendors") / entry
            files = sorted(entry.glob("*.icd")) if entry.is_dir() else [entry]
            for number, file in enumerate(files):
                if file.name == "tutti.icd":
                    continue
                text = file.read_text() if file.suffix == ".icd" else f"{file}\n"
                # The loader takes them in the order of their names.
                count = len(list(folder.iterdir()))
                (folder / f"{count:02}{number:02}-{file.stem}.icd").write_text(text)
        return folder

    def native(self, vendors):
        return {**self.environment, "OCL_ICD_VENDORS": str(vendors)}

    @staticmethod
    def ask(environment, *command):
        process = subprocess.run([str(word) for word in command], env=environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if process.returncode != 0:
            raise UsageError(f"{' '.join(map(str, command))}\n{process.stderr.strip()}")
        return json.loads(process.stdout)

    def find_devices(self, chosen):
        """Tutti's devices, and where each is without Tutti: the same place on the same platform."""
        native = {}
        for platform in self.listing["platforms"]:
            for number, name in enumerate(platform["devices"]):
                native.setdefault((platform["name"], name), []).append(
                    f"{platform['index']}/{number}")
        devices = []
        for device in self.ask(self.environment, self.tutti, "devices", "--json")["devices"]:
            places = native.get((device["platform"], device["name"]), [])
            place = places.pop(0) if places else None
            wanted = device["used"] if chosen is None else str(device["index"]) in \
                chosen.split(",")
            if not wanted:
                continue
            if place is None:
                raise UsageError(f"{device['name']} of {device['platform']} is not seen natively")
            devices.append(Device(device["index"], device["platform"], device["name"], place))
        if chosen is not None and len(devices) != len(set(chosen.split(","))):
            raise UsageError(f"--devices {chosen}: see `tutti devices` for the indices")
        if not devices:
            raise UsageError("no device")
        return devices

    def kernels(self, wish):
        known = [benchmark["name"] for benchmark in self.listing["benchmarks"]]
        chosen = []
        for item in wish.split(",") if wish else known:
            name, _, size = item.partition(":")
            if name not in known:
                raise UsageError(f"no benchmark {name}; there are: {' '.join(known)}")
            if size and not (size.isdigit() and int(size) > 0):
                raise UsageError(f"{item}: not a size")
            chosen.append(Kernel(name, int(size or 0)))
        return chosen

    def native_on(self, device, launches=None):
        """The device alone, without Tutti; `launches`: measured ones in place of the usual number."""
        platform, number = device.native.split("/")
        return Configuration(f"device {device.index}", "device",
                             [*self.bench_command(launches), "--platform", platform, "--device",
                              number], self.native(self.vendors), self.timeout)

    def behind_tutti(self, name, devices, summary=True, **variables):
        """All of `devices` as one; `variables`: Tutti's own, beyond those of this process."""
        environment = {**self.environment, **variables,
                       "TUTTI_DEVICES": ",".join(str(device.index) for device in devices),
                       "TUTTI_ENERGY": "off"}  # it would time every launch
        summary = self.folder / "summary.json" if summary else None
        if summary:
            environment["TUTTI_SUMMARY"] = str(summary)
        return Configuration(name, "tutti", [str(self.tutti), "run", "--", *self.bench_command(),
                                             "--platform", "Tutti"],
                             environment, self.timeout, summary)

    def bench_command(self, launches=None):
        return [str(self.bench), "--json", f"--repeat={launches or self.launches}"]

    def configurations(self, arguments):
        bench = self.bench_command()
        made = [self.native_on(device) for device in self.devices]
        made += [self.behind_tutti(f"tutti {balancer}", self.devices, TUTTI_BALANCER=balancer)
                 for balancer in arguments.balancers.split(",")]
        if not arguments.no_hand_split and len(self.devices) > 1:
            places = ",".join(device.native for device in self.devices)
            made.append(Configuration("hand split", "hand", [*bench, "--hand-split", places],
                                      self.native(self.vendors), self.timeout))
        library = arguments.socl or next((Path(one) for one in SOCL_LIBRARIES
                                          if os.path.exists(one)), None)
        if arguments.socl and not arguments.socl.exists():
            raise UsageError(f"no {arguments.socl}")
        if library is not None and not arguments.no_socl:
            made.append(self.socl(bench, library))
        return made

    def socl(self, bench, library):
        home = self.folder / "starpu"
        home.mkdir()
        environment = self.native(self.native_vendors("socl", [library.resolve()]))
        # StarPU asks for OpenCL devices of type CPU to be allowed, and computes nothing itself.
        environment |= {"STARPU_OPENCL_ON_CPUS": "1", "STARPU_NCPU": "0", "STARPU_NCUDA": "0",
                        "STARPU_WORKERS_NOBIND": "1", "STARPU_SILENT": "1",
                        "STARPU_HOME": str(home)}
        return Configuration("SOCL", "socl", [*bench, "--platform", "SOCL"], environment,
                             self.timeout)
