#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hashcat on the virtual device: its self-test (which it does for every algorithm before it begins),
then known hashes must be cracked, by word list or by mask, and an unknown one must not.

usage: hashcat_check.py HASHCAT ATTACKS ALGORITHM…
ATTACKS: words, mask, or words,mask (each compiles kernels of its own); with replay=TUTTI the first
one is recorded, and replayed by that command with the same results.
ALGORITHM: 0 MD5, 100 SHA1, 1400 SHA2-256, 1700 SHA2-512.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import split_report

HASHES = {"0": hashlib.md5, "100": hashlib.sha1, "1400": hashlib.sha256, "1700": hashlib.sha512}
WORDS = ["tutti", "violoncello", "Oboe d'amore", "8765", "x" * 40]
FOUND, EXHAUSTED = 0, 1  # hashcat's exit codes


class Hashcat:
    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)
        self.kernels = split_report.Kernels()

    def write(self, name, lines):
        file = self.folder / name
        file.write_text("".join(f"{line}\n" for line in lines))
        return file

    def attack(self, algorithm, hashes, *words, record=""):
        """The words that were found. Every run of hashcat begins with its self-test."""
        found = self.folder / "found"
        found.unlink(missing_ok=True)
        # --force: it mistrusts OpenCL on CPUs. Its own compiled kernels are kept in $XDG_CACHE_HOME.
        text, kernels = split_report.run(
            [self.program, "--force", "--potfile-disable", "--restore-disable", "--logfile-disable",
             "--session", "tutti", "-D", "1,2,3", "-m", algorithm, "--outfile", found,
             "--outfile-format", "2", self.write("hashes", hashes), *words],
            accepted=(FOUND, EXHAUSTED),
            environment={"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"),
                         "XDG_DATA_HOME": str(self.folder / "data"),
                         "TUTTI_RECORD": str(record)})
        if "Tutti" not in text or "self-test failed" in text.lower():
            sys.exit(text)
        self.kernels.add(kernels)
        return sorted(found.read_text().split("\n")[:-1]) if found.exists() else []

    def replay(self, tool, record):
        ended = subprocess.run([tool, "replay", "--json", record], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if ended.returncode != 0:
            sys.exit(f"tutti replay ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
        result = json.loads(ended.stdout)
        if result["compared"] < 10 or result["equal"] != result["compared"]:
            sys.exit(f"the replay differs: {result}")
        print(f"replayed: {result['equal']} of {result['compared']} reads are the same")

    def check(self, algorithm, attacks):
        digest = HASHES[algorithm]

        def hashes(words):
            return [digest(word.encode()).hexdigest() for word in words]

        if "words" in attacks:
            words = self.write("words", ["no", *WORDS, "neither"])
            tool = next((word[7:] for word in attacks if word.startswith("replay=")), "")
            record = self.folder / "record" if tool else ""
            found = self.attack(algorithm, hashes(WORDS + ["is in no list"]), "-a", "0", words,
                                record=record)
            if found != sorted(WORDS):
                sys.exit(f"-m {algorithm}, word list: found {found}")
            if tool:
                self.replay(tool, record)
        if "mask" in attacks:
            found = self.attack(algorithm, hashes(["7341", "too long"]), "-a", "3", "?d?d?d?d")
            if found != ["7341"]:
                sys.exit(f"-m {algorithm}, mask: found {found}")
        print(f"-m {algorithm}: self-test and {', '.join(attacks)} right")


def main():
    program, attacks, algorithms = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        hashcat = Hashcat(program, folder)
        for algorithm in algorithms:
            hashcat.check(algorithm, attacks)
        # Searches: those for one hash or for many, of the self-test and of the attacks.
        hashcat.kernels.check(2)


if __name__ == "__main__":
    main()
