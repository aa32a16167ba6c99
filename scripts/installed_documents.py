#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies documents as they are to be installed: links among them stay, others become plain text,
since what they lead to is not installed.

usage: installed_documents.py SOURCES FOLDER DOCUMENT…     names relative to SOURCES"""

import pathlib
import re
import shutil
import sys

LINK = re.compile(r"\[([^\[\]]+)\]\(([^()#:\s]+)(#[^()\s]*)?\)")
RENAMED = {"LICENSE": "copyright"}  # as Debian wants it


def installed(sources, name, documents):
    """The text of a document with its links put right."""
    place = (sources / name).parent

    def put_right(link):
        text, target, anchor = link.groups()
        path = (place / target).resolve()
        known = path.relative_to(sources).as_posix() if path.is_relative_to(sources) else ""
        if known in RENAMED:
            depth = len(pathlib.PurePosixPath(name).parents) - 1
            return f"[{text}]({'../' * depth}{RENAMED[known]}{anchor or ''})"
        return link.group() if known in documents else text

    return LINK.sub(put_right, (sources / name).read_text())


def main():
    sources, folder = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    documents = sys.argv[3:]
    shutil.rmtree(folder, ignore_errors=True)
    for name in documents:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(installed(sources, name, documents))
    return 0


if __name__ == "__main__":
    sys.exit(main())
