#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the build into a folder of its own, and uses it there as the README says.

usage: install_check.py CMAKE BUILD CLINFO"""

import json
import os
import pathlib
import subprocess
import sys
import re
import tempfile

from completion_check import check_completions

FILES = ("bin/tutti", "bin/tutti-bench", "lib/tutti/libtutti.so",
         "lib/tutti/libtutti-compiler.so", "libexec/tutti/tutti-probe", "libexec/tutti/tutti-builder", "libexec/tutti/tutti-device",
         "share/bash-completion/completions/tutti", "share/doc/tutti/copyright",
         "share/fish/vendor_completions.d/tutti.fish", "share/man/man1/tutti.1.gz",
         "share/man/man1/tutti-bench.1.gz", "share/man/man1/tutti-run.1.gz",
         "share/doc/tutti/README.md", "share/doc/tutti/CHANGELOG.md",
         "share/doc/tutti/docs/options.md", "share/doc/tutti/docs/design/splitting.md",
         "share/tutti/vendors/tutti.icd", "share/tutti/profiles.toml",
         "lib/tmpfiles.d/tutti.conf",
         "share/zsh/vendor-completions/_tutti")


def run(*command, **environment):
    process = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=dict(os.environ, **environment))
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{process.stdout}")
    return process.stdout


def expect(condition, what):
    if not condition:
        sys.exit(f"expected {what}")


def check_files(prefix, library, settings, icd):
    for name in FILES:
        expect((prefix / name).is_file(), f"{prefix / name}")
    for file in (icd, prefix / "share/tutti/vendors/tutti.icd"):
        expect(file.read_text() == f"{library}\n", f"{file} to name {library}")
    lines = settings.read_text().splitlines()
    expect(lines and all(not line or line[0] == "#" for line in lines), f"only comments in {settings}")


def check_documents(prefix):
    """Links lead somewhere; manual pages are as man wants them, and name each other."""
    documents = sorted((prefix / "share/doc/tutti").rglob("*.md"))
    links = [(document, target) for document in documents
             for target in re.findall(r"\]\(([^()#:\s]+)(?:#[^()]*)?\)", document.read_text())]
    expect(len(links) > 20, f"links in {documents}")
    for document, target in links:
        expect((document.parent / target).exists(), f"{document}: {target} to exist")
    pages = sorted((prefix / "share/man/man1").iterdir())
    commands = re.findall(r"^  ([a-z]+) ", run(prefix / "bin/tutti", "--help").split(
        "Subcommands:")[1].split("Environment")[0], re.MULTILINE)
    expect({f"tutti-{name}.1.gz" for name in commands} < {page.name for page in pages},
           f"a page for each of {commands}: {pages}")
    for page in pages:
        text = run("gzip", "-dc", page)
        complaints = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=text, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        expect(not complaints, f"{page} to be sound: {complaints}")
        for other in re.findall(r"^\.BR (tutti\S*) \(1\)", text, re.MULTILINE):
            name = other.replace("\\", "")
            expect((page.parent / f"{name}.1.gz").is_file(), f"{page}: {name}(1) to exist")


def check_own_prefix(cmake, build, clinfo, folder):
    """A tree anywhere, found by PATH: for `tutti run`, or by OCL_ICD_VENDORS."""
    prefix = folder / "prefix"
    run(cmake, "--install", build, "--prefix", prefix)
    check_files(prefix, prefix / "lib/tutti/libtutti.so", prefix / "share/doc/tutti/tutti.toml",
                prefix / "etc/OpenCL/vendors/tutti.icd")
    check_documents(prefix)
    check_completions(prefix, folder)
    path = f"{prefix / 'bin'}:{os.environ['PATH']}"
    expect("Platform #0: Tutti" in run("tutti", "run", "--", clinfo, "-l", PATH=path),
           "clinfo to show Tutti")
    vendors = str(prefix / "share/tutti/vendors")
    expect("Platform #0: Tutti" in run(clinfo, "-l", OCL_ICD_VENDORS=vendors),
           "clinfo to show Tutti by OCL_ICD_VENDORS")
    report = json.loads(run("tutti", "doctor", "--json", PATH=path, OCL_ICD_VENDORS=vendors))
    expect(report["found"] and report["found_without_run"], f"a sound tree: {report}")
    expect(not [f for f in report["findings"] if f["severity"] in ("warning", "problem")],
           f"nothing to put right: {report}")
    kernel = folder / "kernel.cl"
    kernel.write_text("kernel void k(global int* o) { o[get_global_id(0)] = 1; }\n")
    expect("k: split along dimension 0" in run("tutti", "explain", kernel, PATH=path),
           "the kernel to be explained")


def check_distribution(cmake, build, folder):
    """As packages are made: with PREFIX=/usr the configuration lies in /etc."""
    root = folder / "root"
    run(cmake, "--install", build, "--prefix", "/usr", DESTDIR=str(root))
    check_files(root / "usr", "/usr/lib/tutti/libtutti.so", root / "etc/tutti/tutti.toml",
                root / "etc/OpenCL/vendors/tutti.icd")
    for name in ("changelog.gz", "changelog.Debian.gz"):
        expect((root / "usr/share/doc/tutti" / name).is_file(), name)
    conffiles = pathlib.Path(__file__).parents[2] / "packaging/conffiles"
    there = sorted(f"/{file.relative_to(root)}" for file in (root / "etc").rglob("*")
                   if file.is_file())
    expect(sorted(conffiles.read_text().split()) == there, f"{conffiles} to list {there}")


def check_board(root):
    """systemd makes the folder that the driver looks for, as the driver wants it."""
    line, = [line for line in (root / "usr/lib/tmpfiles.d/tutti.conf").read_text().splitlines()
             if line and line[0] != "#"]
    kind, folder, mode, *owner = line.split()
    told = json.loads(run(root / "usr/bin/tutti", "config", "--json", TUTTI_BOARD=""))
    expect(folder in str(told), f"the folder of tmpfiles.d, {folder}, to be the option's: {told}")
    expect((kind, mode, owner) == ("d", "1777", ["root", "root", "-"]), line)


def main():
    cmake, build, clinfo = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        check_own_prefix(cmake, build, clinfo, folder)
        check_distribution(cmake, build, folder)
        check_board(folder / "root")
    print("installed and used as it should be")


if __name__ == "__main__":
    main()
