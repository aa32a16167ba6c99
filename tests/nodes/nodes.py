#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices of other hosts (TUTTI_NODES): servers of PoCL, in a network of their own, that are killed,
stopped and started anew while an application computes on them. Every round of it ends right or told, none
hangs, and the devices compute again.

usage: nodes.py --build BUILD [--pocld PROGRAM] [--driver LIBRARY] [--times N] [--seed N]
"""

import argparse
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "isolation"))
from rounds_program import ROUND_SECONDS, RoundsProgram

LEFT_OUT = 77        # what ctest takes for a test that was left out
BACK_SECONDS = 90    # a device is tried again after a second, then at twice the interval
PORTS = (10998, 11008)
LINK = pathlib.Path(__file__).resolve().with_name("link.py")


def in_own_network():
    """The server listens for others of its kind at all addresses: nobody else may see that."""
    if os.environ.get("TUTTI_TEST_NETWORK") != "own":
        os.environ["TUTTI_TEST_NETWORK"] = "own"
        os.execvp("unshare", ["unshare", "-n", sys.executable, "-B", *sys.argv])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh", b"lo", 0x1 | 0x40)  # up and running
        fcntl.ioctl(handle, 0x8914, request)  # SIOCSIFFLAGS


class Server:
    def __init__(self, program, port, core):
        self.words = [program, "-a", "127.0.0.1", "-p", str(port)]
        self.port, self.core, self.process = port, core, None
        self.start()

    def start(self):
        environment = dict(os.environ, POCL_DEVICES="pthread", POCL_MAX_PTHREAD_COUNT="1",
                           OCL_ICD_VENDORS="/etc/OpenCL/vendors/pocl.icd")
        self.process = subprocess.Popen(self.words, env=environment, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.sched_setaffinity(self.process.pid, {self.core})
        until = time.monotonic() + ROUND_SECONDS
        while time.monotonic() < until:
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", self.port + 1)) == 0:
                    return
            os.sched_yield()
        sys.exit("a server does not start")

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()


class Application(RoundsProgram):
    def __init__(self, build, folder, driver, nodes, **options):
        super().__init__(build, folder, TUTTI_NODES=nodes, TUTTI_NODE_DRIVER=driver,
                         TUTTI_VENDORS=str(folder), POCL_CACHE_DIR=str(folder / "pocl"), **options)
        self.start()


def fail(application, what):
    application.process.kill()
    log = application.log.read_text() if application.log.exists() else ""
    sys.exit(f"{what}\n{log}")


def one_round(application):
    line = application.line()
    if line is None or not (line == "right" or line.startswith("told")):
        fail(application, line or "hangs, or has ended")
    return line


def start_with(build, folder, driver, nodes, wanted, **options):
    application = Application(build, folder, driver, nodes, **options)
    for _ in range(wanted):
        if one_round(application) != "right":
            fail(application, "a round of sound nodes is not right")
    return application


def lose_servers(build, folder, driver, servers, times, chance):
    """Two nodes; each time one server is lost in a way, and comes back."""
    nodes = ",".join(f"127.0.0.1:{server.port}/0 insecure wait=10" for server in servers)
    application = start_with(build, folder, driver, nodes, 3, TUTTI_DEADLINE="10")
    if application.logged("is left out") != 0:
        fail(application, "a node is left out")
    told = rounds = 0
    for _ in range(times):
        server = chance.choice(servers)
        number = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP))
        lost = application.logged(" is lost (")
        until = time.monotonic() + chance.random() * 0.1
        while time.monotonic() < until:
            pass
        server.end(number)
        until = time.monotonic() + BACK_SECONDS
        restarted = False
        # All that was lost takes part again; a client that has crashed counts, too.
        while not restarted or application.logged(" works again ") < application.logged(" is lost ("):
            # One whose client was lost already is missed by nobody.
            missed = application.logged(" is lost (") > lost
            if not restarted and (missed or time.monotonic() > until - BACK_SECONDS / 2):
                server.end()
                server.start()
                restarted = True
            if time.monotonic() > until:
                fail(application, f"after {signal.Signals(number).name} no device comes back")
            rounds += 1
            told += one_round(application) != "right"
        for _ in range(3):
            one_round(application)
    if application.end() != 0:
        fail(application, "it does not end well")
    summary = json.loads(application.summary.read_text())["devices"]
    if not all("127.0.0.1:" in device["name"] for device in summary):
        sys.exit("the summary shows no addresses")
    print(f"{times} servers lost: {rounds} rounds right or told, {told} of them told")


def some_are_off(build, folder, driver, servers):
    """A node that is off is named and left out; one without a tunnel is refused."""
    nodes = (f"127.0.0.1:{servers[0].port} insecure, 127.0.0.1:9 insecure name=off, "
             f"127.0.0.1:{servers[1].port}")
    application = start_with(build, folder, driver, nodes, 2)
    if application.end() != 0:
        fail(application, "it does not end well")
    for text in ("node off (127.0.0.1:9/0) is left out", "Connection refused", "refused: neither"):
        if application.logged(text) != 1:
            fail(application, f"the log does not say '{text}'")
    application = Application(build, folder, driver, nodes + ",127.0.0.1:19 insecure required")
    line = application.line()
    if line in ("right", "wrong") or application.logged("offers no platform") != 1:
        fail(application, "a required node is not missed")
    application.process.kill()
    print("nodes that are off, refused, and required: right")


def comes_later(build, folder, driver, servers):
    """A node that was there in an earlier run takes part once it answers, also where it is off at the start."""
    nodes = ",".join(f"127.0.0.1:{server.port} insecure wait=10" for server in servers)
    if start_with(build, folder, driver, nodes, 2).end() != 0:
        sys.exit("the first run does not end well")
    servers[1].end()
    application = start_with(build, folder, driver, nodes, 2)
    if application.logged("is left out until it answers: ") != 1:
        fail(application, "a node that is off, and was there before, is not waited for")
    servers[1].start()
    until = time.monotonic() + BACK_SECONDS
    while application.logged(" works again ") == 0:
        if time.monotonic() > until or one_round(application) != "right":
            fail(application, "a node that was off at the start does not come")
    for _ in range(5):
        if one_round(application) != "right":
            fail(application, "a round of sound nodes is not right")
    if application.end() != 0:
        fail(application, "it does not end well")
    moved = {device["name"]: device["bytes_to_device"] + device["bytes_to_host"]
             for device in json.loads(application.summary.read_text())["devices"]}
    if len(moved) != 2 or min(moved.values()) == 0:
        sys.exit(f"a node that has come later computes nothing: {moved}")
    print("a node that comes later: right")


def through_a_tunnel(build, folder, driver, servers):
    """A program that connects its standard input and output with the server."""
    nodes = f"far.example:{servers[0].port} tunnel={LINK}"
    application = start_with(build, folder, driver, nodes, 3)
    if application.end() != 0:
        fail(application, "it does not end well")
    print("a tunnel: right")


def over_a_slow_link(build, folder, driver, servers):
    """Where a link costs more than a node could gain, the node gets nothing, from the first launch on."""
    environment = dict(
        os.environ, TUTTI_NODES=f"far.example:{servers[0].port} tunnel={LINK}",
        TUTTI_NODE_DRIVER=driver, TUTTI_TEST_LINK="0.01 12.5e6", POCL_DEVICES="basic",
        TUTTI_VENDORS="/etc/OpenCL/vendors/pocl.icd", TUTTI_CACHE=str(folder / "cache"),
        TUTTI_SUMMARY=str(folder / "far.json"))
    subprocess.run([build / "bin/tutti", "run", "--", build / "bin/tutti-bench", "--platform", "Tutti",
                    "--repeat", "5", "saxpy"], env=environment, check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((folder / "far.json").read_text())
    moved = {device["name"]: device["bytes_to_device"] + device["bytes_to_host"]
             for device in summary["devices"]}
    far = [count for name, count in moved.items() if "far.example" in name]
    if far != [0] or summary["total"]["split"] != 0:
        sys.exit(f"a node over a slow link is used for what is over before: {moved}")
    print("a slow link: right")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--pocld", default=os.environ.get("TUTTI_POCLD", ""))
    parser.add_argument("--driver", default=os.environ.get("TUTTI_NODE_DRIVER", ""))
    parser.add_argument("--times", type=int, default=4, help="servers that are lost")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.pocld or not options.driver:
        print("left out: TUTTI_POCLD and TUTTI_NODE_DRIVER name no server of PoCL and no PoCL with "
              "a remote client")
        sys.exit(LEFT_OUT)
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("left out: a network of its own needs root and unshare")
        sys.exit(LEFT_OUT)
    in_own_network()
    build = options.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tutti-nodes-"))
    servers = []
    try:
        cores = sorted(os.sched_getaffinity(0))
        for i, port in enumerate(PORTS):
            servers.append(Server(options.pocld, port, cores[i % len(cores)]))
        some_are_off(build, folder, options.driver, servers)
        comes_later(build, folder, options.driver, servers)
        through_a_tunnel(build, folder, options.driver, servers)
        over_a_slow_link(build, folder, options.driver, servers)
        lose_servers(build, folder, options.driver, servers, options.times,
                     random.Random(options.seed))
    finally:
        for server in servers:
            server.process.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
