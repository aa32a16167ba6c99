# SPDX-License-Identifier: Apache-2.0
"""Files from the package index that pip uses, each known by its SHA-256, for the checks of programs
that Debian does not package."""

import hashlib
import html.parser
import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile

PUBLIC_INDEX = "https://pypi.org/simple"
TRIES = 3


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


def fetch(folder, project, name, expected):
    """The path of a project's file; it is fetched when it is not there or is another."""
    kept = folder / name
    if kept.exists() and hashlib.sha256(kept.read_bytes()).hexdigest() == expected:
        return kept
    page = f"{index_address()}/{project}/"
    try:
        links = Links(page)
        links.feed(read(page).decode(errors="replace"))
        if name not in links.found:
            sys.exit(f"the package index has no {name}; set PIP_INDEX_URL to one that does")
        content = read(links.found[name])
    except (OSError, ValueError) as error:
        # Not the address, which may hold a password.
        sys.exit(f"{name} cannot be fetched from the package index: {error}\n"
                 f"Set PIP_INDEX_URL to one within reach, or put {name} into {folder}")
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        sys.exit(f"{name} from the package index has the SHA-256 {digest}, not {expected}")
    folder.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_bytes(content)
    part.replace(kept)
    return kept


def python_tag():
    """How wheels name this interpreter: cp311."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def known(files, tag):
    """What is known of a program's wheel for this interpreter."""
    if tag not in files:
        sys.exit(f"no wheel is known for {tag}, only for {', '.join(files)}")
    return files[tag]


def unpack_wheel(wheel, folder):
    """Into a folder for PYTHONPATH. Wheels without scripts need no more than this."""
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder)
