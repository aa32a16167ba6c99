# SPDX-License-Identifier: Apache-2.0
"""Which devices the demo compares: none that would compete for a core with another one."""

MOST_ONE_CORE = 3  # PoCL devices of one core; more say nothing new, and crowd the picture


def is_cpu(device):
    return device["type"] == "cpu"


def settings(natural, cores):
    """The variables that make vendors show devices that fit on the cores, given the devices that
    there are without. What the user has set is to win over them."""
    if any(device["used"] and not is_cpu(device) for device in natural):
        # GPUs beside the CPU as it is; a thread of the host has to feed them.
        return {"TUTTI_KEEP_CORES": "1"} if cores > 2 else {}
    if cores == 1:
        return {"POCL_DEVICES": "basic"}
    if cores == 2:
        return {"POCL_DEVICES": "basic basic"}
    # PoCL calls the driver so in all its versions, whatever it calls the devices. A core is left
    # for a second vendor: Rusticl's llvmpipe, with one thread.
    return {"POCL_DEVICES": " ".join(["basic"] * min(cores - 1, MOST_ONE_CORE)),
            "RUSTICL_ENABLE": "llvmpipe", "LP_NUM_THREADS": "1"}


def cores_of(device, environment, cores):
    """How many cores a CPU device keeps busy."""
    if device["name"].startswith("llvmpipe"):  # whose compute units are no cores
        threads = environment.get("LP_NUM_THREADS", "")
        return int(threads) if threads.isdigit() and int(threads) > 0 else cores
    return device["compute_units"]


def choose(devices, environment, cores):
    """(devices that take part, {index: why another one does not})."""
    chosen, left_out, free = [], {}, cores
    for device in sorted(devices, key=is_cpu):  # GPUs first, else as listed
        if not device["used"]:
            left_out[device["index"]] = device.get("reason") or "no reason given"
        elif device["platform"] == "Oclgrind":
            left_out[device["index"]] = "an interpreter, not a device"
        elif not is_cpu(device):
            chosen.append(device)
        else:
            needed = min(cores, cores_of(device, environment, cores))
            if needed <= free:
                chosen.append(device)
                free -= needed
            else:
                left_out[device["index"]] = (
                    f"wants {needed} core{'s' if needed > 1 else ''}, "
                    f"of {cores} {free or 'none'} {'is' if free < 2 else 'are'} left")
    chosen.sort(key=lambda device: device["index"])
    return chosen, left_out


def cores_used(devices, environment, cores):
    """The cores that these keep busy: their own, or a thread of the host for each other device."""
    return min(cores, sum(cores_of(device, environment, cores) if is_cpu(device) else 1
                          for device in devices))
