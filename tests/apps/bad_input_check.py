#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user sees after a mistake.   usage: bad_input_check.py CASE TUTTI_BENCH"""

import ctypes
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile


def run(bench, *arguments, before=None, without=(), **environment):
    """Exit status and all text of a small tutti-bench run; `before` is called in its process."""
    process = subprocess.run([bench, "--size", "1003", "--repeat", "1", *arguments, "groupsum"],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             preexec_fn=before,
                             env={name: value for name, value in
                                  dict(os.environ, **environment).items() if name not in without})
    return process.returncode, process.stdout


def expect(condition, what, text):
    if not condition:
        sys.exit(f"expected {what}; found:\n{text}")


def no_vendor(bench):
    """The platform is not offered, and the log says why."""
    status, text = run(bench, TUTTI_LOG="info")
    expect(status != 0, "a failure", text)
    expect("Tutti / " not in text, "no Tutti platform", text)
    expect(re.search(r"no (usable )?(vendor|OpenCL|device|driver)", text, re.I), "the reason", text)
    expect(os.environ["TUTTI_VENDORS"] in text, "where it looked", text)


def unknown_balancer(bench):
    status, text = run(bench, TUTTI_BALANCER="sigmoyd")
    expect(status == 0, "the default balancer to run", text)
    expect("sigmoyd" in text, "a warning that names the value", text)
    expect("did you mean sigmoid?" in text, "the nearest name", text)
    for name in ("single", "static", "dynamic", "hguided", "autotune", "adaptive", "model",
                 "sigmoid"):
        expect(name in text.replace("sigmoyd", ""), f"the accepted name {name}", text)


def unknown_device(bench):
    status, text = run(bench, TUTTI_DEVICES="voodoo")
    expect(status == 0, "the default devices to run", text)
    expect("voodoo" in text, "a warning that names the value", text)
    expect("Portable Computing Language" in text, "the devices that exist", text)


def unknown_option(bench):
    status, text = run(bench, TUTTI_BALANCR="static")
    expect(status == 0, "a normal run", text)
    expect("TUTTI_BALANCR" in text and "TUTTI_BALANCER" in text.replace("TUTTI_BALANCR", ""),
           "a warning that names the accepted options", text)
    expect("did you mean TUTTI_BALANCER?" in text, "the nearest name", text)


def broken_kernel(bench):
    """CL_BUILD_PROGRAM_FAILURE with Clang's message and the source line."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "groupsum.cl").write_text(
            "__kernel void groupsum(__global uint* out) {\n"
            "  out[get_global_id(0)] = missing_name;\n"
            "}\n")
        status, text = run(bench, "--source-folder", folder)
    expect(status == 2, "exit status 2", text)
    expect(re.search(r"CL_BUILD_PROGRAM_FAILURE|-11\b", text), "CL_BUILD_PROGRAM_FAILURE", text)
    expect(re.search(r":2:\d+: error: use of undeclared identifier 'missing_name'", text),
           "Clang's message with the line", text)
    expect("out[get_global_id(0)] = missing_name;" in text, "the source line", text)


def bound_by_permissions():
    """Also where the tests run as root, who may otherwise read and write everything."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "prctl")


def expect_right(status, text):
    expect(status == 0, "the program to run on", text)
    expect("Tutti / " in text and "right, all" in text, "right results on Tutti", text)


def read_only_cache(bench):
    """Nothing is remembered, and nothing is said of it but to who asks (tutti doctor)."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        status, text = run(bench, before=bound_by_permissions, TUTTI_CACHE=folder, TUTTI_LOG="debug")
        expect_right(status, text)
        expect(re.search(re.escape(folder) + r"/.*: (Permission denied|No such file)", text),
               "the reason in the log", text)
        expect(not os.listdir(folder), "an empty folder", str(os.listdir(folder)))
        status, text = run(bench, before=bound_by_permissions, TUTTI_CACHE=folder)
        expect_right(status, text)
        expect("warning" not in text, "no warning", text)


def full_cache(bench):
    """On Oclgrind, since PoCL itself cannot build a kernel on a full disk."""
    def no_file_may_grow():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        status, text = run(bench, before=no_file_may_grow, TUTTI_CACHE=folder)
        expect_right(status, text)
        left = [file for file in pathlib.Path(folder).rglob("*") if file.is_file()]
        expect(not left, "no file left behind", str(left))


def damaged_model(bench):
    """What is remembered of kernels' speeds is begun anew, or left alone."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "model.db")
        tool = pathlib.Path(bench).with_name("tutti")
        remembered = {"TUTTI_CACHE": folder, "TUTTI_MODEL": "disk"}

        def show():
            process = subprocess.run([tool, "model", "show"], text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, env=dict(os.environ, **remembered))
            return process.returncode, process.stdout
        status, text = run(bench, **remembered)
        expect_right(status, text)
        expect("groupsum" in show()[1], "the kernel to be remembered", show()[1])
        whole = file.read_bytes()
        for damaged in (b"no database at all" * 99, whole[:100] + bytes(len(whole) - 100),
                        whole[:len(whole) // 2]):
            for rest in pathlib.Path(folder).glob("model.db*"):
                rest.unlink()
            file.write_bytes(damaged)
            status, text = show()
            expect(status in (0, 1) and text, "a word about the file", text)
            status, text = run(bench, **remembered)
            expect_right(status, text)
            expect(not re.search("abort|terminate|signal", text), "no crash", text)
        # One that may not be written.
        for rest in pathlib.Path(folder).glob("model.db*"):
            rest.unlink()
        file.write_bytes(whole)
        file.chmod(0o444)
        os.chmod(folder, 0o555)
        status, text = run(bench, before=bound_by_permissions, **remembered)
        expect_right(status, text)
        expect(file.read_bytes() == whole, "the file as it was", "another one")
        os.chmod(folder, 0o755)


def damaged_programs(bench):
    """What is remembered of programs is recalled, or found out again."""
    with tempfile.TemporaryDirectory() as folder:
        def recalls(**options):
            status, text = run(bench, TUTTI_CACHE=folder, TUTTI_LOG="debug", **options)
            expect_right(status, text)
            return "analysis is recalled from" in text
        expect(not recalls(), "the first run to compile", "a program was recalled")
        expect(recalls(), "the second run to recall what the first found out", "it compiled")
        expect(not recalls(TUTTI_PROGRAMS="off"), "nothing to be recalled", "a program was")
        kept = {file: file.read_bytes() for file in pathlib.Path(folder, "programs").iterdir()}
        for damage in (lambda whole: b"", lambda whole: whole[:len(whole) // 2], os.urandom,
                       lambda whole: whole.replace(b"groupsum", b"groupsun")):
            for file, whole in kept.items():
                file.write_bytes(os.urandom(3000) if damage is os.urandom else damage(whole))
            expect(not recalls(), "damaged files to be left alone", "one was recalled")
            for file, whole in kept.items():
                expect(file.read_bytes() == whole, "the file to be whole again", str(file))


def damaged_trace(bench):
    """`tutti report` says what is wrong with a file, and writes no page."""
    with tempfile.TemporaryDirectory() as folder:
        tool = pathlib.Path(bench).with_name("tutti")
        file, page = pathlib.Path(folder, "t.json"), pathlib.Path(folder, "t.html")
        whole = pathlib.Path(folder, "whole.json")
        status, text = run(bench, TUTTI_TRACE=str(whole))
        expect_right(status, text)

        def report(content):
            if content is not None:
                file.write_bytes(content)
            process = subprocess.run([tool, "report", file], text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)
            return process.returncode, process.stdout
        for content, message in ((b"", "it is empty"), (b"hello\n", "it is not JSON"),
                                 (os.urandom(3000), "it is not JSON"), (None, "No such file"),
                                 (b'{"a": 1}', str(file)), (b"[[1], 2, null]", str(file))):
            file.unlink(missing_ok=True)
            status, text = report(content)
            expect(status == 1 and message in text, f"'{message}' of {content}", text)
            expect(not page.exists(), "no page", text)
        content = whole.read_bytes()
        status, text = report(content[:len(content) * 2 // 3])
        expect(status == 0 and "breaks off" in text and page.exists(), "a page of what is there", text)


def no_home(bench):
    status, text = run(bench, without=("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TUTTI_CACHE",
                                       "TUTTI_CONFIG"))
    expect_right(status, text)
    expect("warning" not in text, "no warning", text)


def unreadable_configuration(bench):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "tutti.toml")
        file.write_text("balancer = 'single'\n")
        file.chmod(0)
        status, text = run(bench, before=bound_by_permissions, TUTTI_CONFIG=str(file))
        expect_right(status, text)
        expect(f"{file} cannot be read: Permission denied; it is ignored" in text, "a warning", text)
        file.chmod(0o644)
        file.write_text("balancer = \n")
        status, text = run(bench, TUTTI_CONFIG=str(file))
        expect_right(status, text)
        expect(f"{file}:1: " in text and "The file is ignored" in text, "the file's line", text)
        status, text = run(bench, TUTTI_CONFIG=folder)
        expect_right(status, text)
        expect(f"{folder} is not a file; it is ignored" in text, "a warning", text)


def damaged_driver(bench):
    """Drivers that cannot be loaded are left out, the others work."""
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder, "damaged.so")
        library.write_bytes(b"\x7fELF" + bytes(60))
        for name, text in (("empty", ""), ("binary", "\0\1\2\n"), ("missing", "/nonexistent.so\n"),
                           ("damaged", f"{library}\n")):
            pathlib.Path(folder, f"{name}.icd").write_text(text)
        vendors = f"{folder}:{os.environ['TUTTI_VENDORS']}"
        status, text = run(bench, TUTTI_VENDORS=vendors, TUTTI_LOG="info")
        expect_right(status, text)
        for reason in ("empty.icd is left out: the .icd file cannot be read or is empty",
                       "binary.icd is left out: the .icd file names no library",
                       "/nonexistent.so is left out: cannot be loaded",
                       "damaged.so is left out: cannot be loaded"):
            expect(reason in text, f"'{reason}' in the log", text)


CASES = {"no-vendor": no_vendor, "unknown-balancer": unknown_balancer,
         "unknown-device": unknown_device, "unknown-option": unknown_option,
         "broken-kernel": broken_kernel,
         "damaged-model": damaged_model, "damaged-programs": damaged_programs,
         "damaged-trace": damaged_trace,
         "read-only-cache": read_only_cache, "full-cache": full_cache, "no-home": no_home,
         "unreadable-configuration": unreadable_configuration, "damaged-driver": damaged_driver}


def main():
    CASES[sys.argv[1]](sys.argv[2])
    print(f"{sys.argv[1]}: as expected")


if __name__ == "__main__":
    main()
