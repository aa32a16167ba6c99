# SPDX-License-Identifier: Apache-2.0
"""Memory of other interfaces, OpenGL's included, is not recorded: log and record say so once, the
application runs on, and the record can be replayed, with other content.

usage: record_sharing_check.py TUTTI API_TESTS
"""

import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = "GlSharing.BuffersComeAndGo:GlSharing.ImagesOfAllKinds:ExternalMemory.*"
NOTES = ("objects of OpenGL are not recorded", "memory of other interfaces is not recorded")


def run(command, **environment):
    return subprocess.run(command, text=True, capture_output=True, env={**os.environ, **environment})


def main():
    tool, tests = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "record"
        ended = run([tests, f"--gtest_filter={TESTS}"], TUTTI_RECORD=str(record))
        assert ended.returncode == 0, ended
        shown = run([tool, "record", "show", record])
        assert shown.returncode == 0, shown
        for note in NOTES:
            assert ended.stderr.count(note) == 1, ended
            assert shown.stdout.count(note) == 1, shown
        replayed = run([tool, "replay", record])
        assert "calls replayed" in replayed.stdout, replayed
        assert "CL_INVALID_PROPERTY" not in replayed.stdout + replayed.stderr, replayed


if __name__ == "__main__":
    main()
