#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyOpenCL's own tests on the virtual device. Debian packages the library without them, so they come
from the source archive of the same version, from the package index that pip uses.

usage: pyopencl_suite_check.py FOLDER      keeps the archive there
"""

import hashlib
import html.parser
import importlib.metadata
import os
import ssl
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree
from pathlib import Path

import split_report

# The versions that the releases of Debian have: their archives' SHA-256, and how many tests must pass
# at least of those that are selected below.
ARCHIVES = {
    "2022.3.1": ("4a3db0fe61b5cdc95267526deebd71a7e1d795694d4b0fe2761f0630bcca3621", 79),
    "2025.1": ("0116736d7f7920f87b8db4b66a03f27b1d930d2e37ddd14518407cc22dd24779", 74),
}
VERSION = importlib.metadata.version("pyopencl")
ARCHIVE = f"pyopencl-{VERSION}.tar.gz"
PUBLIC_INDEX = "https://pypi.org/simple"
TRIES = 3

# What is quick of each file: the others make hundreds of kernels of one kind, which takes PoCL minutes.
SELECTION = {
    "test_wrapper.py": [""],
    "test_enqueue_copy.py": [""],
    "test_arrays_in_structs.py": [""],
    "test_clrandom.py": [""],
    "test_algorithm.py": [
        "test_elwise_kernel", "test_elwise_kernel_with_options", "test_ranged_elwise_kernel",
        "test_arange", "test_reverse", "test_if_positive", "test_take_put", "test_astype",
        "test_sum_without_data", "test_reduction_not_first_argument", "test_struct_reduce",
        "test_list_builder"],
    "test_clmath.py": [
        "test_ldexp", "test_modf", "test_frexp", "test_outoforderqueue_clmath"],
}

# With what words its tests may leave themselves out, and why.
MAY_SKIP = {
    "device does not support": "shared virtual memory: Tutti has none yet",
    "SPIR-V program creation": "Tutti takes no SPIR-V, nor does PoCL",
    "required image format": "CL_RG, which is optional, and which PoCL has not",
    "AMD-specific test": "copies that only AMD's own platform has",
}
LEAST_SPLIT = 20


class Links(html.parser.HTMLParser):
    """The addresses of an index's page (PEP 503), by file name."""

    def __init__(self, page):
        super().__init__()
        self.page, self.found = page, {}

    def handle_starttag(self, tag, attributes):
        address = dict(attributes).get("href") if tag == "a" else None
        if address:
            address = urllib.parse.urldefrag(urllib.parse.urljoin(self.page, address)).url
            self.found[urllib.parse.urlsplit(address).path.rsplit("/", 1)[-1]] = address


def index_address():
    """pip's own: from its environment, its files, or the public one."""
    chosen = os.environ.get("PIP_INDEX_URL")
    if not chosen:
        pip = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        chosen = pip.stdout.strip() if pip.returncode == 0 else ""
    return (chosen or PUBLIC_INDEX).rstrip("/")


def read(address):
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(address, timeout=60, context=context) as answer:
                return answer.read()
        except OSError:  # also what urllib reports
            if not left:
                raise
            time.sleep(2)


def fetch(folder):
    """The archive's path; it is fetched when it is not there or is another."""
    if VERSION not in ARCHIVES:
        sys.exit(f"PyOpenCL {VERSION} is installed; known are the archives of {', '.join(ARCHIVES)}")
    expected, _ = ARCHIVES[VERSION]
    archive = folder / ARCHIVE
    if archive.exists() and hashlib.sha256(archive.read_bytes()).hexdigest() == expected:
        return archive
    page = f"{index_address()}/pyopencl/"
    try:
        links = Links(page)
        links.feed(read(page).decode(errors="replace"))
        if ARCHIVE not in links.found:
            sys.exit(f"the package index has no {ARCHIVE}; set PIP_INDEX_URL to one that does")
        content = read(links.found[ARCHIVE])
    except (OSError, ValueError) as error:
        # Not the address, which may hold a password.
        sys.exit(f"PyOpenCL's tests cannot be fetched from the package index: {error}\n"
                 f"Set PIP_INDEX_URL to one within reach, or put {ARCHIVE} into {folder}")
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        sys.exit(f"{ARCHIVE} from the package index has the SHA-256 {digest}, not {expected}")
    folder.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(f".{os.getpid()}")
    part.write_bytes(content)
    part.replace(archive)
    return archive


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        stem = ARCHIVE.removesuffix(".tar.gz")
        for member in tar.getmembers():
            if member.isfile() and member.name.startswith(f"{stem}/test/"):
                (folder / Path(member.name).name).write_bytes(tar.extractfile(member).read())


def check(report):
    """pytest's report: nothing failed, and nothing was left out that we do not know of."""
    passed, wrong = 0, []
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            wrong.append(f"failed: {name}")
        elif skipped is None:
            passed += 1
        elif not skipped.get("message", "").startswith(tuple(MAY_SKIP)):
            wrong.append(f"skipped: {name}: {skipped.get('message')}")
    print(f"{passed} passed")
    _, least = ARCHIVES[VERSION]
    if wrong or passed < least:
        sys.exit("\n".join([*wrong, f"{passed} passed, at least {least} must"]))


def main():
    archive = fetch(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        unpack(archive, folder)
        report = folder / "report.xml"
        chosen = [str(folder / file) + (f"::{test}" if test else "")
                  for file, tests in SELECTION.items() for test in tests]
        # 1: tests failed, which the report tells of. PyOpenCL's cache must not hide builds.
        text, entries = split_report.run(
            [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
             f"--rootdir={folder}", f"--junitxml={report}", *chosen],
            accepted=(0, 1), environment={"XDG_CACHE_HOME": str(folder / "cache")})
        print(text.strip())
        check(report)
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(LEAST_SPLIT)


if __name__ == "__main__":
    main()
