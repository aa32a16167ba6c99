#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies a vendor driver with the libraries named, so that one process can hold it several times.

A copy of the driver alone shares those libraries with the first, and what they keep for the process
(Oclgrind's interpreter and LLVM are not made for two users at a time). Here each copy asks for files
of other names, in all of them: `lib…` becomes `lNb…`, which is as long. LD_LIBRARY_PATH must name
the folder.

    own_copy.py DRIVER FOLDER NUMBER LIBRARY…       FOLDER/lNUMBERb…; LIBRARY: how a name begins
"""

import os
import pathlib
import re
import subprocess
import sys


def needed(library):
    """Name -> file of everything that the library loads."""
    text = subprocess.run(["ldd", library], check=True, text=True, stdout=subprocess.PIPE).stdout
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", text, re.MULTILINE))


def main():
    if len(sys.argv) < 5 or not re.fullmatch(r"[0-9]", sys.argv[3]):
        sys.exit(__doc__)
    driver, folder, number = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    files = {name: file for name, file in needed(driver).items()
             if any(name.startswith(begin) for begin in sys.argv[4:])}
    for begin in sys.argv[4:]:
        if not any(name.startswith(begin) for name in files):
            sys.exit(f"{driver} does not load any {begin}…")
    files[driver.name] = str(driver)
    renamed = {name: name.replace("lib", f"l{number}b", 1) for name in files}
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        data = pathlib.Path(file).read_bytes()
        for old, new in renamed.items():
            data = data.replace(old.encode() + b"\0", new.encode() + b"\0")
        target = folder / renamed[name]
        if target.exists() and target.read_bytes() == data:
            continue
        whole = target.with_suffix(".new")
        whole.write_bytes(data)
        os.replace(whole, target)


if __name__ == "__main__":
    main()
